"""References of operations that move entries: which entry stands where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.references.products import Array, along, array, common, entries, loops, picked, size_of, spread, total, walk, which, whole


def same(m: Any, x: Any, **_: Any) -> Any:
    return x


def reshape(m: Any, x: Any, shape: Any) -> Array:
    extents = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    known = size_of(n for n in extents if n != -1)
    return array(entries(x), [np.size(x) // known if n == -1 else n for n in extents])


def broadcast_to(m: Any, x: Any, shape: Any) -> Array:
    return array(spread(x, shape), shape)


def sum_to_size(m: Any, x: Any, shape: Any) -> Array:
    """Each entry is added where broadcasting would have taken it from."""
    sources = spread(array(range(size_of(shape)), shape), np.shape(x))
    sums: list[list[Any]] = [[] for _ in range(size_of(shape))]
    for value, place in zip(entries(x), sources, strict=True):
        sums[place].append(value)
    return array([total(m, terms) for terms in sums], shape)


def transpose(m: Any, x: Any, axes: Any) -> Array:
    path = loops(np.shape(x))
    order = [a % len(path) for a in axes] if axes is not None else list(range(len(path)))[::-1]
    turned = [path[a] for a in order]
    return picked(x, walk(turned), [n for n, _ in turned])


def swapaxes(m: Any, x: Any, axis1: int, axis2: int) -> Array:
    path = loops(np.shape(x))
    path[axis1], path[axis2] = path[axis2], path[axis1]
    return picked(x, walk(path), [n for n, _ in path])


def flip(m: Any, x: Any, axis: Any) -> Array:
    path, start = loops(np.shape(x)), 0
    for a in which(axis, len(path)):
        n, step = path[a]
        path[a], start = (n, -step), start + max(n - 1, 0) * step
    return picked(x, walk(path, start), np.shape(x))


def roll(m: Any, x: Any, shift: Any, axis: Any) -> Array:
    """The entry at i comes from i - shift, around the end."""
    shifts = list(shift) if isinstance(shift, tuple) else [shift]
    flat = entries(x)
    if axis is None or axis == ():
        n = len(flat)
        return array([flat[(i - sum(shifts)) % n] for i in range(n)], np.shape(x))
    axes = list(axis) if isinstance(axis, tuple) else [axis]
    n_pairs = max(len(shifts), len(axes))
    shifts, axes = (v * n_pairs if len(v) == 1 else v for v in (shifts, axes))
    path = loops(np.shape(x))
    moved = [0] * len(path)
    for s, a in zip(shifts, axes, strict=True) if path else ():
        moved[a] += s
    places = [0]
    for (n, step), s in zip(path, moved, strict=True):
        places = [place + (i - s) % n * step for place in places for i in range(n)]
    return array([flat[place] for place in places], np.shape(x))


def concatenate(m: Any, *arrays: Any, axis: int) -> Array:
    """For each place before the axis, the stretches of one array after the other."""
    shapes = [np.shape(x) for x in arrays]
    place = axis % len(shapes[0])
    lead = size_of(shapes[0][:place])
    lists = [entries(x) for x in arrays]
    stretch = [size_of(shape[place:]) for shape in shapes]
    joined = [v for i in range(lead) for flat, n in zip(lists, stretch, strict=True) for v in flat[i * n : (i + 1) * n]]
    return array(joined, [*shapes[0][:place], sum(shape[place] for shape in shapes), *shapes[0][place + 1 :]])


def stack(m: Any, *arrays: Any, axis: int) -> Array:
    shape = np.shape(arrays[0])
    place = axis % (len(shape) + 1)
    n = size_of(shape[place:])
    lists = [entries(x) for x in arrays]
    joined = [v for i in range(size_of(shape[:place])) for flat in lists for v in flat[i * n : (i + 1) * n]]
    return array(joined, [*shape[:place], len(arrays), *shape[place:]])


def tril(m: Any, x: Any, k: int) -> Array:
    return _lower_or_upper(m, x, k, False)


def triu(m: Any, x: Any, k: int) -> Array:
    return _lower_or_upper(m, x, k, True)


def _lower_or_upper(m: Any, x: Any, k: int, upper: bool) -> Array:
    """The entries i, j with j - i <= k, or with j - i >= k; of a vector, of the matrix that repeats it."""
    shape = np.shape(x)
    shape = (shape[0], shape[0]) if len(shape) == 1 else shape
    kept = [j - i >= k if upper else j - i <= k for i in range(shape[-2]) for j in range(shape[-1])]
    flat = spread(x, shape)
    return array([v if kept[i % len(kept)] else m.zero for i, v in enumerate(flat)], shape)


def indexed(shape: Sequence[int], index: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return where the entries of x[index] stand in x, and the shape that they have: NumPy's rules.

    Arrays of whole numbers, and numbers beside them, are read together as one; its axes stand in the place of the first of them,
    and before all others where something stands between them. A mask is the arrays of the places where it is true.
    """
    parts: list[Any] = []
    for part in index:
        given = getattr(part, "array", None)
        if given is None:
            parts.append(part)
        elif given.dtype.kind == "b":
            found = [where for where, holds in zip(walk(loops(given.shape)), given.ravel().tolist(), strict=True) if holds]
            parts += [([w // step % n for w in found], [len(found)]) for n, step in loops(given.shape)]
            if not given.ndim:
                parts.append(([0] * len(found), [len(found)], "no axis"))
        else:
            parts.append((given.ravel().tolist(), list(given.shape)))
    used = sum(part is not None and part is not ... and not (type(part) is tuple and part[-1] == "no axis") for part in parts)
    rest = [(None, None, None)] * (len(shape) - used)
    at = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    parts = [*parts[:at], *rest, *parts[at + 1 :]] if at < len(parts) else [*parts, *rest]
    lists = [type(part) is tuple and type(part[0]) is list for part in parts]
    joint = [i for i, part in enumerate(parts) if lists[i] or (any(lists) and isinstance(part, int))]
    shared = common(*(parts[i][1] for i in joint if lists[i]))
    together = [0] * size_of(shared)
    axes: list[tuple[list[int], list[int]]] = []
    path = iter(loops(shape))
    start = 0
    for i, part in enumerate(parts):
        if part is None:
            axes.append(([0], [1]))
            continue
        if lists[i] and part[-1] == "no axis":
            n, step = 1, 0
        else:
            n, step = next(path)
        if i in joint:
            numbers = spread(array(*part[:2]), shared) if lists[i] else [part] * len(together)
            together = [t + (k + n if k < 0 else k) * step for t, k in zip(together, numbers, strict=True)]
            if i == joint[0]:
                axes.append(([], []))  # filled below
                place = len(axes) - 1
        elif isinstance(part, tuple):
            chosen = range(n)[slice(*part)]
            axes.append(([k * step for k in chosen], [len(chosen)]))
        else:
            start += (part + n if part < 0 else part) * step
    if joint:
        axes.pop(place)
        apart = any(b - a > 1 for a, b in zip(_written(index), _written(index)[1:], strict=False))
        axes.insert(0 if apart else place, (together, shared))
    places, extents = [start], []
    for offsets, extent in axes:
        places = [p + k for p in places for k in offsets]
        extents += extent
    return places, extents


def _written(index: Sequence[Any]) -> list[int]:
    """Return where arrays and numbers stand in an index."""
    return [i for i, part in enumerate(index) if part is not None and part is not ... and not isinstance(part, tuple)]


def getitem(m: Any, x: Any, index: Any) -> Array:
    return picked(x, *indexed(np.shape(x), index))


def scatter_add(m: Any, x: Any, index: Any, shape: Any) -> Array:
    places, extents = indexed(shape, index)
    sums: dict[int, Any] = {}
    for place, value in zip(places, spread(x, extents), strict=True):
        sums[place] = sums[place] + value if place in sums else value
    return array([sums.get(place, m.zero) for place in range(size_of(shape))], shape)


def overwrite(m: Any, base: Any, new: Any, index: Any) -> Array:
    places, extents = indexed(np.shape(base), index)
    out = entries(base)
    for place, value in zip(places, spread(new, extents), strict=True):
        out[place] = value
    return array(out, np.shape(base))


def _addresses(size: Any, stride: Any, offset: int = 0) -> list[int]:
    return walk(list(zip(size, stride, strict=True)), offset)


def as_strided(m: Any, x: Any, size: Any, stride: Any, offset: int, source: Any) -> Array:
    memory = dict(zip(_addresses(np.shape(x), source), entries(x), strict=True))
    return array([memory.get(address, m.zero) for address in _addresses(size, stride, offset)], size)


def as_strided_scatter(m: Any, base: Any, new: Any, size: Any, stride: Any, offset: int, source: Any) -> Array:
    memory = dict(zip(_addresses(np.shape(base), source), entries(base), strict=True))
    for address, value in zip(_addresses(size, stride, offset), spread(new, size), strict=True):
        memory[address] = value
    return array([memory[address] for address in _addresses(np.shape(base), source)], np.shape(base))


def strided_sum(m: Any, x: Any, shape: Any, size: Any, stride: Any, offset: int, source: Any) -> Array:
    sums: dict[int, Any] = {}
    for address, value in zip(_addresses(size, stride, offset), entries(x), strict=True):
        sums[address] = sums[address] + value if address in sums else value
    return array([sums.get(address, m.zero) for address in _addresses(shape, source)], shape)


def _columns(index: Any, shape: Sequence[int], axis: int) -> list[int]:
    """Return where in an array of a shape the entry of each index along an axis stands."""
    if not shape:
        return [0]
    place, path = along(axis, len(shape)), loops(shape)
    n, step = path[place]
    others = walk([(count, 0 if a == place else path[a][1]) for a, count in enumerate(np.shape(index))])
    return [other + k % n * step for other, k in zip(others, whole(index), strict=True)]


def take_along(m: Any, x: Any, index: Any, axis: int) -> Array:
    return picked(x, _columns(index, np.shape(x), axis), np.shape(index))


def add_along(m: Any, x: Any, index: Any, axis: int, shape: Any) -> Array:
    sums: dict[int, Any] = {}
    for place, value in zip(_columns(index, shape, axis), spread(x, np.shape(index)), strict=True):
        sums[place] = sums[place] + value if place in sums else value
    return array([sums.get(place, m.zero) for place in range(size_of(shape))], shape)


def sources_along(m: Any, index: Any, axis: int, shape: Any) -> Array:
    n = size_of(shape)
    found = list(range(n))
    for i, place in enumerate(_columns(index, shape, axis)):
        found[place] = n + i
    return array(found, shape)


def extreme_along(m: Any, x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool) -> Array:
    own = entries(x)
    put: dict[int, list[Any]] = {}
    for place, value in zip(_columns(index, np.shape(x), axis), spread(source, np.shape(index)), strict=True):
        put.setdefault(place, [own[place]] if include_self else []).append(value)
    best = "max" if largest else "min"
    return array([m.extreme(best, put[i]) if i in put else m.extreme(best, [v]) for i, v in enumerate(own)], np.shape(x))


def numbers_of(m: Any, mask: Any) -> Array:
    """How many true entries stand before each true one; 0 before the first."""
    found, count = [], 0
    for holds in entries(mask):
        count += bool(holds)
        found.append(max(count - 1, 0))
    return array(found, np.shape(mask))
