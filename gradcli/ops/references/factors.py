"""References of factors of matrices and of equations, by the textbook algorithms on scalars.

Which of several vectors LAPACK returns (a sign, a basis of what is left over) is read off LAPACK's own result; no number is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references.arrays import array, lined, matmul, total
from gradcli.ops.references.scalar_algorithms import (
    GUARD,
    Matrix,
    berkowitz,
    blurred,
    completed,
    doolittle,
    eliminate,
    exponential,
    floats,
    gram_schmidt,
    largest,
    over_batches,
    plainly,
    quotient,
    rounding,
    valued,
    whole,
    without_derivative,
)
from gradcli.ops.references.scalar_algorithms import cholesky as cholesky_of

# -- Eigenvalues and singular values of matrices of scalars


def _clusters(m: Any, values: Any) -> list[list[int]]:
    """The places of values in ascending order, those together that are equal to the program's precision."""
    plain = [m.plain(v) for v in values]
    close = rounding(m, max(map(abs, plain), default=0))
    found: list[list[int]] = []
    for i in sorted(range(len(plain)), key=plain.__getitem__):
        if found and abs(plain[i] - plain[found[-1][-1]]) <= close:
            found[-1].append(i)
        else:
            found.append([i])
    return [sorted(places) for places in found]


def _turn(m: Any, clusters: list[list[int]], like: Matrix, vectors: Matrix) -> None:
    """Give vectors a library's signs, and its basis where values are equal.

    The library's vectors stand in ascending order.
    """
    start = 0
    for places in clusters:
        overlap = plainly(m, vectors[:, places]).T @ like[:, start : start + len(places)]
        several = len(places) > 1
        turn = completed(m, np.empty((len(places), 0), dtype=object), overlap) if several else np.where(overlap < 0, -m.one, m.one)
        vectors[:, places] = vectors[:, places] @ turn
        start += len(places)


def symmetric_eigen(m: Any, x: Matrix, like: Matrix, sizes: Callable[[Any], Any] = lambda value: value) -> tuple[Matrix, Matrix]:
    """Eigenvalues in ascending order, and eigenvectors turned towards others.

    sizes  what is told apart of values
    """
    if not x.size:
        return x[:0].ravel(), x
    values, v = (part.copy() for part in whole(m, "eigensystem", x))
    clusters = _clusters(m, m.map(sizes, values))
    _turn(m, clusters, like, v)
    for places in clusters:
        if len(places) > 1:  # equal values are v @ x @ v for their vectors as they stand, which have no derivatives
            m.approximated("eigh")
            vectors = plainly(m, v[:, places])
            values[places] = (vectors * (x @ vectors)).sum(axis=0)
            v[:, places] = blurred(m, vectors, x)
    return values, v


