"""Modules of torch.nn that have no parameters of their own: each is a function of torch.nn.functional that keeps arguments."""

from __future__ import annotations

from typing import Any

from gradcli.ops.calling.meanings import declare_class, refuse_class
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

# By the function: its class, as it is constructed.
_CLASSES = {
    "cross_entropy": "CrossEntropyLoss(weight, size_average, ignore_index, reduce, reduction, label_smoothing)",
    "nll_loss": "NLLLoss(weight, size_average, ignore_index, reduce, reduction)",
    "binary_cross_entropy": f"BCELoss(weight, {_REDUCED})",
    "binary_cross_entropy_with_logits": f"BCEWithLogitsLoss(weight, {_REDUCED}, pos_weight)",
    "mse_loss": f"MSELoss({_REDUCED})",
    "l1_loss": f"L1Loss({_REDUCED})",
    "smooth_l1_loss": f"SmoothL1Loss({_REDUCED}, beta)",
    "huber_loss": "HuberLoss(reduction, delta)",
    "kl_div": f"KLDivLoss({_REDUCED}, log_target)",
    "poisson_nll_loss": "PoissonNLLLoss(log_input, full, size_average, eps, reduce, reduction)",
    "gaussian_nll_loss": "GaussianNLLLoss(full, eps, reduction)",
    "hinge_embedding_loss": f"HingeEmbeddingLoss(margin, {_REDUCED})",
    "cosine_embedding_loss": f"CosineEmbeddingLoss(margin, {_REDUCED})",
    "margin_ranking_loss": f"MarginRankingLoss(margin, {_REDUCED})",
    "multi_margin_loss": f"MultiMarginLoss(p, margin, weight, {_REDUCED})",
    "multilabel_margin_loss": f"MultiLabelMarginLoss({_REDUCED})",
    "multilabel_soft_margin_loss": f"MultiLabelSoftMarginLoss(weight, {_REDUCED})",
    "soft_margin_loss": f"SoftMarginLoss({_REDUCED})",
    "triplet_margin_loss": f"TripletMarginLoss(margin, p, eps, swap, {_REDUCED})",
    "triplet_margin_with_distance_loss": "TripletMarginWithDistanceLoss(margin, swap, reduction)",
    "ctc_loss": "CTCLoss(blank, reduction, zero_infinity)",
    "relu": "ReLU(-inplace)", "relu6": "ReLU6(-inplace)", "selu": "SELU(-inplace)", "silu": "SiLU(-inplace)",
    "mish": "Mish(-inplace)", "hardsigmoid": "Hardsigmoid(-inplace)", "hardswish": "Hardswish(-inplace)",
    "elu": "ELU(alpha, -inplace)", "celu": "CELU(alpha, -inplace)", "leaky_relu": "LeakyReLU(negative_slope, -inplace)",
    "gelu": "GELU(approximate)", "glu": "GLU(axis|dim)", "softplus": "Softplus(beta, threshold)",
    "hardtanh": "Hardtanh(min_val, max_val, -inplace)", "threshold": "Threshold(threshold, value, -inplace)",
    "hardshrink": "Hardshrink(lambd)", "softshrink": "Softshrink(lambd)", "rrelu": "RReLU(lower, upper, -inplace)",
    "sigmoid": "Sigmoid()", "tanh": "Tanh()", "tanhshrink": "Tanhshrink()", "softsign": "Softsign()",
    "logsigmoid": "LogSigmoid()", "softmax": "Softmax(axis|dim)", "log_softmax": "LogSoftmax(axis|dim)",
    "softmin": "Softmin(axis|dim)",
    "cosine_similarity": "CosineSimilarity(axis|dim, eps)", "pairwise_distance": "PairwiseDistance(p, eps, keepdims|keepdim)",
    "unflatten": "Unflatten(axis|dim, shape|unflattened_size)", "pixel_shuffle": "PixelShuffle(upscale_factor)",
    "pixel_unshuffle": "PixelUnshuffle(downscale_factor)", "channel_shuffle": "ChannelShuffle(groups)",
    "unfold": "Unfold(kernel_size, dilation, padding, stride)",
    "fold": "Fold(output_size, kernel_size, dilation, padding, stride)",
    "interpolate": "Upsample(size, scale_factor, mode, align_corners, recompute_scale_factor)",
    "local_response_norm": "LocalResponseNorm(size, alpha, beta, k)", "dropout": "Dropout(p, -inplace)",
}  # fmt: skip

