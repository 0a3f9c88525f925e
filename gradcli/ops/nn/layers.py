"""Layers of networks: linear and bilinear maps, tables of vectors, and normalizations.

The modules without parameters of their own are here, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import broadcast_to, reshape, swapaxes, take_along
from gradcli.ops.calling.meanings import declare_class, declare_classes, refuse_classes
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.elementwise.arithmetic import affine, square
from gradcli.ops.elementwise.exponential import rsqrt
from gradcli.ops.elementwise.logic import where
from gradcli.ops.extended import Entrywise
from gradcli.ops.linalg.products import einsum, matmul
from gradcli.ops.nn.activations import gelu
from gradcli.ops.nn.losses import class_labels
from gradcli.ops.reductions.sums import deviations, mean
from gradcli.ops.registry import (
    Number,
    declare,
    function,
    is_number,
    need_axes,
    room_for,
    structural,
)
from gradcli.ops.structure import detach


@function(torch="x, weight, bias", backward="Addmm")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias.

    >>> linear(x, w, b)
    """
    product = matmul(x, swapaxes(weight, axis1=0, axis2=1) if len(weight.shape) == 2 else weight)
    result = affine(product, None, bias)
    if result.shape != product.shape:
        raise ShapeError(
            f"linear: a bias of shape {tuple(bias.shape)} does not fit outputs of shape "
            f"{tuple(product.shape)}"
        )
    return result


@function(torch="input1, input2, weight, bias")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 @ weight[k] @ input2 for each k, plus bias.

    >>> bilinear(x, y, w)
    """
    product = einsum(input1, weight, input2, subscripts="...i,kij,...j->...k")
    return affine(product, None, bias)


@function(torch="input@weight, weight, padding_idx")
def embedding(input: Any, weight: Any, *, padding_idx: int | None = None) -> Any:
    """The rows of the weight at indices; the row padding_idx has no gradient.

    >>> embedding([0, 2], w)
    """
    if len(weight.shape) != 2:
        input, weight = weight, input
    need_axes("embedding", weight, 2, 2)
    rows, width = weight.shape
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ArgumentError(
                f"embedding: padding_idx must be an index of the {rows} rows, not {padding_idx}"
            )
        weight = where(np.arange(rows)[:, None] == padding_idx % rows, detach(weight), weight)
    index = reshape(class_labels(input, classes=rows, ignored=None), shape=(-1, 1))
    chosen = take_along(weight, broadcast_to(index, shape=(index.shape[0], width)), axis=0)
    return reshape(chosen, shape=(*input.shape, width))


# -- Normalizations: entries moved and scaled to mean 0 and variance 1 over some axes ------------


def _standardized_vjp(cotangent: Any, out: Any, x: Any, axis: Any, eps: float) -> Any:
    scale = rsqrt(mean(square(deviations(x, axis)), axis=axis, keepdims=True) + eps)
    along = mean(cotangent * out, axis=axis, keepdims=True)
    return scale * (deviations(cotangent, axis) - out * along)


def _standardized_rounds(m: Any, out: Any, x: Any, axis: Any, eps: float) -> Any:
    size = m.max(m.abs(x), axis=axis, keepdims=True)
    return 16 * (m.abs(out) + size / m.sqrt(m.var(x, axis=axis, keepdims=True) + eps))


@function(vjp=_standardized_vjp, shape=lambda shape, **_: shape, saves="x out", rounding=_standardized_rounds, public=False)
def standardized(x: Any, *, axis: Any, eps: float) -> Any:
    """(x - mean)/sqrt(variance + eps) over axes."""
    apart = deviations(x, axis)
    return apart * rsqrt(mean(square(apart), axis=axis, keepdims=True) + eps)


def _normalize(x: Any, axis: Any, eps: Any) -> Any:
    return (standardized if is_number(eps) else standardized.definition)(x, axis=axis, eps=eps)


def _last_axes(name: str, x: Any, normalized_shape: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the axes that ``normalized_shape`` names, which are the last ones of x.

    Raises ShapeError if they are not, or if a parameter has another shape.
    """
    shape = normalized_shape if isinstance(normalized_shape, tuple) else (normalized_shape,)
    if not shape or tuple(x.shape[-len(shape) :]) != shape:
        raise ShapeError(f"{name}: the last axes of the shape {tuple(x.shape)} are not {shape}")
    if any(p is not None and p.shape != shape for p in parameters):
        raise ShapeError(f"{name}: weight and bias must have the shape {shape}")
    return tuple(range(-len(shape), 0))


