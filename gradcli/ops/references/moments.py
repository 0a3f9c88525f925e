"""References of running sums, means, deviations and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, is_nan
from gradcli.ops.references.entries import Array, array, entries, lined, reduced, total
from gradcli.ops.references.reducing import (
    products_so_far,
    sums_so_far,
)
from gradcli.ops.references.shapes import objects, truths


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
    pairs: Array = each(lambda v, holds: (v, holds is None or bool(holds)), x, None if mask is None else truths(mask))
    return pairs


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


def spread_about(
    m: Any, x: Any, where: Any, mean: Any, axis: Any, keepdims: bool, ddof: Any, root: bool, without_nan: bool = False
) -> Array:
    """The mean square (or its root) of what lies between the chosen entries and their mean, or another."""

    def of_row(row: list[Any]) -> Any:
        chosen = [(v, centre) for v, kept, centre in row if kept and not (without_nan and is_nan(m, v))]
        rest = m.one * len(chosen) - ddof
        if not rest > 0:
            return m.nan
        middle = total(m, [v for v, _ in chosen]) / len(chosen)
        apart = [v - (middle if centre is None else centre) for v, centre in chosen]
        found = total(m, [v * v for v in apart]) / rest
        return m.sqrt(found) if root else found

    mask = None if where is None else truths(where)
    triples = each(lambda v, holds, centre: (v, holds is None or bool(holds), centre), x, mask, mean)
    return reduced(triples, axis, keepdims, of_row)


for _name, _root in (("nanvar", False), ("nanstd", True)):

    @of(_name)
    def spread_of_numbers(m: Any, x: Any, where: Any, mean: Any, axis: Any, keepdims: bool, ddof: Any, root: bool = _root) -> Array:
        return spread_about(m, x, where, mean, axis, keepdims, ddof, root, True)


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
