"""Arrays made longer at their ends."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import at_least_1d, inverse, permuted
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, part_of, reshape, scatter_add, stack, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.order import median
from gradcli.ops.reductions.sums import max_, mean, min_
from gradcli.ops.registry import composite, function, is_number
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED, Carrier
from gradcli.ops.writing import one_axis

# -- Entries repeated: tiles, grids, combinations and windows --------------------------------------


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


tile = composite(
    "tile", "x", _tile, static={"reps": REQUIRED}, backward="Repeat", copied=True,
    doc="The array repeated along axes.", examples=("tile(x, (2, 1))",),
)  # fmt: skip


@function(public=False, copied=True)
def torch_repeat(x: Any, *, repeats: Any) -> Any:
    """Tensor.repeat: the array repeated along axes, a number for each."""
    if len(repeats if isinstance(repeats, tuple) else (repeats,)) < len(x.shape):
        raise ShapeError(f"repeat: an array of shape {tuple(x.shape)} needs a number of repetitions for each axis, not {repeats}")
    return _tile(x, repeats)


@function(torch="x, repeats, axis, *, output_size", copied=True, examples=("repeat(x, 2, axis=0)",))
def repeat_interleave(x: Any, *, repeats: Any, axis: int | None = None, output_size: int | None = None) -> Any:
    """Each entry repeated along an axis (of all entries, if there is none), all alike or by a list of numbers."""
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


@function(numpy="**arrays|tensors")
def cartesian_prod(*arrays: Any) -> Any:
    """All tuples of entries of vectors, as rows."""
    if any(len(x.shape) != 1 for x in arrays):
        raise ShapeError("cartesian_prod needs vectors")
    if len(arrays) == 1:
        return arrays[0]
    return reshape(stack(*_meshgrid(*arrays, indexing="ij", sparse=False), axis=-1), shape=(-1, len(arrays)))


@function()
def combinations(x: Any, *, r: int = 2, with_replacement: bool = False) -> Any:
    """All r-tuples of entries of a vector, as rows."""
    if len(x.shape) != 1 or r < 0:
        raise ShapeError(f"combinations needs a vector and a length of at least 0, not the shape {tuple(x.shape)} and {r}")
    n = x.shape[0]
    count = _how_many(n, r, with_replacement)
    room_for(_OF_TUPLE, count, max(1, r))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(n), r)) if count else []
    return rows_of(x, np.array(rows, np.int64).reshape((count, r) if r else (0,)), 0)


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
)
declare(
    TORCH,
    repeat=signature("torch_repeat", "x, repeats|sizes+"),
    meshgrid=signature("meshgrid", "**arrays|tensors, indexing", indexing="ij"),
    **{"Tensor.unfold": _UNFOLD},
)


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
    if isinstance(value, Carrier):
        shape = getattr(value, "shape", ())
        if shape:
            return np.stack([_objects(getitem(value, index=(i,))) for i in range(shape[0])])
        cell = np.empty((), object)
        cell[()] = value
        return cell
    return np.array(value)


def _enlarged(x: Any, widths: Widths, fill: Any) -> Any:
    """x with other numbers around it; a negative width cuts entries off."""
    if any(width < 0 for pair in widths for width in pair):
        cut = tuple((max(0, -before), n - max(0, -after), None) for (before, after), n in zip(widths, x.shape, strict=True))
        if any(start > stop for start, stop, _ in cut):
            raise ShapeError(f"pad: the widths {widths} leave nothing of the shape {tuple(x.shape)}")
        x = getitem(x, index=cut)
        widths = tuple((max(0, before), max(0, after)) for before, after in widths)
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
    if all(is_number(v) for pair in ends for v in pair):
        if len({v for pair in ends for v in pair}) <= 1:
            return _enlarged(x, widths, float(ends[0][0]) if ends else 0.0)
        return _enlarged(x, widths, np.pad(np.zeros(x.shape), widths, constant_values=ends))
    for axis, (width, pair) in enumerate(zip(widths, ends, strict=True)):  # as np.pad does, axis by axis
        for end, value in enumerate(pair):
            here = tuple((width[0], 0) if end == 0 and a == axis else (0, width[1]) if a == axis else (0, 0) for a in range(len(widths)))
            x = _enlarged(x, here, value)
    return x


def _moved(mode: Any) -> Function:
    """A mode whose entries are entries of x."""

    def along(x: Any, axis: int, width: tuple[int, int], **_: Any) -> Any:
        room_for(2, x.shape[axis] + sum(width))
        return rows_of(x, np.pad(np.arange(x.shape[axis]), width, mode=mode), axis)

    return along


def _odd(mode: Any) -> Function:
    """Reflections at the point of an end: integer combinations of entries."""

    def along(x: Any, axis: int, width: tuple[int, int], **_: Any) -> Any:
        n = x.shape[axis]
        room_for(2, n + sum(width), n)
        weights = np.pad(np.eye(n), (width, (0, 0)), mode=mode, reflect_type="odd")
        last = (*(a for a in range(len(x.shape)) if a != axis), axis)
        return permuted(matmul(permuted(x, last), weights.T), inverse(last))

    return along


def _statistic(reduce: Function) -> Function:
    """A mode that repeats a statistic of so many entries at each end."""

    def along(x: Any, axis: int, width: tuple[int, int], lengths: Any, **_: Any) -> Any:
        n = x.shape[axis]
        first, last = (n if length is None else min(length, n) for length in lengths)
        of_start, of_end = part_of(x, axis, 0, first), part_of(x, axis, n - last, n)
        return _between(x, axis, width, reduce(of_start, axis=axis, keepdims=True), reduce(of_end, axis=axis, keepdims=True))

    return along


def _between(x: Any, axis: int, width: tuple[int, int], before: Any, after: Any) -> Any:
    """x between numbers that are repeated at its ends."""
    before, after = (
        broadcast_to(v, shape=(*x.shape[:axis], k, *x.shape[axis + 1 :])) for v, k in zip((before, after), width, strict=True)
    )
    return concatenate(before, x, after, axis=axis)


def _ramp(x: Any, axis: int, width: tuple[int, int], ends: Any, **_: Any) -> Any:
    def line(edge: Any, end: float, steps: np.ndarray) -> Any:
        weights = steps.reshape(tuple(-1 if a == axis else 1 for a in range(len(x.shape))))
        return edge * weights + end * (1 - weights)

    n, (before, after) = x.shape[axis], width
    start = line(part_of(x, axis, 0, 1), ends[0], np.arange(before) / max(1, before))
    end = line(part_of(x, axis, n - 1, n), ends[1], np.arange(after)[::-1] / max(1, after))
    return concatenate(start, x, end, axis=axis)


_MODES = {
    **{mode: _moved(mode) for mode in ("edge", "reflect", "symmetric", "wrap")},
    "linear_ramp": _ramp,
    "maximum": _statistic(max_),
    "minimum": _statistic(min_),
    "mean": _statistic(mean),
    "median": _statistic(median),
}


# The parameters of np.pad that only some modes read, with their defaults.
_OF_MODES = {
    "constant_values": (0, ("constant",)), "reflect_type": ("even", ("reflect", "symmetric")),
    "stat_length": (None, ("maximum", "minimum", "mean", "median")), "end_values": (0, ("linear_ramp",)),
}  # fmt: skip


def _refuse_unread(mode: str, **given: Any) -> None:
    for name, value in given.items():
        default, modes = _OF_MODES[name]
        if mode not in modes and not (type(value) is type(default) and value == default):
            raise UnreadArgumentError(f"pad: the mode {mode!r} does not read {name}", help=f"{name} is for mode={modes[0]!r}")


def _pad(
    x: Any, pad_width: Any, mode: str, constant_values: Any, reflect_type: str, stat_length: Any, end_values: Any
) -> Any:
    widths = _pairs("pad_width", pad_width, len(x.shape))
    if any(not isinstance(k, int) or k < 0 for pair in widths for k in pair):
        raise ArgumentError(f"pad: widths are whole numbers of at least 0, not {pad_width}")
    _refuse_unread(mode, constant_values=constant_values, reflect_type=reflect_type, stat_length=stat_length, end_values=end_values)
    if mode == "constant":
        return _constant(x, widths, constant_values)
    if mode not in _MODES or reflect_type not in ("even", "odd"):
        modes = ", ".join(("constant", *_MODES))
        raise ArgumentError(f"pad: the mode must be one of {modes}, and reflect_type 'even' or 'odd', not {mode!r} and {reflect_type!r}")
    along = _odd(mode) if reflect_type == "odd" and mode in ("reflect", "symmetric") else _MODES[mode]
    lengths, ends = _pairs("stat_length", stat_length, len(x.shape)), _pairs("end_values", end_values, len(x.shape))
    for axis, width in enumerate(widths):
        if any(width):
            if not x.shape[axis]:
                raise ShapeError(f"pad: an axis without entries cannot be padded with the mode {mode!r}")
            x = along(x, axis, width, lengths=lengths[axis], ends=ends[axis])
    return x


def _reflected(n: int, before: int, after: int) -> np.ndarray:
    if max(before, after) >= n:
        raise ShapeError(f"pad: a reflection of {n} entries is shorter than {n}, not {max(before, after)} long")
    places: np.ndarray = n - 1 - np.abs(n - 1 - np.abs(np.arange(-before, n + after)))
    return places


def _replicated(n: int, before: int, after: int) -> np.ndarray:
    if not n:
        raise ShapeError("pad: an axis without entries has nothing to replicate")
    return np.clip(np.arange(-before, n + after), 0, n - 1)


def _circular(n: int, before: int, after: int) -> np.ndarray:
    if max(before, after) > n:
        raise ShapeError(f"pad: {n} entries cannot be wrapped around more than once")
    kept = np.arange(max(0, -before), n - max(0, -after))
    return np.pad(kept, (max(0, before), max(0, after)), mode="wrap")


_EXTENSIONS = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}


pad = composite(
    "pad", "x", _pad, examples=("pad(x, (1, 2))",),
    static={
        "pad_width": REQUIRED, "mode": "constant", "constant_values": 0, "reflect_type": "even", "stat_length": None, "end_values": 0,
    },
    scalars="constant_values end_values",
    doc="The array made longer at both ends of each axis, with constants, entries repeated or reflected, a ramp or a statistic.",
)  # fmt: skip


@function(scalars="value", public=False)
def torch_pad(x: Any, *, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """The array made longer (or shorter) at both ends of the last axes: constant, reflect, replicate or circular."""
    ends = pad if isinstance(pad, tuple) else (pad,)
    if len(ends) % 2 or len(ends) > 2 * len(x.shape):
        raise ShapeError(f"pad: {len(ends)} widths do not fit an array of {len(x.shape)} axes, two for each from the last on")
    axes = len(x.shape) - 1 - np.arange(len(ends) // 2)
    widths = {int(a): (ends[2 * i], ends[2 * i + 1]) for i, a in enumerate(axes)}
    if mode == "constant":
        return _enlarged(x, tuple(widths.get(a, (0, 0)) for a in range(len(x.shape))), 0.0 if value is None else value)
    if mode not in _EXTENSIONS:
        raise ArgumentError(f"pad: the mode must be constant, {', '.join(_EXTENSIONS)}, not {mode!r}")
    if value is not None and not (is_number(value) and not value):
        raise ArgumentError(f"pad: the mode {mode!r} takes no value")
    for a, (before, after) in widths.items():
        room_for(2, max(0, x.shape[a] + before + after))
        if before or after:
            x = rows_of(x, _EXTENSIONS[mode](x.shape[a], before, after), a)
    return x


declare(
    NUMPY,
    pad=signature("pad", "x|array, pad_width, mode, constant_values, reflect_type, stat_length, end_values"),
    constant_pad_nd=signature("torch_pad", "x, pad, value", mode="constant"),
)
declare(TORCH, pad=signature("torch_pad", "x, pad, mode, value"))
