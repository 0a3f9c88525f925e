"""Entries put, added and reduced into an array at indices: new arrays, nothing is changed in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import add_along, extreme_along, sources_along, take_along
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.repeating_and_padding import rows_of
from gradcli.ops.arrays.reshaping import at_least_1d, common_shape, inverse, permuted
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape, scatter_add
from gradcli.ops.axes import numbered, numpy_index
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import remainder
from gradcli.ops.elementwise.bounds import clip
from gradcli.ops.elementwise.logic import equal, greater, where
from gradcli.ops.facts import Function, Kink
from gradcli.ops.reductions.sums import prod
from gradcli.ops.registry import composite, function, is_number
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.structure import to_int
from gradcli.ops.writing import Shape, one_axis

# -- Entries chosen by indices, along an axis or among all of them ---------------------------------


INDEX = frozenset({"index"})


def spread_index(index: Any, shape: Shape, axis: int) -> Any:
    """The index of rows along an axis as an index for each entry of these rows."""
    index = reshape(index, shape=(-1,))
    if len(shape) < 2:
        return index
    n = index.shape[0]
    along = reshape(index, shape=tuple(n if a == axis else 1 for a in range(len(shape))))
    return broadcast_to(along, shape=(*shape[:axis], n, *shape[axis + 1 :]))


def _index_select(x: Any, axis: int, index: Any) -> Any:
    if len(index.shape) > 1:
        raise ShapeError(f"index_select: the index must be a vector, not of shape {tuple(index.shape)}")
    rows, place = at_least_1d(x), one_axis(axis, max(1, len(x.shape)))
    taken = take_along(rows, spread_index(index, rows.shape, place), axis=place)
    return taken if x.shape else reshape(taken, shape=())


def _fitting(index: Any, n: int, mode: str) -> Any:
    """Indices beyond the end as np.take's mode has them."""
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"take: the mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    if mode == "raise":
        return index
    return to_int(remainder(index, n) if mode == "wrap" else clip(index, 0, n - 1))


def _take(x: Any, index: Any, axis: int | None, mode: str) -> Any:
    place = 0 if axis is None else one_axis(axis, len(x.shape))
    if axis is None or not x.shape:
        x = reshape(x, shape=(-1,))
    flat = _fitting(reshape(index, shape=(-1,)), x.shape[place], mode)
    taken = take_along(x, spread_index(flat, x.shape, place), axis=place)
    return reshape(taken, shape=(*x.shape[:place], *index.shape, *x.shape[place + 1 :]))


def _gather(x: Any, axis: int, index: Any) -> Any:
    if max(1, len(x.shape)) != max(1, len(index.shape)):
        raise ShapeError(f"gather: x has {len(x.shape)} axes and the index {len(index.shape)}")
    taken = take_along(at_least_1d(x), at_least_1d(index), axis=one_axis(axis, max(1, len(x.shape))))
    return reshape(taken, shape=tuple(index.shape))


def _of_index(body: Function) -> Function:
    """A body whose axis, as PyTorch has it, comes before the index."""
    return lambda x, index, axis: body(x, axis, index)


composite(
    "index_select", "x index", _of_index(_index_select), static={"axis": REQUIRED}, indices=INDEX,
    doc="The rows at indices along an axis.", examples=("index_select(x, 0, [0, 0])",),
)  # fmt: skip
take = composite(
    "take", "x index", _take, static={"axis": None, "mode": "raise"}, indices=INDEX,
    doc="The entries at indices among all of them, or the rows along an axis.", examples=("take(x, [0, 2])",),
)  # fmt: skip
gather = composite(
    "gather", "x index", _of_index(_gather), static={"axis": REQUIRED}, indices=INDEX,
    doc="The entries at indices along an axis, an index for each entry of the result: out[i, j] = x[index[i, j], j] along axis 0.",
    examples=("gather(x, 0, [0])",),
)  # fmt: skip


@function(numpy="x, index|indices, axis", indices=INDEX, backward="Gather")
def take_along_dim(x: Any, index: Any, *, axis: int | None = None) -> Any:
    """The entries at indices along an axis, for each of the others; x and the index broadcast."""
    if axis is None:
        return take_along(reshape(x, shape=(-1,)), reshape(index, shape=(-1,)), axis=0)
    if len(x.shape) != len(index.shape):
        raise ShapeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(x.shape)} dimensions for input, and {len(index.shape)} dimensions for indices"
        )
    if not x.shape:
        return _gather(x, axis, index)
    place = one_axis(axis, len(x.shape))
    try:
        common = np.broadcast_shapes(*((*v.shape[:place], 1, *v.shape[place + 1 :]) for v in (x, index)))
    except ValueError:
        raise ShapeError(f"take_along_dim: shapes {tuple(x.shape)} and {tuple(index.shape)} do not fit along axis {axis}") from None
    values, indices = (broadcast_to(v, shape=(*common[:place], v.shape[place], *common[place + 1 :])) for v in (x, index))
    return take_along(values, indices, axis=place)


