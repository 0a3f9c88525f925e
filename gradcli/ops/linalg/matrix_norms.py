"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError, MistypedArgumentError, ShapeError
from gradcli.ops.arrays.reshaping import movedim
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.elementwise.logic import isnan, logical_and, logical_not, where
from gradcli.ops.linalg.matrices import column_range
from gradcli.ops.linalg.matrix_functions import inv
from gradcli.ops.linalg.spectra import svdvals
from gradcli.ops.reductions.carried import reduced
from gradcli.ops.reductions.sums import max_, min_, norm, sum_
from gradcli.ops.registry import axes_of, declare, function

_LAST = (-2, -1)
_ORDERS = (1, -1, 2, -2, math.inf, -math.inf, "nuc")  # of matrices, beside that of Frobenius


@function(backward="LinalgVectorNorm")
def vector_norm(x: Any, *, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of the entries along axes, as one vector: ord any number, inf or -inf.

    >>> vector_norm(x, 3)
    """
    axis = None if axis == () else axis
    if ord == 2:
        ord = None
    if ord is not None and axis is None and len(x.shape) > 1:
        found = norm(reshape(x, shape=(-1,)), ord=ord)
        return reshape(found, shape=(1,) * len(x.shape)) if keepdims else found
    return norm(x, ord=ord, axis=axis, keepdims=keepdims)


@function()
def matrix_norm(x: Any, *, ord: Any = "fro", axis: Any = _LAST, keepdims: bool = False) -> Any:
    """A norm of matrices: 'fro', 'nuc' (the sum of the singular values), 2 and -2 (the largest and the smallest), 1 and -1 (of the
    sums of sizes along columns), inf and -inf (along rows).

    >>> matrix_norm(A, 'nuc')
    """
    if len(x.shape) < 2:
        raise ShapeError(f"a norm of matrices needs at least two axes, not the shape {tuple(x.shape)}")
    axes = axes_of(axis, len(x.shape))
    if len(axes) != 2:
        raise ShapeError(f"a norm of matrices needs two axes, not {axis}")
    if ord in (None, "fro"):
        return norm(x, axis=axes, keepdims=keepdims)
    if ord not in _ORDERS:
        raise ArgumentError(f"a norm of matrices has the order 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, not {ord!r}")
    if 0 in (x.shape[axes[0]], x.shape[axes[1]]):
        return sum_(x, axis=axes, keepdims=keepdims)
    kept = reduced(x.shape, axes, True)
    x = movedim(x, source=axes, destination=_LAST)
    sizes = svdvals(x) if ord in (2, -2, "nuc") else sum_(abs_(x), axis=-2 if ord in (1, -1) else -1)
    choose = sum_ if ord == "nuc" else max_ if ord > 0 else min_
    found = choose(sizes, axis=-1)
    return reshape(found, shape=kept) if keepdims else found


@function()
def numpy_norm(x: Any, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm, and torch.linalg.norm: of one axis or a vector a vector norm, of two axes or a matrix a matrix norm."""
    if isinstance(axis, tuple) and len(axis) > 2:
        raise ShapeError(f"norm works along one or two axes, not {axis}")
    count = len(x.shape) if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if ord is None or count == 1:
        if isinstance(ord, str):
            raise MistypedArgumentError(f"a vector has no norm {ord!r}")
        return vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)
    if count != 2:
        raise ShapeError(f"norm of an array of shape {tuple(x.shape)} with ord={ord!r} needs an axis, or two")
    return matrix_norm(x, ord=ord, axis=_LAST if axis is None else axis, keepdims=keepdims)


@function(backward="LinalgVectorNorm")
def torch_norm(x: Any, *, ord: Any = "fro", axis: Any = None, keepdims: bool = False) -> Any:
    """torch.norm: the vector norm of the entries along axes, 'fro' being 2; 'nuc' the nuclear norm of matrices."""
    if ord == "nuc":
        return matrix_norm(x, ord=ord, axis=_LAST if axis is None and len(x.shape) == 2 else axis, keepdims=keepdims)
    if isinstance(ord, str) and ord != "fro":
        raise ArgumentError(f"torch.norm: p must be a number, 'fro' or 'nuc', not {ord!r}")
    return vector_norm(x, ord=None if ord == "fro" else ord, axis=axis, keepdims=keepdims)


@function(
    torch="x|A|input, ord|p", numpy="x, ord|p", domain="a regular matrix"
)
def cond(x: Any, *, ord: Any = None) -> Any:
    """The condition number: the ratio of the largest to the smallest singular value, or the product of the norms of the
    matrix and of its inverse.

    >>> cond(A)
    """
    if 0 in x.shape[-2:]:
        return sum_(x, axis=_LAST)
    if ord in (None, 2, -2):
        sizes = svdvals(x)
        largest, smallest = column_range(sizes, None, 1), column_range(sizes, -1, None)
        return reshape(smallest / largest if ord == -2 else largest / smallest, shape=x.shape[:-2])
    size = matrix_norm(x, ord=ord)
    found = size * matrix_norm(inv(x, check_errors=False), ord=ord)
    return where(logical_and(isnan(found), logical_not(isnan(size))), math.inf, found)


_AXES = "axis, keepdims, -out, -dtype"
declare(f"""
    torch:
        linalg.norm = numpy_norm(x|A|input, ord, {_AXES})
        Tensor.norm norm = torch_norm(x, ord|p, {_AXES})
        vector_norm(x, ord, {_AXES})
        matrix_norm(x|A|input, ord, {_AXES})
        nuclear_norm = matrix_norm(x, axis, keepdims; ord='nuc')
        frobenius_norm = vector_norm(x, axis!, keepdims)
    numpy:
        vector_norm matrix_norm(x, ord, axis, keepdims)
""")
