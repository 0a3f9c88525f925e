"""Entries repeated: tiles, grids, combinations and windows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.reshaping import at_least_1d
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape, stack, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import one_axis

ALL = (None, None, None)  # the slice of a whole axis
_OF_TUPLE = 3  # numbers in whose memory a list has one of a tuple
_MOST_TUPLES = 1 << 60


def rows_of(x: Any, places: np.ndarray, axis: int) -> Any:
    """The entries at constant places along an axis."""
    return getitem(x, index=(*(ALL,) * axis, StaticArray(places)))


def _counts(counts: Any) -> tuple[int, ...]:
    numbers: tuple[int, ...] = counts if isinstance(counts, tuple) else (counts,)
    if min(numbers, default=0) < 0:
        raise ArgumentError(f"repetitions are numbers of at least 0, not {counts}")
    return numbers


def _tile(x: Any, reps: Any) -> Any:
    reps = _counts(reps)
    n = max(len(reps), len(x.shape))
    reps, shape = (1,) * (n - len(reps)) + reps, (1,) * (n - len(x.shape)) + tuple(x.shape)
    if all(r == 1 for r in reps):
        return reshape(x, shape=shape)
    apart = reshape(x, shape=tuple(k for extent in shape for k in (1, extent)))
    spread = broadcast_to(apart, shape=tuple(k for pair in zip(reps, shape, strict=True) for k in pair))
    return reshape(spread, shape=tuple(r * s for r, s in zip(reps, shape, strict=True)))


def _torch_repeat(x: Any, repeats: Any) -> Any:
    if len(repeats if isinstance(repeats, tuple) else (repeats,)) < len(x.shape):
        raise ShapeError(f"repeat: an array of shape {tuple(x.shape)} needs a number of repetitions for each axis, not {repeats}")
    return _tile(x, repeats)


def _repeat_interleave(x: Any, repeats: Any, axis: int | None, output_size: int | None) -> Any:
    if axis is None:
        x = reshape(x, shape=(-1,))
    place = one_axis(0 if axis is None else axis, max(1, len(x.shape)))
    x, counts = at_least_1d(x), _counts(repeats)
    if len(counts) not in (1, x.shape[place]):
        raise ShapeError(f"repeat: {len(counts)} numbers of repetitions for {x.shape[place]} entries")
    total = sum(counts) if len(counts) > 1 else counts[0] * x.shape[place]
    if output_size not in (None, total):
        raise ArgumentError(f"repeat: the result has {total} entries along the axis, not {output_size}")
    if len(counts) == 1:
        apart = reshape(x, shape=(*x.shape[: place + 1], 1, *x.shape[place + 1 :]))
        spread = broadcast_to(apart, shape=(*x.shape[: place + 1], *counts, *x.shape[place + 1 :]))
        return reshape(spread, shape=(*x.shape[:place], x.shape[place] * counts[0], *x.shape[place + 1 :]))
    room_for(total)
    return rows_of(x, np.repeat(np.arange(x.shape[place]), counts), place)


tile = composite(
    "tile", "x", _tile, static={"reps": REQUIRED}, backward="Repeat", copied=True,
    doc="The array repeated along axes.", examples=("tile(x, (2, 1))",),
)  # fmt: skip
composite(
    "torch_repeat", "x", _torch_repeat, static={"repeats": REQUIRED}, public=False, copied=True,
    doc="Tensor.repeat: the array repeated along axes, a number for each.",
)  # fmt: skip
repeat_interleave = composite(
    "repeat_interleave", "x", _repeat_interleave, static={"repeats": REQUIRED, "axis": None, "output_size": None}, copied=True,
    doc="Each entry repeated along an axis (of all entries, if there is none), all alike or by a list of numbers.",
    examples=("repeat(x, 2, axis=0)",),
)  # fmt: skip


def _meshgrid(*arrays: Any, indexing: str, sparse: bool) -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    flat = [reshape(x, shape=(-1,)) for x in arrays]
    order = list(range(len(flat)))
    if indexing == "xy" and len(flat) > 1:
        order[:2] = 1, 0
    sizes = tuple(flat[i].shape[0] for i in order)
    grid = [reshape(x, shape=tuple(-1 if i == j else 1 for j in order)) for i, x in enumerate(flat)]
    return tuple(grid) if sparse else tuple(broadcast_to(x, shape=sizes) for x in grid)


def _cartesian_prod(*arrays: Any) -> Any:
    if any(len(x.shape) != 1 for x in arrays):
        raise ShapeError("cartesian_prod needs vectors")
    if len(arrays) == 1:
        return arrays[0]
    return reshape(stack(*_meshgrid(*arrays, indexing="ij", sparse=False), axis=-1), shape=(-1, len(arrays)))


def _combinations(x: Any, r: int, with_replacement: bool) -> Any:
    if len(x.shape) != 1 or r < 0:
        raise ShapeError(f"combinations needs a vector and a length of at least 0, not the shape {tuple(x.shape)} and {r}")
    n = x.shape[0]
    count = _how_many(n, r, with_replacement)
    room_for(_OF_TUPLE, count, max(1, r))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(n), r)) if count else []
    return rows_of(x, np.array(rows, np.int64).reshape((count, r) if r else (0,)), 0)


def _how_many(n: int, r: int, with_replacement: bool) -> int:
    """The number of r-tuples of n things, or one that is too large as soon as it is."""
    if with_replacement:
        n = n + r - 1 if n else 0
    if r > n:
        return int(not r)
    count = 1
    for i in range(min(r, n - r)):
        count = count * (n - i) // (i + 1)
        if count > _MOST_TUPLES:
            break
    return count


meshgrid = composite(
    "meshgrid", "*arrays", _meshgrid, static={"indexing": "xy", "sparse": False},
    doc="Grids of coordinates, one for each vector; along the second axis for the first with indexing='xy' (NumPy), else the first.",
)  # fmt: skip
cartesian_prod = composite("cartesian_prod", "*arrays", _cartesian_prod, doc="All tuples of entries of vectors, as rows.")
combinations = composite(
    "combinations", "x", _combinations, static={"r": 2, "with_replacement": False},
    doc="All r-tuples of entries of a vector, as rows.",
)  # fmt: skip


def _windows(x: Any, axis: int, length: int, step: int) -> Any:
    place = one_axis(axis, max(1, len(x.shape)))
    n = x.shape[place] if x.shape else 1
    if not 0 <= length <= n or step <= 0:
        raise ShapeError(f"unfold: no windows of {length} entries at steps of {step} in an axis of {n}")
    if not x.shape:
        return rows_of(at_least_1d(x), np.zeros(length, np.int64), 0)
    room_for((n - length) // step + 1, length)
    starts = np.arange(0, n - length + 1, step)
    windows = rows_of(x, starts[:, None] + np.arange(length), place)
    rest = range(len(x.shape) + 1)
    return transpose(windows, axes=(*(a for a in rest if a != place + 1), place + 1)) if place + 2 < len(rest) else windows


def _windows_in_memory(array: np.ndarray, axis: int, length: int, step: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(array, length, axis)
    return windows[(slice(None),) * (axis % array.ndim) + (slice(None, None, step),)]


unfold = composite(
    "tensor_unfold", "x", _windows, static={"axis": REQUIRED, "length": REQUIRED, "step": REQUIRED}, public=False, backward="Unfold",
    region=_windows_in_memory,
    doc="Tensor.unfold: the windows of an axis, each along a new last axis.",
)  # fmt: skip

_REPEAT = "x|a, repeats, axis, output_size"
_UNFOLD = signature("tensor_unfold", "x, axis|dimension, length|size, step")
declare(
    NUMPY,
    tile=signature("tile", "x|A, reps|dims+"),
    repeat=signature("repeat_interleave", _REPEAT),
    repeat_interleave=signature("repeat_interleave", _REPEAT),
    meshgrid=signature("meshgrid", "***arrays, -copy, sparse, indexing"),
    cartesian_prod=signature("cartesian_prod", "**arrays|tensors"),
)
declare(
    TORCH,
    repeat_interleave=signature("repeat_interleave", "x, repeats, axis, *, output_size"),
    repeat=signature("torch_repeat", "x, repeats|sizes+"),
    meshgrid=signature("meshgrid", "**arrays|tensors, indexing", indexing="ij"),
    **{"Tensor.unfold": _UNFOLD},
)
