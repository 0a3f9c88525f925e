"""The memory behind tensors: the array that holds it, and where a tensor's entries are in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import last_place


def root(array: np.ndarray) -> np.ndarray:
    """The array whose memory an array shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def strides(array: np.ndarray) -> tuple[int, ...]:
    """The steps from entry to entry, counted in entries."""
    return tuple([step // array.itemsize for step in array.strides])


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of entries that stand in memory in their order."""
    return tuple(math.prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def stands_in_order(array: Any) -> bool:
    """Whether an array's entries stand in memory in their order."""
    return all(n == 1 or a == b for n, a, b in zip(array.shape, strides(array), in_order(array.shape), strict=True)) or not array.size


def distance(array: np.ndarray, other: np.ndarray) -> int:
    """How many entries after another's first one an array's first one is."""
    return (_address(array) - _address(other)) // array.itemsize


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def start(array: np.ndarray) -> int:
    """The place of an array's first entry in its storage."""
    return distance(array, root(array))


def placed(array: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> np.ndarray:
    """The entries of an array's storage at other places. Raises RuntimeError where there is no such place."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    memory = root(array)
    item = array.itemsize
    needed = (offset + last_place(size, stride) + 1) * item if 0 not in size else 0
    if needed > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} requiring a storage "
            f"size of {needed} are out of bounds for storage of size {memory.nbytes}"
        )
    in_order = memory.transpose(sorted(range(memory.ndim), key=lambda axis: -memory.strides[axis]))  # as it stands in memory
    return np.ndarray(size, array.dtype, in_order, offset * item if needed else 0, [s * item for s in stride])


def writable(array: np.ndarray) -> bool:
    """Whether an array can be written to, as it can from now on if its memory can."""
    if not array.flags.writeable:
        if not root(array).flags.writeable:
            return False
        array.flags.writeable = True
    return True


def repeats(array: np.ndarray) -> bool:
    """Whether several of its entries are one place in memory, as PyTorch looks for it."""
    return 0 in array.strides and array.size > 1 and any(n > 1 and not s for n, s in zip(array.shape, array.strides, strict=True))


def crowded(array: np.ndarray) -> bool:
    """Whether there are more entries than places in memory, although no axis stands still."""
    return array.size > last_place(array.shape, strides(array)) + 1 and not repeats(array)
