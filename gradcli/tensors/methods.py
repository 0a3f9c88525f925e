"""Methods of tensors that are no operators: PyTorch's plain ones, and every function of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.dialects import names
from gradcli.ops.logic import where
from gradcli.ops.prefixes import TORCH
from gradcli.ops.spec import public_names
from gradcli.ops.structure import clone
from gradcli.tensors import creation, dtypes
from gradcli.tensors.host import call, known, missing
from gradcli.tensors.inplace import assign, before, check_writable, update
from gradcli.tensors.tensor import Tensor


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
    creation._check_device(device)
    if dtype is None or dtypes.as_numpy(dtype) == x.array.dtype:
        return clone_of(x) if copy else x
    return _cast(x, dtypes.as_numpy(dtype))


def _cast(x: Tensor, kind: np.dtype[Any]) -> Tensor:
    from gradcli.tensors.modes import state
    from gradcli.tensors.node import Node

    with np.errstate(all="ignore"):
        result = Tensor(x.array.astype(kind))
    if x.requires_grad and state.recording and kind.kind == "f":
        # contributions are cast to the operand's dtype by the sweep
        node = Node(clone, (x.gradient_node(),), {}, result.array.shape, result.array.dtype, "ToCopyBackward0")
        node.saved = (result.array, result.array)
        result.node, result._requires_grad = node, True
    if state.recorder is not None:
        state.recorder.note(clone, (x,), {}, result)
    return result


def clone_of(x: Tensor, *, memory_format: Any = None) -> Tensor:
    copied: Tensor = x.apply_op(clone, (x,), {})
    return copied


def _size(x: Tensor, dim: int | None = None) -> Any:
    return x.shape if dim is None else x.array.shape[dim]


def _type(x: Tensor, dtype: Any = None) -> Any:
    return f"torch.{x.dtype.tensor_type}" if dtype is None else _to(x, dtype)


def _copy(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    check_writable(x)
    value = creation.as_tensor(source).to(x.dtype)
    from gradcli.ops.shapes import broadcast_to

    spread = value if value.array.shape == x.array.shape else value.apply_op(broadcast_to, (value,), {"shape": x.array.shape})
    return assign(x, clone_of(spread))


def _filled(x: Tensor, value: Any) -> Tensor:
    check_writable(x)
    number = value.item() if isinstance(value, Tensor) else value
    result: Tensor = where(np.zeros(x.array.shape, np.bool_), before(x), number)
    if result.node is not None:
        result.node.label = "FillBackward0"
    return assign(x, result)


def _zeroed(x: Tensor) -> Tensor:
    _filled(x, 0)
    if x.node is not None and x._view is None:
        x.node.label = "ZeroBackward0"
    return x


def _contiguous(x: Tensor, *, memory_format: Any = None) -> Tensor:
    return x if x.array.flags.c_contiguous else clone_of(x)


def _view(x: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The entries in another shape, without a copy."""
    if dtype is not None or (shape and isinstance(shape[0], dtypes.dtype)):
        return Tensor(x.array.view(dtypes.as_numpy(dtype or shape[0])))
    result: Tensor = call("view", TORCH, (x, *shape), {})
    if x.array.size and not np.may_share_memory(result.array, x.array):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return result


