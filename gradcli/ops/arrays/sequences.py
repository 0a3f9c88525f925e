"""Further functions of sampled values and of polynomials: unwrapped angles, differences in a row, products, derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, flip, getitem, part_of, reshape, scatter_add
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, remainder, rint
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.logic import equal, greater, greater_equal, isnan, less, logical_and, where
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import AXES, max_, min_, prod, sum_
from gradcli.ops.registry import composite, function
from gradcli.ops.room import nodes_for, room_for
from gradcli.ops.structure import detach, to_int
from gradcli.ops.writing import axes_of, one_axis

# -- Vectors as sampled functions: polynomials, interpolation, sums of shifted products ------------


_WINDOWS = 1 << 18  # entries of a table of windows, at most


def _checked_vector(name: str, x: Any) -> Any:
    if len(x.shape) > 1 or x.shape == (0,):
        raise ShapeError(f"{name} needs vectors of at least one entry, not the shape {tuple(x.shape)}")
    return x if x.shape else reshape(x, shape=(1,))


def _sliding(a: Any, v: Any, mode: str) -> Any:
    """sum_k a[i + k] * v[k] at every shift i of the shorter vector v, as far as the mode goes beyond the longer one."""
    n, m = a.shape[0], v.shape[0]
    padded = scatter_add(a, index=((m - 1, m - 1 + n, None),), shape=(n + 2 * (m - 1),))
    start, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    if n * m > _WINDOWS:
        return _in_rows(padded, v, start, length)
    shifts = np.arange(start, start + length)[:, None] + np.arange(m)
    return matmul(getitem(padded, index=(StaticArray(shifts),)), v)


def _in_rows(a: Any, v: Any, start: int, length: int) -> Any:
    """The same with v cut into rows, about as many as each has entries: they slide over a, and what they give is added up, row below row.

    Memory holds as many entries as a has, times the root of those of v. What reads the windows of the rows, and what brings their results
    below each other, are rows of another length in the same memory.
    """
    m = v.shape[0]
    width = math.isqrt(m)
    rows = -(-m // width)
    filters = reshape(scatter_add(v, index=((0, m, None),), shape=(rows * width,)), shape=(rows, width))
    shifts = length + (rows - 1) * width
    reach = shifts + width - 1
    known = min(reach, a.shape[0] - start)
    part = scatter_add(getitem(a, index=((start, start + known, None),)), index=((0, known, None),), shape=(reach,))
    turns = reshape(broadcast_to(part, shape=(width + 1, reach)), shape=(-1,))
    windows = reshape(getitem(turns, index=((0, width * (reach + 1), None),)), shape=(width, reach + 1))
    found = reshape(matmul(filters, getitem(windows, index=((None, None, None), (0, shifts, None)))), shape=(-1,))
    below = scatter_add(found, index=((0, rows * shifts, None),), shape=(rows * (shifts + width),))
    return sum_(getitem(reshape(below, shape=(rows, -1)), index=((None, None, None), (0, length, None))), axis=0)


def _moded(name: str, body: Function) -> Function:
    def checked(a: Any, v: Any, mode: str) -> Any:
        if mode not in ("full", "same", "valid"):
            raise ArgumentError(f"{name}: mode must be 'full', 'same' or 'valid', not {mode!r}")
        return body(_checked_vector(name, a), _checked_vector(name, v), mode)

    return checked


def _convolve(a: Any, v: Any, mode: str) -> Any:
    long, short = (a, v) if a.shape[0] >= v.shape[0] else (v, a)
    return _sliding(long, flip(short, axis=0), mode)


def _correlate(a: Any, v: Any, mode: str) -> Any:
    return _sliding(a, v, mode) if a.shape[0] >= v.shape[0] else flip(_sliding(v, a, mode), axis=0)


@function(examples=("polyval([1, 0, -2], x)",))
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, the highest first, at x."""
    if len(p.shape) != 1 or not p.shape[0]:
        raise ShapeError(f"polyval needs a vector of coefficients, not the shape {tuple(p.shape)}")
    value = getitem(p, index=(0,)) + 0 * x
    for i in range(1, p.shape[0]):
        value = value * x + getitem(p, index=(i,))
    return value


