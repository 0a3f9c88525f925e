"""Training scripts as people paste them: what backward() passes back, and numbers drawn for a seed.

Numbers are PyTorch's and NumPy's, as recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli
from gradcli.errors import GradcliError

LINEAR = """\
import torch
torch.manual_seed(0)
X = torch.randn(8, 3)
w_true = torch.tensor([1.0, -2.0, 0.5])
y = X @ w_true + 0.1 * torch.randn(8)
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1)
b.requires_grad_()
loss = ((X @ w + b - y) ** 2).mean()
loss.backward()
"""
TWO = """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
s = torch.tensor(3.0, requires_grad=True)
optimizer.zero_grad()
(x*s).sum().backward()
(x**2).sum().backward(retain_graph=True)
"""
VALUES: dict[str, Any] = {  # the last result of a script
    LINEAR + "print(w.grad)": [-0.65147590637207, 4.54884433746338, 0.06684815138578],
    LINEAR + "b.grad": [-0.02859216742218],
    TWO + "x.grad": [5.0, 7.0],
    TWO + "s.grad": 3.0,
    TWO + "x.grad.zero_()\n(x*s).sum().backward()\nx.grad": [3.0, 3.0],
    TWO + "x.grad = None\n(x*s).sum().backward()\ns.grad": 6.0,
    TWO + "optimizer.zero_grad()\n(x*s).sum().backward()\ns.grad": 3.0,
    "a = torch.tensor([2., 3.], requires_grad=True)\nQ = 3*a**3\nQ.backward(gradient=torch.tensor([1., 2.]))\na.grad": [36.0, 162.0],
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_gradients_that_a_script_prints_are_pytorchs(text: str) -> None:
    record = gradcli.evaluate(text, check=False)
    np.testing.assert_allclose(np.asarray(record.value), VALUES[text], rtol=1e-5)
    assert not record.grad, "what is printed is a number"


def test_backward_is_the_loss_with_the_gradients_that_were_asked_for() -> None:
    record = gradcli.evaluate(LINEAR)
    assert record.value == pytest.approx(4.798438, rel=1e-6)
    assert list(record.grad or {}) == ["w", "b"]
    assert record.check is not None
    assert record.check.verdict == "agree"
    asked_for = gradcli.evaluate(LINEAR.replace("b.requires_grad_()\n", ""), check=False)
    assert list(asked_for.grad or {}) == ["w"]


REFUSED = {
    "x = torch.tensor([1., 2.])\n(x*2).backward()": "backward() is for one number, not for an array of shape (2,)",
    "x = 2\nx.grad": "there is no gradient: nothing was passed back to it",
    "x = 2\noptimizer.step()": "'step' changes values in place: a value stays as it is",
    "x = 2\nloss = x**2\nloss.backward(inputs=[x])": "backward has no argument 'inputs'",
    "optimizer = torch.optim.SGD([w], lr=0.1)": "'torch.optim' has no 'SGD' here",
    "with torch.no_grad():\n    x -= 1": "the language has no 'with' statement",
    "rng = np.random.default_rng(0)": "'default_rng' is not read: every run draws the same numbers",
    "torch.randint(3, 3, (2,))": "randint draws from low to less than high, not 3, 3",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_script_cannot_have_is_refused_by_name(text: str) -> None:
    with pytest.raises(GradcliError) as raised:
        gradcli.evaluate(text, check=False)
    assert raised.value.message == REFUSED[text]


DRAWN: dict[str, Any] = {  # after torch.manual_seed(42)
    "torch.rand(5)": [0.8822692632675171, 0.9150039553642273, 0.38286375999450684, 0.9593056440353394, 0.3904482126235962],
    "torch.randn(5)": [0.33669036626815796, 0.12880940735340118, 0.23446236550807953, 0.23033303022384644, -1.1228563785552979],
    "torch.randn(2, 10)[1]": [-0.4933563470840454, 0.2414877861738205, -0.2316243201494217, 0.041759490966796875, -0.2515752911567688,
                              0.859858512878418, -0.3097267746925354, -0.3957104980945587, 0.8034093379974365, -0.6215953826904297],
    "torch.randint(0, 10, (6,))": [2, 7, 6, 4, 6, 5],
    "torch.randint(5, (2, 3))": [[2, 2, 1], [4, 1, 0]],
    "torch.randint(low=2, high=9, size=(4,))": [3, 4, 6, 7],
    "torch.randperm(7)": [1, 6, 3, 5, 4, 0, 2],
    "torch.randn(2, 2, dtype=torch.float64)": [[0.33669035438385886, 0.1288094051365897], [0.23446236336153173, 0.2303330279146119]],
    "torch.rand(3, dtype=torch.float64)": [0.05815448596142969, 0.06291016742457756, 0.12358607277440903],
}  # fmt: skip


@over("training", "drawn", "text")
def test_a_seed_draws_pytorchs_numbers(text: str) -> None:
    # one unit of float32 in blocks of sixteen, whose sines PyTorch takes from vector registers
    seeded = f"np.random.seed(1)\ntorch.manual_seed(42)\nnp.random.seed(2)\n{text}"
    found = gradcli.evaluate(seeded, dialect="torch", check=False).value
    np.testing.assert_allclose(np.asarray(found), DRAWN[text], rtol=1.2e-7)


@pytest.mark.parametrize("call", ["rand(3)", "randn(2, 3)", "random((2,))", "standard_normal(4)"])
def test_a_seed_draws_numpys_numbers(call: str) -> None:
    found = gradcli.evaluate(
        f"import numpy as np\nnp.random.seed(3)\nnp.random.{call}", check=False
    )
    wanted = eval(f"np.random.RandomState(3).{call}")
    assert np.array_equal(np.asarray(found.value), wanted)
