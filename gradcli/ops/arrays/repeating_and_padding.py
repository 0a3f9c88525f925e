"""Entries repeated, as tiles, grids, combinations and windows, and arrays made longer at their ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import at_least_1d, atleast_2d, permuted
from gradcli.ops.arrays.shapes import (
    broadcast_to,
    getitem,
    part_of,
    reshape,
    rows_of,
    scatter_add,
    shape_with,
    stack,
    vector_of,
)
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import Number, declare, function, is_number, one_axis, room_for
from gradcli.ops.spec import Carrier

# -- Entries repeated: tiles, grids, combinations and windows --------------------------------------


_OF_TUPLE = 3  # numbers in whose memory a list has one of a tuple
_MANY = 64  # things of as many or more, so many at a time, are more tuples than any memory holds


def _counts(counts: Any) -> tuple[int, ...]:
    numbers: tuple[int, ...] = counts if isinstance(counts, tuple) else (counts,)
    if min(numbers, default=0) < 0:
        raise ArgumentError(f"repetitions are numbers of at least 0, not {counts}")
    return numbers


@function(numpy="x|A, reps|dims+", backward="Repeat", memory="own")
def tile(x: Any, *, reps: Any) -> Any:
    """The array repeated along axes.

    >>> tile(x, (2, 1))
    """
    reps = _counts(reps)
    n = max(len(reps), len(x.shape))
    reps, shape = (1,) * (n - len(reps)) + reps, (1,) * (n - len(x.shape)) + tuple(x.shape)
    apart = reshape(x, shape=tuple(k for extent in shape for k in (1, extent)))
    spread = broadcast_to(apart, shape=tuple(k for pair in zip(reps, shape, strict=True) for k in pair))
    return reshape(spread, shape=tuple(r * s for r, s in zip(reps, shape, strict=True)))


@function(memory="own")
def torch_repeat(x: Any, *, repeats: Any) -> Any:
    """Tensor.repeat: the array repeated along axes, a number for each."""
    if len(_counts(repeats)) < len(x.shape):
        raise ShapeError(f"repeat: an array of shape {tuple(x.shape)} needs a number of repetitions for each axis, not {repeats}")
    return tile(x, reps=repeats)


@function(
    numpy="x|a, repeats, axis, output_size", torch="x, repeats, axis, *, output_size", memory="own"
)
def repeat_interleave(x: Any, *, repeats: Any, axis: int | None = None, output_size: int | None = None) -> Any:
    """Each entry repeated along an axis (of all entries, if there is none), all alike or by a list of numbers.

    >>> repeat(x, 2, axis=0)
    """
    x = vector_of(x) if axis is None else at_least_1d(x)
    place = one_axis(axis or 0, len(x.shape))
    counts, n = _counts(repeats), x.shape[place]
    if len(counts) not in (1, n):
        raise ShapeError(f"repeat: {len(counts)} numbers of repetitions for {n} entries")
    total = sum(counts) if len(counts) > 1 else counts[0] * n
    if output_size not in (None, total):
        raise ArgumentError(f"repeat: the result has {total} entries along the axis, not {output_size}")
    if len(counts) == 1:
        spread = broadcast_to(reshape(x, shape=shape_with(x.shape, place, n, 1)), shape=shape_with(x.shape, place, n, *counts))
        return reshape(spread, shape=shape_with(x.shape, place, total))
    room_for(total)
    return rows_of(x, np.repeat(np.arange(n), counts), place)


@function()
def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> tuple[Any, ...]:
    """Grids of coordinates, one for each vector; along the second axis for the first with indexing='xy' (NumPy), else the first."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    grid = [reshape(x, shape=tuple(-1 if i == j else 1 for j in order)) for i, x in enumerate(arrays)]
    sizes = tuple(math.prod(arrays[i].shape) for i in order)
    return tuple(x if sparse else broadcast_to(x, shape=sizes) for x in grid)


@function(numpy="**arrays|tensors")
def cartesian_prod(*arrays: Any) -> Any:
    """All tuples of entries of vectors, as rows."""
    if any(len(x.shape) != 1 for x in arrays):
        raise ShapeError("cartesian_prod needs vectors")
    if len(arrays) == 1:
        return arrays[0]
    return reshape(stack(*meshgrid(*arrays, indexing="ij"), axis=-1), shape=(-1, len(arrays)))


