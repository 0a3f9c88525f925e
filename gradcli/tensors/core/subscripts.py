"""``x[index]``: what PyTorch accepts as an index, as the static index of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.shapes import StaticArray, getitem
from gradcli.tensors.core.batched import batched_in, levels_of, one_by_one
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


def get(x: Tensor, index: Any) -> Tensor:
    """The entries at an index: a view where NumPy has one."""
    if state.batch_levels and levels_of(batched_in(list(index) if isinstance(index, tuple) else index)):
        parts: Tensor = one_by_one(
            lambda y, *places: get(y, places if isinstance(index, tuple) else places[0]),
            (x, *(index if isinstance(index, tuple) else (index,))),
            {},
        )
        return parts
    place = static_index(x, index)
    if len(place) == x.array.ndim and all(type(part) is int for part in place):
        place = (*place, ...)  # an entry, too, is a view
    try:
        result: Tensor = x.apply_op(getitem, (x,), {"index": place})
    except (IndexError, ShapeError) as error:
        raise IndexError(_said(x, index, str(error))) from None
    return result


def rows(x: Tensor) -> Iterator[Tensor]:
    """The entries along the first axis, one after the other."""
    if not x.array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    found = [get(x, i) for i in range(len(x.array))]
    for row in found:
        if row.node is not None:
            row.node.label = "UnbindBackward0"
    return iter(found)


def static_index(x: Tensor, index: Any) -> tuple[Any, ...]:
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list) and any(isinstance(part, (slice, type(...))) or part is None for part in index):
        parts = tuple(index)
    return tuple(_part(x, part) for part in parts)


def _part(x: Tensor, part: Any) -> Any:
    if part is None or part is ...:
        return part
    if isinstance(part, slice):
        # negative steps, which PyTorch refuses, are NumPy's
        return tuple(None if b is None else int(b) for b in (part.start, part.stop, part.step))
    if isinstance(part, (bool, np.bool_)):
        return StaticArray(np.asarray(part))
    if isinstance(part, (int, np.integer)):
        return int(part)
    array = part.array if isinstance(part, Tensor) else np.asarray([p.item() if isinstance(p, Tensor) else p for p in part])
    if not array.size and array.dtype.kind == "f" and not isinstance(part, Tensor):
        array = array.astype(np.int64)
    if array.dtype.kind == "f" or array.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return int(array) if not array.ndim and array.dtype.kind != "b" else StaticArray(array)


def _said(x: Tensor, index: Any, message: str) -> str:
    if "boolean index did not match" in message:
        mask = next((p for p in (index if isinstance(index, tuple) else (index,)) if isinstance(p, Tensor)), None)
        if mask is not None:
            have, wanted = list(mask.shape), list(x.shape)
            return f"The shape of the mask {have} at index 0 does not match the shape of the indexed tensor {wanted} at index 0"
    if "too many indices" in message:
        return f"too many indices for tensor of dimension {x.ndim}"
    return message.replace("axis", "dimension")
