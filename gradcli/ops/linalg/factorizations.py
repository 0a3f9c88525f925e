"""Cholesky and QR: triangular and orthogonal factors over the last two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, LinAlgError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.domains import given
from gradcli.ops.extended import Whole
from gradcli.ops.linalg import perturbation
from gradcli.ops.linalg.conditions import has_independent_columns, is_positive_definite
from gradcli.ops.linalg.matrices import (
    column_range,
    lower_part,
    matrix,
    no_info,
    nothing,
    parts_of,
    square,
    transposed,
    upper_part,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.linalg.triangular import solve_triangular
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.ops.writing import Shape, witness


def _cholesky(x: Any, upper: bool) -> Any:
    try:
        factor = np.linalg.cholesky(np.swapaxes(x, -1, -2) if upper else x)
    except np.linalg.LinAlgError:
        raise LinAlgError("the matrix is not positive definite: it has no Cholesky factor") from None
    if np.isnan(factor).any():
        raise EvaluationError("the matrix has entries that are not numbers: it has no Cholesky factor")
    return np.swapaxes(factor, -1, -2) if upper else factor


def _cholesky_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, upper: bool) -> tuple[Any]:
    factor, slope = (out, transposed(cotangent)) if upper else (transposed(out), cotangent)
    inner = lower_part(matmul(factor, slope))
    both = inner + transposed(lower_part(inner, -1))
    half = solve_triangular(factor, both, upper=True)
    return (0.5 * transposed(solve_triangular(factor, transposed(half), upper=True)),)


def _cholesky_shape(x: Shape, upper: bool = False) -> Shape:
    return square(x, "cholesky")


cholesky = structural(
    "cholesky", "x", _cholesky, witness("factors.cholesky"), vjp=_cholesky_vjp, shape=_cholesky_shape,
    static={"upper": False}, saves=("out",), core_dims=(2,), ulps=64, backward="LinalgCholeskyEx", extended=Whole("factors.CHOLESKY"),
    domain=given(is_positive_definite, "a symmetric, positive definite matrix").within(), examples=("cholesky(X.T @ X)",),
    doc="The lower triangular L with x = L @ L.T; with upper, the U with x = U.T @ U. One triangle is read, and the gradient "
    "is symmetric.",
    carries=perturbation.cholesky_factor,
    numpy=lambda shapes, upper: "np.swapaxes(np.linalg.cholesky({0}), -1, -2)" if upper else "np.linalg.cholesky({0})",
)  # fmt: skip

cholesky_ex = composite(
    "cholesky_ex", "x", lambda x, upper, check_errors: (cholesky(x, upper=upper), no_info(x)), results=("L", "info"),
    aside={1: "int32"},
    static={"upper": False, "check_errors": False}, doc="The Cholesky factor of a matrix, and zeros.",
)  # fmt: skip


def _qr(x: Any) -> tuple[Any, Any]:
    q, r = np.linalg.qr(x)
    return q, r


def _qr_shape(x: Shape) -> tuple[Shape, Shape]:
    *batch, n, m = matrix(x, "qr")
    return (*batch, n, min(n, m)), (*batch, min(n, m), m)


def _qr_vjp(wanted: Any, cotangent: tuple[Any, Any], out: Any, x: Any) -> tuple[Any]:
    q, r = output(out, place=0), output(out, place=1)
    by_q, by_r = cotangent
    n = r.shape[-2]
    if n == r.shape[-1] or by_r is None:
        first = _square_slope(q, column_range(r, None, n), by_q, by_r)
        return (first if n == r.shape[-1] else concatenate(first, zeros((*x.shape[:-1], r.shape[-1] - n), x), axis=-1),)
    # x = [x1, x2] with x1 = q @ r1 and r2 = q.T @ x2
    by_r2 = column_range(by_r, n, None)
    through = matmul(q, matmul(column_range(r, n, None), transposed(by_r2)))
    by_q = through if by_q is None else by_q + through
    first = _square_slope(q, column_range(r, None, n), by_q, column_range(by_r, None, n))
    return (concatenate(first, matmul(q, by_r2), axis=-1),)


def _square_slope(q: Any, r: Any, by_q: Any, by_r: Any) -> Any:
    """The gradient of a matrix with no more columns than rows, r being square."""
    inner = None if by_r is None else matmul(by_r, transposed(r))
    if by_q is not None:
        turned = matmul(transposed(q), by_q)
        inner = -turned if inner is None else inner - turned
    slope = matmul(q, upper_part(inner) + transposed(upper_part(inner, 1)))
    if by_q is not None:
        slope = slope + by_q
    return transposed(solve_triangular(r, transposed(slope), upper=True))


qr: Op = structural(
    "qr", "x", _qr, witness("factors.qr"), vjp=_qr_vjp, shape=_qr_shape, outputs=2, saves=("out",), core_dims=(2,),
    ulps=64,
    extended=Whole("factors.QR"),
    domain=given(has_independent_columns, "independent columns (the first ones, of a wide matrix)").within(), backward="LinalgQr",
    doc="Q with orthonormal columns and upper triangular R with x = Q @ R, signs as LAPACK has them: a tuple.",
    examples=("qr(A)[1]",),
    carries=perturbation.orthogonal_factors,
)  # fmt: skip


def _complement(x: Any) -> Any:
    return np.linalg.qr(x, mode="complete")[0][..., x.shape[-1] :]


def _complement_shape(x: Shape) -> Shape:
    return (*x[:-1], x[-2] - x[-1])


def _complement_vjp(wanted: Any, cotangent: Any, out: Any, x: Any) -> tuple[Any]:
    raise ArgumentError("the complete Q of a matrix with more rows than columns is not differentiable", help="use mode='reduced'")


complement = structural(
    "complement", "x", _complement, witness("factors.complement"), vjp=_complement_vjp,
    shape=_complement_shape, core_dims=(2,), ulps=64, public=False, extended=Whole("factors.COMPLEMENT"),
    doc="An orthonormal basis of what is orthogonal to all columns, as LAPACK chooses it. Not differentiable, as in PyTorch.",
)  # fmt: skip


def _complete_qr(x: Any) -> tuple[Any, Any]:
    q, r = parts_of(qr, x)
    rows, columns = x.shape[-2:]
    if rows <= columns:
        return q, r
    return concatenate(q, complement(x), axis=-1), concatenate(r, zeros((*x.shape[:-2], rows - columns, columns), x), axis=-2)


def _numpy_qr(x: Any, mode: str) -> Any:
    if mode in ("reduced", "economic"):
        return parts_of(qr, x)
    if mode in ("complete", "full"):
        return _complete_qr(x)
    if mode == "r":
        return parts_of(qr, x)[1]
    raise ArgumentError(f"qr: mode must be 'reduced', 'complete' or 'r', not {mode!r}")


def _torch_qr(x: Any, mode: str) -> tuple[Any, Any]:
    return (nothing(x), parts_of(qr, x)[1]) if mode == "r" else _numpy_qr(x, mode)


numpy_qr = composite(
    "numpy_qr", "x", _numpy_qr, static={"mode": "reduced"}, results=("Q", "R"), public=False,
    doc="NumPy's qr: Q and R; with mode='r', R alone.",
)  # fmt: skip
torch_qr = composite(
    "torch_qr", "x", _torch_qr, static={"mode": "reduced"}, results=("Q", "R"), public=False, backward="LinalgQr",
    doc="torch.linalg.qr: Q and R; with mode='r', nothing and R.",
)  # fmt: skip
old_qr = composite(
    "old_qr", "x", lambda x, some: parts_of(qr, x) if some else _complete_qr(x), static={"some": True}, results=("Q", "R"),
    public=False, backward="LinalgQr", doc="torch.qr: Q and R, complete unless some.",
)  # fmt: skip


def _scipy_cholesky(x: Any, lower: bool) -> Any:
    return cholesky(x, upper=not lower)


scipy_cholesky = composite(
    "scipy_cholesky", "x", _scipy_cholesky, static={"lower": False}, public=False,
    doc="scipy.linalg.cholesky: the U with x = U.T @ U unless lower=True.",
)  # fmt: skip

_A = "x|A|input"
declare(
    TORCH,
    cholesky=signature("cholesky", f"{_A}, upper"),
    **{"linalg.cholesky": signature("cholesky", f"{_A}, *, upper")},
    cholesky_ex=signature("cholesky_ex", f"{_A}, *, upper, check_errors"),
    qr=signature("old_qr", f"{_A}, some"),
    **{"linalg.qr": signature("torch_qr", f"{_A}, mode"), "Tensor.qr": signature("old_qr", f"{_A}, some")},
)
declare(NUMPY, qr=signature("numpy_qr", "x, mode"))
declare(
    SCIPY,
    cholesky=signature("scipy_cholesky", "x, lower, -overwrite_a, -check_finite"),
    qr=signature("numpy_qr", "x, -overwrite_a, -lwork, mode, -pivoting, -check_finite", mode="full"),
)
