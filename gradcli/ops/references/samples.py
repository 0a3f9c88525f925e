"""References of functions of samples: differences, slopes, areas, polynomials, interpolation, padding, and statistics."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, is_nan, nearest
from gradcli.ops.references.entries import Array, array, entries, lined, number, reduced, total
from gradcli.ops.references.reducing import (
    first_best,
    most_frequent,
    order,
    products_so_far,
    running_best,
    sums_so_far,
)
from gradcli.ops.references.shapes import objects, truths


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


# Padding.


def _ends(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """An argument by axes and ends, from one for all, a pair for all axes, or a pair (or number) for each."""
    spread = np.broadcast_to(np.array(value, dtype=object), (ndim, 2))
    return [(before, after) for before, after in spread.tolist()]


def _stretched(m: Any, row: list[Any], before: int, after: int, mode: str, odd: bool, lengths: Any, ends: Any) -> list[Any]:
    """One line made longer at its ends, entry by entry."""
    n = len(row)

    def at(i: int) -> Any:
        if 0 <= i < n:
            return row[i]
        if mode == "edge":
            return row[0] if i < 0 else row[-1]
        if mode == "wrap":
            return row[i % n]
        if mode == "reflect" and n == 1:
            return row[0]
        edge, inside = (0, -i) if i < 0 else (n - 1, 2 * (n - 1) - i)
        inside = inside if mode == "reflect" else inside - 1 if i < 0 else inside + 1
        return 2 * row[edge] - at(inside) if odd else at(inside)

    if mode == "linear_ramp":
        ramps = [ends[0] + (row[0] - ends[0]) * k / before for k in range(before)]
        return [*ramps, *row, *([ends[1] + (row[-1] - ends[1]) * k / after for k in range(after)][::-1])]
    if mode in ("maximum", "minimum", "mean", "median"):
        first, last = (n if k is None else min(k, n) for k in lengths)
        return [_statistic(m, row[:first], mode)] * before + row + [_statistic(m, row[n - last :], mode)] * after
    return [at(i) for i in range(-before, n + after)]


def _statistic(m: Any, row: list[Any], mode: str) -> Any:
    if mode == "mean":
        return total(m, row) / len(row)
    ranked = [row[i] for i in order(m, row)]
    half = len(ranked) // 2
    middle = ranked[half] if len(ranked) % 2 else (ranked[half - 1] + ranked[half]) / 2
    return {"maximum": ranked[-1], "minimum": ranked[0], "median": middle}[mode]


@of("pad")
def pad(m: Any, x: Any, pad_width: Any, mode: str, constant_values: Any, reflect_type: str, stat_length: Any, end_values: Any) -> Any:
    ndim = np.ndim(x)
    widths, fills = _ends(pad_width, ndim), _ends(constant_values, ndim)
    lengths, ends = _ends(stat_length, ndim), _ends(end_values, ndim)
    found = x
    for a, (before, after) in enumerate(widths):
        if mode == "constant":
            front, back = (m.one * v for v in fills[a])
            found = lined(found, a, lambda row, b=before, e=after, u=front, v=back: [u] * b + row + [v] * e)  # type: ignore[misc]
        elif before or after:
            found = lined(
                found, a,
                lambda row, a=a, b=before, e=after: _stretched(m, row, b, e, mode, reflect_type == "odd", lengths[a], ends[a]),  # type: ignore[misc]
            )  # fmt: skip
    return found


@of("torch_pad")
def torch_pad(m: Any, x: Any, pad: Any, mode: str, value: Any) -> Any:
    ends = pad if isinstance(pad, tuple) else (pad,)
    found, fill = x, m.one * (0 if value is None else value)
    known = {"replicate": "edge", "circular": "wrap"}
    for i in range(0, len(ends), 2):
        before, after = ends[i : i + 2]

        def change(row: list[Any], before: int = before, after: int = after) -> list[Any]:
            row = row[max(0, -before) : len(row) - max(0, -after)] if mode in ("constant", "circular") else row
            if mode == "constant":
                return [fill] * before + row + [fill] * after
            longer = _stretched(m, row, max(0, before), max(0, after), known.get(mode, mode), False, None, None)
            return longer if mode == "circular" else longer[max(0, -before) : len(longer) - max(0, -after)]

        found = lined(found, np.ndim(x) - 1 - i // 2, change)
    return found


# Order.


def _along(x: Any, axis: Any, keepdims: bool, choose: Callable[[list[Any]], int]) -> tuple[Array, Array]:
    """The entries that are chosen along an axis, and their indices."""
    if not np.ndim(x):
        return objects(x), number(0)
    picked = reduced(x, axis, keepdims, choose)
    values = reduced(x, axis, keepdims, lambda row: row[choose(row)])
    return values, picked


def _sorted(m: Any, x: Any, axis: Any, descending: bool) -> tuple[Array, Array]:
    flat = objects(x).ravel() if axis is None else objects(x)
    if not flat.ndim:
        return flat, number(0)
    place = 0 if axis is None else axis
    ranks = lined(flat, place, lambda row: order(m, row, descending))
    return lined(flat, place, lambda row: [row[i] for i in order(m, row, descending)]), ranks


@of("sort")
def sort(m: Any, x: Any, axis: Any) -> Any:
    return _sorted(m, x, axis, False)[0]


@of("torch_sort")
def torch_sort(m: Any, x: Any, axis: Any, descending: bool, stable: bool) -> Any:
    return _sorted(m, x, axis, descending)


@of("msort")
def msort(m: Any, x: Any) -> Any:
    return _sorted(m, x, 0, False)[0]


for _name, _largest in (("torch_max", True), ("torch_min", False)):

    @of(_name)
    def extreme(m: Any, x: Any, y: Any, axis: Any, keepdims: bool, largest: bool = _largest) -> Any:
        if y is not None:
            return each(lambda v, w: v if is_nan(m, v) or (v >= w if largest else v <= w) else w, x, y)
        found = _along(x, axis, keepdims, lambda row: first_best(m, row, largest))
        return found[0] if axis is None else found


for _name, _largest in (("cummax", True), ("cummin", False)):

    @of(_name)
    def best_so_far(m: Any, x: Any, axis: int, largest: bool = _largest) -> Any:
        if not np.ndim(x):
            return x, number(0)
        places = lined(x, axis, lambda row: running_best(m, row, largest))
        return lined(x, axis, lambda row: [row[i] for i in running_best(m, row, largest)]), places


@of("kthvalue")
def kthvalue(m: Any, x: Any, k: int, axis: Any, keepdims: bool) -> Any:
    return _along(x, axis, keepdims, lambda row: order(m, row)[k - 1])


@of("topk")
def topk(m: Any, x: Any, k: int, axis: Any, largest: bool, sorted: bool) -> Any:
    if not np.ndim(x):
        return x, number(0)
    values, ranks = _sorted(m, x, axis, largest)
    return lined(values, axis, lambda row: row[:k]), lined(ranks, axis, lambda row: row[:k])


@of("mode")
def mode(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _along(x, axis, keepdims, lambda row: most_frequent(m, row))


@of("aminmax")
def aminmax(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return tuple(_along(x, axis, keepdims, lambda row, up=up: first_best(m, row, up))[0] for up in (False, True))  # type: ignore[misc]


def _lower_median(m: Any, row: list[Any], ignore: bool) -> int:
    ranks = order(m, row)
    numbers = [i for i in ranks if not is_nan(m, row[i])]
    if len(numbers) < len(ranks) and not (ignore and numbers):
        return ranks[len(numbers)] if not numbers and not ignore else ranks[-1]
    return numbers[(len(numbers) - 1) // 2]


for _name, _ignore in (("torch_median", False), ("torch_nanmedian", True)):

    @of(_name)
    def lower_median(m: Any, x: Any, axis: Any, keepdims: bool, ignore: bool = _ignore) -> Any:
        found = _along(x, axis, keepdims, lambda row: _lower_median(m, row, ignore))
        return found[0] if axis is None else found


def _quantile(m: Any, row: list[Any], q: Any, interpolation: str, ignore: bool) -> Any:
    """The entry of rank q*(n - 1), or what lies between two."""
    ranked = [row[i] for i in order(m, row) if not is_nan(m, row[i])]
    if len(ranked) < len(row) and not (ignore and ranked):
        return m.nan
    rank = q * (len(ranked) - 1)
    below, above = int(m.floor(rank)), int(m.ceil(rank))
    if interpolation == "nearest":
        return ranked[int(nearest(m, rank))]
    if interpolation in ("lower", "higher"):
        return ranked[below if interpolation == "lower" else above]
    share = m.one / 2 if interpolation == "midpoint" else rank - below
    return ranked[below] * (1 - share) + ranked[above] * share


def _quantiles(m: Any, x: Any, q: Any, axis: Any, keepdims: bool, interpolation: str, ignore: bool, of_all: int) -> Any:
    found = [
        reduced(x, axis, keepdims, lambda row, rank=rank: _quantile(m, row, rank / of_all, interpolation, ignore))  # type: ignore[misc]
        for rank in entries(q)
    ]
    return np.stack(found) if np.ndim(q) else found[0]


for _name, _skip, _all in (("quantile", False, 1), ("nanquantile", True, 1), ("percentile", False, 100), ("nanpercentile", True, 100)):

    @of(_name)
    def quantiles(
        m: Any, x: Any, q: Any, axis: Any, keepdims: bool, interpolation: str, skip: bool = _skip, of_all: int = _all
    ) -> Any:
        return _quantiles(m, x, q, axis, keepdims, interpolation, skip, of_all)


for _name, _skip in (("median", False), ("nanmedian", True)):

    @of(_name)
    def medians(m: Any, x: Any, axis: Any, keepdims: bool, skip: bool = _skip) -> Any:
        return _quantiles(m, x, number(m.one / 2), axis, keepdims, "midpoint", skip, 1)


# Running sums, moments.


@of("torch_cumsum")
def torch_cumsum(m: Any, x: Any, axis: Any) -> Any:
    return lined(x, axis, sums_so_far) if np.ndim(x) else x


@of("torch_cumprod")
def torch_cumprod(m: Any, x: Any, axis: Any) -> Any:
    return lined(x, axis, products_so_far) if np.ndim(x) else x


for _name, _running, _nothing in (("nancumsum", sums_so_far, 0), ("nancumprod", products_so_far, 1)):

    @of(_name)
    def of_numbers(m: Any, x: Any, axis: Any, running: Any = _running, nothing: int = _nothing) -> Any:
        values = each(lambda v: m.one * nothing if is_nan(m, v) else v, x)
        return lined(values.ravel(), 0, running) if axis is None or not np.ndim(x) else lined(values, axis, running)


for _name, _running, _nothing in (("cumulative_sum", sums_so_far, 0), ("cumulative_prod", products_so_far, 1)):

    @of(_name)
    def cumulative(m: Any, x: Any, axis: Any, include_initial: bool, running: Any = _running, nothing: int = _nothing) -> Any:
        return lined(x, 0 if axis is None else axis, lambda row: [m.one * nothing] * include_initial + running(row))


def _moment(m: Any, row: list[Any], ddof: Any, root: bool) -> Any:
    """The mean of squares, less the square of the mean, of n - ddof entries."""
    n = len(row)
    middle = total(m, row) / n
    squares = total(m, [v * v for v in row]) - middle * middle * n
    rest = m.one * n - ddof
    found = squares / rest if rest > 0 else m.nan if squares == 0 else m.inf
    return m.sqrt(found) if root else found


for _name, _root, _both in (("torch_var", False, False), ("torch_std", True, False), ("var_mean", False, True), ("std_mean", True, True)):

    @of(_name)
    def deviation(
        m: Any, x: Any, axis: Any, unbiased: Any, keepdims: bool, correction: Any, root: bool = _root, both: bool = _both
    ) -> Any:
        ddof = correction if correction is not None else 0 if unbiased is False else 1
        axis = None if axis == () else axis
        found = reduced(x, axis, keepdims, lambda row: _moment(m, row, ddof, root))
        return (found, reduced(x, axis, keepdims, lambda row: total(m, row) / len(row))) if both else found


def _kept(x: Any, mask: Any) -> Array:
    """Each entry with whether it is kept."""
    return each(lambda v, holds: (v, True if holds is None else bool(holds)), x, None if mask is None else truths(mask))


@of("nansum")
def nansum(m: Any, x: Any, where: Any, initial: Any, axis: Any, keepdims: bool) -> Any:
    first = [] if initial is None or is_nan(m, entries(initial)[0]) else [entries(initial)[0]]
    return reduced(_kept(x, where), axis, keepdims, lambda row: total(m, first + [v for v, kept in row if kept and not is_nan(m, v)]))


@of("nanmean")
def nanmean(m: Any, x: Any, where: Any, axis: Any, keepdims: bool) -> Any:
    def of_row(row: list[Any]) -> Any:
        numbers = [v for v, kept in row if kept and not is_nan(m, v)]
        return total(m, numbers) / len(numbers) if numbers else m.nan

    return reduced(_kept(x, where), axis, keepdims, of_row)


for _name, _root in (("nanvar", False), ("nanstd", True)):

    @of(_name)
    def spread_of_numbers(
        m: Any, x: Any, where: Any, mean: Any, axis: Any, keepdims: bool, ddof: Any, root: bool = _root
    ) -> Any:
        def of_row(row: list[Any]) -> Any:
            numbers = [(v, c) for v, kept, c in row if kept and not is_nan(m, v)]
            if not m.one * len(numbers) - ddof > 0:
                return m.nan
            middle = total(m, [v for v, _ in numbers]) / len(numbers)
            squares = total(m, [(v - (middle if c is None else c)) * (v - (middle if c is None else c)) for v, c in numbers])
            found = squares / (m.one * len(numbers) - ddof)
            return m.sqrt(found) if root else found

        mask = None if where is None else truths(where)
        return reduced(each(lambda v, holds, c: (v, holds is None or bool(holds), c), x, mask, mean), axis, keepdims, of_row)


def _covariances(m: Any, rows: list[list[Any]], fweights: Any, aweights: Any, ddof: Any) -> Array:
    """Sums of products of deviations from weighted means, over the observations that count."""
    n = len(rows[0])
    frequency = [m.one] * n if fweights is None else entries(fweights) * (n if not np.ndim(fweights) else 1)
    importance = [m.one] * n if aweights is None else entries(aweights) * (n if not np.ndim(aweights) else 1)
    weights = [f * a for f, a in zip(frequency, importance, strict=True)]
    whole = total(m, weights)
    middles = [total(m, [w * v for w, v in zip(weights, row, strict=True)]) / whole for row in rows]
    count = whole - ddof * total(m, [w * a for w, a in zip(weights, importance, strict=True)]) / whole
    apart = [[v - middle for v in row] for row, middle in zip(rows, middles, strict=True)]

    def over(v: Any) -> Any:
        return v / count if count > 0 else m.nan if v == 0 else m.inf * m.sign(m.plain(v))

    found = [over(total(m, [w * a * b for w, a, b in zip(weights, p, q, strict=True)])) for p in apart for q in apart]
    return array(found, (len(rows), len(rows)))


def _variables(x: Any, rowvar: bool, beside: bool = False) -> list[list[Any]]:
    """One list of observations a variable."""
    values = objects(x)
    table = values if values.ndim == 2 else values.reshape(1, -1)
    turned = not rowvar and (table.shape[0] != 1 if beside else values.ndim == 2)
    return [list(row) for row in (table.T if turned else table)]


@of("cov")
def cov(m: Any, x: Any, y: Any, fweights: Any, aweights: Any, rowvar: bool, bias: bool, ddof: Any) -> Any:
    rows = _variables(x, rowvar) + ([] if y is None else _variables(y, rowvar, True))
    return np.squeeze(_covariances(m, rows, fweights, aweights, (0 if bias else 1) if ddof is None else ddof))


@of("torch_cov")
def torch_cov(m: Any, x: Any, fweights: Any, aweights: Any, correction: Any) -> Any:
    return np.squeeze(_covariances(m, _variables(x, True), fweights, aweights, correction))


@of("corrcoef")
def corrcoef(m: Any, x: Any, y: Any, rowvar: bool) -> Any:
    rows = _variables(x, rowvar) + ([] if y is None else _variables(y, rowvar, True))
    table = _covariances(m, rows, None, None, 1)
    n = len(rows)
    found = [table[i, j] / m.sqrt(table[i, i] * table[j, j]) for i in range(n) for j in range(n)]
    return np.squeeze(array(found, (n, n)))


@of("average")
def average(m: Any, x: Any, weights: Any, axis: Any, keepdims: bool, returned: bool) -> Any:
    values = objects(x)
    if weights is None:
        heavy = np.full(values.shape, m.one, dtype=object)
    elif np.shape(weights) == values.shape:
        heavy = objects(weights)
    else:
        axes = [a % values.ndim for a in (axis if isinstance(axis, tuple) else (axis,))]
        apart = objects(weights).reshape(*np.shape(weights), *[1] * (values.ndim - len(axes)))
        heavy = np.broadcast_to(np.moveaxis(apart, range(len(axes)), axes), values.shape)
    pairs = each(lambda v, w: (v, w), values, heavy)
    masses = reduced(pairs, axis, keepdims, lambda row: total(m, [w for _, w in row]))
    found = reduced(pairs, axis, keepdims, lambda row: total(m, [v * w for v, w in row]) / total(m, [w for _, w in row]))
    return (found, masses) if returned else found


@of("ptp")
def ptp(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return reduced(x, axis, keepdims, lambda row: m.extreme("max", row) - m.extreme("min", row))


