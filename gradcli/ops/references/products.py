"""References of products: sums, over the indices that factors share, of products of entries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

# -- Arrays of scalars as lists: the loops over indices that references are made of ----------------
#
# An array is its entries in order, and where an entry stands is a number: the sum of the steps
# along its axes. What moves entries is then a walk over these numbers, and what reduces them a
# walk inside another.


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


def contracted(m: Any, arrays: Sequence[Any], names: Sequence[Sequence[Hashable]], result: Sequence[Hashable]) -> Array:
    """The sum of products over all axes that the result does not name; axes of one name are read together."""
    extents: dict[Hashable, int] = {}
    for x, axes in zip(arrays, names, strict=True):
        for name, n in zip(axes, np.shape(x), strict=True):
            extents[name] = n if extents.get(name, 1) == 1 else extents[name]
    if (whole := _by_matrices(m, arrays, names, result, extents)) is not None:
        return whole
    inside = [name for name in extents if name not in result]
    factors = []
    for x, axes in zip(arrays, names, strict=True):
        step: dict[Hashable, int] = {}
        for name, n, apart in zip(axes, np.shape(x), steps(np.shape(x)), strict=True):
            step[name] = step.get(name, 0) + (apart if n > 1 else 0)
        flat, known = entries(x), dict[int, list[Any]]()
        inner = walk([(extents[name], step.get(name, 0)) for name in inside])
        outer = walk([(extents[name], step.get(name, 0)) for name in result])
        for place in outer:
            if place not in known:
                known[place] = [flat[place + k] for k in inner]
        factors.append([known[place] for place in outer])
    if len(factors) == 2:
        values = [total(m, list(map(operator.mul, x, y))) for x, y in zip(*factors, strict=True)]
    else:
        values = [total(m, [product(m, terms) for terms in zip(*lists, strict=True)]) for lists in zip(*factors, strict=True)]
    return array(values, [extents[name] for name in result])


_MANY = 64  # products of entries from which on they are summed by products of whole matrices


def _by_matrices(
    m: Any, arrays: Sequence[Any], names: Sequence[Sequence[Hashable]], result: Sequence[Hashable], extents: Mapping[Hashable, int]
) -> Array | None:
    """The same by products of matrices, one for each place along axes that all have; None where it is none, or of few entries."""
    if len(arrays) != 2 or size_of([*extents.values()]) < _MANY:
        return None
    first, second = names
    both = [name for name in first if name in second]
    alone = [[name for name in one if name not in other] for one, other in ((first, second), (second, first))]
    summed, batch = [name for name in both if name not in result], [name for name in both if name in result]
    whole = all(
        len(set(axes)) == len(axes) and np.shape(x) == tuple(extents[name] for name in axes) for x, axes in zip(arrays, names, strict=True)
    )
    if not whole or not summed or any(name not in result for axes in alone for name in axes):
        return None
    sizes = [size_of([extents[name] for name in axes]) for axes in (batch, alone[0], summed, alone[1])]
    left = _arranged(arrays[0], first, [*batch, *alone[0], *summed]).reshape(sizes[:3])
    right = _arranged(arrays[1], second, [*batch, *summed, *alone[1]]).reshape((sizes[0], *sizes[2:]))
    parts = []
    for x, y in zip(left, right, strict=True):
        found = m.of_matrices("product", x, y)
        if found is None:
            return None
        parts.append(found[0])
    axes = [*batch, *alone[0], *alone[1]]
    return _arranged(np.stack(parts).reshape([extents[name] for name in axes]), axes, result)


def _arranged(x: Any, axes: Sequence[Hashable], wanted: Sequence[Hashable]) -> Array:
    return np.asarray(x, dtype=object).transpose([list(axes).index(name) for name in wanted])


def _batch(x: Any, axes: int) -> list[Hashable]:
    """Names for the axes before the last ones, by their distance from these."""
    return list(range(np.ndim(x) - axes, 0, -1))


def matmul(m: Any, x: Any, y: Any) -> Array:
    left = [*_batch(x, 2), "row", "inner"] if np.ndim(x) > 1 else ["inner"]
    right = [*_batch(y, 2), "inner", "column"] if np.ndim(y) > 1 else ["inner"]
    lead = max(_batch(x, 2), _batch(y, 2), key=len)
    return contracted(m, [x, y], [left, right], [*lead, *left[-2:-1], *([right[-1]] if np.ndim(y) > 1 else [])])


def dot(m: Any, x: Any, y: Any) -> Array:
    if not np.ndim(x) or not np.ndim(y):
        shape = common(np.shape(x), np.shape(y))
        return array([v * w for v, w in zip(spread(x, shape), spread(y, shape), strict=True)], shape)
    left: list[Hashable] = [*(("x", a) for a in range(np.ndim(x) - 1)), "inner"]
    right: list[Hashable] = [("y", a) for a in range(np.ndim(y))]
    right[max(np.ndim(y) - 2, 0)] = "inner"
    return contracted(m, [x, y], [left, right], [name for name in (*left, *right) if name != "inner"])


def _letters(term: str, ndim: int) -> list[Hashable]:
    """The names of an operand's axes; those under an ellipsis are numbers, counted from its end."""
    before, dots, behind = term.partition("...")
    rest = ndim - len(before) - len(behind) if dots else 0
    return [*before, *range(rest, 0, -1), *behind]


