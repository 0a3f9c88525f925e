"""References of statistics of samples: along lines of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.entries import array, lined, reduced, total

Row = list[Any]


def _middle(m: Any, row: Row) -> Any:
    return total(m, row) / len(row)


def _moment(m: Any, row: Row, order: int) -> Any:
    middle = _middle(m, row)
    powers = []
    for v in row:
        power = m.one
        for _ in range(order):
            power = power * (v - middle)
        powers.append(power)
    return total(m, powers) / len(row)


def _deviation(m: Any, row: Row, ddof: Any) -> Any:
    return m.sqrt(_moment(m, row, 2) * len(row) / (len(row) - ddof))


def _flat(x: Any, axis: Any, change: Any) -> Any:
    if axis is not None:
        return lined(x, axis, change)
    x = np.asarray(x, dtype=object)
    return array(change(x.ravel().tolist()), x.shape)


@of("zscore")
def zscore(m: Any, x: Any, axis: Any, ddof: Any) -> Any:
    def scores(row: Row) -> Row:
        middle, size = _middle(m, row), _deviation(m, row, ddof)
        return [(v - middle) / size for v in row]

    return _flat(x, axis, scores)


def _weighted(m: Any, x: Any, weights: Any, axis: Any, change: Any, back: Any) -> Any:
    x = np.asarray(x, dtype=object)
    if weights is None:
        return reduced(x, axis, False, lambda row: back(_middle(m, [change(v) for v in row])))
    pairs = np.empty(x.shape, dtype=object)
    spread = np.broadcast_to(np.asarray(weights, dtype=object), x.shape)
    for place in np.ndindex(x.shape):
        pairs[place] = (x[place], spread[place])
    return reduced(pairs, axis, False, lambda row: back(total(m, [w * change(v) for v, w in row]) / total(m, [w for _, w in row])))


@of("gmean")
def gmean(m: Any, x: Any, weights: Any, axis: Any) -> Any:
    return _weighted(m, x, weights, axis, m.log, m.exp)


@of("hmean")
def hmean(m: Any, x: Any, weights: Any, axis: Any) -> Any:
    return _weighted(m, x, weights, axis, lambda v: 1 / v, lambda v: 1 / v)


@of("sem")
def sem(m: Any, x: Any, axis: Any, ddof: Any) -> Any:
    return reduced(x, axis, False, lambda row: _deviation(m, row, ddof) / m.sqrt(m.one * len(row)))


@of("variation")
def variation(m: Any, x: Any, axis: Any, ddof: Any) -> Any:
    return reduced(x, axis, False, lambda row: _deviation(m, row, ddof) / _middle(m, row))


@of("central_moment")
def central_moment(m: Any, x: Any, order: int, axis: Any) -> Any:
    return reduced(x, axis, False, lambda row: _moment(m, row, order))


@of("skew")
def skew(m: Any, x: Any, axis: Any, bias: bool) -> Any:
    def one(row: Row) -> Any:
        n, second = len(row), _moment(m, row, 2)
        value = _moment(m, row, 3) / second / m.sqrt(second)
        return value if bias else value * m.sqrt(m.one * n * (n - 1)) / (n - 2)

    return reduced(x, axis, False, one)


@of("kurtosis")
def kurtosis(m: Any, x: Any, axis: Any, fisher: bool, bias: bool) -> Any:
    def one(row: Row) -> Any:
        n, second = len(row), _moment(m, row, 2)
        value = _moment(m, row, 4) / second / second
        if not bias:
            value = (value * (n + 1) - 3 * (n - 1)) * (n - 1) / (n - 2) / (n - 3) + 3
        return value - 3 if fisher else value

    return reduced(x, axis, False, one)


@of("stats_entropy")
def stats_entropy(m: Any, pk: Any, qk: Any, base: Any, axis: Any) -> Any:
    def shares(row: Row) -> Row:
        return [v / total(m, row) for v in row]

    p = _flat(pk, axis, shares)
    parts = np.empty(p.shape, dtype=object)
    q = None if qk is None else _flat(np.broadcast_to(np.asarray(qk, dtype=object), p.shape), axis, shares)
    for place in np.ndindex(p.shape):
        v = p[place]
        parts[place] = m.zero if m.plain(v) == 0 else -v * m.log(v) if q is None else v * (m.log(v) - m.log(q[place]))
    scale = None if base is None else m.log(np.asarray(base, dtype=object).item())
    return reduced(parts, axis, False, lambda row: total(m, row) if scale is None else total(m, row) / scale)


@of("pearsonr")
def pearsonr(m: Any, x: Any, y: Any) -> Any:
    x, y = np.asarray(x, dtype=object).tolist(), np.asarray(y, dtype=object).tolist()
    a, b = _middle(m, x), _middle(m, y)
    joint = total(m, [(v - a) * (w - b) for v, w in zip(x, y, strict=True)])
    return (array([joint / m.sqrt(total(m, [(v - a) * (v - a) for v in x])) / m.sqrt(total(m, [(w - b) * (w - b) for w in y]))], ()),)
