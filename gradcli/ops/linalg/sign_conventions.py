"""The signs of eigenvectors and singular vectors, which mathematics leaves open, as PyTorch's LAPACK has them.

It differs from NumPy's in how a plane rotation is signed (the LAPACK of before 2021) and in the shapes of matrices
that it takes to triangular form first. What is computed here decides about signs and bases only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Matrix = np.ndarray
_SMALL = 25  # rows up to which LAPACK finds eigenvectors by the QL iteration
_EPSILON = float(np.finfo(float).eps) / 2


def eigh(x: Matrix, UPLO: Any) -> tuple[Matrix, Matrix]:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    values, vectors = np.linalg.eigh(x, UPLO)
    if 2 < x.shape[-1] <= _SMALL:
        half = np.tril(x) if UPLO in "Ll" else np.triu(x)
        full = half + np.swapaxes(half, -1, -2) * (1 - np.eye(x.shape[-1]))
        for place in np.ndindex(x.shape[:-2]):
            like = _vectors(full[place], UPLO in "Uu")
            vectors[place] *= np.where((vectors[place] * like).sum(axis=0) < 0, -1.0, 1.0)
    return values, vectors


def _vectors(x: Matrix, upper: bool) -> Matrix:
    from scipy.linalg import hessenberg

    flipped = slice(None, None, -1 if upper else 1)
    x, q = (part[flipped, flipped].copy() for part in hessenberg(x[flipped, flipped], calc_q=True))
    values = np.diagonal(x).copy()
    _iterate(values, np.diagonal(x, -1).copy(), q)
    vectors: Matrix = q[:, np.argsort(values, kind="stable")]
    return vectors


def _iterate(d: Matrix, e: Matrix, z: Matrix) -> None:
    """LAPACK's steqr: a tridiagonal matrix, block by block, to diagonal form; z takes the rotations."""
    start, last = 0, len(d) - 1
    while start <= last:
        stop = start
        while stop < last and abs(e[stop]) > math.sqrt(abs(d[stop])) * math.sqrt(abs(d[stop + 1])) * _EPSILON:
            stop += 1
        if stop < last:
            e[stop] = 0
        block = slice(start, stop + 1)
        if abs(d[stop]) < abs(d[start]):  # QR, which is QL from the other end
            _block(d[block][::-1], e[start:stop][::-1], z[:, block][:, ::-1], 1)
        else:
            _block(d[block], e[start:stop], z[:, block], 0)
        start = stop + 1


def _block(d: Matrix, e: Matrix, z: Matrix, first: int) -> None:
    place, last = 0, len(d) - 1
    for _ in range(30 * len(d)):
        stop = place
        while stop < last and e[stop] ** 2 > _EPSILON**2 * abs(d[stop] * d[stop + 1]) + np.finfo(float).tiny:
            stop += 1
        if stop < last:
            e[stop] = 0
        if stop == place:
            place += 1
        elif stop == place + 1:
            i, j = place + first, place + 1 - first
            d[i], d[j], cosine, sine = _two_rows(d[i], e[place], d[j])
            _turn(z, i, j, cosine, sine)
            e[place] = 0
            place += 2
        else:
            _step(d, e, z, place, stop)
        if place > last:
            return


def _step(d: Matrix, e: Matrix, z: Matrix, place: int, stop: int) -> None:
    """One step of the QL iteration with an implicit shift."""
    g = (d[place + 1] - d[place]) / (2 * e[place])
    g = d[stop] - d[place] + e[place] / (g + math.copysign(math.hypot(g, 1), g))
    sine = cosine = 1.0
    p = 0.0
    for i in range(stop - 1, place - 1, -1):
        f, b = sine * e[i], cosine * e[i]
        cosine, sine, r = _rotation(g, f)
        if i < stop - 1:
            e[i + 1] = r
        g = d[i + 1] - p
        r = (d[i] - g) * sine + 2 * cosine * b
        p = sine * r
        d[i + 1] = g + p
        g = cosine * r - b
        _turn(z, i, i + 1, cosine, -sine)
    d[place] -= p
    e[place] = g


def _turn(z: Matrix, i: int, j: int, cosine: float, sine: float) -> None:
    z[:, i], z[:, j] = sine * z[:, j] + cosine * z[:, i], cosine * z[:, j] - sine * z[:, i]


def _rotation(f: float, g: float) -> tuple[float, float, float]:
    """LAPACK's lartg before 3.10: the sign of the cosine is not always positive."""
    if g == 0:
        return 1.0, 0.0, f
    r = math.hypot(f, g)
    if abs(f) > abs(g) and f < 0:
        r = -r
    return f / r, g / r, r


def _two_rows(a: float, b: float, c: float) -> tuple[float, float, float, float]:
    """LAPACK's laev2: the eigenvalues of [[a, b], [b, c]], the one of larger size first, and its eigenvector."""
    root = math.hypot(a - c, 2 * b)
    down, below = a + c < 0, a < c
    shifted = a - c - root if below else a - c + root
    if abs(shifted) > abs(2 * b):
        sine = 1 / math.hypot(1, 2 * b / shifted)
        cosine = -2 * b / shifted * sine
    elif b == 0:
        cosine, sine = 1.0, 0.0
    else:
        cosine = 1 / math.hypot(1, shifted / (2 * b))
        sine = -shifted / (2 * b) * cosine
    if down == below:
        cosine, sine = -sine, cosine
    root = -root if down else root
    return (a + c + root) / 2, (a + c - root) / 2, cosine, sine


def svd(x: Matrix, full_matrices: bool) -> tuple[Matrix, ...]:
    """Singular values and vectors: tall matrices by way of QR, wide ones never by way of LQ."""
    n, m = x.shape[-2:]
    if not x.size or n == m or min(n, m) == 1:
        return tuple(np.linalg.svd(x, full_matrices))
    if n >= 3 * m // 2:
        q, r = np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
        u, s, vh = np.linalg.svd(r[..., :m, :])
        return np.concatenate([q[..., :m] @ u, q[..., m:]], axis=-1), s, vh
    if m >= 11 * n // 6:
        padded = np.zeros((*x.shape[:-2], m, m + 1))
        padded[..., :n, :m] = x
        u, s, vh = np.linalg.svd(padded)
        beyond = vh[..., n:m, :m][..., ::-1, :] if full_matrices else vh[..., :0, :m]
        return u[..., :n, :n], s[..., :n], np.concatenate([vh[..., :n, :m], beyond], axis=-2)
    return tuple(np.linalg.svd(x, full_matrices))
