"""``x[index] = value``: what an index chooses is written to, in the graph or without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.shapes import getitem, numpy_index, reshape
from gradcli.ops.structure import overwrite
from gradcli.tensors.core.batched import NotBatchedError, batched_in, example, levels_of
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.in_place import (
    NOT_BATCHED,
    assign,
    before,
    check_expandable,
    check_memory,
    check_places,
    check_writable,
    replace,
)
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.subscripts import Subscript, explained
from gradcli.tensors.core.tensor import Tensor


def write(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``; at ``False`` there is nothing to write to."""
    if index is False:
        return
    if state.batch_levels and levels_of(batched_in((x, index, value))):
        _write_batch(x, index, value)
        return
    new = value if isinstance(value, Tensor) else as_tensor(value, x.dtype)
    if new.array.size == 1 and _is_one_mask_of_bytes(index):
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    subscript = Subscript(x, index)
    if new.array.dtype != x.array.dtype:
        if subscript.chosen is not None and new.array.ndim:
            _check_fits(new.array, np.shape(subscript.region_of_array(x.array)[numpy_index(subscript.chosen)]))
            raise RuntimeError(mismatch(x, new))
        new = new.to(x.dtype)
    try:
        followed = state.recording and (x.requires_grad or new.requires_grad)
        if state.recorder is None and not followed and not state.forward_levels:
            check_writable(x)
            if state.before_writing is not None:
                state.before_writing(x)
            _write_array(subscript.region_of_array(x.array), subscript.chosen, new.array)
            x._version_counter[0] += 1
        else:
            _write(subscript.region(x), subscript.chosen, new)
    except (IndexError, ShapeError) as error:
        raise IndexError(explained(x, index, str(error))) from None


def _is_one_mask_of_bytes(index: Any) -> bool:
    """Whether bytes alone choose the entries, which PyTorch then fills by their mask."""
    chosen = [part for part in (index if isinstance(index, tuple) else (index,)) if isinstance(part, (Tensor, list, np.ndarray))]
    return len(chosen) == 1 and isinstance(chosen[0], Tensor) and chosen[0].array.dtype == np.uint8 and chosen[0].array.ndim > 0


def mismatch(x: Tensor, new: Tensor) -> str:
    """What is said of entries of another dtype that are put to indices."""
    return (
        f"Index put requires the source and destination dtypes match, got {x.dtype.in_messages} for the destination and "
        f"{new.dtype.in_messages} for the source."
    )


def _write_batch(x: Tensor, index: Any, value: Any) -> None:
    """Into one example after the other."""
    level = levels_of(batched_in((x, index, value)))[-1]
    if level not in levels_of([x]):
        raise NotBatchedError(NOT_BATCHED.format("aten::copy_(self, *extra_args)"))
    check_places(x)
    for i in range(level.size):
        part = example(x, level, i)
        write(
            part,
            example(index, level, i) if not isinstance(index, tuple) else tuple([example(p, level, i) for p in index]),
            example(value, level, i),
        )


def _write(region: Tensor, chosen: Any, new: Tensor) -> None:
    """Write in the graph: everything in a region, or what is chosen of it."""
    if chosen is None:
        check_writable(region, new)
        check_places(region)
        new = _without_leading(new, region.array.ndim)
        replace(region, new, "CopyBackwards" if new.array.ndim else "FillBackward0")
        return
    check_writable(region, new)
    shape = np.shape(getitem.forward(region.array, index=chosen))
    new = _without_leading(new, len(shape))
    _check_fits(new.array, shape)
    result: Tensor = overwrite(before(region), new, index=chosen)
    if result.node is not None:
        result.node.versions = []  # the indices are kept, once
    assign(region, result)


def _write_array(region: np.ndarray, chosen: Any, new: np.ndarray) -> None:
    """The same without a graph."""
    if chosen is None:
        check_memory(region)
        while new.ndim > region.ndim and new.shape[0] == 1:
            new = new[0]
        check_expandable(new, region.shape)
        region[...] = new
        return
    check_memory(region)
    place = numpy_index(chosen)
    shape = np.shape(region[place])
    while new.ndim > len(shape) and new.shape[0] == 1:
        new = new[0]
    _check_fits(new, shape)
    region[place] = new


def _without_leading(new: Tensor, ndim: int) -> Tensor:
    """PyTorch lets a value have leading axes of one entry that its place has not."""
    shape = new.array.shape
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    return new if shape == new.array.shape else reshape(new, shape=shape)


def _check_fits(new: np.ndarray, shape: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(new.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(new.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