def einsum(m: Any, *arrays: Any, subscripts: str) -> Array:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    names = [_letters(term, np.ndim(x)) for term, x in zip(left.split(","), arrays, strict=True)]
    every = [name for axes in names for name in axes]
    hidden = sorted({name for name in every if isinstance(name, int)}, reverse=True)
    once = sorted(name for name in set(every) if isinstance(name, str) and every.count(name) == 1)
    result = _letters(right, len(right.replace("...", "")) + len(hidden)) if arrow else [*hidden, *once]
    return contracted(m, arrays, names, result)


# -- References of single functions that take more than a line -------------------------------------


def machine_epsilon(m: Any, x: Any) -> Array:
    digits = {"float64": 53, "float32": 24}[m.precision]
    return number(m.one / 2 ** (digits - 1))


def bernoulli_nll(m: Any, x: Any, y: Any) -> Array:
    """The definition; very near 0 and 1 its value as a constant, and the slope that PyTorch chooses.

    PyTorch's bounds are -100 of a logarithm, and 1e-12, in float32, of the denominator of a slope.
    """
    narrowest = m.m.mpf(9223372) / 2**63  # 1e-12 to the 24 bits of a float32

    def held_log(p: Any) -> Any:
        return m.log(p) if m.plain(p) < 0 or m.plain(p) > m.m.exp(-100) else m.one * -100

    def definition(p: Any, t: Any) -> Any:
        return -(t * held_log(p) + (1 - t) * held_log(1 - p))

    def entry(p: Any, t: Any) -> Any:
        at = m.plain(p)
        if not 0 <= at <= 1 or at * (1 - at) >= narrowest:
            return definition(p, t)
        return definition(at, t) + (at - m.plain(t)) / narrowest * (p - at)

    return array([entry(p, t) for p, t in zip(entries(x), entries(y), strict=True)], np.shape(x))


def polygamma(m: Any, x: Any, n: int) -> Any:
    """The n-th derivative of digamma. Far to the left by reflection (DLMF 5.15.6), as mpmath counts every pole on the way."""
    if not n or x > -50 or not m.isfinite(x):
        return m.psi(n, x)
    if x == m.nint(x):
        return m.psi(n, -1)
    slopes = {1: 1}  # of the cotangent as a polynomial in it, by its powers: (c**k)' = -k*c**(k - 1) - k*c**(k + 1)
    for _ in range(n):
        before, slopes = slopes, {}
        for power, factor in before.items():
            for to in (power - 1, power + 1):
                slopes[to] = slopes.get(to, 0) - power * factor
    cotangent = m.cot(m.pi * (x - m.nint(x)))
    turned = sum((factor * cotangent**power for power, factor in slopes.items()), m.zero)
    return (-1) ** n * m.psi(n, 1 - x) - m.pi ** (n + 1) * turned
