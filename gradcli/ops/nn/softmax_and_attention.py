"""Attention: averages of values, weighted by how well queries fit keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.repeating_and_padding import repeat_interleave
from gradcli.ops.arrays.shapes import broadcast_to, reshape, swapaxes
from gradcli.ops.elementwise.arithmetic import abs_, chain, sign
from gradcli.ops.elementwise.bounds import minimum
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p
from gradcli.ops.elementwise.logic import equal, isfinite, where
from gradcli.ops.extended import LOGSUMEXP
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.carried import reduced
from gradcli.ops.reductions.sums import is_truth, max_, reduction, spread, sum_
from gradcli.ops.registry import Number, Op, Shape, Stated, axes_of, composite, function, room_for, witness
from gradcli.ops.structure import detach

# -- Softmax and its logarithm, and the logarithm of a sum of exponentials, without overflow -------


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.add.reduce(np.exp(x - top), axis=axis, keepdims=True)) + top
    return np.reshape(total, reduced(np.shape(x), axis, keepdims))[()]


def _logsumexp_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    # exp(x - out) as shares of their sum: where all are large, rounding has left nothing of the logarithm in out
    raised = exp(x - spread(out, x.shape, axis))
    return (spread(cotangent, x.shape, axis) * chain(raised, 1 / sum_(raised, axis=axis, keepdims=True)),)


def _logsumexp_of_entries(x: Any, axis: Any, keepdims: bool) -> Any:
    top = max_(x, axis=axis, keepdims=True)
    found = log(sum_(exp(x - top), axis=axis, keepdims=True)) + top
    return found if keepdims else reshape(found, shape=reduced(x.shape, axis))


_LARGEST_EXPONENT = 709.0  # whose exponential is finite


def _log_of_scaled_sum(x: Any, b: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    """log(sum(b*exp(x))) without overflow, and the sign of the sum: what has the factor 0 counts for nothing, however large."""
    if b is None and not return_sign:
        return logsumexp(x, axis=axis, keepdims=keepdims)
    counted = x
    if b is not None:
        shape = np.broadcast_shapes(tuple(x.shape), tuple(b.shape))
        x, b = (v if tuple(v.shape) == shape else broadcast_to(v, shape=shape) for v in (x, b))
        counted = where(equal(b, 0), -math.inf, x)
    top = max_(counted, axis=axis, keepdims=True)
    top = detach(where(isfinite(top), top, 0.0))  # moving it changes nothing
    above = x - top
    raised = exp(above) if b is None else b * exp(where(equal(b, 0), minimum(above, _LARGEST_EXPONENT), above))
    total = sum_(raised, axis=axis, keepdims=True)
    size = reshape(log(abs_(total) if return_sign else total) + top, shape=reduced(tuple(x.shape), axis, keepdims))
    return (size, sign(reshape(total, shape=tuple(size.shape)))) if return_sign else size


logsumexp: Op = reduction(
    "logsumexp",
    _logsumexp,
    witness("arrays.logsumexp"),
    _logsumexp_vjp,
    saves="x out",
    ulps=4,
    parts=_logsumexp_of_entries,
    extended=LOGSUMEXP,
    doc="log(sum(exp(x))), without overflow.",
    signature="x axis:stated",
)
composite(
    "numpy_logsumexp", "x b?", _log_of_scaled_sum, static={"axis": None, "keepdims": False, "return_sign": False},
    doc="log(sum(b*exp(x))) of factors b, without overflow, and with return_sign the sign of the sum.",
)  # fmt: skip


def _softmax_shape(shape: Shape, axis: Any) -> Shape:
    axes_of(axis, len(shape))
    return shape


def _softmax(x: Any, axis: Any) -> Any:
    small = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf))
    return small / np.add.reduce(small, axis=axis, keepdims=True)


def _softmax_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any) -> tuple[Any]:
    return (out * (cotangent - sum_(cotangent * out, axis=axis, keepdims=True)),)


def _softmax_of_entries(x: Any, axis: Any) -> Any:
    small = exp(x - max_(x, axis=axis, keepdims=True))
    return small * (1 / sum_(small, axis=axis, keepdims=True))  # of a sum that is 1 at least


@function(
    vjp=_softmax_vjp,
    forward=_softmax,
    shape=_softmax_shape,
    saves="out",
    ulps=6,
    parts=_softmax_of_entries,
)
def softmax(x: Any, *, axis: Stated = None) -> Any:
    """exp(x)/sum(exp(x)) along an axis (all axes by default, as in scipy.special)."""
    return exp(x - logsumexp(x, axis=axis, keepdims=True))


def _log_softmax(x: Any, axis: Any) -> Any:
    apart = x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    # the largest entry is the 1 of log1p, so that its own logarithm keeps all digits however near to 0 it is
    largest = apart == 0
    others = np.add.reduce(np.exp(apart) - largest, axis=axis, keepdims=True)
    return apart - np.log1p(others + (np.add.reduce(largest, axis=axis, keepdims=True, dtype=others.dtype) - 1))


def _log_softmax_of_entries(x: Any, axis: Any) -> Any:
    apart = x - max_(x, axis=axis, keepdims=True)
    ties = equal(apart, 0)
    others = sum_(where(ties, 0.0, exp(apart)), axis=axis, keepdims=True)
    return apart - log1p(others + (sum_(where(ties, 1.0, 0.0), axis=axis, keepdims=True) - 1))


def _log_softmax_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any) -> tuple[Any]:
    # cotangent - exp(out)*sum, without cancellation where one entry has all the cotangent and exp(out) near 1
    rest = sum_(cotangent, axis=axis, keepdims=True) - cotangent
    return (-(cotangent * expm1(out) + exp(out) * rest),)


@function(
    vjp=_log_softmax_vjp,
    forward=_log_softmax,
    shape=_softmax_shape,
    saves="out",
    ulps=12,
    parts=_log_softmax_of_entries,
)
def log_softmax(x: Any, *, axis: Stated = None) -> Any:
    """log(softmax(x)) along an axis, without overflow."""
    return x - logsumexp(x, axis=axis, keepdims=True)


def _masked_softmax(scores: Any) -> Any:
    """Return where everything is masked, no value is attended to: the result is 0, as in PyTorch."""
    nothing = equal(sum_(where(equal(scores, -math.inf), 0.0, 1.0), axis=-1, keepdims=True), 0)
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), axis=-1))


@function(
    torch="query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa",
)  # fmt: skip
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
    if min(len(a.shape) for a in (query, key, value)) < 2:
        raise ShapeError(f"{name} needs arrays of at least 2 axes")
    if enable_gqa:
        heads, shared = query.shape[-3], (key.shape[-3], value.shape[-3])
        if any(heads % s for s in shared):
            raise ShapeError(f"{name}: {heads} heads of queries do not share {shared[0]} of keys and {shared[1]} of values")
        key, value = (repeat_interleave(a, repeats=heads // s, axis=-3) for a, s in zip((key, value), shared, strict=True))
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