machine_epsilon = structural(
    "machine_epsilon", "x", lambda x: np.finfo(np.asarray(x).dtype).eps,
    "arrays.machine_epsilon", shape=lambda x: (),
    ulps=0, public=False,
    extended=Entrywise((None,), lambda x, epsilon: epsilon, epsilon=True),
    doc="The distance from 1 to the next number of x's precision.",
    numpy="np.finfo(np.float64).eps",
)


def _by_channel(x: Any, *parameters: Any) -> list[Any]:
    """Return parameters in a shape that broadcasts against x.

    They have one entry for each channel, which is the second axis.
    """
    channels = x.shape[1] if len(x.shape) > 1 else x.shape[0]
    rest = (1,) * max(0, len(x.shape) - 2)
    return [None if p is None else reshape(p, shape=(channels, *rest)) for p in parameters]


def _channelwise(
    name: str,
    x: Any,
    running: tuple[Any, Any],
    parameters: tuple[Any, Any],
    axes: tuple[int, ...],
    of_input: bool,
    eps: Any,
) -> Any:
    """Compute (x - mean)/sqrt(variance + eps) for each channel, times weight, plus bias.

    The statistics are those of the input over ``axes``, or running ones.
    """
    if of_input and math.prod(x.shape[a] for a in axes) == 1:
        raise ShapeError(
            f"{name}: more than one value per channel is wanted, not the shape {tuple(x.shape)}"
        )
    if of_input:
        found = _normalize(x, axes, eps)
    elif any(statistic is None for statistic in running):
        raise ArgumentError(
            f"{name}: running_mean and running_var are needed without statistics of the input"
        )
    else:
        centre, spread = _by_channel(x, *running)
        found = (x - centre) * rsqrt(spread + eps)
    return affine(found, *_by_channel(x, *parameters))


@function(backward="NativeBatchNorm")
def batch_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    *,
    training: bool = False,
    momentum: Any = 0.1,
    eps: Number = 1e-5,
) -> Any:
    """(x - mean)/sqrt(variance + eps) for each channel, times weight, plus bias; mean and variance
    are those of the batch (training), or running_mean and running_var.
    """
    if is_number(eps) and (eps < 0 or (training and not eps)):
        raise ArgumentError(f"batch_norm: eps must be positive, not {eps}")
    if len(x.shape) < 2 and x.shape != (0,):
        raise ShapeError(
            "batch_norm: an input with channels along axis 1 is wanted, not the shape "
            f"{tuple(x.shape)}"
        )
    axes = (0, *range(2, len(x.shape)))
    return _channelwise(
        "batch_norm", x, (running_mean, running_var), (weight, bias), axes, training, eps
    )


@function(torch="x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps")
def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    *,
    use_input_stats: bool = True,
    momentum: Any = 0.1,
    eps: Number = 1e-5,
) -> Any:
    """(x - mean)/sqrt(variance + eps) for each channel of each element of the batch, times weight,
    plus bias.
    """
    axes = tuple(range(2, len(x.shape)))
    return _channelwise(
        "instance_norm", x, (running_mean, running_var), (weight, bias), axes, use_input_stats, eps
    )


@function(
    torch="x, normalized_shape, weight, bias, eps",
    backward="NativeLayerNorm",
)
def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, normalized_shape: Any, eps: Number = 1e-5
) -> Any:
    """(x - mean)/sqrt(variance + eps) over the last axes, times weight, plus bias.

    >>> layer_norm(x, normalized_shape=(3,))
    """
    return affine(
        _normalize(x, _last_axes("layer_norm", x, normalized_shape, weight, bias), eps),
        weight,
        bias,
    )


@function(torch="x, normalized_shape, weight, eps")
def rms_norm(x: Any, weight: Any = None, *, normalized_shape: Any, eps: Number = None) -> Any:
    """x/sqrt(mean of squares + eps) over the last axes, times weight; eps is by default the
    precision's.
    """
    axes = _last_axes("rms_norm", x, normalized_shape, weight)
    return affine(
        x
        * rsqrt(
            mean(square(x), axis=axes, keepdims=True) + (machine_epsilon(x) if eps is None else eps)
        ),
        weight,
        None,
    )


