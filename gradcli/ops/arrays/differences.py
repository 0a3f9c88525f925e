"""Differences, slopes and areas of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.shapes import broadcast_to, part_of, reshape
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite
from gradcli.ops.writing import axes_of, one_axis


def _place(name: str, x: Any, axis: int) -> int:
    if not x.shape:
        raise ShapeError(f"{name} needs an array of at least one axis, not a number")
    return one_axis(axis, len(x.shape))


def _steps(x: Any, place: int) -> Any:
    return part_of(x, place, 1, None) - part_of(x, place, None, -1)


def _attached(part: Any, x: Any, place: int) -> Any:
    """Entries to put before or after; a number is put there on every row."""
    return part if part.shape else broadcast_to(part, shape=tuple(1 if i == place else n for i, n in enumerate(x.shape)))


def _diff(x: Any, prepend: Any, append: Any, n: int, axis: int) -> Any:
    place = _place("diff", x, axis)
    if n == 0:
        return x
    parts = [_attached(p, x, place) for p in (prepend, x, append) if p is not None]
    result = concatenate(*parts, axis=place) if len(parts) > 1 else x
    for _ in range(min(n, result.shape[place])):
        result = _steps(result, place)
    return result


diff = composite(
    "diff", "x prepend? append?", _diff, copied=True, static={"n": 1, "axis": -1},
    doc="The n-th differences of entries along an axis, with others before and after them if given.", examples=("diff(x)",),
)  # fmt: skip


def _along(vector: Any, place: int, ndim: int) -> Any:
    """A vector laid along one of several axes."""
    return reshape(vector, shape=tuple(vector.shape[0] if i == place else 1 for i in range(ndim)))


def _even_slopes(f: Any, step: Any, place: int, edge_order: int) -> Any:
    inner = (part_of(f, place, 2, None) - part_of(f, place, None, -2)) / (2 * step)
    if edge_order == 1:
        first, last = part_of(f, place, 1, 2) - part_of(f, place, 0, 1), part_of(f, place, -1, None) - part_of(f, place, -2, -1)
        return concatenate(first / step, inner, last / step, axis=place)
    a, b, c = (part_of(f, place, i, i + 1) for i in range(3))
    x, y, z = (part_of(f, place, -i, 1 - i or None) for i in (1, 2, 3))
    return concatenate((4 * b - 3 * a - c) / (2 * step), inner, (3 * x - 4 * y + z) / (2 * step), axis=place)


def _uneven_slopes(f: Any, at: Any, place: int, edge_order: int) -> Any:
    """Slopes of the parabolas through three neighbours."""
    steps = _along(_steps(at, 0), place, len(f.shape))
    rises = _steps(f, place) / steps
    before, after = part_of(steps, place, None, -1), part_of(steps, place, 1, None)
    left, right = part_of(rises, place, None, -1), part_of(rises, place, 1, None)
    inner = (after * left + before * right) / (before + after)
    if edge_order == 1:
        return concatenate(part_of(rises, place, 0, 1), inner, part_of(rises, place, -1, None), axis=place)
    bend = (right - left) / (before + after)
    first = part_of(left, place, 0, 1) - part_of(before, place, 0, 1) * part_of(bend, place, 0, 1)
    last = part_of(right, place, -1, None) + part_of(after, place, -1, None) * part_of(bend, place, -1, None)
    return concatenate(first, inner, last, axis=place)


def _slopes(f: Any, spacing: Any, place: int, edge_order: int) -> Any:
    n = f.shape[place]
    if n < edge_order + 1:
        raise ShapeError(f"gradient needs at least {edge_order + 1} entries along an axis, not {n}")
    if not len(spacing.shape):
        return _even_slopes(f, spacing, place, edge_order)
    if tuple(spacing.shape) != (n,):
        raise ShapeError(f"gradient: coordinates of shape {tuple(spacing.shape)} for {n} entries along an axis")
    return _uneven_slopes(f, spacing, place, edge_order)


def _gradients(f: Any, spacings: tuple[Any, ...], axis: Any, edge_order: int) -> list[Any]:
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order must be 1 or 2, not {edge_order!r}")
    axes = axes_of(axis, len(f.shape))
    if len(spacings) <= 1:
        spacings = (spacings or (np.float64(1),)) * len(axes)
    if len(spacings) != len(axes):
        raise ArgumentError(f"gradient: {len(spacings)} spacings for {len(axes)} axes")
    return [_slopes(f, s, a, edge_order) for a, s in zip(axes, spacings, strict=True)]


def _gradient(f: Any, *spacings: Any, axis: Any, edge_order: int) -> Any:
    parts = _gradients(f, spacings, axis, edge_order)
    return parts[0] if len(parts) == 1 else tuple(parts)


gradient = composite(
    "gradient", "f *spacing", _gradient, static={"axis": None, "edge_order": 1}, examples=("gradient(x, 0.5)",),
    doc="Slopes of sampled values along axes: central differences, one-sided at the ends (of order 1 or 2). Spacings are "
    "steps or coordinates, one for all axes or one for each. Of one axis an array, of several a tuple.",
)  # fmt: skip
torch_gradient = composite(
    "torch_gradient", "f *spacing", lambda f, *spacing, axis, edge_order: tuple(_gradients(f, spacing, axis, edge_order)),
    static={"axis": None, "edge_order": 1}, public=False, doc="torch.gradient: slopes along axes, always a tuple.",
)  # fmt: skip


def _areas(name: str, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, int]:
    """The trapezoids between neighbours, and the axis they lie along."""
    place = _place(name, y, axis)
    heights = (part_of(y, place, 1, None) + part_of(y, place, None, -1)) / 2
    if x is None:
        return (heights if dx is None else heights * dx), place
    if dx is not None:
        raise ArgumentError(f"{name}: give x or dx, not both")
    if len(x.shape) == 1:
        return _along(_steps(x, 0), place, len(y.shape)) * heights, place
    return _steps(x, place - len(y.shape)) * heights, place - len(y.shape)


def _trapezoid(y: Any, x: Any, dx: Any, axis: int) -> Any:
    areas, place = _areas("trapezoid", y, x, dx, axis)
    return sum_(areas, axis=place)


def _cumulative_trapezoid(y: Any, x: Any, dx: Any, axis: int) -> Any:
    areas, place = _areas("cumulative_trapezoid", y, x, dx, axis)
    return cumsum(areas, axis=place % len(areas.shape))


trapezoid = composite(
    "trapezoid", "y x? dx?", _trapezoid, static={"axis": -1}, aliases=("trapz",), examples=("trapezoid(y, x)",),
    doc="The area under sampled values by the trapezoidal rule, at coordinates x or with steps dx (1 by default).",
)  # fmt: skip
cumulative_trapezoid = composite(
    "cumulative_trapezoid", "y x? dx?", _cumulative_trapezoid, static={"axis": -1},
    doc="The areas under sampled values up to each of them.",
)  # fmt: skip
declare(
    NUMPY,
    diff=signature("diff", "x, n, axis, prepend, append"),
    gradient=signature("gradient", "f|x|input, ***spacing, axis, edge_order"),
)
declare(
    TORCH,
    gradient=signature("torch_gradient", "f|input|x, *, spacing, axis, edge_order"),
    **{f.name: signature(f.name, "y, x, *, dx, axis") for f in (trapezoid, cumulative_trapezoid)},
    trapz=signature(trapezoid.name, "y, x, *, dx, axis"),
)