for _n in (1, 2, 3):
    _CLASSES |= {
        f"dropout{_n}d": f"Dropout{_n}d(p, -inplace)",
        f"max_pool{_n}d": f"MaxPool{_n}d({_PLACED}, dilation, return_indices, ceil_mode)",
        f"lp_pool{_n}d": f"LPPool{_n}d(norm_type, kernel_size, stride, ceil_mode)",
        f"adaptive_avg_pool{_n}d": f"AdaptiveAvgPool{_n}d(output_size)",
        f"adaptive_max_pool{_n}d": f"AdaptiveMaxPool{_n}d(output_size, return_indices)",
        f"max_unpool{_n}d": f"MaxUnpool{_n}d({_PLACED})",
        f"avg_pool{_n}d": f"AvgPool{_n}d({_PLACED}, ceil_mode, count_include_pad{', divisor_override' * (_n > 1)})",
    }
for _function, _class in _CLASSES.items():
    _name, _, _keeps = _class.rstrip(")").partition("(")
    declare_class(TORCH, _name, _keeps, _function)
declare_class(TORCH, "Flatten", "start_dim, end_dim", "flatten", start_dim=1)
declare_class(TORCH, "Identity", "*", "positive")
declare_class(TORCH, "UpsamplingNearest2d", "size, scale_factor", "interpolate")
declare_class(TORCH, "UpsamplingBilinear2d", "size, scale_factor", "upsample_bilinear")
for _n in (1, 2, 3):
    _twice = {"pad": 2 * _n}
    declare_class(TORCH, f"ZeroPad{_n}d", "pad|padding", "pad", repeated=_twice)
    declare_class(TORCH, f"ConstantPad{_n}d", "pad|padding, value", "pad", repeated=_twice)
    for _mode, _word in (("reflect", "Reflection"), ("replicate", "Replication"), ("circular", "Circular")):
        declare_class(TORCH, f"{_word}Pad{_n}d", "pad|padding", "pad", repeated=_twice, mode=_mode)

_DRAWN = "nn.{} has parameters of its own, which are drawn at random"
_ONES = "nn.{} has parameters of its own"
for _names, _why, _help in (
    ("Linear LazyLinear", _DRAWN, "bind them, and write F.linear(x, weight, bias)"),
    ("Bilinear", _DRAWN, "bind them, and write F.bilinear(x1, x2, weight, bias)"),
    *((f"Conv{n}d LazyConv{n}d", _DRAWN, f"bind them, and write F.conv{n}d(x, weight, bias)") for n in (1, 2, 3)),
    *((f"ConvTranspose{n}d", _DRAWN, f"bind them, and write F.conv_transpose{n}d(x, weight, bias)") for n in (1, 2, 3)),
    ("BatchNorm1d BatchNorm2d BatchNorm3d", _ONES,
     "write F.batch_norm(x, None, None, weight, bias, training=True), or give the running mean and variance"),
    ("InstanceNorm1d InstanceNorm2d InstanceNorm3d", "nn.{} keeps statistics", "write F.instance_norm(x)"),
    ("LayerNorm", _ONES, "write F.layer_norm(x, [3], weight, bias), with the shape of the weight in place of [3]"),
    ("RMSNorm", _ONES, "write F.rms_norm(x, [3], weight), with the shape of the weight in place of [3]"),
    ("GroupNorm", _ONES, "write F.group_norm(x, 2, weight, bias), with the number of groups in place of 2"),
    ("Embedding EmbeddingBag", _DRAWN, "bind them, and write F.embedding(index, weight)"),
    ("PReLU", _ONES, "write F.prelu(x, weight)"),
    ("MultiheadAttention", _DRAWN, "bind them, and write F.scaled_dot_product_attention(q, k, v)"),
    ("RNN RNNCell LSTM LSTMCell GRU GRUCell Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer "
     "TransformerDecoderLayer", _DRAWN, "bind them, and write its steps as formulas: h = tanh(w_x @ x + w_h @ h + b)"),
    ("Sequential ModuleList ModuleDict Module", "nn.{} is a container of modules", "write one module after the other: nn.ReLU()(x)"),
    ("AlphaDropout FeatureAlphaDropout", "nn.{} draws at random which entries to keep", "leave it out"),
):  # fmt: skip
    refuse_class(TORCH, _names, _why, _help)


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
