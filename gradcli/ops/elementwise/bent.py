"""Activations whose parameters are operands: what those of activations.py are where a name stands for their slope or bound."""

from __future__ import annotations

from typing import Any

from gradcli.ops.elementwise.exponential import expm1
from gradcli.ops.elementwise.logic import greater, greater_equal, less_equal, logical_and, where
from gradcli.ops.registry import composition


def _between(x: Any, min_val: Any, max_val: Any) -> Any:
    return where(less_equal(x, min_val), min_val, where(greater_equal(x, max_val), max_val, x))


def _bent(x: Any, alpha: Any, width: Any) -> Any:
    below = where(greater(x, 0), 0.0, x)
    return where(greater(x, 0), x, expm1(below / width) * alpha)


def _is_within(x: Any, lambd: Any) -> Any:
    return logical_and(greater_equal(x, -lambd), less_equal(x, lambd))


def _shrunk(x: Any, lambd: Any) -> Any:
    return where(_is_within(x, lambd), x * 0.0, where(greater(x, 0), x - lambd, x + lambd))


hardtanh = composition("hardtanh", "x", _between, static={"min_val": -1.0, "max_val": 1.0}, scalars="min_val max_val")
leaky_relu = composition(
    "leaky_relu", "x", lambda x, negative_slope: where(greater(x, 0), x, x * negative_slope), static={"negative_slope": 0.01},
    scalars="negative_slope",
)  # fmt: skip
elu = composition("elu", "x", lambda x, alpha: _bent(x, alpha, 1.0), static={"alpha": 1.0}, scalars="alpha")
celu = composition("celu", "x", lambda x, alpha: _bent(x, alpha, alpha), static={"alpha": 1.0}, scalars="alpha")
hardshrink = composition(
    "hardshrink", "x", lambda x, lambd: where(_is_within(x, lambd), 0.0, x), static={"lambd": 0.5}, scalars="lambd"
)
softshrink = composition("softshrink", "x", _shrunk, static={"lambd": 0.5}, scalars="lambd")