@function(torch="x, num_groups, weight, bias, eps", backward="NativeGroupNorm")
def group_norm(
    x: Any, weight: Any = None, bias: Any = None, *, num_groups: int, eps: Number = 1e-5
) -> Any:
    """(x - mean)/sqrt(variance + eps) over groups of channels and all later axes, times weight,
    plus bias.
    """
    if len(x.shape) < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the second axis of the shape {tuple(x.shape)} does not divide into "
            f"{num_groups} groups"
        )
    extent = math.prod(x.shape[1:]) // num_groups
    groups = _normalize(reshape(x, shape=(x.shape[0], num_groups, extent)), -1, eps)
    return affine(reshape(groups, shape=x.shape), *_by_channel(x, weight, bias))


@function()
def local_response_norm(
    x: Any, *, size: int, alpha: Number = 1e-4, beta: Number = 0.75, k: Number = 1.0
) -> Any:
    """x/(k + alpha*m)**beta, m being the mean of squares over a window of size channels."""
    need_axes("local_response_norm", x, 3)
    if 0 in x.shape:
        return x
    channels = x.shape[1]
    before = size // 2
    room_for(channels, channels)
    # How far each channel lies behind the beginning of each window.
    behind = np.arange(channels) - np.arange(channels)[:, None] + before
    squares = reshape(square(x), shape=(x.shape[0], channels, -1))
    total = reshape(
        matmul(where((behind >= 0) & (behind < size), 1.0, 0.0), squares), shape=x.shape
    )
    return x / (total * (alpha / size) + k) ** beta


declare("""
    torch:
        batch_norm(x, running_mean!, running_var!, weight, bias, training, momentum, eps)
""")


# -- Modules of torch.nn: each is a function of torch.nn.functional that keeps arguments ---------


_REDUCED = "-size_average, -reduce, reduction"
_PLACED = "kernel_size, stride, padding"

# Each class with the parameters of its constructor, and the function that its objects are.
declare_classes(f"""
    CrossEntropyLoss(weight, -size_average, ignore_index, -reduce, reduction, label_smoothing) = cross_entropy
    NLLLoss(weight, -size_average, ignore_index, -reduce, reduction) = nll_loss
    BCELoss(weight, {_REDUCED}) = binary_cross_entropy
    BCEWithLogitsLoss(weight, {_REDUCED}, pos_weight) = binary_cross_entropy_with_logits
    MSELoss({_REDUCED}) = mse_loss
    L1Loss({_REDUCED}) = l1_loss
    SmoothL1Loss({_REDUCED}, beta) = smooth_l1_loss
    HuberLoss(reduction, delta) = huber_loss
    KLDivLoss({_REDUCED}, log_target) = kl_div
    PoissonNLLLoss(log_input, full, -size_average, eps, -reduce, reduction) = poisson_nll_loss
    GaussianNLLLoss(full, eps, reduction) = gaussian_nll_loss
    HingeEmbeddingLoss(margin, {_REDUCED}) = hinge_embedding_loss
    CosineEmbeddingLoss(margin, {_REDUCED}) = cosine_embedding_loss
    MarginRankingLoss(margin, {_REDUCED}) = margin_ranking_loss
    MultiMarginLoss(p, margin, weight, {_REDUCED}) = multi_margin_loss
    MultiLabelMarginLoss({_REDUCED}) = multilabel_margin_loss
    MultiLabelSoftMarginLoss(weight, {_REDUCED}) = multilabel_soft_margin_loss
    SoftMarginLoss({_REDUCED}) = soft_margin_loss
    TripletMarginLoss(margin, p, eps, swap, {_REDUCED}) = triplet_margin_loss
    TripletMarginWithDistanceLoss(margin, swap, reduction) = triplet_margin_with_distance_loss
    ReLU(-inplace) = relu
    ReLU6(-inplace) = relu6
    SELU(-inplace) = selu
    SiLU(-inplace) = silu
    Mish(-inplace) = mish
    Hardsigmoid(-inplace) = hardsigmoid
    Hardswish(-inplace) = hardswish
    ELU(alpha, -inplace) = elu
    CELU(alpha, -inplace) = celu
    LeakyReLU(negative_slope, -inplace) = leaky_relu
    GELU(approximate) = gelu
    GLU(axis|dim) = glu
    Softplus(beta, threshold) = softplus
    Hardtanh(min_val, max_val, -inplace) = hardtanh
    Threshold(threshold, value, -inplace) = threshold
    Hardshrink(lambd) = hardshrink
    Softshrink(lambd) = softshrink
    RReLU(lower, upper, -inplace) = rrelu
    Sigmoid() = sigmoid
    Tanh() = tanh
    Tanhshrink() = tanhshrink
    Softsign() = softsign
    LogSigmoid() = logsigmoid
    Softmax(axis|dim) = softmax
    LogSoftmax(axis|dim) = log_softmax
    Softmin(axis|dim) = softmin
    CosineSimilarity(axis|dim, eps) = cosine_similarity
    PairwiseDistance(p, eps, keepdims|keepdim) = pairwise_distance
    Unflatten(axis|dim, shape|unflattened_size) = unflatten
    PixelShuffle(upscale_factor) = pixel_shuffle
    PixelUnshuffle(downscale_factor) = pixel_unshuffle
    Unfold(kernel_size, dilation, padding, stride) = unfold
    Fold(output_size, kernel_size, dilation, padding, stride) = fold
    Upsample(size, scale_factor, mode, align_corners, -recompute_scale_factor) = interpolate
    LocalResponseNorm(size, alpha, beta, k) = local_response_norm
    Dropout(p, -inplace) = dropout
    Identity(*) = positive
    UpsamplingNearest2d(size, scale_factor) = interpolate
    UpsamplingBilinear2d(size, scale_factor) = upsample_bilinear
""")
for _n in (1, 2, 3):
    declare_classes(f"""
        Dropout{_n}d(p, -inplace) = dropout{_n}d
        MaxPool{_n}d({_PLACED}, dilation, return_indices, ceil_mode) = max_pool{_n}d
        AdaptiveAvgPool{_n}d(output_size) = adaptive_avg_pool{_n}d
        AdaptiveMaxPool{_n}d(output_size, return_indices) = adaptive_max_pool{_n}d
        AvgPool{_n}d({_PLACED}, ceil_mode, count_include_pad, -divisor_override) = avg_pool{_n}d
    """)
