"""Covariances, correlations and other statistics of samples; sums of products along a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape, transpose
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.elementwise.logic import less_equal, where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.carried import count
from gradcli.ops.reductions.sums import max_, mean, min_, sum_, variation
from gradcli.ops.registry import Number, axes_of, declare, function, is_number


def _observations(name: str, x: Any) -> Any:
    """One row a variable."""
    if len(x.shape) > 2:
        raise ShapeError(f"{name} needs an array of at most 2 axes, not the shape {tuple(x.shape)}")
    return x if len(x.shape) == 2 else reshape(x, shape=(1, -1))


def _weights(name: str, weights: Any, n: int) -> Any:
    if tuple(weights.shape) != (n,) and not (n == 1 and not weights.shape):
        raise ShapeError(f"{name}: weights of shape {tuple(weights.shape)} for {n} observations")
    return weights


def _covariance(name: str, x: Any, fweights: Any, aweights: Any, ddof: float) -> Any:
    """The matrix of covariances of rows; not a number or infinite where the observations are too few."""
    n = x.shape[1]
    given = [_weights(name, w, n) for w in (fweights, aweights) if w is not None]
    if not given:
        deviation = x - mean(x, axis=1, keepdims=True)
        products = matmul(deviation, transpose(deviation, axes=(1, 0)))
        return products / (n - ddof) if not is_number(ddof) or n > ddof else products * math.inf
    w = given[0] if len(given) == 1 else given[0] * given[1]
    total = sum_(w)
    deviation = x - reshape(matmul(x, w), shape=(-1, 1)) / total
    norm = total - ddof if aweights is None or (is_number(ddof) and not ddof) else total - ddof * sum_(w * aweights) / total
    norm = where(less_equal(norm, 0), 0.0, norm)
    return matmul(deviation * w, transpose(deviation, axes=(1, 0))) / norm


def _squeezed(matrix: Any) -> Any:
    return reshape(matrix, shape=tuple(n for n in matrix.shape if n != 1))


@function(
    numpy="x|m, y, rowvar, bias, ddof, fweights, aweights, -dtype"
)  # fmt: skip
def cov(
    x: Any, y: Any = None, fweights: Any = None, aweights: Any = None, *, rowvar: bool = True, bias: bool = False, ddof: Number = None
) -> Any:
    """The covariances of variables, one a row (a column without rowvar), divided by n - ddof (1 by default).

    >>> cov(x)
    """
    rows = [_observations("cov", v) for v in (x, y) if v is not None]
    if not rowvar:  # as NumPy has it: a second array of one row is one variable
        columns = [len(x.shape) > 1, *(r.shape[0] != 1 for r in rows[1:])]
        rows = [transpose(r, axes=(1, 0)) if turned else r for r, turned in zip(rows, columns, strict=True)]
    samples = concatenate(*rows, axis=0) if len(rows) > 1 else rows[0]
    return _squeezed(_covariance("cov", samples, fweights, aweights, (0 if bias else 1) if ddof is None else ddof))


def _correlation(covariance: Any) -> Any:
    if not covariance.shape:
        return covariance / covariance
    every = StaticArray(np.arange(covariance.shape[0]))
    size = sqrt(getitem(covariance, index=(every, every)))
    return covariance / reshape(size, shape=(-1, 1)) / size


@function()
def torch_cov(x: Any, fweights: Any = None, aweights: Any = None, *, correction: Number = 1) -> Any:
    """torch.cov: the covariances of rows, divided by n - correction, with frequencies or weights of observations."""
    return _squeezed(_covariance("cov", _observations("cov", x), fweights, aweights, correction))


@function(torch="x", numpy="x, y, rowvar, -dtype")
def corrcoef(x: Any, y: Any = None, *, rowvar: bool = True) -> Any:
    """The correlations of variables, one a row."""
    return _correlation(cov(x, y, rowvar=rowvar))


@function(numpy="x, axis, weights, returned, keepdims")
def average(x: Any, weights: Any = None, *, axis: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The mean, of weighted entries if weights are given; with returned, also the sum of the weights.

    >>> average(x, weights=w)
    """
    if weights is None:
        result, total = mean(x, axis=axis, keepdims=keepdims), float(count(x.shape, axis))
    else:
        if tuple(weights.shape) != tuple(x.shape):
            axes = axes_of(axis, len(x.shape))
            if axis is None or tuple(weights.shape) != tuple(x.shape[a] for a in axes):
                raise ShapeError(f"average: weights of shape {tuple(weights.shape)} for an array of shape {tuple(x.shape)}")
            order = tuple(int(i) for i in np.argsort(axes))
            weights = transpose(weights, axes=order)
            weights = reshape(weights, shape=tuple(n if i in axes else 1 for i, n in enumerate(x.shape)))
        weights = broadcast_to(weights, shape=x.shape)
        total = sum_(weights, axis=axis, keepdims=keepdims)
        result = sum_(x * weights, axis=axis, keepdims=keepdims) / total
    return (result, broadcast_to(total * 1.0 if weights is not None else total + 0.0 * result, shape=result.shape)) if returned else result


@function(numpy="x, axis, -out, keepdims")
def ptp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest entry less the smallest."""
    return max_(x, axis=axis, keepdims=keepdims) - min_(x, axis=axis, keepdims=keepdims)


_SPREAD = "x, axis, -dtype, -out, ddof|correction, keepdims, where, mean"


@function(numpy=_SPREAD)
def nanvar(x: Any, where: Any = None, mean: Any = None, *, axis: Any = None, keepdims: bool = False, ddof: Number = 0) -> Any:
    """The variance of the entries that are numbers, divided by n - ddof."""
    return variation("nanvar", False, x, where, mean, axis, keepdims, ddof, True)


@function(numpy=_SPREAD)
def nanstd(x: Any, where: Any = None, mean: Any = None, *, axis: Any = None, keepdims: bool = False, ddof: Number = 0) -> Any:
    """The standard deviation of the entries that are numbers."""
    return variation("nanstd", True, x, where, mean, axis, keepdims, ddof, True)


declare("""
    torch:
        cov = torch_cov(x, *, correction, fweights, aweights)
""")