def singular_values(m: Any, x: Matrix, like: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """U (of no meaning for values of 0), singular values in descending order, and V turned towards others.

    They are those of x.T @ x, there being no more columns than rows. What is zero to the precision of m becomes a square root of
    zero, which has no derivative.
    """
    tiny = largest(m, x) ** 2 * m.m.mpf(10) ** (GUARD - m.m.dps)

    def root(square: Any) -> Any:
        if m.plain(square) > tiny:
            return m.sqrt(square)
        m.approximated("svd")
        return without_derivative(m, square)

    squares, right = symmetric_eigen(m, matmul(m, x.T, x), like[:, ::-1], root)
    sizes, right = m.map(root, squares[::-1]), right[:, ::-1]
    left = matmul(m, x, right) / m.map(lambda s: s if m.plain(s) else m.one, sizes)
    return left, sizes, right


def one_triangle(x: Matrix, upper: bool) -> Matrix:
    """The values of one triangle of a matrix, and their mirror image."""
    places = range(len(x))
    return array([x[i, j] if (j >= i) == upper or i == j else x[j, i] for i in places for j in places], x.shape)


def symmetric(m: Any, x: Matrix, upper: bool) -> Matrix:
    """Scalars with the values of one triangle, and the derivatives shared evenly by both."""
    return valued(m, (x + x.T) / (2 * m.one), one_triangle(x, upper))


def _same(*shapes: Any, **_: Any) -> Any:
    return shapes[-1]




def substituted(m: Any, x: Matrix, y: Matrix, upper: bool, unitriangular: bool) -> Matrix:
    """The z with x @ z = y, row by row."""
    n, columns = y.shape
    found: dict[tuple[int, int], Any] = {}
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = range(i + 1, n) if upper else range(i)
        for c in range(columns):
            rest = y[i, c]
            if known:
                rest = rest - total(m, [x[i, k] * found[k, c] for k in known])
            found[i, c] = rest if unitriangular else quotient(m, rest, x[i, i])
    return array([found[i, c] for i in range(n) for c in range(columns)], (n, columns))


solve_triangular = over_batches(substituted, _same)


def _solve_matrices(m: Any, x: Any, y: Any) -> Any:
    return over_batches(eliminate, _same)(m, x, y)


def solve(m: Any, x: Any, y: Any) -> Any:
    return _solve_matrices(m, x, y[:, None])[..., 0] if np.ndim(y) == 1 else _solve_matrices(m, x, y)


def _lu(m: Any, x: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    factors, order, _ = doolittle(m, x)
    n, columns = x.shape
    k = min(n, columns)
    p = array([m.one if order[j] == i else m.zero for i in range(n) for j in range(n)], (n, n))
    below = [factors[i, j] if j < i else m.one if j == i else m.zero for i in range(n) for j in range(k)]
    above = [factors[i, j] if j >= i else m.zero for i in range(k) for j in range(columns)]
    return p, array(below, (n, k)), array(above, (k, columns))


lu = over_batches(_lu, lambda x: [(x[0], x[0]), (x[0], min(x)), (min(x), x[1])])


pivots = over_batches(lambda m, x: doolittle(m, x)[2], lambda x: (min(x),))


def permutation(m: Any, pivots: Any, n: int) -> Any:
    """Return where a matrix of ones has them, once its rows have been exchanged."""

    def order(row: list[Any]) -> list[int]:
        at = list(range(n))
        for i, j in enumerate(map(int, row)):
            at[i], at[j - 1] = at[j - 1], at[i]
        return at

    return lined(pivots, -1, order)[..., None, :] == np.arange(n)[:, None]


def _cholesky(m: Any, x: Matrix, upper: bool) -> Matrix:
    factor = cholesky_of(m, symmetric(m, x, upper))
    return factor.T if upper else factor


cholesky = over_batches(_cholesky, _same)


def _orthogonal(m: Any, x: Matrix) -> tuple[Matrix, Matrix]:
    """Q and R of a matrix with no more columns than rows, signs as LAPACK has them."""
    like, r = np.linalg.qr(floats(m, x))
    return gram_schmidt(m, x, like, [-1 if r[i, i] < 0 else 1 for i in range(len(r))])


def _qr(m: Any, x: Matrix, complete: bool) -> tuple[Matrix, Matrix]:
    n = min(x.shape)
    q, r = _orthogonal(m, x[:, :n])
    r = np.column_stack([r, q.T @ x[:, n:]])
    if complete and n < len(x):
        rest = completed(m, q, np.linalg.qr(floats(m, x), mode="complete")[0][:, n:])
        q, r = np.column_stack([q, rest]), np.concatenate([r, np.full((len(x) - n, n), m.zero)])
    return q, r


def _qr_shapes(x: Any, complete: bool) -> Any:
    k = x[0] if complete else min(x)
    return [(x[0], k), (k, x[1])]


qr = over_batches(_qr, _qr_shapes)


det = over_batches(berkowitz, lambda x: ())


matrix_exp = over_batches(exponential, _same)


def _eigh(m: Any, x: Matrix, UPLO: Any) -> tuple[Matrix, Matrix]:
    return symmetric_eigen(m, symmetric(m, x, UPLO.upper() == "U"), np.linalg.eigh(floats(m, x), UPLO)[1])


eigh = over_batches(_eigh, lambda x, UPLO: [x[:1], x])


def _svd(m: Any, x: Matrix, full_matrices: bool) -> tuple[Matrix, Matrix, Matrix]:
    u, _, vh = np.linalg.svd(floats(m, x), True)
    if x.shape[0] < x.shape[1]:
        right, sizes, left = _tall_svd(m, x.T, vh.T, u)
    else:
        left, sizes, right = _tall_svd(m, x, u, vh.T)
    k = len(sizes)
    return (left, sizes, right.T) if full_matrices else (left[:, :k], sizes, right[:, :k].T)


def _tall_svd(m: Any, x: Matrix, u: Matrix, v: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The square U, the singular values and V of a matrix with no more columns than rows, turned like a library's."""
    left, sizes, right = singular_values(m, x, v)
    rank = sum(m.plain(s) != 0 for s in sizes)
    left = left[:, :rank]
    beyond = completed(m, left, u[:, rank:])
    beyond[:, : len(sizes) - rank] = blurred(m, beyond[:, : len(sizes) - rank], x)
    return np.column_stack([left, beyond]), sizes, right


def _svd_shapes(x: Any, full_matrices: bool) -> Any:
    n, columns = x
    k = min(n, columns)
    return [(n, n if full_matrices else k), (k,), (columns if full_matrices else k, columns)]


svd = over_batches(_svd, _svd_shapes)


def _pinv(m: Any, x: Matrix, rtol: Any, atol: Any, hermitian: bool) -> Matrix:
    relative = (0.0 if atol else max(x.shape) * float(np.finfo(m.precision).eps)) if rtol is None else float(rtol)
    given = valued(m, x, one_triangle(x, False)) if hermitian else x
    tall = given.shape[0] >= given.shape[1]
    found = pseudoinverse(m, given if tall else given.T, relative, float(atol or 0))
    return found if tall else found.T


pinv = over_batches(_pinv, lambda x, **_: x[::-1])


def pseudoinverse(m: Any, x: Matrix, rtol: float, atol: float) -> Matrix:
    """Of the matrix of fixed rank that is nearest to first order: x @ v @ inv(u.T @ x @ v) @ u.T @ x."""
    _, rough, like = np.linalg.svd(floats(m, x), full_matrices=False)
    if x.size and rough[-1] > max(2 * atol, 2 * rtol * rough[0], 1e-9 * rough[0]):  # no doubt about the rank
        return eliminate(m, x.T @ x, x.T)
    u, sizes, v = singular_values(m, plainly(m, x), like.T)
    rank = sum(s > max(m.m.mpf(atol), rtol * sizes[0]) for s in sizes)
    u, v = u[:, :rank], v[:, :rank]
    left, right = x @ v, u.T @ x
    middle = u.T @ left
    found: Matrix = eliminate(m, right @ right.T, right).T @ (middle @ eliminate(m, left.T @ left, left.T)) + m.zero
    return found
