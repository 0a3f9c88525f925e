"""Linear algebra on scalars of any kind, as textbooks have it: what references of operations on matrices are made of.

Each algorithm is a finite composition of + - * / and square roots, so that derivatives can be taken through it. What
only a library can decide (signs of vectors, a basis of what is left over) is read off the library's own result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError

Matrix = np.ndarray
GUARD = 6  # digits that rounding may take
_FEW = 3  # rows up to which single steps are as good as functions of whole matrices, and exact where numbers are


def over_batches(function: Callable[..., Any], shape: Callable[..., Any]) -> Callable[..., Any]:
    """Lift a function of matrices of scalars over leading axes.

    ``shape`` is the shape that it makes of those of its matrices, or a list of shapes where it has several results.
    """

    def reference(m: Any, *arrays: Any, **static: Any) -> Any:
        arrays = tuple(np.asarray(a, dtype=object) for a in arrays)
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
        alike = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
        shapes = shape(*(a.shape[-2:] for a in arrays), **static)
        several = isinstance(shapes, list)
        results = tuple(np.empty((*batch, *s), dtype=object) for s in (shapes if several else [shapes]))
        for place in np.ndindex(batch):
            found = function(m, *(a[place] for a in alike), **static)
            for result, part in zip(results, found if several else (found,), strict=True):
                result[place] = part
        return results if several else results[0]

    return reference


def plainly(m: Any, x: Matrix) -> Matrix:
    """The values of scalars without their history."""
    return np.array([m.plain(v) for v in x.ravel()], dtype=object).reshape(x.shape)


def floats(m: Any, x: Matrix) -> Matrix:
    return np.array([float(m.plain(v)) for v in x.ravel()]).reshape(x.shape)


def valued(m: Any, x: Matrix, values: Matrix) -> Matrix:
    """Scalars that have other values, and the derivatives of x."""
    moved: Matrix = x + (plainly(m, values) - plainly(m, x))
    return moved


def largest(m: Any, x: Matrix) -> Any:
    """The size of the largest entry; NaN if one is not finite."""
    sizes = [abs(v) for v in plainly(m, x).ravel()]
    return max(sizes, default=m.m.zero) if all(m.m.isfinite(v) for v in sizes) else m.m.nan


_DIGITS_LEFT = 40  # of the working precision, to rounding in many steps


def rounding(m: Any, size: Any) -> Any:
    """Return what numbers of a size may differ by, and be equal for all that a program's precision can tell."""
    if m.splits:
        return size * m.m.mpf(10) ** (_DIGITS_LEFT - m.m.dps)
    return size * m.m.mpf(64 * float(np.finfo(m.precision).eps))


def whole(m: Any, name: str, x: Matrix) -> tuple[Matrix, ...]:
    """A function of a whole matrix that is the end of an iteration. Raises ArithmeticError where scalars are expressions."""
    found: tuple[Matrix, ...] | None = m.of_matrices(name, x)
    if found is None:
        raise ArithmeticError("an iteration has no formula")
    return found


def without_derivative(m: Any, x: Any) -> Any:
    """A zero that depends on x, and has no derivative."""
    return m.sqrt(x - m.plain(x))


def blurred(m: Any, x: Matrix, source: Matrix) -> Matrix:
    """Scalars without derivatives by the source; nor have their sums any."""
    weights = np.array([m.m.sqrt(k + 2) for k in range(x.size)], dtype=object).reshape(x.shape)
    moved: Matrix = x + without_derivative(m, source.sum()) * weights
    return moved


def quotient(m: Any, x: Any, y: Any) -> Any:
    """x / y; infinite or NaN for a division by zero."""
    try:
        return x / y
    except ZeroDivisionError:
        return m.inf * m.sign(x)


def berkowitz(m: Any, x: Matrix) -> Any:
    """The determinant without a division (S. J. Berkowitz, Information Processing Letters 18, 1984)."""
    n = len(x)
    if n == 0:
        return m.one
    if n > _FEW and (found := m.of_matrices("determinant", x)) is not None:
        return found[0][()]
    vector = [m.one, -x[0, 0]]
    for r in range(1, n):
        corner, row, column, block = x[r, r], x[r, :r], x[:r, r], x[:r, :r]
        entries = [m.one, -corner]
        power = column
        for _ in range(r):
            entries.append(-(row @ power))
            power = block @ power
        vector = [
            sum((entries[i - j] * vector[j] for j in range(max(0, i - r - 1), min(i, r) + 1)), m.zero) for i in range(r + 2)
        ]
    return vector[-1] if n % 2 == 0 else -vector[-1]


