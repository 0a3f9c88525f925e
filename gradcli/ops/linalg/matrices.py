"""Common parts of rules about matrices.

They are the last two axes, triangles, diagonals and several results.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, ShapeError
from gradcli.ops.arrays.shapes import getitem, reshape, swapaxes, transpose
from gradcli.ops.elementwise.logic import where
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import Op, Shape
from gradcli.ops.structure import output, to_int


def square(shape: Shape, name: str) -> Shape:
    """Return the shape of square matrices, checked."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{name} needs a square matrix, not an array of shape {shape}")
    return shape


def matrix(shape: Shape, name: str) -> Shape:
    if len(shape) < 2:
        raise ShapeError(f"{name} needs a matrix, not an array of shape {shape}")
    return shape


def need_finite(x: np.ndarray, lacks: str) -> None:
    """Raise EvaluationError for matrices that have entries which are not finite."""
    if not np.isfinite(x).all():
        raise EvaluationError(f"the matrix has entries that are not finite: it has {lacks}")


def results_of(op: Op, *operands: Any, **static: Any) -> tuple[Any, ...]:
    """Return the results of an operation that has several."""
    result = op(*operands, **static)
    return tuple(output(result, place=i) for i in range(op.outputs))


def zeros(shape: Shape, like: Any) -> Any:
    """Zeros of any shape, carried as another array is, and without a gradient."""
    return where(
        np.ones(shape, dtype=bool), 0.0, like if tuple(like.shape) == tuple(shape) else sum_(like)
    )


def no_info(x: Any) -> Any:
    """Return what LAPACK reports of each matrix where nothing has gone wrong: 0."""
    return to_int(zeros(x.shape[:-2], x))


def nothing(x: Any) -> Any:
    """Return an array without entries, for a result that is not computed."""
    return zeros((0,), x)


def transpose_matrix(x: Any) -> Any:
    return transpose(x, axes=None) if len(x.shape) == 2 else swapaxes(x, axis1=-1, axis2=-2)


def as_matrix(scalar: Any) -> Any:
    return reshape(scalar, shape=(*scalar.shape, 1, 1))


def as_column(vector: Any) -> Any:
    return reshape(vector, shape=(*vector.shape, 1))


def as_row(vector: Any) -> Any:
    return reshape(vector, shape=(*vector.shape[:-1], 1, vector.shape[-1]))


def column_range(x: Any, start: int | None, stop: int | None) -> Any:
    return getitem(x, index=(..., (start, stop, None)))


def row_range(x: Any, start: int | None, stop: int | None) -> Any:
    return getitem(x, index=(..., (start, stop, None), (None, None, None)))


@functools.cache
def diagonal_mask(n: int, m: int) -> Any:
    return np.eye(n, m, dtype=bool)


def diagonal_matrix(vector: Any) -> Any:
    n = vector.shape[-1]
    return where(diagonal_mask(n, n), as_row(vector), 0.0)


def with_unit_diagonal(x: Any) -> Any:
    return where(diagonal_mask(*x.shape[-2:]), 1.0, x)


def without_diagonal(x: Any) -> Any:
    return where(diagonal_mask(*x.shape[-2:]), 0.0, x)
