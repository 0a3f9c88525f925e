"""Tensors that are regions of another one's memory, however its entries are arranged in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided
from gradcli.ops.recording import numbered
from gradcli.ops.spec import Composite, Op
from gradcli.tensors.core import storage
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched, levels_of, memory_of, rewrapped
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.levels import part_of, set_tangent, tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped, node_class
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry
from gradcli.tensors.dispatch.apply import viewing


def region(x: Tensor, array: np.ndarray, name: str = "AsStrided") -> Tensor:
    """A view of x with the entries of an array that shows x's memory; ``name`` is that of its node."""
    tensor = viewing(array, x)
    static = geometry(x.array, array)
    source = x.source() if state.recording and not state.inference else None
    if source is not None and array.dtype.kind in FLOATS:
        node: Node = node_class(numbered(name))(as_strided, (source,), static, array.shape, array.dtype)
        node.saved = [Shaped(array), Shaped(x.array)]
        tensor.node, tensor._requires_grad = node, True
        if state.anomaly:
            remember(node)
    for place, level in enumerate(state.forward_levels):
        moving = tangent_of(x, level)
        if moving is not None:
            set_tangent(x, level, moving)
            before = state.change(forward_levels=state.forward_levels[:place])
            try:
                set_tangent(tensor, level, part_of(x, level, array))
            finally:
                state.change(**before)
    if state.recorder is not None:
        state.recorder.note(as_strided, (x,), static, tensor)
    return tensor


def region_of(record: Op | Composite, operands: list[Any], static: dict[str, Any]) -> Tensor | None:
    """The result of a function that PyTorch has as a view; None where it is none, or what it was given does not fit."""
    view, x = record.torch.region, operands[0] if operands else None
    if view is None or not isinstance(x, Tensor):
        return None
    levels = levels_of([x])
    whole = memory_of(x)
    if 0 in whole.shape[: len(levels)]:
        return None
    first = whole[(0,) * len(levels) + (...,)]  # of the examples
    try:
        array = view(first, **static)
    except (ValueError, TypeError, IndexError):
        return None  # the function itself says what is wrong
    place = storage.start(first) + storage.distance(array, first) if array.size else 0
    lead, steps = whole.shape[: len(levels)], storage.strides(whole)[: len(levels)]
    shown = storage.placed(whole, (*lead, *array.shape), (*steps, *storage.strides(array)), place)
    found: Tensor = rewrapped(region(x.physical if isinstance(x, Batched) else x, shown, str(record.torch.backward)), levels)
    return found
