"""Writing into tensors: in-place operations, subscripts, and what becomes of views.

Beside it are tensors of other things, of other dtypes, and in memory of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.gathering_and_scattering import overwrite
from gradcli.ops.arrays.shapes import StaticArray, getitem, reshape
from gradcli.ops.axes import numpy_index
from gradcli.ops.spec import Op, as_tuple
from gradcli.ops.structure import clone
from gradcli.ops.text import runs_backwards
from gradcli.ops.writing import Shape
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, array_of
from gradcli.tensors.core.levels import (
    Batched,
    NotBatchedError,
    in_front,
    levels_of,
    listed_tensors,
    memory_of,
    one_by_one,
    physical,
)
from gradcli.tensors.core.modes import NOBODY, check_device, state, warn
from gradcli.tensors.core.node import Node, Shaped, remember
from gradcli.tensors.core.tensor import (
    Origin,
    Tensor,
    is_crowded,
    node_from_base,
    rebase,
    refuse_writing,
    regraph,
    repeats,
    writable,
)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return a tensor of nested lists, numbers, an array or a tensor.

    It shares the memory of these where it can.
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return Tensor(array_of(data, dtype))


def cast(x: Tensor, kind: np.dtype[Any]) -> Tensor:
    """Return the same entries in another dtype; the gradient is cast back."""
    if isinstance(x, Batched):
        return Batched(cast(x.physical, kind), x.levels)
    with np.errstate(all="ignore"):
        result = Tensor(x.array.astype(kind))
    # The backward sweep casts contributions to the operand's dtype.
    return follow(result, clone, x, {}, "ToCopyBackward0")


def follow(result: Tensor, op: Op, x: Tensor, static: dict[str, Any], label: str) -> Tensor:
    """Return a result that a tensor became without arithmetic.

    It has its node, if the tensor requires grad.
    """
    source = x.source() if state.recording and result.array.dtype.kind in FLOATS else None
    if source is not None:
        saved = [Shaped(result.array), Shaped(x.array)]
        result.node = Node(
            label, op, (source,), static, result.array.shape, result.array.dtype, saved
        )
        result._requires_grad = True
        if state.anomaly:
            remember(result.node)
    state.recorder.note(op, (x,), static, result)
    return result


def clone_of(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the same entries in memory of their own, in the graph."""
    copied: Tensor = x.apply_op(clone, (x,), {})
    return copied


# -- Writing into tensors: what is written takes its place in the graph, and version counters tell
# who kept the old values.


_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
_INSTEAD = "Wrap it in torch.no_grad(), or write to a clone()."
NOT_BATCHED = (
    "vmap: {} is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to "
    "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use "
    "out-of-place operators instead of inplace "
    "arithmetic."
)
_ONE_PLACE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor "
    "before performing the operation."
)
_EVERYTHING = (...,)


def before(x: Tensor, *, kept: bool = True) -> Tensor:
    """Return a tensor as it is now, to compute with what will be overwritten.

    The node of a view is made from its base.

    kept  whether a node may keep its entries
    """
    if isinstance(x, Batched):
        return Batched(before(x.physical), x.levels)
    if not kept:
        return Tensor(x.array)
    x._refresh()
    now = Tensor(x.array.copy())
    now.node = x.node
    now._requires_grad = x.requires_grad
    now._accumulator = x._accumulator
    # Hooks on the former node do not see this.
    if x._view is not None and x.node is not None and state.recording:
        now.node = node_from_base(x)
    state.recorder.rename(now, x)
    return now


def takes_in(argument: Any) -> bool:
    """Return whether the graph takes something in, or a part of a list of it."""
    if isinstance(argument, Tensor):
        return argument.requires_grad
    return isinstance(argument, (list, tuple)) and any(map(takes_in, argument))


def check_writable(x: Tensor, *sources: Any) -> bool:
    """Return whether the graph follows a write to a tensor.

    What is written is computed from ``sources`` and the tensor itself. Raises if the tensor may not
    be written to.
    """
    if not state.recording:
        return False
    own = x.requires_grad
    if not (own or any(map(takes_in, sources))):
        return False
    if x._view is not None:
        refuse_writing(x)
        if own and x._view.base.is_leaf:
            raise RuntimeError(f"{_VIEW_OF_LEAF} {_INSTEAD}")
    if own and x.is_leaf:
        raise RuntimeError(f"{_VIEW_OF_LEAF if x._view is not None else _LEAF} {_INSTEAD}")
    return True


