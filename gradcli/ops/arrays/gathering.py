"""Entries chosen by indices, along an axis or among all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.repeating import rows_of
from gradcli.ops.arrays.reshaping import at_least_1d, common_shape
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import remainder
from gradcli.ops.elementwise.bounds import clip
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.structure import to_int
from gradcli.ops.writing import Shape, one_axis

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


def _take_along_dim(x: Any, index: Any, axis: int | None) -> Any:
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
composite(
    "take_along_dim", "x index", _take_along_dim, static={"axis": None}, indices=INDEX, backward="Gather",
    doc="The entries at indices along an axis, for each of the others; x and the index broadcast.",
)  # fmt: skip


def mask_of(mask: Any) -> np.ndarray:
    """A mask that is part of the program, as truth values."""
    return np.asarray(mask.array if isinstance(mask, StaticArray) else mask).astype(bool)


def _masked_select(x: Any, mask: Any) -> Any:
    chosen = mask_of(mask)
    shape = common_shape(x, chosen)
    places = np.flatnonzero(np.broadcast_to(chosen, shape))
    return rows_of(reshape(x if x.shape == shape else broadcast_to(x, shape=shape), shape=(-1,)), places, 0)


def _compress(x: Any, mask: Any, axis: int | None) -> Any:
    x, place = (reshape(x, shape=(-1,)), 0) if axis is None else (x, one_axis(axis, len(x.shape)))
    chosen = mask_of(mask)
    if chosen.ndim != 1 or not x.shape or chosen[x.shape[place] :].any():
        raise ShapeError(f"compress: a condition of shape {chosen.shape} does not fit an array of shape {tuple(x.shape)}")
    return rows_of(x, np.flatnonzero(chosen), place)


def _extract(x: Any, mask: Any) -> Any:
    return _compress(x, mask_of(mask).ravel(), None)


def _rearranged(function: Function, x: Any, of: Any = None) -> Any:
    """What NumPy does with entries when it moves them, by doing it with their numbers."""
    room_for(*x.shape)
    places = np.arange(math.prod(x.shape)).reshape(x.shape)
    try:
        moved = function(places)
    except (ValueError, IndexError, TypeError) as error:
        raise ShapeError(str(error)) from None
    return getitem(reshape(x, shape=(-1,)) if of is None else of, index=(StaticArray(np.asarray(moved)),))


def _delete(x: Any, where: Any, axis: int | None) -> Any:
    return _rearranged(lambda places: np.delete(places, np.asarray(where), axis), x)


def _insert(x: Any, y: Any, where: Any, axis: int | None) -> Any:
    numbers = np.arange(math.prod(y.shape)).reshape(y.shape) + math.prod(x.shape)
    joined = concatenate(reshape(x, shape=(-1,)), reshape(y, shape=(-1,)), axis=0)
    return _rearranged(lambda places: np.insert(places, np.asarray(where), numbers, axis), x, of=joined)


def _resize(x: Any, shape: Shape) -> Any:
    room_for(*shape)
    return _rearranged(lambda places: np.resize(places, shape), x)


composite(
    "masked_select", "x", _masked_select, static={"mask": REQUIRED},
    doc="The entries where a mask holds, along one axis; x and the mask broadcast.", examples=("masked_select(x, x > 0)",),
)  # fmt: skip
composite(
    "compress", "x", _compress, static={"mask": REQUIRED, "axis": None}, doc="The rows along an axis where a condition holds.",
)  # fmt: skip
composite("extract", "x", _extract, static={"mask": REQUIRED}, doc="The entries where a condition holds, along one axis.")
composite("delete", "x", _delete, static={"where": REQUIRED, "axis": None}, doc="The array without the rows at indices along an axis.")
composite(
    "insert", "x y", _insert, static={"where": REQUIRED, "axis": None}, doc="The array with y put in before the indices along an axis.",
)  # fmt: skip
composite("resize", "x", _resize, static={"shape": REQUIRED}, doc="An array of a shape, filled with the entries of x over and over.")

declare(
    NUMPY,
    take=signature("take", "x|a, index|indices, axis, -out, mode"),
    take_along_axis=signature("take_along_dim", "x|arr, index|indices, axis", axis=-1),
    take_along_dim=signature("take_along_dim", "x, index|indices, axis"),
    gather=signature("gather", "x, axis, index, -sparse_grad"),
    index_select=signature("index_select", "x, axis, index"),
    compress=signature("compress", "mask|condition, x|a, axis, -out"),
    **{"ndarray.compress": signature("compress", "x, mask|condition, axis, -out")},  # the method, whose first argument is the array
    extract=signature("extract", "mask|condition, x|arr"),
    delete=signature("delete", "x|arr, where|obj, axis"),
    insert=signature("insert", "x|arr, where|obj, y|values, axis"),
    resize=signature("resize", "x, shape|new_shape"),
)
declare(TORCH, take=signature("take", "x, index"))
