"""Statistics of samples as scipy.stats has them: scores, means, moments, entropy of shares, correlation."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ShapeError
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, log, sqrt, xlogy
from gradcli.ops.reductions.carried import count
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import declare, function
from gradcli.ops.special.error_functions import entr


def _away(x: Any, axis: Any) -> Any:
    return x - mean(x, axis=axis, keepdims=True)


def _variance(x: Any, axis: Any, ddof: float, keepdims: bool = False) -> Any:
    return sum_(square(_away(x, axis)), axis=axis, keepdims=keepdims) / (count(x.shape, axis) - ddof)


def _weighted(x: Any, weights: Any, axis: Any) -> Any:
    return mean(x, axis=axis) if weights is None else sum_(x * weights, axis=axis) / sum_(weights + 0 * x, axis=axis)


def _moment(x: Any, order: int, axis: Any) -> Any:
    return mean(_away(x, axis) ** order, axis=axis)


@function(public=False)
def zscore(x: Any, *, axis: Any = 0, ddof: Any = 0) -> Any:
    """scipy.stats.zscore: x less its mean over its deviation."""
    return _away(x, axis) / sqrt(_variance(x, axis, ddof, True))


@function(public=False)
def gmean(x: Any, weights: Any = None, *, axis: Any = 0) -> Any:
    """scipy.stats.gmean: the geometric mean."""
    return exp(_weighted(log(x), weights, axis))


@function(public=False)
def hmean(x: Any, weights: Any = None, *, axis: Any = 0) -> Any:
    """scipy.stats.hmean: the harmonic mean."""
    return 1 / _weighted(1 / x, weights, axis)


@function(public=False)
def sem(x: Any, *, axis: Any = 0, ddof: Any = 1) -> Any:
    """scipy.stats.sem: the standard error of the mean."""
    return sqrt(_variance(x, axis, ddof) / count(x.shape, axis))


@function(public=False)
def variation(x: Any, *, axis: Any = 0, ddof: Any = 0) -> Any:
    """scipy.stats.variation: the deviation over the mean."""
    return sqrt(_variance(x, axis, ddof)) / mean(x, axis=axis)


@function(public=False)
def skew(x: Any, *, axis: Any = 0, bias: bool = True) -> Any:
    """scipy.stats.skew: the third moment, standardized."""
    n, value = count(x.shape, axis), _moment(x, 3, axis) / _moment(x, 2, axis) ** 1.5
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
        raise ShapeError(f"pearsonr needs two vectors of the same length, not the shapes {tuple(x.shape)} and {tuple(y.shape)}")
    one, other = _away(x, None), _away(y, None)
    return (sum_(one * other) / sqrt(sum_(square(one)) * sum_(square(other))),)


@function(public=False)
def central_moment(x: Any, *, order: int = 1, axis: Any = 0) -> Any:
    """scipy.stats.moment: the mean of powers of what x is away from its mean."""
    return _moment(x, order, axis)


declare("""
    scipy:
        stats.zscore = zscore(x|a, axis, ddof, -nan_policy)
        stats.gmean = gmean(x|a, axis, -dtype, weights)
        stats.hmean = hmean(x|a, axis, -dtype, weights)
        stats.sem = sem(x|a, axis, ddof, -nan_policy)
        stats.variation = variation(x|a, axis, -nan_policy, ddof)
        stats.skew = skew(x|a, axis, bias, -nan_policy)
        stats.kurtosis = kurtosis(x|a, axis, fisher, bias, -nan_policy)
        stats.entropy = stats_entropy(pk, qk, base, axis)
        stats.pearsonr = pearsonr(x, y)
        stats.moment = central_moment(x|a, order, axis, -nan_policy)
""")