def check_places(x: Tensor) -> None:
    """Raise if a tensor cannot be written to entry by entry."""
    if isinstance(x, Batched) and repeats(memory_of(x)) and not repeats(x.array):
        raise NotBatchedError(_ONE_PLACE)  # all examples share the memory
    check_memory(memory_of(x))


def check_memory(array: np.ndarray) -> None:
    if repeats(array) or is_crowded(array):
        raise RuntimeError(_ONE_PLACE)
    if not writable(array):
        raise RuntimeError(
            "the array that this tensor shares memory with is read-only: write to a clone() of "
            "the tensor"
        )


def check_castable(result: Tensor, x: Tensor) -> None:
    """Raise if a result is of a higher kind of dtype than the tensor that it is written to."""
    if not dtypes.can_cast(result.array.dtype, x.array.dtype):
        raise RuntimeError(
            f"result type {result.dtype.in_messages} can't be cast to the desired output type "
            f"{x.dtype.in_messages}"
        )


def write_memory(x: Tensor, place: Any, entries: Any) -> None:
    """Write entries into a tensor's memory, and tell who watches it."""
    if state.before_writing is not None:
        state.before_writing(x)
    x.array[place] = entries
    x._version_counter[0] += 1


def assign(x: Tensor, result: Tensor) -> Tensor:
    """Make a computed result the new content of x."""
    if isinstance(result, Batched) or isinstance(x, Batched):
        return _assign_batch(x, result)
    if result.array.shape != x.array.shape:
        raise RuntimeError(
            f"output with shape {list(x.array.shape)} doesn't match the broadcast shape "
            f"{list(result.array.shape)}"
        )
    check_castable(result, x)
    if not writable(x.array):
        check_places(x)
    write_memory(x, ..., result.array)
    if (
        state.recording
        and x.array.dtype.kind in dtypes.FLOATS
        and (result.requires_grad or x.requires_grad)
    ):
        _keep_written(x, result)
        if x._view is not None:
            rebase(x, result.source())
        else:
            regraph(x, result.source())
    state.recorder.overwritten(x, result)
    return x


def _assign_batch(x: Tensor, result: Tensor) -> Tensor:
    levels = levels_of([x])
    if not set(levels_of([result])) <= set(levels):
        raise NotBatchedError(NOT_BATCHED.format("inplace arithmetic(self, *extra_args)"))
    check_places(x)
    assign(physical(x), in_front(result, levels, full=True))
    return x


def _keep_written(x: Tensor, result: Tensor) -> None:
    """Let what a node keeps of its result be the tensor that has become the result.

    That tensor must not be written to any more.
    """
    node = result.node
    if node is None or not node.versions:
        return
    counter = x._version_counter
    mine = result._version_counter
    node.versions = [
        (counter, counter[0], place) if kept is mine else (kept, version, place)
        for kept, version, place in node.versions
    ]


def update(x: Tensor, name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Tensor:
    """``x.name_(...)``: the method without the underscore, written back."""
    followed = check_writable(x, *arguments, *keywords.values())
    if x._view is not None or repeats(memory_of(x)):
        check_places(x)
    old = before(x, kept=followed or not state.usual)
    result: Tensor = getattr(old, name)(*arguments, **keywords)
    # No gradient passes, and the graph shows it.
    if old.requires_grad and state.recording and not result.requires_grad:
        result = overwrite(old, result.to(old.dtype), index=_EVERYTHING)
    return assign(x, result)


def check_expandable(new: np.ndarray, shape: Shape) -> None:
    """Raise unless what is written to a place of a shape broadcasts to it."""
    common = common_shape(new.shape, shape)
    if common != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}"
        )


def broadcasts(shape: Shape, wanted: Shape) -> bool:
    """Return whether an array of a shape broadcasts to another one."""
    try:
        return np.broadcast_shapes(shape, wanted) == tuple(wanted)
    except ValueError:
        return False


