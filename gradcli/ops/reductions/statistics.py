"""Covariances, correlations and other statistics of samples.

They follow NumPy, PyTorch and scipy.stats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import (
    StaticArray,
    broadcast_to,
    getitem,
    laid_along,
    reshape,
    transpose,
)
from gradcli.ops.carrying import count
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, log, sqrt, xlogy
from gradcli.ops.elementwise.logic import maximum
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import deviations, max_, mean, min_, std, sum_
from gradcli.ops.registry import Number, declare, function, is_number, need_axes, one_axis
from gradcli.ops.special.incomplete import entr


def _observations(x: Any) -> Any:
    """One row a variable."""
    need_axes("cov", x, 0, 2)
    return x if len(x.shape) == 2 else reshape(x, shape=(1, -1))


def _weights(weights: Any, n: int) -> Any:
    if tuple(weights.shape) != (n,):
        shape = tuple(weights.shape)
        raise ShapeError(f"cov: weights of shape {shape} for {n} observations")
    return weights


@function(
    numpy="x|m, y, rowvar, bias, ddof, fweights, aweights, -dtype",
    torch="x, *, ddof|correction, fweights, aweights",
)
def cov(
    x: Any,
    y: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Number = None,
) -> Any:
    """The covariances of variables, one a row (a column without rowvar), divided by n - ddof (1 by
    default), observations counted (fweights) or weighted (aweights); infinite or not a number where
    they are too few.

    >>> cov(x)
    """
    rows = [_observations(v) for v in (x, y) if v is not None]
    if not rowvar:  # as in NumPy: a second array of one row is one variable
        columns = [len(x.shape) > 1, *(r.shape[0] != 1 for r in rows[1:])]
        rows = [
            transpose(r, axes=(1, 0)) if turned else r
            for r, turned in zip(rows, columns, strict=True)
        ]
    samples = concatenate(*rows, axis=0) if len(rows) > 1 else rows[0]
    lost = (0 if bias else 1) if ddof is None else ddof
    weights = [_weights(w, samples.shape[1]) for w in (fweights, aweights) if w is not None]
    if not weights:
        deviation = weighted = deviations(samples, 1)
        left = samples.shape[1] - lost
    else:
        w = math.prod(weights[1:], start=weights[0])
        total = sum_(w)
        deviation = samples - reshape(matmul(samples, w), shape=(-1, 1)) / total
        weighted = deviation * w
        left = maximum(total - (lost if aweights is None else lost * sum_(w * aweights) / total), 0)
    products = matmul(weighted, transpose(deviation, axes=(1, 0)))
    matrix = products * math.inf if is_number(left) and left <= 0 else products / left
    return reshape(matrix, shape=tuple(n for n in matrix.shape if n != 1))


def _correlation(covariance: Any) -> Any:
    if not covariance.shape:
        return covariance / covariance
    every = StaticArray(np.arange(covariance.shape[0]))
    size = sqrt(getitem(covariance, index=(every, every)))
    return covariance / reshape(size, shape=(-1, 1)) / size


@function(torch="x", numpy="x, y, rowvar, -dtype")
def corrcoef(x: Any, y: Any = None, *, rowvar: bool = True) -> Any:
    """The correlations of variables, one a row."""
    return _correlation(cov(x, y, rowvar=rowvar))


@function(numpy="x, axis, weights, -returned, keepdims")
def average(x: Any, weights: Any = None, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean, of weighted entries if weights are given.

    >>> average(x, weights=w)
    """
    if weights is None:
        return mean(x, axis=axis, keepdims=keepdims)
    if tuple(weights.shape) != tuple(x.shape):
        if axis is None or tuple(weights.shape) != (x.shape[one_axis(axis, x.shape)],):
            raise ShapeError(
                f"average: weights of shape {tuple(weights.shape)} for an array of shape "
                f"{tuple(x.shape)}"
            )
        weights = broadcast_to(
            laid_along(weights, one_axis(axis, x.shape), x.shape), shape=x.shape
        )
    return sum_(x * weights, axis=axis, keepdims=keepdims) / sum_(
        weights, axis=axis, keepdims=keepdims
    )


