"""Linear equations, and triangular and orthogonal factors.

Equations are over the last two axes, or of tensors taken as matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, LinAlgError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import axes_last, tril, triu
from gradcli.ops.arrays.shapes import broadcast_to, reshape, scatter_add, transpose
from gradcli.ops.elementwise.logic import where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import (
    as_column,
    column_range,
    matrix,
    need_finite,
    no_info,
    nothing,
    results_of,
    row_range,
    square,
    transpose_matrix,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import (
    REQUIRED,
    Index,
    Op,
    Shape,
    axes_of,
    declare,
    function,
    structural,
)
from gradcli.ops.structure import output, with_values

# -- Equations with triangular matrices, by substitution; and those whose Cholesky factor is known -


def equations_shape(x: Shape, y: Shape, name: str) -> Shape:
    """Return the shape of the solutions of x @ z = y for matrices."""
    square(x, name)
    if len(y) < 2 or y[-2] != x[-1]:
        raise ShapeError(f"{name}: a matrix of shape {x} and a right side of shape {y} do not fit")
    return (*np.broadcast_shapes(x[:-2], y[:-2]), *y[-2:])


def _substitute(x: Any, y: Any, upper: bool, unitriangular: bool) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    n = x.shape[-1]
    out = np.array(np.broadcast_to(y, equations_shape(x.shape, y.shape, "solve_triangular")))
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        out[..., i, :] -= (x[..., i, None, known] @ out[..., known, :])[..., 0, :]
        if not unitriangular:
            out[..., i, :] /= x[..., i, i, None]
    return out


def _solve_triangular_vjp(
    cotangent: Any, out: Any, x: Any, y: Any, upper: bool, unitriangular: bool
) -> tuple[Any, Any]:
    back = solve_triangular(
        transpose_matrix(x), cotangent, upper=not upper, unitriangular=unitriangular
    )
    slope = -matmul(back, transpose_matrix(out))
    by_x = triu(slope, k=int(unitriangular)) if upper else tril(slope, k=-int(unitriangular))
    return by_x, back


def _text_of_solve(shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[0]) != 2:
        return ""
    return (
        f"linalg.solve_triangular({{0}}, {{1}}, lower={not upper}, unit_diagonal={unitriangular})"
    )


def _solved_in_torch(shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[1]) < 2:
        return ""
    return (
        f"torch.linalg.solve_triangular({{0}}, {{1}}, upper={upper}, unitriangular={unitriangular})"
    )


solve_triangular: Op = structural(
    "solve_triangular", "x y", _substitute, "factors.solve_triangular", vjp=_solve_triangular_vjp,
    shape=lambda x, y, **_: equations_shape(x, y, "solve_triangular"), static={"upper": True, "unitriangular": False},
    saves="x out", core_dims=(2, 2), extended=Whole("SOLVE_TRIANGULAR"),
    domain="no zeros on the diagonal", backward="LinalgSolveTriangular",
    doc="The z with x @ z = y, x being triangular: its other triangle (and a diagonal of ones) is "
    "not read. "
    ">>> solve_triangular(A, b, lower=True)",
    numpy=_text_of_solve,
    torch=_solved_in_torch,
)


@function(backward="LinalgSolveTriangular")
def torch_solve_triangular(
    x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """torch.linalg.solve_triangular: the z with x @ z = y, or z @ x = y."""
    if left:
        return solve_triangular(x, y, upper=upper, unitriangular=unitriangular)
    return transpose_matrix(
        solve_triangular(
            transpose_matrix(x), transpose_matrix(y), upper=not upper, unitriangular=unitriangular
        )
    )


@function()
def scipy_solve_triangular(
    x: Any,
    y: Any,
    *,
    trans: Literal[None, 0, "N", 1, "T", 2, "C"] = None,
    lower: bool | None = None,
    unit_diagonal: bool = False,
    upper: bool | None = None,
) -> Any:
    """scipy.linalg.solve_triangular: the z with x @ z = y, x being upper triangular unless
    lower=True.
    """
    above = upper if upper is not None else not lower
    if trans in (1, "T", 2, "C"):
        x = transpose_matrix(x)
        above = not above
    vector = len(y.shape) == 1
    column = as_column(y) if vector else y
    solution = solve_triangular(x, column, upper=above, unitriangular=unit_diagonal)
    return reshape(solution, shape=y.shape) if vector else solution


@function(memory="own", results="solution cloned_coefficient")
def triangular_solve(
    y: Any, x: Any, *, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The z with x @ z = y, x being triangular, and x itself.

    >>> triangular_solve(b, A)[0]
    """
    factor, above = (transpose_matrix(x), not upper) if transpose else (x, upper)
    solution = solve_triangular(factor, y, upper=above, unitriangular=unitriangular)
    return solution, broadcast_to(x, shape=(*solution.shape[:-2], *x.shape[-2:]))


