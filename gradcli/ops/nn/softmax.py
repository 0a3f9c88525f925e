"""Softmax and its logarithm, and the logarithm of a sum of exponentials, without overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.elementwise.arithmetic import chain
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.reductions import carried, extended
from gradcli.ops.reductions.along import reduced
from gradcli.ops.reductions.masked import log_of_scaled_sum
from gradcli.ops.reductions.sums import max_, reduction, spread, sum_
from gradcli.ops.registry import composition, structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, axes_of, witness


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return np.reshape(total, reduced(np.shape(x), axis, keepdims))[()]


def _logsumexp_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    # exp(x - out) as shares of their sum: where all are large, rounding has left nothing of the logarithm in out
    raised = exp(x - spread(out, x.shape, axis))
    return (spread(cotangent, x.shape, axis) * chain(raised, 1 / sum_(raised, axis=axis, keepdims=True)),)


def _logsumexp_of_entries(x: Any, axis: Any, keepdims: bool) -> Any:
    top = max_(x, axis=axis, keepdims=True)
    found = log(sum_(exp(x - top), axis=axis, keepdims=True)) + top
    return found if keepdims else reshape(found, shape=reduced(x.shape, axis))


def _plain(x: Any, **axes: Any) -> Any:
    return logsumexp(x, **axes)


logsumexp: Op = reduction(
    "logsumexp",
    _logsumexp,
    witness("reducing.logsumexp"),
    _logsumexp_vjp,
    saves=("x", "out"),
    ulps=4,
    between=(),
    rounds=carried.logsumexp_rounds,
    extended=extended.LOGSUMEXP,
    parts=_logsumexp_of_entries,
    less=lambda axis, keepdims: (softmax, {"axis": axis}),
    doc="log(sum(exp(x))), without overflow.",
    stated="axis",
    wider=composition(
        "logsumexp",
        "x b?",
        log_of_scaled_sum(sum_, _plain, max_),
        static={"axis": None, "keepdims": False, "return_sign": False},
    ),
)


def _softmax_shape(shape: Shape, axis: Any) -> Shape:
    axes_of(axis, len(shape))
    return shape


def _softmax(x: Any, axis: Any) -> Any:
    small = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return small / np.sum(small, axis=axis, keepdims=True)


def _softmax_reference(m: Any, x: Any, axis: Any) -> Any:
    if m.overflows:
        x = x - np.vectorize(m.plain, otypes=[object])(x).max(axis=axis, keepdims=True, initial=-math.inf)
    raised = m.map(m.exp, x)
    return raised / raised.sum(axis=axis, keepdims=True)


def _softmax_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any) -> tuple[Any]:
    return (out * (cotangent - sum_(cotangent * out, axis=axis, keepdims=True)),)


def _softmax_of_entries(x: Any, axis: Any) -> Any:
    small = exp(x - max_(x, axis=axis, keepdims=True))
    return small * (1 / sum_(small, axis=axis, keepdims=True))  # of a sum that is 1 at least


softmax: Op = structural(
    "softmax",
    "x",
    _softmax,
    _softmax_reference,
    vjp=_softmax_vjp,
    shape=_softmax_shape,
    static={"axis": None},
    extended=extended.SOFTMAX,
    saves=("out",),
    stated="axis",
    doc="exp(x)/sum(exp(x)) along an axis (all axes by default, as in scipy.special).",
    ulps=6,
    carries=carried.softmax,
    rounds=carried.softmax_rounds,
    parts=_softmax_of_entries,
)


def _log_softmax(x: Any, axis: Any) -> Any:
    apart = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    # the largest entry is the 1 of log1p, so that its own logarithm keeps all digits however near to 0 it is
    others = np.sum(np.where(apart == 0, 0, np.exp(apart)), axis=axis, keepdims=True)
    return apart - np.log1p(others + (np.sum(apart == 0, axis=axis, keepdims=True, dtype=others.dtype) - 1))


def _apart(x: Any, axis: Any) -> tuple[Any, Any]:
    """Entries less the largest, and the sum of all their exponentials but one of the largest."""
    apart = x - max_(x, axis=axis, keepdims=True)
    ties = equal(apart, 0)
    others = sum_(where(ties, 0.0, exp(apart)), axis=axis, keepdims=True)
    return apart, others + (sum_(where(ties, 1.0, 0.0), axis=axis, keepdims=True) - 1)


def _log_softmax_of_entries(x: Any, axis: Any) -> Any:
    apart, others = _apart(x, axis)
    return apart - log1p(others)


def _log_softmax_raised(x: Any, axis: Any) -> Any:
    apart, others = _apart(x, axis)
    return exp(apart) * (1 / (1 + others))


def _log_softmax_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, axis: Any) -> tuple[Any]:
    # cotangent - exp(out)*sum, without cancellation where one entry has all the cotangent and exp(out) near 1
    rest = sum_(cotangent, axis=axis, keepdims=True) - cotangent
    return (-(cotangent * expm1(out) + exp(out) * rest),)


log_softmax: Op = structural(
    "log_softmax",
    "x",
    _log_softmax,
    witness("reducing.log_softmax"),
    vjp=_log_softmax_vjp,
    shape=_softmax_shape,
    static={"axis": None},
    saves=("out",),
    ulps=12,
    extended=extended.LOG_SOFTMAX,
    carries=carried.log_softmax,
    rounds=carried.log_softmax_rounds,
    parts=_log_softmax_of_entries,
    raised=_log_softmax_raised,
    stated="axis",
    doc="log(softmax(x)) along an axis, without overflow.",
)
