"""Methods that give a tensor new content, or a new shape, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.pytorch import unbroadcastable
from gradcli.tensors.core.batched import memory_of
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.entry_writing import mismatch, write
from gradcli.tensors.core.in_place import check_places, check_writable, replace, update
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.storage import writable
from gradcli.tensors.core.subscripts import mask_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.memory_methods import rearranged


def _copy(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    value = as_tensor(source)
    check_writable(x, value)
    check_places(x)
    said = unbroadcastable([x.array.shape, value.array.shape])
    if said:
        raise RuntimeError(said)
    if value.array.ndim > x.array.ndim:
        have, common = list(x.array.shape), list(np.broadcast_shapes(x.array.shape, value.array.shape))
        raise RuntimeError(f"output with shape {have} doesn't match the broadcast shape {common}")
    return replace(x, value.to(x.dtype), "CopyBackwards")


def _filled(x: Tensor, value: Any) -> Tensor:
    return _written(x, value, "FillBackward0")


def _written(x: Tensor, value: Any, label: str) -> Tensor:
    if not hasattr(value, "__float__"):
        raise TypeError(f"fill_(): argument 'value' must be Number, not {type(value).__name__}")
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions.")
        value = value.to(x.dtype) if value.requires_grad or state.interpreter is not None else value.item()
    check_writable(x, value)
    if not writable(memory_of(x)):
        check_places(x)
    return replace(x, value, label)


def _zeroed(x: Tensor) -> Tensor:
    return _written(x, 0, "ZeroBackward0")


def _index_put(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    if isinstance(values, Tensor) and values.dtype != x.dtype:
        raise RuntimeError(mismatch(x, values))
    if accumulate:
        masks = tuple(Tensor(mask_of(part.array)) for part in indices)
        return update(x, "index_put", (masks, values, True), {})
    write(x, tuple(indices), values)
    return x


def _rearranged(name: str) -> Callable[..., Tensor]:
    """In-place methods that change a tensor's shape, not its entries."""

    def change(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return rearranged(x, lambda now: call(name, TORCH, (now, *arguments), keywords))

    return change


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "copy_": _copy,
    "index_put_": _index_put,
    "fill_": _filled,
    "zero_": _zeroed,
    **{f"{name}_": _rearranged(name) for name in ("t", "squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims")},
}
