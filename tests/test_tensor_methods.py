"""Methods of tensors, nodes of leaves, and calls of one form."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli as torch
from gradcli.tensors.core.node import Node

DOUBLE = torch.float64


def leaf(*shape: int, dtype: Any = DOUBLE, requires_grad: bool = True) -> Any:
    entries = np.linspace(0.2, 0.7, int(np.prod(shape))).reshape(shape) + (
        np.eye(*shape) if len(shape) == 2 else 0.0
    )
    return torch.tensor(entries, dtype=dtype, requires_grad=requires_grad)


def test_a_leaf_has_one_node_while_a_graph_holds_it() -> None:
    x = leaf(2)
    y, z = x * 2.0, x.exp()
    (first,), (second,) = ([o for o in t.node.operands if o is not None] for t in (y, z))
    assert first is second is x.gradient_node()
    assert isinstance(first, Node)
    assert (type(y.grad_fn.next_functions[0][0]).__name__, first.variable) == ("AccumulateGrad", x)


def test_methods_are_found_on_the_class() -> None:
    x = torch.tensor([0.5, 1.0])
    assert torch.Tensor.exp(x).tolist() == x.exp().tolist()
    assert [*map(torch.Tensor.sum, [x, x])] == [1.5, 1.5]
    assert {"exp", "exp_", "cumsum", "logsumexp"} <= set(dir(x))
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'bogus'$"):
        _ = x.bogus


def test_a_subclass_calls_the_method_that_it_overrides() -> None:
    calls = []

    class Own(torch.Tensor):
        def erfcx(self) -> Any:
            calls.append("own")
            return super().erfcx()

    assert Own(np.zeros(2)).erfcx().tolist() == [1.0, 1.0]
    assert calls == ["own"]


# -- calls that differ in their tensors only
# -------------------------------------------------------------------------------


def test_a_softmax_passes_few_functions_of_ours() -> None:
    x = leaf(2, 3)
    passed: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "gradcli" in frame.f_globals.get("__name__", "").partition(".")[0]:
            passed.append(frame.f_code.co_qualname)

    for _ in range(2):
        torch.nn.functional.softmax(x, dim=-1)
    sys.setprofile(note)
    try:
        torch.nn.functional.softmax(x, dim=-1)
    finally:
        sys.setprofile(None)
    assert len(passed) <= 12, passed


def test_one_tensor_twice_is_not_two_tensors() -> None:
    x, y = leaf(2, 2), leaf(2, 2) * 3
    for first, second in ((x, x), (x, y), (x, x), (y, x)):
        assert (
            torch.mul(first, second).tolist()
            == (first.numpy(force=True) * second.numpy(force=True)).tolist()
        )


def test_equal_constants_of_other_types_and_signs_are_other_calls() -> None:
    x = torch.tensor([1.0, -1.0])
    assert [torch.copysign(x, zero).tolist() for zero in (0.0, -0.0, 0.0)] == [
        [1, 1],
        [-1, -1],
        [1, 1],
    ]
    assert [torch.sum(x, 0, keep).shape for keep in (False, True, False)] == [(), (1,), ()]


def log_softmax(x: np.ndarray) -> Any:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@over("tensor_calls", "forms", "text", "wanted")  # fmt: skip
def test_the_next_call_of_a_form_is_of_its_own_tensors(text: str, wanted: str) -> None:
    for seed in range(3):
        random = np.random.default_rng(seed)
        x, y, i = (
            random.uniform(0.1, 1.0, (3, 3)),
            random.uniform(0.1, 1.0, (3, 3)),
            random.integers(0, 3, 3),
        )
        leaves = [torch.tensor(array, requires_grad=True) for array in (x, y)]
        labels = torch.tensor(i)

        def function(*tensors: Any, labels: Any = labels) -> Any:
            return eval(
                text,
                {
                    "torch": torch,
                    "F": torch.nn.functional,
                    "x": tensors[0],
                    "y": tensors[1],
                    "i": labels,
                },
            )

        np.testing.assert_allclose(
            function(*leaves).numpy(force=True),
            eval(wanted, {**globals(), "x": x, "y": y, "i": i}),
            rtol=1e-12,
        )
        assert torch.autograd.gradcheck(function, leaves)


def test_a_view_of_a_call_is_one_of_its_own_tensor() -> None:
    for x in (torch.zeros(2, 3), torch.zeros(2, 3)):
        torch.transpose(x, 0, 1)[0, 1] = 5.0
        assert x[1, 0] == 5
        assert torch.reshape(x, (3, 2))._base is x
    assert torch.reshape(torch.zeros(3, 2).t(), (3, 2))._base is None
