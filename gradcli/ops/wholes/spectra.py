"""Eigenvalues and singular values in long double: LAPACK's in doubles, refined until nothing is left of the residual.

Each step doubles the digits that are right (T. Ogita and K. Aishima, 2018 and 2020), wherever it starts from: what LAPACK gives is no more
than a start, and says which of two opposite vectors is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

_STEPS = 6
_ENOUGH = 2.0**-58  # of what is left to be added to vectors
_EQUAL = 2.0**-50  # of the largest entry: how near values are that doubles do not tell apart, whose vectors stay LAPACK's


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
        near = np.abs(gaps) <= np.maximum(2 * residual, _EQUAL * scale)
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
        shares = product(turned(vectors), by_vectors)
        inner = inner + np.where(shares == 0, 0, shares * _inverse_gaps(_differences(values)))
    slope = product(vectors, product(inner, turned(vectors)))
    return ((slope + turned(slope)) / 2,)


def _inverse_gaps(gaps: Any) -> Any:
    """1/gaps, and 0 on the diagonal."""
    diagonal = np.eye(gaps.shape[-1], dtype=gaps.dtype)
    return (1 - diagonal) / (gaps + diagonal)


EIGH = Formulas(_eigh, _eigh_back)


def _spectrum_of_both(x: Any) -> tuple[Any, Any, Any]:
    """[[0, x], [x.T, 0]], its eigenvalues, which are the singular values of x, their negatives and zeros, and its eigenvectors."""
    doubles = x.astype(np.float64)
    if not np.isfinite(doubles).all():
        raise NotCovered("a matrix with entries that are not finite")
    (n, m), k = x.shape[-2:], min(x.shape[-2:])
    u, _, vh = np.linalg.svd(doubles)
    u, v = u.copy(), turned(vh).copy()
    u[..., :k] /= np.sqrt(2)
    v[..., :k] /= np.sqrt(2)
    none = [np.zeros((*x.shape[:-2], *shape)) for shape in ((n, n), (m, m), (n, m - k), (m, n - k))]
    whole = np.block([[none[0], x], [turned(x), none[1]]])
    start = np.block([[u[..., :k], u, none[2]], [v[..., :k], -v[..., :k], none[3], v[..., k:]]])
    return (whole, *symmetric_spectrum(whole, start))


def singular(x: Any) -> tuple[Any, Any, Any]:
    """All left singular vectors, the values, and all right singular vectors."""
    n, k, root = x.shape[-2], min(x.shape[-2:]), np.sqrt(LONG_DOUBLE(2))
    _, values, vectors = _spectrum_of_both(x)
    left = np.concatenate([vectors[..., :n, :k] * root, vectors[..., :n, 2 * k : n + k]], axis=-1)
    right = np.concatenate([vectors[..., n:, :k] * root, vectors[..., n:, n + k :]], axis=-1)
    return left, values[..., :k], right


def _svd(x: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    u, s, v = singular(x)
    k = s.shape[-1]
    return (u, s, turned(v)) if full_matrices else (u[..., :k], s, turned(v[..., :k]))


def _svd_back(c: Any, out: Any, x: Any, full_matrices: bool) -> tuple[Any]:
    """That of the eigenvectors of [[0, x], [x.T, 0]]; vectors beyond the values count as constants."""
    n, k, root = x.shape[-2], min(x.shape[-2:]), np.sqrt(LONG_DOUBLE(2))
    whole, values, vectors = _spectrum_of_both(x)
    by_values, by_vectors = np.zeros_like(values), np.zeros_like(vectors)
    by_values[..., :k] = c[1]
    by_vectors[..., :n, :k], by_vectors[..., n:, :k] = c[0][..., :k] * root, turned(c[2][..., :k, :]) * root
    (slope,) = _eigh_back((by_values, by_vectors), (values, vectors), whole, "L")
    return (2 * slope[..., :n, n:],)


SVD = Formulas(_svd, _svd_back)


# -- Pseudoinverses in long double, of matrices of any rank ----------------------------------------


def _read(x: Any, hermitian: bool) -> Any:
    return _mirrored(x, upper=False) if hermitian else x


def _pinv(x: Any, rtol: Any, atol: Any, hermitian: bool, epsilon: float) -> Any:
    if not x.size:
        return turned(x)
    u, s, v = singular(_read(x, hermitian))
    u, v = u[..., : s.shape[-1]], v[..., : s.shape[-1]]
    relative = (0 if atol else max(x.shape[-2:]) * epsilon) if rtol is None else rtol
    cut = np.maximum(atol or 0, relative * s[..., :1])
    return product(v * np.where(s > cut, 1 / np.where(s > cut, s, 1), 0)[..., None, :], turned(u))


def _pinv_back(c: Any, out: Any, x: Any, hermitian: bool, **_: Any) -> tuple[Any]:
    """d pinv(A) = -P dA P + P P.T dA.T (1 - A P) + (1 - P A) dA.T P.T P (G. H. Golub and V. Pereyra, 1973)."""
    x, p, q, d = _read(x, hermitian), out, turned(out), turned(c)
    inner = -product(product(q, c), q)
    beside = product(d, product(p, q))
    below = product(product(q, p), d)
    return (inner + (beside - product(x, product(p, beside))) + (below - product(product(below, p), x)),)


PINV = Formulas(_pinv, _pinv_back)
