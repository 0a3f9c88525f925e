"""References of matrix factors and equations, by textbook algorithms on scalars of any kind.

Each is a finite composition of + - * / and square roots, so derivatives can be taken through it.
LAPACK's own result decides which of several vectors is meant (a sign, a basis of the remaining
space); no number is read from it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.ops.references.arrays import Matrix, matmul, over_batches, replace_lines, total

GUARD = 6  # digits that rounding may cost
# Rows up to which single steps are as good as functions of whole matrices, and exact where the
# numbers are exact.
_FEW = 3


def plainly(m: Any, x: Matrix) -> Matrix:
    """Return the values of scalars without their history."""
    return np.array([m.plain(v) for v in x.ravel()], dtype=object).reshape(x.shape)


def floats(m: Any, x: Matrix) -> Matrix:
    return np.array([float(m.plain(v)) for v in x.ravel()]).reshape(x.shape)


def with_values(m: Any, x: Matrix, values: Matrix) -> Matrix:
    """Scalars that have other values, and the derivatives of x."""
    moved: Matrix = x + (plainly(m, values) - plainly(m, x))
    return moved


def largest(m: Any, x: Matrix) -> Any:
    """Return the size of the largest entry, or NaN if an entry is not finite."""
    sizes = [abs(v) for v in plainly(m, x).ravel()]
    return max(sizes, default=m.m.zero) if all(m.m.isfinite(v) for v in sizes) else m.m.nan


_DIGITS_LEFT = 40  # digits of the working precision that are left to rounding in many steps


def rounding(m: Any, size: Any) -> Any:
    """Return the difference up to which numbers of a size count as equal.

    A program's precision cannot tell such numbers apart.
    """
    if m.splits:
        return size * m.m.mpf(10) ** (_DIGITS_LEFT - m.m.dps)
    return size * m.m.mpf(64 * float(np.finfo(m.precision).eps))


def whole(m: Any, name: str, x: Matrix) -> tuple[Matrix, ...]:
    """Compute a function of a whole matrix that is the end of an iteration.

    Raises ArithmeticError where scalars are expressions.
    """
    found: tuple[Matrix, ...] | None = m.of_matrices(name, x)
    if found is None:
        raise ArithmeticError("an iteration has no formula")
    return found


def without_derivative(m: Any, x: Any) -> Any:
    """Return a zero that depends on x and has no derivative."""
    return m.sqrt(x - m.plain(x))


def without_derivatives(m: Any, x: Matrix, source: Matrix) -> Matrix:
    """Scalars without derivatives by the source; nor have their sums any."""
    weights = np.array([m.m.sqrt(k + 2) for k in range(x.size)], dtype=object).reshape(x.shape)
    moved: Matrix = x + without_derivative(m, source.sum()) * weights
    return moved


def quotient(m: Any, x: Any, y: Any) -> Any:
    """Return x / y, which is infinite or NaN for a division by zero."""
    try:
        return x / y
    except ZeroDivisionError:
        return m.inf * m.sign(x)


def determinant(m: Any, x: Matrix) -> Any:
    """Compute the determinant without a division.

    It is computed by minors of the last rows, with one row more at each step.
    """
    n = len(x)
    if n > _FEW and (found := m.of_matrices("determinant", x)) is not None:
        return found[0][()]
    minors: dict[tuple[int, ...], Any] = {(): m.one}
    for count in range(1, n + 1):
        row = x[n - count]
        smaller = minors
        minors = {}
        for columns in combinations(range(n), count):
            terms = [
                row[c] * smaller[columns[:i] + columns[i + 1 :]] for i, c in enumerate(columns)
            ]
            minors[columns] = total(m, [-term if i % 2 else term for i, term in enumerate(terms)])
    return minors[tuple(range(n))]


def eliminate(m: Any, x: Matrix, rhs: Matrix) -> Matrix:
    """Return the solution of x @ z = rhs by factors of x and substitution.

    Raises EvaluationError for a singular matrix.
    """
    if len(x) > _FEW and (found := m.of_matrices("solution", x, rhs)) is not None:
        solution: Matrix = found[0]
        return solution
    factors, order, _ = doolittle(m, x)
    if any(m.plain(pivot) == 0 for pivot in factors.diagonal()):
        raise EvaluationError("the matrix is singular")
    half = substitute(m, factors, rhs[order], upper=False, unitriangular=True)
    return substitute(m, factors, half, upper=True, unitriangular=False)


def doolittle(m: Any, x: Matrix) -> tuple[Matrix, Matrix, list[int]]:
    """Return the factors L and U in one matrix, the order of its rows, and the exchanges.

    The rows are ordered by the largest entry of each column. Exchanges are counted from 1.
    """
    x = x.copy()
    order = np.arange(len(x))
    pivots: list[int] = []
    for k in range(min(x.shape)):
        sizes = [abs(m.plain(v)) for v in x[k:, k]]
        best = k + sizes.index(max(sizes))
        pivots.append(best + 1)
        x[[k, best]], order[[k, best]] = x[[best, k]], order[[best, k]]
        if m.plain(x[k, k]) != 0:
            x[k + 1 :, k] = x[k + 1 :, k] / x[k, k]
        x[k + 1 :, k + 1 :] = x[k + 1 :, k + 1 :] - np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, order, pivots


def complete_basis(m: Any, basis: Matrix, others: Matrix) -> Matrix:
    """Return a library's vectors, made orthogonal to a basis and to each other.

    They are orthogonal to full precision. The columns have no history.
    """
    found = plainly(m, basis)
    for candidate in others.T:
        vector = np.array([m.one * float(v) for v in candidate], dtype=object)
        for _ in range(3):
            vector = plainly(m, vector - found @ (found.T @ vector))
            vector = vector / m.plain(m.sqrt(vector @ vector))
        found = np.column_stack([found, vector])
    return found[:, basis.shape[1] :]


def exponential(m: Any, x: Matrix) -> Matrix:
    """Compute the matrix exponential."""
    if m.m.isnan(largest(m, x)):
        nothing: Matrix = x * m.nan
        return nothing
    return whole(m, "exponential", x)[0] if x.size else x


# -- Eigenvalues and singular values of matrices of scalars


def _clusters(m: Any, values: Any) -> list[list[int]]:
    """Return the places of values in ascending order of the values, in groups.

    Values that are equal to the program's precision form one group.
    """
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
        turn = (
            complete_basis(m, np.empty((len(places), 0), dtype=object), overlap)
            if several
            else np.where(overlap < 0, -m.one, m.one)
        )
        vectors[:, places] = vectors[:, places] @ turn
        start += len(places)


def symmetric_eigen(
    m: Any, x: Matrix, like: Matrix, sizes: Callable[[Any], Any] = lambda value: value
) -> tuple[Matrix, Matrix]:
    """Eigenvalues in ascending order, and eigenvectors turned towards others.

    sizes  what is told apart of values
    """
    if not x.size:
        return x[:0].ravel(), x
    values, v = (part.copy() for part in whole(m, "eigensystem", x))
    clusters = _clusters(m, m.map(sizes, values))
    _turn(m, clusters, like, v)
    for places in clusters:
        # Equal values are v @ x @ v for constant vectors, which have no derivatives.
        if len(places) > 1:
            m.note_approximation("eigh")
            m.tied("eigh", x.ravel().tolist())
            vectors = plainly(m, v[:, places])
            values[places] = (vectors * (x @ vectors)).sum(axis=0)
            v[:, places] = without_derivatives(m, vectors, x)
    return values, v


def singular_values(m: Any, x: Matrix, like: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return U, singular values in descending order, and V turned towards ``like``.

    U has no meaning for values of 0. They are those of x.T @ x, since there are no more columns
    than rows. A value that is zero to the precision of m becomes a square root of zero, which has
    no derivative.
    """
    tiny = largest(m, x) ** 2 * m.m.mpf(10) ** (GUARD - m.m.dps)

    def root(square: Any) -> Any:
        if m.plain(square) > tiny:
            return m.sqrt(square)
        m.note_approximation("svd")
        return without_derivative(m, square)

    squares, right = symmetric_eigen(m, matmul(m, x.T, x), like[:, ::-1], root)
    sizes, right = m.map(root, squares[::-1]), right[:, ::-1]
    left = matmul(m, x, right) / m.map(lambda s: s if m.plain(s) else m.one, sizes)
    return left, sizes, right