def eliminate(m: Any, x: Matrix, rhs: Matrix) -> Matrix:
    """The solution of x @ z = rhs by Gauss-Jordan elimination with row pivoting."""
    n = len(x)
    if n > _FEW and (found := m.of_matrices("solution", x, rhs)) is not None:
        solution: Matrix = found[0]
        return solution
    x, rhs = x.copy(), rhs.copy()
    for i in range(n):
        sizes = [abs(m.plain(v)) for v in x[i:, i]]
        pivot = i + sizes.index(max(sizes))
        if m.plain(x[pivot, i]) == 0:
            raise EvaluationError("the matrix is singular")
        x[[i, pivot]], rhs[[i, pivot]] = x[[pivot, i]], rhs[[pivot, i]]
        rhs[i], x[i] = rhs[i] / x[i, i], x[i] / x[i, i]
        for r in range(n):
            if r != i:
                rhs[r], x[r] = rhs[r] - x[r, i] * rhs[i], x[r] - x[r, i] * x[i]
    return rhs


def cholesky(m: Any, x: Matrix) -> Matrix:
    """The lower factor of a symmetric matrix, row by row (Cholesky-Banachiewicz)."""
    n = len(x)
    out = np.full((n, n), m.zero, dtype=object)
    for i in range(n):
        for j in range(i):
            out[i, j] = (x[i, j] - out[i, :j] @ out[j, :j]) / out[j, j]
        square = x[i, i] - out[i, :i] @ out[i, :i]
        if not m.plain(square) > 0:
            raise EvaluationError("the matrix is not positive definite")
        out[i, i] = m.sqrt(square)
    return out


def doolittle(m: Any, x: Matrix) -> tuple[Matrix, Matrix, list[int]]:
    """The factors L and U in one matrix, the order of its rows, by the largest entry of each column, and the exchanges,
    from 1.

    Where no entry is left to divide by, they have no derivatives.
    """
    x, order, pivots = x.copy(), np.arange(len(x)), list[int]()
    tiny = rounding(m, largest(m, x))
    for k in range(min(x.shape)):
        sizes = [abs(m.plain(v)) for v in x[k:, k]]
        best = k + sizes.index(max(sizes))
        pivots.append(best + 1)
        x[[k, best]], order[[k, best]] = x[[best, k]], order[[best, k]]
        if k + 1 < len(x) and abs(m.plain(x[k, k])) <= tiny:
            x = blurred(m, x, x)
        if m.plain(x[k, k]) != 0:
            x[k + 1 :, k] = x[k + 1 :, k] / x[k, k]
        x[k + 1 :, k + 1 :] = x[k + 1 :, k + 1 :] - np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, order, pivots


def gram_schmidt(m: Any, x: Matrix, like: Matrix, signs: Any) -> tuple[Matrix, Matrix]:
    """Orthonormal columns Q and upper triangular R with x = Q @ R, for no more columns than rows.

    Where a column depends on those before it, that of a library takes its place, and there are no derivatives.
    """
    columns = x.shape[1]
    q, r = x.copy(), np.full((columns, columns), m.zero, dtype=object)
    tiny, dependent = rounding(m, largest(m, x)) ** 2, False
    for j in range(columns):
        for i in range(j):
            r[i, j] = q[:, i] @ q[:, j]
            q[:, j] = q[:, j] - q[:, i] * r[i, j]
        square = q[:, j] @ q[:, j]
        if m.plain(square) > tiny:
            r[j, j] = m.sqrt(square) * int(signs[j])
            q[:, j] = q[:, j] / r[j, j]
        else:
            q[:, j], r[j, j], dependent = completed(m, q[:, :j], like[:, j : j + 1])[:, 0], m.zero, True
    return (blurred(m, q, x), blurred(m, r, x)) if dependent else (q, r)


def completed(m: Any, basis: Matrix, others: Matrix) -> Matrix:
    """A library's vectors, to full precision orthogonal to a basis and to each other: columns without a history."""
    found = plainly(m, basis)
    for candidate in others.T:
        vector = np.array([m.one * float(v) for v in candidate], dtype=object)
        for _ in range(3):
            vector = plainly(m, vector - found @ (found.T @ vector))
            vector = vector / m.plain(m.sqrt(vector @ vector))
        found = np.column_stack([found, vector])
    return found[:, basis.shape[1] :]


def exponential(m: Any, x: Matrix) -> Matrix:
    """The matrix exponential."""
    if m.m.isnan(largest(m, x)):
        nothing: Matrix = x * m.nan
        return nothing
    return whole(m, "exponential", x)[0] if x.size else x
