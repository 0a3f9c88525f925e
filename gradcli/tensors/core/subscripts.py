"""``x[index]``: what PyTorch accepts as an index, as static indices of operations.

Numbers, slices and new axes come first and make a region, a view; arrays then choose entries of it. NumPy, which takes all of
them at once, would move the axes that arrays choose from to the front where a number stands apart from them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.gathering_and_scattering import overwrite
from gradcli.ops.arrays.shapes import StaticArray, getitem, reshape
from gradcli.ops.axes import numpy_index
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.in_place import (
    NOT_BATCHED,
    assign,
    before,
    check_places,
    check_writable,
    replace,
)
from gradcli.tensors.core.levels import Batched, NotBatchedError, batched_in, example, levels_of, one_by_one
from gradcli.tensors.core.modes import state, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import Origin

_INDEX_KINDS = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_))
_ALL = (None, None, None)  # the slice of a whole axis
_NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] instead "
    "of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error or a "
    "different result"
)
_NO_AXIS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
)


class Subscript:
    """An index of a tensor in its two parts.

    place   what makes the region; None where that is the whole tensor
    chosen  what is chosen of the region; None where that is everything
    """

    def __init__(self, x: Tensor, index: Any) -> None:
        parts = [_part(part) for part in _parts(index)]
        taken = sum(_axes_taken(part) for part in parts)
        if taken > x.array.ndim:
            if not x.array.ndim and len(parts) == 1 and type(parts[0]) is int:
                raise IndexError(_NO_AXIS)
            if not x.array.ndim and isinstance(parts[0], tuple):
                raise IndexError("slice() cannot be applied to a 0-dim tensor.")
            raise IndexError(f"too many indices for tensor of dimension {x.array.ndim}")
        place: list[Any] = []
        chosen: list[Any] = []
        axis = 0
        for part in parts:
            at, axis = axis, axis + (x.array.ndim - taken if part is ... else _axes_taken(part))
            if part is ...:
                place.append(...)
                chosen += [_ALL] * (x.array.ndim - taken)
            elif isinstance(part, StaticArray):
                mask = part.array.dtype.kind == "b"
                place += [_ALL] * part.array.ndim if mask and part.array.ndim else [None] if mask else [_ALL]
                chosen.append(StaticArray(np.arange(int(part.array))) if mask and not part.array.ndim else part)
            elif _runs_backwards(part):
                place.append(_ALL)
                chosen.append(part)
            else:
                place.append(_ALL if _is_whole(part, x.array.shape, at) else part)
                chosen += [] if type(part) is int else [_ALL]
        self.place = None if all(part is ... or part == _ALL for part in place) else tuple(place)
        while chosen and chosen[-1] == _ALL:
            chosen.pop()
        self.chosen = tuple(chosen) if any(part != _ALL for part in chosen) else None

    def region(self, x: Tensor) -> Tensor:
        """The region of a tensor, a view."""
        if self.place is None:
            return x
        found: Tensor = x.apply_op(getitem, (x,), {"index": self.place})
        return found

    def region_of_array(self, array: np.ndarray) -> np.ndarray:
        return array if self.place is None else array[numpy_index((*self.place, *(() if ... in self.place else (...,))))]


def get(x: Tensor, index: Any) -> Tensor:
    """The entries at an index: a view, unless arrays choose them."""
    if state.batch_levels and levels_of(batched_in(list(index) if isinstance(index, tuple) else index)):
        parts: Tensor = one_by_one(
            lambda y, *places: get(y, places if isinstance(index, tuple) else places[0]),
            (x, *(index if isinstance(index, tuple) else (index,))),
            {},
        )
        return parts
    try:
        if type(index) is int and x.array.ndim:
            row: Tensor = x.apply_op(getitem, (x,), {"index": (index,)})
            return row
        subscript = Subscript(x, index)
        if subscript.chosen is None:
            result: Tensor = x.apply_op(getitem, (x,), {"index": subscript.place or ((_ALL,) if isinstance(index, slice) else (...,))})
        else:
            region = subscript.region(x)
            result = region.apply_op(getitem, (region,), {"index": subscript.chosen})
            if not isinstance(result, Batched) and (not result.array.flags.c_contiguous or 1 in result.array.shape):
                result.array = result.array.copy(order="C")
            if result.node is not None:
                result.node.versions = []  # the indices are kept, once
    except (IndexError, ShapeError) as error:
        raise _no_entry(index, error) from None
    return result


def rows(x: Tensor) -> Iterator[Tensor]:
    """The entries along the first axis, one after the other."""
    if not x.array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    found = [get(x, i) for i in range(len(x.array))]
    for place, row in enumerate(found):
        one_of_several(row, place)
    return iter(found)


def one_of_several(part: Tensor, place: int) -> None:
    """A view is one of several results, through which the graph does not follow writing."""
    if part._view is not None:
        part._view.place = place
        if state.recording and not state.inference:
            part._view.origin = Origin.SEVERAL


def _parts(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(_is_compound(part) for part in index):
        warn(_NOT_A_TUPLE)
        return tuple(index)
    if isinstance(index, str):
        warn(_NOT_A_TUPLE)
    return (index,)


def _is_compound(part: Any) -> bool:
    """Return whether a list with this in it is taken as a tuple, as NumPy once did."""
    return part is None or part is ... or isinstance(part, (slice, Tensor, list, tuple))


def _axes_taken(part: Any) -> int:
    if part is None or part is ...:
        return 0
    return part.array.ndim if isinstance(part, StaticArray) and part.array.dtype.kind == "b" else 1


def _is_whole(part: Any, shape: tuple[int, ...], axis: int) -> bool:
    """Return whether a slice says that it is all of an axis: one that only comes to that is a view."""
    if not isinstance(part, tuple):
        return False
    start, stop, step = part
    return not start and (stop is None or stop >= shape[axis]) and step in (None, 1)


def _runs_backwards(part: Any) -> bool:
    return isinstance(part, tuple) and part[2] is not None and part[2] < 0


def _part(part: Any) -> Any:
    if part is None or part is ...:
        return part
    if isinstance(part, slice):
        bounds = (part.start, part.stop, part.step)
        if any(bound is not None and not hasattr(bound, "__index__") for bound in bounds):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        if part.step is not None and not operator.index(part.step):
            raise ValueError("slice step cannot be zero")
        if part.step is not None and operator.index(part.step) < 0 and state.recorder is None:  # a function that is read may be NumPy's
            raise ValueError("step must be greater than zero")
        return tuple(None if bound is None else operator.index(bound) for bound in bounds)
    if isinstance(part, (bool, np.bool_)):
        return StaticArray(np.asarray(part))
    if isinstance(part, (int, np.integer)):
        return int(part)
    if isinstance(part, Tensor):
        array = part.array
        if array.ndim and array.dtype not in _INDEX_KINDS:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    elif isinstance(part, (list, tuple, np.ndarray, range)):
        array = np.asarray([p.item() if isinstance(p, Tensor) and not p.array.ndim else p for p in part])
        if not array.size and array.dtype.kind in FLOATS:
            array = array.astype(np.int64)
    else:
        kind = type(part).__name__
        if isinstance(part, str):
            raise TypeError("new(): invalid data type 'str'")
        raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {kind})")
    array = mask_of(array)
    if array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return int(array) if not array.ndim and array.dtype.kind != "b" else StaticArray(array)


def mask_of(array: np.ndarray) -> np.ndarray:
    """An array of indices; of bytes, the mask that they are."""
    if array.dtype != np.uint8:
        return array
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return array.astype(np.bool_)


def _no_entry(index: Any, error: Exception) -> IndexError:
    """The error for an index that does not fit."""
    said = str(error).replace("axis", "dimension")
    empty = said.endswith("with size 0") and type(index) is not int
    return IndexError("index is out of bounds for dimension with size 0" if empty else said)


# -- ``x[index] = value``: what an index chooses is written to ---------------------------------------


def write(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``; at ``False`` there is nothing to write to."""
    if index is False:
        return
    if state.batch_levels and levels_of(batched_in((x, index, value))):
        _write_batch(x, index, value)
        return
    new = value if isinstance(value, Tensor) else as_tensor(value, x.dtype)
    subscript = Subscript(x, index)
    if new.array.dtype != x.array.dtype:
        if subscript.chosen is not None and new.array.ndim:
            _check_fits(new.array, np.shape(subscript.region_of_array(x.array)[numpy_index(subscript.chosen)]))
            raise RuntimeError(mismatch(x, new))
        new = new.to(x.dtype)
    try:
        _write(subscript.region(x), subscript.chosen, new)
    except (IndexError, ShapeError) as error:
        raise _no_entry(index, error) from None