def symmetric(m: Any, x: Matrix, upper: bool) -> Matrix:
    """Scalars with the values of one triangle, and the derivatives shared evenly by both."""
    above = np.arange(len(x))[:, None] <= np.arange(len(x))
    return with_values(m, (x + x.T) / (2 * m.one), np.where(above if upper else above.T, x, x.T))


def _same(*shapes: Any, **_: Any) -> Any:
    return shapes[-1]


def substitute(m: Any, x: Matrix, y: Matrix, upper: bool, unitriangular: bool) -> Matrix:
    """Solve x @ z = y for z, row by row."""
    found = y.copy()
    n = len(y)
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        if x[i, known].size:
            found[i] = found[i] - x[i, known] @ found[known]
        if not unitriangular:
            found[i] = [quotient(m, value, x[i, i]) for value in found[i]]
    return found


solve_triangular = over_batches(substitute, _same)


def _solve_matrices(m: Any, x: Any, y: Any) -> Any:
    return over_batches(eliminate, _same)(m, x, y)


def solve(m: Any, x: Any, y: Any) -> Any:
    return (
        _solve_matrices(m, x, y[:, None])[..., 0] if np.ndim(y) == 1 else _solve_matrices(m, x, y)
    )


def _lu(m: Any, x: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the factors of a matrix.

    They have no derivatives where no entry is left to divide by.
    """
    factors, order, _ = doolittle(m, x)
    n, columns = x.shape
    tiny = rounding(m, largest(m, x))
    if any(abs(m.plain(pivot)) <= tiny for pivot in factors.diagonal()[: n - 1]):
        factors = without_derivatives(m, factors, x)
    k = min(n, columns)
    row = np.arange(n)[:, None]
    column = np.arange(columns)
    lower = np.where(row > column, factors, np.where(row == column, m.one, m.zero))
    return (
        np.where(row == order, m.one, m.zero),
        lower[:, :k],
        np.where(row > column, m.zero, factors)[:k],
    )


lu = over_batches(_lu, lambda x: [(x[0], x[0]), (x[0], min(x)), (min(x), x[1])])


pivots = over_batches(lambda m, x: doolittle(m, x)[2], lambda x: (min(x),))


def permutation(m: Any, pivots: Any, n: int) -> Any:
    """Return where a matrix of ones has them, once its rows have been exchanged."""

    def order(row: list[Any]) -> list[int]:
        at = list(range(n))
        for i, j in enumerate(map(int, row)):
            at[i], at[j - 1] = at[j - 1], at[i]
        return at

    return replace_lines(pivots, -1, order)[..., None, :] == np.arange(n)[:, None]


def _cholesky(m: Any, x: Matrix, upper: bool) -> Matrix:
    """Compute the factor of a symmetric matrix, row by row (Cholesky-Banachiewicz).

    Raises EvaluationError if the matrix is not positive definite.
    """
    n = len(x)
    x = symmetric(m, x, upper)
    out = np.full((n, n), m.zero, dtype=object)
    for i in range(n):
        for j in range(i):
            out[i, j] = (x[i, j] - out[i, :j] @ out[j, :j]) / out[j, j]
        square = x[i, i] - out[i, :i] @ out[i, :i]
        if not m.plain(square) > 0:
            raise EvaluationError("the matrix is not positive definite")
        out[i, i] = m.sqrt(square)
    return out.T if upper else out


cholesky = over_batches(_cholesky, _same)


def _qr(m: Any, x: Matrix) -> tuple[Matrix, Matrix]:
    """Compute orthonormal columns Q and upper triangular R with x = Q @ R, by Gram and Schmidt.

    The signs are LAPACK's. Raises EvaluationError where a column depends on those before it.
    """
    signs = np.linalg.qr(floats(m, x))[1]
    columns = x.shape[1]
    q = x.copy()
    r = np.full((columns, columns), m.zero, dtype=object)
    tiny = rounding(m, largest(m, x)) ** 2
    for j in range(columns):
        for i in range(j):
            r[i, j] = q[:, i] @ q[:, j]
            q[:, j] = q[:, j] - q[:, i] * r[i, j]
        square = q[:, j] @ q[:, j]
        if not m.plain(square) > tiny:
            raise EvaluationError("a column of the matrix depends on those before it")
        r[j, j] = m.sqrt(square) * (-1 if signs[j, j] < 0 else 1)
        q[:, j] = q[:, j] / r[j, j]
    return q, r


qr = over_batches(_qr, lambda x: [x, (x[1], x[1])])


det = over_batches(determinant, lambda x: ())


matrix_exp = over_batches(exponential, _same)


def _eigh(m: Any, x: Matrix, UPLO: Any) -> tuple[Matrix, Matrix]:
    return symmetric_eigen(
        m, symmetric(m, x, UPLO.upper() == "U"), np.linalg.eigh(floats(m, x), UPLO)[1]
    )


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
    """Return the square U, the singular values, and V, turned like a library's.

    The matrix has no more columns than rows.
    """
    left, sizes, right = singular_values(m, x, v)
    rank = sum(m.plain(s) != 0 for s in sizes)
    left = left[:, :rank]
    beyond = complete_basis(m, left, u[:, rank:])
    beyond[:, : len(sizes) - rank] = without_derivatives(m, beyond[:, : len(sizes) - rank], x)
    return np.column_stack([left, beyond]), sizes, right


def _svd_shapes(x: Any, full_matrices: bool) -> Any:
    n, columns = x
    k = min(n, columns)
    return [(n, n if full_matrices else k), (k,), (columns if full_matrices else k, columns)]


svd = over_batches(_svd, _svd_shapes)


def _pinv(m: Any, x: Matrix, rtol: Any, atol: Any) -> Matrix:
    relative = (
        (0.0 if atol else max(x.shape) * float(np.finfo(m.precision).eps))
        if rtol is None
        else float(rtol)
    )
    tall = x.shape[0] >= x.shape[1]
    found = pseudoinverse(m, x if tall else x.T, relative, float(atol or 0))
    return found if tall else found.T


pinv = over_batches(_pinv, lambda x, **_: x[::-1])


def pseudoinverse(m: Any, x: Matrix, rtol: float, atol: float) -> Matrix:
    """Return the pseudoinverse of the nearest matrix of fixed rank, to first order.

    That matrix is x @ v @ inv(u.T @ x @ v) @ u.T @ x.
    """
    _, rough, like = np.linalg.svd(floats(m, x), full_matrices=False)
    if x.size and rough[-1] > max(
        2 * atol, 2 * rtol * rough[0], 1e-9 * rough[0]
    ):  # no doubt about the rank
        return eliminate(m, x.T @ x, x.T)
    u, sizes, v = singular_values(m, plainly(m, x), like.T)
    exact = max(rtol, atol) < 1e-5
    # Less than floats round, yet not zero, is a step away from a matrix of low rank.
    rank = sum(
        s > max(m.m.mpf(atol), rtol * sizes[0]) or (exact and 0 < s < 1e-20 * sizes[0])
        for s in sizes
    )
    u, v = u[:, :rank], v[:, :rank]
    left, right = x @ v, u.T @ x
    middle = u.T @ left
    found: Matrix = (
        eliminate(m, right @ right.T, right).T @ (middle @ eliminate(m, left.T @ left, left.T))
        + m.zero
    )
    if rank < len(sizes):
        if rank * sizes[rank] > (
            0 if exact else 1e-9 * sizes[0]
        ):  # what is left out turns the rest
            found = without_derivatives(m, found, x)
        elif exact:
            m.tied("pinv", [*x.flat, m.zero])
    return found