declare_class(TORCH, "Flatten", "start_dim, end_dim", "flatten", start_dim=1)
for _n in (1, 2, 3):
    _twice = {"pad": 2 * _n}
    declare_class(TORCH, f"ZeroPad{_n}d", "pad|padding", "pad", repeated=_twice)
    declare_class(TORCH, f"ConstantPad{_n}d", "pad|padding, value", "pad", repeated=_twice)
    for _mode, _word in (
        ("reflect", "Reflection"),
        ("replicate", "Replication"),
        ("circular", "Circular"),
    ):
        declare_class(TORCH, f"{_word}Pad{_n}d", "pad|padding", "pad", repeated=_twice, mode=_mode)

_DRAWN = "nn.{} has parameters of its own, which are drawn at random; bind them, and write"
_ONES = "nn.{} has parameters of its own; write"
refuse_classes(f"""
    Linear LazyLinear: {_DRAWN} F.linear(x, weight, bias)
    Bilinear: {_DRAWN} F.bilinear(x1, x2, weight, bias)
    Conv1d LazyConv1d: {_DRAWN} F.conv1d(x, weight, bias)
    Conv2d LazyConv2d: {_DRAWN} F.conv2d(x, weight, bias)
    Conv3d LazyConv3d: {_DRAWN} F.conv3d(x, weight, bias)
    ConvTranspose1d: {_DRAWN} F.conv_transpose1d(x, weight, bias)
    ConvTranspose2d: {_DRAWN} F.conv_transpose2d(x, weight, bias)
    ConvTranspose3d: {_DRAWN} F.conv_transpose3d(x, weight, bias)
    BatchNorm1d BatchNorm2d BatchNorm3d: {_ONES} F.batch_norm(x, None, None, weight, bias, training=True), \
or give the running mean and variance
    InstanceNorm1d InstanceNorm2d InstanceNorm3d: nn.{{}} keeps statistics; write F.instance_norm(x)
    LayerNorm: {_ONES} F.layer_norm(x, [3], weight, bias), with the shape of the weight in place of [3]
    RMSNorm: {_ONES} F.rms_norm(x, [3], weight), with the shape of the weight in place of [3]
    GroupNorm: {_ONES} F.group_norm(x, 2, weight, bias), with the number of groups in place of 2
    Embedding EmbeddingBag: {_DRAWN} F.embedding(index, weight)
    PReLU: {_ONES} F.prelu(x, weight)
    MultiheadAttention: {_DRAWN} F.scaled_dot_product_attention(q, k, v)
    RNN RNNCell LSTM LSTMCell GRU GRUCell: {_DRAWN} its steps as formulas: h = tanh(w_x @ x + w_h @ h + b)
    Transformer TransformerEncoder TransformerDecoder: {_DRAWN} its steps as formulas: h = tanh(w_x @ x + w_h @ h + b)
    TransformerEncoderLayer TransformerDecoderLayer: {_DRAWN} its steps as formulas: h = tanh(w_x @ x + w_h @ h + b)
    Sequential ModuleList ModuleDict Module: nn.{{}} is a container of modules; write one module after the other: nn.ReLU()(x)
    AlphaDropout FeatureAlphaDropout: nn.{{}} draws at random which entries to keep; leave it out
""")


