"""What PyTorch has for tensors of other layouts, numbers and places, of those that are dense, of plain numbers, and here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gradcli.tensors.core import dtypes, storage
from gradcli.tensors.core.casts import cast, clone_of
from gradcli.tensors.core.layouts import contiguous_format, memory_format
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import all_checked
from gradcli.tensors.torch.no_derivatives import underived

_AMBIGUOUS = "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
_FORMATS = "The ambiguity_check argument must be a bool or a list of memory formats."


def _to_dense(x: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense; or in another dtype."""
    found: Tensor = x if dtype is None else x.to(dtype)
    return found


def _dense_dim(x: Tensor) -> int:
    return x.ndim


def _sparse_dim(x: Tensor) -> int:
    return 0


def _dequantize(x: Tensor) -> Tensor:
    """As float32, which is the tensor itself if it is; PyTorch has no derivative of it."""
    if x.array.dtype == np.float32:
        return underived("dequantize", x.detach(), [x]) if x.requires_grad else x
    made: Tensor = underived("aten::dequantize", cast(x.detach(), np.dtype(np.float32)), [x])
    return made


def _dim_order(x: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The axes from the one with the largest steps through memory to that with the smallest."""
    if not isinstance(ambiguity_check, (bool, list)):
        raise TypeError(_FORMATS)
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not all(isinstance(known, memory_format) for known in formats):
        raise TypeError(_FORMATS)
    strides, shape = storage.strides(x.array), x.array.shape
    several = 1 in shape or any(a == b for a, b in itertools.pairwise(strides))
    if ambiguity_check and several and sum(x.is_contiguous() for known in formats if known is contiguous_format) != 1:
        raise RuntimeError(_AMBIGUOUS)
    order = list(reversed(range(x.array.ndim)))  # the smallest steps first, as long as nothing else is known
    for last in range(1, len(order)):
        moving = last
        for place in reversed(range(last)):
            compared = _compared(strides, shape, order[place], order[moving])
            if compared < 0:
                break
            if compared > 0:
                order[place], order[moving], moving = order[moving], order[place], place
    return tuple(reversed(order))


_dim_order.__qualname__ = "Tensor.dim_order"


def _compared(strides: tuple[int, ...], shape: tuple[int, ...], first: int, second: int) -> int:
    """Which of two axes has the larger steps: positive for the first one, 0 where nothing says it."""
    if not strides[first] or not strides[second]:
        return 0
    return strides[first] - strides[second] or int(shape[first] > shape[second])


def _const_data_ptr(x: Tensor) -> int:
    address: int = x.data_ptr()
    return address


def _never(x: Tensor) -> bool:
    return False


def _detach_copy(x: Tensor) -> Tensor:
    """A copy, of which PyTorch has no derivative."""
    copied: Tensor = underived("aten::detach_copy", clone_of(x.detach()), [x])
    return copied


def _to_dlpack(x: Tensor) -> Any:
    """The tensor for another library, as the protocol DLPack has it."""
    return x.array.__dlpack__()


def _dlpack(x: Tensor, **asked: Any) -> Any:
    """The same as a method: another library's ``from_dlpack`` calls it."""
    if x.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return x.array.__dlpack__(**asked)


def _dlpack_device(x: Tensor) -> tuple[int, int]:
    return x.array.__dlpack_device__()


def _from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with another library's."""
    array = ext_tensor.array if isinstance(ext_tensor, Tensor) else np.from_dlpack(ext_tensor)
    if not array.flags.writeable or copy:
        array = array.copy()
    dtypes.of_numpy(array.dtype)
    return Tensor(array)


def _of_layout(name: str, layout: str) -> Callable[..., NoReturn]:
    """A method of tensors in a sparse layout."""

    def refuse(x: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected sparse {layout}tensor layout but got Strided")

    return refuse


def _of_backend(name: str) -> Callable[..., NoReturn]:
    """A function that PyTorch has for quantized or sparse tensors only."""

    def refuse(x: Tensor, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It is for quantized or sparse tensors; those of gradcli "
            "are dense"
        )

    return refuse


_ROWS, _COLUMNS = "row compressed ", "column compressed "
_REFUSED: dict[str, Callable[..., Any]] = {
    **{name: _of_layout(name, layout) for name, layout in (
        ("coalesce", "coordinate "), ("is_coalesced", "coordinate "), ("indices", "coordinate "), ("values", ""),
        ("crow_indices", _ROWS), ("col_indices", _ROWS), ("ccol_indices", _COLUMNS), ("row_indices", _COLUMNS),
    )},
    **{name: _of_backend(name) for name in (
        "int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
        "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "hspmm",
    )},
}  # fmt: skip


def _sspaddmm(x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> NoReturn:
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


def _smm(x: Tensor, mat2: Tensor) -> NoReturn:
    _sspaddmm(x, x, mat2)


_BOTH: dict[str, Callable[..., Any]] = {
    "dequantize": _dequantize, "is_distributed": _never, "smm": _smm, "sspaddmm": _sspaddmm,
    **{name: function for name, function in _REFUSED.items() if name.startswith(("q_", "int_repr"))},
}  # fmt: skip
DENSE: dict[str, Callable[..., Any]] = {
    **all_checked({**_BOTH, "detach_copy": _detach_copy, "to_dlpack": _to_dlpack, "from_dlpack": _from_dlpack}),
    "hspmm": _REFUSED["hspmm"], "hsmm": _REFUSED["hspmm"], "saddmm": _sspaddmm, "is_vulkan_available": lambda: False,
}  # fmt: skip
DENSE_METHODS: dict[str, Callable[..., Any]] = all_checked({
    **_BOTH, **{name: function for name, function in _REFUSED.items() if name != "hspmm"},
    "to_dense": _to_dense, "dense_dim": _dense_dim, "sparse_dim": _sparse_dim, "dim_order": _dim_order, "const_data_ptr": _const_data_ptr,
}, "Tensor") | {"__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device}  # fmt: skip