def mismatch(x: Tensor, new: Tensor) -> str:
    """Return what is said of entries of another dtype that are put to indices."""
    return (
        f"Index put requires the source and destination dtypes match, got {x.dtype.in_messages} for the destination and "
        f"{new.dtype.in_messages} for the source."
    )


def _write_batch(x: Tensor, index: Any, value: Any) -> None:
    """Into one example after the other."""
    level = levels_of(batched_in((x, index, value)))[-1]
    if level not in levels_of([x]):
        raise NotBatchedError(NOT_BATCHED.format("aten::copy_(self, *extra_args)"))
    check_places(x)
    for i in range(level.size):
        part = example(x, level, i)
        write(
            part,
            example(index, level, i) if not isinstance(index, tuple) else tuple([example(p, level, i) for p in index]),
            example(value, level, i),
        )


def _write(region: Tensor, chosen: Any, new: Tensor) -> None:
    """Write everything in a region, or what is chosen of it."""
    if chosen is None:
        check_writable(region, new)
        check_places(region)
        new = _without_leading(new, region.array.ndim)
        replace(region, new, "CopyBackwards" if new.array.ndim else "FillBackward0")
        return
    followed = check_writable(region, new)
    shape = np.shape(getitem.forward(region.array, index=chosen))
    new = _without_leading(new, len(shape))
    _check_fits(new.array, shape)
    if not followed and state.usual:
        check_places(region)
        if state.before_writing is not None:
            state.before_writing(region)
        region.array[numpy_index(chosen)] = new.array
        region._version_counter[0] += 1
        return
    result: Tensor = overwrite(before(region), new, index=chosen)
    if result.node is not None:
        result.node.versions = []  # the indices are kept, once
    assign(region, result)


def _without_leading(new: Tensor, ndim: int) -> Tensor:
    """PyTorch lets a value have leading axes of one entry that its place has not."""
    shape = new.array.shape
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    return new if shape == new.array.shape else reshape(new, shape=shape)


def _check_fits(new: np.ndarray, shape: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(new.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(new.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
