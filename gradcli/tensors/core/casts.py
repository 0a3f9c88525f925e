"""Tensors of other things, of other dtypes, and in memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.structure import clone
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.entries import array_of
from gradcli.tensors.core.levels import Batched
from gradcli.tensors.core.modes import check_device, state
from gradcli.tensors.core.node import Node, remember
from gradcli.tensors.core.tensor import Tensor


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of nested lists, numbers, an array or a tensor, whose memory it shares where it can."""
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return Tensor(array_of(data, dtype))


def cast(x: Tensor, kind: np.dtype[Any]) -> Tensor:
    """The same entries in another dtype; the gradient is cast back, and the tangents are cast."""
    if isinstance(x, Batched):
        return Batched(cast(x.physical, kind), x.levels)
    with np.errstate(all="ignore"):
        result = Tensor(x.array.astype(kind))
    if x.requires_grad and state.recording and kind.kind in FLOATS:
        # contributions are cast to the operand's dtype by the sweep
        node = Node("ToCopyBackward0", clone, (x.gradient_node(),), {}, result.array.shape, result.array.dtype)
        node.saved = (result.array, result.array)
        result.node, result._requires_grad = node, True
        if state.anomaly:
            remember(node)
    if state.recorder is not None:
        state.recorder.note(clone, (x,), {}, result)
    if x._tangents is not None and kind.kind in FLOATS:
        result._tangents = {level: cast(tangent, kind) for level, tangent in x._tangents.items()}
    return result


def clone_of(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """The same entries in memory of their own, in the graph."""
    copied: Tensor = x.apply_op(clone, (x,), {})
    return copied
