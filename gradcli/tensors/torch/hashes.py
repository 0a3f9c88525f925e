"""``torch.hash_tensor``: one whole number of 64 bits for the entries along axes, which is another one if one of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import AxisError
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked


def _hash_tensor(x: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The bits of all entries, floats as float64, put together by exclusive or."""
    array = x.array
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    for axis in given:
        if not -max(array.ndim, 1) <= axis < max(array.ndim, 1):
            raise AxisError(axis, array.ndim)
    if not given and not array.size:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    axes = tuple(axis % array.ndim for axis in given) if array.ndim else ()
    for axis in axes:
        if not array.shape[axis]:
            raise IndexError(f"hash_tensor: Expected reduction dim {axis} to have non-zero size.")
    wide = array.astype(np.float64) if array.dtype.kind in FLOATS else array.astype(np.int64)
    every = axes or tuple(range(array.ndim))
    found: Any = np.bitwise_xor.reduce(wide.view(np.uint64), axis=every)
    found = np.expand_dims(found, every) if keepdim else found
    return Tensor(np.asarray(found))


HASHES: dict[str, Callable[..., Any]] = {"hash_tensor": checked(by_example(_hash_tensor), "hash_tensor")}
HASH_METHODS: dict[str, Callable[..., Any]] = {"hash_tensor": checked(by_example(_hash_tensor), "hash_tensor", "Tensor")}
