"""Tensors that are regions of another one's memory, however its entries are arranged in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided, overlaps
from gradcli.ops.recording import node_name
from gradcli.ops.spec import Composite, Op
from gradcli.tensors.core import storage
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched, levels_of, memory_of, rewrapped
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.levels import set_tangent, tangent_of
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node, Shaped, node_class
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry
from gradcli.tensors.dispatch.apply import viewing


def region(
    x: Tensor, array: np.ndarray, again: Callable[[Tensor], Tensor], name: str = node_name(as_strided), place: dict[str, Any] | None = None
) -> Tensor:
    """A view of x with the entries of an array that shows x's memory.

    again  makes the same view of a tangent, which need not be laid out as x where several of x's entries are one place
    name   that of its node
    place  where the entries are among x's, if the memory does not tell that
    """
    tensor = viewing(array, x)
    static = geometry(x.array, array) if place is None else place
    source = x.source() if state.recording and not state.inference else None
    if source is not None and array.dtype.kind in FLOATS:
        node: Node = node_class(name)(as_strided, (source,), static, array.shape, array.dtype)
        node.saved = [Shaped(array), Shaped(x.array)]
        tensor.node, tensor._requires_grad = node, True
        if state.anomaly:
            remember(node)
    for outer, level in enumerate(state.forward_levels):
        moving = tangent_of(x, level)
        if moving is not None:
            with Mode(forward_levels=state.forward_levels[:outer]):
                set_tangent(tensor, level, again(moving))
    if state.recorder is not None:
        state.recorder.note(as_strided, (x,), static, tensor)
    return tensor


def region_of(record: Op | Composite, operands: list[Any], static: dict[str, Any]) -> Tensor | None:
    """The result of a function that PyTorch has as a view; None where it is none, or what it was given does not fit."""
    view, x = record.torch.region, operands[0] if operands else None
    if view is None or not isinstance(x, Tensor):
        return None
    levels = levels_of([x])
    lead = len(levels)

    def shown(array: np.ndarray) -> np.ndarray:
        """Of arrays that have the examples along axes in front, the view of each."""
        first = array[(0,) * lead + (...,)]
        seen = view(first, **static)
        place = storage.start(first) + storage.distance(seen, first) if seen.size else 0
        extents, steps = array.shape[:lead], storage.strides(array)[:lead]
        return storage.placed(array, (*extents, *seen.shape), (*steps, *storage.strides(seen)), place)

    def of(physical: Tensor, array: np.ndarray) -> Tensor:
        entries = physical.array
        place = None
        if overlaps(entries.shape, storage.strides(entries)):  # what comes back belongs to one of the entries that are one place
            apart = np.empty(entries.shape, entries.dtype)
            place = geometry(apart, shown(apart))
        return region(physical, array, lambda tangent: of(tangent, shown(tangent.array)), node_name(record), place)

    if 0 in memory_of(x).shape[:lead]:
        return None
    try:
        array = shown(memory_of(x))
    except (ValueError, TypeError, IndexError):
        return None  # the function itself says what is wrong
    found: Tensor = rewrapped(of(x.physical if isinstance(x, Batched) else x, array), levels)
    return found
