"""Writing into tensors: what is written takes its place in the graph, and version counters tell who kept the old values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import getitem
from gradcli.ops.spec import Op
from gradcli.ops.structure import clone, overwrite
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import Batched, batched_in, example, in_front, levels_of
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.levels import ForwardLevel, set_tangent, tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.subscripts import static_index
from gradcli.tensors.core.tensor import Tensor, regenerate, regraph

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
_NOT_BATCHED = (
    "vmap: {} is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. This happened due to "
    "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace "
    "arithmetic."
)
_ONE_PLACE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor "
    "before performing the operation."
)


def before(x: Tensor) -> Tensor:
    """A tensor as it is now, to compute with what will be overwritten."""
    if isinstance(x, Batched):
        return Batched(before(x.physical), x.levels)
    x._refresh()
    now = Tensor(x.array.copy())
    now.node, now._requires_grad, now._accumulator, now._tangents = x.node, x.requires_grad, x._accumulator, x._tangents
    if state.recorder is not None:
        state.recorder.rename(now, x)
    return now


def check_writable(x: Tensor, message: str = _LEAF) -> None:
    if x._inference and not state.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before "
            "doing inplace update."
        )
    if not state.recording:
        return
    if x.requires_grad and x.is_leaf and x._view is None:
        raise RuntimeError(f"{message} Wrap it in torch.no_grad(), or write to a clone().")
    if x._view is not None and x._view.base.requires_grad and x._view.base.is_leaf:
        raise RuntimeError(f"{_VIEW_OF_LEAF} Wrap it in torch.no_grad(), or write to a clone().")


def assign(x: Tensor, result: Tensor, name: str = "") -> Tensor:
    """Make a computed result the new content of x."""
    if isinstance(result, Batched) or isinstance(x, Batched):
        return _assign_batch(x, result, name)
    if result.array.shape != x.array.shape:
        raise RuntimeError(f"output with shape {list(x.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}")
    if result.array.dtype.kind == "f" and x.array.dtype.kind != "f":
        kinds = (dtypes.of_numpy(a.array.dtype).tensor_type.removesuffix("Tensor") for a in (result, x))
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*kinds))
    if not x.array.flags.writeable:
        raise RuntimeError(_ONE_PLACE)
    if state.before_writing is not None:
        state.before_writing(x)
    x.array[...] = result.array
    x._version_counter[0] += 1
    if state.recorder is not None:
        state.recorder.rename(x, result)
    if state.recording and (result.requires_grad or x.requires_grad):
        if x._view is not None:
            _through_view(x, result)
        else:
            regraph(x, result)
    if state.forward_levels:
        _carry(x, result)
    return x


def _assign_batch(x: Tensor, result: Tensor, name: str) -> Tensor:
    levels = levels_of([x])
    if not set(levels_of([result])) <= set(levels):
        raise RuntimeError(_NOT_BATCHED.format("inplace arithmetic(self, *extra_args)"))
    assign(x.physical if isinstance(x, Batched) else x, in_front(result, levels, full=True), name)
    return x


def _carry(x: Tensor, result: Tensor) -> None:
    """A tensor that was overwritten moves as what was written does, and so does what it is a view of."""
    for place, level in enumerate(state.forward_levels):
        new, old = tangent_of(result, level), tangent_of(x, level)
        if new is None and old is None:
            continue
        before_ = state.change(forward_levels=state.forward_levels[:place])
        try:
            if old is None and x._view is not None:
                set_tangent(x._view.base, level, Tensor(np.zeros_like(x._view.base.array)))
                old = _taken(x, level)
            if old is None:
                set_tangent(x, level, new)
            else:
                assign(old, clone(new) if new is not None else Tensor(np.zeros_like(x.array)))
        finally:
            state.change(**before_)


def _taken(x: Tensor, level: ForwardLevel) -> Any:
    """The part of the base's tangent that is a view's, as the view is of the base."""
    view = x._view
    assert view is not None
    whole: Any = tangent_of(view.base, level)
    for op, static in view.steps:
        whole = op(whole, **dict(static))
    set_tangent(x, level, whole)
    return whole


def update(x: Tensor, name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Tensor:
    """``x.name_(...)``: the method without the underscore, written back."""
    check_writable(x)
    return assign(x, getattr(before(x), name)(*arguments, **keywords))


def write(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    if state.batch_levels and levels_of(batched_in((x, index, value))):
        _write_batch(x, index, value)
        return
    check_writable(x, _VIEW_OF_LEAF)
    place = static_index(x, index)
    new = value if isinstance(value, Tensor) else as_tensor(value, x.dtype)
    if new.array.dtype != x.array.dtype:
        new = new.to(x.dtype)
    recorded = state.recording and (x.requires_grad or new.requires_grad)
    old = before(x) if recorded else None
    if state.before_writing is not None:
        state.before_writing(x)
    try:
        overwrite.forward(x.array, _squeezed(new.array, x.array, place), steps=((getitem, (("index", place),)),), inplace=True)
    except IndexError as error:
        raise IndexError(str(error).replace("axis", "dimension")) from None
    except ValueError as error:
        if "read-only" in str(error):
            raise RuntimeError(_ONE_PLACE) from None
        region = overwritten_shape(x.array, place)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(new.array.shape)} cannot be broadcast to indexing result of shape {list(region)}"
        ) from None
    x._version_counter[0] += 1
    if state.forward_levels:
        _carry_part(x, index, new)
    if not recorded:
        return
    step: tuple[tuple[Op, Any], ...] = ((getitem, (("index", place),)),)
    assert old is not None
    if x._view is not None:
        _replace_base(x._view.base, new, (*x._view.steps, *step))
        regenerate(x)
        return
    result = overwrite(old, new, steps=step, inplace=False)
    regraph(x, result)
    if state.recorder is not None:
        state.recorder.rename(x, result)


def _write_batch(x: Tensor, index: Any, value: Any) -> None:
    """Into one example after the other."""
    level = levels_of(batched_in((x, index, value)))[-1]
    if level not in levels_of([x]):
        raise RuntimeError(_NOT_BATCHED.format("aten::copy_(self, *extra_args)"))
    for i in range(level.size):
        part = example(x, level, i)
        write(
            part,
            example(index, level, i) if not isinstance(index, tuple) else tuple([example(p, level, i) for p in index]),
            example(value, level, i),
        )


def _carry_part(x: Tensor, index: Any, new: Tensor) -> None:
    for place, level in enumerate(state.forward_levels):
        moving, old = tangent_of(new, level), tangent_of(x, level)
        if moving is None and old is None:
            continue
        before_ = state.change(forward_levels=state.forward_levels[:place])
        try:
            if old is None:
                base = x if x._view is None else x._view.base
                set_tangent(base, level, Tensor(np.zeros_like(base.array)))
                old = tangent_of(x, level) if x._view is None else _taken(x, level)
            write(old, index, Tensor(np.zeros_like(new.array)) if moving is None else moving)
        finally:
            state.change(**before_)


def overwritten_shape(array: np.ndarray, place: Any) -> tuple[int, ...]:
    return np.shape(getitem.forward(array, index=place))


def _squeezed(value: np.ndarray, array: np.ndarray, place: Any) -> np.ndarray:
    """PyTorch lets a value have leading axes of one entry that its place has not."""
    wanted = len(overwritten_shape(array, place))
    while value.ndim > wanted and value.shape[0] == 1:
        value = value[0]
    return value


def _through_view(x: Tensor, result: Tensor) -> None:
    """A view was written to: its base is made of the old base and what was written; the view is taken of it again."""
    assert x._view is not None
    _replace_base(x._view.base, result, x._view.steps)
    regenerate(x)


def _replace_base(base: Tensor, new: Tensor, steps: Any) -> None:
    # the memory has been written to already: only the graph is extended
    old = Tensor(base.array.copy())
    old.node, old._requires_grad, old._accumulator = base.node, base._requires_grad, base._accumulator
    result = overwrite(old, new, steps=steps, inplace=False)
    regraph(base, result)
