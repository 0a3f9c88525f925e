"""Arrays put together and taken apart, repeated, and made longer at their ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, PlaceError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.reshaping import at_least_1d, atleast_2d, atleast_3d, axes_last, permute
from gradcli.ops.arrays.shapes import (
    ALL,
    StaticArray,
    broadcast_to,
    getitem,
    part_of,
    parts_of,
    reshape,
    rows_of,
    scatter_add,
    shape_with,
    stack,
    vector_of,
)
from gradcli.ops.elementwise.arithmetic import add
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import (
    Number,
    declare,
    function,
    is_number,
    need_axes,
    nodes_for,
    one_axis,
    room_for,
    shape_by_example,
    structural,
)
from gradcli.ops.spec import as_tuple
from gradcli.ops.text import list_operands
from gradcli.texts import pairs

# -- Arrays in a row, along an axis that they have ------------------------------------------------


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


concatenate = structural(
    "concatenate cat concat", "*arrays", _concatenate, "arrays.concatenate",
    vjp=lambda cotangent, out, *arrays, axis: parts_of(cotangent, axis, [array.shape[axis] for array in arrays]),
    shape=shape_by_example(_concatenate), static={"axis": 0}, ulps=0,
    doc="Arrays joined along an axis. >>> concatenate([x, y])", backward="Cat",
    numpy=lambda shapes, axis: f"np.concatenate([{list_operands(shapes)}], {axis})",
)


def flat_join(x: Any, y: Any) -> Any:
    """All entries of x, and then of y."""
    return concatenate(vector_of(x), vector_of(y), axis=0)


def mix(x: Any, source: Any, places: np.ndarray) -> Any:
    """Return the entries of x and then of source, at constant places among all of these."""
    every = vector_of(x) if 0 in source.shape else flat_join(x, source)
    return getitem(every, index=(StaticArray(places),))


@function(public=False, backward="Cat")
def joined(*arrays: Any, axis: int | None) -> Any:
    """np.concatenate and torch.cat: arrays joined along an axis, or all their entries
    (axis=None).
    """
    if axis is None:
        return concatenate(*(vector_of(x) for x in arrays), axis=0)
    if any(len(x.shape) != 1 for x in arrays):
        # PyTorch joins empty vectors with arrays of any shape.
        arrays = tuple(x for x in arrays if x.shape != (0,))
    return concatenate(*arrays, axis=axis)


_STACKED = "*arrays|tup|tensors, -dtype, -casting"


@function(numpy=_STACKED)
def hstack(*arrays: Any) -> Any:
    """Arrays joined along the second axis, vectors along the first."""
    parts = [at_least_1d(x) for x in arrays]
    return concatenate(*parts, axis=min(1, len(parts[0].shape) - 1))


@function("vstack row_stack", numpy=_STACKED)
def vstack(*arrays: Any) -> Any:
    """Arrays joined along the first axis, vectors as rows."""
    return concatenate(*(atleast_2d(x) for x in arrays), axis=0)


@function(numpy=_STACKED)
def dstack(*arrays: Any) -> Any:
    """Arrays joined along the third axis."""
    return concatenate(*(atleast_3d(x) for x in arrays), axis=2)


@function(numpy=_STACKED)
def column_stack(*arrays: Any) -> Any:
    """Arrays joined along the second axis, vectors as columns."""
    return concatenate(
        *(x if len(x.shape) > 1 else reshape(x, shape=(-1, 1)) for x in arrays), axis=1
    )


@function(numpy="x|arr, y|values, axis")
def append(x: Any, y: Any, *, axis: int | None = None) -> Any:
    """x and y joined along an axis, or all their entries."""
    return joined(x, y, axis=axis)


# -- Arrays taken apart: parts along an axis, as tuples ------------------------------------------


def place_along(name: str, x: Any, axis: int) -> int:
    """Return an axis, counted from the first, of an array that must have one."""
    need_axes(name, x, 1)
    return one_axis(axis, x.shape)


def _equal_parts(x: Any, axis: int, size: int) -> tuple[Any, ...]:
    """Parts of one size; the last one may be smaller."""
    n = x.shape[axis]
    return parts_of(x, axis, [min(size, n - start) for start in range(0, n, size)] if n else [0])


_SECTIONS = "x|ary, sections|indices_or_sections|indices|tensor_indices_or_sections, axis"


@function("tensor_split array_split", numpy=_SECTIONS)
def tensor_split(x: Any, *, sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of nearly equal parts along an axis, or of the parts between indices."""
    place = place_along("tensor_split", x, axis)
    if isinstance(sections, tuple):
        return tuple(
            part_of(x, place, start, stop) for start, stop in pairwise((0, *sections, None))
        )
    if sections < 1:
        raise ArgumentError(f"number of sections must be larger than 0, got {sections}")
    nodes_for(sections, "split")
    size, larger = divmod(x.shape[place], sections)
    return parts_of(x, place, [size + (i < larger) for i in range(sections)])


