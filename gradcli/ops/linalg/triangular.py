"""Equations with triangular matrices, by substitution; and those whose Cholesky factor is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.domains import given
from gradcli.ops.extended import Whole
from gradcli.ops.linalg import perturbation
from gradcli.ops.linalg.conditions import has_nonzero_diagonal
from gradcli.ops.linalg.matrices import as_column, lower_part, square, transposed, upper_part, with_unit_diagonal, zeros
from gradcli.ops.linalg.products import matmul
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.writing import Shape, witness


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
        by_x = upper_part(slope, int(unitriangular)) if upper else lower_part(slope, -int(unitriangular))
    return by_x, back


def _solved(library: str, shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[0]) != 2:
        return ""
    return f"{library}.solve_triangular({{0}}, {{1}}, lower={not upper}, unit_diagonal={unitriangular})"


def _solved_in_torch(shapes: Sequence[Any], upper: bool, unitriangular: bool) -> str:
    if len(shapes[1]) < 2:
        return ""
    return f"torch.linalg.solve_triangular({{0}}, {{1}}, upper={upper}, unitriangular={unitriangular})"


solve_triangular: Op = structural(
    "solve_triangular", "x y", _substitute, witness("factors.solve_triangular"), vjp=_solve_triangular_vjp,
    shape=lambda x, y, **_: equations_shape(x, y, "solve_triangular"), static={"upper": True, "unitriangular": False},
    saves=("x", "out"), core_dims=(2, 2), ulps=64, extended=Whole("equations.SOLVE_TRIANGULAR"),
    domain=given(has_nonzero_diagonal, "no zeros on the diagonal"), backward="LinalgSolveTriangular",
    doc="The z with x @ z = y, x being triangular: its other triangle (and a diagonal of ones) is not read.",
    examples=("solve_triangular(A, b, lower=True)",),
    carries=perturbation.triangular_solution,
    numpy=lambda shapes, upper, unitriangular: _solved("linalg", shapes, upper, unitriangular),
    torch=_solved_in_torch,
    jax=lambda shapes, upper, unitriangular: _solved("jax.scipy.linalg", shapes, upper, unitriangular),
)  # fmt: skip


def triangular_solution(x: Any, y: Any, upper: bool, unitriangular: bool = False, left: bool = True) -> Any:
    """The z with x @ z = y, or with z @ x = y."""
    if left:
        return solve_triangular(x, y, upper=upper, unitriangular=unitriangular)
    return transposed(solve_triangular(transposed(x), transposed(y), upper=not upper, unitriangular=unitriangular))


def _torch_solve_triangular(x: Any, y: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return triangular_solution(x, y, upper, unitriangular, left)


torch_solve_triangular = composite(
    "torch_solve_triangular", "x y", _torch_solve_triangular, static={"upper": False, "left": True, "unitriangular": False},
    public=False, backward="LinalgSolveTriangular", doc="torch.linalg.solve_triangular: the z with x @ z = y, or z @ x = y.",
)  # fmt: skip


def _scipy_solve_triangular(x: Any, y: Any, trans: Any, lower: bool | None, unit_diagonal: bool, upper: bool | None) -> Any:
    """Of NumPy's spelling, which has no such function, either library's arguments."""
    above = upper if upper is not None else not lower
    if trans in (1, "T", 2, "C"):
        x, above = transposed(x), not above
    elif trans not in (None, 0, "N"):
        raise ArgumentError(f"solve_triangular: trans must be 0, 1 or 2, not {trans!r}")
    if len(y.shape) == 1:
        return reshape(solve_triangular(x, as_column(y), upper=above, unitriangular=unit_diagonal), shape=y.shape)
    return solve_triangular(x, y, upper=above, unitriangular=unit_diagonal)


scipy_solve_triangular = composite(
    "scipy_solve_triangular", "x y", _scipy_solve_triangular, public=False,
    static={"trans": None, "lower": None, "unit_diagonal": False, "upper": None},
    doc="scipy.linalg.solve_triangular: the z with x @ z = y, x being upper triangular unless lower=True.",
)  # fmt: skip


def _triangular_solve(y: Any, x: Any, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Any, Any]:
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    factor, above = (transposed(x), not upper) if transpose else (x, upper)
    return (
        solve_triangular(factor, y, upper=above, unitriangular=unitriangular),
        broadcast_to(x, shape=(*batch, *x.shape[-2:])),
    )


triangular_solve = composite(
    "triangular_solve", "y x", _triangular_solve, copied=True, static={"upper": True, "transpose": False, "unitriangular": False},
    results=("solution", "cloned_coefficient"),
    doc="The z with x @ z = y, x being triangular, and x itself.", examples=("triangular_solve(b, A)[0]",),
)  # fmt: skip


def _half(x: Any, upper: bool) -> Any:
    return np.triu(x) if upper else np.tril(x)


def _read(x: Any, upper: bool, mirrored: bool) -> Any:
    part = _half(x, upper)
    return part + np.swapaxes(np.triu(part, 1) if upper else np.tril(part, -1), -1, -2) if mirrored else part


read: Op = structural(
    "read", "x", _read, witness("factors.read"), shape=lambda x, upper, mirrored: x,
    vjp=lambda wanted, cotangent, out, x, upper, mirrored: (cotangent,), static={"upper": False, "mirrored": False}, public=False,
    ulps=0, batched=lambda lead, x, upper, mirrored: read(x, upper=upper, mirrored=mirrored),
    extended=Whole("moving.READ"),
    doc="A matrix of which one triangle is read, the other being zero or its mirror image; with the gradient of a matrix of "
    "which all entries are.",
    carries=lambda m, out, x, e, **_: m.at(m.filled(e, x)),
    numpy=lambda shapes, upper, mirrored: "" if mirrored else "np.triu({0})" if upper else "np.tril({0})",
)  # fmt: skip


def _cholesky_solve(y: Any, x: Any, upper: bool) -> Any:
    factor = np.swapaxes(x, -1, -2) if upper else x
    return _substitute(np.swapaxes(factor, -1, -2), _substitute(factor, y, False, False), True, False)


def _cholesky_solve_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, y: Any, x: Any, upper: bool) -> tuple[Any, Any]:
    back = cholesky_solve(cotangent, x, upper=upper)
    by_x = None
    if wanted[1]:
        factor = read(x, upper=upper)
        if upper:
            by_x = -(matmul(matmul(factor, back), transposed(out)) + matmul(matmul(factor, out), transposed(back)))
        else:
            by_x = -(matmul(back, matmul(transposed(out), factor)) + matmul(out, matmul(transposed(back), factor)))
    return back, by_x


def _cholesky_solve_shape(y: Shape, x: Shape, upper: bool = False) -> Shape:
    return equations_shape(x, y, "cholesky_solve")


cholesky_solve: Op = structural(
    "cholesky_solve", "y x", _cholesky_solve, witness("factors.cholesky_solve"),
    vjp=_cholesky_solve_vjp, shape=_cholesky_solve_shape, static={"upper": False}, saves=("x", "out"), core_dims=(2, 2), ulps=64,
    extended=Whole("equations.CHOLESKY_SOLVE"), domain=given(has_nonzero_diagonal, "no zeros on the diagonal of x"),
    doc="The z with (x @ x.T) @ z = y, x being lower triangular; with upper, (x.T @ x) @ z = y. The other triangle is not "
    "read, but its gradient is that of the product all the same, as in PyTorch.", examples=("cholesky_solve(b, cholesky(A))",),
    carries=perturbation.cholesky_solution,
)  # fmt: skip


def _cholesky_inverse(x: Any, upper: bool) -> Any:
    n = square(x.shape, "cholesky_inverse")[-1]
    return cholesky_solve(with_unit_diagonal(zeros((n, n), x)), x, upper=upper)


cholesky_inverse = composite(
    "cholesky_inverse", "x", _cholesky_inverse, static={"upper": False},
    doc="The inverse of x @ x.T, x being lower triangular; with upper, of x.T @ x.", examples=("cholesky_inverse(cholesky(A))",),
)  # fmt: skip


declare(
    TORCH,
    solve_triangular=signature("torch_solve_triangular", "x|A, y|B, *, upper, left, unitriangular", upper=REQUIRED),
    triangular_solve=signature("triangular_solve", "y|b|input|self, x|A, upper, transpose, unitriangular"),
    cholesky_solve=signature("cholesky_solve", "y|B|input, x|L|input2, upper"),
    cholesky_inverse=signature("cholesky_inverse", "x|L|input, upper"),
)
_SCIPY = "x|a|A, y|b|B, trans, lower, unit_diagonal|unitriangular, -overwrite_b, -check_finite, upper"
declare(NUMPY, solve_triangular=signature("scipy_solve_triangular", _SCIPY))
declare(SCIPY, solve_triangular=signature("scipy_solve_triangular", _SCIPY))
