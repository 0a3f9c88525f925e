"""Products of arrays. The sweep sums over batch axes that broadcasting repeated; rules here do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.shapes import reshape, swapaxes, transpose
from gradcli.ops.spec import Shape, on_arrays, structural


def _matmul_shape(x: Shape, y: Shape) -> Shape:
    if not x or not y:
        raise ShapeError("matmul (@) needs arrays of at least one axis; use * with a number")
    if x[-1] != y[max(len(y) - 2, 0)]:
        raise ShapeError(f"matmul: shapes {x} and {y} do not fit ({x[-1]} columns against {y[max(len(y) - 2, 0)]} rows)")
    try:
        batch = np.broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        raise ShapeError(f"matmul: batch axes of shapes {x} and {y} do not broadcast") from None
    return (*batch, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


def _t(x: Any) -> Any:
    return swapaxes(x, axis1=-1, axis2=-2)


def _matmul_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if len(x.shape) > 1 and len(y.shape) > 1:
        return matmul(cotangent, _t(y)) if wanted[0] else None, matmul(_t(x), cotangent) if wanted[1] else None
    if len(x.shape) == len(y.shape) == 1:
        return cotangent * y if wanted[0] else None, cotangent * x if wanted[1] else None
    if len(x.shape) == 1:
        by_x = None
        if wanted[0]:
            by_x = matmul(y, cotangent) if len(y.shape) == 2 else reshape(matmul(y, _column(cotangent)), shape=y.shape[:-1])
        if not wanted[1]:
            return by_x, None
        return by_x, outer(x, cotangent) if len(y.shape) == 2 else _column(x) * _row(cotangent)
    by_y = None
    if wanted[1]:
        batched = (*cotangent.shape[:-1], x.shape[-1])
        by_y = matmul(cotangent, x) if len(x.shape) == 2 else reshape(matmul(_row(cotangent), x), shape=batched)
    if not wanted[0]:
        return None, by_y
    return outer(cotangent, y) if len(x.shape) == 2 else _column(cotangent) * y, by_y


def _row(vector: Any) -> Any:
    return reshape(vector, shape=(*vector.shape[:-1], 1, vector.shape[-1]))


def _column(vector: Any) -> Any:
    return reshape(vector, shape=(*vector.shape, 1))


matmul = structural(
    "matmul", "x y", np.matmul, on_arrays(np.matmul), vjp=_matmul_vjp, shape=_matmul_shape, saves=("x", "y"),
    core_dims=(2, 2), doc="x @ y: the matrix product over the last two axes, broadcasting the others.",
    examples=("x @ w + b",), rounding="terms", ulps=8,
)  # fmt: skip


def _dot_shape(x: Shape, y: Shape) -> Shape:
    if not x or not y:
        return x or y
    if x[-1] != y[max(len(y) - 2, 0)]:
        raise ShapeError(f"dot: shapes {x} and {y} do not fit")
    return (*x[:-1], *y[:-2], *(y[-1:] if len(y) > 1 else ()))


def _dot_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if not x.shape or not y.shape:
        return cotangent * y if wanted[0] else None, cotangent * x if wanted[1] else None
    # Flattened to matrices: x (rows, n), y moved to (n, columns).
    n = x.shape[-1]
    order = (len(y.shape) - 2, *range(len(y.shape) - 2), len(y.shape) - 1) if len(y.shape) > 1 else (0,)
    moved = transpose(y, axes=order)
    left, right = reshape(x, shape=(-1, n)), reshape(moved, shape=(n, -1))
    c = reshape(cotangent, shape=(left.shape[0], right.shape[1]))
    by_x = reshape(matmul(c, _t(right)), shape=x.shape) if wanted[0] else None
    by_y = None
    if wanted[1]:
        by_y = transpose(reshape(matmul(_t(left), c), shape=moved.shape), axes=tuple(np.argsort(order).tolist()))
    return by_x, by_y


dot = structural(
    "dot", "x y", np.dot, on_arrays(np.dot), vjp=_dot_vjp, shape=_dot_shape, saves=("x", "y"),
    doc="NumPy's dot: the inner product of vectors, the matrix product, or a product with a number.", rounding="terms", ulps=8,
)  # fmt: skip


def _outer_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    flat_x, flat_y = reshape(x, shape=(-1,)), reshape(y, shape=(-1,))
    by_x = reshape(matmul(cotangent, flat_y), shape=x.shape) if wanted[0] else None
    by_y = reshape(matmul(flat_x, cotangent), shape=y.shape) if wanted[1] else None
    return by_x, by_y


outer = structural(
    "outer", "x y", np.outer, on_arrays(np.outer), vjp=_outer_vjp, saves=("x", "y"),
    shape=lambda x, y: (int(np.prod(x)), int(np.prod(y))), aliases=("ger",), ulps=1,
    doc="The table of all products of an entry of x and an entry of y.", examples=("outer(x, y)",),
)  # fmt: skip


def _trace_shape(x: Shape, offset: int) -> Shape:
    if len(x) < 2:
        raise ShapeError(f"trace needs a matrix, not an array of shape {x}")
    return x[2:]


def _trace_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, offset: int) -> tuple[Any]:
    rows, columns, *rest = x.shape
    diagonal = np.eye(rows, columns, offset)
    return (cotangent * (diagonal.reshape(rows, columns, *(1 for _ in rest)) if rest else diagonal),)


trace = structural(
    "trace", "x", lambda x, offset: np.trace(x, offset=offset), on_arrays(lambda x, offset: np.trace(x, offset=offset)),
    vjp=_trace_vjp, shape=_trace_shape, static={"offset": 0}, linear=True,
    doc="The sum of the diagonal of a matrix.", rounding="terms", ulps=4,
)  # fmt: skip