def _read(x: Any, upper: bool) -> Any:
    """Return the triangle of a matrix that is read, with the gradient of the whole matrix.

    The gradient is that of a matrix whose entries are all read.
    """
    return with_values(x, (triu if upper else tril)(x))


def _cholesky_solve_vjp(cotangent: Any, out: Any, y: Any, x: Any, upper: bool) -> tuple[Any, Any]:
    back = cholesky_solve(cotangent, x, upper=upper)
    factor = transpose_matrix(_read(x, True)) if upper else _read(x, False)
    by_factor = -(
        matmul(back, matmul(transpose_matrix(out), factor))
        + matmul(out, matmul(transpose_matrix(back), factor))
    )
    return back, transpose_matrix(by_factor) if upper else by_factor


@function(
    vjp=_cholesky_solve_vjp, shape=lambda y, x, **_: equations_shape(x, y, "cholesky_solve"), saves="x out", core_dims=(2, 2),
    domain="no zeros on the diagonal of x",
)
def cholesky_solve(y: Any, x: Any, *, upper: bool = False) -> Any:
    """The z with (x @ x.T) @ z = y, x being lower triangular; with upper, (x.T @ x) @ z = y. The other triangle is not read, but its
    gradient is that of the product all the same, as in PyTorch.

    >>> cholesky_solve(b, cholesky(A))
    """
    factor = _read(x, upper)
    other = transpose_matrix(factor)
    return solve(matmul(other, factor) if upper else matmul(factor, other), y)


@function(torch="x|L|input, upper")
def cholesky_inverse(x: Any, *, upper: bool = False) -> Any:
    """The inverse of x @ x.T, x being lower triangular; with upper, of x.T @ x.

    >>> cholesky_inverse(cholesky(A))
    """
    n = square(x.shape, "cholesky_inverse")[-1]
    return cholesky_solve(with_unit_diagonal(zeros((n, n), x)), x, upper=upper)


_SCIPY = ("x|a|A, y|b|B, trans, lower, unit_diagonal|unitriangular, -overwrite_b, -check_finite, "
"upper")


def _solve(x: Any, y: Any) -> Any:
    try:
        return np.linalg.solve(x, y[:, None])[..., 0] if np.ndim(y) == 1 else np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        raise LinAlgError("the matrix is singular: the equations have no single solution") from None