@function(numpy="x, axis, -out, keepdims")
def ptp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest entry less the smallest."""
    return max_(x, axis=axis, keepdims=keepdims) - min_(x, axis=axis, keepdims=keepdims)


# -- Statistics of scipy.stats: scores, moments, entropy of shares, correlation ------------------


def _moment(x: Any, order: int, axis: Any) -> Any:
    return mean(deviations(x, axis) ** order, axis=axis)


@function(public=False)
def zscore(x: Any, *, axis: Any = 0, ddof: Any = 0) -> Any:
    """scipy.stats.zscore: x less its mean over its deviation."""
    return deviations(x, axis) / std(x, axis=axis, keepdims=True, ddof=ddof)


@function(public=False)
def gmean(x: Any, weights: Any = None, *, axis: Any = 0) -> Any:
    """scipy.stats.gmean: the geometric mean."""
    return exp(average(log(x), weights, axis=axis))


@function(public=False)
def hmean(x: Any, weights: Any = None, *, axis: Any = 0) -> Any:
    """scipy.stats.hmean: the harmonic mean."""
    return 1 / average(1 / x, weights, axis=axis)


@function(public=False)
def sem(x: Any, *, axis: Any = 0, ddof: Any = 1) -> Any:
    """scipy.stats.sem: the standard error of the mean."""
    return std(x, axis=axis, ddof=ddof) / math.sqrt(count(x.shape, axis))


@function(public=False)
def skew(x: Any, *, axis: Any = 0, bias: bool = True) -> Any:
    """scipy.stats.skew: the third moment, standardized."""
    n = count(x.shape, axis)
    value = _moment(x, 3, axis) / _moment(x, 2, axis) ** 1.5
    return value if bias else value * (math.sqrt((n - 1.0) * n) / (n - 2.0))


@function(public=False)
def kurtosis(x: Any, *, axis: Any = 0, fisher: bool = True, bias: bool = True) -> Any:
    """scipy.stats.kurtosis: the fourth moment, standardized, less 3."""
    n = count(x.shape, axis)
    value = _moment(x, 4, axis) / square(_moment(x, 2, axis))
    if not bias:
        value = ((n * n - 1) * value - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
    return value - 3 if fisher else value


@function(public=False)
def stats_entropy(pk: Any, qk: Any = None, base: Any = None, *, axis: Any = 0) -> Any:
    """scipy.stats.entropy: of shares, or relative to others."""
    shares = pk / sum_(pk, axis=axis, keepdims=True)
    if qk is None:
        value = sum_(entr(shares), axis=axis)
    else:
        value = sum_(xlogy(shares, shares / (qk / sum_(qk, axis=axis, keepdims=True))), axis=axis)
    return value if base is None else value / log(base)


@function(results="statistic", public=False)
def pearsonr(x: Any, y: Any) -> Any:
    """scipy.stats.pearsonr: the correlation of two samples, as statistic."""
    if x.shape != y.shape or len(x.shape) != 1:
        raise ShapeError(
            f"pearsonr needs two vectors of the same length, not the shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )
    one, other = deviations(x, None), deviations(y, None)
    return (sum_(one * other) / sqrt(sum_(square(one)) * sum_(square(other))),)


declare("""
    scipy:
        stats.zscore = zscore(x|a, axis, ddof, -nan_policy)
        stats.gmean = gmean(x|a, axis, -dtype, weights)
        stats.hmean = hmean(x|a, axis, -dtype, weights)
        stats.sem = sem(x|a, axis, ddof, -nan_policy)
        stats.skew = skew(x|a, axis, bias, -nan_policy)
        stats.kurtosis = kurtosis(x|a, axis, fisher, bias, -nan_policy)
        stats.entropy = stats_entropy(pk, qk, base, axis)
        stats.pearsonr = pearsonr(x, y)
""")
