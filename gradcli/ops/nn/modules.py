"""Modules of torch.nn that have no parameters of their own: each is a function of torch.nn.functional that keeps arguments."""

from __future__ import annotations

from typing import Any

from gradcli.ops.calling.meanings import declare_class, declare_classes, refuse_classes
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt
from gradcli.ops.elementwise.logic import greater, less, where
from gradcli.ops.nn.activations import gelu
from gradcli.ops.nn.softmax_and_attention import logsumexp
from gradcli.ops.reductions.carried import count
from gradcli.ops.reductions.sums import mean as mean_of
from gradcli.ops.registry import Number, declare, function

_REDUCED = "size_average, reduce, reduction"
_PLACED = "kernel_size, stride, padding"

# Each class as it is constructed, and the function that its objects are.
declare_classes(TORCH, f"""
    CrossEntropyLoss(weight, size_average, ignore_index, reduce, reduction, label_smoothing) = cross_entropy
    NLLLoss(weight, size_average, ignore_index, reduce, reduction) = nll_loss
    BCELoss(weight, {_REDUCED}) = binary_cross_entropy
    BCEWithLogitsLoss(weight, {_REDUCED}, pos_weight) = binary_cross_entropy_with_logits
    MSELoss({_REDUCED}) = mse_loss
    L1Loss({_REDUCED}) = l1_loss
    SmoothL1Loss({_REDUCED}, beta) = smooth_l1_loss
    HuberLoss(reduction, delta) = huber_loss
    KLDivLoss({_REDUCED}, log_target) = kl_div
    PoissonNLLLoss(log_input, full, size_average, eps, reduce, reduction) = poisson_nll_loss
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
    CTCLoss(blank, reduction, zero_infinity) = ctc_loss
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
    ChannelShuffle(groups) = channel_shuffle
    Unfold(kernel_size, dilation, padding, stride) = unfold
    Fold(output_size, kernel_size, dilation, padding, stride) = fold
    Upsample(size, scale_factor, mode, align_corners, recompute_scale_factor) = interpolate
    LocalResponseNorm(size, alpha, beta, k) = local_response_norm
    Dropout(p, -inplace) = dropout
    Identity(*) = positive
    UpsamplingNearest2d(size, scale_factor) = interpolate
    UpsamplingBilinear2d(size, scale_factor) = upsample_bilinear
""")
for _n in (1, 2, 3):
    declare_classes(TORCH, f"""
        Dropout{_n}d(p, -inplace) = dropout{_n}d
        MaxPool{_n}d({_PLACED}, dilation, return_indices, ceil_mode) = max_pool{_n}d
        LPPool{_n}d(norm_type, kernel_size, stride, ceil_mode) = lp_pool{_n}d
        AdaptiveAvgPool{_n}d(output_size) = adaptive_avg_pool{_n}d
        AdaptiveMaxPool{_n}d(output_size, return_indices) = adaptive_max_pool{_n}d
        MaxUnpool{_n}d({_PLACED}) = max_unpool{_n}d
        AvgPool{_n}d({_PLACED}, ceil_mode, count_include_pad{", divisor_override" * (_n > 1)}) = avg_pool{_n}d
    """)
declare_class(TORCH, "Flatten", "start_dim, end_dim", "flatten", start_dim=1)
for _n in (1, 2, 3):
    _twice = {"pad": 2 * _n}
    declare_class(TORCH, f"ZeroPad{_n}d", "pad|padding", "pad", repeated=_twice)
    declare_class(TORCH, f"ConstantPad{_n}d", "pad|padding, value", "pad", repeated=_twice)
    for _mode, _word in (("reflect", "Reflection"), ("replicate", "Replication"), ("circular", "Circular")):
        declare_class(TORCH, f"{_word}Pad{_n}d", "pad|padding", "pad", repeated=_twice, mode=_mode)

_DRAWN = "nn.{} has parameters of its own, which are drawn at random; bind them, and write"
_ONES = "nn.{} has parameters of its own; write"
refuse_classes(TORCH, f"""
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


# -- What jax.nn and jax.lax call functions, and the few that no other library has -----------------


@function(public=False)
def standardize(x: Any, mean: Any = None, variance: Any = None, *, axis: Any = -1, epsilon: Number = 1e-5) -> Any:
    """jax.nn.standardize: x less its mean over its deviation along an axis."""
    centre = mean_of(x, axis=axis, keepdims=True) if mean is None else mean
    spread = mean_of(square(x), axis=axis, keepdims=True) - square(centre) if variance is None else variance
    return (x - centre) / sqrt(spread + epsilon)


@function(public=False)
def squareplus(x: Any, b: Any = None) -> Any:
    """jax.nn.squareplus: (x + sqrt(x**2 + b))/2, a smooth relu."""
    return (x + sqrt(square(x) + (4.0 if b is None else b))) / 2


@function(public=False)
def log1mexp(x: Any) -> Any:
    """jax.nn.log1mexp: log(1 - exp(-x))."""
    return where(less(x, 0.6931471805599453), log(-expm1(-x)), log1p(-exp(-x)))


@function(public=False)
def logmeanexp(x: Any, *, axis: Any = None, keepdims: Any = False) -> Any:
    """jax.nn.logmeanexp: the logarithm of the mean of exponentials."""
    return logsumexp(x, axis=axis, keepdims=keepdims) - log(1.0 * count(x.shape, axis))


@function()
def jax_hard_tanh(x: Any) -> Any:
    """jax.nn.hard_tanh: hardtanh with the derivative 1 at -1 and 1."""
    return where(greater(x, 1.0), 1.0, where(less(x, -1.0), -1.0, x))


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
        nn.squareplus = squareplus(x, b)
        nn.standardize nn.normalize = standardize(x, axis, mean, variance, epsilon)
        nn.softplus = softplus(x)
        nn.log1mexp = log1mexp(x)
        nn.identity = positive(x)
        nn.logmeanexp = logmeanexp(x, axis, -where, keepdims)
        nn.glu = glu(x, axis=-1)
        nn.logsumexp = logsumexp(x|a, axis, b, keepdims, return_sign)
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
