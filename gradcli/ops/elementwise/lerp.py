"""Mixtures of values: interpolation, and sums with a scaled product or quotient."""

from __future__ import annotations

from typing import Any

from gradcli.ops.registry import declare, function


@function()
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """x + weight*(end - x): from x at weight 0 to end at weight 1.

    >>> lerp(x, y, 0.25)
    """
    return x + weight * (end - x)


def _scaled(product: Any, value: Any) -> Any:
    return product if value is None else product * value


@function()
def addcmul(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1*tensor2, value being 1 by default.

    >>> addcmul(x, y, z, value=0.5)
    """
    return x + _scaled(tensor1 * tensor2, value)


@function(domain="tensor2 is not 0")
def addcdiv(x: Any, tensor1: Any, tensor2: Any, value: Any = None) -> Any:
    """x + value*tensor1/tensor2, value being 1 by default."""
    return x + _scaled(tensor1 / tensor2, value)


declare("""
    torch:
        addcmul addcdiv(x, tensor1, tensor2, *, value)
""")
