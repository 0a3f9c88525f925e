"""Vectors as sampled functions.

The functions are polynomials, interpolation, sums of shifted products, differences, slopes and
areas.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate, place_along
from gradcli.ops.arrays.reshaping import at_least_1d
from gradcli.ops.arrays.shapes import (
    broadcast_to,
    flip,
    getitem,
    laid_along,
    part_of,
    reshape,
    shape_with,
    take_along,
    vector_of,
)
from gradcli.ops.arrays.striding import as_strided
from gradcli.ops.elementwise.arithmetic import rint
from gradcli.ops.elementwise.logic import clip, greater, greater_equal, less, where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import axes_of, declare, function, room_for
from gradcli.ops.structure import to_int

# -- Vectors as sampled functions: polynomials, interpolation, sums of shifted products -----------


_WINDOWS = 1 << 18  # most entries of a table of windows


def _vectors(name: str, *arrays: Any) -> list[Any]:
    for x in arrays:
        if len(x.shape) > 1 or x.shape == (0,):
            raise ShapeError(
                f"{name} needs vectors of at least one entry, not the shape {tuple(x.shape)}"
            )
    return [at_least_1d(x) for x in arrays]


def _products_at_shifts(a: Any, v: Any, mode: str) -> Any:
    """Compute sum_k a[i + k] * v[k] at every shift i of the shorter vector v.

    The mode says how far the shifts go beyond the longer vector a.

    A long v is cut into rows, with about as many rows as each has entries. They slide over a, and
    their results are added up, row below row. Memory holds as many entries as a has, times the root
    of the number of entries of v.
    """
    n, m = a.shape[0], v.shape[0]
    first, length = {
        "full": (1 - m, n + m - 1),
        "same": ((m - 1) // 2 - m + 1, n),
        "valid": (0, n - m + 1),
    }[mode]
    if n * m <= _WINDOWS:
        return matmul(as_strided(a, size=(length, m), stride=(1, 1), offset=first, source=(1,)), v)
    width = math.isqrt(m)
    rows = -(-m // width)
    shifts = length + (rows - 1) * width
    room_for(width, shifts)
    filters = as_strided(v, size=(rows, width), stride=(width, 1), source=(1,))
    windows = as_strided(a, size=(width, shifts), stride=(1, 1), offset=first, source=(1,))
    found = matmul(filters, windows)
    return sum_(
        as_strided(found, size=(rows, length), stride=(shifts + width, 1), source=(shifts, 1)),
        axis=0,
    )


@function(numpy="a, v, mode")
def convolve(a: Any, v: Any, *, mode: Literal["full", "same", "valid"] = "full") -> Any:
    """The convolution of two vectors: where they overlap at all ('full'), entirely ('valid'), or centred ('same').

    >>> convolve(x, [1, 2, 1])
    """
    short, long = sorted(_vectors("convolve", v, a), key=lambda x: x.shape[0])
    return _products_at_shifts(long, flip(short, axis=0), mode)


@function(numpy="a, v, mode")
def correlate(a: Any, v: Any, *, mode: Literal["full", "same", "valid"] = "valid") -> Any:
    """The cross-correlation of two vectors: their inner products at every shift."""
    a, v = _vectors("correlate", a, v)
    if a.shape[0] < v.shape[0]:
        return flip(_products_at_shifts(v, a, mode), axis=0)
    return _products_at_shifts(a, v, mode)


@function()
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, the highest first, at x.

    >>> polyval([1, 0, -2], x)
    """
    if len(p.shape) != 1 or not p.shape[0]:
        raise ShapeError(f"polyval needs a vector of coefficients, not the shape {tuple(p.shape)}")
    value = getitem(p, index=(0,)) + 0 * x
    for i in range(1, p.shape[0]):
        value = value * x + getitem(p, index=(i,))
    return value


@function(numpy="x, xp, fp, left, right, period")
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, *, period: Any = None
) -> Any:
    """Linear interpolation at x between the points xp (ascending) with values fp; constant beyond them. At a point, the
    slope to its right.

    >>> interp(x, [0, 1, 2], f)
    """
    if period is not None:
        raise ArgumentError(
            "interp: a period is not supported", help="reduce x to one period with % first"
        )
    if len(xp.shape) != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(
            f"interp needs as many points as values, not the shapes {tuple(xp.shape)} and "
            f"{tuple(fp.shape)}"
        )
    n = xp.shape[0]
    low, high = (getitem(fp, index=(i,)) for i in (0, -1))
    flat = vector_of(x)
    if n == 1:
        inside = low + 0 * flat
    else:
        known = sum_(where(greater_equal(reshape(flat, shape=(-1, 1)), xp), 1.0, 0.0), axis=1)
        below, above = (to_int(rint(clip(known - back, 1 - back, n - 1 - back))) for back in (1, 0))
        x0, f0, x1, f1 = (
            take_along(values, place, axis=0) for place in (below, above) for values in (xp, fp)
        )
        inside = f0 + (flat - x0) * ((f1 - f0) / (x1 - x0))
    first, last = (getitem(xp, index=(i,)) for i in (0, -1))
    bounded = where(greater(flat, last), high if right is None else right, inside)
    return reshape(where(less(flat, first), low if left is None else left, bounded), shape=x.shape)


# -- Differences, slopes and areas of sampled functions ------------------------------------------


def _steps(x: Any, place: int) -> Any:
    return part_of(x, place, 1, None) - part_of(x, place, None, -1)