def mask_of(mask: Any) -> np.ndarray:
    """A mask that is part of the program, as truth values."""
    return np.asarray(mask.array if isinstance(mask, StaticArray) else mask).astype(bool)


def _compress(x: Any, mask: Any, axis: int | None) -> Any:
    x, place = (reshape(x, shape=(-1,)), 0) if axis is None else (x, one_axis(axis, len(x.shape)))
    chosen = mask_of(mask)
    if chosen.ndim != 1 or not x.shape or chosen[x.shape[place] :].any():
        raise ShapeError(f"compress: a condition of shape {chosen.shape} does not fit an array of shape {tuple(x.shape)}")
    return rows_of(x, np.flatnonzero(chosen), place)


def _rearranged(function: Function, x: Any, of: Any = None) -> Any:
    """Return what NumPy does with entries when it moves them, by doing it with their numbers."""
    room_for(*x.shape)
    places = np.arange(math.prod(x.shape)).reshape(x.shape)
    try:
        moved = function(places)
    except (ValueError, IndexError, TypeError) as error:
        raise ShapeError(str(error)) from None
    return getitem(reshape(x, shape=(-1,)) if of is None else of, index=(StaticArray(np.asarray(moved)),))


def _delete(x: Any, where: Any, axis: int | None) -> Any:
    return _rearranged(lambda places: np.delete(places, np.asarray(where), axis), x)


@function(examples=("masked_select(x, x > 0)",))
def masked_select(x: Any, *, mask: Any) -> Any:
    """The entries where a mask holds, along one axis; x and the mask broadcast."""
    chosen = mask_of(mask)
    shape = common_shape(x, chosen)
    places = np.flatnonzero(np.broadcast_to(chosen, shape))
    return rows_of(reshape(x if x.shape == shape else broadcast_to(x, shape=shape), shape=(-1,)), places, 0)


composite(
    "compress", "x", _compress, static={"mask": REQUIRED, "axis": None}, doc="The rows along an axis where a condition holds.",
)  # fmt: skip


@function(numpy="mask|condition, x|arr")
def extract(x: Any, *, mask: Any) -> Any:
    """The entries where a condition holds, along one axis."""
    return _compress(x, mask_of(mask).ravel(), None)


composite("delete", "x", _delete, static={"where": REQUIRED, "axis": None}, doc="The array without the rows at indices along an axis.")


@function(numpy="x|arr, where|obj, y|values, axis")
def insert(x: Any, y: Any, *, where: Any, axis: int | None = None) -> Any:
    """The array with y put in before the indices along an axis."""
    numbers = np.arange(math.prod(y.shape)).reshape(y.shape) + math.prod(x.shape)
    joined = concatenate(reshape(x, shape=(-1,)), reshape(y, shape=(-1,)), axis=0)
    return _rearranged(lambda places: np.insert(places, np.asarray(where), numbers, axis), x, of=joined)


@function(numpy="x, shape|new_shape")
def resize(x: Any, *, shape: Shape) -> Any:
    """An array of a shape, filled with the entries of x over and over."""
    room_for(*shape)
    return _rearranged(lambda places: np.resize(places, shape), x)


declare(
    NUMPY,
    take=signature("take", "x|a, index|indices, axis, -out, mode"),
    take_along_axis=signature("take_along_dim", "x|arr, index|indices, axis", axis=-1),
    gather=signature("gather", "x, axis, index, -sparse_grad"),
    index_select=signature("index_select", "x, axis, index"),
    compress=signature("compress", "mask|condition, x|a, axis, -out"),
    **{"ndarray.compress": signature("compress", "x, mask|condition, axis, -out")},
    delete=signature("delete", "x|arr, where|obj, axis"),
)
declare(TORCH, take=signature("take", "x, index"))


REDUCTIONS = ("sum", "prod", "mean", "amin", "amax")


def mixed(x: Any, source: Any, places: np.ndarray) -> Any:
    """The entries of x and then of source, at constant places among all of these."""
    if not source.shape or 0 not in source.shape:
        x = concatenate(reshape(x, shape=(-1,)), reshape(source, shape=(-1,)), axis=0)
    return getitem(reshape(x, shape=(-1,)), index=(StaticArray(places),))


def _part(x: Any, shape: Shape) -> Any:
    """The leading part of an array."""
    return x if tuple(x.shape) == shape else getitem(x, index=tuple((0, n, None) for n in shape))


