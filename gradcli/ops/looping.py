"""Texts of operations on arrays for libraries of arrays: axes, shapes and indices as text, in NumPy's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.ops.text import index_part
from gradcli.ops.writing import axes_of


def listed(shapes: Sequence[Any]) -> str:
    """As many operands as there are."""
    return ", ".join(f"{{{place}}}" for place in range(len(shapes)))


def reduced_text(function: str, shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """A reduction along axes."""
    if not shapes[0]:
        return "{0}" if "arg" not in function else ""
    kept = ", keepdims=True" if keepdims else ""
    if axis is None and not keepdims:
        return f"{function}({{0}})"
    axes = axes_of(axis, len(shapes[0]))
    return f"{function}({{0}}, axis={axes[0] if len(axes) == 1 else axes}{kept})"


def product_in_torch(shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """PyTorch's product is along all axes or along one."""
    axes = axes_of(axis, len(shapes[0]))
    if len(axes) == len(shapes[0]) and not keepdims:
        return "torch.prod({0})"
    return f"torch.prod({{0}}, {axes[0]}, {keepdims})" if len(axes) == 1 else ""


def order_text(shapes: Sequence[Any], axes: Any) -> str:
    """The axes of a transpose."""
    ndim = len(shapes[0])
    return repr(tuple(range(ndim)[::-1]) if axes is None else tuple(a % ndim for a in axes))


def subscript_text(index: Sequence[Any]) -> str:
    """An index between its brackets."""
    return ", ".join(map(_part, index)) or "..."


def _part(part: Any) -> str:
    array = getattr(part, "array", None)
    return index_part(part) if array is None else f"np.array({array.tolist()!r})"


def fits_along(shapes: Sequence[Any], axis: int) -> bool:
    """Return whether an array and what addresses it along an axis are alike along the others."""
    if not shapes[0]:
        return False
    place = axis % len(shapes[0])
    return all(m == n for i, (m, n) in enumerate(zip(shapes[0], shapes[1], strict=True)) if i != place)


def runs_backwards(index: Sequence[Any]) -> bool:
    """Return whether a slice has a negative step, which PyTorch refuses."""
    return any(isinstance(part, tuple) and part[2] is not None and part[2] < 0 for part in index)
