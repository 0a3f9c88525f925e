"""References of reductions: what one scalar is made of many, line by line."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from gradcli.ops.references.products import Array, array, entries, lined, number, product, reduced, total


def sum_(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: total(m, row))


def prod(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: product(m, row))


def max_(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: m.extreme("max", row))


def min_(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: m.extreme("min", row))


def first_largest(m: Any, row: list[Any]) -> int:
    """The index of the first NaN; if there is none, of the first largest entry."""
    values = [m.plain(v) for v in row]
    best = 0
    for i, value in enumerate(values):
        if value != value:
            return i
        if value > values[best]:
            best = i
    m.tied("argmax", [v for v, value in zip(row, values, strict=True) if value == values[best]])
    return best


def argmax(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: first_largest(m, row))


def order(m: Any, row: list[Any], descending: bool = False) -> list[int]:
    """The indices of entries in order, equal ones as they stand; NaN is larger than any number."""
    values = [m.plain(v) for v in row]
    numbers = [i for i, v in enumerate(values) if v == v]
    others = [i for i, v in enumerate(values) if v != v]
    numbers.sort(key=lambda i: -values[i] if descending else values[i])
    for _, alike in groupby(numbers, key=values.__getitem__):
        m.tied("argsort", [row[i] for i in alike])
    return others + numbers if descending else numbers + others


def argsort(m: Any, x: Any, axis: int | None, descending: bool) -> Array:
    if axis is None:
        return array(order(m, entries(x), descending), [np.size(x)])
    if not np.ndim(x):
        return number(0)
    return lined(x, axis, lambda row: order(m, row, descending))


def running_best(m: Any, row: list[Any]) -> list[int]:
    """The index of the last largest entry so far; from a NaN on, of the last NaN."""
    found: list[int] = []
    values = [m.plain(v) for v in row]
    for i, value in enumerate(values):
        best = values[found[-1]] if found else value
        better = value != value or (best == best and value >= best)
        if found and value == best:
            m.tied("argcummax", [row[found[-1]], row[i]])
        found.append(i if better or not found else found[-1])
    return found


def argcummax(m: Any, x: Any, axis: int) -> Array:
    return lined(x, axis, lambda row: running_best(m, row)) if np.ndim(x) else number(0)


def _largest_apart(m: Any, row: list[Any]) -> tuple[Any, Any]:
    """The largest, and what log(sum(exp(v))) has beyond it."""
    rest = list(row)
    values = [m.plain(v) for v in rest]
    top = rest.pop(values.index(max(values)))
    return top, m.log1p(total(m, [m.exp(v - top) for v in rest]))


def logarithm_of_sum(m: Any, row: list[Any]) -> Any:
    """log(sum(exp(v))), the largest taken out where that may overflow."""
    if not m.overflows:
        return m.log(total(m, [m.exp(v) for v in row]))
    top, beyond = _largest_apart(m, row)
    return top + beyond


def logsumexp(m: Any, x: Any, axis: Any, keepdims: bool) -> Array:
    return reduced(x, axis, keepdims, lambda row: logarithm_of_sum(m, row))


def median_from_below(m: Any, x: Any, ignore_nan: bool) -> Array:
    """The lower one of the middle entries among those that are numbers; NaN if none is, or one is not and NaN is not ignored."""
    numbers = sorted((v for v in entries(x) if m.plain(v) == m.plain(v)), key=m.plain)
    if not numbers or not (ignore_nan or len(numbers) == np.size(x)):
        return number(m.nan)
    middle = numbers[(len(numbers) - 1) // 2]
    m.tied("lower_median", [v for v in numbers if m.plain(v) == m.plain(middle)])
    return number(middle)
