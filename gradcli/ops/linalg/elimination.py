"""LU factors, and equations whose matrix has been factored."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.equations_and_factors import solve_triangular
from gradcli.ops.linalg.matrices import (
    column_range,
    lower_part,
    matrix,
    no_info,
    nothing,
    parts_of,
    row_range,
    square,
    transposed,
    upper_part,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import composite, function, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.structure import output
from gradcli.ops.writing import Shape, witness


def _lu_shape(x: Shape, pivot: bool = True) -> tuple[Shape, Shape, Shape]:
    *batch, n, m = matrix(x, "lu")
    return (*batch, n, n), (*batch, n, min(n, m)), (*batch, min(n, m), m)


def _without_exchanges(x: Any) -> Any:
    """L and U in one matrix, whatever is divided by."""
    x = x.copy()
    for k in range(min(x.shape)):
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= x[k + 1 :, k, None] * x[k, k + 1 :]
    return x


def _factored(x: Any, pivot: bool) -> tuple[Any, Any]:
    """L and U in one matrix, and the order of its rows."""
    if not pivot or not x.size:
        return _without_exchanges(x), np.arange(len(x))
    from scipy.linalg import lapack

    if not np.isfinite(x).all():
        raise EvaluationError("the matrix has entries that are not finite: it has no LU factors")
    factors, exchanges, _ = (lapack.sgetrf if x.dtype == np.float32 else lapack.dgetrf)(x)
    order = np.arange(len(x))
    for i, j in enumerate(exchanges):
        order[[i, j]] = order[[j, i]]
    return factors, order


def _lu(x: Any, pivot: bool) -> tuple[Any, Any, Any]:
    p, lower, upper = (np.zeros(shape, x.dtype) for shape in _lu_shape(x.shape))
    for place in np.ndindex(x.shape[:-2]):
        factors, order = _factored(x[place], pivot)
        k = min(factors.shape)
        p[place][order, np.arange(len(order))] = 1
        lower[place], upper[place] = np.tril(factors[:, :k], -1) + np.eye(len(order), k), np.triu(factors[:k])
    return p, lower, upper


def _lu_vjp(wanted: Any, cotangent: tuple[Any, Any, Any], out: Any, x: Any, pivot: bool) -> tuple[Any]:
    _, by_l, by_u = cotangent
    if by_l is None and by_u is None:
        return (None,)
    p, lower, upper = (output(out, place=i) for i in range(3))
    by_l = zeros(lower.shape, upper) if by_l is None else by_l
    by_u = zeros(upper.shape, upper) if by_u is None else by_u
    n, m = lower.shape[-2], upper.shape[-1]
    k = min(max(n - 1, 0), m)  # columns that determine L; the others are only divided by it, so that the last pivot may be 0
    rest: tuple[Any, ...] = ()
    if m > k:
        rest = (_over_l(lower, column_range(by_u, k, None)),)
        by_l = by_l - matmul(rest[0], transposed(column_range(upper, k, None)))
    parts = (lower, row_range(upper, None, k), by_l, row_range(by_u, None, k))
    first = _tall_slope(*(column_range(part, None, k) for part in parts))
    return (matmul(p, concatenate(first, *rest, axis=-1)),)


def _tall_slope(lower: Any, upper: Any, by_l: Any, by_u: Any) -> Any:
    """The gradient by columns that are lower @ upper, fewer than their rows."""
    k = upper.shape[-1]
    beyond = _over_u(upper, row_range(by_l, k, None))
    by_u = by_u - matmul(transposed(row_range(lower, k, None)), beyond)
    lower, by_l = row_range(lower, None, k), row_range(by_l, None, k)
    inner = lower_part(matmul(transposed(lower), by_l), -1) + upper_part(matmul(by_u, transposed(upper)))
    return concatenate(_over_u(upper, _over_l(lower, inner)), beyond, axis=-2)


def _over_l(lower: Any, x: Any) -> Any:
    """inv(lower).T @ x"""
    return solve_triangular(transposed(lower), x, upper=True, unitriangular=True)


def _over_u(upper: Any, x: Any) -> Any:
    """x @ inv(upper).T"""
    return transposed(solve_triangular(upper, transposed(x), upper=True))


lu: Op = structural(
    "lu", "x", _lu, witness("factors.lu"), vjp=_lu_vjp, shape=_lu_shape, static={"pivot": True}, outputs=3,
    saves=("out",), core_dims=(2,), ulps=64, backward="LinalgLu", extended=Whole("equations.LU"),
    domain="independent columns (of a square or wide matrix, one fewer than it has rows)",
    doc="The permutation P, unit lower triangular L and upper triangular U with x = P @ L @ U: a tuple.",
    examples=("lu(A)[2]",),
)  # fmt: skip


def _exchanges(p: Any, count: int) -> Any:
    out = np.zeros((*p.shape[:-2], count), np.int64)
    for place in np.ndindex(p.shape[:-2]):
        rows, order = list(range(p.shape[-1])), np.argmax(p[place], axis=0)
        for i in range(count):
            j = rows.index(order[i])
            rows[i], rows[j] = rows[j], rows[i]
            out[(*place, i)] = j + 1
    return out


exchanges = structural(
    "exchanges", "p", _exchanges, witness("factors.exchanges"), shape=lambda p, count: (*p[:-2], count),
    static={"count": REQUIRED}, result="int", public=False, ulps=0,
    doc="LAPACK's pivots of a permutation matrix: the row that each row was exchanged with in turn, counting from 1.",
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
    "permutation", "pivots", _permutation, witness("factors.permutation"),
    shape=lambda pivots, n: (*pivots[:-1], n, n), static={"n": REQUIRED}, indices=frozenset({"pivots"}), result="bool", public=False,
    ulps=0, doc="Where the permutation matrix of LAPACK's pivots has its ones.",
)  # fmt: skip


def _matrix_of(pivots: Any, n: int, like: Any) -> Any:
    return where(permutation(pivots, n=n), 1.0, zeros((n, n), like))


def _packed(lower: Any, upper: Any) -> Any:
    """L and U in one matrix, without the diagonal of L."""
    n, m, batch = lower.shape[-2], upper.shape[-1], lower.shape[:-2]
    strict = lower_part(lower, -1)
    if n > m:
        upper = concatenate(upper, zeros((*batch, n - m, m), upper), axis=-2)
    elif m > n:
        strict = concatenate(strict, zeros((*batch, n, m - n), upper), axis=-1)
    return strict + upper


def _lu_factor(x: Any, pivot: bool) -> tuple[Any, Any]:
    p, lower, upper = parts_of(lu, x, pivot=pivot)
    return _packed(lower, upper), exchanges(p, count=upper.shape[-2])


def _lu_with_info(x: Any, pivot: bool, check_errors: bool = False) -> tuple[Any, Any, Any]:
    return (*_lu_factor(x, pivot), no_info(x))


def _solved(x: Any, p: Any, y: Any, adjoint: bool) -> Any:
    """The z with P @ L @ U @ z = y, or with its transpose in their place."""
    if adjoint:
        half = solve_triangular(transposed(x), y, upper=False)
        return matmul(p, solve_triangular(transposed(x), half, upper=True, unitriangular=True))
    half = solve_triangular(x, matmul(transposed(p), y), upper=False, unitriangular=True)
    return solve_triangular(x, half, upper=True)


_FACTORS = ("LU", "pivots")
_PIVOT = {"pivot": True}
_REPORTS = {1: "int32", 2: "int32"}  # LAPACK's whole numbers


@function(results=("P", "L", "U"), public=False, aside={0: ""})
def torch_linalg_lu(x: Any, *, pivot: Any = True) -> Any:
    """torch.linalg.lu: P, L and U with x = P @ L @ U."""
    return parts_of(lu, x, pivot=pivot)


@function(public=False, backward="LinalgLuFactorEx", aside=_REPORTS)
def torch_lu(x: Any, *, pivot: bool = True, get_infos: bool = False) -> tuple[Any, ...]:
    """torch.lu: L and U in one matrix, and LAPACK's pivots."""
    return _lu_with_info(x, pivot) if get_infos else _lu_factor(x, pivot)


