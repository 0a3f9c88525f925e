"""References of products: sums, over the indices that factors share, of products of entries."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.references.entries import Array, array, common, entries, product, size_of, spread, steps, total, walk


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


def outer(m: Any, x: Any, y: Any) -> Array:
    return array([v * w for v in entries(x) for w in entries(y)], [np.size(x), np.size(y)])


def vector_product(m: Any, x: Any, y: Any) -> Array:
    shape = common(np.shape(x), np.shape(y))
    left, right = spread(x, shape), spread(y, shape)
    found = []
    for i in range(0, size_of(shape), 3):
        (a, b, c), (d, e, f) = left[i : i + 3], right[i : i + 3]
        found += [b * f - c * e, c * d - a * f, a * e - b * d]
    return array(found, shape)


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
