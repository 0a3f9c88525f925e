"""LU factors, and equations whose matrix has been factored."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import tril, triu
from gradcli.ops.elementwise.logic import where
from gradcli.ops.linalg.equations_and_factors import solve_triangular
from gradcli.ops.linalg.matrices import (
    column_range,
    matrix,
    no_info,
    nothing,
    parts_of,
    row_range,
    square,
    transposed,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import REQUIRED, Index, Op, Shape, declare, function, structural, witness
from gradcli.ops.structure import output


def _lu_shape(x: Shape) -> tuple[Shape, Shape, Shape]:
    *batch, n, m = matrix(x, "lu")
    return (*batch, n, n), (*batch, n, min(n, m)), (*batch, min(n, m), m)


def _lu(x: Any) -> tuple[Any, ...]:
    from scipy import linalg

    if not np.isfinite(x).all():
        raise EvaluationError("the matrix has entries that are not finite: it has no LU factors")
    parts = tuple(np.zeros(shape, x.dtype) for shape in _lu_shape(x.shape))
    parts[0][...] = np.eye(x.shape[-2])
    for place in np.ndindex(x.shape[:-2]) if x.size else ():
        for part, factor in zip(parts, linalg.lu(x[place]), strict=True):
            part[place] = factor
    return parts


def _lu_vjp(wanted: Any, cotangent: tuple[Any, Any, Any], out: Any, x: Any) -> tuple[Any]:
    """With G = inv(L) P.T dx, W has the entries of G inv(U) below its diagonal: dL = L W, and dU = G - W U."""
    _, by_l, by_u = cotangent
    if by_l is None and by_u is None:
        return (None,)
    p, lower, upper = (output(out, place=i) for i in range(3))
    rows, columns = x.shape[-2:]
    n, by_w, by_g = max(rows, columns), 0.0, 0.0
    # factors of a matrix that is not square are completed by rows and columns of the identity
    ones = np.diag((np.arange(n) >= min(rows, columns)).astype(float))
    lower, upper = _padded(lower, n) + ones, _padded(upper, n) + ones
    if by_l is not None:
        by_w = matmul(transposed(lower), _padded(by_l, n))
    if by_u is not None:
        by_g = triu(_padded(by_u, n))
        by_w = by_w - matmul(by_g, transposed(upper))
    # nothing is divided by the pivot of the last row, which may be 0
    divisors = where(np.diag(np.arange(n) == rows - 1), 1.0, upper)
    by_g = by_g + transposed(solve_triangular(divisors, transposed(tril(by_w, k=-1)), upper=True))
    slope = matmul(p, row_range(solve_triangular(transposed(lower), by_g, upper=True, unitriangular=True), None, rows))
    return (column_range(slope, None, columns),)


def _padded(x: Any, n: int) -> Any:
    """Zeros behind the rows and columns, up to n of each."""
    *batch, rows, columns = x.shape
    wide = concatenate(x, zeros((*batch, rows, n - columns), x), axis=-1) if columns < n else x
    return concatenate(wide, zeros((*batch, n - rows, n), x), axis=-2) if rows < n else wide


lu: Op = structural(
    "lu", "x", _lu, witness("factors.lu"), vjp=_lu_vjp, shape=_lu_shape, results="P L U",
    saves="out", core_dims=(2,), backward="LinalgLu",
    domain="independent columns (of a square or wide matrix, one fewer than it has rows)",
    doc="The permutation P, unit lower triangular L and upper triangular U with x = P @ L @ U: a tuple. >>> lu(A)[2]",
)  # fmt: skip


def _pivots(x: Any) -> Any:
    from scipy import linalg

    out = np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int64)
    for place in np.ndindex(x.shape[:-2]) if x.size else ():
        out[place] = linalg.lu_factor(x[place])[1] + 1
    return out


pivots_of = structural(
    "pivots", "x", _pivots, witness("factors.pivots"), shape=lambda x: (*x[:-2], min(x[-2:])), core_dims=(2,), dtype="int",
    public=False, ulps=0, doc="LAPACK's pivots: the row that each row was exchanged with in turn, counting from 1.",
)  # fmt: skip


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
    "permutation", "pivots:index", _permutation, witness("factors.permutation"),
    shape=lambda pivots, n: (*pivots[:-1], n, n), static={"n": REQUIRED}, dtype="bool", public=False,
    ulps=0, doc="Where the permutation matrix of LAPACK's pivots has its ones.",
)  # fmt: skip


def _matrix_of(pivots: Any, n: int, like: Any) -> Any:
    return where(permutation(pivots, n=n), 1.0, zeros((n, n), like))


def _packed(lower: Any, upper: Any) -> Any:
    """L and U in one matrix, without the diagonal of L."""
    rows, columns = lower.shape[-2], upper.shape[-1]
    n = max(rows, columns)
    return column_range(row_range(_padded(tril(lower, k=-1), n) + _padded(upper, n), None, rows), None, columns)


def _solved(x: Any, p: Any, y: Any, adjoint: bool) -> Any:
    """The z with P @ L @ U @ z = y, or with its transpose in their place."""
    if adjoint:
        half = solve_triangular(transposed(x), y, upper=False)
        return matmul(p, solve_triangular(transposed(x), half, upper=True, unitriangular=True))
    half = solve_triangular(x, matmul(transposed(p), y), upper=False, unitriangular=True)
    return solve_triangular(x, half, upper=True)


@function(results="P: L U")
def torch_linalg_lu(x: Any) -> Any:
    """torch.linalg.lu: P, L and U with x = P @ L @ U."""
    return parts_of(lu, x)


@function(results="LU pivots:int32", backward="LinalgLuFactorEx")
def lu_factor(x: Any) -> Any:
    """L and U in one matrix, and LAPACK's pivots, counting from 1.

    >>> lu_factor(A)[0]
    """
    _, lower, upper = parts_of(lu, x)
    return _packed(lower, upper), pivots_of(x)


@function(results="LU pivots:int32 infos:int32", backward="LinalgLuFactorEx")
def torch_lu(x: Any, *, get_infos: bool = False) -> Any:
    """torch.lu: L and U in one matrix, LAPACK's pivots, and zeros if asked for."""
    found = lu_factor(x)
    return (*found, no_info(x)) if get_infos else found