# -- What jax.nn and jax.lax call functions, and the few that no other library has ---------------


@function()
def jax_gelu(x: Any, *, approximate: bool = True) -> Any:
    """jax.nn.gelu: gelu by a hyperbolic tangent, or exactly."""
    return gelu(x, approximate="tanh" if approximate else "none")


_X = "x|operand"
declare(f"""
    jax:
        nn.gelu = jax_gelu(x, approximate)
        nn.softmax = softmax(x, axis=-1)
        nn.log_softmax = log_softmax(x, axis=-1)
        lax.select = where(condition|pred, x|on_true, y|on_false)
        nn.hard_sigmoid = hardsigmoid(x)
        nn.hard_silu nn.hard_swish = hardswish(x)
        nn.hard_tanh = jax_hard_tanh(x)
        nn.soft_sign = softsign(x)
        nn.standardize nn.normalize = standardized(x, axis=-1, *, eps|epsilon=1e-5)
        nn.softplus = softplus(x)
        nn.identity = positive(x)
        nn.glu = glu(x, axis=-1)
        nn.logsumexp = logsumexp(x|a, axis, b, keepdims)
        lax.clamp = clip(low|min, x, high|max)
        lax.max = maximum(x, y)
        lax.min = minimum(x, y)
        lax.logistic = sigmoid(x)
        lax.erf_inv = erfinv(x)
        lax.integer_pow = pow(x, y)
        lax.is_finite = isfinite(x)
        lax.rem = fmod(x, y)
        lax.rev = flip({_X}, axis|dimensions)
        lax.reduce_sum = sum({_X}, axis|axes)
        lax.reduce_max = max({_X}, axis|axes)
        lax.reduce_min = min({_X}, axis|axes)
        lax.reduce_prod = prod({_X}, axis|axes)
        lax.cumsum = cumsum({_X}, axis=0, -reverse)
        lax.cumprod = cumprod({_X}, axis=0, -reverse)
        lax.cumlogsumexp = logcumsumexp({_X}, axis=0, -reverse)
        lax.concatenate = joined(arrays|operands, axis|dimension)
        lax.reshape = reshape({_X}, shape|new_sizes)
        lax.transpose = transpose({_X}, axes|permutation)
        lax.expand_dims = expand_dims(x|array, axis|dimensions)
        lax.squeeze = squeeze(x|array, axis|dimensions)
        lax.sort = sort({_X}, axis|dimension=-1)
        lax.top_k = topk({_X}, k, axis)
        lax.argmax = argmax({_X}, axis, -index_dtype)
        lax.argmin = argmin({_X}, axis, -index_dtype)
        lax.bessel_i0e = i0e(x)
        lax.bessel_i1e = i1e(x)
        lax.igamma = gammainc(a, x)
        lax.igammac = gammaincc(a, x)
        lax.betainc = betainc(a, b, x)
        lax.dot = matmul(x|lhs, y|rhs, -precision, -preferred_element_type)
        lax.batch_matmul = matmul(x|lhs, y|rhs, -precision)
        lax.atan2 = atan2(y|x, x|y)
""")
