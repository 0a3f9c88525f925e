"""Softmax, attention and activations of networks.

Networks apply activations entry by entry. At kinks they follow PyTorch's choices.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import repeat_interleave
from gradcli.ops.arrays.shapes import part_of, reshape, swapaxes
from gradcli.ops.carrying import kept_shape, reduced_shape
from gradcli.ops.constants import SQRT_2_BY_PI
from gradcli.ops.elementwise.arithmetic import abs_, chain, sign
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p
from gradcli.ops.elementwise.logic import (
    Pieces,
    equal,
    greater,
    greater_equal,
    isfinite,
    less,
    less_equal,
    logical_or,
    maximum,
    minimum,
    where,
)
from gradcli.ops.elementwise.trigonometric import tanh
from gradcli.ops.extended import LOGSUMEXP, Entrywise
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import is_truth, max_, reduction, spread, sum_
from gradcli.ops.registry import (
    SAME,
    Choice,
    Kink,
    Number,
    Op,
    Stated,
    composite,
    declare,
    function,
    is_number,
    need_axes,
    noted_kink,
    one_axis,
    piecewise,
    room_for,
)
from gradcli.ops.special.gamma import sigmoid, softplus
from gradcli.ops.special.incomplete import ndtr
from gradcli.ops.structure import detach

# -- Softmax and its logarithm, and the logarithm of a sum of exponentials, without overflow ------


def _largest(x: Any, axis: Any) -> Any:
    return np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    top = _largest(x, axis)
    top = np.where(np.isfinite(top), top, 0)  # inf - inf would be NaN
    total = np.log(np.add.reduce(np.exp(x - top), axis=axis, keepdims=True)) + top
    return np.reshape(total, reduced_shape(np.shape(x), axis, keepdims))[()]


def _logsumexp_vjp(cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    # exp(x - out) is divided by its sum: where all entries are large, rounding has left nothing of
    # the logarithm in out.
    raised = exp(x - spread(out, x.shape, axis))
    return spread(cotangent, x.shape, axis) * chain(
        raised, 1 / sum_(raised, axis=axis, keepdims=True)
    )


def _logsumexp_of_entries(x: Any, axis: Any, keepdims: bool) -> Any:
    top = max_(x, axis=axis, keepdims=True)
    found = log(sum_(exp(x - top), axis=axis, keepdims=True)) + top
    return found if keepdims else reshape(found, shape=reduced_shape(x.shape, axis))


_LARGEST_EXPONENT = 709.0  # the exponential of this is finite


def _log_of_scaled_sum(x: Any, b: Any, axis: Any, keepdims: bool) -> Any:
    """Compute log(sum(b*exp(x))) without overflow.

    An entry with the factor 0 does not count, however large it is.
    """
    if b is None:
        return logsumexp(x, axis=axis, keepdims=keepdims)
    counted = where(equal(b, 0), -math.inf, x)
    top = max_(counted, axis=axis, keepdims=True)
    top = detach(where(isfinite(top), top, 0.0))  # the result does not depend on it
    above = x - top
    raised = b * exp(where(equal(b, 0), minimum(above, _LARGEST_EXPONENT), above))
    size = log(sum_(raised, axis=axis, keepdims=True)) + top
    return reshape(size, shape=reduced_shape(tuple(counted.shape), axis, keepdims))


logsumexp: Op = reduction(
    "logsumexp",
    _logsumexp,
    "arrays.logsumexp",
    _logsumexp_vjp,
    saves="x out",
    ulps=4,
    parts=_logsumexp_of_entries,
    extended=LOGSUMEXP,
    doc="log(sum(exp(x))), without overflow.",
    signature="x axis:stated",
)
composite(
    "numpy_logsumexp", "x b?", _log_of_scaled_sum, static={"axis": None, "keepdims": False},
    doc="log(sum(b*exp(x))) of factors b, without overflow.",
)


def _softmax(x: Any, axis: Any) -> Any:
    small = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf))
    return small / np.add.reduce(small, axis=axis, keepdims=True)


def _softmax_of_entries(x: Any, axis: Any) -> Any:
    small = exp(x - max_(x, axis=axis, keepdims=True))
    return small * (1 / sum_(small, axis=axis, keepdims=True))  # the sum is at least 1


@function(
    vjp=lambda cotangent, out, x, axis: out * (cotangent - sum_(cotangent * out, axis=axis, keepdims=True)),
    forward=_softmax,
    shape=kept_shape,
    saves="out",
    ulps=6,
    parts=_softmax_of_entries,
)
def softmax(x: Any, *, axis: Stated = None) -> Any:
    """exp(x)/sum(exp(x)) along an axis (all axes by default, as in scipy.special)."""
    return exp(x - logsumexp(x, axis=axis, keepdims=True))


def _log_softmax(x: Any, axis: Any) -> Any:
    apart = x - _largest(x, axis)
    # The largest entry is the 1 of log1p, so that its own logarithm keeps all digits however near
    # it is to 0.
    largest = apart == 0
    others = np.add.reduce(np.exp(apart) - largest, axis=axis, keepdims=True)
    return apart - np.log1p(
        others + (np.add.reduce(largest, axis=axis, keepdims=True, dtype=others.dtype) - 1)
    )


def _log_softmax_of_entries(x: Any, axis: Any) -> Any:
    apart = x - max_(x, axis=axis, keepdims=True)
    ties = equal(apart, 0)
    others = sum_(where(ties, 0.0, exp(apart)), axis=axis, keepdims=True)
    return apart - log1p(others + (sum_(where(ties, 1.0, 0.0), axis=axis, keepdims=True) - 1))


def _log_softmax_vjp(cotangent: Any, out: Any, x: Any, axis: Any) -> Any:
    # This is cotangent - exp(out)*sum, without cancellation where one entry has all of the
    # cotangent and its exp(out) is near 1.
    rest = sum_(cotangent, axis=axis, keepdims=True) - cotangent
    return -(cotangent * expm1(out) + exp(out) * rest)


@function(
    vjp=_log_softmax_vjp,
    forward=_log_softmax,
    shape=kept_shape,
    saves="out",
    ulps=12,
    parts=_log_softmax_of_entries,
)
def log_softmax(x: Any, *, axis: Stated = None) -> Any:
    """log(softmax(x)) along an axis, without overflow."""
    return x - logsumexp(x, axis=axis, keepdims=True)


def _masked_softmax(scores: Any) -> Any:
    """Compute the softmax along the last axis, which is 0 where everything is masked.

    There, no value is attended to; PyTorch returns 0, too.
    """
    nothing = equal(sum_(where(equal(scores, -math.inf), 0.0, 1.0), axis=-1, keepdims=True), 0)
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), axis=-1))


@function(
    torch="query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa",
)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    *,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Number = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(query @ key.T / sqrt(d)) @ value, of keys that the mask (truth values, or numbers to add) leaves.

    >>> F.scaled_dot_product_attention([x], [y, 2*y], [w, -w])
    """
    name = "scaled_dot_product_attention"
    if dropout_p:
        raise ArgumentError(f"{name}: dropout_p must be 0; dropout is random")
    if is_causal and attn_mask is not None:
        raise ArgumentError(f"{name}: attn_mask must be None with is_causal=True")
    for x in (query, key, value):
        need_axes(name, x, 2 + enable_gqa)
    if enable_gqa:  # the products below refuse heads that do not form equal groups
        key, value = (
            repeat_interleave(x, repeats=query.shape[-3] // x.shape[-3], axis=-3)
            for x in (key, value)
        )
    rows, columns = query.shape[-2], key.shape[-2]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = matmul(query * factor, swapaxes(key, axis1=-1, axis2=-2))
    if is_causal:
        room_for(rows, columns)
        scores = where(np.tri(rows, columns, dtype=bool), scores, -math.inf)
    if attn_mask is None:
        return matmul(softmax(scores, axis=-1), value)
    masked = where(attn_mask, scores, -math.inf) if is_truth(attn_mask) else scores + attn_mask
    return matmul(_masked_softmax(masked), value)


# -- Rectifiers: activations of pieces, linear or exponential, with PyTorch's choices at kinks ---


relu = piecewise(
    "relu", "x", lambda x: np.maximum(x, 0), lambda m, x: x if x > 0 or x != x else m.zero,
    Pieces(lambda out, x: less_equal(out, 0)),
    symbolic=lambda s, x: s.Max(x, 0), saves="out", ulps=0, dtype="number", algebra="extreme",
    extended=Entrywise((lambda x: x > 0,)), kinks=Kink(lambda x: x == 0, "x = "
    "0", "0", SAME),
    doc="x where it is positive, 0 elsewhere. >>> relu(x)", parts=lambda x: maximum(x, 0.0),
    carries=(),
    c="g_maximum({0}, 0)",
    numpy="np.maximum({0}, 0.0)",
    torch="torch.relu({0})",
)


@function()
def jax_hard_tanh(x: Any) -> Any:
    """jax.nn.hard_tanh: hardtanh with the derivative 1 at -1 and 1."""
    return where(greater(x, 1.0), 1.0, where(less(x, -1.0), -1.0, x))


def _hardtanh_in_jax(x: Any, min_val: float, max_val: float) -> Any:
    """JAX's hard_tanh; its relu6 and hard_sigmoid have the slope 0 at both ends."""
    if (min_val, max_val) != (-1, 1):
        return hardtanh(x, min_val=min_val, max_val=max_val)
    return jax_hard_tanh(x)


@function(
    vjp=lambda cotangent, out, x, min_val, max_val: where(logical_or(less_equal(x, min_val), greater_equal(x, max_val)), 0.0, cotangent),
    saves="x", ulps=0,
    kinks=noted_kink("x = min_val or x = max_val", "0", Choice("1", _hardtanh_in_jax)),
)
def hardtanh(x: Any, *, min_val: Number = -1.0, max_val: Number = 1.0) -> Any:
    """x limited to the range from min_val to max_val; the derivative is 0 at both.

    >>> hardtanh(x)
    """
    if is_number(min_val) and is_number(max_val) and min_val > max_val:
        raise ArgumentError(
            f"hardtanh: min_val ({min_val}) must not be greater than max_val ({max_val})"
        )
    return where(less_equal(x, min_val), min_val, where(greater_equal(x, max_val), max_val, x))


@function(kinks=hardtanh.kinks)
def relu6(x: Any) -> Any:
    """x limited to the range from 0 to 6; the derivative is 0 at both."""
    return hardtanh(x, min_val=0.0, max_val=6.0)


@function(kinks=noted_kink("x = -3 or x = 3", "0", SAME))
def hardsigmoid(x: Any) -> Any:
    """x/6 + 1/2, limited to the range from 0 to 1. (PyTorch rounds the slope 1/6 to float32.)"""
    return (hardtanh(x, min_val=-3.0, max_val=3.0) + 3) / 6


@function(kinks=noted_kink("x = -3 or x = 3", "0 at -3 and 1 at 3", SAME))
def hardswish(x: Any) -> Any:
    """x*hardsigmoid(x)."""
    return where(less_equal(x, -3), x * 0.0, x * hardsigmoid(x))


@function(
    vjp=lambda cotangent, out, x, negative_slope: where(greater(x, 0), cotangent, cotangent * negative_slope if negative_slope else 0.0),
    saves="x",
    kinks=noted_kink("x = 0", "negative_slope", Choice("1", lambda x, negative_slope: where(less(x, 0), x * negative_slope, x))),
)
def leaky_relu(x: Any, *, negative_slope: Number = 0.01) -> Any:
    """x where it is positive, negative_slope*x elsewhere.

    >>> leaky_relu(x, 0.1)
    """
    return where(greater(x, 0), x, x * negative_slope)


def _exponential_below(x: Any, scale: Any, alpha: Any, width: Any) -> Any:
    positive = greater(x, 0)
    return where(positive, x * scale, expm1(where(positive, 0.0, x) / width) * alpha)


@function(kinks=noted_kink("x = 0", "alpha", SAME))
def elu(x: Any, *, alpha: Number = 1.0) -> Any:
    """x where it is positive, alpha*(exp(x) - 1) elsewhere.

    >>> elu(x)
    """
    return _exponential_below(x, 1.0, alpha, 1.0)


@function()
def celu(x: Any, *, alpha: Number = 1.0) -> Any:
    """x where it is positive, alpha*(exp(x/alpha) - 1) elsewhere: elu with the slope 1 at 0."""
    if is_number(alpha) and not alpha:
        raise ArgumentError("celu: alpha must not be 0")
    return _exponential_below(x, 1.0, alpha, alpha)


_SCALE = 1.0507009873554804934193349852946
_SLOPE = 1.6732632423543772848170429916717 * _SCALE


@function(kinks=noted_kink("x = 0", f"{_SLOPE}, the slope from below", SAME))
def selu(x: Any) -> Any:
    """elu with alpha and a scale that keep mean 0 and variance 1 through many layers."""
    return _exponential_below(x, _SCALE, _SLOPE, 1.0)


@function("silu swish")
def silu(x: Any) -> Any:
    """x*sigmoid(x)."""
    return x * sigmoid(x)


@function()
def mish(x: Any) -> Any:
    """x*tanh(softplus(x))."""
    return x * tanh(softplus(x))


@function(torch="x, *, approximate")
def gelu(x: Any, *, approximate: Literal["none", "tanh"] = "none") -> Any:
    """x times the probability that a standard normal number is below x; with 'tanh', PyTorch's approximation of it.

    >>> gelu(x, approximate='tanh')
    """
    if approximate == "none":
        return x * ndtr(x)
    # 1 + tanh(u) is 2*sigmoid(2*u), with u = sqrt(2/pi)*(x + 0.044715*x**3)
    return x * sigmoid(SQRT_2_BY_PI * (2 * x + 44715 * x * x * x / 500000))


_AT_LAMBDA = (noted_kink("|x| = lambd", "0"),)


@function(kinks=_AT_LAMBDA)
def hardshrink(x: Any, *, lambd: Number = 0.5) -> Any:
    """x where its size is more than lambd, 0 elsewhere."""
    return where(less_equal(abs_(x), lambd), 0.0, x)


@function(kinks=_AT_LAMBDA)
def softshrink(x: Any, *, lambd: Number = 0.5) -> Any:
    """x moved towards 0 by lambd, and 0 where its size is less."""
    if is_number(lambd) and lambd < 0:
        raise ArgumentError(f"softshrink: lambd must be at least 0, not {lambd}")
    return where(less_equal(abs_(x), lambd), 0.0, x - sign(x) * lambd)


@function()
def tanhshrink(x: Any) -> Any:
    """x - tanh(x)."""
    return x - tanh(x)


@function(partials=(lambda out, x: 1 / (1 + abs_(x)) ** 2,), ulps=2, carries=())
def softsign(x: Any) -> Any:
    """x/(1 + |x|)."""
    return x / (1 + abs_(x))


@function(kinks=noted_kink("x = threshold", "0"))
def threshold(x: Any, *, threshold: Number, value: Number) -> Any:
    """x where it is more than the threshold, the value elsewhere.

    >>> threshold(x, 0.1, 20)
    """
    return where(less_equal(x, threshold), value, x)


@function("logsigmoid log_sigmoid log_expit", backward="LogSigmoid")
def logsigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without overflow."""
    return -softplus(-x)


@function(backward="PreluKernel", kinks=noted_kink("x = 0", "weight"))
def prelu(x: Any, weight: Any) -> Any:
    """x where it is positive, weight*x elsewhere; one weight, or one for each channel (the second
    axis).
    """
    channels = 1 if len(x.shape) < 2 else x.shape[1]
    if len(weight.shape) > 1 or weight.shape not in ((), (1,), (channels,)):
        raise ShapeError(
            f"prelu: one weight or one for each of {channels} channels is wanted, not an array of "
            f"shape {weight.shape}"
        )
    rest = (1,) * max(0, len(x.shape) - 2)
    slope = reshape(
        weight, shape=(*weight.shape, *rest) if len(x.shape) > 1 and weight.shape else ()
    )
    return where(greater(x, 0), x, slope * x)


@function()
def glu(x: Any, *, axis: int = -1) -> Any:
    """One half of the entries along an axis, times the sigmoid of the other."""
    place = one_axis(axis, x.shape)
    if not x.shape or x.shape[place] % 2:
        raise ShapeError(
            f"glu: an axis with an even number of entries is wanted, not axis {axis} of the shape "
            f"{tuple(x.shape)}"
        )
    half = x.shape[place] // 2
    return part_of(x, place, 0, half) * sigmoid(part_of(x, place, half, None))


def _implicit(x: Any, axis: int | None) -> int:
    """Return the axis that is given, or PyTorch's choice where none is.

    PyTorch takes the first axis of up to 1 or of 3 axes, else the second.
    """
    ndim = len(x.shape)
    return one_axis(axis, x.shape) if axis is not None else 0 if ndim in (0, 1, 3) else 1


@function()
def torch_softmax(x: Any, *, axis: int | None = None) -> Any:
    """torch.softmax: exp(x)/sum(exp(x)) along an axis; by default the first one of up to 1 or of 3
    axes, else the second.
    """
    return softmax(x, axis=_implicit(x, axis))


@function()
def torch_log_softmax(x: Any, *, axis: int | None = None) -> Any:
    """torch.log_softmax: log(softmax(x)) along an axis; by default the first one of up to 1 or of 3
    axes, else the second.
    """
    return log_softmax(x, axis=_implicit(x, axis))


@function(torch="x, axis, -_stacklevel, -dtype")
def softmin(x: Any, *, axis: int | None = None) -> Any:
    """softmax(-x) along an axis; by default the first one of up to 1 or of 3 axes, else the
    second.
    """
    return torch_softmax(-x, axis=axis)


@function("dropout dropout1d dropout2d dropout3d")
def dropout(x: Any, *, p: float = 0.5, training: bool = True) -> Any:
    """x itself if nothing is dropped (training=False, or p = 0); what is random is refused."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: the probability p must be from 0 to 1, not {p}")
    if training and p not in (0, 1):
        raise ArgumentError(
            "dropout draws at random which entries to keep", help="write training=False, or p=0"
        )
    return x * 0.0 if training and p else x


@function(backward="RreluWithNoise")
def rrelu(x: Any, *, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:
    """leaky_relu with the mean of the slopes lower and upper; random slopes (training=True) are
    refused.
    """
    if training:
        raise ArgumentError(
            "rrelu draws its slopes at random",
            help="write training=False for their mean, or leaky_relu",
        )
    return leaky_relu(x, negative_slope=(lower + upper) / 2)


declare("""
    torch:
        relu relu6 hardsigmoid hardswish selu silu mish(x, -inplace)
        hardtanh(x, min_val, max_val, -inplace)
        leaky_relu(x, negative_slope, -inplace)
        elu celu(x, alpha, -inplace)
        threshold(x, threshold, value, -inplace)
        dropout(x, p, training, -inplace)
        rrelu(x, lower, upper, training, -inplace)
        softmax = torch_softmax(x, axis, -_stacklevel, -dtype)
        log_softmax = torch_log_softmax(x, axis, -_stacklevel, -dtype)
        torch.softmax special.softmax Tensor.softmax = torch_softmax(x, axis!, -dtype)
        torch.log_softmax special.log_softmax Tensor.log_softmax = torch_log_softmax(x, axis!, -dtype)
""")