def common_shape(*shapes: Shape) -> Shape:
    """Return the shape that operands broadcast to.

    Raises RuntimeError, as PyTorch, if there is none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(
            f"shapes {' and '.join(map(str, shapes))} do not broadcast together"
        ) from None


def replace(x: Tensor, value: Any, label: str) -> Tensor:
    """Replace the content of x by a tensor, which is broadcast, or a number.

    A node of this name does it.
    """
    followed = check_writable(x, value)
    if isinstance(value, Tensor):
        check_expandable(value.array, x.array.shape)
    if not followed and state.recorder is NOBODY and state.interpreter is None:
        write_memory(x, ..., value.array if isinstance(value, Tensor) else value)
        return x
    result: Tensor = overwrite(before(x), value, index=_EVERYTHING)
    if result.node is not None:
        result.node.label = label
    return assign(x, result)


# -- ``x[index]``: what PyTorch accepts as an index, as static indices of operations. Numbers,
# slices and new axes come first and make a region, a view; arrays then choose entries of it. NumPy,
# which takes all of them at once, would move the axes that arrays choose from to the front where a
# number stands apart from them.


_INDEX_KINDS = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8), np.dtype(np.bool_))
_ALL = (None, None, None)  # a slice of the whole axis


class Subscript:
    """An index of a tensor in its two parts.

    place   what makes the region; None where that is the whole tensor
    chosen  what is chosen of the region; None where that is everything
    """

    def __init__(self, x: Tensor, index: Any) -> None:
        parts = [_part(part) for part in as_tuple(index)]
        if (
            isinstance(index, list)
            and isinstance(parts[0], StaticArray)
            and parts[0].array.ndim > 1
        ):
            raise IndexError(
                "lists in a list are several indices to some, and one array to others: write a "
                "tuple, or torch.tensor"
            )
        left = x.array.ndim - sum(_axes_taken(part) for part in parts)
        if left < 0:
            raise IndexError(f"too many indices for tensor of dimension {x.array.ndim}")
        place: list[Any] = []
        chosen: list[Any] = []
        for part in parts:
            if part is ...:
                place.append(part)
                chosen += [_ALL] * left
            elif isinstance(part, StaticArray) and part.array.dtype.kind == "b":
                place += [_ALL] * part.array.ndim if part.array.ndim else [None]
                chosen.append(part if part.array.ndim else StaticArray(np.arange(int(part.array))))
            elif isinstance(part, StaticArray) or runs_backwards(part):
                place.append(_ALL)
                chosen.append(part)
            else:
                place.append(part)
                chosen += [] if type(part) is int else [_ALL]
        self.place = None if all(part is ... or part == _ALL for part in place) else tuple(place)
        while chosen and chosen[-1] == _ALL:
            chosen.pop()
        self.chosen = tuple(chosen) if any(part != _ALL for part in chosen) else None

    def region(self, x: Tensor) -> Tensor:
        """Return the region of a tensor, a view."""
        if self.place is None:
            return x
        found: Tensor = x.apply_op(getitem, (x,), {"index": self.place})
        return found

    def region_of_array(self, array: np.ndarray) -> np.ndarray:
        return (
            array
            if self.place is None
            else array[numpy_index((*self.place, *(() if ... in self.place else (...,))))]
        )


def get(x: Tensor, index: Any) -> Tensor:
    """Return the entries at an index: a view, unless arrays choose them."""
    if state.batch_levels and levels_of(
        listed_tensors(list(index) if isinstance(index, tuple) else index)
    ):
        places = as_tuple(index)
        parts: Tensor = one_by_one(
            lambda y, *each: get(y, each if places is index else each[0]), (x, *places), {}
        )
        return parts
    try:
        if type(index) is int and x.array.ndim:
            row: Tensor = x.apply_op(getitem, (x,), {"index": (index,)})
            return row
        subscript = Subscript(x, index)
        if subscript.chosen is None:
            result: Tensor = x.apply_op(
                getitem,
                (x,),
                {"index": subscript.place or ((_ALL,) if isinstance(index, slice) else (...,))},
            )
        else:
            region = subscript.region(x)
            result = region.apply_op(getitem, (region,), {"index": subscript.chosen})
            if not isinstance(result, Batched) and (
                not result.array.flags.c_contiguous or 1 in result.array.shape
            ):
                result.array = result.array.copy(order="C")
            if result.node is not None:
                result.node.versions = []  # saves the indices, which one backward pass frees
    except (IndexError, ShapeError) as error:
        raise _no_entry(index, error) from None
    return result


def rows(x: Tensor) -> Iterator[Tensor]:
    """Return an iterator over the entries along the first axis."""
    if not x.array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    found = [get(x, i) for i in range(len(x.array))]
    for place, row in enumerate(found):
        one_of_several(row, place)
    return iter(found)


def one_of_several(part: Tensor, place: int) -> None:
    """Mark a view as one of several results; the graph does not follow writing to it."""
    if part._view is not None:
        part._view.place = place
        if state.recording:
            part._view.origin = Origin.SEVERAL


def _axes_taken(part: Any) -> int:
    if part is None or part is ...:
        return 0
    return part.array.ndim if isinstance(part, StaticArray) and part.array.dtype.kind == "b" else 1


def _part(part: Any) -> Any:
    if part is None or part is ...:
        return part
    if isinstance(part, slice):
        bounds = tuple(
            None if bound is None else operator.index(bound)
            for bound in (part.start, part.stop, part.step)
        )
        # A traced function may be written for NumPy.
        if bounds[2] == 0 or (runs_backwards(bounds) and state.recorder is NOBODY):
            raise ValueError("step must be greater than zero")
        return bounds
    if isinstance(part, (bool, np.bool_)):
        return StaticArray(np.asarray(part))
    if isinstance(part, (int, np.integer)):
        return int(part)
    if isinstance(part, Tensor):
        array = part.array
        if array.ndim and array.dtype not in _INDEX_KINDS:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    elif isinstance(part, (list, tuple, np.ndarray, range)):
        array = np.asarray(
            [p.item() if isinstance(p, Tensor) and not p.array.ndim else p for p in part]
        )
        if not array.size and array.dtype.kind in FLOATS:
            array = array.astype(np.int64)
    else:
        said = (
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
            "are valid indices"
        )
        raise (TypeError if isinstance(part, str) else IndexError)(
            f"{said} (got {type(part).__name__})"
        )
    array = mask_of(array)
    if array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return int(array) if not array.ndim and array.dtype.kind != "b" else StaticArray(array)


def mask_of(array: np.ndarray) -> np.ndarray:
    """Return an array of indices; one of bytes becomes the mask that it is."""
    if array.dtype != np.uint8:
        return array
    warn(
        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
    )
    return array.astype(np.bool_)


def _no_entry(index: Any, error: Exception) -> IndexError:
    """Return the error for an index that does not fit."""
    said = str(error).replace("axis", "dimension")
    empty = said.endswith("with size 0") and type(index) is not int
    return IndexError("index is out of bounds for dimension with size 0" if empty else said)


# -- ``x[index] = value``: what an index chooses is written to -------------------------------------


def write(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``; at ``False`` there is nothing to write to."""
    if index is False:
        return
    if state.batch_levels and levels_of(listed_tensors((x, index, value))):
        _write_batch(x, index, value)
        return
    new = value if isinstance(value, Tensor) else as_tensor(value, x.dtype)
    subscript = Subscript(x, index)
    if new.array.dtype != x.array.dtype:
        if subscript.chosen is not None and new.array.ndim:
            _check_fits(
                new.array,
                np.shape(subscript.region_of_array(x.array)[numpy_index(subscript.chosen)]),
            )
            raise RuntimeError(mismatch(x, new))
        new = new.to(x.dtype)
    try:
        _write(subscript.region(x), subscript.chosen, new)
    except (IndexError, ShapeError) as error:
        raise _no_entry(index, error) from None


