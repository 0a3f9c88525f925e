"""Methods about a tensor's memory: where its entries are in it, other arrangements of it, and other memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import last_place
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import dtypes, storage
from gradcli.tensors.core.batched import Batched, in_front, rewrapped
from gradcli.tensors.core.casts import clone_of
from gradcli.tensors.core.in_place import check_writable
from gradcli.tensors.core.levels import moves, same_region
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.storage import Storage
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry, regraph
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.dispatch.regions import region

# -- where it is --------------------------------------------------------------------------------------------------


def _stride(x: Tensor, dim: int | None = None) -> Any:
    found = storage.strides(x.array)
    return found if dim is None else found[dim]


def _address(x: Tensor) -> int:
    return x.array.ctypes.data if x.array.size else 0


def _storage_offset(x: Tensor) -> int:
    return storage.start(x.array)


def _untyped_storage(x: Tensor) -> Storage:
    return Storage(x.array)


def _storage(x: Tensor) -> Storage:
    return Storage(x.array, x.array.itemsize)


def _is_set_to(x: Tensor, other: Tensor) -> bool:
    return (
        x.array.shape == other.array.shape
        and storage.strides(x.array) == storage.strides(other.array)
        and storage.root(x.array).ctypes.data == storage.root(other.array).ctypes.data
        and _storage_offset(x) == _storage_offset(other)
    )


def _is_view(x: Tensor) -> bool:
    return x._view is not None


def _is_contiguous(x: Tensor, memory_format: Any = None) -> bool:
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


def _view(x: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The entries in another shape, without a copy; or the same memory as another dtype."""
    if dtype is not None or (shape and isinstance(shape[0], dtypes.dtype)):
        alias = Tensor(_as_kind(x.array, dtypes.as_numpy(dtype or shape[0])))
        alias._version_counter, alias._inference = x._version_counter, x._inference
        return alias
    result: Tensor = call("view", TORCH, (x, *shape), {})
    if x.array.size and not isinstance(x, Batched) and not np.may_share_memory(result.array, x.array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _as_kind(array: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    if kind.itemsize == array.itemsize:
        return array.view(kind)
    kinds = [dtypes.of_numpy(k).tensor_type.removesuffix("Tensor") for k in (array.dtype, kind)]
    if not array.ndim:
        raise RuntimeError("self.dim() cannot be 0 to view {} as {} (different element sizes)".format(*kinds))
    times, rest = divmod(kind.itemsize, array.itemsize)
    if not rest and array.shape[-1] % times:
        said = "self.size(-1) must be divisible by {} to view {} as {} (different element sizes), but got {}"
        raise RuntimeError(said.format(times, *kinds, array.shape[-1]))
    if storage.strides(array)[-1] != 1:
        raise RuntimeError(
            "self.stride(-1) must be 1 to view {} as {} (different element sizes), but got {}".format(*kinds, array.strides[-1])
        )
    return array.view(kind)


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in (given if isinstance(given, (tuple, list)) else (given,)))


def _as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of a tensor's storage with these sizes, strides and offset."""
    if isinstance(x, Batched):
        from_first = 0 if storage_offset is None else int(storage_offset) - storage.start(x.physical.array)
        return _as_strided_each(x, _sizes(size), _sizes(stride), from_first)
    offset = _storage_offset(x) if storage_offset is None else int(storage_offset)
    array = storage.placed(x.array, _sizes(size), _sizes(stride), offset)
    return region(x, array, lambda tangent: same_region(x, tangent, _sizes(size), _sizes(stride), offset))


def _as_strided_each(x: Batched, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Tensor:
    """The same of each example, as if it were alone in memory."""
    own = storage.strides(x.physical.array)[len(x.levels) :]
    if offset < 0 or offset + last_place(size, stride) > last_place(tuple(x.shape), own):
        raise RuntimeError(
            f"vmap: as_strided(size={list(size)}, stride={list(stride)}, storage_offset={offset}) reaches out of the memory of an example "
            f"of size {list(x.shape)} and stride {list(own)}"
        )
    found: Tensor = rewrapped(_region_of_each(x.physical, len(x.levels), size, stride, offset), x.levels)
    return found


def _region_of_each(x: Tensor, lead: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Tensor:
    """Of examples along so many axes in front."""

    def shown(array: np.ndarray) -> np.ndarray:
        sizes, steps = (*array.shape[:lead], *size), (*storage.strides(array)[:lead], *stride)
        return storage.placed(array, sizes, steps, storage.start(array) + offset)

    extents, own = x.array.shape[:lead], storage.strides(x.array)[lead:]
    memory = np.empty((*extents, last_place(x.array.shape[lead:], own) + 1), x.array.dtype)  # which examples may share
    apart = storage.placed(memory, x.array.shape, (*storage.strides(memory)[:-1], *own), 0)
    again = functools.partial(_region_of_each, lead=lead, size=size, stride=stride, offset=offset)
    return region(x, shown(x.array), again, place=geometry(apart, shown(apart)))


def _as_strided_in_place(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return rearranged(x, lambda now: _as_strided(now, size, stride, storage_offset))


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


# -- other memory -------------------------------------------------------------------------------------------------


def _set(
    x: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:  # fmt: skip
    """Take another tensor's memory, or a part of a storage."""
    if x.requires_grad and state.recording and x.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if x.requires_grad and state.recording and not x.is_leaf:
        raise RuntimeError("set_() cannot be called on a tensor that is part of a graph; call it on x.detach()")
    if moves(x):
        raise RuntimeError("set_() cannot be called on a tensor that moves in forward mode; call it on x.detach()")
    if source is None:
        x.array = np.empty(0, x.array.dtype)
    elif isinstance(source, Tensor) and size is None:
        _check_kind(source.array.dtype, x)
        x.array = source.array
    else:
        memory = source.array
        if isinstance(source, Storage):
            memory = memory if source.itemsize > 1 else storage.placed(memory.reshape(-1).view(np.uint8), (memory.nbytes,), (1,), 0)
            memory = memory.view(x.array.dtype) if source.itemsize == 1 else memory
        _check_kind(memory.dtype, x)
        extents = (memory.size,) if size is None else _sizes(size)
        x.array = storage.placed(memory, extents, storage.in_order(extents) if stride is None else _sizes(stride), int(storage_offset))
    x._version_counter[0] += 1
    node = x._accumulator()
    if node is not None:  # what arrives at a leaf has the shape that it has now
        node.shape = x.array.shape
    return x


def _check_kind(kind: np.dtype[Any], x: Tensor) -> None:
    if kind != x.array.dtype:
        found, wanted = (dtypes.of_numpy(k).tensor_type.removesuffix("Tensor") for k in (kind, x.array.dtype))
        raise RuntimeError(f"Expected a storage of dtype {wanted}, but got one of dtype {found}")


def _resize(x: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Other extents of the same storage, which grows where that is not enough: then the new entries are zeros."""
    extents = _sizes(size[0]) if len(size) == 1 else _sizes(size)
    if x.requires_grad and not state.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if moves(x):
        raise RuntimeError("cannot resize variables that has a forward grad")
    if min(extents, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(extents)}: {list(extents)}")
    if math.prod(max(n, 1) for n in extents[1:]) >= 1 << 63:
        raise RuntimeError("Stride calculation overflowed")
    if math.prod(extents) * x.array.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(extents)} and strides={list(storage.in_order(extents))}")
    if extents == x.array.shape:
        return x
    x._version_counter[0] += 1
    offset, memory = _storage_offset(x), storage.root(x.array)
    needed = offset + math.prod(extents)
    if needed * x.array.itemsize > memory.nbytes:
        grown = np.zeros(needed, x.array.dtype)
        held = memory.nbytes // x.array.itemsize
        grown[:held] = storage.placed(x.array, (held,), (1,), 0)
        memory = grown
    x.array = storage.placed(memory.view(x.array.dtype), extents, storage.in_order(extents), offset)
    return x


def _resize_as(x: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    return _resize(x, other.array.shape)


MEMORY: dict[str, Callable[..., Any]] = {
    "stride": _stride, "data_ptr": _address, "storage_offset": _storage_offset, "untyped_storage": _untyped_storage,
    "storage": _storage, "is_set_to": _is_set_to, "_is_view": _is_view, "is_contiguous": _is_contiguous,
    "contiguous": _contiguous, "view": _view, "as_strided": _as_strided, "as_strided_": _as_strided_in_place,
    "set_": _set, "resize_": _resize, "resize_as_": _resize_as,
}  # fmt: skip
