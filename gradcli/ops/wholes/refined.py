"""Inverses and determinants of large matrices: LAPACK's in doubles, refined by what they leave over, which products tell in long double."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.ops.wholes.products import product

_LARGE = 48  # rows from which on elimination in long double takes longer
_STEPS = 4
_DOUBTFUL = 2.0**-11  # of what an inverse may leave over
_ENOUGH = 2.0**-33  # whose square is beneath the last bit of a long double
_SMALL = 2.0**-22  # whose third power is
_last: list[tuple[Any, Any]] = []  # a matrix and its inverse, which several formulas ask for


def refined_inverse(x: Any) -> Any:
    """The inverse of one matrix; None where it is small, or elimination in long double has to tell."""
    if x.ndim != 2 or x.shape[0] != x.shape[1] or x.shape[0] < _LARGE:
        return None
    if not _last or _last[0][0]() is not x:
        found = _inverse(np.asarray(x))
        _last[:] = [(weakref.ref(x, lambda _: _last.clear()), found)]
    return _last[0][1]


def _inverse(x: np.ndarray) -> Any:
    """By Newton's steps: what the inverse leaves over is squared by each."""
    high = x.astype(np.float64)
    if not np.isfinite(high).all():
        return None
    try:
        found: Any = np.linalg.inv(high)
    except np.linalg.LinAlgError:
        return None
    if x.dtype == np.float64:
        return found
    found = found.astype(LONG_DOUBLE)
    one = np.eye(x.shape[0], dtype=LONG_DOUBLE)
    for _ in range(_STEPS):
        left = (one - product(x, found)).astype(np.float64)
        size = np.abs(left).sum(axis=1).max()
        if not size < _DOUBTFUL:
            return None
        found = found + found.astype(np.float64) @ left
        if size < _ENOUGH:
            return found
    return None


def refined_determinant(x: Any) -> tuple[Any, Any] | None:
    """The sign of a determinant and the logarithm of its size: of the factors in doubles, and of what these leave over, as a series."""
    if x.ndim != 2 or x.shape[0] < _LARGE:
        return None
    from scipy import linalg

    x = np.asarray(x)
    high = x.astype(np.float64)
    if x.dtype != LONG_DOUBLE or not np.isfinite(high).all():
        return None
    factors, exchanges = linalg.lapack.dgetrf(high)[:2]
    diagonal = np.diagonal(factors)
    if not np.all(diagonal):
        return None
    rows = x.copy()
    for i, j in enumerate(exchanges):
        if i != j:
            rows[[i, j]] = rows[[j, i]]
    lower, upper = np.tril(factors, -1) + np.eye(len(x)), np.triu(factors)
    left = (rows - product(lower.astype(LONG_DOUBLE), upper.astype(LONG_DOUBLE))).astype(np.float64)
    half = linalg.solve_triangular(lower, left, lower=True, unit_diagonal=True, check_finite=False)
    more = linalg.solve_triangular(upper, half, check_finite=False)
    if not np.sqrt((more * more).sum()) < _SMALL:
        return None
    series = np.trace(more) - (more * more.T).sum() / 2
    turned = np.count_nonzero(exchanges != np.arange(len(x))) + np.count_nonzero(diagonal < 0)
    return LONG_DOUBLE(-1 if turned % 2 else 1), np.log(np.abs(diagonal).astype(LONG_DOUBLE)).sum() + series
