"""Layers of networks: linear and bilinear maps, and tables of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import broadcast_to, reshape, swapaxes, take_along, transpose
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import rsqrt
from gradcli.ops.elementwise.logic import where
from gradcli.ops.extended import Entrywise
from gradcli.ops.linalg.products import matmul
from gradcli.ops.nn.losses import class_labels
from gradcli.ops.reductions.sums import mean
from gradcli.ops.registry import Number, declare, function, is_number, room_for, structural, witness
from gradcli.ops.structure import detach


@function(torch="x, weight, bias", backward="Addmm")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias.

    >>> linear(x, w, b)
    """
    product = matmul(x, swapaxes(weight, axis1=0, axis2=1) if len(weight.shape) == 2 else weight)
    return product if bias is None else product + bias


@function(torch="input1, input2, weight, bias")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 @ weight[k] @ input2 for each k, plus bias.

    >>> bilinear(x, y, w)
    """
    outputs, rows, columns = weight.shape if len(weight.shape) == 3 else (0, 0, 0)
    if input1.shape[-1:] != (rows,) or input2.shape[-1:] != (columns,) or input1.shape[:-1] != input2.shape[:-1]:
        raise ShapeError(f"bilinear: shapes {tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(weight.shape)} do not fit")
    flat = reshape(transpose(weight, axes=(1, 0, 2)), shape=(rows, outputs * columns))
    half = reshape(matmul(input1, flat), shape=(*input1.shape[:-1], outputs, columns))
    product = reshape(matmul(half, expand_dims(input2, axis=-1)), shape=(*input1.shape[:-1], outputs))
    return product if bias is None else product + bias


@function(torch="input@weight, weight, padding_idx")
def embedding(input: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    """The rows of the weight at indices; the row padding_idx has no gradient.

    >>> embedding([0, 2], w)
    """
    if len(weight.shape) != 2:
        input, weight = weight, input
    if len(weight.shape) != 2:
        raise ShapeError("embedding: a weight of two axes is wanted, a row for each index")
    rows, width = weight.shape
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ArgumentError(f"embedding: padding_idx must be an index of the {rows} rows, not {padding_idx}")
        weight = where(np.arange(rows)[:, None] == padding_idx % rows, detach(weight), weight)
    index = reshape(class_labels(input, classes=rows, ignored=None), shape=(-1, 1))
    chosen = take_along(weight, broadcast_to(index, shape=(index.shape[0], width)), axis=0)
    return reshape(chosen, shape=(*input.shape, width))


# -- Normalizations: entries moved and scaled to mean 0 and variance 1 over some axes --------------


def _standardized_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, eps: float) -> tuple[Any]:
    scale = rsqrt(mean(square(x - mean(x, axis=axis, keepdims=True)), axis=axis, keepdims=True) + eps)
    along = mean(cotangent * out, axis=axis, keepdims=True)
    return (scale * (cotangent - mean(cotangent, axis=axis, keepdims=True) - out * along),)


def _standardized_rounds(m: Any, out: Any, x: Any, axis: Any, eps: float) -> Any:
    size = m.max(m.abs(x), axis=axis, keepdims=True)
    return 16 * (m.abs(out) + size / m.sqrt(m.var(x, axis=axis, keepdims=True) + eps))


@function(vjp=_standardized_vjp, shape=lambda shape, **_: shape, saves="x out", rounding=_standardized_rounds, public=False)
def standardized(x: Any, *, axis: Any, eps: float) -> Any:
    """(x - mean)/sqrt(variance + eps) over axes."""
    apart = x - mean(x, axis=axis, keepdims=True)
    return apart * rsqrt(mean(square(apart), axis=axis, keepdims=True) + eps)


def _normalized(x: Any, axis: Any, eps: Any) -> Any:
    return (standardized if is_number(eps) else standardized.definition)(x, axis=axis, eps=eps)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias


def _last_axes(name: str, x: Any, normalized_shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The axes that normalized_shape names, which are the last ones of x."""
    shape = normalized_shape if isinstance(normalized_shape, tuple) else (normalized_shape,)
    if not shape or tuple(x.shape[-len(shape) :]) != shape:
        raise ShapeError(f"{name}: the last axes of the shape {tuple(x.shape)} are not {shape}")
    if any(p is not None and p.shape != shape for p in parameters):
        raise ShapeError(f"{name}: weight and bias must have the shape {shape}")
    return tuple(range(-len(shape), 0))


machine_epsilon = structural(
    "machine_epsilon", "x", lambda x: np.finfo(np.asarray(x).dtype).eps,
    witness("arrays.machine_epsilon"), shape=lambda x: (),
    ulps=0, public=False,
    extended=Entrywise((None,), lambda x, epsilon: epsilon, epsilon=True),
    doc="The distance from 1 to the next number of x's precision.",
    numpy="np.finfo(np.float64).eps",
)  # fmt: skip


def _by_channel(name: str, x: Any, *parameters: Any) -> list[Any]:
    """Parameters with one entry for each channel (the second axis), so that they broadcast against x."""
    channels = x.shape[1] if len(x.shape) > 1 else x.shape[0]
    if any(p is not None and p.shape != (channels,) for p in parameters):
        raise ShapeError(f"{name}: one entry for each of {channels} channels is wanted in weight, bias and statistics")
    rest = (1,) * max(0, len(x.shape) - 2)
    return [None if p is None else reshape(p, shape=(channels, *rest)) for p in parameters]