convolve = composite(
    "convolve", "a v", _moded("convolve", _convolve), static={"mode": "full"}, examples=("convolve(x, [1, 2, 1])",),
    doc="The convolution of two vectors: where they overlap at all ('full'), entirely ('valid'), or centred ('same').",
)  # fmt: skip
correlate = composite(
    "correlate", "a v", _moded("correlate", _correlate), static={"mode": "valid"},
    doc="The cross-correlation of two vectors: their inner products at every shift.",
)  # fmt: skip


@function(numpy="x, xp, fp, left, right, period", examples=("interp(x, [0, 1, 2], f)",))
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, *, period: Any = None) -> Any:
    """Linear interpolation at x between the points xp (ascending) with values fp; constant beyond them. At a point, the
    slope to its right.
    """
    if period is not None:
        raise ArgumentError("interp: a period is not supported", help="reduce x to one period with % first")
    if len(xp.shape) != 1 or tuple(xp.shape) != tuple(fp.shape) or not xp.shape[0]:
        raise ShapeError(f"interp needs as many points as values, not the shapes {tuple(xp.shape)} and {tuple(fp.shape)}")
    n = xp.shape[0]
    low, high = (getitem(fp, index=(i,)) for i in (0, -1))
    flat = reshape(x, shape=(-1,))
    if n == 1:
        inside = low + 0 * flat
    else:
        known = sum_(where(greater_equal(reshape(flat, shape=(-1, 1)), xp), 1.0, 0.0), axis=1)
        below = to_int(rint(minimum(maximum(known - 1, 0), n - 2)))
        x0, f0 = take_along(xp, below, axis=0), take_along(fp, below, axis=0)
        x1, f1 = take_along(part_of(xp, 0, 1, None), below, axis=0), take_along(part_of(fp, 0, 1, None), below, axis=0)
        inside = f0 + (flat - x0) * ((f1 - f0) / (x1 - x0))
    first, last = (getitem(xp, index=(i,)) for i in (0, -1))
    bounded = where(greater(flat, last), high if right is None else right, inside)
    return reshape(where(less(flat, first), low if left is None else left, bounded), shape=x.shape)


declare(NUMPY, convolve=signature("convolve", "a, v, mode"), correlate=signature("correlate", "a, v, mode"))


# -- Differences, slopes and areas of sampled functions --------------------------------------------


def _place(name: str, x: Any, axis: int) -> int:
    if not x.shape:
        raise ShapeError(f"{name} needs an array of at least one axis, not a number")
    return one_axis(axis, len(x.shape))


def _steps(x: Any, place: int) -> Any:
    return part_of(x, place, 1, None) - part_of(x, place, None, -1)


def _attached(part: Any, x: Any, place: int) -> Any:
    """Entries to put before or after; a number is put there on every row."""
    return part if part.shape else broadcast_to(part, shape=tuple(1 if i == place else n for i, n in enumerate(x.shape)))


@function(numpy="x, n, axis, prepend, append", copied=True, examples=("diff(x)",))
def diff(x: Any, prepend: Any = None, append: Any = None, *, n: int = 1, axis: int = -1) -> Any:
    """The n-th differences of entries along an axis, with others before and after them if given."""
    place = _place("diff", x, axis)
    if n == 0:
        return x
    parts = [_attached(p, x, place) for p in (prepend, x, append) if p is not None]
    result = concatenate(*parts, axis=place) if len(parts) > 1 else x
    for _ in range(min(n, result.shape[place])):
        result = _steps(result, place)
    return result


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


@function(public=False)
def torch_gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """torch.gradient: slopes along axes, always a tuple."""
    return tuple(_gradients(f, spacing, axis, edge_order))


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


@function(aliases=("trapz",), examples=("trapezoid(y, x)",))
def trapezoid(y: Any, x: Any = None, dx: Any = None, *, axis: int = -1) -> Any:
    """The area under sampled values by the trapezoidal rule, at coordinates x or with steps dx (1 by default)."""
    areas, place = _areas("trapezoid", y, x, dx, axis)
    return sum_(areas, axis=place)


@function()
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = None, *, axis: int = -1) -> Any:
    """The areas under sampled values up to each of them."""
    areas, place = _areas("cumulative_trapezoid", y, x, dx, axis)
    return cumsum(areas, axis=place % len(areas.shape))