@function(numpy=_SECTIONS)
def split(x: Any, *, sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of equal parts along an axis, or of the parts between indices (torch.split: parts of a size, or of sizes).

    >>> split(x, [1, 3])[1]
    """
    n = x.shape[place_along("split", x, axis)]
    if not isinstance(sections, tuple) and (sections < 1 or n % sections):
        raise ShapeError(f"split: {n} entries have no {sections} equal parts")
    parts: tuple[Any, ...] = tensor_split(x, sections=sections, axis=axis)
    return parts


def _split_along(name: str, axis: int, fewest: int, what: str) -> None:
    def body(x: Any, *, sections: Any) -> tuple[Any, ...]:
        need_axes(name, x, fewest)
        parts: tuple[Any, ...] = split(x, sections=sections, axis=min(axis, len(x.shape) - 1))
        return parts

    body.__doc__ = f"A tuple of parts along the {what}."
    function(name, numpy="x|ary, sections|indices_or_sections|indices")(body)


_split_along("hsplit", 1, 1, "second axis (the first of a vector)")
_split_along("vsplit", 0, 2, "first axis")
_split_along("dsplit", 2, 3, "third axis")


@function(memory="parts")
def torch_split(x: Any, *, sizes: Any, axis: int = 0) -> tuple[Any, ...]:
    """torch.split: a tuple of parts of a size, or of sizes, along an axis."""
    place = place_along("split", x, axis)
    n = x.shape[place]
    if isinstance(sizes, tuple):
        if min(sizes, default=0) < 0 or sum(sizes) != n:
            raise ShapeError(f"split: the sizes {sizes} are not of {n} entries in all")
        return parts_of(x, place, sizes)
    if sizes < 0 or (not sizes and n):
        raise ArgumentError(f"split: parts of {sizes} entries cannot make up {n}")
    return _equal_parts(x, place, sizes or 1)


@function(memory="parts")
def chunk(x: Any, *, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of at most so many parts of one size along an axis; the last one may be smaller.

    >>> chunk(x, 2)[0]
    """
    place = place_along("chunk", x, axis)
    if chunks < 1:
        raise ArgumentError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = x.shape[place]
    if not n:
        nodes_for(chunks, "chunk")
    return _equal_parts(x, place, -(-n // chunks)) if n else parts_of(x, place, [0] * chunks)


@function("unbind unstack", memory="parts")
def unbind(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of the entries along an axis."""
    place = place_along("unbind", x, axis)
    return tuple(getitem(x, index=(*(ALL,) * place, i)) for i in range(x.shape[place]))


@function()
def select(x: Any, *, axis: int, index: int) -> Any:
    """One entry along an axis, without it."""
    place = place_along("select", x, axis)
    if not -x.shape[place] <= index < x.shape[place]:
        raise PlaceError(f"select: there is no entry {index} along an axis of {x.shape[place]}")
    return getitem(x, index=(*(ALL,) * place, int(index)))


@function()
def narrow(x: Any, *, axis: int, start: int, length: int) -> Any:
    """Return so many entries along an axis, from start on."""
    place = place_along("narrow", x, axis)
    n = x.shape[place]
    first = start + n if start < 0 else start
    if not 0 <= first <= n or not 0 <= length <= n - first:
        raise ShapeError(f"narrow: no {length} entries from {start} on along an axis of {n}")
    return part_of(x, place, first, first + length)


declare(f"""
    numpy:
        concatenate cat concat = joined(*arrays|tensors, axis=0, -out, -dtype, -casting)
        stack(*arrays|tensors, axis, -out, -dtype, -casting)
        row_stack = vstack({_STACKED})
        array_split = tensor_split({_SECTIONS})
    torch:
        split split_with_sizes = torch_split(x|tensor, sizes|split_size_or_sections|split_size|split_sizes, axis)
""")


# -- Entries repeated: tiles, grids, combinations and windows ------------------------------------


def _counts(counts: Any) -> tuple[int, ...]:
    numbers: tuple[int, ...] = as_tuple(counts)
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
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - len(x.shape)) + tuple(x.shape)
    apart = reshape(x, shape=tuple(k for extent in shape for k in (1, extent)))
    spread = broadcast_to(
        apart, shape=tuple(k for pair in zip(reps, shape, strict=True) for k in pair)
    )
    return reshape(spread, shape=tuple(r * s for r, s in zip(reps, shape, strict=True)))


@function(memory="own")
def torch_repeat(x: Any, *, repeats: Any) -> Any:
    """Tensor.repeat: the array repeated along axes, a number for each."""
    if len(_counts(repeats)) < len(x.shape):
        raise ShapeError(
            f"repeat: an array of shape {tuple(x.shape)} needs a number of repetitions for each "
            f"axis, not {repeats}"
        )
    return tile(x, reps=repeats)


@function(
    numpy="x|a, repeats, axis, output_size", torch="x, repeats, axis, *, output_size", memory="own"
)
def repeat_interleave(
    x: Any, *, repeats: Any, axis: int | None = None, output_size: int | None = None
) -> Any:
    """Each entry repeated along an axis (of all entries, if there is none), all alike or by a list of numbers.

    >>> repeat(x, 2, axis=0)
    """
    x = vector_of(x) if axis is None else at_least_1d(x)
    place = one_axis(axis or 0, x.shape)
    counts = _counts(repeats)
    n = x.shape[place]
    if len(counts) not in (1, n):
        raise ShapeError(f"repeat: {len(counts)} numbers of repetitions for {n} entries")
    total = sum(counts) if len(counts) > 1 else counts[0] * n
    if output_size not in (None, total):
        raise ArgumentError(
            f"repeat: the result has {total} entries along the axis, not {output_size}"
        )
    if len(counts) == 1:
        spread = broadcast_to(
            reshape(x, shape=shape_with(x.shape, place, n, 1)),
            shape=shape_with(x.shape, place, n, *counts),
        )
        return reshape(spread, shape=shape_with(x.shape, place, total))
    room_for(total)
    return rows_of(x, np.repeat(np.arange(n), counts), place)


@function()
def meshgrid(
    *arrays: Any, indexing: Literal["xy", "ij"] = "xy", sparse: bool = False
) -> tuple[Any, ...]:
    """Grids of coordinates, one for each vector; along the second axis for the first with
    indexing='xy' (NumPy), else the first.
    """
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    grid = [
        reshape(x, shape=tuple(-1 if i == j else 1 for j in order)) for i, x in enumerate(arrays)
    ]
    sizes = tuple(math.prod(arrays[i].shape) for i in order)
    return tuple(x if sparse else broadcast_to(x, shape=sizes) for x in grid)


@function(numpy="**arrays|tensors")
def cartesian_prod(*arrays: Any) -> Any:
    """All tuples of entries of vectors, as rows."""
    for x in arrays:
        need_axes("cartesian_prod", x, 1, 1)
    if len(arrays) == 1:
        return arrays[0]
    grid = meshgrid(*arrays, indexing="ij")
    return reshape(stack(*grid, axis=-1), shape=(-1, len(arrays)))


@function()
def combinations(x: Any, *, r: int = 2, with_replacement: bool = False) -> Any:
    """All r-tuples of entries of a vector, as rows."""
    need_axes("combinations", x, 1, 1)
    if r < 0:
        raise ArgumentError(f"combinations: r must be at least 0, not {r}")
    n = x.shape[0]
    things = max(0, n + r - 1) if with_replacement else n
    count = math.comb(things, min(r, things - r, _MANY)) if r <= things else 0
    room_for(_OF_TUPLE, count, max(1, r))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(n), r)) if count else []
    return rows_of(x, np.array(rows, np.int64).reshape((count, r) if r else (0,)), 0)


_OF_TUPLE = 3  # memory of a number in a list of tuples, in numbers
_MANY = 64  # choices of this many things or more make more tuples than memory holds


def _windows_in_memory(array: np.ndarray, axis: int, length: int, step: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(array, length, axis)
    return windows[(slice(None),) * (axis % array.ndim) + (slice(None, None, step),)]


@function(public=False, backward="Unfold", memory=_windows_in_memory)
def tensor_unfold(x: Any, *, axis: int, length: int, step: int) -> Any:
    """Tensor.unfold: the windows of an axis, each along a new last axis."""
    rows = at_least_1d(x)
    place = one_axis(axis, rows.shape)
    n = rows.shape[place]
    if not 0 <= length <= n or step <= 0:
        raise ShapeError(
            f"unfold: no windows of {length} entries at steps of {step} in an axis of {n}"
        )
    room_for((n - length) // step + 1, length)
    starts = np.arange(0, n - length + 1, step)
    if not x.shape:
        return rows_of(rows, np.arange(length), 0)
    windows = rows_of(rows, starts[:, None] + np.arange(length), place)
    return permute(windows, axes_last(windows.shape, (place + 1,)))


# -- Arrays made longer at their ends ------------------------------------------------------------




def enlarge(x: Any, widths: tuple[tuple[int, int], ...], fill: Any) -> Any:
    """Surround x with other numbers."""
    if not any(width for pair in widths for width in pair):
        return x
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, widths, strict=True))
    room_for(*shape)
    inside = tuple(
        (before, before + n, None) for n, (before, _) in zip(x.shape, widths, strict=True)
    )
    padded = scatter_add(x, index=inside, shape=shape)
    if is_number(fill) and not fill:
        return padded
    kept = np.zeros(shape, bool)
    kept[tuple(slice(*part) for part in inside)] = True
    return add(padded, where(kept, 0, fill))


@function(numpy="x|array, pad_width, mode, constant_values, -reflect_type, -stat_length, "
"-end_values")
def pad(
    x: Any,
    *,
    pad_width: Any,
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    constant_values: Number = 0,
) -> Any:
    """The array made longer at both ends of each axis, with constants, or with entries repeated or reflected.

    >>> pad(x, (1, 2))
    """
    try:
        widths = tuple(
            (before, after)
            for before, after in np.broadcast_to(np.array(pad_width), (len(x.shape), 2)).tolist()
        )
    except ValueError:
        raise ShapeError(
            f"pad: pad_width {pad_width} does not fit an array of {len(x.shape)} axes"
        ) from None
    if any(not isinstance(k, int) or k < 0 for pair in widths for k in pair):
        raise ArgumentError(f"pad: widths are whole numbers of at least 0, not {pad_width}")
    if mode == "constant":
        return enlarge(x, widths, constant_values)
    if not (type(constant_values) is int and constant_values == 0):
        raise UnreadArgumentError(
            f"pad: the mode {mode!r} does not read constant_values",
            help="constant_values is for mode='constant'",
        )
    for axis, width in enumerate(widths):
        if any(width):
            if not x.shape[axis]:
                raise ShapeError(
                    f"pad: an axis without entries cannot be padded with the mode {mode!r}"
                )
            room_for(2, x.shape[axis] + sum(width))
            x = rows_of(x, np.pad(np.arange(x.shape[axis]), width, mode=mode), axis)
    return x


_NUMPYS = pairs("constant constant, reflect reflect, replicate edge, circular wrap")
_pad = pad


def _shorter(x: Any, widths: Sequence[tuple[int, int]]) -> Any:
    """Return x without entries at its ends, as many as widths below 0 count."""
    for axis, (before, after) in enumerate(widths):
        if min(before, after) < 0:
            x = part_of(x, axis, max(0, -before), x.shape[axis] - max(0, -after))
    return x


@function()
def torch_pad(
    x: Any,
    *,
    pad: Any,
    mode: Literal["constant", "reflect", "replicate", "circular"] = "constant",
    value: Number = None,
) -> Any:
    """The array made longer (or shorter) at both ends of the last axes: constant, reflect,
    replicate or circular.
    """
    ends = as_tuple(pad)
    if len(ends) % 2 or len(ends) > 2 * len(x.shape):
        raise ShapeError(
            f"pad: {len(ends)} widths do not fit an array of {len(x.shape)} axes, two for each "
            "from the last on"
        )
    if mode != "constant" and value is not None and not (is_number(value) and not value):
        raise ArgumentError(f"pad: the mode {mode!r} takes no value")
    widths = [(0, 0)] * (len(x.shape) - len(ends) // 2) + [
        *zip(ends[::2], ends[1::2], strict=True)
    ][::-1]
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        most = {"reflect": n - 1, "circular": n}.get(mode, math.inf)
        if min(before, 0) + min(after, 0) + n < 0 or max(before, after) > max(0, most):
            raise ShapeError(
                f"pad: widths of {before} and {after} do not fit an axis of {n} entries in the "
                f"mode {mode!r}"
            )
    longer = tuple((max(0, before), max(0, after)) for before, after in widths)
    if mode == "reflect":  # reflect the whole array before cutting it
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
    for x in arrays:
        need_axes("block_diag", x, 0, 2)
    blocks = [atleast_2d(x) for x in arrays]
    width = sum(b.shape[1] for b in blocks)
    room_for(sum(b.shape[0] for b in blocks), width)
    ends = [*itertools.accumulate(b.shape[1] for b in blocks)]
    rows = [
        enlarge(b, ((0, 0), (end - b.shape[1], width - end)), 0.0)
        for b, end in zip(blocks, ends, strict=True)
    ]
    return concatenate(*rows, axis=0)
