"""Linear equations over the last two axes, and of tensors taken as matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LinAlgError, ShapeError
from gradcli.ops.arrays.shapes import reshape, transpose
from gradcli.ops.calling.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.domains import given
from gradcli.ops.extended import Whole
from gradcli.ops.linalg import perturbation
from gradcli.ops.linalg.conditions import is_regular
from gradcli.ops.linalg.inverses import inv
from gradcli.ops.linalg.matrices import as_column, no_info, transposed
from gradcli.ops.linalg.products import matmul
from gradcli.ops.linalg.triangular import equations_shape
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, axes_of, witness


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
    "solve", "x y", _solve, witness("factors.solve"), vjp=_solve_vjp, shape=_solve_shape, saves=("x", "out"), core_dims=(2, 2),
    domain=given(is_regular, "a regular matrix x"), backward="LinalgSolveEx",
    doc="The z with x @ z = y.", examples=("solve(A, b)",), ulps=64, extended=Whole("equations.SOLVE"),
    carries=perturbation.solution,
    numpy="np.linalg.solve({0}, {1})",
)  # fmt: skip


def _is_vector(x: Any, y: Any) -> bool:
    """Whether PyTorch takes a right side as vectors: one of them, or one for each matrix."""
    return len(y.shape) == 1 or (len(x.shape) - 1 == len(y.shape) and tuple(y.shape) == tuple(x.shape[:-1]))


def _torch_solve(x: Any, y: Any, left: bool) -> Any:
    if _is_vector(x, y):
        if not left:
            raise ShapeError("solve with left=False needs matrices on the right side")
        found = solve(x, as_column(y))
        return reshape(found, shape=found.shape[:-1])
    return solve(x, y) if left else transposed(solve(transposed(x), transposed(y)))


def _tensorsolve(x: Any, y: Any, axes: Any) -> Any:
    if axes is not None:
        moved = axes_of(axes, len(x.shape))
        x = transpose(x, axes=(*(i for i in range(len(x.shape)) if i not in moved), *moved))
    rest = x.shape[len(y.shape) :]
    n = math.prod(rest)
    if n != math.prod(y.shape):
        raise ShapeError(f"tensorsolve: an array of shape {tuple(x.shape)} and a right side of shape {tuple(y.shape)} do not fit")
    return reshape(solve(reshape(x, shape=(n, n)), reshape(y, shape=(n,))), shape=rest)


def _tensorinv(x: Any, ind: int) -> Any:
    if ind <= 0:
        raise ArgumentError(f"tensorinv: ind must be at least 1, not {ind}")
    first, rest = x.shape[:ind], x.shape[ind:]
    n = math.prod(first)
    if n != math.prod(rest):
        raise ShapeError(f"tensorinv: the axes before and after the {ind}th of the shape {tuple(x.shape)} have different sizes")
    return reshape(inv(reshape(x, shape=(n, n))), shape=(*rest, *first))


torch_solve = composite(
    "torch_solve", "x y", _torch_solve, static={"left": True}, public=False, backward="LinalgSolveEx",
    doc="torch.linalg.solve: the z with x @ z = y, or z @ x = y; a vector, or one for each matrix, is a vector.",
)  # fmt: skip
solve_ex = composite(
    "solve_ex", "x y", lambda x, y, left, check_errors: (_torch_solve(x, y, left), no_info(x)), results=("result", "info"),
    aside={1: "int32"},
    static={"left": True, "check_errors": False}, doc="The z with x @ z = y, or z @ x = y, and zeros.", backward="LinalgSolveEx",
)  # fmt: skip
scipy_solve = composite(
    "scipy_solve", "x y", lambda x, y, transpose: solve(transposed(x) if transpose else x, y), static={"transpose": False}, public=False,
    doc="scipy.linalg.solve: the z with x @ z = y, or with the transpose of x.",
)  # fmt: skip
tensorsolve = composite(
    "tensorsolve", "x y", _tensorsolve, static={"axes": None}, examples=("tensorsolve(A, b)",),
    doc="The z whose products with x, summed over the axes of z, are y; ``axes`` of x are moved to its end first.",
)  # fmt: skip
tensorinv = composite(
    "tensorinv", "x", _tensorinv, static={"ind": 2}, examples=("tensorinv(A, ind=1)",),
    doc="The inverse of x as a map from its axes behind the first ``ind`` to these.",
)  # fmt: skip
_A, _B = "x|A|input", "y|B|other"
declare(
    TORCH,
    solve=signature("torch_solve", f"{_A}, {_B}, *, left"),
    solve_ex=signature("solve_ex", f"{_A}, {_B}, *, left, check_errors"),
    tensorsolve=signature("tensorsolve", f"{_A}, {_B}, axes"),
    tensorinv=signature("tensorinv", f"{_A}, ind"),
)
declare(NUMPY, solve=signature("solve", "x, y|b"), tensorsolve=signature("tensorsolve", "x, y|b, axes"))
declare(
    SCIPY,
    solve=signature("scipy_solve", "x, y|b, -lower, -overwrite_a, -overwrite_b, -check_finite, -assume_a, transpose|transposed"),
)