def _scattering(body: Function) -> Function:
    """A function of x, a source and an index of as many axes, along an axis: numbers are vectors of one entry to it."""

    def run(x: Any, index: Any, source: Any, axis: int, **static: Any) -> Any:
        rows, places = at_least_1d(x), at_least_1d(index)
        place = one_axis(axis, len(rows.shape))
        given = source if source.shape else broadcast_to(source, shape=tuple(places.shape))
        lengths = {len(rows.shape), len(places.shape), len(given.shape)}
        shapes = f"{tuple(x.shape)}, {tuple(index.shape)} and {tuple(source.shape)}"
        if len(lengths) > 1:
            raise ShapeError(f"x, the index and the source must have equally many axes, not the shapes {shapes}")
        for a, (n, i, s) in enumerate(zip(rows.shape, places.shape, given.shape, strict=True)):
            if i > s or (a != place and i > n):
                raise ShapeError(f"the index reaches beyond x or the source: shapes {shapes}")
        return reshape(body(rows, places, _part(given, tuple(places.shape)), place, **static), shape=tuple(x.shape))

    return run


def _rows(body: Function, name: str) -> Function:
    """The same where the index is that of rows along the axis."""

    def run(x: Any, index: Any, source: Any, axis: int, **static: Any) -> Any:
        rows = at_least_1d(x)
        place = one_axis(axis, len(rows.shape))
        if len(index.shape) > 1:
            raise ShapeError(f"{name}: the index must be a vector, not of shape {tuple(index.shape)}")
        wanted = (*rows.shape[:place], *(index.shape or (1,)), *rows.shape[place + 1 :])
        given = reshape(source, shape=(1,)) if not source.shape and math.prod(wanted) == 1 else source
        if tuple(given.shape) != wanted:
            raise ShapeError(f"{name}: the source has the shape {tuple(source.shape)}, not {wanted}")
        return reshape(body(rows, spread_index(index, rows.shape, place), given, place, **static), shape=tuple(x.shape))

    return run


def _added(x: Any, index: Any, source: Any, axis: int, alpha: float = 1) -> Any:
    return x + add_along(source if is_number(alpha) and alpha == 1 else source * alpha, index, axis=axis, shape=tuple(x.shape))


def _replaced(x: Any, index: Any, source: Any, axis: int) -> Any:
    joined = concatenate(reshape(x, shape=(-1,)), reshape(source, shape=(-1,)), axis=0)
    places = sources_along(index, axis=axis, shape=tuple(x.shape))
    return reshape(take_along(joined, reshape(places, shape=(-1,)), axis=0), shape=tuple(x.shape))


def _product(x: Any, index: Any, source: Any, axis: int) -> Any:
    """x times, at each place, the product of the sources put there: along the last axis of a table with ones for the others."""
    n, reach = x.shape[axis], tuple(x.shape[a] if a == axis else k for a, k in enumerate(index.shape))
    last = (*(a for a in range(len(reach)) if a != axis), axis)
    lined = [permuted(v, last) for v in (index, source)]
    index, source = (reshape(v, shape=(*v.shape[:-1], 1, v.shape[-1])) for v in lined)
    factors = prod(where(equal(index, np.arange(n)[:, None]), source, 1.0), axis=-1)
    product = _part(x, reach) * permuted(factors, inverse(last))
    if reach == tuple(x.shape):
        return product
    places = numbered(x.shape)
    places[tuple(slice(k) for k in reach)] = numbered(reach, places.size)
    return mixed(x, product, places)


