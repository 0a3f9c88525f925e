"""References of operations that move entries: which entry stands where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.references.products import Array, array, entries, picked, size_of, spread, whole


def same(m: Any, x: Any, **_: Any) -> Any:
    return x


def reshape(m: Any, x: Any, shape: Any) -> Array:
    extents = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    known = size_of(n for n in extents if n != -1)
    return array(entries(x), [np.size(x) // known if n == -1 else n for n in extents])


def broadcast_to(m: Any, x: Any, shape: Any) -> Array:
    return array(spread(x, shape), shape)


def transpose(m: Any, x: Any, axes: Any) -> Array:
    places = range(np.ndim(x))
    return np.moveaxis(np.asarray(x, object), places[::-1] if axes is None else axes, places)


def concatenate(m: Any, *arrays: Any, axis: int) -> Array:
    """The entries of one array after those of the other, where the axis comes first."""
    lined = [np.moveaxis(np.asarray(x, object), axis, 0) for x in arrays]
    joined = array([v for x in lined for v in entries(x)], [sum(map(len, lined)), *lined[0].shape[1:]])
    return np.moveaxis(joined, 0, axis)


def _numbers(shape: Sequence[int], index: Sequence[Any]) -> Any:
    """The numbers of the entries of x[index] among those of x: what an index means is NumPy's to say."""
    numbers = np.arange(size_of(shape)).reshape(tuple(shape))
    return numbers[tuple(slice(*part) if isinstance(part, tuple) else getattr(part, "array", part) for part in index)]


def _sums(m: Any, places: Sequence[int], values: Sequence[Any], shape: Sequence[int]) -> Array:
    """Zeros of a shape with values added at the numbers of their places."""
    sums: dict[int, Any] = {}
    for place, value in zip(places, values, strict=True):
        sums[place] = sums[place] + value if place in sums else value
    return array([sums.get(place, m.zero) for place in range(size_of(shape))], shape)


def getitem(m: Any, x: Any, index: Any) -> Array:
    places = _numbers(np.shape(x), index)
    return picked(x, whole(places), np.shape(places))


def scatter_add(m: Any, x: Any, index: Any, shape: Any) -> Array:
    places = _numbers(shape, index)
    return _sums(m, whole(places), spread(x, np.shape(places)), shape)


def _columns(index: Any, shape: Sequence[int], axis: int) -> list[int]:
    """Return where in an array of a shape the entry of each index along an axis stands."""
    if not shape:
        return [0]
    numbers = np.arange(size_of(shape)).reshape(tuple(shape))
    others = numbers[tuple(slice(None if a == axis % len(shape) else n) for a, n in enumerate(np.shape(index)))]
    return whole(np.take_along_axis(others, np.asarray(index, int), axis))


def take_along(m: Any, x: Any, index: Any, axis: int) -> Array:
    return picked(x, _columns(index, np.shape(x), axis), np.shape(index))


def add_along(m: Any, x: Any, index: Any, axis: int, shape: Any) -> Array:
    return _sums(m, _columns(index, shape, axis), spread(x, np.shape(index)), shape)
