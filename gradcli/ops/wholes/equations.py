"""Linear equations, inverses and determinants in long double: LU factors by columns, all matrices of a batch at once."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

# -- Inverses and determinants of large matrices: LAPACK's in doubles, refined by what they leave
# over, which products tell in long double.


_LARGE = 48  # rows from which on elimination in long double takes longer
_STEPS = 4
_DOUBTFUL = 2.0**-11  # of what an inverse may leave over
_ENOUGH = 2.0**-33  # whose square is beneath the last bit of a long double
_SMALL = 2.0**-22  # whose third power is
_SINGULAR = 1e-12  # how much smaller a singular value is than the largest where the inverse tells nothing
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


_BLOCK = 48


def unit(x: Any) -> Any:
    """Unit matrices like some square ones."""
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)


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


def solved(factors: tuple[Any, Any], y: Any, adjoint: bool = False) -> Any:
    """The z with x @ z = y, or with the transpose of x, whose LU factors are known."""
    lu, order = factors
    lu, y = spread(lu, y)
    order = np.broadcast_to(order, lu.shape[:-1])[..., None]
    if adjoint:
        half = substituted(turned(lu), substituted(turned(lu), y, upper=False), upper=True, ones=True)
        z = np.empty_like(half)
        np.put_along_axis(z, np.broadcast_to(order, z.shape), half, -2)
        return z
    first = np.take_along_axis(y, np.broadcast_to(order, y.shape), -2)
    return substituted(lu, substituted(lu, first, upper=False, ones=True), upper=True)


def inverse(x: Any) -> Any:
    """The inverse, infinite or no number where there is none."""
    found = refined_inverse(x)
    return solved(lu_factors(x), unit(x)) if found is None else found


def _solved(x: Any, y: Any, adjoint: bool = False) -> Any:
    """The z with x @ z = y, or with the transpose of x."""
    known = refined_inverse(x)
    if known is None:
        return solved(lu_factors(x), y, adjoint)
    return product(turned(known) if adjoint else known, y)


def _inv_back(c: Any, out: Any, x: Any, **_: Any) -> tuple[Any]:
    return (-product(product(turned(out), c), turned(out)),)


INV = Formulas(lambda x, check_errors: inverse(x), _inv_back)


def _columns(x: Any, y: Any) -> Any:
    return y[:, None] if y.ndim == 1 else y


def _solve(x: Any, y: Any) -> Any:
    z = _solved(x, _columns(x, y))
    return z[..., 0] if y.ndim == 1 else z


def _solve_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    vector = y.ndim == 1
    back = _solved(x, c[..., None] if vector else c, adjoint=True)
    return -product(back, turned(out[..., None] if vector else out)), back[..., 0] if vector else back


SOLVE = Formulas(_solve, _solve_back)


def _determinant(x: Any) -> tuple[Any, Any]:
    """Its sign, and the factors that it is the product of."""
    lu, order = lu_factors(x)
    n = x.shape[-1]
    exchanged = np.zeros(order.shape[:-1], int)
    for i in range(n):
        exchanged = exchanged + (order[..., i, None] > order[..., i + 1 :]).sum(axis=-1)
    factors = np.diagonal(lu, axis1=-2, axis2=-1)
    # a column of zeros leaves nothing to divide by, and the determinant is 0
    dead = (np.isnan(factors) | (factors == 0)).any(axis=-1, keepdims=True) & np.isfinite(x).all(axis=(-2, -1))[..., None]
    return np.where(exchanged % 2, LONG_DOUBLE(-1), LONG_DOUBLE(1)), np.where(dead, LONG_DOUBLE(0), factors)


def determinant(x: Any) -> Any:
    sign, factors = _determinant(x)
    return sign * factors.prod(axis=-1)


def _slogdet(x: Any) -> tuple[Any, Any]:
    found = refined_determinant(x)
    if found is not None:
        return found
    sign, factors = _determinant(x)
    return sign * np.sign(factors).prod(axis=-1), np.log(np.abs(factors)).sum(axis=-1)


def _by_inverse(c: Any, x: Any) -> tuple[Any]:
    return (c[..., None, None] * turned(inverse(x)),)


SLOGDET = Formulas(_slogdet, lambda c, out, x: _by_inverse(c[1], x))


def _det_back(c: Any, out: Any, x: Any) -> tuple[Any]:
    doubles = x.astype(np.float64)
    if x.size and not (np.isfinite(doubles).all() and np.all(1 / np.linalg.cond(doubles) > _SINGULAR)):
        raise NotCovered("the derivative of the determinant of a singular matrix of so many entries")
    return _by_inverse(c * out, x)


DET = Formulas(determinant, _det_back)


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
    """dA = P (dL U + L dU): with the leading square L1 U1 known, the rest of L and U follow from rows and columns of dA."""
    p, lower, upper = out
    _, by_l, by_u = c
    n, m = x.shape[-2:]
    if n == m:
        return (product(p, _square_lu(lower, upper, by_l, by_u)),)
    k = min(n, m)
    if n > m:  # L2 = A2 inv(U1)
        rest = turned(substituted(upper, turned(by_l[..., k:, :]), upper=True))
        inner = by_u - _triangle(product(turned(lower[..., k:, :]), rest), True, False)
        top = _square_lu(lower[..., :k, :], upper, by_l[..., :k, :], inner)
        return (product(p, np.concatenate([top, rest], axis=-2)),)
    rest = substituted(turned(lower), by_u[..., k:], upper=True, ones=True)  # U2 = inv(L1) A2
    inner = by_l - _triangle(product(rest, turned(upper[..., k:])), False, True)
    left = _square_lu(lower, upper[..., :k], inner, by_u[..., :k])
    return (product(p, np.concatenate([left, rest], axis=-1)),)


def _square_lu(lower: Any, upper: Any, by_l: Any, by_u: Any) -> Any:
    """With F = inv(L) dA inv(U), dL is L times what of F is below its diagonal, dU the rest of it times U."""
    strict = _triangle(product(turned(lower), by_l), False, True)
    n = upper.shape[-1]
    # the last pivot divides nothing of L, and may be 0
    strict = strict + _triangle(product(by_u, turned(upper)), True, False)
    half = substituted(turned(lower), strict, upper=True, ones=True)
    if n and np.any(upper[..., -1, -1] == 0):
        raise NotCovered("LU factors of a singular matrix of so many entries")
    return turned(substituted(upper, turned(half), upper=True))


LU = Formulas(_lu, _lu_back)