def _reshaped(name: str) -> Callable[..., Tensor]:
    """In-place methods that change a tensor's shape, not its entries."""

    def change(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        result: Tensor = call(name, TORCH, (x, *arguments), keywords)
        x.array, x.node, x._requires_grad, x._view = result.array, result.node, result.requires_grad, result._view
        return x

    return change


def _drawn(draw: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    def fill(
        x: Tensor, first: float = 0.0, second: float = 1.0, *, generator: Any = None, mean: float | None = None, std: float | None = None
    ) -> Tensor:
        check_writable(x)
        low, scale = (
            (first, second - first)
            if draw is creation.generator.uniform
            else (first if mean is None else mean, second if std is None else std)
        )
        return assign(x, Tensor((draw(x.array.shape, x.array.dtype, generator) * scale + low).astype(x.array.dtype)))

    return fill


def _new(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, *size, dtype=None, **keywords: make(*size, dtype=dtype or x.dtype, **keywords)


def _all_close(x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.allclose(x.array, other.array, rtol, atol, equal_nan))


def _is_close(x: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    return Tensor(np.asarray(np.isclose(x.array, other.array, rtol, atol, equal_nan)))


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    return lambda x, dim=None, keepdim=False: Tensor(np.asarray(reduce(x.array, axis=dim, keepdims=keepdim)))


def _equal(x: Tensor, other: Tensor) -> bool:
    return x.array.shape == other.array.shape and bool((x.array == other.array).all())


def _nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    places = np.nonzero(np.atleast_1d(x.array))
    if as_tuple:
        return tuple(Tensor(p) for p in places)
    return Tensor(np.stack(places, axis=-1) if x.array.ndim else np.zeros((len(places[0]), 0), np.int64))


def _unique(x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    found = np.unique(x.array, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    return tuple(Tensor(f) for f in found) if isinstance(found, tuple) else Tensor(found)


def _requires_nothing(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x


# What is no function of the catalogue: entries, dtypes, memory.
PLAIN: dict[str, Callable[..., Any]] = {
    "size": _size, "dim": lambda x: x.array.ndim, "ndimension": lambda x: x.array.ndim, "numel": lambda x: x.array.size,
    "nelement": lambda x: x.array.size, "element_size": lambda x: x.array.itemsize, "stride": lambda x: tuple(s // x.array.itemsize for s in x.array.strides),
    "is_floating_point": lambda x: x.dtype.is_floating_point, "is_complex": lambda x: False, "is_signed": lambda x: x.array.dtype.kind != "u",
    "is_contiguous": lambda x, **_: bool(x.array.flags.c_contiguous), "data_ptr": lambda x: x.array.ctypes.data, "get_device": lambda x: -1,
    "to": _to, "type": _type, "type_as": lambda x, other: _to(x, other.dtype), "float": lambda x: _to(x, dtypes.float32),
    "double": lambda x: _to(x, dtypes.float64), "half": lambda x: _to(x, dtypes.float16), "long": lambda x: _to(x, dtypes.int64),
    "int": lambda x: _to(x, dtypes.int32), "short": lambda x: _to(x, dtypes.int16), "bool": lambda x: _to(x, dtypes.bool_),
    "cpu": _requires_nothing, "contiguous": _contiguous, "view": _view,
    **{f"{name}_": _reshaped(name) for name in ("t", "squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims")},
    "zero_": _zeroed, "pin_memory": _requires_nothing, "clone": clone_of, "copy_": _copy,
    "fill_": _filled, "uniform_": _drawn(creation.generator.uniform), "normal_": _drawn(creation.generator.normal),
    "new_zeros": _new(creation.zeros), "new_ones": _new(creation.ones), "new_empty": _new(creation.empty), "new_full": _new(creation.full),
    "new_tensor": lambda x, data, **keywords: creation.tensor(data, **{"dtype": x.dtype, **keywords}), "allclose": _all_close, "isclose": _is_close,
    "equal": _equal, "all": _truth(np.all), "any": _truth(np.any), "nonzero": _nonzero, "unique": _unique, "is_inference": lambda x: x._inference,
    "count_nonzero": lambda x, dim=None: Tensor(np.asarray(np.count_nonzero(x.array, axis=dim))),
    "bincount": lambda x, weights=None, minlength=0: Tensor(np.bincount(x.array, None if weights is None else weights.array, minlength)),
}  # fmt: skip


def method(x: Tensor, name: str) -> Callable[..., Any]:
    """A method by its name. Raises AttributeError if PyTorch's tensors may have it and ours do not."""
    plain = PLAIN.get(name)
    if plain is not None:
        return partial(plain, x)
    if name.startswith("__") or name.startswith("_"):
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")
    if name.endswith("_") and (known(name[:-1]) is not None or name[:-1] in PLAIN):
        return lambda *arguments, **keywords: update(x, name[:-1], arguments, keywords)
    own = f"Tensor.{name}"  # declared where the method is not the function of that name
    function = name if known(own) is None else own
    if known(function) is None:
        raise AttributeError(missing(name, "Tensor"))
    return lambda *arguments, **keywords: call(function, TORCH, (x, *arguments), keywords)


def method_names() -> list[str]:
    return [*PLAIN, *public_names(), *names()]
