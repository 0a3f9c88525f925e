"""Linear equations over the last two axes, and of tensors taken as matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, LinAlgError, ShapeError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import tril, triu
from gradcli.ops.arrays.shapes import broadcast_to, reshape, transpose
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import (
    as_column,
    column_range,
    matrix,
    no_info,
    nothing,
    parts_of,
    square,
    transposed,
    with_unit_diagonal,
    zeros,
)
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import Op, Shape, axes_of, declare, function, structural, witness
from gradcli.ops.structure import output, valued

# -- Equations with triangular matrices, by substitution; and those whose Cholesky factor is known -


def equations_shape(x: Shape, y: Shape, name: str) -> Shape:
    """The shape of the solutions of x @ z = y for matrices."""
    square(x, name)
    if len(y) < 2 or y[-2] != x[-1]:
        raise ShapeError(f"{name}: a matrix of shape {x} and a right side of shape {y} do not fit")
    return (*np.broadcast_shapes(x[:-2], y[:-2]), *y[-2:])


def _substitute(x: Any, y: Any, upper: bool, unitriangular: bool) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    n = x.shape[-1]
    out = np.array(np.broadcast_to(y, (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:])))
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        out[..., i, :] -= (x[..., i, None, known] @ out[..., known, :])[..., 0, :]
        if not unitriangular:
            out[..., i, :] /= x[..., i, i, None]
    return out


def _solve_triangular_vjp(
    wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any, upper: bool, unitriangular: bool
) -> tuple[Any, Any]:
    back = solve_triangular(transposed(x), cotangent, upper=not upper, unitriangular=unitriangular)
    by_x = None
    if wanted[0]:
        slope = -matmul(back, transposed(out))
        by_x = triu(slope, k=int(unitriangular)) if upper else tril(slope, k=-int(unitriangular))
    return by_x, back


def _solved(shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[0]) != 2:
        return ""
    return f"linalg.solve_triangular({{0}}, {{1}}, lower={not upper}, unit_diagonal={unitriangular})"


def _solved_in_torch(shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[1]) < 2:
        return ""
    return f"torch.linalg.solve_triangular({{0}}, {{1}}, upper={upper}, unitriangular={unitriangular})"


solve_triangular: Op = structural(
    "solve_triangular", "x y", _substitute, witness("factors.solve_triangular"), vjp=_solve_triangular_vjp,
    shape=lambda x, y, **_: equations_shape(x, y, "solve_triangular"), static={"upper": True, "unitriangular": False},
    saves="x out", core_dims=(2, 2), extended=Whole("SOLVE_TRIANGULAR"),
    domain="no zeros on the diagonal", backward="LinalgSolveTriangular",
    doc="The z with x @ z = y, x being triangular: its other triangle (and a diagonal of ones) is not read. "
    ">>> solve_triangular(A, b, lower=True)",
    numpy=_solved,
    torch=_solved_in_torch,
)  # fmt: skip


def triangular_solution(x: Any, y: Any, upper: bool, unitriangular: bool = False, left: bool = True) -> Any:
    """The z with x @ z = y, or with z @ x = y."""
    if left:
        return solve_triangular(x, y, upper=upper, unitriangular=unitriangular)
    return transposed(solve_triangular(transposed(x), transposed(y), upper=not upper, unitriangular=unitriangular))


@function(backward="LinalgSolveTriangular")
def torch_solve_triangular(x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """torch.linalg.solve_triangular: the z with x @ z = y, or z @ x = y."""
    return triangular_solution(x, y, upper, unitriangular, left)


@function()
def scipy_solve_triangular(
    x: Any, y: Any, *, trans: Any = None, lower: bool | None = None, unit_diagonal: bool = False, upper: bool | None = None
) -> Any:
    """scipy.linalg.solve_triangular: the z with x @ z = y, x being upper triangular unless lower=True."""
    above = upper if upper is not None else not lower
    if trans in (1, "T", 2, "C"):
        x, above = transposed(x), not above
    elif trans not in (None, 0, "N"):
        raise ArgumentError(f"solve_triangular: trans must be 0, 1 or 2, not {trans!r}")
    if len(y.shape) == 1:
        return reshape(solve_triangular(x, as_column(y), upper=above, unitriangular=unit_diagonal), shape=y.shape)
    return solve_triangular(x, y, upper=above, unitriangular=unit_diagonal)


@function(memory="own", results="solution cloned_coefficient")
def triangular_solve(y: Any, x: Any, *, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """The z with x @ z = y, x being triangular, and x itself.

    >>> triangular_solve(b, A)[0]
    """
    factor, above = (transposed(x), not upper) if transpose else (x, upper)
    solution = solve_triangular(factor, y, upper=above, unitriangular=unitriangular)
    return solution, broadcast_to(x, shape=(*solution.shape[:-2], *x.shape[-2:]))


def _read(x: Any, upper: bool) -> Any:
    """A matrix of which one triangle is read, with the gradient of one of which all entries are."""
    return valued(x, (triu if upper else tril)(x))


def _cholesky_solve(y: Any, x: Any, upper: bool) -> Any:
    factor = np.swapaxes(x, -1, -2) if upper else x
    return _substitute(np.swapaxes(factor, -1, -2), _substitute(factor, y, False, False), True, False)


def _cholesky_solve_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, y: Any, x: Any, upper: bool) -> tuple[Any, Any]:
    back = cholesky_solve(cotangent, x, upper=upper)
    by_x = None
    if wanted[1]:
        factor = transposed(_read(x, True)) if upper else _read(x, False)
        by_factor = -(matmul(back, matmul(transposed(out), factor)) + matmul(out, matmul(transposed(back), factor)))
        by_x = transposed(by_factor) if upper else by_factor
    return back, by_x


def _cholesky_solve_shape(y: Shape, x: Shape, upper: bool = False) -> Shape:
    return equations_shape(x, y, "cholesky_solve")


@function(
    vjp=_cholesky_solve_vjp, forward=_cholesky_solve, shape=_cholesky_solve_shape, saves="x out", core_dims=(2, 2),
    domain="no zeros on the diagonal of x",
)  # fmt: skip
def cholesky_solve(y: Any, x: Any, *, upper: bool = False) -> Any:
    """The z with (x @ x.T) @ z = y, x being lower triangular; with upper, (x.T @ x) @ z = y. The other triangle is not read, but its
    gradient is that of the product all the same, as in PyTorch.

    >>> cholesky_solve(b, cholesky(A))
    """
    factor = _read(x, upper)
    other = transposed(factor)
    return solve(matmul(other, factor) if upper else matmul(factor, other), y)


@function(torch="x|L|input, upper")
def cholesky_inverse(x: Any, *, upper: bool = False) -> Any:
    """The inverse of x @ x.T, x being lower triangular; with upper, of x.T @ x.

    >>> cholesky_inverse(cholesky(A))
    """
    n = square(x.shape, "cholesky_inverse")[-1]
    return cholesky_solve(with_unit_diagonal(zeros((n, n), x)), x, upper=upper)


_SCIPY = "x|a|A, y|b|B, trans, lower, unit_diagonal|unitriangular, -overwrite_b, -check_finite, upper"


def _solve_shape(x: Shape, y: Shape) -> Shape:
    return equations_shape(x, (*y, 1), "solve")[:-1] if len(y) == 1 else equations_shape(x, y, "solve")


def _solve(x: Any, y: Any) -> Any:
    try:
        return np.linalg.solve(x, y[:, None])[..., 0] if np.ndim(y) == 1 else np.linalg.solve(x, y)
    except np.linalg.LinAlgError:
        raise LinAlgError("the matrix is singular: the equations have no single solution") from None


def _solve_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    vector = len(y.shape) == 1
    back = solve(transposed(x), as_column(cotangent) if vector else cotangent)
    by_x = -matmul(back, transposed(as_column(out) if vector else out)) if wanted[0] else None
    return by_x, reshape(back, shape=cotangent.shape) if vector else back


solve: Op = structural(
    "solve", "x y", _solve, witness("factors.solve"), vjp=_solve_vjp, shape=_solve_shape, saves="x out", core_dims=(2, 2),
    domain="a regular matrix x", backward="LinalgSolveEx",
    doc="The z with x @ z = y. >>> solve(A, b)", extended=Whole("SOLVE"),
    numpy="np.linalg.solve({0}, {1})",
)  # fmt: skip


@function(backward="LinalgSolveEx")
def torch_solve(x: Any, y: Any, *, left: bool = True) -> Any:
    """torch.linalg.solve: the z with x @ z = y, or z @ x = y; a vector, or one for each matrix, is a vector."""
    if len(y.shape) == 1 or tuple(y.shape) == tuple(x.shape[:-1]):
        if not left:
            raise ShapeError("solve with left=False needs matrices on the right side")
        found = solve(x, as_column(y))
        return reshape(found, shape=found.shape[:-1])
    return solve(x, y) if left else transposed(solve(transposed(x), transposed(y)))


@function()
def scipy_solve(x: Any, y: Any, *, transpose: Any = False) -> Any:
    """scipy.linalg.solve: the z with x @ z = y, or with the transpose of x."""
    return solve(transposed(x) if transpose else x, y)


@function(numpy="x, y|b, axes")
def tensorsolve(x: Any, y: Any, *, axes: Any = None) -> Any:
    """The z whose products with x, summed over the axes of z, are y; ``axes`` of x are moved to its end first.

    >>> tensorsolve(A, b)
    """
    if axes is not None:
        moved = axes_of(axes, len(x.shape))
        x = transpose(x, axes=(*(i for i in range(len(x.shape)) if i not in moved), *moved))
    rest = x.shape[len(y.shape) :]
    n = math.prod(rest)
    if n != math.prod(y.shape):
        raise ShapeError(f"tensorsolve: an array of shape {tuple(x.shape)} and a right side of shape {tuple(y.shape)} do not fit")
    return reshape(solve(reshape(x, shape=(n, n)), reshape(y, shape=(n,))), shape=rest)


_A, _B = "x|A|input", "y|B|other"


# -- Cholesky and QR: triangular and orthogonal factors over the last two axes ---------------------


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
    inner = tril(matmul(factor, slope))
    both = inner + transposed(tril(inner, k=-1))
    half = solve_triangular(factor, both, upper=True)
    return (0.5 * transposed(solve_triangular(factor, transposed(half), upper=True)),)


def _cholesky_shape(x: Shape, upper: bool = False) -> Shape:
    return square(x, "cholesky")


cholesky = structural(
    "cholesky", "x", _cholesky, witness("factors.cholesky"), vjp=_cholesky_vjp, shape=_cholesky_shape,
    static={"upper": False}, saves="out", core_dims=(2,), backward="LinalgCholeskyEx", extended=Whole("CHOLESKY"),
    domain="a symmetric, positive definite matrix",
    doc="The lower triangular L with x = L @ L.T; with upper, the U with x = U.T @ U. One triangle is read, and the gradient "
    "is symmetric. >>> cholesky(X.T @ X)",
    numpy=lambda shapes, upper: "np.swapaxes(np.linalg.cholesky({0}), -1, -2)" if upper else "np.linalg.cholesky({0})",
)  # fmt: skip


@function(results="L info:int32")
def cholesky_ex(x: Any, *, upper: Any = False, check_errors: Any = False) -> Any:
    """The Cholesky factor of a matrix, and zeros."""
    return (cholesky(x, upper=upper), no_info(x))


def _qr(x: Any, complete: bool) -> tuple[Any, Any]:
    q, r = np.linalg.qr(x, "complete" if complete else "reduced")
    return q, r


def _qr_shape(x: Shape, complete: bool) -> tuple[Shape, Shape]:
    *batch, n, m = matrix(x, "qr")
    k = n if complete else min(n, m)
    return (*batch, n, k), (*batch, k, m)


def _qr_vjp(wanted: Any, cotangent: tuple[Any, Any], out: Any, x: Any, complete: bool) -> tuple[Any]:
    q, r = output(out, place=0), output(out, place=1)
    by_q, by_r = cotangent
    n, rest = r.shape[-2], None
    if n > r.shape[-1]:
        raise ArgumentError("the complete Q of a matrix with more rows than columns is not differentiable", help="use mode='reduced'")
    if n < r.shape[-1]:
        # x = [x1, x2] with x1 = q @ r1 and r2 = q.T @ x2
        rest = zeros((*x.shape[:-1], r.shape[-1] - n), x)
        if by_r is not None:
            by_r2 = column_range(by_r, n, None)
            rest, through = matmul(q, by_r2), matmul(q, matmul(column_range(r, n, None), transposed(by_r2)))
            by_q, by_r = through if by_q is None else by_q + through, column_range(by_r, None, n)
        r = column_range(r, None, n)
    inner = 0.0 if by_r is None else matmul(by_r, transposed(r))
    if by_q is not None:
        inner = inner - matmul(transposed(q), by_q)
    slope = matmul(q, triu(inner) + transposed(triu(inner, k=1)))
    if by_q is not None:
        slope = slope + by_q
    first = transposed(solve_triangular(r, transposed(slope), upper=True))
    return (first if rest is None else concatenate(first, rest, axis=-1),)


qr: Op = structural(
    "qr", "x", _qr, witness("factors.qr"), vjp=_qr_vjp, shape=_qr_shape, results="Q R", saves="out", core_dims=(2,),
    static={"complete": False}, domain="independent columns (the first ones, of a wide matrix)", backward="LinalgQr",
    doc="Q with orthonormal columns and upper triangular R with x = Q @ R, signs as LAPACK has them: a tuple. A complete Q is square, and "
    "where that adds columns not differentiable, as in PyTorch. >>> qr(A)[1]",
)  # fmt: skip


def _factors(x: Any, complete: bool) -> tuple[Any, Any]:
    q, r = parts_of(qr, x)
    rows, columns = x.shape[-2:]
    if not complete or rows <= columns:
        return q, r
    return parts_of(qr, x, complete=True)[0], concatenate(r, zeros((*x.shape[:-2], rows - columns, columns), x), axis=-2)


@function(results="Q R")
def numpy_qr(x: Any, *, mode: str = "reduced") -> Any:
    """NumPy's qr: Q and R; with mode='r', R alone."""
    if mode not in ("reduced", "economic", "complete", "full", "r"):
        raise ArgumentError(f"qr: mode must be 'reduced', 'complete' or 'r', not {mode!r}")
    return parts_of(qr, x)[1] if mode == "r" else _factors(x, mode in ("complete", "full"))


@function(results="Q R", backward="LinalgQr")
def torch_qr(x: Any, *, mode: str = "reduced") -> tuple[Any, Any]:
    """torch.linalg.qr: Q and R; with mode='r', nothing and R."""
    return (nothing(x), parts_of(qr, x)[1]) if mode == "r" else numpy_qr(x, mode=mode)


@function(results="Q R", backward="LinalgQr")
def old_qr(x: Any, *, some: Any = True) -> Any:
    """torch.qr: Q and R, complete unless some."""
    return _factors(x, not some)


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
        qr = numpy_qr(x, mode)
    scipy:
        solve_triangular = scipy_solve_triangular({_SCIPY})
        solve = scipy_solve(x, y|b, -lower, -overwrite_a, -overwrite_b, -check_finite, -assume_a, transpose|transposed)
        cholesky = scipy_cholesky(x, lower, -overwrite_a, -check_finite)
        qr = numpy_qr(x, -overwrite_a, -lwork, mode='full', -pivoting, -check_finite)
""")
