"""References of functions of samples: differences, slopes, areas, polynomials, interpolation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import Array, array, entries, lined, number, total
from gradcli.ops.references.shapes import objects


@of("diff")
def diff(m: Any, x: Any, prepend: Any, append: Any, n: int, axis: int) -> Any:
    if not n:
        return x
    rows = np.moveaxis(objects(x), axis, 0)

    def beside(part: Any) -> list[Any]:
        if part is None:
            return []
        return [np.broadcast_to(objects(part), rows.shape[1:])] if not np.ndim(part) else list(np.moveaxis(objects(part), axis, 0))

    parts = [*beside(prepend), *rows, *beside(append)]
    for _ in range(min(n, len(parts))):
        parts = [after - before for before, after in pairwise(parts)]
    out = np.empty((len(parts), *rows.shape[1:]), dtype=object)
    for i, part in enumerate(parts):
        out[i] = part
    return np.moveaxis(out, 0, axis)


def _parabola(at: list[Any], f: list[Any], i: int, where: int) -> Any:
    """The slope at one of three neighbouring samples of the parabola through them."""
    (a, b, c), (u, v, w) = at[i : i + 3], f[i : i + 3]
    x = at[where]
    return (
        u * (2 * x - b - c) / ((a - b) * (a - c)) + v * (2 * x - a - c) / ((b - a) * (b - c)) + w * (2 * x - a - b) / ((c - a) * (c - b))
    )


def _slopes(m: Any, f: list[Any], at: list[Any], edge: int) -> list[Any]:
    n = len(f)
    inner = [_parabola(at, f, i - 1, i) for i in range(1, n - 1)]
    if edge == 1:
        return [(f[1] - f[0]) / (at[1] - at[0]), *inner, (f[-1] - f[-2]) / (at[-1] - at[-2])]
    return [_parabola(at, f, 0, 0), *inner, _parabola(at, f, n - 3, n - 1)]


def _gradients(m: Any, f: Any, spacing: tuple[Any, ...], axis: Any, edge_order: int) -> tuple[Any, ...]:
    axes = range(np.ndim(f)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    given = [number(m.one)] if not spacing else list(spacing)
    given = given * len(axes) if len(given) == 1 else given
    found = []
    for a, step in zip(axes, given, strict=True):
        n = np.shape(f)[a]
        at = entries(step) if np.ndim(step) else [entries(step)[0] * i for i in range(n)]
        found.append(lined(f, a, lambda row, at=at: _slopes(m, row, at, edge_order)))  # type: ignore[misc]
    return tuple(found)


@of("gradient")
def gradient(m: Any, f: Any, *spacing: Any, axis: Any, edge_order: int) -> Any:
    found = _gradients(m, f, spacing, axis, edge_order)
    return found[0] if len(found) == 1 else found


@of("torch_gradient")
def torch_gradient(m: Any, f: Any, *spacing: Any, axis: Any, edge_order: int) -> Any:
    return _gradients(m, f, spacing, axis, edge_order)


def _areas(m: Any, y: Any, x: Any, dx: Any, axis: int) -> Array:
    """The trapezoids between neighbours, along the first axis."""
    rows = np.moveaxis(objects(y), axis, 0)
    if x is None:
        wide = [m.one if dx is None else entries(dx)[0]] * (len(rows) - 1)
    else:
        at = list(np.moveaxis(objects(x), axis, 0)) if np.ndim(x) > 1 else entries(x)
        wide = [b - a for a, b in pairwise(at)]
    areas = [(a + b) * w / 2 for a, b, w in zip(rows, rows[1:], wide, strict=False)]
    return np.stack([objects(area) for area in areas])


@of("trapezoid")
def trapezoid(m: Any, y: Any, x: Any, dx: Any, axis: int) -> Any:
    return _areas(m, y, x, dx, axis).sum(axis=0)


@of("cumulative_trapezoid")
def cumulative_trapezoid(m: Any, y: Any, x: Any, dx: Any, axis: int) -> Any:
    return np.moveaxis(np.add.accumulate(_areas(m, y, x, dx, axis)), 0, axis)


@of("polyval")
def polyval(m: Any, p: Any, x: Any) -> Any:
    highest = np.size(p) - 1

    def value(v: Any) -> Any:
        powers = [m.one]
        for _ in range(highest):
            powers.append(powers[-1] * v)
        return total(m, [c * powers[highest - i] for i, c in enumerate(entries(p))])

    return each(value, x)


def _overlaps(m: Any, a: list[Any], v: list[Any]) -> list[Any]:
    """The coefficients of the product of two polynomials."""
    return [total(m, [a[i] * v[k - i] for i in range(len(a)) if 0 <= k - i < len(v)]) for k in range(len(a) + len(v) - 1)]


def _moded(full: list[Any], n: int, k: int, mode: str) -> Array:
    longer, shorter = max(n, k), min(n, k)
    start = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    length = {"full": n + k - 1, "same": longer, "valid": longer - shorter + 1}[mode]
    return array(full[start : start + length], (-1,))


@of("convolve")
def convolve(m: Any, a: Any, v: Any, mode: str) -> Any:
    return _moded(_overlaps(m, entries(a), entries(v)), np.size(a), np.size(v), mode)


@of("correlate")
def correlate(m: Any, a: Any, v: Any, mode: str) -> Any:
    n, k = np.size(a), np.size(v)
    full = _overlaps(m, entries(a), entries(v)[::-1])
    if n >= k or mode != "same":
        return _moded(full, n, k, mode)
    return array(full[n // 2 :][:k], (-1,))


@of("interp")
def interp(m: Any, x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any) -> Any:
    at, values = entries(xp), entries(fp)
    below, beyond = (values[0] if left is None else entries(left)[0]), (values[-1] if right is None else entries(right)[0])

    def value(v: Any) -> Any:
        if v < at[0]:
            return below
        if v > at[-1]:
            return beyond
        if len(at) == 1:
            return values[0]
        i = max(i for i in range(len(at) - 1) if at[i] <= v)
        share = (v - at[i]) / (at[i + 1] - at[i])
        return values[i] * (1 - share) + values[i + 1] * share

    return each(value, x)
