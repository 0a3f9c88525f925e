"""References of what depends on order: sorted entries, extremes, medians and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each, is_nan, nearest
from gradcli.ops.references.entries import Array, entries, lined, number, reduced
from gradcli.ops.references.reducing import (
    first_best,
    most_frequent,
    order,
    running_best,
)
from gradcli.ops.references.shapes import objects


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
    return tuple(_along(x, axis, keepdims, partial(first_best, m, largest=up))[0] for up in (False, True))


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
    ranked = partial(_quantile, m, interpolation=interpolation, ignore=ignore)
    found = [reduced(x, axis, keepdims, partial(ranked, q=rank / of_all)) for rank in entries(q)]
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
