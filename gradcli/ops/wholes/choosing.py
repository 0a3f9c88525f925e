"""Entries that are chosen by their order, on whole arrays: the places of extremes, medians, the most frequent."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, Function
from gradcli.ops.wholes.moving import along, picked, put, whole


def _rows(x: Any, axis: int) -> Any:
    return np.moveaxis(np.asarray(x), axis, -1)


def _first(best: Function) -> Formulas:
    """The first NaN, if there is one, else the first extreme."""

    def value(x: Any, axis: Any, keepdims: bool) -> Any:
        x = np.asarray(x)
        place = axis[0] if isinstance(axis, tuple) else axis
        rows = x.reshape(1, -1) if place is None or not x.ndim else _rows(x, place)
        extreme = best(rows, axis=-1, keepdims=True)
        hit = (rows == extreme) | np.isnan(rows)
        n = rows.shape[-1]
        found = np.where(hit, np.arange(n), n).min(axis=-1)
        if place is None or not x.ndim:
            return found.reshape((1,) * x.ndim if keepdims else ())
        return np.expand_dims(found, place) if keepdims else found

    return whole(value)


def _so_far(best: Function) -> Formulas:
    """The last extreme, or NaN, so far."""

    def value(x: Any, axis: int) -> Any:
        x = np.asarray(x)
        if not x.ndim:
            return np.int64(0)
        rows = _rows(x, axis)
        hit = (rows == best(rows, axis=-1)) | np.isnan(rows)
        return np.moveaxis(np.maximum.accumulate(np.where(hit, np.arange(rows.shape[-1]), 0), axis=-1), -1, axis)

    return whole(value)


def _in_order(x: Any, axis: int | None, descending: bool) -> Any:
    x = np.asarray(x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not x.ndim:
        return np.int64(0)
    rows = _rows(x, axis)
    places = np.broadcast_to(np.arange(rows.shape[-1]), rows.shape)
    keys = (places, -rows, ~np.isnan(rows)) if descending else (places, rows, np.isnan(rows))
    return np.moveaxis(np.lexsort(keys, axis=-1), -1, axis)


def _most_frequent(x: Any, axis: int) -> Any:
    rows = _rows(x, axis)
    found = np.zeros((*rows.shape[:-1], 1), int)
    for place in np.ndindex(rows.shape[:-1]):
        order = np.argsort(rows[place], kind="stable")
        start, best = 0, 0
        for i in range(1, len(order) + 1):
            if i == len(order) or rows[place][order[i]] != rows[place][order[start]]:
                if i - start > best:
                    best, found[(*place, 0)] = i - start, order[i - 1]
                start = i
    return np.moveaxis(found, -1, axis)


def _median(numbers_only: bool) -> Formulas:
    def value(x: Any) -> Any:
        numbers = np.asarray(x).reshape(-1)
        valid = numbers[~np.isnan(numbers)]
        if not valid.size or (valid.size < numbers.size and not numbers_only):
            return LONG_DOUBLE(np.nan)
        return np.partition(valid, (valid.size - 1) // 2)[(valid.size - 1) // 2]

    def pull(c: Any, out: Any, x: Any) -> Any:
        hit = ((x == out) | (np.isnan(x) & np.isnan(out))).astype(LONG_DOUBLE)
        return (c * hit / hit.sum(),)

    return Formulas(value, pull, pull, pull)


def _extreme(x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool) -> Any:
    out, places = np.array(x).reshape(-1), along(index, axis, np.shape(x)).reshape(-1)
    if not include_self:
        out[places] = -np.inf if largest else np.inf
    values = np.broadcast_to(source, np.shape(index)).reshape(-1)
    # the best is put last
    order = np.argsort(values if largest else -values, kind="stable")  # NaN is sorted last in both
    for place, value in zip(places[order], values[order], strict=True):
        if not (out[place] >= value if largest else out[place] <= value) and out[place] == out[place]:
            out[place] = value
    return out.reshape(np.shape(x))


def _extreme_back(
    c: Any, out: Any, x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool
) -> tuple[Any, Any, None]:
    places = along(index, axis, x.shape)
    count = put(np.ones(np.shape(index), LONG_DOUBLE), places, x.shape)
    own = ((x == out) | (np.isnan(x) & np.isnan(out))) & ((count == 0) | include_self)
    reached = picked(out, places)
    hit = (source == reached) | (np.isnan(source) & np.isnan(reached))
    among = own + put(hit.astype(LONG_DOUBLE), places, x.shape)
    share = c / np.where(among == 0, 1, among)
    return np.where(own, share, 0), np.where(hit, picked(share, places), 0), None


LARGEST, SMALLEST = _first(np.max), _first(np.min)
LARGEST_SO_FAR, SMALLEST_SO_FAR = _so_far(np.maximum.accumulate), _so_far(np.minimum.accumulate)
ORDER = whole(_in_order)
MOST_FREQUENT = whole(_most_frequent)
MEDIAN, MEDIAN_OF_NUMBERS = _median(False), _median(True)
EXTREME_ALONG = Formulas(_extreme, _extreme_back, _extreme_back, _extreme_back)
