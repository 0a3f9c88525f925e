"""Products of arrays: matrices, vectors, tables and tensors. The sweep sums over axes that broadcasting repeated."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import axes, pytorch
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.reshaping import diagonal, movedim
from gradcli.ops.arrays.shapes import getitem, reshape, stack
from gradcli.ops.carrying import multilinear
from gradcli.ops.extended import Whole
from gradcli.ops.linalg.matrices import as_column, as_row, transposed
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import Alike, Number, Op, Shape, axes_of, declare, function, is_number, one_axis, room_for, structural, witness
from gradcli.ops.text import TERM, Form


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


def _matmul_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if len(x.shape) > 1 and len(y.shape) > 1:
        return matmul(cotangent, transposed(y)) if wanted[0] else None, matmul(transposed(x), cotangent) if wanted[1] else None
    if len(x.shape) == len(y.shape) == 1:
        return cotangent * y if wanted[0] else None, cotangent * x if wanted[1] else None
    if len(x.shape) == 1:
        by_x = None
        if wanted[0]:
            by_x = matmul(y, cotangent) if len(y.shape) == 2 else reshape(matmul(y, as_column(cotangent)), shape=y.shape[:-1])
        if not wanted[1]:
            return by_x, None
        return by_x, outer(x, cotangent) if len(y.shape) == 2 else as_column(x) * as_row(cotangent)
    by_y = None
    if wanted[1]:
        batched = (*cotangent.shape[:-1], x.shape[-1])
        by_y = matmul(cotangent, x) if len(x.shape) == 2 else reshape(matmul(as_row(cotangent), x), shape=batched)
    if not wanted[0]:
        return None, by_y
    return outer(cotangent, y) if len(x.shape) == 2 else as_column(cotangent) * y, by_y


matmul: Op = structural(
    "matmul", "x y:alike", np.matmul, witness("arrays.matmul"), vjp=_matmul_vjp, shape=_matmul_shape, saves="x: y; y: x",
    core_dims=(2, 2), doc="x @ y: the matrix product over the last two axes, broadcasting the others. "
    ">>> x @ w + b",
    rounding="terms", ulps=8, dtype="number",
    extended=Whole("MATMUL"),
    backward=pytorch.node_of_matmul, written="@",
    latex=Form("{x:term} {y:power}", TERM), algebra="matrix product",
    carries=multilinear, axes=axes.matrix_product,
    numpy="({0:term} @ {1:power})",
)  # fmt: skip


@function()
def dot(x: Any, y: Any) -> Any:
    """NumPy's dot: the inner product of vectors, the matrix product, or a product with a number."""
    if not x.shape or not y.shape:
        return x * y
    if x.shape[-1] != y.shape[max(len(y.shape) - 2, 0)]:
        raise ShapeError(f"dot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit")
    if len(y.shape) < 3:
        return matmul(x, y)
    columns = reshape(movedim(y, source=-2, destination=0), shape=(y.shape[-2], -1))
    return reshape(matmul(x, columns), shape=(*x.shape[:-1], *y.shape[:-2], y.shape[-1]))


def _outer_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    by_x = reshape(matmul(cotangent, reshape(y, shape=(-1,))), shape=x.shape) if wanted[0] else None
    by_y = reshape(matmul(reshape(x, shape=(-1,)), cotangent), shape=y.shape) if wanted[1] else None
    return by_x, by_y


@function(
    "outer ger", vjp=_outer_vjp, forward=np.outer, saves="x: y; y: x", shape=lambda x, y: (int(np.prod(x)), int(np.prod(y))),
    ulps=1, dtype="number",
    carries=multilinear,
    numpy="np.outer({0}, {1})", torch="torch.outer(torch.ravel({0}), torch.ravel({1}))",
)  # fmt: skip
def outer(x: Any, y: Any) -> Any:
    """The table of all products of an entry of x and an entry of y.

    >>> outer(x, y)
    """
    return reshape(x, shape=(-1, 1)) * reshape(y, shape=(1, -1))


def _diagonal_axes(shape: Shape, axis1: int, axis2: int) -> tuple[int, int]:
    if len(shape) < 2:
        raise ShapeError(f"trace needs a matrix, not an array of shape {shape}")
    first, second = axes_of((axis1, axis2), len(shape))
    return first, second


def _trace_shape(x: Shape, offset: int, axis1: int, axis2: int) -> Shape:
    gone = _diagonal_axes(x, axis1, axis2)
    return tuple(n for i, n in enumerate(x) if i not in gone)


