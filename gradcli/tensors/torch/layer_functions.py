"""Functions behind PyTorch's layers that are made of others: normalizations with their statistics, convolutions of any kind, bags."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.library_calls import call
from gradcli.tensors.torch.creation import zeros


def _functional(name: str, *given: Any, **named: Any) -> Any:
    return call(qualified(name, f"torch.nn.functional.{name}", TORCH), TORCH, given, named)


def _labelled(result: Any, label: str) -> Any:
    """A result whose last node is called as PyTorch's one node for all of it."""
    if result.node is not None:
        result.node.label = label
    return result


# -- normalizations, with the statistics that PyTorch keeps for their derivatives ----------------------------------


def _statistics(x: Any, axes: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    array = x.detach()
    spread = array.var(dim=axes, unbiased=False, keepdim=keepdim)
    return array.mean(dim=axes, keepdim=keepdim), (spread + eps).rsqrt()


def _native_layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> tuple[Tensor, ...]:
    result = _functional("layer_norm", input, tuple(normalized_shape), weight, bias, eps)
    axes = tuple(range(-len(normalized_shape), 0))
    return (result, *_statistics(input, axes, eps, True))


def _native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> tuple[Tensor, ...]:
    result = _functional("group_norm", input, group, weight, bias, eps)
    return (result, *_statistics(input.reshape(N, group, -1), (-1,), eps, False))


def _native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Tensor, ...]:  # fmt: skip
    result = _functional("batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, zeros(0, dtype=input.dtype), zeros(0, dtype=input.dtype)
    return (result, *_statistics(input, (0, *range(2, input.ndim)), eps, False))


# -- convolutions --------------------------------------------------------------------------------------------------


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Any:  # fmt: skip
    """A convolution in as many dimensions as the weight says, or its transpose."""
    steps, around, gaps = tuple(stride), tuple(padding), tuple(dilation)
    if transposed:
        return _functional(f"conv_transpose{weight.ndim - 2}d", input, weight, bias, steps, around, tuple(output_padding), groups, gaps)
    return _functional(f"conv{weight.ndim - 2}d", input, weight, bias, steps, around, gaps, groups)


def _conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution over the first axis of three: time, batch, channels."""
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel, and the weight 3: kernel_width, in_channels, out_channels")
    found = _functional("conv1d", input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return _labelled(found.permute(2, 0, 1).contiguous(), "ConvTbcBackward0")


def _linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None, reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy of scores that are a linear map of the input."""
    if options is not None:
        raise NotImplementedError("linear_cross_entropy computes all scores at once here: leave options out")
    settings = {"weight": weight, "reduction": reduction, "label_smoothing": label_smoothing}
    if ignore_index is not None:
        settings["ignore_index"] = ignore_index
    return _functional("cross_entropy", _functional("linear", input, linear_weight, linear_bias), target, **settings)


# -- bags and segments ---------------------------------------------------------------------------------------------


def _embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
    mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or largest entries of the rows that bags of indices choose: the rows of a matrix, or from each offset on."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding_bag: max_norm, scale_grad_by_freq and sparse are not taken here: leave them out")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = np.asarray(offsets.array)
        if len(starts) and starts[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0.")
        starts = starts[:-1] if include_last_offset else starts
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    places = np.asarray(input.array).reshape(-1)
    kept = np.ones(len(places), bool) if padding_idx is None else places != padding_idx % weight.shape[0]
    bags = (np.searchsorted(starts, np.arange(len(places)), "right") - 1)[kept]
    rows = weight[Tensor(places[kept])]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1)[Tensor(np.flatnonzero(kept))].unsqueeze(-1)
    return _labelled(_reduced(rows, bags, len(starts), mode, None, 0.0), "EmbeddingBagBackward0")


def _segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0, unsafe: bool = False,
    initial: float | None = None,
) -> Any:  # fmt: skip
    """Sums, means, products or extremes of segments along the first axis, of these lengths or between these offsets."""
    given = lengths if lengths is not None else offsets
    if axis != 0 or indices is not None or given is None or given.ndim != 1:
        raise NotImplementedError("segment_reduce takes lengths or offsets of one axis here, along axis 0")
    sizes = np.asarray(given.array) if lengths is not None else np.diff(given.array)
    if sizes.sum() != data.shape[0] or (sizes < 0).any():
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"Unsupported reduction {reduce}")
    nothing = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "max": -math.inf, "min": math.inf}[reduce] if initial is None else initial
    found = _reduced(data, np.repeat(np.arange(len(sizes)), sizes), len(sizes), reduce, initial, nothing)
    return _labelled(found, "SegmentReduceBackward0")


def _reduced(rows: Any, groups: np.ndarray, count: int, how: str, initial: float | None, empty: float) -> Any:
    """Rows of each group, reduced; what there is of a group without any is given."""
    parts = []
    for group in range(count):
        chosen = np.flatnonzero(groups == group)
        if not len(chosen):
            parts.append(zeros(rows.shape[1:], dtype=rows.dtype) + empty)
            continue
        part = rows[int(chosen[0]) : int(chosen[-1]) + 1]
        reduced = {"sum": part.sum, "mean": part.mean, "prod": part.prod, "max": part.amax, "min": part.amin}[how](0)
        parts.append(_begun(reduced, len(chosen), how, initial))
    return call("stack", TORCH, (parts,), {}) if parts else zeros((0, *rows.shape[1:]), dtype=rows.dtype)


def _begun(reduced: Any, size: int, how: str, initial: float | None) -> Any:
    """A reduction that begins with a number."""
    if initial is None:
        return reduced
    if how == "mean":
        return reduced + initial / size
    return {"sum": reduced + initial, "prod": reduced * initial, "max": reduced.clamp(min=initial), "min": reduced.clamp(max=initial)}[how]


AT_THE_TOP: dict[str, Callable[..., Any]] = {
    name: checked(function, name)
    for name, function in (
        ("native_layer_norm", _native_layer_norm), ("native_group_norm", _native_group_norm), ("native_batch_norm", _native_batch_norm),
        ("convolution", _convolution), ("conv_tbc", _conv_tbc), ("segment_reduce", _segment_reduce),
    )
}  # fmt: skip
OF_LAYERS: dict[str, Callable[..., Any]] = {
    name: checked(function, name, "torch.nn.functional")
    for name, function in (
        ("embedding_bag", _embedding_bag), ("linear_cross_entropy", _linear_cross_entropy), ("conv_tbc", _conv_tbc),
    )
}  # fmt: skip
