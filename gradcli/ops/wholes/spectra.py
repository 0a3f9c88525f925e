"""Eigenvalues and singular values in long double: LAPACK's in doubles, refined until nothing is left of the residual.

Each step doubles the digits that are right (T. Ogita and K. Aishima, 2018 and 2020), wherever it starts from: what LAPACK gives is no more
than a start, and says which of two opposite vectors is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.factors import beside, orthonormal
from gradcli.ops.wholes.products import product, turned

_STEPS = 6
_ENOUGH = 2.0**-58  # of what is left to be added to vectors


def _on_diagonal(v: Any) -> Any:
    return v[..., None] * np.eye(v.shape[-1], dtype=v.dtype)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _size(x: Any) -> Any:
    return np.abs(x).max(initial=0)


def _settled(change: Any, before: Any) -> bool:
    if not np.isfinite(change) or change > 0.1:
        raise NotCovered("a spectrum of so many entries that does not settle")
    return bool(change <= _ENOUGH or change >= before)


def _differences(values: Any) -> Any:
    """values[j] - values[i]"""
    return values[..., None, :] - values[..., :, None]


def symmetric_spectrum(x: Any, start: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of symmetric matrices, from approximate vectors."""
    vectors, eye = start.astype(LONG_DOUBLE), np.eye(x.shape[-1], dtype=LONG_DOUBLE)
    scale, before = _size(x), np.inf
    for _ in range(_STEPS):
        off = eye - product(turned(vectors), vectors)
        turned_x = product(turned(vectors), product(x, vectors))
        values = _diagonal(turned_x) / (1 - _diagonal(off))
        residual = _size(turned_x - _on_diagonal(values)) + scale * _size(off)
        gaps = _differences(values)
        near = np.abs(gaps) <= 2 * residual
        step = np.where(near, off / 2, (turned_x + values[..., None, :] * off) / np.where(near, 1, gaps))
        vectors = vectors + product(vectors, step)
        change = _size(step)
        if _settled(change, before):
            break
        before = change
    off = eye - product(turned(vectors), vectors)
    return _diagonal(product(turned(vectors), product(x, vectors))) / (1 - _diagonal(off)), vectors


def _mirrored(x: Any, upper: bool) -> Any:
    rows, columns = np.arange(x.shape[-1])[:, None], np.arange(x.shape[-1])
    return np.where(columns >= rows if upper else columns <= rows, x, turned(x))


def _eigh(x: Any, UPLO: Any) -> tuple[Any, Any]:
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    return symmetric_spectrum(_mirrored(x, UPLO in "Uu"), np.linalg.eigh(doubles, UPLO)[1])


def _eigh_back(c: Any, out: Any, x: Any, UPLO: Any) -> tuple[Any]:
    """dV = V W with W[i, j] = F[i, j]/(values[j] - values[i]), F = V.T dA V; the values change by its diagonal."""
    (by_values, by_vectors), (values, vectors) = c, out
    inner = _on_diagonal(by_values)
    if np.any(by_vectors):
        inner = inner + product(turned(vectors), by_vectors) * _inverse_gaps(_differences(values))
    slope = product(vectors, product(inner, turned(vectors)))
    return ((slope + turned(slope)) / 2,)


def _inverse_gaps(gaps: Any) -> Any:
    """1/gaps, and 0 on the diagonal."""
    diagonal = np.eye(gaps.shape[-1], dtype=gaps.dtype)
    return (1 - diagonal) / (gaps + diagonal)


EIGH = Formulas(_eigh, _eigh_back)


