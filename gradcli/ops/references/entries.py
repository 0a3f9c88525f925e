"""Arrays of scalars as lists: the loops over indices that references are made of.

An array is its entries in order, and where an entry stands is a number: the sum of the steps along its axes. What moves entries
is then a walk over these numbers, and what reduces them a walk inside another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Array = np.ndarray
Loop = tuple[int, int]  # how many places, and the step from each to the next


def entries(x: Any) -> list[Any]:
    """The scalars of an array, the last axis first."""
    found: list[Any] = np.asarray(x, dtype=object).ravel().tolist()
    return found


def array(values: Iterable[Any], shape: Sequence[int]) -> Array:
    """An array of scalars from its entries in order."""
    return np.fromiter(values, dtype=object).reshape(tuple(shape))


def number(value: Any) -> Array:
    """An array of no axes."""
    return array([value], ())


def whole(x: Any) -> list[int]:
    """The entries of an array of indices."""
    return [int(v) for v in entries(x)]


def size_of(shape: Iterable[int]) -> int:
    total = 1
    for n in shape:
        total = total * n
    return total


def steps(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis stand."""
    found, step = [], 1
    for n in reversed(shape):
        found.append(step)
        step = step * n
    return found[::-1]


def loops(shape: Sequence[int]) -> list[Loop]:
    return list(zip(shape, steps(shape), strict=True))


def walk(path: Sequence[Loop], start: int = 0) -> list[int]:
    """The places that nested loops come by, the last loop innermost."""
    places = [start]
    for count, step in path:
        along = [step * i for i in range(count)]
        places = [place + k for place in places for k in along]
    return places


def picked(x: Any, places: Iterable[int], shape: Sequence[int]) -> Array:
    """The entries at places, in another shape."""
    flat = entries(x)
    return array([flat[place] for place in places], shape)


def which(axis: Any, ndim: int) -> list[int]:
    """The axes that are meant, counted from the first; all of them by None. A number has no axis but that of its one entry."""
    if axis is None:
        return list(range(ndim))
    named = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return [a + ndim if a < 0 else a for a in named] if ndim else []


def along(axis: Any, ndim: int) -> int:
    """The one axis that is meant; 0 for a number."""
    return (which(axis, ndim) or [0])[0]


def rows(x: Any, axis: Any) -> tuple[list[list[Any]], list[int]]:
    """The entries along some axes, one list for each place on the others, and the extents of these."""
    path = loops(np.shape(x))
    inside = which(axis, len(path))
    kept = [loop for a, loop in enumerate(path) if a not in inside]
    flat, inner = entries(x), walk([path[a] for a in sorted(inside)])
    return [[flat[place + i] for i in inner] for place in walk(kept)], [n for n, _ in kept]


def reduced(x: Any, axis: Any, keepdims: bool, make: Callable[[list[Any]], Any]) -> Array:
    """One scalar made of the entries along some axes."""
    lists, _ = rows(x, axis)
    inside = which(axis, np.ndim(x))
    shape = [1 if a in inside else n for a, n in enumerate(np.shape(x)) if keepdims or a not in inside]
    return array([make(row) for row in lists], shape)


def lined(x: Any, axis: int, change: Callable[[list[Any]], list[Any]]) -> Array:
    """Each line along one axis replaced by another, which may be shorter or longer."""
    shape = np.shape(x)
    lists, kept = rows(x, axis)
    made = [change(row) for row in lists]
    length = len(made[0]) if made else len(change([]))
    out = array([v for row in made for v in row], [*kept, length])
    place = along(axis, len(shape))
    path = loops(out.shape)
    return picked(out, walk([*path[:place], path[-1], *path[place:-1]]), [*kept[:place], length, *kept[place:]])


def total(m: Any, values: Sequence[Any]) -> Any:
    """The sum of some scalars, one after the other."""
    return reduce(operator.add, values) if values else m.zero


def product(m: Any, values: Sequence[Any]) -> Any:
    return reduce(operator.mul, values) if values else m.one


def inner(m: Any, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """The sum of products of scalars, pair by pair."""
    return total(m, [v * w for v, w in zip(x, y, strict=True)])


def common(*shapes: Sequence[int]) -> list[int]:
    """The shape that several broadcast to."""
    ndim = max(map(len, shapes), default=0)
    raised = [[1] * (ndim - len(shape)) + list(shape) for shape in shapes]
    return [next((n for n in extents if n != 1), 1) for extents in zip(*raised, strict=True)]


def spread(x: Any, shape: Sequence[int]) -> list[Any]:
    """The entries of an array repeated to a shape, in order."""
    own = loops(np.shape(x))
    lead = len(shape) - len(own)
    path = [(n, 0) for n in shape[:lead]]
    path += [(n, 0 if extent == 1 else step) for n, (extent, step) in zip(shape[lead:], own, strict=True)]
    flat = entries(x)
    return [flat[place] for place in walk(path)]