@function(results="P L U")
def lu_unpack(x: Any, pivots: Index, *, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, Any, Any]:
    """P, L and U of what lu_factor gives."""
    n, m = matrix(x.shape, "lu_unpack")[-2:]
    k = min(n, m)
    return (
        _matrix_of(pivots, n, x) if unpack_pivots else nothing(x),
        with_unit_diagonal(tril(column_range(x, None, k))) if unpack_data else nothing(x),
        triu(row_range(x, None, k)) if unpack_data else nothing(x),
    )


@function(backward="LinalgLuSolve")
def lu_solve(x: Any, pivots: Index, y: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The z with A @ z = y (or z @ A = y, or with the transpose of A), from what lu_factor gives of A."""
    p = _matrix_of(pivots, square(x.shape, "lu_solve")[-1], x)
    if not left:
        return transposed(_solved(x, p, transposed(y), not adjoint))
    return _solved(x, p, y, adjoint)


_A = "x|A|input"
_LU = "x|LU|LU_data, pivots|LU_pivots"
declare(f"""
    torch:
        linalg.lu = torch_linalg_lu({_A}, *, -pivot)
        linalg.lu_solve = lu_solve({_LU}, y|B, *, left, adjoint)
        lu Tensor.lu = torch_lu({_A}, -pivot, get_infos)
        lu_factor({_A}, *, -pivot)
        lu_unpack({_LU}, unpack_data, unpack_pivots)
        lu_solve Tensor.lu_solve = lu_solve(y|b|input, {_LU})
""")