def _trace_vjp(wanted: Any, cotangent: Any, out: Any, x: Any, offset: int, axis1: int, axis2: int) -> tuple[Any]:
    rows, columns = _diagonal_axes(x.shape, axis1, axis2)
    room_for(x.shape[rows], x.shape[columns])
    diagonal = np.eye(x.shape[rows], x.shape[columns], offset)
    spread = [tuple(n if (i in (rows, columns)) == inside else 1 for i, n in enumerate(x.shape)) for inside in (False, True)]
    return (reshape(cotangent, shape=spread[0]) * (diagonal if rows < columns else diagonal.T).reshape(spread[1]),)


@function(
    vjp=_trace_vjp, shape=_trace_shape, dtype="number", rounding="terms", ulps=4,
    numpy=lambda shapes, offset, axis1, axis2: f"np.trace({{0}}, {offset}, {axis1}, {axis2})",
    torch=lambda shapes, offset, axis1, axis2: f"torch.diagonal({{0}}, {offset}, {axis1}, {axis2}).sum(-1)",
)  # fmt: skip
def trace(x: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal of a matrix, or of each one along two axes.

    >>> trace([x, y])
    """
    return sum_(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1)


def _product(x: Any, y: Any, *ranks: int) -> Any:
    """A product that PyTorch has for arrays of these numbers of axes alone."""
    if (len(x.shape), len(y.shape)) != ranks:
        shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
        raise ShapeError(f"the product needs arrays of {ranks[0]} and {ranks[1]} axes, not the shapes {shapes}")
    return matmul(x, y)


@function()
def torch_mm(x: Any, y: Alike) -> Any:
    """The product of matrices."""
    return _product(x, y, 2, 2)


@function()
def torch_mv(x: Any, y: Alike) -> Any:
    """The product of a matrix and a vector."""
    return _product(x, y, 2, 1)


@function()
def torch_bmm(x: Any, y: Alike) -> Any:
    """The products of batches of matrices."""
    return _product(x, y, 3, 3)


@function()
def torch_dot(x: Any, y: Alike) -> Any:
    """The product of vectors."""
    return _product(x, y, 1, 1)


@function()
def torch_vdot(x: Any, y: Any) -> Any:
    """The product of vectors, which may have two dtypes."""
    return _product(x, y, 1, 1)


@function()
def vdot(x: Any, y: Any) -> Any:
    """The inner product of all entries, in order."""
    return dot(reshape(x, shape=(-1,)), reshape(y, shape=(-1,)))


@function(torch="x, y|other, *, axis", numpy="x|x1, y|x2, axis")
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The inner products of vectors along an axis.

    >>> vecdot(x, y)
    """
    if x.shape and y.shape and x.shape[one_axis(axis, len(x.shape))] != y.shape[one_axis(axis, len(y.shape))]:
        raise ShapeError(f"vecdot: shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit along axis {axis}")
    return sum_(x * y, axis=axis)


@function()
def kron(x: Any, y: Any) -> Any:
    """The Kronecker product: the blocks x[i, j]*y.

    >>> kron(x, y)
    """
    n = max(len(x.shape), len(y.shape))
    a, b = ((1,) * (n - len(v.shape)) + tuple(v.shape) for v in (x, y))
    spread_x = reshape(x, shape=tuple(m for extent in a for m in (extent, 1)))
    spread_y = reshape(y, shape=tuple(m for extent in b for m in (1, extent)))
    return reshape(spread_x * spread_y, shape=tuple(i * j for i, j in zip(a, b, strict=True)))


@function()
def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices.

    >>> chain_matmul([x, y], [[1], [2], [3]])
    """
    return functools.reduce(matmul, matrices)


@function()
def matvec(x: Any, y: Any) -> Any:
    """The products of matrices with vectors along the last axis.

    >>> matvec([[1, 2, 3], [4, 5, 6]], x)
    """
    return reshape(matmul(x, as_column(y)), shape=matmul(x, as_column(y)).shape[:-1])


@function()
def vecmat(x: Any, y: Any) -> Any:
    """The products of vectors along the last axis with matrices.

    >>> vecmat(x, [[1], [2], [3]])
    """
    return matvec(transposed(y), x)


_TWO = "x|x1|input|self|vec1|mat1, y|x2|other|tensor|vec2|mat2|vec"


# -- PyTorch's fused forms


def _added(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta*x + alpha*product; with beta = 0 the array x is not read."""
    scaled = product if is_number(alpha) and alpha == 1 else product * alpha
    if is_number(beta) and beta == 0:
        return scaled
    found = (x if is_number(beta) and beta == 1 else x * beta) + scaled
    if tuple(found.shape) != tuple(product.shape):
        raise ShapeError(f"an array of shape {tuple(x.shape)} cannot be added to a product of shape {tuple(product.shape)}")
    return found


@function(torch="input, mat1, mat2, *, beta, alpha")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """beta*input + alpha times a product of matrices; with beta=0 the input is not read."""
    return _added(input, _product(mat1, mat2, 2, 2), beta, alpha)


@function(torch="input, mat, vec, *, beta, alpha")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """beta*input + alpha times a product of a matrix and a vector; with beta=0 the input is not read."""
    return _added(input, _product(mat, vec, 2, 1), beta, alpha)


@function(torch="input, batch1, batch2, *, beta, alpha")
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """beta*input + alpha times the sum of a batch's products of matrices; with beta=0 the input is not read."""
    return _added(input, sum_(_product(batch1, batch2, 3, 3), axis=0), beta, alpha)


@function(torch="input, batch1, batch2, *, beta, alpha")
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """beta*input + alpha times a batch's products of matrices; with beta=0 the input is not read."""
    return _added(input, _product(batch1, batch2, 3, 3), beta, alpha)


@function(torch="input, vec1, vec2, *, beta, alpha")
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """beta*input + alpha times the outer product of vectors; with beta=0 the input is not read."""
    return _added(input, outer(vec1, vec2), beta, alpha)


# -- The vector product of three-dimensional space -------------------------------------------------


def _cross_shape(x: Shape, y: Shape) -> Shape:
    if x[-1:] != (3,) or y[-1:] != (3,):
        raise ShapeError(f"cross needs vectors of 3 entries, not the shapes {x} and {y}")
    return np.broadcast_shapes(x, y)


def _vector_product_vjp(wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return vector_product(y, cotangent) if wanted[0] else None, vector_product(cotangent, x) if wanted[1] else None


@function(
    shape=_cross_shape, saves="x y", core_dims=(1, 1), public=False,
    vjp=_vector_product_vjp,
    backward="LinalgCross", ulps=4,
    numpy="np.cross({0}, {1})", torch="torch.linalg.cross({0}, {1})",
)  # fmt: skip
def vector_product(x: Any, y: Any) -> Any:
    """The vector product of vectors along the last axis."""
    (a, b, c), (d, e, f) = ([getitem(v, index=(..., i)) for i in range(3)] for v in (x, y))
    return stack(b * f - c * e, c * d - a * f, a * e - b * d, axis=-1)


def _in_space(x: Any, y: Any) -> Any:
    """A vector of the plane has 0 as its third entry."""
    if x.shape[-1] == 3:
        return x
    if x.shape[-1] != 2:
        raise ShapeError(f"cross needs vectors of 2 or 3 entries, not {x.shape[-1]}")
    return concatenate(x, np.zeros((*x.shape[:-1], 1)), axis=-1)


@function(numpy="x|a, y|b, axisa, axisb, axisc, axis")
def cross(x: Any, y: Any, *, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The vector product along an axis; of two vectors of the plane, its third entry.

    >>> cross(x, y)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = movedim(x, source=axisa, destination=-1), movedim(y, source=axisb, destination=-1)
    result = vector_product(_in_space(x, y), _in_space(y, x))
    if x.shape[-1] == y.shape[-1] == 2:
        return getitem(result, index=(..., 2))
    return movedim(result, source=-1, destination=axisc)


@function(backward="LinalgCross")
def torch_cross(x: Any, y: Any, *, axis: int | None = None) -> Any:
    """torch.cross: the vector product along the first axis of 3 entries, or along dim."""
    if axis is None:
        axis = next((i for i, n in enumerate(x.shape) if n == 3), -1)
    place = one_axis(axis, len(x.shape))
    if len(x.shape) != len(y.shape) or (x.shape[place], y.shape[place]) != (3, 3):
        raise ShapeError(f"linalg.cross needs vectors of 3 entries along one axis, not the shapes {tuple(x.shape)} and {tuple(y.shape)}")
    return cross(x, y, axis=place)


declare(f"""
    torch:
        mm = torch_mm({_TWO})
        mv = torch_mv({_TWO})
        bmm = torch_bmm({_TWO})
        dot = torch_dot({_TWO})
        vdot = torch_vdot({_TWO})
        outer ger = outer({_TWO})
        trace(x)
        cross = torch_cross(x, y|other, axis)
        linalg.cross = torch_cross(x, y|other, *, axis=-1)
    numpy:
        dot vdot kron matmul outer(x|x1|a|input, y|x2|b|other, -out)
        trace(x, offset, axis1, axis2, -dtype, -out)
        linalg.trace = trace(x, offset, -dtype; axis1=-2, axis2=-1)
        chain_matmul(***matrices)
""")
