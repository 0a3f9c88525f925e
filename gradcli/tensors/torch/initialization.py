"""``torch.nn.init``: tensors filled as networks begin, in place and outside of the graph."""

from __future__ import annotations

import math
from math import erf
from typing import Any

import numpy as np

from gradcli.tensors.core.modes import no_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.generator import permutation


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """What a layer's weights are scaled by before a nonlinearity, so that the variance stays."""
    if nonlinearity in ("linear", "sigmoid", *(f"conv{t}{n}d" for n in (1, 2, 3) for t in ("", "_transpose"))):
        return 1
    match nonlinearity:
        case "tanh":
            return 5 / 3
        case "relu":
            return math.sqrt(2)
        case "leaky_relu":
            return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
        case "selu":
            return 3 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _uniform(tensor: Tensor, low: float, high: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.uniform_(low, high, generator=generator)


def _normal(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    return _uniform(tensor, a, b, generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    return _normal(tensor, mean, std, generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(Tensor(np.eye(*tensor.shape, dtype=tensor.array.dtype)))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return _uniform(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    return _normal(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return _uniform(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None) -> Tensor:
    return _normal(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None) -> Tensor:
    """Normal numbers between a and b: drawn until all are, or, where few would be, evenly and taken as often as the density says."""
    low, high = ((1 + erf((bound - mean) / (std * math.sqrt(2)))) / 2 for bound in (a, b))
    drawn = Tensor(np.empty(tensor.shape, tensor.array.dtype))
    with no_grad():
        if high - low > 0.3:
            tensor.normal_(mean, std, generator=generator)
            outside = (tensor < a) | (tensor > b)
            while outside.any():
                tensor.copy_(drawn.normal_(mean, std, generator=generator).where(outside, tensor))
                outside = (tensor < a) | (tensor > b)
            return tensor
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
        pending = Tensor(np.ones(tensor.shape, np.bool_))
        while pending.any():
            tensor.copy_(drawn.uniform_(a, b, generator=generator).where(pending, tensor))
            density = -0.5 * ((drawn - mean) / std) ** 2 - peak
            pending &= drawn.clone().uniform_(generator=generator).log_() > density
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows or columns that are orthonormal, as many as there are."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.array.size:
        return tensor
    rows, columns = tensor.shape[0], tensor.array.size // tensor.shape[0]
    with no_grad():
        flat = Tensor(np.empty((rows, columns), tensor.array.dtype)).normal_(0, 1, generator=generator)
        q, r = np.linalg.qr(flat.array.T if rows < columns else flat.array)
        q = q * np.sign(np.diagonal(r))
        return tensor.copy_(Tensor(np.ascontiguousarray((q.T if rows < columns else q) * gain).reshape(tensor.shape)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Filters that leave as many channels as they are as there are."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    filters = np.zeros(tensor.shape, tensor.array.dtype)
    each = tensor.shape[0] // groups
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            filters[(group * each + channel, channel, *(n // 2 for n in tensor.shape[2:]))] = 1
    with no_grad():
        return tensor.copy_(Tensor(filters))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, and a fraction of each column zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor.array[permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor
