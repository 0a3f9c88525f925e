"""The pseudoinverse of matrices of any rank, and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import as_column, column_range, matrix, nothing, square, transposed
from gradcli.ops.linalg.products import matmul
from gradcli.ops.linalg.spectra import EQUAL_SIZES, svdvals_of
from gradcli.ops.linalg.triangular import read
from gradcli.ops.linalg.work import for_rows
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach, to_int
from gradcli.ops.writing import Shape, witness

_EPSILON = float(np.finfo(float).eps)
OF_LOW_RANK = "where singular values count as zero: the others' vectors are the end of an iteration"


def _pinv_shape(x: Shape, hermitian: bool = False, **_: Any) -> Shape:
    *batch, n, m = square(x, "pinv with hermitian=True") if hermitian else matrix(x, "pinv")
    return (*batch, m, n)


def _tolerances(shape: Shape, rtol: Any, atol: Any, epsilon: float) -> tuple[Any, Any]:
    """How far singular values, relative to the largest and absolutely, count as zero."""
    atol = np.asarray(0.0 if atol is None else atol)
    return np.where(atol > 0, 0.0, max(shape[-2:]) * epsilon) if rtol is None else np.asarray(rtol), atol


def _pinv(x: Any, rtol: Any, atol: Any, hermitian: bool) -> Any:
    if not x.size:
        return np.zeros(_pinv_shape(x.shape), x.dtype)
    if not np.isfinite(x).all():
        raise EvaluationError("the matrix has entries that are not finite: it has no pseudoinverse")
    u, s, vh = np.linalg.svd(read(x, mirrored=True) if hermitian else x, full_matrices=False)
    rtol, atol = _tolerances(x.shape, rtol, atol, float(np.finfo(x.dtype).eps))
    kept = s > np.maximum(atol, rtol * s[..., 0])[..., None]
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(x.dtype)
    return np.swapaxes(vh, -1, -2) * inverse[..., None, :] @ np.swapaxes(u, -1, -2)


def _pinv_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, rtol: Any, atol: Any, hermitian: bool) -> tuple[Any]:
    if hermitian:
        x = read(x, mirrored=True)
    g, pt = transposed(cotangent), transposed(out)
    if x.shape[-2] <= x.shape[-1]:
        k = matmul(g, out)
        kp = matmul(k, pt)
        return (kp - matmul(matmul(x, out), kp) - transposed(matmul(out, k)) + matmul(matmul(pt, out), g - matmul(k, x)),)
    k = matmul(out, g)
    pk = matmul(pt, k)
    return (pk - matmul(pk, matmul(out, x)) - transposed(matmul(k, out)) + matmul(matmul(g - matmul(x, k), out), pt),)


pinv: Op = structural(
    "pinv", "x", _pinv, witness("factors.pinv"), vjp=_pinv_vjp, shape=_pinv_shape,
    static={"rtol": None, "atol": None, "hermitian": False}, saves=("x", "out"), core_dims=(2,), work=for_rows(2), ulps=64,
    backward="LinalgPinv", extended=Whole("pseudoinverses.PINV", epsilon=True), examples=("pinv(A) @ b",),
    doc="The pseudoinverse (Moore-Penrose). Singular values up to rtol times the largest, or up to atol, count as zero, and the "
    "gradient is that at a fixed rank.",
    uncertified=OF_LOW_RANK,
)  # fmt: skip


def _numpy_pinv(x: Any, rcond: Any, hermitian: bool, rtol: Any) -> Any:
    if rcond is not None and rtol is not None:
        raise ArgumentError("pinv: rcond and rtol are two names of one argument")
    return pinv(x, rtol=rcond if rcond is not None else 1e-15 if rtol is None else rtol, hermitian=hermitian)


def _lstsq(x: Any, y: Any, rcond: float | None, driver: str | None) -> tuple[Any, Any, Any, Any]:
    """PyTorch's, which has residuals and singular values from some of LAPACK's drivers only."""
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError(f"lstsq: driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', not {driver!r}")
    vector = len(y.shape) == len(x.shape) - 1 and tuple(y.shape) == tuple(x.shape[:-1])
    right = as_column(y) if vector else y
    solution, residuals, rank, sizes = _least_squares(x, right, rcond if driver != "gels" else None)
    found = reshape(solution, shape=solution.shape[:-1]) if vector else solution
    return (
        found,
        nothing(x) if driver == "gelsy" or residuals is None else residuals,
        nothing(x) if driver == "gels" else rank,
        detach(sizes if driver in ("gelsd", "gelss") else nothing(x)),
    )


def _least_squares(x: Any, y: Any, rtol: float | None) -> tuple[Any, Any, Any, Any]:
    """Solution, sums of squared residuals (if there are more rows than columns), rank and singular values."""
    solution = matmul(pinv(x, rtol=rtol), y)
    *_, n, m = x.shape
    missed = matmul(x, solution) - y
    sizes = svdvals_of(x)
    cutoff = (max(n, m) * _EPSILON if rtol is None else rtol) * column_range(sizes, None, 1)
    rank = to_int(sum_(where(greater(sizes, cutoff), 1.0, 0.0), axis=-1))
    return solution, sum_(missed * missed, axis=-2) if n > m else None, rank, sizes


def _numpy_lstsq(x: Any, y: Any, rcond: float | None) -> tuple[Any, Any, Any, Any]:
    vector = len(y.shape) == 1
    solution, residuals, rank, sizes = _least_squares(x, as_column(y) if vector else y, rcond)
    found = reshape(solution, shape=solution.shape[:-1]) if vector else solution
    return found, nothing(x) if residuals is None else residuals, rank, sizes


numpy_pinv = composite(
    "numpy_pinv", "x", _numpy_pinv, static={"rcond": None, "hermitian": False, "rtol": None}, public=False,
    doc="NumPy's pinv: singular values up to rcond (or rtol, 1e-15) times the largest count as zero.",
    uncertified=OF_LOW_RANK,
)  # fmt: skip
_RESULTS = ("solution", "residuals", "rank", "singular_values")
torch_lstsq = composite(
    "torch_lstsq", "x y", _lstsq, static={"rcond": None, "driver": None}, results=_RESULTS, public=False, backward="LinalgLstsq",
    aside={3: ""},
    doc="torch.linalg.lstsq: the z of least norm with the least norm of x @ z - y, and what else LAPACK's driver tells.",
    uncertified=EQUAL_SIZES,
)  # fmt: skip
lstsq = composite(
    "lstsq", "x y", _numpy_lstsq, static={"rcond": None}, results=_RESULTS, examples=("lstsq(A, b)[0]",),
    doc="The z of least norm with the least norm of x @ z - y; the sums of squared residuals (none unless x has more rows than "
    "columns), the rank of x and its singular values.",
    uncertified=EQUAL_SIZES,
)  # fmt: skip
_A, _B = "x|A|input", "y|B|b"
declare(
    TORCH,
    **{"linalg.pinv": signature("pinv", f"{_A}, rtol|rcond, atol, hermitian")},
    pinverse=signature("pinv", f"{_A}, rtol|rcond", rtol=1e-15),
    lstsq=signature("torch_lstsq", f"{_A}, {_B}, rcond, *, driver"),
)
declare(
    NUMPY,
    pinv=signature("numpy_pinv", "x, rcond, hermitian, rtol"),
    lstsq=signature("lstsq", "x, y|b, rcond"),
)
declare(
    SCIPY,
    pinv=signature("pinv", "x, atol, rtol, -return_rank, -check_finite"),
    pinvh=signature("pinv", "x, atol, rtol, -use_lower|lower, -return_rank, -check_finite", hermitian=True),
    lstsq=signature("lstsq", "x, y|b, rcond|cond, -overwrite_a, -overwrite_b, -check_finite, -lapack_driver"),
)