def _solve_vjp(cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    vector = len(y.shape) == 1
    back = solve(transpose_matrix(x), as_column(cotangent) if vector else cotangent)
    by_x = -matmul(back, transpose_matrix(as_column(out) if vector else out))
    return by_x, reshape(back, shape=cotangent.shape) if vector else back


solve: Op = structural(
    "solve", "x y", _solve, "factors.solve", vjp=_solve_vjp,
    shape=lambda x, y: equations_shape(x, (*y, 1), "solve")[:-1] if len(y) == 1 else equations_shape(x, y, "solve"),
    saves="x out", core_dims=(2, 2),
    domain="a regular matrix x", backward="LinalgSolveEx",
    doc="The z with x @ z = y. >>> solve(A, b)", extended=Whole("SOLVE"),
    numpy="np.linalg.solve({0}, {1})",
)


@function(backward="LinalgSolveEx")
def torch_solve(x: Any, y: Any, *, left: bool = True) -> Any:
    """torch.linalg.solve: the z with x @ z = y, or z @ x = y; a vector, or one for each matrix, is
    a vector.
    """
    if len(y.shape) == 1 or tuple(y.shape) == tuple(x.shape[:-1]):
        if not left:
            raise ShapeError("solve with left=False needs matrices on the right side")
        found = solve(x, as_column(y))
        return reshape(found, shape=found.shape[:-1])
    return (
        solve(x, y) if left else transpose_matrix(solve(transpose_matrix(x), transpose_matrix(y)))
    )


@function()
def scipy_solve(x: Any, y: Any, *, transpose: Any = False) -> Any:
    """scipy.linalg.solve: the z with x @ z = y, or with the transpose of x."""
    return solve(transpose_matrix(x) if transpose else x, y)


@function(numpy="x, y|b, axes")
def tensorsolve(x: Any, y: Any, *, axes: Any = None) -> Any:
    """The z whose products with x, summed over the axes of z, are y; ``axes`` of x are moved to its end first.

    >>> tensorsolve(A, b)
    """
    if axes is not None:
        x = transpose(x, axes=axes_last(x.shape, axes_of(axes, x.shape)))
    rest = x.shape[len(y.shape) :]
    n = math.prod(rest)
    return reshape(solve(reshape(x, shape=(n, n)), reshape(y, shape=(n,))), shape=rest)


_A, _B = "x|A|input", "y|B|other"


# -- Cholesky and QR: triangular and orthogonal factors over the last two axes -------------------


def _cholesky(x: Any, upper: bool) -> Any:
    try:
        factor = np.linalg.cholesky(np.swapaxes(x, -1, -2) if upper else x)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "the matrix is not positive definite: it has no Cholesky factor"
        ) from None
    if np.isnan(factor).any():
        raise EvaluationError(
            "the matrix has entries that are not numbers: it has no Cholesky factor"
        )
    return np.swapaxes(factor, -1, -2) if upper else factor


def _cholesky_vjp(cotangent: Any, out: Any, x: Any, upper: bool) -> Any:
    factor, slope = (
        (out, transpose_matrix(cotangent)) if upper else (transpose_matrix(out), cotangent)
    )
    inner = tril(matmul(factor, slope))
    both = inner + transpose_matrix(tril(inner, k=-1))
    half = solve_triangular(factor, both, upper=True)
    return 0.5 * transpose_matrix(solve_triangular(factor, transpose_matrix(half), upper=True))


cholesky = structural(
    "cholesky", "x", _cholesky, "factors.cholesky", vjp=_cholesky_vjp, shape=lambda x, **_: square(x, "cholesky"),
    static={"upper": False}, saves="out", core_dims=(2,), backward="LinalgCholeskyEx", extended=Whole("CHOLESKY"),
    domain="a symmetric, positive definite matrix",
    doc="The lower triangular L with x = L @ L.T; with upper, the U with x = U.T @ U. One "
    "triangle is read, and the gradient "
    "is symmetric. >>> cholesky(X.T @ X)",
    numpy=lambda shapes, upper: "np.swapaxes(np.linalg.cholesky({0}), -1, -2)" if upper else "np.linalg.cholesky({0})",
)


@function(results="L info:int32")
def cholesky_ex(x: Any, *, upper: Any = False, check_errors: Any = False) -> Any:
    """The Cholesky factor of a matrix, and zeros."""
    return (cholesky(x, upper=upper), no_info(x))