def mismatch(x: Tensor, new: Tensor) -> str:
    """Return what is said of entries of another dtype that are put to indices."""
    return (
        f"Index put requires the source and destination dtypes match, got {x.dtype.in_messages} "
        "for the destination and "
        f"{new.dtype.in_messages} for the source."
    )


def _write_batch(x: Tensor, index: Any, value: Any) -> None:
    """Into one example after the other."""
    level = levels_of(listed_tensors((x, index, value)))[-1]
    if level not in levels_of([x]):
        raise NotBatchedError(NOT_BATCHED.format("aten::copy_(self, *extra_args)"))
    check_places(x)
    places = as_tuple(index)
    one_by_one(
        lambda y, new, *each: write(y, each if places is index else each[0], new),
        (x, value, *places),
        {},
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
        write_memory(region, numpy_index(chosen), new.array)
        return
    result: Tensor = overwrite(before(region), new, index=chosen)
    if result.node is not None:
        result.node.versions = []  # saves the indices, which one backward pass frees
    assign(region, result)


def _without_leading(new: Tensor, ndim: int) -> Tensor:
    """PyTorch lets a value have leading axes of one entry that its place has not."""
    shape = new.array.shape
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    return new if shape == new.array.shape else reshape(new, shape=shape)


def _check_fits(new: np.ndarray, shape: tuple[int, ...]) -> None:
    if not broadcasts(new.shape, shape):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(new.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )
