"""One loop where no compiler works: its instructions on blocks of its shape, one after the other, by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.reference.pairs.arithmetic import Pair, in_range, larger, raw_add, smaller, two_prod
from gradcli.reference.pairs.deferred import Halves, Shape, Wide
from gradcli.reference.pairs.in_numpy import INSTRUCTIONS

_BLOCK = 1 << 15  # entries
_REDUCTIONS = {"sum", "max", "min", "place"}
_JOINED: dict[str, Callable[[Pair, Pair], Pair]] = {"sum": raw_add, "max": larger, "min": smaller}
_ROUGHLY: dict[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def run(shape: Shape, cone: Sequence[Wide], wanted: Sequence[Wide]) -> list[Halves]:
    """The doubles of what is wanted of a loop."""
    found: list[Any] = [None if x.what in _REDUCTIONS else (np.empty(shape), np.empty(shape) if x.kind == "pair" else None) for x in wanted]
    with np.errstate(all="ignore"):
        for block in _blocks(shape):
            part = tuple(len(range(*s.indices(n))) for s, n in zip(block, shape, strict=True))
            known: dict[Wide, Pair] = {}
            for x in cone:
                known[x] = INSTRUCTIONS[x.what](*(_read(known, o, shape, block) for o in x.operands))
            for i, x in enumerate(wanted):
                if x.what in _REDUCTIONS:
                    high, low = _read(known, x.operands[0], shape, block)
                    _reduce(found, i, x, block, (np.broadcast_to(high, part), np.broadcast_to(low, part)))
                    continue
                for to, half in zip(found[i], _read(known, x, shape, block), strict=True):
                    if to is not None:
                        to[block] = half
    return [(high, low if x.kind == "pair" else None) for x, (high, low) in zip(wanted, found, strict=True)]


def _blocks(shape: Shape) -> Iterator[tuple[slice, ...]]:
    """Parts of a shape, along its longest axis."""
    if not shape:
        yield ()
        return
    axis = int(np.argmax(shape))
    rows = max(1, _BLOCK * shape[axis] // max(1, int(np.prod(shape, dtype=np.int64))))
    for start in range(0, shape[axis], rows):
        yield tuple(slice(start, min(start + rows, shape[axis])) if i == axis else slice(0, n) for i, n in enumerate(shape))


def _read(known: dict[Wide, Pair], x: Wide, shape: Shape, block: tuple[slice, ...]) -> Pair:
    if x in known:
        return known[x]
    high, low = x.doubles
    known[x] = np.broadcast_to(high, shape)[block], 0.0 if low is None else np.broadcast_to(low, shape)[block]
    return known[x]


def _reduce(found: list[Any], i: int, x: Wide, block: tuple[slice, ...], given: Pair) -> None:
    """Take a block's entries into the cells of a reduction."""
    if x.what == "place":
        found[i] = _first(found[i], x, block, given[0])
        return
    if found[i] is None:
        start = {"sum": 0.0, "max": -np.inf, "min": np.inf}[x.what]
        found[i] = np.full(x.shape, start), np.zeros(x.shape)
    cells = tuple(slice(0, 1) if n == 1 else s for n, s in zip(x.shape, block, strict=True))
    before: Pair = tuple(half[cells] for half in found[i])
    rough = x.operands[0].kind != "pair"
    if rough:
        total: Pair = _ROUGHLY[x.what].reduce(given[0], axis=x.static, keepdims=True), 0.0
    else:
        total = _folded(_JOINED[x.what], given, x.static)
    joined = (_ROUGHLY[x.what](before[0], total[0]), 0.0) if rough else _JOINED[x.what](before, total)
    for to, half in zip(found[i], joined, strict=True):
        to[cells] = half


def _folded(join: Callable[[Pair, Pair], Pair], given: Pair, axes: Sequence[int]) -> Pair:
    """Entries along axes joined two by two; the axes keep an extent of 1."""
    for axis in axes:
        high, low = (np.moveaxis(half, axis, 0) for half in given)
        while len(high) > 1:
            half = len(high) // 2
            first, second = (high[:half], low[:half]), (high[half : 2 * half], low[half : 2 * half])
            left = high[2 * half :], low[2 * half :]
            high, low = join(first, second)
            if len(left[0]):
                high, low = np.concatenate([high, left[0]]), np.concatenate([low, left[1]])
        given = np.moveaxis(high, 0, axis), np.moveaxis(low, 0, axis)
    return given


def _first(before: Any, x: Wide, block: tuple[slice, ...], high: np.ndarray) -> Pair:
    """The largest number and where it is first; of numbers that are no numbers, nothing."""
    top, place = (np.full(x.shape, -np.inf), np.zeros(x.shape)) if before is None else before
    numbers = np.where(np.isnan(high), -np.inf, high)
    largest = numbers.max()
    if largest > top.flat[0] or (largest == top.flat[0] > -np.inf):
        inside = np.nonzero(np.atleast_1d(numbers == largest))
        places = [p + s.start for p, s in zip(inside, block, strict=True)] if block else [np.zeros(1, np.int64)]
        at = float(np.ravel_multi_index(places, x.operands[0].shape or (1,)).min())
        at = at if largest > top.flat[0] else min(at, float(place.flat[0]))
        return np.full(x.shape, largest), np.full(x.shape, at)
    return top, place


def put(places: np.ndarray, high: np.ndarray, low: np.ndarray, size: int) -> Pair:
    """Entries added up at their places: of each place the first, then the second, and so on."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    begins = np.searchsorted(sorted_places, sorted_places, side="left")
    rank = np.arange(len(order)) - begins
    found = np.zeros(size), np.zeros(size)
    by_rank = np.argsort(rank, kind="stable")
    edges = np.searchsorted(rank[by_rank], np.arange(rank.max(initial=-1) + 2))
    for begin, end in pairwise(edges):
        some = order[by_rank[begin:end]]
        at = places[some]
        found[0][at], found[1][at] = raw_add((found[0][at], found[1][at]), (high[some], low[some]))
    return found


def multiplied(x: Pair, y: Pair) -> Pair:
    """The product of two matrices."""
    (m, n), p = x[0].shape, y[0].shape[1]
    high, low = np.zeros((m, p)), np.zeros((m, p))
    with np.errstate(all="ignore"):
        for k in range(n):
            term = two_prod(x[0][:, k, None], y[0][k])
            rest = x[0][:, k, None] * y[1][k] + x[1][:, k, None] * y[0][k]
            high, low = raw_add((high, low), (term[0], term[1] + rest))
        return in_range((high, low))
