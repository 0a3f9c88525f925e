"""Training scripts as people paste them: what backward() passes back, and numbers drawn for a seed.

Numbers are PyTorch's and NumPy's, as recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli

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


@over("training", "printed", "text", "wanted")
def test_gradients_that_a_script_prints_are_pytorchs(text: str, wanted: Any) -> None:
    record = gradcli.evaluate(text, check=False)
    np.testing.assert_allclose(np.asarray(record.value), wanted, rtol=1e-5)
    assert not record.grad, "what is printed is a number"


def test_backward_is_the_loss_with_the_gradients_that_were_asked_for() -> None:
    record = gradcli.evaluate(LINEAR)
    assert record.value == pytest.approx(4.798438, rel=1e-6)
    assert list(record.grad or {}) == ["w", "b"]
    assert record.check is not None
    assert record.check.verdict == "agree"
    asked_for = gradcli.evaluate(LINEAR.replace("b.requires_grad_()\n", ""), check=False)
    assert list(asked_for.grad or {}) == ["w"]


@over("training", "drawn", "text", "wanted")
def test_a_seed_draws_pytorchs_numbers(text: str, wanted: Any) -> None:
    # one unit of float32 in blocks of sixteen, whose sines PyTorch takes from vector registers
    seeded = f"np.random.seed(1)\ntorch.manual_seed(42)\nnp.random.seed(2)\n{text}"
    found = gradcli.evaluate(seeded, dialect="torch", check=False).value
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1.2e-7)


@pytest.mark.parametrize("call", ["rand(3)", "randn(2, 3)", "random((2,))", "standard_normal(4)"])
def test_a_seed_draws_numpys_numbers(call: str) -> None:
    found = gradcli.evaluate(
        f"import numpy as np\nnp.random.seed(3)\nnp.random.{call}", check=False
    )
    wanted = eval(f"np.random.RandomState(3).{call}")
    assert np.array_equal(np.asarray(found.value), wanted)