def _qr_vjp(cotangent: tuple[Any, Any], out: Any, x: Any) -> Any:
    q, r = output(out, place=0), output(out, place=1)
    by_q, by_r = cotangent
    inner = 0.0 if by_r is None else matmul(by_r, transpose_matrix(r))
    if by_q is not None:
        inner = inner - matmul(transpose_matrix(q), by_q)
    slope = matmul(q, triu(inner) + transpose_matrix(triu(inner, k=1)))
    if by_q is not None:
        slope = slope + by_q
    return transpose_matrix(solve_triangular(r, transpose_matrix(slope), upper=True))


qr_of_columns: Op = structural(
    "qr_of_columns", "x", lambda x: tuple(np.linalg.qr(x)), "factors.qr", vjp=_qr_vjp,
    shape=lambda x: (x, (*x[:-2], x[-1], x[-1])), results="Q R", saves="out", core_dims=(2,), public=False,
    domain="independent columns", backward="LinalgQr", written="qr({x})",
    doc="Q with orthonormal columns and upper triangular R with x = Q @ R, x having no more "
    "columns than rows.",
)


@function(results="Q R", domain="independent columns (the first ones, of a wide matrix)", backward="LinalgQr")
def qr(x: Any, *, mode: Literal["reduced", "economic", "complete", "full", "r"] = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with x = Q @ R, signs as LAPACK has them: a tuple; with mode='r', R alone. Of a
    matrix with more rows than columns Q has as many columns as that.

    >>> qr(A)[1]
    """
    rows, columns = matrix(x.shape, "qr")[-2:]
    if mode in ("complete", "full") and rows > columns:
        raise ArgumentError(
            "the complete Q of a matrix with more rows than columns is not differentiable",
            help="use mode='reduced'",
        )
    if rows >= columns:
        q, r = results_of(qr_of_columns, x)
    else:
        q, r = results_of(qr_of_columns, column_range(x, None, rows))
        r = concatenate(r, matmul(transpose_matrix(q), column_range(x, rows, None)), axis=-1)
    return r if mode == "r" else (q, r)


@function(results="Q R", backward="LinalgQr")
def torch_qr(
    x: Any, *, mode: Literal["reduced", "economic", "complete", "full", "r"] = "reduced"
) -> tuple[Any, Any]:
    """torch.linalg.qr: Q and R; with mode='r', nothing and R."""
    found = qr(x, mode=mode)
    return (nothing(x), found) if mode == "r" else found


@function(results="Q R", backward="LinalgQr")
def old_qr(x: Any, *, some: Any = True) -> Any:
    """torch.qr: Q and R, complete unless some."""
    return qr(x, mode="reduced" if some else "complete")


@function()
def scipy_cholesky(x: Any, *, lower: bool = False) -> Any:
    """scipy.linalg.cholesky: the U with x = U.T @ U unless lower=True."""
    return cholesky(x, upper=not lower)


_MATRIX = "x|A|input"
declare(f"""
    torch:
        solve_triangular = torch_solve_triangular(x|A, y|B, *, upper, left, unitriangular)
        triangular_solve(y|b|input|self, x|A, upper, transpose, unitriangular)
        cholesky_solve(y|B|input, x|L|input2, upper)
        solve = torch_solve({_A}, {_B}, *, left)
        tensorsolve({_A}, {_B}, axes)
        cholesky({_MATRIX}, upper)
        linalg.cholesky = cholesky({_MATRIX}, *, upper)
        cholesky_ex({_MATRIX}, *, upper, check_errors)
        qr Tensor.qr = old_qr({_MATRIX}, some)
        linalg.qr = torch_qr({_MATRIX}, mode)
    numpy:
        solve_triangular = scipy_solve_triangular({_SCIPY})
        solve(x, y|b)
        qr(x, mode)
    scipy:
        solve_triangular = scipy_solve_triangular({_SCIPY})
        solve = scipy_solve(x, y|b, -lower, -overwrite_a, -overwrite_b, -check_finite, -assume_a, transpose|transposed)
        cholesky = scipy_cholesky(x, lower, -overwrite_a, -check_finite)
        qr(x, -overwrite_a, -lwork, mode='full', -pivoting, -check_finite)
""")


# -- LU factors, and equations whose matrix has been factored ------------------------------------


def _lu_shape(x: Shape) -> tuple[Shape, Shape, Shape]:
    *batch, n, m = matrix(x, "lu")
    return (*batch, n, n), (*batch, n, min(n, m)), (*batch, min(n, m), m)


def _lu(x: Any) -> tuple[Any, ...]:
    from scipy import linalg

    need_finite(x, "no LU factors")
    if x.size:
        p, lower, upper = linalg.lu(x)
        return p, lower, upper
    parts = tuple(np.zeros(shape, x.dtype) for shape in _lu_shape(x.shape))
    parts[0][...] = np.eye(x.shape[-2])
    return parts


def _lu_vjp(cotangent: tuple[Any, Any, Any], out: Any, x: Any) -> Any:
    """Return the VJP of the LU factors.

    With G = inv(L) P.T dx, W has the entries of G inv(U) below its diagonal: dL = L W, and dU = G -
    W U.
    """
    _, by_l, by_u = cotangent
    if by_l is None and by_u is None:
        return None
    p, lower, upper = (output(out, place=i) for i in range(3))
    rows, columns = x.shape[-2:]
    n = max(rows, columns)
    by_w = 0.0
    by_g = 0.0
    # Factors of a matrix that is not square are completed by rows and columns of the identity.
    ones = np.diag((np.arange(n) >= min(rows, columns)).astype(int))
    lower, upper = _pad(lower, n) + ones, _pad(upper, n) + ones
    if by_l is not None:
        by_w = matmul(transpose_matrix(lower), _pad(by_l, n))
    if by_u is not None:
        by_g = triu(_pad(by_u, n))
        by_w = by_w - matmul(by_g, transpose_matrix(upper))
    # Nothing is divided by the pivot of the last row, which may be 0.
    divisors = where(np.diag(np.arange(n) == rows - 1), 1.0, upper)
    by_g = by_g + transpose_matrix(
        solve_triangular(divisors, transpose_matrix(tril(by_w, k=-1)), upper=True)
    )
    slope = matmul(
        p,
        row_range(
            solve_triangular(transpose_matrix(lower), by_g, upper=True, unitriangular=True),
            None,
            rows,
        ),
    )
    return column_range(slope, None, columns)


def _pad(x: Any, n: int) -> Any:
    """Zeros behind the rows and columns, up to n of each."""
    *batch, rows, columns = x.shape
    return (
        x
        if rows == columns == n
        else scatter_add(
            x, index=(..., (None, rows, None), (None, columns, None)), shape=(*batch, n, n)
        )
    )


lu: Op = structural(
    "lu", "x", _lu, "factors.lu", vjp=_lu_vjp, shape=_lu_shape, results="P L U",
    saves="out", core_dims=(2,), backward="LinalgLu",
    domain="independent columns (of a square or wide matrix, one fewer than it has rows)",
    doc="The permutation P, unit lower triangular L and upper triangular U with x = P @ L @ U: a "
    "tuple. >>> lu(A)[2]",
)


def _pivots(x: Any) -> Any:
    from scipy import linalg

    return (
        linalg.lu_factor(x)[1].astype(np.int64) + 1
        if x.size
        else np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int64)
    )


pivots_of = structural(
    "pivots", "x", _pivots, "factors.pivots", shape=lambda x: (*x[:-2], min(x[-2:])), core_dims=(2,), dtype="int",
    public=False, ulps=0, doc="LAPACK's pivots: the row that each row was exchanged with in turn, "
    "counting from 1.",
)


def _permutation(pivots: Any, n: int) -> Any:
    pivots = np.asarray(pivots)
    out = np.zeros((*pivots.shape[:-1], n, n), dtype=bool)
    for place in np.ndindex(pivots.shape[:-1]):
        order = np.arange(n)
        for i, j in enumerate(pivots[place]):
            if not 1 <= j <= n:
                raise EvaluationError(f"a pivot must be from 1 to {n}, not {j}")
            order[[i, j - 1]] = order[[j - 1, i]]
        out[place][order, np.arange(n)] = True
    return out


permutation = structural(
    "permutation", "pivots:index", _permutation, "factors.permutation",
    shape=lambda pivots, n: (*pivots[:-1], n, n), static={"n": REQUIRED}, dtype="bool", public=False,
    ulps=0, doc="Where the permutation matrix of LAPACK's pivots has its ones.",
)


def _matrix_of(pivots: Any, n: int, like: Any) -> Any:
    return where(permutation(pivots, n=n), 1.0, zeros((n, n), like))


def _pack(lower: Any, upper: Any) -> Any:
    """L and U in one matrix, without the diagonal of L."""
    rows, columns = lower.shape[-2], upper.shape[-1]
    n = max(rows, columns)
    return column_range(
        row_range(_pad(tril(lower, k=-1), n) + _pad(upper, n), None, rows), None, columns
    )


def _solved_by_factors(x: Any, p: Any, y: Any, adjoint: bool) -> Any:
    """Return the z with P @ L @ U @ z = y, or with the transpose of the product instead."""
    if adjoint:
        half = solve_triangular(transpose_matrix(x), y, upper=False)
        return matmul(
            p, solve_triangular(transpose_matrix(x), half, upper=True, unitriangular=True)
        )
    half = solve_triangular(x, matmul(transpose_matrix(p), y), upper=False, unitriangular=True)
    return solve_triangular(x, half, upper=True)


@function(results="P: L U")
def torch_linalg_lu(x: Any) -> Any:
    """torch.linalg.lu: P, L and U with x = P @ L @ U."""
    return results_of(lu, x)


@function(results="LU pivots:int32", backward="LinalgLuFactorEx")
def lu_factor(x: Any) -> Any:
    """L and U in one matrix, and LAPACK's pivots, counting from 1.

    >>> lu_factor(A)[0]
    """
    _, lower, upper = results_of(lu, x)
    return _pack(lower, upper), pivots_of(x)


@function(results="P L U")
def lu_unpack(x: Any, pivots: Index) -> tuple[Any, Any, Any]:
    """P, L and U of what lu_factor gives."""
    n, m = matrix(x.shape, "lu_unpack")[-2:]
    k = min(n, m)
    return (
        _matrix_of(pivots, n, x),
        with_unit_diagonal(tril(column_range(x, None, k))),
        triu(row_range(x, None, k)),
    )


@function(backward="LinalgLuSolve")
def lu_solve(x: Any, pivots: Index, y: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The z with A @ z = y (or z @ A = y, or with the transpose of A), from what lu_factor gives of
    A.
    """
    p = _matrix_of(pivots, square(x.shape, "lu_solve")[-1], x)
    if not left:
        return transpose_matrix(_solved_by_factors(x, p, transpose_matrix(y), not adjoint))
    return _solved_by_factors(x, p, y, adjoint)


_LU = "x|LU|LU_data, pivots|LU_pivots"
declare(f"""
    torch:
        linalg.lu = torch_linalg_lu({_A}, *, -pivot)
        linalg.lu_solve = lu_solve({_LU}, y|B, *, left, adjoint)
        lu Tensor.lu = lu_factor({_A}, -pivot, -get_infos)
        lu_factor({_A}, *, -pivot)
        lu_unpack({_LU}, -unpack_data, -unpack_pivots)
        lu_solve Tensor.lu_solve = lu_solve(y|b|input, {_LU})
""")
