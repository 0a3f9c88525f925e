"""Tensors that are regions of another one's memory, however its entries are arranged in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided, last_place, overlaps
from gradcli.ops.spec import Composite, Op
from gradcli.ops.writing import Shape
from gradcli.tensors.core import storage
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched, levels_of, memory_of, rewrapped
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.levels import same_region, set_tangent, tangent_of
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node, Shaped
from gradcli.tensors.core.node_names import kind_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry
from gradcli.tensors.dispatch.apply import viewing


def region(x: Tensor, size: Shape, stride: Shape, offset: int) -> Tensor:
    """A view of a tensor's storage with these sizes, strides and offset; of a batched one, that of each example."""
    if isinstance(x, Batched):
        from_first = offset - storage.start(x.physical.array)
        own = storage.strides(x.physical.array)[len(x.levels) :]
        if from_first < 0 or from_first + last_place(size, stride) > last_place(tuple(x.shape), own):
            raise RuntimeError(
                f"vmap: as_strided(size={list(size)}, stride={list(stride)}, storage_offset={from_first}) reaches out of the memory of an "
                f"example of size {list(x.shape)} and stride {list(own)}"
            )
        found: Tensor = rewrapped(_region_of_each(x.physical, len(x.levels), size, stride, from_first), x.levels)
        return found
    array = storage.placed(x.array, size, stride, offset)
    return _shown(x, array, geometry(x.array, array), lambda tangent: same_region(x, tangent, size, stride, offset))


def _region_of_each(x: Tensor, lead: int, size: Shape, stride: Shape, offset: int) -> Tensor:
    """Of examples along so many axes in front, each as if it were alone in memory."""

    def shown(array: np.ndarray) -> np.ndarray:
        sizes, steps = (*array.shape[:lead], *size), (*storage.strides(array)[:lead], *stride)
        return storage.placed(array, sizes, steps, storage.start(array) + offset)

    extents, own = x.array.shape[:lead], storage.strides(x.array)[lead:]
    memory = np.empty((*extents, last_place(x.array.shape[lead:], own) + 1), x.array.dtype)  # which examples may share
    apart = storage.placed(memory, x.array.shape, (*storage.strides(memory)[:-1], *own), 0)
    again = functools.partial(_region_of_each, lead=lead, size=size, stride=stride, offset=offset)
    return _shown(x, shown(x.array), geometry(apart, shown(apart)), again)


def _shown(x: Tensor, array: np.ndarray, place: dict[str, Any], again: Callable[[Tensor], Tensor]) -> Tensor:
    """A view of x with the entries of an array that shows x's memory.

    place  where the entries are among x's
    again  makes the same view of a tangent, which need not be laid out as x where several of x's entries are one place
    """
    tensor = viewing(array, x)
    source = x.source() if state.recording and not state.inference else None
    if source is not None and array.dtype.kind in FLOATS:
        node: Node = kind_of(as_strided, (), place)(as_strided, (source,), place, array.shape, array.dtype)
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
        state.recorder.note(as_strided, (x,), place, tensor)
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

    def of(physical: Tensor) -> Tensor:
        entries = physical.array
        if overlaps(entries.shape, storage.strides(entries)):  # what comes back belongs to one of the entries that are one place
            apart = np.empty(entries.shape, entries.dtype)
            return _shown(physical, shown(entries), geometry(apart, shown(apart)), of)
        return _shown(physical, shown(entries), geometry(entries, shown(entries)), of)

    if 0 in memory_of(x).shape[:lead]:
        return None
    try:
        found: Tensor = rewrapped(of(x.physical if isinstance(x, Batched) else x), levels)
    except (ValueError, TypeError, IndexError):
        return None  # the function itself says what is wrong
    return found