lu_factor = composite(
    "lu_factor", "x", _lu_factor, static=_PIVOT, results=_FACTORS, backward="LinalgLuFactorEx", aside=_REPORTS,
    doc="L and U in one matrix, and LAPACK's pivots, counting from 1.", examples=("lu_factor(A)[0]",),
)  # fmt: skip
lu_factor_ex = composite(
    "lu_factor_ex", "x", _lu_with_info, static={**_PIVOT, "check_errors": False}, results=(*_FACTORS, "info"), aside=_REPORTS,
    backward="LinalgLuFactorEx", doc="L and U in one matrix, LAPACK's pivots, and zeros.",
)  # fmt: skip


@function(indices=frozenset({"pivots"}), results=("P", "L", "U"))
def lu_unpack(x: Any, pivots: Any, *, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, Any, Any]:
    """P, L and U of what lu_factor gives."""
    n, m = matrix(x.shape, "lu_unpack")[-2:]
    k = min(n, m)
    return (
        _matrix_of(pivots, n, x) if unpack_pivots else nothing(x),
        with_unit_diagonal(lower_part(column_range(x, None, k))) if unpack_data else nothing(x),
        upper_part(row_range(x, None, k)) if unpack_data else nothing(x),
    )


@function(indices=frozenset({"pivots"}), backward="LinalgLuSolve")
def lu_solve(x: Any, pivots: Any, y: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The z with A @ z = y (or z @ A = y, or with the transpose of A), from what lu_factor gives of A."""
    p = _matrix_of(pivots, square(x.shape, "lu_solve")[-1], x)
    if not left:
        return transposed(_solved(x, p, transposed(y), not adjoint))
    return _solved(x, p, y, adjoint)


_A = "x|A|input"
_LU = "x|LU|LU_data, pivots|LU_pivots"
declare(
    TORCH,
    **{"linalg.lu": signature("torch_linalg_lu", f"{_A}, *, pivot")},
    **{"linalg.lu_solve": signature("lu_solve", f"{_LU}, y|B, *, left, adjoint")},
    lu=signature("torch_lu", f"{_A}, pivot, get_infos"),
    lu_factor=signature("lu_factor", f"{_A}, *, pivot"),
    lu_factor_ex=signature("lu_factor_ex", f"{_A}, *, pivot, check_errors"),
    lu_unpack=signature("lu_unpack", f"{_LU}, unpack_data, unpack_pivots"),
    lu_solve=signature("lu_solve", f"y|b|input, {_LU}"),
    **{"Tensor.lu": signature("torch_lu", f"{_A}, pivot, get_infos"), "Tensor.lu_solve": signature("lu_solve", f"y|b|input, {_LU}")},
)
