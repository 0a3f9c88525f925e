"""Vectors as sampled functions: polynomials, interpolation, sums of shifted products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, flip, getitem, part_of, reshape, scatter_add
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import rint
from gradcli.ops.elementwise.bounds import maximum, minimum
from gradcli.ops.elementwise.logic import greater, greater_equal, less, where
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite
from gradcli.ops.structure import to_int

_WINDOWS = 1 << 18  # entries of a table of windows, at most


def _vector(name: str, x: Any) -> Any:
    if len(x.shape) > 1 or x.shape == (0,):
        raise ShapeError(f"{name} needs vectors of at least one entry, not the shape {tuple(x.shape)}")
    return x if x.shape else reshape(x, shape=(1,))


def _polyval(p: Any, x: Any) -> Any:
    if len(p.shape) != 1 or not p.shape[0]:
        raise ShapeError(f"polyval needs a vector of coefficients, not the shape {tuple(p.shape)}")
    value = getitem(p, index=(0,)) + 0 * x
    for i in range(1, p.shape[0]):
        value = value * x + getitem(p, index=(i,))
    return value


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
        return body(_vector(name, a), _vector(name, v), mode)

    return checked


def _convolve(a: Any, v: Any, mode: str) -> Any:
    long, short = (a, v) if a.shape[0] >= v.shape[0] else (v, a)
    return _sliding(long, flip(short, axis=0), mode)


def _correlate(a: Any, v: Any, mode: str) -> Any:
    return _sliding(a, v, mode) if a.shape[0] >= v.shape[0] else flip(_sliding(v, a, mode), axis=0)


def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
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


polyval = composite(
    "polyval", "p x", _polyval, doc="The polynomial with coefficients p, the highest first, at x.", examples=("polyval([1, 0, -2], x)",)
)
convolve = composite(
    "convolve", "a v", _moded("convolve", _convolve), static={"mode": "full"}, examples=("convolve(x, [1, 2, 1])",),
    doc="The convolution of two vectors: where they overlap at all ('full'), entirely ('valid'), or centred ('same').",
)  # fmt: skip
correlate = composite(
    "correlate", "a v", _moded("correlate", _correlate), static={"mode": "valid"},
    doc="The cross-correlation of two vectors: their inner products at every shift.",
)  # fmt: skip
interp = composite(
    "interp", "x xp fp left? right?", _interp, static={"period": None},
    doc="Linear interpolation at x between the points xp (ascending) with values fp; constant beyond them. At a point, the slope "
    "to its right.", examples=("interp(x, [0, 1, 2], f)",),
)  # fmt: skip
declare(
    NUMPY,
    convolve=signature("convolve", "a, v, mode"),
    correlate=signature("correlate", "a, v, mode"),
    interp=signature("interp", "x, xp, fp, left, right, period"),
)
