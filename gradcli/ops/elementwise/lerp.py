"""Mixtures of values: interpolation, and sums with a scaled product or quotient."""

from __future__ import annotations

from typing import Any

from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise import extended
from gradcli.ops.registry import elementwise, function


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


lerp = elementwise(
    "lerp", "x end weight", _lerp, lambda m, x, end, weight: x + weight * (end - x),
    lambda out, x, end, weight: 1 - weight, lambda out, x, end, weight: weight, lambda out, x, end, weight: end - x,
    kind="piecewise", saves={"x": ("weight",), "end": ("weight",), "weight": ("x", "end")}, ulps=4, extended=extended.LERP,
    rounds=lambda m, out, x, end, weight: 2 * (m.abs(x) + m.abs(weight) * (m.abs(end) + m.abs(x))) + m.abs(out),
    doc="x + weight*(end - x): from x at weight 0 to end at weight 1.", examples=("lerp(x, y, 0.25)",),
    definition=_lerp,
    c="g_lerp({0}, {1}, {2})",
    numpy="({0:sum} + {2:atom} * ({1:sum} - {0:term}))",
)


def _scaled(product: Any, value: Any) -> Any:
    return product if value is None else product * value


@function(examples=("addcmul(x, y, z, value=0.5)",))
def addcmul(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1*tensor2, value being 1 by default."""
    return x + _scaled(tensor1 * tensor2, value)


@function(domain="tensor2 is not 0")
def addcdiv(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1/tensor2, value being 1 by default."""
    return x + _scaled(tensor1 / tensor2, value)


declare(TORCH, **{f.name: signature(f.name, "x, tensor1, tensor2, *, value") for f in (addcmul, addcdiv)})
