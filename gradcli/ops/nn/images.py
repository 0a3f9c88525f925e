"""Images: windows, convolutions, pooling, and images in other sizes or read at other places.

Windows slide over the axes of an image. A table says which entry each place of each window along
one axis reads; it may lie outside. Windows are read by one table an axis. The transpose of reading
adds every place back to the entry that it came from. Convolutions are products of filters with
windows. Pooling takes means and largest entries of windows over the last axes. An entry of an image
in another size is a weighted sum of a few neighbours along every axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import enlarge
from gradcli.ops.arrays.shapes import (
    ALL,
    StaticArray,
    broadcast_to,
    getitem,
    reshape,
    scatter_add,
    swapaxes,
    take_along,
    transpose,
)
from gradcli.ops.elementwise.arithmetic import floor, mul, rint
from gradcli.ops.elementwise.logic import greater_equal, less_equal, logical_and, where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.order import argmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import declare, function, need_axes, noted_kink, room_for
from gradcli.ops.structure import to_int

# -- Windows --------------------------------------------------------------------------------------


Table = np.ndarray  # of shape (windows, places)
Around = Sequence[tuple[int, int]]  # the padding before and after each axis


def each(name: str, what: str, value: Any, n: int, least: int = 0) -> tuple[int, ...]:
    """Return a number for each of n axes, from one number for all axes or one for each.

    Raises ArgumentError for other counts, and for anything but whole numbers of at least ``least``.
    """
    values = tuple(value) if isinstance(value, tuple) else (value,)
    values = values * n if len(values) == 1 else values
    if len(values) != n or not all(isinstance(v, int) and v >= least for v in values):
        raise ArgumentError(
            f"{name}: {what} must be a whole number of at least {least}, or {n} of them, not "
            f"{value!r}"
        )
    return values


def each_twice(name: str, padding: Any, n: int) -> Around:
    """Return the padding around n axes that is the same at both ends."""
    return [(p, p) for p in each(name, "padding", padding, n)]


def steps_of(
    name: str, n: int, kernel_size: Any, stride: Any, dilation: Any = 1
) -> list[tuple[int, ...]]:
    """Return the sizes of windows along n axes, their strides and their dilations.

    The strides are the sizes if none are given.
    """
    sizes = each(name, "kernel_size", kernel_size, n, 1)
    return [
        sizes,
        sizes if stride in (None, ()) else each(name, "stride", stride, n, 1),
        each(name, "dilation", dilation, n, 1),
    ]


def sliding(
    name: str,
    lengths: Sequence[int],
    steps: Sequence[tuple[int, ...]],
    around: Around,
    ceil_mode: bool = False,
) -> list[Table]:
    """Return the tables of windows that slide over padded axes.

    With ``ceil_mode``, the last window may reach beyond the end if it begins before it.
    """
    tables = []
    for length, (before, after), size, stride, dilation in zip(
        lengths, around, *steps, strict=True
    ):
        left = length + before + after - dilation * (size - 1) - 1
        windows = (left + (stride - 1 if ceil_mode else 0)) // stride + 1
        if ceil_mode and (windows - 1) * stride >= length + before:
            windows -= 1
        if windows < 1:
            raise ShapeError(
                f"{name}: no window of size {steps[0]} fits into the axes {tuple(lengths)}"
            )
        tables.append(strided_table(windows, size, stride, before, dilation))
    return tables


def strided_table(windows: int, size: int, stride: int, before: int, dilation: int) -> Table:
    """Return the table of evenly spaced windows.

    The first window begins ``before`` entries before the first entry.
    """
    room_for(3, windows, size)
    return np.arange(windows)[:, None] * stride + np.arange(size) * dilation - before


def adaptive(length: int, windows: int) -> Table:
    """Return the table of windows that cover all entries.

    They cover them as evenly as whole numbers allow.
    """
    room_for(3, windows, length // max(1, windows) + 2)
    first = np.arange(windows)[:, None] * length // windows
    last = -(-(np.arange(1, windows + 1)[:, None] * length) // windows)
    table = first + np.arange((last - first).max(initial=1))
    return np.where(table < last, table, -1)


def within(tables: Sequence[Table], lengths: Sequence[int]) -> list[np.ndarray]:
    """Return which places of tables lie inside of axes of these lengths."""
    return [(table >= 0) & (table < length) for table, length in zip(tables, lengths, strict=True)]


def _apart(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """One array a table, which broadcast to axes of places, then axes of windows."""
    n = len(arrays)
    return [
        np.expand_dims(array.T, [j for j in range(2 * n) if j % n != i])
        for i, array in enumerate(arrays)
    ]


def _places(
    tables: Sequence[Table], lengths: Sequence[int]
) -> tuple[tuple[StaticArray, ...], list[int]]:
    """Return the index of the entries in windows, and the lengths that axes need for it.

    Everything outside is one additional entry, the last one.
    """
    held = within(tables, lengths)
    index = [np.where(h, t, n) for h, t, n in zip(held, tables, lengths, strict=True)]
    longer = [n + (not h.all()) for h, n in zip(held, lengths, strict=True)]
    return tuple(map(StaticArray, _apart(index))), longer


def read(x: Any, tables: Sequence[Table], outside: float) -> Any:
    """Return the entries in windows over the last axes.

    These axes are replaced by the axes of places, followed by the axes of windows.
    """
    room_for(*(extent for table in tables for extent in table.shape))
    shape = tuple(x.shape)
    kept = len(x.shape) - len(tables)
    index, longer = _places(tables, shape[kept:])
    widths = tuple((0, n - m) for n, m in zip((*shape[:kept], *longer), shape, strict=True))
    return getitem(enlarge(x, widths, outside), index=(*(ALL,) * kept, *index))


def add_up(places: Any, tables: Sequence[Table], lengths: Sequence[int]) -> Any:
    """Compute the transpose of reading windows: an array whose last axes have these lengths.

    Places outside are left out.
    """
    kept = tuple(places.shape[: -2 * len(tables)])
    index, longer = _places(tables, lengths)
    every = (ALL,) * len(kept)
    x = scatter_add(places, index=(*every, *index), shape=(*kept, *longer))
    return getitem(x, index=(*every, *((0, n, None) for n in lengths)))


def nested_text(entries: str, depth: int) -> str:
    """Write an array of ``depth`` axes for examples.

    All axes but those of the entries have one entry.
    """
    return "[" * depth + entries + "]" * depth


def small_image(n: int) -> str:
    """Text of an image of n dimensions with one channel, for examples."""
    return nested_text("x" if n == 1 else "x, y", n)


@function(torch="x, kernel_size, dilation, padding, stride", backward="Im2Col")
def unfold(
    x: Any, *, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The entries in each window of images, one window a column.

    >>> F.unfold([[x, y]], 2)
    """
    need_axes("unfold", x, 3, 4)
    tables = sliding(
        "unfold",
        x.shape[-2:],
        steps_of("unfold", 2, kernel_size, stride, dilation),
        each_twice("unfold", padding, 2),
    )
    windows, places = (math.prod(t.shape[i] for t in tables) for i in (0, 1))
    return reshape(read(x, tables, 0.0), shape=(*x.shape[:-3], x.shape[-3] * places, windows))


