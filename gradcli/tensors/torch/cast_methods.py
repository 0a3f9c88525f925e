"""Methods that keep a tensor's entries, in another dtype or in other memory."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import cast, clone_of
from gradcli.tensors.core.device import check_device
from gradcli.tensors.core.device import device as torch_device
from gradcli.tensors.core.tensor import Tensor


def _to(
    x: Tensor, *arguments: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The same entries in another dtype; its gradient is cast back."""
    for place, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, dtypes.dtype) or argument in (float, int, bool) or dtypes.of_pytorch(argument) is not None:
            dtype = argument
        elif isinstance(argument, (bool, np.bool_)):
            continue
        elif place or not isinstance(argument, (str, int, torch_device, NoneType)):
            raise TypeError(f"to(): its argument {place + 1} is no dtype, no device and no tensor, but {type(argument).__name__}")
        else:
            device = argument
    check_device(device)
    if dtype is None or dtypes.as_numpy(dtype) == x.array.dtype:
        return clone_of(x) if copy else x
    return cast(x, dtypes.as_numpy(dtype))


def _type(x: Tensor, dtype: Any = None) -> Any:
    if dtype is None:
        return f"torch.{x.dtype.tensor_type}"
    if isinstance(dtype, str):
        raise ValueError(f"invalid type: {dtype!r}: gradcli has dtypes, such as torch.float64")
    if not (isinstance(dtype, (type, dtypes.dtype)) or dtypes.of_pytorch(dtype) is not None):
        raise TypeError("dtype must be a type or a dtype")
    return _to(x, dtype)


def _astype(x: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """NumPy's name for a copy in another dtype."""
    kind = np.dtype(dtype) if isinstance(dtype, str) else dtypes.as_numpy(dtype)
    return _to(x, dtypes.of_numpy(kind), copy=copy)


def _type_as(x: Tensor, other: Tensor) -> Tensor:
    return _to(x, other.dtype)


def _in(kind: dtypes.dtype) -> Callable[[Tensor], Tensor]:
    """The method that converts to this dtype."""
    return lambda x: _to(x, kind)


def _on_the_processor(x: Tensor, *, memory_format: Any = None) -> Tensor:
    return x


def _pinned(x: Tensor, device: Any = None) -> Tensor:
    return x


def _itself(x: Tensor) -> Tensor:
    return x


def _positive(x: Tensor) -> Tensor:
    if x.array.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


CASTS: dict[str, Callable[..., Any]] = {
    "to": _to, "astype": _astype, "type": _type, "type_as": _type_as,
    "float": _in(dtypes.float32), "double": _in(dtypes.float64), "half": _in(dtypes.float16), "bfloat16": _in(dtypes.bfloat16),
    "long": _in(dtypes.int64),
    "int": _in(dtypes.int32), "short": _in(dtypes.int16), "bool": _in(dtypes.bool_), "char": _in(dtypes.int8), "byte": _in(dtypes.uint8),
    "clone": clone_of, "cpu": _on_the_processor, "pin_memory": _pinned,
    "positive": _positive, "resolve_conj": _itself, "resolve_neg": _itself,
}  # fmt: skip
