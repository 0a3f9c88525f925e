"""Writing into tensors: what is written takes its place in the graph, and version counters tell who kept the old values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.gathering_and_scattering import overwrite
from gradcli.ops.structure import clone
from gradcli.ops.writing import Shape
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.levels import Batched, NotBatchedError, in_front, levels_of, memory_of, part_of, set_tangent, tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import crowded, node_from_base, rebase, refuse_writing, regraph, repeats, writable

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
_INSTEAD = "Wrap it in torch.no_grad(), or write to a clone()."
_INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before doing "
    "inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
NOT_BATCHED = (
    "vmap: {} is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. This happened due to "
    "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace "
    "arithmetic."
)
_ONE_PLACE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor "
    "before performing the operation."
)
_EVERYTHING = (...,)


def before(x: Tensor, *, kept: bool = True) -> Tensor:
    """A tensor as it is now, to compute with what will be overwritten: a view is taken of its base.

    kept  whether a node may keep its entries
    """
    if isinstance(x, Batched):
        return Batched(before(x.physical), x.levels)
    if not kept:
        return Tensor(x.array)
    x._refresh()
    now = Tensor(x.array.copy())
    now.node, now._requires_grad, now._accumulator = x.node, x.requires_grad, x._accumulator
    for level in state.forward_levels:
        moving = tangent_of(x, level)
        if moving is not None:
            set_tangent(now, level, before(moving))  # which is overwritten, too
    if x._view is not None and x.node is not None and state.recording:  # who watches the node that it had does not see this
        now.node = node_from_base(x)
    if state.recorder is not None:
        state.recorder.rename(now, x)
    return now


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor has been written to by something that tells nobody."""
    for x in (tensor,) if isinstance(tensor, Tensor) else tensor:
        x._version_counter[0] += 1


def taken(argument: Any) -> bool:
    """Return whether the graph takes something in, or a part of a list of it."""
    if isinstance(argument, Tensor):
        return argument.requires_grad
    return isinstance(argument, (list, tuple)) and any(map(taken, argument))


def check_writable(x: Tensor, *sources: Any) -> bool:
    """Return whether the graph follows that a tensor is written to, by what is computed of these and of itself. Raises if it may not be."""
    if x._inference and not state.inference:
        raise RuntimeError(_INFERENCE)
    if not state.recording:
        return False
    own = x.requires_grad
    if not (own or any(map(taken, sources))):
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
        raise NotBatchedError(_ONE_PLACE)  # which all examples share
    check_memory(memory_of(x))


def check_memory(array: np.ndarray) -> None:
    if repeats(array) or crowded(array):
        raise RuntimeError(_ONE_PLACE)
    if not writable(array):
        raise RuntimeError("the array that this tensor shares memory with is read-only: write to a clone() of the tensor")


def assign(x: Tensor, result: Tensor) -> Tensor:
    """Make a computed result the new content of x."""
    if isinstance(result, Batched) or isinstance(x, Batched):
        return _assign_batch(x, result)
    if result.array.shape != x.array.shape:
        raise RuntimeError(f"output with shape {list(x.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}")
    if not dtypes.can_cast(result.array.dtype, x.array.dtype):
        raise RuntimeError(f"result type {result.dtype.in_messages} can't be cast to the desired output type {x.dtype.in_messages}")
    if not writable(x.array):
        check_places(x)
    if state.before_writing is not None:
        state.before_writing(x)
    x.array[...] = result.array
    x._version_counter[0] += 1
    if state.recording and x.array.dtype.kind in dtypes.FLOATS and (result.requires_grad or x.requires_grad):
        _keep_written(x, result)
        if x._view is not None:
            rebase(x, result.source())
        else:
            regraph(x, result.source())
    if state.forward_levels:
        _carry(x, result)
    if state.recorder is not None:
        state.recorder.overwritten(x, result)
    return x


def _assign_batch(x: Tensor, result: Tensor) -> Tensor:
    levels = levels_of([x])
    if not set(levels_of([result])) <= set(levels):
        raise NotBatchedError(NOT_BATCHED.format("inplace arithmetic(self, *extra_args)"))
    check_places(x)
    assign(x.physical if isinstance(x, Batched) else x, in_front(result, levels, full=True))
    return x


def _keep_written(x: Tensor, result: Tensor) -> None:
    """What a node keeps of its result is the tensor that has become it, which must not be written to any more."""
    node = result.node
    if node is None or not node.versions:
        return
    counter = x._version_counter
    mine = result._version_counter
    node.versions = [(counter, counter[0], place) if kept is mine else (kept, version, place) for kept, version, place in node.versions]


def _carry(x: Tensor, result: Tensor) -> None:
    """A tensor that was overwritten moves as what was written does, and so does what it is a view of."""
    for place, level in enumerate(state.forward_levels):
        new, old = tangent_of(result, level), tangent_of(x, level)
        if new is None and old is None:
            continue
        before_ = state.change(forward_levels=state.forward_levels[:place])
        try:
            if old is None and x._view is not None:
                base = x._view.base
                set_tangent(base, level, Tensor(np.zeros_like(base.array)))
                old = part_of(base, level, x.array)
                set_tangent(x, level, old)
            if old is None:
                set_tangent(x, level, new)
            else:
                assign(old, clone(new) if new is not None else Tensor(np.zeros_like(x.array)))
        finally:
            state.change(**before_)


def update(x: Tensor, name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Tensor:
    """``x.name_(...)``: the method without the underscore, written back."""
    followed = check_writable(x, *arguments, *keywords.values())
    if x._view is not None or repeats(memory_of(x)):
        check_places(x)
    old = before(x, kept=followed or not state.usual)
    result: Tensor = getattr(old, name)(*arguments, **keywords)
    if old.requires_grad and state.recording and not result.requires_grad:  # nothing flows through, and the graph says so
        result = overwrite(old, result.to(old.dtype), index=_EVERYTHING)
    return assign(x, result)


def check_expandable(new: np.ndarray, shape: Shape) -> None:
    """Raise unless what is written to a place of a shape broadcasts to it."""
    common = common_shape(new.shape, shape)
    if common != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")


def common_shape(*shapes: Shape) -> Shape:
    """Return the shape that operands broadcast to. Raises RuntimeError, as PyTorch, if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(f"shapes {' and '.join(map(str, shapes))} do not broadcast together") from None


def replace(x: Tensor, value: Any, label: str) -> Tensor:
    """Make a tensor, which is broadcast, or a number the new content of x, by a node of this name."""
    followed = check_writable(x, value)
    if isinstance(value, Tensor):
        check_expandable(value.array, x.array.shape)
    if not followed and state.recorder is None and state.interpreter is None:
        if state.before_writing is not None:
            state.before_writing(x)
        x.array[...] = value.array if isinstance(value, Tensor) else value
        x._version_counter[0] += 1
        return x
    result: Tensor = overwrite(before(x), value, index=_EVERYTHING)
    if result.node is not None:
        result.node.label = label
    return assign(x, result)