@function(backward="Col2Im")
def fold(
    x: Any,
    *,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """Images from the entries in windows, added up where windows overlap: the transpose of unfold.

    >>> F.fold([x, y], (1, 4), (1, 2))
    """
    lengths = each("fold", "output_size", output_size, 2, 1)
    tables = sliding(
        "fold",
        lengths,
        steps_of("fold", 2, kernel_size, stride, dilation),
        each_twice("fold", padding, 2),
    )
    places, windows = (tuple(t.shape[i] for t in tables) for i in (1, 0))
    if (
        len(x.shape) not in (2, 3)
        or x.shape[-2] % math.prod(places)
        or x.shape[-1] != math.prod(windows)
    ):
        raise ShapeError(
            f"fold: an array of shape {tuple(x.shape)} does not hold {math.prod(windows)} windows "
            f"of {places}"
        )
    lead = (*x.shape[:-2], x.shape[-2] // math.prod(places))
    return add_up(reshape(x, shape=(*lead, *places, *windows)), tables, lengths)


# -- Convolutions --------------------------------------------------------------------------------


def _batch(name: str, x: Any, weight: Any, n: int, place: int, groups: int = 1) -> Any:
    """Return images with their batch axis, after a check that their channels fit the filters.

    The filters have their channels along one of their first axes. Raises ShapeError if they do not
    fit.
    """
    need_axes(name, x, n + 1, n + 2)
    need_axes(f"the weight of {name}", weight, n + 2, n + 2)
    if x.shape[-n - 1] != weight.shape[place] * groups:
        raise ShapeError(
            f"{name}: images of {x.shape[-n - 1]} channels do not fit filters for "
            f"{weight.shape[place] * groups}"
        )
    return x if len(x.shape) == n + 2 else reshape(x, shape=(1, *x.shape))


def _finish(name: str, result: Any, bias: Any, n: int, batched: bool) -> Any:
    if bias is not None:
        if tuple(bias.shape) != (result.shape[1],):
            raise ShapeError(
                f"{name}: a bias of shape {tuple(bias.shape)} for {result.shape[1]} channels"
            )
        result = result + reshape(bias, shape=(-1, *(1,) * n))
    return result if batched else reshape(result, shape=result.shape[1:])


def _channels_per_group(name: str, groups: int, channels: int) -> int:
    """Return how many channels each group has."""
    if groups < 1 or channels % groups:
        raise ArgumentError(f"{name}: {channels} channels do not fall into {groups} groups")
    return channels // groups


def _around(
    name: str, padding: Any, sizes: tuple[int, ...], strides: tuple[int, ...], gaps: tuple[int, ...]
) -> Around:
    """Return the padding before and after each axis."""
    if not isinstance(padding, str):
        return each_twice(name, padding or 0, len(sizes))
    if padding not in ("same", "valid"):
        raise ArgumentError(f"{name}: padding must be 'same', 'valid' or numbers, not {padding!r}")
    if padding == "same" and any(stride != 1 for stride in strides):
        raise ArgumentError(f"{name}: padding='same' needs a stride of 1")
    total = [
        gap * (size - 1) if padding == "same" else 0 for size, gap in zip(sizes, gaps, strict=True)
    ]
    return [(t // 2, t - t // 2) for t in total]


def _convolutions(n: int) -> None:
    """Register the functions for n dimensions."""
    name, transposed = f"conv{n}d", f"conv_transpose{n}d"
    example = f"{small_image(n)}, {nested_text('w', n + 1)}"

    @function(name, backward="Convolution", example=f"F.{name}({example})")
    def convolution(
        input: Any,
        weight: Any,
        bias: Any = None,
        *,
        stride: Any = 1,
        padding: Any = None,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        """The cross-correlation of images with filters, as layers of networks compute it."""
        images = _batch(name, input, weight, n, 1, groups)
        filters = _channels_per_group(name, groups, weight.shape[0])
        per_group = weight.shape[1]
        steps = (
            tuple(weight.shape[2:]),
            each(name, "stride", stride, n, 1),
            each(name, "dilation", dilation, n, 1),
        )
        tables = sliding(name, images.shape[2:], steps, _around(name, padding, *steps))
        columns = read(images, tables, 0.0)
        places = math.prod(steps[0])
        windows = tuple(columns.shape[n + 2 :])
        rows = reshape(
            columns, shape=(images.shape[0], groups, per_group * places, math.prod(windows))
        )
        products = matmul(reshape(weight, shape=(groups, filters, per_group * places)), rows)
        result = reshape(products, shape=(images.shape[0], weight.shape[0], *windows))
        return _finish(name, result, bias, n, len(input.shape) == n + 2)

    @function(transposed, backward="Convolution", example=f"F.{transposed}({example})")
    def transpose(
        input: Any,
        weight: Any,
        bias: Any = None,
        *,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        """The transpose of a convolution by its images: it adds multiples of the filters up."""
        images = _batch(transposed, input, weight, n, 0)
        per_group = _channels_per_group(transposed, groups, weight.shape[0])
        channels = groups * weight.shape[1]
        sizes, windows = tuple(weight.shape[2:]), tuple(images.shape[2:])
        steps = each(transposed, "stride", stride, n, 1)
        gaps = each(transposed, "dilation", dilation, n, 1)
        around = each(transposed, "padding", padding, n)
        further = each(transposed, "output_padding", output_padding, n)
        if any(f >= max(step, gap) for f, step, gap in zip(further, steps, gaps, strict=True)):
            raise ArgumentError(
                f"{transposed}: output_padding must be smaller than the stride or the dilation"
            )
        lengths = tuple(
            (count - 1) * step + gap * (size - 1) + 1 + f - 2 * p
            for count, step, gap, size, f, p in zip(
                windows, steps, gaps, sizes, further, around, strict=True
            )
        )
        if min(lengths) < 1:
            raise ShapeError(
                f"{transposed}: nothing is left of axes of {windows} entries with a padding of "
                f"{around}"
            )
        rows = reshape(images, shape=(images.shape[0], groups, per_group, math.prod(windows)))
        filters = swapaxes(reshape(weight, shape=(groups, per_group, -1)), axis1=1, axis2=2)
        columns = reshape(
            matmul(filters, rows), shape=(images.shape[0], channels, *sizes, *windows)
        )
        tables = [
            strided_table(*along) for along in zip(windows, sizes, steps, around, gaps, strict=True)
        ]
        return _finish(
            transposed, add_up(columns, tables, lengths), bias, n, len(input.shape) == n + 2
        )


# -- Pooling ---------------------------------------------------------------------------------------


def _spatial_shape(name: str, x: Any, n: int) -> tuple[int, ...]:
    need_axes(name, x, n + 1, n + 2)
    return tuple(x.shape[-n:])


def _windows(
    name: str,
    x: Any,
    n: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[list[Table], list[np.ndarray]]:
    """Tables of pooling windows, and how many places each has within the padded axes."""
    lengths = _spatial_shape(name, x, n)
    steps = steps_of(name, n, kernel_size, stride, dilation)
    around = each_twice(name, padding, n)
    if any(2 * pad > size for (pad, _), size in zip(around, steps[0], strict=True)):
        raise ArgumentError(
            f"{name}: the padding may be at most half of the kernel_size, not {padding} of "
            f"{kernel_size}"
        )
    tables = sliding(name, lengths, steps, around, ceil_mode)
    return tables, [
        (table < length + pad).sum(axis=1)
        for table, length, (pad, _) in zip(tables, lengths, around, strict=True)
    ]


def _sum_windows(x: Any, tables: Sequence[Table]) -> Any:
    n = len(tables)
    return sum_(read(x, tables, 0.0), axis=tuple(range(-2 * n, -n)))


def _inside(x: Any, tables: Sequence[Table]) -> list[np.ndarray]:
    """Return how many entries windows have along each axis."""
    return [held.sum(axis=1) for held in within(tables, x.shape[-len(tables) :])]


def _largest(x: Any, tables: Sequence[Table]) -> tuple[Any, Any]:
    """Return the largest entry of each window, and its place among all entries of these axes."""
    n = len(tables)
    lead = tuple(x.shape[: -len(tables)])
    windows = tuple(len(table) for table in tables)
    shape = (*lead, math.prod(table.shape[1] for table in tables), *windows)
    entries = reshape(read(x, tables, -math.inf), shape=shape)
    first = argmax(entries, axis=len(lead), keepdims=True)
    numbers = np.arange(math.prod(x.shape[-n:])).reshape(x.shape[-n:])
    places = np.reshape(read(numbers, tables, 0.0), shape[len(lead) :])
    index = take_along(np.broadcast_to(places, shape), first, axis=len(lead))
    result = (*lead, *windows)
    return reshape(take_along(entries, first, axis=len(lead)), shape=result), to_int(
        reshape(index, shape=result)
    )


def _covering(name: str, x: Any, n: int, output_size: Any) -> list[Table]:
    lengths = _spatial_shape(name, x, n)
    wanted = tuple(output_size) if isinstance(output_size, tuple) else (output_size,) * n
    if len(wanted) == n:
        wanted = tuple(
            length if w is None else w for w, length in zip(wanted, lengths, strict=True)
        )
    return [
        adaptive(*pair) for pair in zip(lengths, each(name, "output_size", wanted, n), strict=True)
    ]


def covering_means(x: Any, tables: Sequence[Table]) -> Any:
    return _sum_windows(x, tables) / reduce(np.multiply.outer, _inside(x, tables))


_FIRST = (noted_kink("equal largest entries", "the whole gradient to the first of them"),)


def _pooling(n: int) -> None:
    """Register the functions for n dimensions."""
    size = {1: "2", 2: "2", 3: "(1, 2, 2)"}[n]

    def example(name: str) -> str:
        return f"F.{name}({small_image(n)}, {size})"

    average, largest = f"avg_pool{n}d", f"max_pool{n}d"
    averaged = (
        "input, kernel_size, stride, padding, ceil_mode, count_include_pad, -divisor_override"
    )

    @function(average, torch=averaged, example=example(average))
    def means(
        input: Any,
        *,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Any:
        """The means of windows over the last axes."""
        tables, counts = _windows(average, input, n, kernel_size, stride, padding, 1, ceil_mode)
        whole = reduce(np.multiply.outer, counts if count_include_pad else _inside(input, tables))
        return _sum_windows(input, tables) / whole

    @function(largest, kinks=_FIRST, backward=f"MaxPool{n}DWithIndices", example=example(largest))
    def extremes(
        input: Any,
        *,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The largest entries of windows over the last axes; with return_indices, also their
        places.
        """
        values, places = _largest(
            input, _windows(largest, input, n, kernel_size, stride, padding, dilation, ceil_mode)[0]
        )
        return (values, places) if return_indices else values

    @function(f"adaptive_{average}", example=example(f"adaptive_{average}"))
    def covering(input: Any, *, output_size: Any) -> Any:
        """The means of windows over the last axes, so many that the result has output_size."""
        return covering_means(input, _covering(f"adaptive_{average}", input, n, output_size))

    @function(f"adaptive_{largest}", kinks=_FIRST, example=example(f"adaptive_{largest}"))
    def covering_extremes(input: Any, *, output_size: Any, return_indices: bool = False) -> Any:
        """The largest entries of windows over the last axes, so many that the result has
        output_size; with return_indices, also their places.
        """
        values, places = _largest(input, _covering(f"adaptive_{largest}", input, n, output_size))
        return (values, places) if return_indices else values

    placed = "input, kernel_size, stride, padding, dilation, ceil_mode"
    declare(f"""
        torch:
            {largest}_with_indices = {largest}({placed}; return_indices=True)
            adaptive_{largest}_with_indices = adaptive_{largest}(input, output_size; return_indices=True)
    """)


# -- Images in other sizes -------------------------------------------------------------------------


_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_MODES = ("nearest", "nearest-exact", "area", *_AXES)


def _cubic_weights(t: Any) -> list[Any]:
    """Keys' weights with a = -3/4 of the four neighbours, at t of the way between the inner two."""
    a = -0.75
    u = 1 - t
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, u + 1)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, u)]
    return [far[0], near[0], near[1], far[1]]


def _neighbours(at: Any, cubic: bool) -> list[tuple[Any, Any]]:
    """Return the two or four whole coordinates around others, and their weights."""
    below = floor(at)
    t = at - below
    return [
        (below + k, weight)
        for k, weight in (enumerate(_cubic_weights(t), -1) if cubic else enumerate((1 - t, t)))
    ]


def _resample(x: Any, axis: int, size: int, scale: float | None, mode: str, corners: bool) -> Any:
    """Resample an axis in another size.

    The centres of the results lie evenly among those of the entries. If ``corners`` is set, the
    ends are mapped to the ends.
    """
    length = x.shape[axis]
    at = np.arange(size, dtype=float)
    step = (length - 1) / max(size - 1, 1) if corners else 1 / scale if scale else length / size
    if mode.startswith("nearest"):
        # Single precision, as in PyTorch, so that 2.9999999 becomes 3.
        at = ((at + 0.5 * (mode != "nearest")) * step).astype(np.float32)
        pairs: list[tuple[Any, Any]] = [(np.floor(at), None)]
    else:
        at = at * step if corners else (at + 0.5) * step - 0.5
        pairs = _neighbours(at if mode == "bicubic" else np.maximum(at, 0), mode == "bicubic")
    rest = (1,) * (len(x.shape) - axis - 1)
    terms = []
    for place, weight in pairs:
        entries = getitem(
            x, index=(*(ALL,) * axis, StaticArray(np.clip(place, 0, length - 1).astype(int)))
        )
        terms.append(entries if weight is None else mul(entries, weight.reshape(-1, *rest)))
    return reduce(add, terms)


def _sizes(
    x: Any, size: Any, scale_factor: Any
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """Return the lengths of the result's axes, and the factors by which places are computed.

    A factor of None means that places are computed from the lengths.
    """
    n = len(x.shape) - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: give either size or scale_factor")
    if scale_factor is None:
        return each("interpolate", "size", size, n, 1), (None,) * n
    factors = tuple(scale_factor) if isinstance(scale_factor, tuple) else (scale_factor,) * n
    if len(factors) != n or not all(isinstance(f, (int, float)) and f > 0 for f in factors):
        raise ArgumentError(
            f"interpolate: scale_factor must be a positive number or {n} of them, not "
            f"{scale_factor!r}"
        )
    lengths = tuple(math.floor(m * f) for m, f in zip(x.shape[2:], factors, strict=True))
    if not all(lengths):
        raise ShapeError(
            f"interpolate: the scale_factor {scale_factor!r} leaves nothing of an array of shape "
            f"{tuple(x.shape)}"
        )
    return lengths, factors


@function()
def interpolate(
    input: Any,
    *,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """Images in another size: by the nearest entries, linear or cubic interpolation, or means of areas.

    >>> F.interpolate([[x]], 5, mode='linear')
    """
    if mode not in _MODES:
        raise ArgumentError(f"interpolate: mode must be one of {', '.join(_MODES)}, not {mode!r}")
    n = len(input.shape) - 2
    if n not in ((_AXES[mode],) if mode in _AXES else (1, 2, 3)) or not all(input.shape[1:]):
        raise ShapeError(
            f"interpolate: mode {mode!r} does not take an array of shape {tuple(input.shape)}"
        )
    if mode not in _AXES and align_corners is not None:
        raise ArgumentError(
            "interpolate: align_corners goes with the modes linear, bilinear, bicubic and "
            "trilinear only"
        )
    lengths, scales = _sizes(input, size, scale_factor)
    if mode == "area":
        return covering_means(
            input, [adaptive(*pair) for pair in zip(input.shape[2:], lengths, strict=True)]
        )
    for axis, (wanted, scale) in enumerate(zip(lengths, scales, strict=True), 2):
        room_for(4, wanted)
        input = _resample(input, axis, wanted, scale, mode, bool(align_corners))
    return input


@function(memory="own")
def pixel_shuffle(input: Any, *, upscale_factor: int) -> Any:
    """Channels rearranged into images that are larger by a factor.

    >>> F.pixel_shuffle([[x], [y], [x], [y]], 2)
    """
    r = upscale_factor
    need_axes("pixel_shuffle", input, 3)
    *lead, channels, height, width = input.shape
    fewer = math.prod(lead) * channels // (r * r)
    parts = transpose(reshape(input, shape=(fewer, r, r, height, width)), axes=(0, 3, 1, 4, 2))
    return reshape(parts, shape=(*lead, channels // (r * r), height * r, width * r))


@function(memory="own")
def pixel_unshuffle(input: Any, *, downscale_factor: int) -> Any:
    """Images rearranged into channels of images that are smaller by a factor.

    >>> F.pixel_unshuffle([[x, y, x]], 3)
    """
    r = downscale_factor
    need_axes("pixel_unshuffle", input, 3)
    *lead, height, width = input.shape
    parts = transpose(
        reshape(input, shape=(math.prod(lead), height // r, r, width // r, r)), axes=(0, 2, 4, 1, 3)
    )
    return reshape(parts, shape=(*lead[:-1], lead[-1] * r * r, height // r, width // r))


declare("""
    torch:
        torch.adaptive_max_pool1d = adaptive_max_pool1d(input, output_size; return_indices=True)
        interpolate(input, size, scale_factor, mode, align_corners, -recompute_scale_factor)
        upsample = interpolate(input, size, scale_factor, mode, align_corners)
        upsample_nearest = interpolate(input, size, scale_factor)
        upsample_bilinear = interpolate(input, size, scale_factor; mode='bilinear', align_corners=True)
""")


# -- Images read at places that are themselves results: grid_sample, its grids, and entries put
# back where they were found.


def _within(at: Any, length: int, padding: str) -> Any:
    """Return coordinates brought back to the border of the image, as the padding says.

    The result is constant on the border and beyond.
    """
    if padding == "zeros":
        return at
    return where(less_equal(at, 0), 0.0, where(greater_equal(at, length - 1), length - 1.0, at))


def _entries(x: Any, places: list[Any]) -> Any:
    """Return the entries of images at whole coordinates, 0 outside.

    The places have the shape (images, points).
    """
    lengths = tuple(x.shape[2:])
    inside: Any = True
    flat: Any = 0.0
    for place, length in zip(places, lengths, strict=True):
        within = logical_and(greater_equal(place, 0), less_equal(place, length - 1))
        inside = within if inside is True else logical_and(inside, within)
        flat = flat * length + place
    index = to_int(rint(where(inside, flat, 0.0)))
    images = x.shape[0]
    channels = x.shape[1]
    points = index.shape[1]
    spread = broadcast_to(
        reshape(index, shape=(images, 1, points)), shape=(images, channels, points)
    )
    found = take_along(reshape(x, shape=(images, channels, math.prod(lengths))), spread, axis=2)
    return where(reshape(inside, shape=(images, 1, points)), found, 0.0)


@function()
def grid_sample(
    input: Any,
    grid: Any,
    *,
    mode: Literal["bilinear", "nearest"] = "bilinear",
    padding_mode: Literal["zeros", "border"] = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Images read at the places that a grid gives, from -1 to 1 along every axis, the last one first.

    >>> F.grid_sample([[[x, y]]], [[[[0.2, 0.1]]]])
    """
    x = input
    n = len(x.shape) - 2
    if (
        n not in (2, 3)
        or len(grid.shape) != n + 2
        or grid.shape[-1] != n
        or grid.shape[0] != x.shape[0]
        or not all(x.shape[1:])
    ):
        raise ShapeError(
            f"grid_sample: an array of shape {tuple(x.shape)} and a grid of shape "
            f"{tuple(grid.shape)} do not fit"
        )
    corners = bool(align_corners)
    lengths = tuple(x.shape[2:])
    points = reshape(grid, shape=(grid.shape[0], math.prod(grid.shape[1:-1]), n))
    taps = []  # along each axis, the places to read and their weights
    for i, length in enumerate(lengths):
        unit = getitem(points, index=(..., n - 1 - i)) + 1
        at = unit * ((length - 1) / 2) if corners else (unit * length - 1) / 2
        at = _within(at, length, padding_mode)
        taps.append([(rint(at), None)] if mode == "nearest" else _neighbours(at, False))
    terms = []
    for corner in itertools.product(*taps):
        weights = [
            reshape(weight, shape=(weight.shape[0], 1, weight.shape[1]))
            for _, weight in corner
            if weight is not None
        ]
        terms.append(reduce(mul, weights, _entries(x, [place for place, _ in corner])))
    return reshape(reduce(add, terms), shape=(*x.shape[:2], *grid.shape[1:-1]))


@function(backward="AffineGridGenerator")
def affine_grid(theta: Any, *, size: Any, align_corners: bool | None = None) -> Any:
    """The grid for grid_sample that an affine map gives.

    >>> F.affine_grid([[x, y]], (1, 1, 2, 2))
    """
    n = len(size) - 2 if isinstance(size, tuple) else 0
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1):
        raise ShapeError(
            f"affine_grid: matrices of shape {tuple(theta.shape)} do not fit the size {size}"
        )
    room_for(2, n + 1, *size[2:])
    lines = [
        np.linspace(-1, 1, m) * (1 if align_corners else (m - 1) / m) if m > 1 else np.zeros(1)
        for m in size[2:]
    ]
    base = np.stack(
        [*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], axis=-1
    ).reshape(-1, n + 1)
    return reshape(matmul(base, swapaxes(theta, axis1=1, axis2=2)), shape=(size[0], *size[2:], n))


for _n in (1, 2, 3):
    _convolutions(_n)
    _pooling(_n)