def _attach(part: Any, x: Any, place: int) -> Any:
    """Entries to put before or after; a number is put there on every row."""
    return part if part.shape else broadcast_to(part, shape=shape_with(x.shape, place, 1))


@function(numpy="x, n, axis, prepend, append", memory="own")
def diff(x: Any, prepend: Any = None, append: Any = None, *, n: int = 1, axis: int = -1) -> Any:
    """The n-th differences of entries along an axis, with others before and after them if given.

    >>> diff(x)
    """
    place = place_along("diff", x, axis)
    if n == 0:
        return x
    parts = [_attach(p, x, place) for p in (prepend, x, append) if p is not None]
    result = concatenate(*parts, axis=place) if len(parts) > 1 else x
    for _ in range(min(n, result.shape[place])):
        result = _steps(result, place)
    return result


def _slopes(f: Any, spacing: Any, place: int, edge_order: int) -> Any:
    """Return the slopes of the parabolas through three neighbours.

    With an edge_order of 1, the slopes at the ends are those of the lines through two.
    """
    n = f.shape[place]
    if n < edge_order + 1:
        raise ShapeError(f"gradient needs at least {edge_order + 1} entries along an axis, not {n}")
    if spacing.shape and spacing.shape != (n,):
        raise ShapeError(
            f"gradient: coordinates of shape {tuple(spacing.shape)} for {n} entries along an axis"
        )
    at = laid_along(spacing, place, f.shape) if spacing.shape else None

    def difference(x: Any, start: int, stop: int) -> Any:
        return part_of(x, place, start + 1, stop + 1) - part_of(x, place, start, stop)

    def step(start: int, stop: int) -> Any:
        return spacing if at is None else difference(at, start, stop)

    def slope(start: int, stop: int) -> Any:
        return difference(f, start, stop) / step(start, stop)

    def end(there: int, near: int) -> Any:
        """At one end, from the slope there and, in the second order, from that beside it."""
        here, beside = (there, there + 1), (near, near + 1)
        if edge_order == 1:
            return slope(*here)
        return slope(*here) + step(*here) * (slope(*here) - slope(*beside)) / (
            step(*here) + step(*beside)
        )

    before, after = (0, n - 2), (1, n - 1)
    if at is None:
        inner = (part_of(f, place, 2, n) - part_of(f, place, *before)) / (2 * spacing)
    else:
        inner = (step(*after) * slope(*before) + step(*before) * slope(*after)) / (
            step(*before) + step(*after)
        )
    return concatenate(end(0, 1), inner, end(n - 2, n - 3), axis=place)


@function()
def torch_gradient(
    f: Any, *spacing: Any, axis: Any = None, edge_order: Literal[1, 2] = 1
) -> tuple[Any, ...]:
    """torch.gradient: slopes along axes, always a tuple."""
    axes = axes_of(axis, f.shape)
    if len(spacing) <= 1:
        spacing = (spacing or (np.float64(1),)) * len(axes)
    if len(spacing) != len(axes):
        raise ArgumentError(f"gradient: {len(spacing)} spacings for {len(axes)} axes")
    return tuple(_slopes(f, s, a, edge_order) for a, s in zip(axes, spacing, strict=True))


@function(numpy="f|x|input, ***spacing, axis, edge_order")
def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: Literal[1, 2] = 1) -> Any:
    """Slopes of sampled values along axes: central differences, one-sided at the ends (of order 1 or 2). Spacings are steps or
    coordinates, one for all axes or one for each. Of one axis an array, of several a tuple.

    >>> gradient(x, 0.5)
    """
    parts = torch_gradient(f, *spacing, axis=axis, edge_order=edge_order)
    return parts[0] if len(parts) == 1 else parts


@function("trapezoid trapz")
def trapezoid(
    y: Any, x: Any = None, dx: Any = None, *, axis: int = -1, cumulative: bool = False
) -> Any:
    """The area under sampled values by the trapezoidal rule, at coordinates x or with steps dx (1 by default): up to the last one, or up
    to each.

    >>> trapezoid(y, x)
    """
    place = place_along("trapezoid", y, axis)
    areas = (part_of(y, place, 1, None) + part_of(y, place, None, -1)) / 2
    own = 0 if x is None or len(x.shape) == 1 else len(x.shape) - len(y.shape) + place
    if x is None:
        areas = areas if dx is None else areas * dx
    elif dx is not None:
        raise ArgumentError("trapezoid: give x or dx, not both")
    elif x.shape and (own < 0 or x.shape[own] not in (1, y.shape[place])):
        raise ShapeError("trapezoid: one x for each y along the axis is wanted")
    elif len(x.shape) == 1:
        areas = laid_along(_steps(x, 0), place, y.shape) * areas
    else:
        place -= len(y.shape)
        areas = _steps(x, place) * areas
    return cumsum(areas, axis=place % len(areas.shape)) if cumulative else sum_(areas, axis=place)


_AREA = "y, x, *, dx, axis"
declare(f"""
    numpy:
        trapezoid trapz = trapezoid(y, x, dx, axis)
        cumulative_trapezoid = trapezoid(y, x, dx, axis; cumulative=True)
    torch:
        gradient = torch_gradient(f|input|x, *, spacing, axis, edge_order)
        trapezoid trapz = trapezoid({_AREA})
        cumulative_trapezoid = trapezoid({_AREA}; cumulative=True)
    scipy:
        integrate.trapezoid = trapezoid(y, x, dx, axis)
""")


@function()
def ediff1d(x: Any) -> Any:
    """The differences of neighbours among all entries, in a row."""
    return diff(vector_of(x), n=1, axis=0)
