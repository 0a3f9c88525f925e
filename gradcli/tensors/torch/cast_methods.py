"""Methods that keep a tensor's entries: in another dtype, in other memory, in another shape of the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import cast, clone_of
from gradcli.tensors.core.device import check_device
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import call


def _to(x: Tensor, *arguments: Any, dtype: Any = None, device: Any = None, copy: bool = False, **_: Any) -> Tensor:
    """The same entries in another dtype; its gradient is cast back."""
    for argument in arguments:
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, dtypes.dtype) or argument in (float, int, bool):
            dtype = argument
        elif isinstance(argument, (bool, np.bool_)):
            continue
        else:
            device = argument
    check_device(device)
    if dtype is None or dtypes.as_numpy(dtype) == x.array.dtype:
        return clone_of(x) if copy else x
    return cast(x, dtypes.as_numpy(dtype))


def _type(x: Tensor, dtype: Any = None) -> Any:
    return f"torch.{x.dtype.tensor_type}" if dtype is None else _to(x, dtype)


def _type_as(x: Tensor, other: Tensor) -> Tensor:
    return _to(x, other.dtype)


def _in(kind: dtypes.dtype) -> Callable[[Tensor], Tensor]:
    """The method that converts to this dtype."""
    return lambda x: _to(x, kind)


def _contiguous(x: Tensor, *, memory_format: Any = None) -> Tensor:
    return x if x.array.flags.c_contiguous else clone_of(x)


def _view(x: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The entries in another shape, without a copy."""
    if dtype is not None or (shape and isinstance(shape[0], dtypes.dtype)):
        return Tensor(x.array.view(dtypes.as_numpy(dtype or shape[0])))
    result: Tensor = call("view", TORCH, (x, *shape), {})
    if x.array.size and type(x.array) is np.ndarray and not np.may_share_memory(result.array, x.array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _unchanged(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x


CASTS: dict[str, Callable[..., Any]] = {
    "to": _to, "type": _type, "type_as": _type_as,
    "float": _in(dtypes.float32), "double": _in(dtypes.float64), "half": _in(dtypes.float16), "long": _in(dtypes.int64),
    "int": _in(dtypes.int32), "short": _in(dtypes.int16), "bool": _in(dtypes.bool_),
    "clone": clone_of, "contiguous": _contiguous, "view": _view, "cpu": _unchanged, "pin_memory": _unchanged,
}  # fmt: skip
