"""Linear equations and determinants in long double, all matrices of a batch at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

_BETTER, _ENOUGH = 2.0**-6, 2.0**-60  # of the error that doubles leave, and of the result: what may be left in the end


def solved(x: Any, y: Any) -> Any:
    """The z with x @ z = y: LAPACK's in doubles, corrected by what it leaves over in long double (J. H. Wilkinson, 1963)."""
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    try:
        inverse = np.linalg.inv(doubles)
    except np.linalg.LinAlgError:
        raise NotCovered("a singular matrix of so many entries") from None
    found, changes = (inverse @ y.astype(np.float64)).astype(LONG_DOUBLE), [np.inf]
    while len(changes) < 3 or changes[-1] < changes[-2] / 2:
        step = inverse @ (y - product(x, found)).astype(np.float64)
        found = found + step
        changes.append(np.abs(step).max(initial=0))
    if not changes[-1] <= _BETTER * changes[1] + _ENOUGH * np.abs(found).max(initial=0):
        raise NotCovered("a matrix of so many entries that is singular to the precision of doubles")
    return found


_BLOCK = 48


def spread(x: Any, y: Any) -> tuple[Any, Any]:
    """Matrices, and right sides, of one batch shape."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return np.broadcast_to(x, (*batch, *x.shape[-2:])), np.broadcast_to(y, (*batch, *y.shape[-2:]))


def lu_factors(x: Any, pivot: bool = True) -> tuple[Any, Any]:
    """L and U in one matrix, and the order of its rows: what is right of a block of columns is changed by products."""
    work = np.array(x)
    n, m = work.shape[-2:]
    order = np.array(np.broadcast_to(np.arange(n), work.shape[:-1]))
    for start in range(0, min(n, m), _BLOCK):
        stop = min(start + _BLOCK, n, m)
        for k in range(start, stop):
            if pivot:
                _exchange(work, order, k)
            below = slice(k + 1, n)
            work[..., below, k] /= work[..., k, k, None]
            work[..., below, k + 1 : stop] -= work[..., below, k, None] * work[..., k, None, k + 1 : stop]
        if stop < m:
            block = work[..., start:stop, start:stop]
            work[..., start:stop, stop:] = substituted(block, work[..., start:stop, stop:], upper=False, ones=True)
            work[..., stop:, stop:] -= product(work[..., stop:, start:stop], work[..., start:stop, stop:])
    return work, order


def _exchange(work: Any, order: Any, k: int) -> None:
    """The largest entry of a column comes to its diagonal."""
    best = np.argmax(np.abs(work[..., k:, k]), axis=-1) + k
    for place in np.ndindex(best.shape):
        j = int(best[place])
        if j != k:
            work[place][[k, j]] = work[place][[j, k]]
            order[place][[k, j]] = order[place][[j, k]]


def substituted(x: Any, y: Any, upper: bool, ones: bool = False) -> Any:
    """The z with x @ z = y, row by row; the other triangle is not read."""
    x, y = spread(x, y)
    z, n = np.array(y, np.result_type(x, y)), x.shape[-1]
    starts = range(0, n, _BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + _BLOCK, n)
        known = slice(stop, n) if upper else slice(0, start)
        if known.start < known.stop:
            z[..., start:stop, :] -= product(x[..., start:stop, known], z[..., known, :])
        for i in reversed(range(start, stop)) if upper else range(start, stop):
            inner = slice(i + 1, stop) if upper else slice(start, i)
            z[..., i, :] -= (x[..., i, inner, None] * z[..., inner, :]).sum(axis=-2)
            if not ones:
                z[..., i, :] /= x[..., i, i, None]
    return z


def _inverse(x: Any) -> Any:
    return solved(x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))


def _inv_back(c: Any, out: Any, x: Any, **_: Any) -> tuple[Any]:
    return (-product(product(turned(out), c), turned(out)),)


INV = Formulas(lambda x, check_errors: _inverse(x), _inv_back)


def _columns(x: Any, y: Any) -> Any:
    return y[:, None] if y.ndim == 1 else y


def _solve(x: Any, y: Any) -> Any:
    z = solved(x, _columns(x, y))
    return z[..., 0] if y.ndim == 1 else z


def _solve_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    vector = y.ndim == 1
    back = solved(turned(x), c[..., None] if vector else c)
    return -product(back, turned(out[..., None] if vector else out)), back[..., 0] if vector else back


SOLVE = Formulas(_solve, _solve_back)


def _slogdet(x: Any) -> tuple[Any, Any]:
    """The sign, which doubles tell, and the logarithm of the size by the pivots of elimination."""
    sign = np.linalg.slogdet(x.astype(np.float64))[0].astype(LONG_DOUBLE)
    pivots = np.abs(np.diagonal(lu_factors(x)[0], axis1=-2, axis2=-1))
    size = np.where(sign == 0, -np.inf, np.log(pivots).sum(axis=-1))
    if np.isnan(size).any():
        raise NotCovered("the determinant of a singular matrix of so many entries")
    return sign, size


def _det(x: Any) -> Any:
    sign, size = _slogdet(x)
    return sign * np.exp(size)


def _by_inverse(c: Any, x: Any) -> tuple[Any]:
    return (c[..., None, None] * turned(_inverse(x)),)


SLOGDET = Formulas(_slogdet, lambda c, out, x: _by_inverse(c[1], x))


DET = Formulas(_det, lambda c, out, x: _by_inverse(c * out, x))


DET = Formulas(_det, lambda c, out, x: _by_inverse(c * out, x))


def _substituted(x: Any, y: Any, upper: bool, unitriangular: bool) -> Any:
    return substituted(x, y, upper, unitriangular)


def _triangle(x: Any, upper: bool, strict: bool) -> Any:
    columns, rows = np.arange(x.shape[-1]), np.arange(x.shape[-2])[:, None]
    beyond = columns - rows if upper else rows - columns
    return np.where(beyond > 0 if strict else beyond >= 0, x, x.dtype.type(0))


def _triangular_back(c: Any, out: Any, x: Any, y: Any, upper: bool, unitriangular: bool) -> tuple[Any, Any]:
    back = substituted(turned(x), c, not upper, unitriangular)
    return _triangle(-product(back, turned(out)), upper, unitriangular), back


SOLVE_TRIANGULAR = Formulas(_substituted, _triangular_back)


def _lu(x: Any, pivot: bool) -> tuple[Any, Any, Any]:
    factors, order = lu_factors(x, pivot)
    n, m = x.shape[-2:]
    k = min(n, m)
    p = np.swapaxes(np.eye(n, dtype=LONG_DOUBLE)[order], -1, -2)
    lower = _triangle(factors[..., :k], False, True) + np.eye(n, k, dtype=LONG_DOUBLE)
    return p, lower, _triangle(factors[..., :k, :], True, False)


def _lu_back(c: Any, out: Any, x: Any, pivot: bool) -> tuple[Any]:
    """With F = inv(L) P.T dA inv(U), dL is L times what of F is below its diagonal, dU the rest of it times U.

    Factors of matrices that are not square are completed by rows and columns of the identity.
    """
    p, lower, upper = out
    n, m = x.shape[-2:]
    lower, upper = _completed(lower, max(n, m), 1), _completed(upper, max(n, m), 1)
    by_l, by_u = _completed(c[1], max(n, m), 0), _completed(c[2], max(n, m), 0)
    if np.any(np.diagonal(upper, axis1=-2, axis2=-1) == 0):
        raise NotCovered("LU factors of a singular matrix of so many entries")
    inner = _triangle(product(turned(lower), by_l), False, True) + _triangle(product(by_u, turned(upper)), True, False)
    half = substituted(turned(lower), inner, upper=True, ones=True)
    slope = turned(substituted(upper, turned(half), upper=True))
    return (product(p, slope[..., :n, :m]),)


def _completed(x: Any, n: int, ones: int) -> Any:
    whole = np.zeros((*x.shape[:-2], n, n), x.dtype) + ones * np.eye(n, dtype=x.dtype)
    whole[..., : x.shape[-2], : x.shape[-1]] = x
    return whole


LU = Formulas(_lu, _lu_back)