def _by_statistics(name: str, x: Any, running_mean: Any, running_var: Any, eps: float) -> Any:
    if running_mean is None or running_var is None:
        raise ArgumentError(f"{name}: running_mean and running_var are needed without statistics of the input")
    centre, spread = _by_channel(name, x, running_mean, running_var)
    return (x - centre) * rsqrt(spread + eps)


@function(backward="NativeBatchNorm")
def batch_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None, *, training: bool = False,
    momentum: Any = 0.1, eps: Number = 1e-5,
) -> Any:  # fmt: skip
    """(x - mean)/sqrt(variance + eps) for each channel, times weight, plus bias; mean and variance are those of the batch (training), or
    running_mean and running_var.
    """
    if is_number(eps) and (eps < 0 or (training and not eps)):
        raise ArgumentError(f"batch_norm: eps must be positive, not {eps}")
    if len(x.shape) < 2 and x.shape != (0,):
        raise ShapeError(f"batch_norm: an input with channels along axis 1 is wanted, not the shape {tuple(x.shape)}")
    axes = (0, *range(2, len(x.shape)))
    if training and math.prod(x.shape[a] for a in axes) == 1:
        raise ShapeError(f"batch_norm: more than one value per channel is wanted when training, not the shape {tuple(x.shape)}")
    found = _normalized(x, axes, eps) if training else _by_statistics("batch_norm", x, running_mean, running_var, eps)
    return _affine(found, *_by_channel("batch_norm", x, weight, bias))


@function(torch="x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps")
def instance_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None, *, use_input_stats: bool = True,
    momentum: Any = 0.1, eps: Number = 1e-5,
) -> Any:  # fmt: skip
    """(x - mean)/sqrt(variance + eps) for each channel of each element of the batch, times weight, plus bias."""
    axes = tuple(range(2, len(x.shape)))
    if use_input_stats and math.prod(x.shape[a] for a in axes) == 1:
        raise ShapeError(f"instance_norm: more than one entry per channel is wanted, not the shape {tuple(x.shape)}")
    found = _normalized(x, axes, eps) if use_input_stats else _by_statistics("instance_norm", x, running_mean, running_var, eps)
    return _affine(found, *_by_channel("instance_norm", x, weight, bias))


@function(
    torch="x, normalized_shape, weight, bias, eps",
    backward="NativeLayerNorm",
)
def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, normalized_shape: Any, eps: Number = 1e-5) -> Any:
    """(x - mean)/sqrt(variance + eps) over the last axes, times weight, plus bias.

    >>> layer_norm(x, normalized_shape=(3,))
    """
    return _affine(_normalized(x, _last_axes("layer_norm", x, normalized_shape, weight, bias), eps), weight, bias)


@function(torch="x, normalized_shape, weight, eps")
def rms_norm(x: Any, weight: Any = None, *, normalized_shape: Any, eps: Number = None) -> Any:
    """x/sqrt(mean of squares + eps) over the last axes, times weight; eps is by default the precision's."""
    axes = _last_axes("rms_norm", x, normalized_shape, weight)
    return _affine(x * rsqrt(mean(square(x), axis=axes, keepdims=True) + (machine_epsilon(x) if eps is None else eps)), weight, None)


@function(torch="x, num_groups, weight, bias, eps", backward="NativeGroupNorm")
def group_norm(x: Any, weight: Any = None, bias: Any = None, *, num_groups: int, eps: Number = 1e-5) -> Any:
    """(x - mean)/sqrt(variance + eps) over groups of channels and all later axes, times weight, plus bias."""
    if len(x.shape) < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm: the second axis of the shape {tuple(x.shape)} does not divide into {num_groups} groups")
    extent = math.prod(x.shape[1:]) // num_groups
    groups = _normalized(reshape(x, shape=(x.shape[0], num_groups, extent)), -1, eps)
    return _affine(reshape(groups, shape=x.shape), *_by_channel("group_norm", x, weight, bias))


@function()
def local_response_norm(x: Any, *, size: int, alpha: Number = 1e-4, beta: Number = 0.75, k: Number = 1.0) -> Any:
    """x/(k + alpha*m)**beta, m being the mean of squares over a window of size channels."""
    if len(x.shape) < 3:
        raise ShapeError(f"local_response_norm: at least 3 axes are wanted, not the shape {tuple(x.shape)}")
    if 0 in x.shape:
        return x
    channels, before = x.shape[1], size // 2
    room_for(channels, channels)
    behind = np.arange(channels) - np.arange(channels)[:, None] + before  # how far a channel lies behind where a window begins
    squares = reshape(square(x), shape=(x.shape[0], channels, -1))
    total = reshape(matmul(where((behind >= 0) & (behind < size), 1.0, 0.0), squares), shape=x.shape)
    return x / (total * (alpha / size) + k) ** beta


declare("""
    torch:
        batch_norm(x, running_mean!, running_var!, weight, bias, training, momentum, eps)
""")
