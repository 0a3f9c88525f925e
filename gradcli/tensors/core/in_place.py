"""Writing into tensors: what is written takes its place in the graph, and version counters tell who kept the old values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import getitem
from gradcli.ops.spec import Op
from gradcli.ops.structure import overwrite
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.subscripts import static_index
from gradcli.tensors.core.tensor import Tensor, regenerate, regraph

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
_ONE_PLACE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor "
    "before performing the operation."
)


def before(x: Tensor) -> Tensor:
    """A tensor as it is now, to compute with what will be overwritten."""
    x._refresh()
    now = Tensor(x.array.copy())
    now.node, now._requires_grad, now._accumulator = x.node, x.requires_grad, x._accumulator
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
    if result.array.shape != x.array.shape:
        raise RuntimeError(f"output with shape {list(x.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}")
    if not dtypes.can_cast(result.array.dtype, x.array.dtype):
        raise RuntimeError(f"result type {result.dtype.in_messages} can't be cast to the desired output type {x.dtype.in_messages}")
    if not x.array.flags.writeable:
        raise RuntimeError(_ONE_PLACE)
    x.array[...] = result.array
    x._version_counter[0] += 1
    if state.recorder is not None:
        state.recorder.rename(x, result)
    if state.recording and (result.requires_grad or x.requires_grad):
        if x._view is not None:
            _through_view(x, result)
        else:
            regraph(x, result)
    return x


def update(x: Tensor, name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> Tensor:
    """``x.name_(...)``: the method without the underscore, written back."""
    check_writable(x)
    return assign(x, getattr(before(x), name)(*arguments, **keywords))


def write(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    check_writable(x, _VIEW_OF_LEAF)
    place = static_index(x, index)
    new = value if isinstance(value, Tensor) else as_tensor(value, x.dtype)
    if new.array.dtype != x.array.dtype:
        if new.array.ndim and new.array.size and new is value and any(hasattr(part, "array") for part in place):
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {x.dtype.in_messages} for the destination and "
                f"{new.dtype.in_messages} for the source."
            )
        new = new.to(x.dtype)
    recorded = state.recording and (x.requires_grad or new.requires_grad)
    old = before(x) if recorded else None
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
