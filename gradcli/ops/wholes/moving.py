"""Entries that are moved, copied, added up and put into their places, on whole arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, Function

Shape = tuple[int, ...]


def moved(value: Function, back: Function) -> Formulas:
    """Return what moves entries, or adds them up: sizes, errors and what flows go back as cotangents do.

    back  ``back(cotangent, *operands, **static)``: what is for each operand
    """

    def pull(cotangent: Any, out: Any, *operands: Any, **static: Any) -> Any:
        return back(cotangent, *operands, **static)

    return Formulas(value, pull, pull, pull)


def whole(value: Function) -> Formulas:
    """Whole numbers, through which nothing flows."""

    def pull(cotangent: Any, out: Any, *operands: Any, **static: Any) -> Any:
        return [None] * len(operands)

    return Formulas(value, pull, pull, pull)


def _in_row(x: Any, axis: int) -> Any:
    return np.moveaxis(np.asarray(x), axis, -1)


def _numbers(shape: Shape) -> Any:
    return np.arange(math.prod(shape)).reshape(shape)


def _at(shape: Shape, index: Any) -> Any:
    """The numbers of the entries that an index finds."""
    return _numbers(shape)[tuple(slice(*part) if isinstance(part, tuple) else getattr(part, "array", part) for part in index)]


def put(x: Any, numbers: Any, shape: Shape) -> Any:
    """Entries added up at their places, by the numbers of these."""
    numbers = np.asarray(numbers)
    if np.asarray(x).dtype == np.float64:
        return np.bincount(numbers.reshape(-1), np.broadcast_to(x, numbers.shape).reshape(-1), math.prod(shape)).reshape(shape)
    flat = np.zeros(math.prod(shape), LONG_DOUBLE)
    np.add.at(flat, numbers.reshape(-1), np.broadcast_to(x, numbers.shape).reshape(-1))
    return flat.reshape(shape)


def picked(x: Any, numbers: Any) -> Any:
    """Entries by their numbers."""
    return np.asarray(x).reshape(-1)[numbers]


def along(index: Any, axis: int, shape: Shape) -> Any:
    """The numbers of the entries of an array of a shape that indices along an axis find."""
    index = np.asarray(index)
    if not index.ndim:
        return np.zeros((), int)
    rows = _in_row(_numbers(shape), axis)
    rows = rows[tuple(slice(n) for n in _in_row(index, axis).shape[:-1])]
    wanted = _in_row(index, axis)
    return np.moveaxis(np.take_along_axis(rows, np.where(wanted < 0, wanted + shape[axis], wanted), -1), -1, axis)


def _summed(x: Any, shape: Shape) -> Any:
    old = np.shape(x)
    places = np.broadcast_to(_numbers(shape), old)
    return put(x, places, shape)


def _sources(index: Any, axis: int, shape: Shape) -> Any:
    found = _numbers(shape).reshape(-1)
    for i, place in enumerate(along(index, axis, shape).reshape(-1)):
        found[place] = found.size + i
    return found.reshape(shape)


def _diagonal(shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    """The numbers of a diagonal's entries, along the last axis."""
    matrices = np.moveaxis(_numbers(shape), (axis1, axis2), (-2, -1))
    rows, columns = matrices.shape[-2:]
    i = np.arange(rows)[(np.arange(rows) + offset >= 0) & (np.arange(rows) + offset < columns)]
    return matrices[..., i, i + offset]


def _rolled(shape: Shape, shift: Any, axis: Any) -> Any:
    """The number of the entry that comes to each place."""
    numbers = _numbers(shape)
    if axis is None or axis == ():
        n = max(1, numbers.size)
        total = sum(shift) if isinstance(shift, tuple) else shift
        return numbers.reshape(-1)[(np.arange(numbers.size) - total) % n].reshape(shape)
    if not shape:
        return numbers
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    for a, s in zip(axes if len(axes) == len(shifts) else axes * len(shifts), shifts, strict=True):
        n = shape[a]
        numbers = numbers[(slice(None),) * (a % len(shape)) + ((np.arange(n) - s) % max(1, n),)]
    return numbers


def _kept(shape: Shape, k: int, upper: bool) -> Any:
    """Return whether entries of matrices are on one side of a diagonal, or on it; of a vector's, the matrix whose rows it is."""
    rows, columns = (shape[-1], shape[-1]) if len(shape) == 1 else shape[-2:]
    beyond = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    return (beyond >= k if upper else beyond <= k).astype(LONG_DOUBLE)


def _triangle(upper: bool) -> Formulas:
    def value(x: Any, k: int) -> Any:
        return np.where(_kept(x.shape, k, upper) > 0, x, np.zeros((), x.dtype))

    return moved(value, lambda c, x, k: (np.where(_kept(x.shape, k, upper) > 0, c, np.zeros((), c.dtype)),))


def _region(base: Any, index: Any) -> Any:
    """The numbers of the entries at an index."""
    numbers = _numbers(np.shape(base))
    return picked(numbers, _at(numbers.shape, index))


def _overwritten(base: Any, new: Any, index: Any) -> Any:
    flat, region = np.array(base).reshape(-1), _region(base, index)
    flat[region] = new
    return flat.reshape(np.shape(base))


def _not_overwritten(c: Any, base: Any, new: Any, index: Any) -> Any:
    region = _region(base, index)
    rest = np.array(c).reshape(-1)
    rest[region] = 0
    return rest.reshape(np.shape(base)), picked(c, region)


def _addresses(size: Shape, stride: Any, offset: int = 0) -> Any:
    """Return where in memory the entries of a region are."""
    found = np.full(size, offset, np.int64)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        found += (np.arange(n) * step).reshape(n, *(1,) * (len(size) - axis - 1))
    return found


