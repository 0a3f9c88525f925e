"""Windows over the last axes of an array: what convolution, pooling and their like are made of.

A table says which entry each place of each window along one axis reads, -1 where that lies outside. Windows are read
by one table an axis; the transpose of reading adds every place back to the entry that it came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import ALL, StaticArray, getitem, reshape, scatter_add, transpose
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import function, room_for

Table = np.ndarray  # of shape (windows, places)

def each(name: str, what: str, value: Any, n: int, least: int = 0) -> tuple[int, ...]:
    """A number for each of n axes, from one for all of them or one each."""
    values = tuple(value) if isinstance(value, tuple) else (value,)
    values = values * n if len(values) == 1 else values
    if len(values) != n or not all(isinstance(v, int) and v >= least for v in values):
        raise ArgumentError(f"{name}: {what} must be a whole number of at least {least}, or {n} of them, not {value!r}")
    return values


def extent(length: int, size: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """How many windows fit; with ceil_mode, the last one may reach beyond the end if it begins before it."""
    room = length + 2 * padding - dilation * (size - 1) - 1
    windows = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    return windows - 1 if ceil_mode and (windows - 1) * stride >= length + padding else windows


def strided(length: int, windows: int, size: int, stride: int, before: int, dilation: int = 1) -> Table:
    """The table of evenly spaced windows, the first of which begins before the first entry."""
    room_for(3, windows, size)
    table = np.arange(windows)[:, None] * stride + np.arange(size) * dilation - before
    return np.where((table >= 0) & (table < length), table, -1)


def adaptive(length: int, windows: int) -> Table:
    """The table of windows that cover all entries, as evenly as whole numbers allow."""
    room_for(3, windows, max(1, -(-length // max(1, windows)) + 1))
    if not windows:
        return np.zeros((0, 1), int)
    first = np.arange(windows)[:, None] * length // windows
    last = -(-(np.arange(1, windows + 1)[:, None] * length) // windows)
    table = first + np.arange(max(1, (last - first).max(initial=0)))
    return np.where(table < last, table, -1)


def outer(parts: Sequence[np.ndarray], combine: np.ufunc) -> np.ndarray:
    """One array of the axes of all parts: the first axes of each, then the second ones."""
    room_for(*(n for part in parts for n in part.shape))
    joined = reduce(combine.outer, parts)
    if parts[0].ndim == 1:
        return np.asarray(joined)
    return np.transpose(joined, [*range(0, joined.ndim, 2), *range(1, joined.ndim, 2)])


def read(x: Any, tables: Sequence[Table], outside: float) -> Any:
    """The entries in windows over the last axes: axes of places, then axes of windows, in place of these."""
    n, lead = len(tables), len(x.shape) - len(tables)
    for i, table in enumerate(tables):
        x = getitem(x, index=(*(ALL,) * (lead + 2 * i), StaticArray(np.maximum(table.T, 0))))
    order = (*range(lead), *range(lead, lead + 2 * n, 2), *range(lead + 1, lead + 2 * n, 2))
    x = transpose(x, axes=order) if n > 1 else x
    inside = outer([table.T >= 0 for table in tables], np.logical_and)
    return x if inside.all() else where(inside, x, outside)


def add_up(places: Any, tables: Sequence[Table], shape: tuple[int, ...]) -> Any:
    """The transpose of reading windows that lie inside: an array whose last axes have this shape."""
    n = len(tables)
    lead = len(places.shape) - 2 * n
    order = (*range(lead), *(lead + i + n * part for i in range(n) for part in range(2)))
    x = transpose(places, axes=order) if n > 1 else places
    for i in reversed(range(n)):
        kept = x.shape[: lead + 2 * i]
        index = (*(ALL,) * len(kept), StaticArray(tables[i].T))
        x = scatter_add(x, index=index, shape=(*kept, shape[i], *x.shape[len(kept) + 2 :]))
    return x


def nested(entries: str, depth: int) -> str:
    """Text of an array of that many axes in which all axes but those of the entries have one entry, for examples."""
    return "[" * depth + entries + "]" * depth


def small_image(n: int) -> str:
    """Text of an image of n dimensions with one channel, for examples."""
    return nested("x" if n == 1 else "x, y", n)


def inner(x: Any, around: Sequence[int]) -> Any:
    """The last axes without their padding."""
    if not any(around):
        return x
    cut = tuple((p, n - p, None) for p, n in zip(around, x.shape[-len(around) :], strict=True))
    return getitem(x, index=(*(ALL,) * (len(x.shape) - len(around)), *cut))


def _sliding(name: str, lengths: Sequence[int], sizes: Any, dilation: Any, padding: Any, stride: Any) -> list[Table]:
    """Tables of windows over two padded axes."""
    sizes, steps = each(name, "kernel_size", sizes, 2, 1), each(name, "stride", stride, 2, 1)
    gaps, around = each(name, "dilation", dilation, 2, 1), each(name, "padding", padding, 2)
    tables = []
    for length, size, step, gap, pad in zip(lengths, sizes, steps, gaps, around, strict=True):
        windows = extent(length, size, step, pad, gap)
        if windows < 1:
            raise ShapeError(f"{name}: no window of size {sizes} fits into the axes {tuple(lengths)}")
        tables.append(strided(length, windows, size, step, pad, gap))
    return tables


@function(torch="x, kernel_size, dilation, padding, stride", backward="Im2Col")
def unfold(x: Any, *, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The entries in each window of images, one window a column.

    >>> F.unfold([[x, y]], 2)
    """
    if len(x.shape) not in (3, 4):
        raise ShapeError(f"unfold needs images of 3 or 4 axes, not the shape {tuple(x.shape)}")
    tables = _sliding("unfold", x.shape[-2:], kernel_size, dilation, padding, stride)
    windows, places = (math.prod(t.shape[i] for t in tables) for i in (0, 1))
    return reshape(read(x, tables, 0.0), shape=(*x.shape[:-3], x.shape[-3] * places, windows))


@function(backward="Col2Im")
def fold(x: Any, *, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images from the entries in windows, added up where windows overlap: the transpose of unfold.

    >>> F.fold([x, y], (1, 4), (1, 2))
    """
    lengths = each("fold", "output_size", output_size, 2, 1)
    tables = _sliding("fold", lengths, kernel_size, dilation, padding, stride)
    places, windows = (tuple(t.shape[i] for t in tables) for i in (1, 0))
    if len(x.shape) not in (2, 3) or x.shape[-2] % math.prod(places) or x.shape[-1] != math.prod(windows):
        raise ShapeError(f"fold: an array of shape {tuple(x.shape)} does not hold {math.prod(windows)} windows of {places}")
    lead = (*x.shape[:-2], x.shape[-2] // math.prod(places))
    # what the padding holds is added to one entry more, the last
    whole = add_up(reshape(x, shape=(*lead, *places, *windows)), tables, tuple(n + 1 for n in lengths))
    return getitem(whole, index=(..., *((0, n, None) for n in lengths)))
