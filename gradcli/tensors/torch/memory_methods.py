"""Methods about a tensor's memory: where its entries are in it, and other arrangements of it."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import storage
from gradcli.tensors.core.batched import Batched, in_front, rewrapped
from gradcli.tensors.core.casts import clone_of
from gradcli.tensors.core.in_place import check_writable
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import regraph
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.dispatch.regions import region

# -- where it is --------------------------------------------------------------------------------------------------


def _stride(x: Tensor, dim: int | None = None) -> Any:
    found = storage.strides(x.array)
    return found if dim is None else found[dim]


def _storage_offset(x: Tensor) -> int:
    return storage.start(x.array)


def _is_contiguous(x: Tensor, *, memory_format: Any = None) -> bool:
    return storage.stands_in_order(x.array)


# -- other arrangements -------------------------------------------------------------------------------------------


def _contiguous(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself if its entries are in memory in their order, or a copy of which that holds."""
    if storage.stands_in_order(x.array):
        return x
    if isinstance(x, Batched):
        found: Tensor = rewrapped(_contiguous(x.physical), x.levels)
        return found
    copied = clone_of(x)
    copied.array = np.ascontiguousarray(copied.array)
    return copied


def _view(x: Tensor, *shape: Any) -> Tensor:
    """The entries in another shape, without a copy."""
    result: Tensor = call("view", TORCH, (x, *shape), {})
    if x.array.size and not isinstance(x, Batched) and not np.may_share_memory(result.array, x.array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(index(n) for n in (given if isinstance(given, (tuple, list)) else (given,)))


def _as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of a tensor's storage with these sizes, strides and offset."""
    memory = x.physical.array if isinstance(x, Batched) else x.array
    offset = storage.start(memory) if storage_offset is None else int(storage_offset)
    return region(x, _sizes(size), _sizes(stride), offset)


def rearranged(x: Tensor, arrange: Callable[[Tensor], Tensor]) -> Tensor:
    """Make x the view of itself that a function makes of it."""
    if isinstance(x, Batched):
        rearranged(x.physical, lambda now: in_front(arrange(rewrapped(now, x.levels)), x.levels))
        return x
    check_writable(x)
    if state.before_writing is not None:
        state.before_writing(x)
    x._refresh()
    now = Tensor(x.array)
    now._version_counter, now._inference, now._view = x._version_counter, x._inference, x._view
    now.node, now._requires_grad, now._accumulator = x.node, x._requires_grad, x._accumulator
    now._tangents = x._tangents
    if state.recorder is not None:
        state.recorder.rename(now, x)
    follow = x.node is not None and x._view is None and not state.inference  # what arrives at a node has the shape of its result
    with Mode(recording=state.recording or follow):
        result = arrange(now)
    x.array, x._tangents = result.array, result._tangents
    x._version_counter[0] += 1
    if result.node is not None and result is not now and (x._view is None or state.recording):
        regraph(x, result.node)
    if state.recorder is not None:
        state.recorder.rename(x, result)
    return x


MEMORY: dict[str, Callable[..., Any]] = {
    "stride": _stride, "storage_offset": _storage_offset, "is_contiguous": _is_contiguous, "contiguous": _contiguous, "view": _view,
    "as_strided": _as_strided,
}  # fmt: skip