def _reduced(x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool) -> Any:
    if reduce not in REDUCTIONS:
        raise ArgumentError(f"reduce must be one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    if reduce in ("amin", "amax"):
        return extreme_along(x, source, index, axis=axis, largest=reduce == "amax", include_self=include_self)
    count = add_along(np.ones(index.shape), index, axis=axis, shape=tuple(x.shape))
    start = x if include_self else where(greater(count, 0), 1.0 if reduce == "prod" else 0.0, x)
    if reduce == "prod":
        return _product(start, index, source, axis)
    total = _added(start, index, source, axis)
    if reduce == "sum":
        return total
    return total / (count + 1.0 if include_self else where(greater(count, 0), count, 1.0))


def _scatter(x: Any, index: Any, source: Any, axis: int, reduce: str | None) -> Any:
    if reduce not in (None, "add", "multiply"):
        raise ArgumentError(f"scatter: reduce must be 'add' or 'multiply', not {reduce!r}")
    if reduce is None:
        return _replaced(x, index, source, axis)
    return _added(x, index, source, axis) if reduce == "add" else _product(x, index, source, axis)


def _put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    if math.prod(index.shape) != math.prod(source.shape):
        raise ShapeError(f"put: the index has the shape {tuple(index.shape)}, the source {tuple(source.shape)}")
    flat, places, given = (reshape(v, shape=(-1,)) for v in (x, index, source))
    return reshape((_added if accumulate else _replaced)(flat, places, given, 0), shape=tuple(x.shape))


def _index_put(x: Any, values: Any, indices: Any, accumulate: bool) -> Any:
    parts = indices if isinstance(indices, tuple) else (indices,)
    index = tuple(StaticArray(np.array(part)) if isinstance(part, tuple) else part for part in parts)
    places = numbered(x.shape)
    try:
        shape = places[numpy_index(index)].shape
        fitting = broadcast_to(values, shape=shape)
    except IndexError as error:
        raise ShapeError(f"index_put: {error}") from None
    if accumulate:
        return x + scatter_add(fitting, index=index, shape=tuple(x.shape))
    places[numpy_index(index)] = numbered(shape, places.size)
    return mixed(x, fitting, places)


_TIES = (Kink(lambda *_: False, "several largest or smallest entries", "shared evenly among them"),)
_AXIS = {"axis": REQUIRED}
_REDUCE = {**_AXIS, "reduce": REQUIRED, "include_self": True}

composite(
    "scatter", "x index source", _scattering(_scatter), static={**_AXIS, "reduce": None}, indices=INDEX,
    doc="x with the entries of source (or one number) put to indices along an axis: out[index[i, j], j] = source[i, j] along axis 0. "
    "Of several entries put to one place the last one is taken, and has the whole gradient.",
)  # fmt: skip
composite(
    "torch_scatter_add", "x index source", _scattering(_added), static=_AXIS, indices=INDEX, public=False,
    doc="x with the entries of source added at indices along an axis: out[index[i, j], j] += source[i, j] along axis 0.",
)  # fmt: skip
composite(
    "scatter_reduce", "x index source", _scattering(_reduced), static=_REDUCE, indices=INDEX, kinks=_TIES,
    doc="The sum, product, mean, smallest or largest of what is put to each place along an axis, with the entry of x or without it: "
    "then the entry has no part in a tie.",
)  # fmt: skip
composite(
    "index_add", "x index source", _rows(_added, "index_add"), static={**_AXIS, "alpha": 1}, scalars="alpha", indices=INDEX,
    doc="x with alpha times the rows of source added at indices along an axis.",
)  # fmt: skip
composite(
    "index_copy", "x index source", _rows(_replaced, "index_copy"), static=_AXIS, indices=INDEX,
    doc="x with the rows of source put to indices along an axis.",
)  # fmt: skip
composite(
    "index_reduce", "x index source", _rows(_reduced, "index_reduce"), static=_REDUCE, indices=INDEX, kinks=_TIES,
    doc="The product, mean, smallest or largest of the rows put to each place along an axis, with that of x or without it.",
)  # fmt: skip


@function(numpy="x, axis, index, value", indices=INDEX)
def index_fill(x: Any, index: Any, value: Any, *, axis: int) -> Any:
    """x with one value in the rows at indices along an axis."""
    if value.shape:
        raise ShapeError(f"index_fill takes one number, not an array of shape {tuple(value.shape)}")
    rows = at_least_1d(x)
    place = one_axis(axis, len(rows.shape))
    index = reshape(index, shape=(-1,))
    hit = greater(add_along(np.ones(index.shape), index, axis=0, shape=(rows.shape[place],)), 0)
    along = reshape(hit, shape=tuple(-1 if a == place else 1 for a in range(len(rows.shape))))
    return reshape(where(along, value, rows), shape=tuple(x.shape))


composite(
    "put", "x index source", _put, static={"accumulate": False}, indices=INDEX,
    doc="x with entries put to (or added at) indices among all entries.",
)  # fmt: skip
composite(
    "index_put", "x values", _index_put, static={"indices": REQUIRED, "accumulate": False},
    doc="x with values put to (or added at) x[indices].", examples=("index_put(x, ([0, 2],), [1, 2])",),
)  # fmt: skip

_SOURCE = "x, axis, index, source|src"
declare(
    NUMPY,
    scatter=signature("scatter", "x, axis, index, source|src|value, *, reduce"),
    scatter_add=signature("torch_scatter_add", _SOURCE),
    scatter_reduce=signature("scatter_reduce", f"{_SOURCE}, reduce, *, include_self"),
    index_reduce=signature("index_reduce", f"{_SOURCE}, reduce, *, include_self"),
    index_add=signature("index_add", f"{_SOURCE}, *, alpha"),
    index_copy=signature("index_copy", _SOURCE),
    put=signature("put", "x, index, source, accumulate"),
    index_put=signature("index_put", "x, indices, values, accumulate"),
)