def _strided_places(shape: Shape, size: Shape, stride: Any, offset: int, source: Any) -> tuple[Any, Any]:
    """For each entry of an array and for each of a region of its memory, where in one memory it is."""
    mine, asked = _addresses(shape, source), _addresses(size, stride, offset)
    low = min(mine.min(initial=0), asked.min(initial=0))
    return mine - low, asked - low


def _in_memory(x: Any, mine: Any, asked: Any) -> Any:
    memory = np.zeros(max(mine.max(initial=-1), asked.max(initial=-1)) + 1, np.asarray(x).dtype)
    memory[mine] = x
    return memory


def _strided(x: Any, size: Shape, stride: Any, offset: int, source: Any) -> Any:
    mine, asked = _strided_places(np.shape(x), size, stride, offset, source)
    return _in_memory(x, mine, asked)[asked]


def _strided_sum(x: Any, shape: Shape, size: Shape, stride: Any, offset: int, source: Any) -> Any:
    mine, asked = _strided_places(shape, size, stride, offset, source)
    memory = np.zeros(max(mine.max(initial=-1), asked.max(initial=-1)) + 1, np.asarray(x).dtype)
    np.add.at(memory, asked, x)
    return memory[mine]


def _shared(c: Any, x: Any, size: Shape, stride: Any, offset: int, source: Any) -> tuple[Any]:
    """Entries of one memory share what arrives there."""
    shape = np.shape(x)
    counts = _strided_sum(np.ones(shape), shape, shape, source, 0, source)
    return (_strided_sum(c, shape, size, stride, offset, source) / counts.astype(np.asarray(c).dtype),)


def _strided_over(base: Any, new: Any, size: Shape, stride: Any, offset: int, source: Any) -> Any:
    mine, asked = _strided_places(np.shape(base), size, stride, offset, source)
    memory = _in_memory(base, mine, asked)
    memory[asked] = new
    return memory[mine]


def _not_strided_over(c: Any, base: Any, new: Any, size: Shape, stride: Any, offset: int, source: Any) -> tuple[Any, Any]:
    return _strided_over(c, 0, size, stride, offset, source), _strided(c, size, stride, offset, source)


def _mirrored(x: Any, upper: bool, mirrored: bool) -> Any:
    kept = _kept(x.shape, 0, upper) > 0
    return np.where(kept, x, np.swapaxes(x, -1, -2) if mirrored else np.zeros((), x.dtype))


def _exchanged(p: Any, count: int) -> Any:
    found = np.zeros((*p.shape[:-2], count), int)
    for place in np.ndindex(p.shape[:-2]):
        rows = list(range(p.shape[-1]))
        for i in range(count):
            j = rows.index(int(np.flatnonzero(p[place][:, i])[0]))
            rows[i], rows[j] = rows[j], rows[i]
            found[(*place, i)] = j + 1
    return found


def _permuted(pivots: Any, n: int) -> Any:
    found = np.zeros((*np.shape(pivots)[:-1], n, n), bool)
    for place in np.ndindex(np.shape(pivots)[:-1]):
        rows = list(range(n))
        for i, j in enumerate(np.asarray(pivots)[place]):
            rows[i], rows[j - 1] = rows[j - 1], rows[i]
        for column, row in enumerate(rows):
            found[place][row, column] = True
    return found


SUMMED = moved(_summed, lambda c, x, shape: (np.broadcast_to(c, x.shape),))
ADDED = moved(lambda x, index, shape: put(x, _at(shape, index), shape), lambda c, x, index, shape: (picked(c, _at(shape, index)),))
ADDED_ALONG = moved(
    lambda x, index, axis, shape: put(x, along(index, axis, shape), shape),
    lambda c, x, index, axis, shape: (picked(c, along(index, axis, shape)), None),
)
TAKEN_ALONG = moved(
    lambda x, index, axis: picked(x, along(index, axis, np.shape(x))),
    lambda c, x, index, axis: (put(c, along(index, axis, x.shape), x.shape), None),
)
SOURCES = whole(_sources)
TRACE = moved(
    lambda x, offset, axis1, axis2: picked(x, _diagonal(x.shape, offset, axis1, axis2)).sum(axis=-1),
    lambda c, x, offset, axis1, axis2: (put(c[..., None], _diagonal(x.shape, offset, axis1, axis2), x.shape),),
)
ROLLED = moved(
    lambda x, shift, axis: picked(x, _rolled(np.shape(x), shift, axis)),
    lambda c, x, shift, axis: (put(c, _rolled(x.shape, shift, axis), x.shape),),
)
LOWER, UPPER = _triangle(False), _triangle(True)
COPY = moved(lambda x: x, lambda c, x: (c,))
OVERWRITTEN = moved(_overwritten, _not_overwritten)
STRIDED = moved(_strided, _shared)
STRIDED_SCATTERED = moved(_strided_over, _not_strided_over)
STRIDED_SUM = moved(
    _strided_sum, lambda c, x, shape, size, stride, offset, source: (_strided_sum(c, size, shape, source, -offset, stride),)
)
READ = moved(_mirrored, lambda c, x, upper, mirrored: (c,))
NUMBERS = whole(lambda mask: np.array([max(n - 1, 0) for n in np.add.accumulate(np.not_equal(mask, 0).astype(int))], int))
EXCHANGES = whole(_exchanged)
PERMUTATION = whole(_permuted)
WHOLE_NUMBERS = whole(lambda x: np.asarray(np.rint(x)).astype(np.int64))
EPSILON = whole(lambda x, epsilon: LONG_DOUBLE(epsilon))


# -- Entries that are chosen by their order, on whole arrays: the places of extremes, medians, the
# most frequent.


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