@function()
def combinations(x: Any, *, r: int = 2, with_replacement: bool = False) -> Any:
    """All r-tuples of entries of a vector, as rows."""
    if len(x.shape) != 1 or r < 0:
        raise ShapeError(f"combinations needs a vector and a length of at least 0, not the shape {tuple(x.shape)} and {r}")
    n = x.shape[0]
    things = max(0, n + r - 1) if with_replacement else n
    count = math.comb(things, min(r, things - r, _MANY)) if r <= things else 0
    room_for(_OF_TUPLE, count, max(1, r))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(n), r)) if count else []
    return rows_of(x, np.array(rows, np.int64).reshape((count, r) if r else (0,)), 0)


def _windows_in_memory(array: np.ndarray, axis: int, length: int, step: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(array, length, axis)
    return windows[(slice(None),) * (axis % array.ndim) + (slice(None, None, step),)]


@function(public=False, backward="Unfold", memory=_windows_in_memory)
def tensor_unfold(x: Any, *, axis: int, length: int, step: int) -> Any:
    """Tensor.unfold: the windows of an axis, each along a new last axis."""
    rows = at_least_1d(x)
    place, ndim = one_axis(axis, len(rows.shape)), len(rows.shape)
    n = rows.shape[place]
    if not 0 <= length <= n or step <= 0:
        raise ShapeError(f"unfold: no windows of {length} entries at steps of {step} in an axis of {n}")
    room_for((n - length) // step + 1, length)
    starts = np.arange(0, n - length + 1, step)
    if not x.shape:
        return rows_of(rows, np.arange(length), 0)
    windows = rows_of(rows, starts[:, None] + np.arange(length), place)
    return permuted(windows, (*(a for a in range(ndim + 1) if a != place + 1), place + 1))


# -- Arrays made longer at their ends --------------------------------------------------------------


Widths = tuple[tuple[int, int], ...]


def _pairs(name: str, value: Any, ndim: int) -> tuple[tuple[Any, Any], ...]:
    """An argument of np.pad by axes and ends: a number, a pair for all axes, or a pair (or number) for each."""
    try:
        spread = np.broadcast_to(_objects(value), (ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad: {name} {value} does not fit an array of {ndim} axes") from None
    return tuple((before, after) for before, after in spread)


def _objects(value: Any) -> np.ndarray:
    """Numbers and what stands for them, by axes and ends."""
    if not isinstance(value, Carrier):
        return np.array(value)
    shape = getattr(value, "shape", ())
    if shape:
        return np.stack([_objects(getitem(value, index=(i,))) for i in range(shape[0])])
    cell = np.empty((), object)
    cell[()] = value
    return cell


def enlarged(x: Any, widths: Widths, fill: Any) -> Any:
    """x with other numbers around it."""
    if not any(width for pair in widths for width in pair):
        return x
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, widths, strict=True))
    room_for(*shape)
    inside = tuple((before, before + n, None) for n, (before, _) in zip(x.shape, widths, strict=True))
    padded = scatter_add(x, index=inside, shape=shape)
    if is_number(fill) and not fill:
        return padded
    kept = np.zeros(shape, bool)
    kept[tuple(slice(*part) for part in inside)] = True
    return where(kept, padded, fill)


def _constant(x: Any, widths: Widths, values: Any) -> Any:
    ends = _pairs("constant_values", values, len(x.shape))
    first = ends[0][0] if ends else 0
    if all(is_number(v) and v == first for pair in ends for v in pair):
        return enlarged(x, widths, float(first))
    for axis, (width, pair) in enumerate(zip(widths, ends, strict=True)):  # as np.pad does, axis by axis
        if any(width):
            x = _between(x, axis, width, *pair)
    return x


def _between(x: Any, axis: int, width: tuple[int, int], before: Any, after: Any) -> Any:
    """x between numbers that are repeated at its ends."""
    before, after = (
        broadcast_to(v, shape=shape_with(x.shape, axis, k)) for v, k in zip((before, after), width, strict=True)
    )
    return concatenate(before, x, after, axis=axis)


_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


@function(numpy="x|array, pad_width, mode, constant_values, -reflect_type, -stat_length, -end_values")
def pad(x: Any, *, pad_width: Any, mode: str = "constant", constant_values: Number = 0) -> Any:
    """The array made longer at both ends of each axis, with constants, or with entries repeated or reflected.

    >>> pad(x, (1, 2))
    """
    widths = _pairs("pad_width", pad_width, len(x.shape))
    if any(not isinstance(k, int) or k < 0 for pair in widths for k in pair):
        raise ArgumentError(f"pad: widths are whole numbers of at least 0, not {pad_width}")
    if mode not in _MODES:
        raise ArgumentError(f"pad: the mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if mode == "constant":
        return _constant(x, widths, constant_values)
    if not (type(constant_values) is int and constant_values == 0):
        raise UnreadArgumentError(f"pad: the mode {mode!r} does not read constant_values", help="constant_values is for mode='constant'")
    for axis, width in enumerate(widths):
        if any(width):
            if not x.shape[axis]:
                raise ShapeError(f"pad: an axis without entries cannot be padded with the mode {mode!r}")
            room_for(2, x.shape[axis] + sum(width))
            x = rows_of(x, np.pad(np.arange(x.shape[axis]), width, mode=mode), axis)  # type: ignore[call-overload]
    return x


_NUMPYS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_pad = pad


def _shorter(x: Any, widths: Sequence[tuple[int, int]]) -> Any:
    """x without the entries at its ends that widths below 0 count."""
    for axis, (before, after) in enumerate(widths):
        if min(before, after) < 0:
            x = part_of(x, axis, max(0, -before), x.shape[axis] - max(0, -after))
    return x


@function()
def torch_pad(x: Any, *, pad: Any, mode: str = "constant", value: Number = None) -> Any:
    """The array made longer (or shorter) at both ends of the last axes: constant, reflect, replicate or circular."""
    ends = pad if isinstance(pad, tuple) else (pad,)
    if len(ends) % 2 or len(ends) > 2 * len(x.shape):
        raise ShapeError(f"pad: {len(ends)} widths do not fit an array of {len(x.shape)} axes, two for each from the last on")
    if mode not in _NUMPYS:
        raise ArgumentError(f"pad: the mode must be {', '.join(_NUMPYS)}, not {mode!r}")
    if mode != "constant" and value is not None and not (is_number(value) and not value):
        raise ArgumentError(f"pad: the mode {mode!r} takes no value")
    widths = [(0, 0)] * (len(x.shape) - len(ends) // 2) + [*zip(ends[::2], ends[1::2], strict=True)][::-1]
    for axis, (before, after) in enumerate(widths):
        n, start, stop = x.shape[axis], max(0, -before), x.shape[axis] - max(0, -after)
        most = {"reflect": n - 1, "circular": n, "replicate": math.inf if n else 0}.get(mode, math.inf)
        if start > stop or max(before, after) > max(0, most):
            raise ShapeError(f"pad: widths of {before} and {after} do not fit an axis of {n} entries in the mode {mode!r}")
    longer = tuple((max(0, before), max(0, after)) for before, after in widths)
    if mode == "reflect":  # at the ends of the whole
        return _shorter(_pad(x, pad_width=longer, mode="reflect"), widths)
    filled = 0 if value is None or mode != "constant" else value
    return _pad(_shorter(x, widths), pad_width=longer, mode=_NUMPYS[mode], constant_values=filled)


declare("""
    numpy:
        repeat = repeat_interleave(x|a, repeats, axis, output_size)
        meshgrid(***arrays, -copy, sparse, indexing)
        constant_pad_nd = torch_pad(x, pad, value; mode='constant')
    torch:
        repeat = torch_repeat(x, repeats|sizes+)
        meshgrid(**arrays|tensors, indexing='ij')
        Tensor.unfold = tensor_unfold(x, axis|dimension, length|size, step)
        pad = torch_pad(x, pad, mode, value)
""")


@function(numpy="**arrays|tensors")
def block_diag(*arrays: Any) -> Any:
    """A matrix with matrices along its diagonal and zeros elsewhere.

    >>> block_diag(x, y)
    """
    if any(len(x.shape) > 2 for x in arrays):
        raise ShapeError("block_diag needs matrices")
    blocks = [atleast_2d(x) for x in arrays]
    width = sum(b.shape[1] for b in blocks)
    room_for(sum(b.shape[0] for b in blocks), width)
    ends = [*itertools.accumulate(b.shape[1] for b in blocks)]
    rows = [enlarged(b, ((0, 0), (end - b.shape[1], width - end)), 0.0) for b, end in zip(blocks, ends, strict=True)]
    return concatenate(*rows, axis=0)