declare(NUMPY, gradient=signature("gradient", "f|x|input, ***spacing, axis, edge_order"))
declare(
    TORCH,
    gradient=signature("torch_gradient", "f|input|x, *, spacing, axis, edge_order"),
    **{f.name: signature(f.name, "y, x, *, dx, axis") for f in (trapezoid, cumulative_trapezoid)},
    trapz=signature(trapezoid.name, "y, x, *, dx, axis"),
)


def _nan_extreme(name: str) -> Any:
    reduce, worst = (max_, -math.inf) if name == "nanmax" else (min_, math.inf)

    def body(x: Any, axis: Any, keepdims: bool) -> Any:
        none = equal(sum_(where(isnan(x), 0.0, 1.0), axis=axis, keepdims=keepdims), 0)
        return where(none, math.nan, reduce(where(isnan(x), worst, x), axis=axis, keepdims=keepdims))

    return body


def _vector(p: Any) -> Any:
    return reshape(p, shape=(1,)) if not p.shape else p


def _added(sign: float) -> Any:
    def body(a: Any, b: Any) -> Any:
        a, b = _vector(a), _vector(b)
        n = max(a.shape[0], b.shape[0])
        longer = [v if v.shape[0] == n else concatenate(np.zeros(n - v.shape[0]), v, axis=0) for v in (a, b)]
        return longer[0] + longer[1] if sign > 0 else longer[0] - longer[1]

    return body


@function(examples=("unwrap([0.5, 6.5, 12.7])",))
def unwrap(p: Any, *, discont: Any = None, axis: int = -1, period: float = 2 * math.pi) -> Any:
    """Angles along an axis, moved by periods so that no step is larger than half of one."""
    steps = diff(p, n=1, axis=axis)
    half = period / 2
    turned = remainder(steps + half, period) - half
    turned = where(logical_and(equal(turned, -half), greater(steps, 0)), half, turned)
    jumps = half if discont is None else max(discont, half)
    corrections = where(less(abs_(steps), jumps), 0.0, turned - steps)
    axis = axis % len(p.shape)
    before = ((None, None, None),) * axis
    first = getitem(p, index=(*before, (0, 1, None)))
    rest = getitem(p, index=(*before, (1, None, None))) + detach(cumsum(corrections, axis=axis))
    return concatenate(first, rest, axis=axis)


for _name, _what in (("nanmax", "largest"), ("nanmin", "smallest")):
    composite(_name, "x", _nan_extreme(_name), static=AXES, doc=f"The {_what} of the entries that are numbers; NaN where none is.")
composite(
    "nanprod", "x", lambda x, axis, keepdims: prod(where(isnan(x), 1.0, x), axis=axis, keepdims=keepdims), static=AXES,
    doc="The product of the entries that are numbers.",
)  # fmt: skip


@function()
def ediff1d(x: Any) -> Any:
    """The differences of neighbours among all entries, in a row."""
    return diff(reshape(x, shape=(-1,)), n=1, axis=0)


@function()
def polymul(a: Any, b: Any) -> Any:
    """The product of two polynomials, the highest coefficients first."""
    return convolve(_vector(a), _vector(b), mode="full")


composite("polyadd", "a b", _added(1.0), doc="The sum of two polynomials, the highest coefficients first.")
composite("polysub", "a b", _added(-1.0), doc="The difference of two polynomials, the highest coefficients first.")


@function()
def polyder(p: Any, *, m: int = 1) -> Any:
    """The m-th derivative of a polynomial, the highest coefficient first."""
    if m < 0:
        raise ArgumentError("polyder: the order of the derivative must be at least 0")
    nodes_for(2 * min(m, p.shape[0]), "polyder")
    for _ in range(min(m, p.shape[0])):
        n = p.shape[0]
        p = getitem(p, index=((0, n - 1, None),)) * np.arange(n - 1.0, 0.0, -1.0)
    return p


@function()
def polyint(p: Any, *, m: int = 1) -> Any:
    """A polynomial integrated m times, the highest coefficient first, constants 0."""
    nodes_for(2 * m, "polyint")
    room_for(m, p.shape[0] + m)  # numbers to divide by
    for _ in range(m):
        p = concatenate(p / np.arange(float(p.shape[0]), 0.0, -1.0), np.zeros(1), axis=0)
    return p