def square_spectrum(x: Any, u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Singular vectors and values of square matrices, from approximate vectors."""
    u, v, eye = u.astype(LONG_DOUBLE), v.astype(LONG_DOUBLE), np.eye(x.shape[-1], dtype=LONG_DOUBLE)
    scale, before = _size(x), np.inf
    for _ in range(_STEPS):
        off_u, off_v = eye - product(turned(u), u), eye - product(turned(v), v)
        inner = product(turned(u), product(x, v))
        s = _diagonal(inner) / (1 - (_diagonal(off_u) + _diagonal(off_v)) / 2)
        residual = _size(inner - _on_diagonal(s)) + scale * (_size(off_u) + _size(off_v))
        row, column = s[..., None, :], s[..., :, None]
        by_u, by_v = inner + row * off_u, turned(inner) + row * off_v
        gaps = (row - column) * (row + column)
        near = (np.abs(row - column) <= 2 * residual) | (gaps == 0)
        gaps = np.where(near, 1, gaps)
        step_u = np.where(near, off_u / 2, (by_u * row + by_v * column) / gaps)
        step_v = np.where(near, off_v / 2, (by_u * column + by_v * row) / gaps)
        u, v = u + product(u, step_u), v + product(v, step_v)
        change = max(_size(step_u), _size(step_v))
        if _settled(change, before):
            break
        before = change
    off_u, off_v = eye - product(turned(u), u), eye - product(turned(v), v)
    s = _diagonal(product(turned(u), product(x, v))) / (1 - (_diagonal(off_u) + _diagonal(off_v)) / 2)
    return u, s, v


def singular(x: Any, start: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """The first singular vectors, and all values: by the factors Q and R of matrices that are not square."""
    n, m = x.shape[-2:]
    if n < m:
        u, s, vh = start
        v, values, w = singular(turned(x), (turned(vh), s, turned(u)))
        return turned(w), values, turned(v)
    k = m
    u, _, vh = start
    if n == m:
        left, s, right = square_spectrum(x, u, turned(vh))
        return left, s, turned(right)
    start_v = turned(vh)[..., :k]
    if not _of_full_rank(start):  # beside columns of zeros it is square
        return _beside_zeros(x, u[..., :k], start_v)
    # those of Q R, whose left vectors are Q times those of R
    q, r = orthonormal(x)
    left, s, right = square_spectrum(r, product(turned(q), u[..., :k].astype(LONG_DOUBLE)), start_v)
    return product(q, left), s, turned(right)


def _beside_zeros(x: Any, u: Any, v: Any) -> tuple[Any, Any, Any]:
    *batch, n, k = x.shape
    every = np.linalg.svd(x.astype(np.float64))[0]
    square, right = np.zeros((*batch, n, n), LONG_DOUBLE), np.array(np.broadcast_to(np.eye(n), (*batch, n, n)))
    square[..., :k], right[..., :k, :k] = x, v
    left, s, right = square_spectrum(square, np.concatenate([u, every[..., k:]], axis=-1), right)
    return left[..., :k], s[..., :k], turned(right[..., :k, :k])


def _of_full_rank(start: tuple[Any, Any, Any]) -> bool:
    s = start[1]
    return not s.size or bool(np.all(s[..., -1] > 1e-13 * s[..., 0]))


def _svd(x: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    start = tuple(map(np.asarray, np.linalg.svd(doubles, full_matrices)))
    n, m = x.shape[-2:]
    k = min(n, m)
    u, s, vh = singular(x, (start[0][..., :k], start[1], start[2][..., :k, :]))
    if full_matrices and n > k:
        u = np.concatenate([u, beside(u, start[0][..., k:])], axis=-1)
    if full_matrices and m > k:
        vh = np.concatenate([vh, turned(beside(turned(vh), turned(start[2][..., k:, :])))], axis=-2)
    return u, s, vh


def _vectors(c: Any, out: Any) -> tuple[Any, ...]:
    """Cotangents and factors of the first singular vectors; the others count as constants."""
    k = out[1].shape[-1]
    return c[0][..., :k], c[1], turned(c[2][..., :k, :]), out[0][..., :k], out[1], turned(out[2][..., :k, :])


def _svd_back(c: Any, out: Any, x: Any, full_matrices: bool) -> tuple[Any]:
    """With F = U.T dA V: the values change by its diagonal, and U.T dU and V.T dV solve two equations for each pair of them."""
    by_u, by_s, by_v, u, s, v = _vectors(c, out)
    inner = _on_diagonal(by_s)
    row, column = s[..., None, :], s[..., :, None]
    outside = LONG_DOUBLE(0)
    if np.any(by_u) or np.any(by_v):
        inverse = _inverse_gaps((row - column) * (row + column))
        left, right = product(turned(u), by_u) * inverse, product(turned(v), by_v) * inverse
        # dU[i, j] = (F[i, j] s[j] + s[i] F[j, i])/gap, dV[i, j] = (s[i] F[i, j] + F[j, i] s[j])/gap
        inner = inner + left * row + turned(left * column) + right * column + turned(right * row)
    slope = product(u, product(inner, turned(v)))
    n, m, k = u.shape[-2], v.shape[-2], s.shape[-1]
    if np.any(by_u) and n > k:
        outside = by_u - product(u, product(turned(u), by_u))
        slope = slope + product(outside / row, turned(v))
    if np.any(by_v) and m > k:
        outside = by_v - product(v, product(turned(v), by_v))
        slope = slope + product(u, turned(outside / row))
    return (slope,)


SVD = Formulas(_svd, _svd_back)


# -- Pseudoinverses in long double, of matrices of any rank ----------------------------------------


def _singular_parts(x: Any) -> tuple[Any, Any, Any]:
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    u, s, vh = singular(x, np.linalg.svd(doubles, full_matrices=False))
    return u, s, turned(vh)


def _read(x: Any, hermitian: bool) -> Any:
    return _mirrored(x, upper=False) if hermitian else x


def _pinv(x: Any, rtol: Any, atol: Any, hermitian: bool, epsilon: float) -> Any:
    if not x.size:
        return turned(x)
    u, s, v = _singular_parts(_read(x, hermitian))
    absolute = np.zeros(()) if atol is None else np.asarray(atol)
    relative = np.where(absolute > 0, 0, max(x.shape[-2:]) * epsilon) if rtol is None else np.asarray(rtol)
    cut = np.maximum(absolute, relative * s[..., 0])[..., None]
    return product(v * np.where(s > cut, 1 / np.where(s > cut, s, 1), 0)[..., None, :], turned(u))


def _pinv_back(c: Any, out: Any, x: Any, hermitian: bool, **_: Any) -> tuple[Any]:
    """d pinv(A) = -P dA P + P P.T dA.T (1 - A P) + (1 - P A) dA.T P.T P (G. H. Golub and V. Pereyra, 1973)."""
    x, p, q, d = _read(x, hermitian), out, turned(out), turned(c)
    inner = -product(product(q, c), q)
    beside = product(d, product(p, q))
    below = product(product(q, p), d)
    return (inner + (beside - product(x, product(p, beside))) + (below - product(product(below, p), x)),)


PINV = Formulas(_pinv, _pinv_back)
