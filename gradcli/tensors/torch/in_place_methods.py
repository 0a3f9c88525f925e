"""Methods that give a tensor new content, or a new shape, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.elementwise.logic import where
from gradcli.tensors.core.casts import as_tensor, clone_of
from gradcli.tensors.core.in_place import assign, before, check_writable
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.generator import normal, uniform


def _copy(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    check_writable(x)
    value = as_tensor(source).to(x.dtype)
    spread = value if value.array.shape == x.array.shape else broadcast_to(value, shape=x.array.shape)
    written = clone_of(spread)
    if written.node is not None:
        written.node.label = "CopyBackwards"
    return assign(x, written)


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


def _reshaped(name: str) -> Callable[..., Tensor]:
    """In-place methods that change a tensor's shape, not its entries."""

    def change(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        result: Tensor = call(name, TORCH, (x, *arguments), keywords)
        x.array, x.node, x._requires_grad, x._view = result.array, result.node, result.requires_grad, result._view
        return x

    return change


def _uniform(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    check_writable(x)
    return _drawn(x, uniform(x.array.shape, x.array.dtype, generator) * (high - low) + low)


def _normal(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    check_writable(x)
    return _drawn(x, normal(x.array.shape, x.array.dtype, generator) * std + mean)


def _drawn(x: Tensor, numbers: np.ndarray) -> Tensor:
    return assign(x, Tensor(numbers.astype(x.array.dtype)))


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "copy_": _copy,
    "fill_": _filled,
    "zero_": _zeroed,
    "uniform_": _uniform,
    "normal_": _normal,
    **{f"{name}_": _reshaped(name) for name in ("t", "squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims")},
}
