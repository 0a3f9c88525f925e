"""Facts of records for tensors, against NumPy and Python: operators, and what reductions put
together.
"""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.registry import registry

OPERATORS = {
    op.operator.__name__: op for op in registry().values() if op.operator and len(op.operands) == 2
}


def test_all_of_pythons_arithmetic_is_there() -> None:
    assert set(OPERATORS) == {
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
    }


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_is_the_operation_that_names_it(name: str) -> None:
    x, y = np.array([[2.5, -3.0], [0.5, 4.0]]), np.array([[2.0, 3.0], [-1.0, 4.0]])
    found = getattr(operator, name)(torch.tensor(x), torch.tensor(y)).numpy()
    assert np.array_equal(found, getattr(operator, name)(x, y))


@pytest.mark.parametrize(
    "name", sorted(name for name, op in OPERATORS.items() if op.result != "bool" and op.elementwise)
)
def test_operators_from_the_right_and_in_place(name: str) -> None:
    x = np.array([2.0, 3.0, 0.5])
    assert np.array_equal(
        getattr(operator, name)(7.5, torch.tensor(x)).numpy(), getattr(operator, name)(7.5, x)
    )
    t = kept = torch.tensor(x)
    t = getattr(operator, f"i{name}")(t, 2.0)
    assert t is kept
    assert np.array_equal(kept.numpy(), getattr(operator, name)(x, 2.0))


def test_whole_operands_give_whole_results() -> None:
    whole = [np.array(x) for x in (1, 2, 3, 5)]
    for op in registry().values():
        if op.integral and op.elementwise and not op.optional and not op.static:
            for operands in itertools.product(whole, repeat=len(op.operands)):
                result = np.asarray(op.forward(*operands))
                assert (result == np.round(result)).all(), f"{op.name} of {operands} is {result}"


def copies(x: Any) -> list[Any]:
    return [
        copy.copy(x),
        copy.deepcopy(x),
        *(pickle.loads(pickle.dumps(x, protocol)) for protocol in range(2, 6)),
    ]


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "bool"])
def test_tensors_are_copied_and_pickled(kind: str) -> None:
    x = torch.tensor(
        [[1, 0], [3, 4]], dtype=getattr(torch, kind), requires_grad=kind.startswith("float")
    )
    for again in copies(x):
        assert type(again) is torch.Tensor
        assert again.tolist() == (
            [[True, False], [True, True]] if kind == "bool" else [[1, 0], [3, 4]]
        )
        assert (again.dtype, again.requires_grad, again.grad_fn) == (x.dtype, x.requires_grad, None)
    for again in copies(x.dtype):
        assert again is x.dtype


def test_a_deep_copy_has_memory_and_a_gradient_of_its_own() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (3 * x).sum().backward()
    again = copy.deepcopy([x, x])
    assert again[0] is again[1]
    with torch.no_grad():
        x += 1
        x.grad += 1
    assert again[0].tolist() == [1.0, 2.0]
    assert again[0].grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
