"""Tensors and the language share rules and sweep: every case gives the same numbers on tensors, to
any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case, over_cases
from helpers import lowered, number, swept

import gradcli as torch
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.language.scope import Scope
from gradcli.ops.structure import output
from gradcli.tensors.dispatch.apply import apply


def on_tensors(scope: Scope, root: Expr, tensors: dict[str, Any], dtype: str = "float64") -> Any:
    """The same operations, one after the other, on tensors."""
    table: dict[Expr, Any] = {scope.names[name]: tensor for name, tensor in tensors.items()}
    for node in reachable([root]):
        if node in table:
            continue
        if node.op is None:
            value = scope.values[node] if node.is_leaf else constant_value(node, np.dtype(dtype))
            table[node] = torch.tensor(np.asarray(value))
        elif node.op is output:
            table[node] = table[node.operand][node.static["place"]]
        else:
            table[node] = apply(
                node.op, [None if o is None else table[o] for o in node.operands], node.static
            )
    return table[root]


def leaves(case: Case, dtype: Any = torch.float64) -> dict[str, Any]:
    return {
        name: torch.tensor(np.asarray(value, float), dtype=dtype, requires_grad=True)
        for name, value in case.values.items()
    }


def assert_same_numbers(case: Case, scope: Scope, root: Expr) -> None:
    """Values kept for backward are the only ones that rules read: what is not kept has a shape and
    nothing else.
    """
    tensors = leaves(case)
    result = on_tensors(scope, root, tensors)
    assert result.detach().numpy() == pytest.approx(number(scope, root), rel=1e-13, abs=1e-14)
    seed = np.random.default_rng(3).standard_normal(root.shape)
    wanted = swept(scope, root, seed, list(case.values))
    if result.requires_grad:
        result.backward(torch.tensor(seed))
    for name, slope in wanted.items():
        found = tensors[name].grad
        assert (np.zeros(slope.shape) if found is None else found.numpy()) == pytest.approx(
            slope, rel=1e-12, abs=1e-13
        ), name


def assert_second_derivatives(case: Case, scope: Scope, root: Expr) -> None:
    """By the graph of the first derivatives, against differences."""
    tensors = leaves(case)
    result = on_tensors(scope, root, tensors)
    if not result.requires_grad:
        return
    weights = torch.tensor(np.random.default_rng(4).standard_normal(root.shape))
    xs = list(tensors.values())
    first = torch.autograd.grad(
        (result * result * weights).sum(), xs, create_graph=True, materialize_grads=True
    )
    total = sum((part * part).sum() for part in first)
    again = torch.autograd.grad(total, xs, allow_unused=True, materialize_grads=True)

    def size_of_gradient(name: str, at: np.ndarray) -> float:
        values = {**case.values, name: at}
        moved, there = lowered(case.text, values)
        y = number(moved, there)
        slopes = swept(moved, there, 2 * np.asarray(y) * weights.numpy(), list(values))
        return float(sum((s * s).sum() for s in slopes.values()))

    for (name, value), found in zip(case.values.items(), again, strict=True):
        base = np.asarray(value, float)
        direction = np.random.default_rng(5).standard_normal(base.shape)
        if base.ndim > 1 and np.array_equal(base, np.swapaxes(base, -1, -2)):
            direction = direction + np.swapaxes(
                direction, -1, -2
            )  # of symmetric matrices only one triangle is read
        if base.ndim > 1 and (
            np.array_equal(base, np.tril(base)) or np.array_equal(base, np.triu(base))
        ):
            direction = direction * (base != 0)  # and so of triangular ones
        estimates = [
            (
                size_of_gradient(name, base + h * direction)
                - size_of_gradient(name, base - h * direction)
            )
            / (2 * h)
            for h in (1e-4, 5e-5)
        ]
        wanted = (4 * estimates[1] - estimates[0]) / 3
        assert float((found.numpy() * direction).sum()) == pytest.approx(
            wanted, rel=1e-4, abs=1e-4 * max(1.0, abs(wanted))
        ), name


def assert_float32_stays_float32(case: Case, scope: Scope, root: Expr) -> None:
    if "of rank one" in case.reason:
        return  # which is decided by a tolerance for float64
    tensors = leaves(case, torch.float32)
    result = on_tensors(scope, root, tensors, "float32")
    if not result.requires_grad:
        return
    assert result.dtype is torch.float32
    result.backward(torch.ones_like(result))
    for name, slope in swept(scope, root, np.ones(root.shape), list(case.values)).items():
        found = tensors[name].grad
        if found is not None:
            assert found.dtype is torch.float32
            scale = max(1.0, float(np.abs(slope).max(initial=0.0)))
            assert found.numpy() == pytest.approx(slope, rel=1e-3, abs=2e-4 * scale), name


@over_cases
def test_tensors_do_as_the_language(case: Case) -> None:
    scope, root = lowered(case.text, case.values)
    assert_same_numbers(case, scope, root)
    assert_second_derivatives(case, scope, root)
    assert_float32_stays_float32(case, scope, root)
