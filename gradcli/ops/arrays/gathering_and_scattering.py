"""Entries chosen by indices and masks, and put, added and reduced into an array there.

The results are new arrays; nothing is changed in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate, enlarge, flat_join, mix
from gradcli.ops.arrays.reshaping import (
    at_least_1d,
    axes_last,
    common_shape,
    diagonal_index,
    inverse,
    matrices_last,
    one_number,
    permute,
)
from gradcli.ops.arrays.shapes import (
    ALL,
    StaticArray,
    add_along,
    broadcast_to,
    getitem,
    indexed_shape,
    laid_along,
    part_of,
    reshape,
    rows_of,
    scatter_add,
    shape_with,
    take_along,
    vector_of,
)
from gradcli.ops.axes import entry_numbers, numpy_index
from gradcli.ops.elementwise.logic import equal, greater, maximum, not_equal, where
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.order import argsort
from gradcli.ops.reductions.sums import is_truth, max_, min_, prod
from gradcli.ops.registry import (
    Arrays,
    Function,
    Index,
    Number,
    Op,
    Shape,
    declare,
    function,
    is_number,
    noted_kink,
    one_axis,
)
from gradcli.ops.structure import to_int

# -- Entries chosen by indices, along an axis or among all of them --------------------------------


def spread_index(index: Any, shape: Shape, axis: int) -> Any:
    """Return the index of rows along an axis as an index for each entry of these rows."""
    index = vector_of(index)
    if len(shape) < 2:
        return index
    return broadcast_to(
        laid_along(index, axis, shape), shape=shape_with(shape, axis, *index.shape)
    )


@function(
    numpy="x|a, index|indices, axis, -out, -mode", torch="x, index"
)
def take(x: Any, index: Index, *, axis: int | None = None) -> Any:
    """The entries at indices among all of them, or the rows along an axis.

    >>> take(x, [0, 2])
    """
    place = 0 if axis is None else one_axis(axis, x.shape)
    if axis is None or not x.shape:
        x = vector_of(x)
    taken = take_along(x, spread_index(index, x.shape, place), axis=place)
    return reshape(taken, shape=shape_with(x.shape, place, *index.shape))


@function(numpy="x, axis, index")
def index_select(x: Any, index: Index, *, axis: int) -> Any:
    """The rows at indices along an axis.

    >>> index_select(x, 0, [0, 0])
    """
    if len(index.shape) > 1:
        raise ShapeError(
            f"index_select: the index must be a vector, not of shape {tuple(index.shape)}"
        )
    taken = take(at_least_1d(x), at_least_1d(index), axis=axis)
    return taken if x.shape else reshape(taken, shape=())


@function(numpy="x, axis, index, -sparse_grad")
def gather(x: Any, index: Index, *, axis: int) -> Any:
    """The entries at indices along an axis, an index for each entry of the result: out[i, j] = x[index[i, j], j] along axis 0.

    >>> gather(x, 0, [0])
    """
    rows, places = at_least_1d(x), at_least_1d(index)
    return reshape(
        take_along(rows, places, axis=one_axis(axis, rows.shape)), shape=tuple(index.shape)
    )


@function(numpy="x, index|indices, axis", backward="Gather")
def take_along_dim(x: Any, index: Index, *, axis: int | None = None) -> Any:
    """The entries at indices along an axis, for each of the others; x and the index broadcast."""
    if axis is None:
        return take_along(vector_of(x), vector_of(index), axis=0)
    if len(x.shape) != len(index.shape):
        raise ShapeError(
            f"take_along_dim: x has {len(x.shape)} axes and the index {len(index.shape)}"
        )
    if not x.shape:
        return gather(x, index, axis=axis)
    place = one_axis(axis, x.shape)
    common = common_shape(*(part_of(v, place, 0, 1) for v in (x, index)))
    values, indices = (
        broadcast_to(v, shape=shape_with(common, place, v.shape[place])) for v in (x, index)
    )
    return take_along(values, indices, axis=place)


# -- Entries chosen by masks and places that are part of the program -----------------------------


def mask_of(mask: Any) -> np.ndarray:
    """Return a mask that is part of the program, as truth values."""
    return np.asarray(getattr(mask, "array", mask)).astype(bool)


@function(numpy="mask|condition, x|a, axis, -out")
def compress(x: Any, *, mask: Any, axis: int | None = None) -> Any:
    """The rows along an axis where a condition holds."""
    x, place = (vector_of(x), 0) if axis is None else (x, one_axis(axis, x.shape))
    chosen = mask_of(mask) if axis is not None else mask_of(mask).ravel()
    if chosen.ndim != 1 or not x.shape or chosen[x.shape[place] :].any():
        raise ShapeError(
            f"compress: a condition of shape {chosen.shape} does not fit an array of shape "
            f"{tuple(x.shape)}"
        )
    return rows_of(x, np.flatnonzero(chosen), place)


@function()
def masked_select(x: Any, *, mask: Any) -> Any:
    """The entries where a mask holds, along one axis; x and the mask broadcast.

    >>> masked_select(x, x > 0)
    """
    chosen = mask_of(mask)
    shape = common_shape(x, chosen)
    return compress(broadcast_to(x, shape=shape), mask=np.broadcast_to(chosen, shape))


# -- Entries put to, added to and reduced at indices along an axis -------------------------------


_TIES = (noted_kink("several largest or smallest entries", "shared evenly among them"),)


def _part(x: Any, shape: Shape) -> Any:
    """Return the leading part of an array."""
    return x if x.shape == shape else getitem(x, index=tuple((0, n, None) for n in shape))


def _at_entries(put: Function, x: Any, index: Any, source: Any, axis: int, **static: Any) -> Any:
    """Put a source (or a number) into x at an index of as many axes.

    Numbers count as vectors of one entry.
    """
    rows, places = at_least_1d(x), at_least_1d(index)
    place = one_axis(axis, rows.shape)
    given = source if source.shape else broadcast_to(source, shape=tuple(places.shape))
    shapes = f"{tuple(x.shape)}, {tuple(index.shape)} and {tuple(source.shape)}"
    if not len(rows.shape) == len(places.shape) == len(given.shape):
        raise ShapeError(
            f"x, the index and the source must have equally many axes, not the shapes {shapes}"
        )
    for a, (n, i, s) in enumerate(zip(rows.shape, places.shape, given.shape, strict=True)):
        if i > s or (a != place and i > n):
            raise ShapeError(f"the index reaches beyond x or the source: shapes {shapes}")
    return reshape(
        put(rows, places, _part(given, places.shape), place, **static), shape=tuple(x.shape)
    )


def _at_rows(
    name: str, put: Function, x: Any, index: Any, source: Any, axis: int, **static: Any
) -> Any:
    """Put a source into x at an index of rows along the axis."""
    rows, given = at_least_1d(x), at_least_1d(source)
    place = one_axis(axis, rows.shape)
    if len(index.shape) > 1:
        raise ShapeError(f"{name}: the index must be a vector, not of shape {tuple(index.shape)}")
    places = spread_index(index, rows.shape, place)
    if given.shape != places.shape:
        raise ShapeError(
            f"{name}: the source has the shape {tuple(source.shape)}, not {tuple(places.shape)}"
        )
    return _at_entries(put, x, places, given, place, **static)


def _sum(x: Any, index: Any, source: Any, axis: int, alpha: float = 1) -> Any:
    return x + add_along(
        source if is_number(alpha) and alpha == 1 else source * alpha,
        index,
        axis=axis,
        shape=tuple(x.shape),
    )


def _count_from_front(index: Any, n: int) -> Any:
    """Return an index counted from the front.

    Raises IndexError beyond either end.
    """
    return to_int(
        reshape(take_along(np.arange(n), vector_of(index), axis=0), shape=tuple(index.shape))
    )


def _copy(x: Any, index: Any, source: Any, axis: int) -> Any:
    """Put the source into x at the index.

    If several entries are put to one place, it gets the last one, which is the end of a run of
    equal indices in their order.
    """
    if 0 in index.shape:
        return x
    shape = tuple(x.shape)
    index = _count_from_front(index, x.shape[axis])
    order = argsort(index, axis=axis)
    ordered = take_along(index, order, axis=axis)
    ends = not_equal(part_of(ordered, axis, 1, None), part_of(ordered, axis, None, -1))
    end = np.ones(shape_with(index.shape, axis, 1), int)
    last = add_along(
        concatenate(where(ends, 1, 0), end, axis=axis), order, axis=axis, shape=tuple(index.shape)
    )
    number, reached = (
        add_along(part, index, axis=axis, shape=shape)
        for part in (last * entry_numbers(index.shape, math.prod(shape)), last)
    )
    places = to_int(where(greater(reached, 0), number, entry_numbers(shape)))
    return reshape(take_along(flat_join(x, source), vector_of(places), axis=0), shape=shape)


def _together(reduce: Op, unit: float, x: Any, index: Any, source: Any, axis: int) -> Any:
    """Reduce each entry of x together with the entries put to its place.

    These are the rows of a table, with a unit where entries are put elsewhere.
    """
    last = axes_last(index.shape, (axis,))
    x, index, source = (permute(v, last) for v in (x, index, source))
    *lead, k = index.shape
    index, source = (reshape(v, shape=(*lead, 1, k)) for v in (index, source))
    put = where(
        equal(_count_from_front(index, x.shape[-1]), np.arange(x.shape[-1])[:, None]), source, unit
    )
    widths = tuple((0, whole - part) for whole, part in zip(x.shape, put.shape[:-1], strict=True))
    table = concatenate(
        reshape(x, shape=(*x.shape, 1)), enlarge(put, (*widths, (0, 0)), unit), axis=-1
    )
    return permute(reduce(table, axis=-1), inverse(last))


_UNITS = {"sum": 0.0, "prod": 1.0, "mean": 0.0, "amin": math.inf, "amax": -math.inf}


def _reduction(x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool) -> Any:
    if reduce not in _UNITS:
        raise ArgumentError(f"reduce must be one of {', '.join(_UNITS)}, not {reduce!r}")
    count = add_along(np.ones(index.shape), index, axis=axis, shape=tuple(x.shape))
    start = x if include_self else where(greater(count, 0), _UNITS[reduce], x)
    if reduce in ("prod", "amin", "amax"):
        return _together(
            {"prod": prod, "amin": min_, "amax": max_}[reduce],
            _UNITS[reduce],
            start,
            index,
            source,
            axis,
        )
    total = _sum(start, index, source, axis)
    if reduce == "sum":
        return total
    return total / (count + 1.0 if include_self else where(greater(count, 0), count, 1.0))


@function(numpy="x, axis, index, source|src|value, *, -reduce")
def scatter(x: Any, index: Index, source: Any, *, axis: int) -> Any:
    """x with the entries of source (or one number) put to indices along an axis: out[index[i, j],
    j] = source[i, j] along axis 0. Of several entries put to one place the last one is taken, and
    has the whole gradient.
    """
    return _at_entries(_copy, x, index, source, axis)


_SOURCE = "x, axis, index, source|src"


@function()
def torch_scatter_add(x: Any, index: Index, source: Any, *, axis: int) -> Any:
    """x with the entries of source added at indices along an axis: out[index[i, j], j] += source[i,
    j] along axis 0.
    """
    return _at_entries(_sum, x, index, source, axis)


@function(numpy=f"{_SOURCE}, reduce, *, include_self", kinks=_TIES)
def scatter_reduce(
    x: Any, index: Index, source: Any, *, axis: int, reduce: str, include_self: bool = True
) -> Any:
    """The sum, product, mean, smallest or largest of what is put to each place along an axis, with
    the entry of x or without it: then the entry has no part in a tie.
    """
    return _at_entries(_reduction, x, index, source, axis, reduce=reduce, include_self=include_self)


@function(numpy=f"{_SOURCE}, *, alpha")
def index_add(x: Any, index: Index, source: Any, *, axis: int, alpha: Number = 1) -> Any:
    """x with alpha times the rows of source added at indices along an axis."""
    return _at_rows("index_add", _sum, x, index, source, axis, alpha=alpha)


@function(numpy=_SOURCE)
def index_copy(x: Any, index: Index, source: Any, *, axis: int) -> Any:
    """x with the rows of source put to indices along an axis."""
    return _at_rows("index_copy", _copy, x, index, source, axis)


@function(numpy=f"{_SOURCE}, reduce, *, include_self", kinks=_TIES)
def index_reduce(
    x: Any, index: Index, source: Any, *, axis: int, reduce: str, include_self: bool = True
) -> Any:
    """The product, mean, smallest or largest of the rows put to each place along an axis, with that
    of x or without it.
    """
    ways = {"reduce": reduce, "include_self": include_self}
    return _at_rows("index_reduce", _reduction, x, index, source, axis, **ways)


@function(numpy="x, index, source, accumulate")
def put(x: Any, index: Index, source: Any, *, accumulate: bool = False) -> Any:
    """x with entries put to (or added at) indices among all entries.

    >>> put(x, index, source, accumulate=True)
    """
    if math.prod(index.shape) != math.prod(source.shape):
        shapes = f"{tuple(index.shape)}, the source {tuple(source.shape)}"
        raise ShapeError(f"put: the index has the shape {shapes}")
    flat, places, given = (vector_of(v) for v in (x, index, source))
    return reshape((_sum if accumulate else _copy)(flat, places, given, 0), shape=tuple(x.shape))


@function(numpy="x, axis, index, value")
def index_fill(x: Any, index: Index, value: Any, *, axis: int) -> Any:
    """x with one value in the rows at indices along an axis."""
    rows = spread_index(index, at_least_1d(x).shape, one_axis(axis, x.shape))
    return index_copy(
        x, index, broadcast_to(one_number("index_fill", value), shape=rows.shape), axis=axis
    )


def _overwrite(base: Any, new: Any, index: Any) -> Any:
    whole = np.array(base)
    whole[numpy_index(index)] = new
    return whole


def _outside(cotangent: Any, out: Any, base: Any, new: Any, index: Any) -> Any:
    return overwrite(cotangent, 0.0, index=index)


@function(
    vjp=(
        _outside,
        lambda cotangent, out, base, new, index: getitem(cotangent, index=index),
    ),
    forward=_overwrite, shape=lambda base, new, index: base, ulps=0, parts=None, dtype="float", public=False,
    backward="IndexPut",
)
def overwrite(base: Any, new: Any, *, index: Any = ()) -> Any:
    """The base with new entries at an index."""
    places = entry_numbers(base.shape)
    region = indexed_shape(base.shape, index=index)
    places[numpy_index(index)] = entry_numbers(region, places.size)
    return mix(base, broadcast_to(new, shape=region), places)


def _replace(x: Any, source: Any, index: tuple[Any, ...]) -> Any:
    """Replace x[index] by a source of its shape.

    If several entries are put to one place, the last one has the whole gradient.
    """
    wanted = indexed_shape(x.shape, index=index)
    if wanted != source.shape:
        raise ShapeError(f"the source has the shape {tuple(source.shape)}, not {wanted}")
    return overwrite.definition(x, source, index=index)


@function(numpy="x, source|src, axis, index")
def select_scatter(x: Any, source: Any, *, axis: int, index: int) -> Any:
    """x with the entries of source at one place along an axis."""
    return _replace(x, source, (*(ALL,) * one_axis(axis, x.shape), index))


@function(numpy="x, source|src, axis, start, stop|end, step")
def slice_scatter(
    x: Any,
    source: Any,
    *,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> Any:
    """x with the entries of source in a slice along an axis."""
    if step < 1:
        raise ArgumentError(f"slice_scatter: the step must be at least 1, not {step}")
    return _replace(x, source, (*(ALL,) * one_axis(axis, x.shape), (start, stop, step)))


@function(numpy="x, source|src, offset, axis1|dim1, axis2|dim2")
def diagonal_scatter(
    x: Any, source: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    """x with the entries of source on a diagonal of matrices along two axes."""
    order = matrices_last(x.shape, axis1, axis2)
    moved = permute(x, order)
    return permute(_replace(moved, source, diagonal_index(moved.shape, offset)), inverse(order))


@function(numpy="x, indices, values, accumulate")
def index_put(x: Any, values: Any, *, indices: Any, accumulate: bool = False) -> Any:
    """x with values put to (or added at) x[indices].

    >>> index_put(x, ([0, 2],), [1, 2])
    """
    parts = indices if isinstance(indices, tuple) else (indices,)
    index = tuple(
        StaticArray(np.array(part)) if isinstance(part, tuple) else part for part in parts
    )
    given = broadcast_to(values, shape=indexed_shape(x.shape, index=index))
    if accumulate:
        return x + scatter_add(given, index=index, shape=tuple(x.shape))
    return _replace(x, given, index)


# -- Entries replaced by masks, and parts of an array replaced by another --------------------------


@function()
def torch_where(condition: Any, x: Any, y: Any) -> Any:
    """torch.where: x where the condition holds, y elsewhere; also in the order of
    x.where(condition, y).
    """
    if is_truth(x) and not is_truth(condition):
        condition, x = x, condition  # x.where(condition, y)
    return where(condition, x, y)


@function()
def numpy_select(conditions: Arrays, choices: Arrays, default: Any = None) -> Any:
    """np.select: of several arrays the first whose condition holds; the default where none does."""
    if not conditions or len(conditions) != len(choices):
        raise ShapeError("select needs as many conditions as choices")
    out = 0.0 if default is None else default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = where(condition, choice, out)
    return out


@function(numpy="x, mask, value")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with one value where a mask holds."""
    return where(mask, one_number("masked_fill", value), x)


@function(numpy="x, mask, source")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with the entries of source, in order, where a mask holds."""
    shape = common_shape(x, mask)
    chosen = broadcast_to(mask, shape=shape)
    if 0 in shape or 0 in source.shape:
        return broadcast_to(x, shape=shape)
    count = cumsum(where(vector_of(chosen), 1.0, 0.0), axis=0)
    taken = take_along(vector_of(source), to_int(maximum(count - 1, 0)), axis=0)
    return where(chosen, reshape(taken, shape=shape), x)


declare(f"""
    numpy:
        take_along_axis = take_along_dim(x|arr, index|indices, axis=-1)
        ndarray.compress = compress(x, mask|condition, axis, -out)
        extract = compress(mask|condition, x|arr)
        scatter_add = torch_scatter_add({_SOURCE})
        select = numpy_select(conditions|condlist, choices|choicelist, default)
    torch:
        where = torch_where(condition, x|input|self, y|other)
        select(x, axis, index)
""")
