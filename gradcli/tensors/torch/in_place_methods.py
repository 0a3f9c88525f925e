"""Methods that give a tensor new content, or a new shape, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.pytorch import unbroadcastable
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import check_no_examples, memory_of
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.entry_writing import mismatch, write
from gradcli.tensors.core.halves import drawn_in, is_half
from gradcli.tensors.core.in_place import check_places, check_writable, replace, update
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.storage import writable
from gradcli.tensors.core.subscripts import mask_of
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.generator import below, in_memory_order, normal, uniform
from gradcli.tensors.torch.memory_methods import rearranged


def _copy(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    value = as_tensor(source)
    check_writable(x, value)
    check_places(x)
    said = unbroadcastable([x.array.shape, value.array.shape])
    if said:
        raise RuntimeError(said)
    if value.array.ndim > x.array.ndim:
        have, common = list(x.array.shape), list(np.broadcast_shapes(x.array.shape, value.array.shape))
        raise RuntimeError(f"output with shape {have} doesn't match the broadcast shape {common}")
    return replace(x, value.to(x.dtype), "CopyBackwards")


def _filled(x: Tensor, value: Any) -> Tensor:
    return _written(x, value, "FillBackward0")


def _written(x: Tensor, value: Any, label: str) -> Tensor:
    if not hasattr(value, "__float__"):
        raise TypeError(f"fill_(): argument 'value' must be Number, not {type(value).__name__}")
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions.")
        value = value.to(x.dtype) if value.requires_grad or state.interpreter is not None else value.item()
    check_writable(x, value)
    if not writable(memory_of(x)):
        check_places(x)
    return replace(x, value, label)


def _zeroed(x: Tensor) -> Tensor:
    return _written(x, 0, "ZeroBackward0")


def _index_put(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    if isinstance(values, Tensor) and values.dtype != x.dtype:
        raise RuntimeError(mismatch(x, values))
    if accumulate:
        masks = tuple(Tensor(mask_of(part.array)) for part in indices)
        return update(x, "index_put", (masks, values, True), {})
    write(x, tuple(indices), values)
    return x


def _rearranged(name: str) -> Callable[..., Tensor]:
    """In-place methods that change a tensor's shape, not its entries."""

    def change(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return rearranged(x, lambda now: call(name, TORCH, (now, *arguments), keywords))

    return change


def _check_floats(x: Tensor, name: str) -> None:
    if x.array.dtype.kind not in dtypes.FLOATS:
        raise dtypes.untaken(name, x.array.dtype)


def _uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    _check_floats(x, "uniform_")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    kind = x.array.dtype

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        drawn = uniform(shape, drawn_in(kind), generator) * (high - low) + low
        return below(high, drawn.astype(kind), low) if is_half(kind) else drawn

    return _drawn(x, draw, "UniformBackward0")


def _normal(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    _check_floats(x, "normal_")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    check_no_examples()
    kind, whole, few_bits = drawn_in(x.array.dtype), x.array.flags.c_contiguous, is_half(x.array.dtype)
    return _drawn(x, lambda shape: normal(shape, kind, generator, whole, few_bits) * std + mean, "NormalBackward0")


def _drawn(x: Tensor, draw: Callable[[tuple[int, ...]], np.ndarray], label: str) -> Tensor:
    check_no_examples()
    check_writable(x)
    check_places(x)
    return replace(x, Tensor(in_memory_order(x.array, draw).astype(x.array.dtype)), label)


def _float_power(x: Tensor, exponent: Any) -> Tensor:
    if x.dtype != dtypes.float64:
        kind = x.dtype.in_messages
        raise RuntimeError(f"the base given to float_power_ has dtype {kind} but the operation's result requires dtype Double")
    return update(x, "float_power", (exponent,), {})


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "copy_": _copy,
    "index_put_": _index_put,
    "fill_": _filled,
    "zero_": _zeroed,
    "uniform_": _uniform,
    "normal_": _normal,
    "float_power_": _float_power,
    **{f"{name}_": _rearranged(name) for name in ("t", "squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims")},
}
