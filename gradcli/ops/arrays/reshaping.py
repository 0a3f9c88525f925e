"""The same entries in other shapes and under other orders of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, AxisError, ShapeError
from gradcli.ops.arrays.shapes import (
    ALL,
    StaticArray,
    broadcast_to,
    flip,
    getitem,
    reshape,
    scatter_add,
    shape_with,
    swapaxes,
    transpose,
    vector_of,
)
from gradcli.ops.elementwise.logic import where
from gradcli.ops.registry import (
    Function,
    Op,
    Shape,
    axes_of,
    declare,
    function,
    need_axes,
    one_axis,
    shape_by_example,
)

# -- Axes removed, added, joined and taken apart --------------------------------------------------


@function()
def flatten(x: Any, *, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes from start_dim to end_dim as one."""
    first, last = one_axis(start_dim, x.shape), one_axis(end_dim, x.shape)
    if first > last:
        raise ShapeError("flatten: start_dim must not come after end_dim")
    if first == last:
        return x
    return reshape(
        x, shape=(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
    )


@function()
def torch_squeeze(x: Any, *, axis: Any = None) -> Any:
    """Axes removed that have one entry."""
    axes = axes_of(axis, x.shape)
    return reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes or n != 1))


@function()
def squeeze(x: Any, *, axis: Any = None) -> Any:
    """Axes of one entry removed."""
    if axis is not None and any(x.shape[a] != 1 for a in axes_of(axis, x.shape)):
        raise ShapeError(
            f"cannot squeeze an axis of more than one entry from the shape {tuple(x.shape)}"
        )
    return torch_squeeze(x, axis=axis)


@function("expand_dims unsqueeze", backward="Unsqueeze")
def expand_dims(x: Any, *, axis: Any) -> Any:
    """New axes of one entry.

    >>> expand_dims(x, 0)
    """
    count = len(axis) if isinstance(axis, tuple) else 1
    places = range(len(x.shape) + count)
    rest = iter(x.shape)
    axes = axes_of(axis, places)
    return reshape(x, shape=tuple(1 if i in axes else next(rest) for i in places))


def one_number(name: str, value: Any) -> Any:
    """Return a value that must be one number."""
    if value.shape:
        raise ShapeError(f"{name} takes one number, not an array of shape {tuple(value.shape)}")
    return value


def at_least_1d(x: Any) -> Any:
    return x if x.shape else reshape(x, shape=(1,))


def _at_least(name: str, front: int, behind: int, doc: str) -> Any:
    """Register a function that adds axes of one entry to an array, or to several in a tuple.

    Axes are added in front up to ``front`` of them, then ``behind`` more behind.
    """

    def one(x: Any) -> Any:
        shape = (*(1,) * (front - len(x.shape)), *x.shape)
        return (
            x
            if len(x.shape) >= front + behind
            else reshape(x, shape=(*shape, *(1,) * (front + behind - len(shape))))
        )

    def body(*arrays: Any) -> Any:
        return one(arrays[0]) if len(arrays) == 1 else tuple(map(one, arrays))

    body.__doc__ = doc
    return function(name, numpy="***arrays", torch="**arrays|tensors")(body)


atleast_1d = _at_least("atleast_1d", 1, 0, "Numbers as arrays of one entry.")
atleast_2d = _at_least("atleast_2d", 2, 0, "Numbers and vectors as matrices of one row.")
atleast_3d = _at_least("atleast_3d", 2, 1, "Numbers, vectors and matrices with three axes: (1, n, "
"1) of a vector, (m, n, 1) of a matrix.")


@function(numpy="x, shape|size+, -implicit")
def expand(x: Any, *, shape: Shape) -> Any:
    """The entries repeated along new or one-entry axes; -1 keeps an extent.

    >>> x.expand(2, -1)
    """
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise ShapeError(
            f"expand: the shape {shape} has fewer axes than the array of shape {tuple(x.shape)}"
        )
    return broadcast_to(
        x,
        shape=(
            *shape[:lead],
            *(old if n == -1 else n for n, old in zip(shape[lead:], x.shape, strict=True)),
        ),
    )


@function()
def expand_as(x: Any, y: Any) -> Any:
    """x broadcast to the shape of y."""
    return broadcast_to(x, shape=y.shape)


@function("view_as reshape_as", backward="View")
def view_as(x: Any, y: Any) -> Any:
    """x in the shape of y."""
    return reshape(x, shape=y.shape)


def common_shape(*arrays: Any) -> Shape:
    """Return the shape to which arrays broadcast together."""
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(
            f"shapes {' and '.join(str(tuple(x.shape)) for x in arrays)} do not broadcast together"
        ) from None


@function(torch="**arrays|tensors")
def broadcast_tensors(*arrays: Any) -> tuple[Any, ...]:
    """A tuple of the arrays in their common shape."""
    shape = common_shape(*arrays)
    return tuple(x if x.shape == shape else broadcast_to(x, shape=shape) for x in arrays)


@function(numpy="x, axis, shape|sizes+")
def unflatten(x: Any, *, axis: int, shape: Shape) -> Any:
    """One axis as several; one extent may be -1.

    >>> unflatten(x, 0, (2, -1))
    """
    place = one_axis(axis, x.shape)
    n = (x.shape or (1,))[place]
    known = math.prod(k for k in shape if k != -1)
    whole = tuple(n // max(1, known) if k == -1 else k for k in shape)
    if not shape or math.prod(whole) != n or min(whole) < 0:
        raise ShapeError(f"unflatten: an axis of {n} entries cannot have the shape {shape}")
    return reshape(x, shape=shape_with(x.shape, place, *whole))


@function()
def numpy_reshape(x: Any, *, shape: Any, order: Literal["C", "F", "A", "K"] = "C") -> Any:
    """np.reshape: the same entries in another shape, row by row or by columns (order='F')."""
    if order != "F":
        return reshape(x, shape=shape)
    return transpose(reshape(transpose(x, axes=None), shape=shape[::-1]), axes=None)


# -- Axes in another order -----------------------------------------------------------------------


def permute(x: Any, order: tuple[int, ...]) -> Any:
    """Put the axes in an order, unless they are in it already."""
    return x if order == tuple(range(len(order))) else transpose(x, axes=order)


def axes_last(shape: Shape, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the order of the axes of a shape that puts some at the end."""
    return (*(a for a in range(len(shape)) if a not in axes), *axes)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order of axes that undoes an order of axes."""
    return tuple(np.argsort(order).tolist())


@function(memory="view")
def t(x: Any) -> Any:
    """The transpose of a matrix; vectors and numbers as they are."""
    need_axes("t", x, 0, 2)
    return transpose(x, axes=None) if len(x.shape) == 2 else x


@function("movedim moveaxis", memory="view")
def movedim(x: Any, *, source: Any, destination: Any) -> Any:
    """Axes moved from source to destination, the others in their order.

    >>> movedim(x, 0, -1)
    """
    taken, places = axes_of(source, x.shape), axes_of(destination, x.shape)
    if len(taken) != len(places):
        raise ShapeError("movedim: source and destination must name equally many axes")
    rest = iter(a for a in range(len(x.shape)) if a not in taken)
    return permute(
        x, tuple(taken[places.index(a)] if a in places else next(rest) for a in range(len(x.shape)))
    )


@function(numpy="x, dim0|axis1, dim1|axis2", torch="x, dim0|axis0, dim1|axis1", backward="Transpose", memory="view")
def swapdims(x: Any, *, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return swapaxes(x, axis1=dim0, axis2=dim1)


# -- Entries in other places of the same array: rolled, turned, in triangles and on diagonals ----


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    if isinstance(shift, tuple) and axis is None and len(shift) != 1:
        raise ShapeError(f"roll: shifts {shift} need an axis each")
    for place in np.atleast_1d(() if axis is None else axis).tolist():
        axes_of(place, np.shape(x))
    return (
        x
        if axis is not None and not np.ndim(x)
        else np.roll(x, shift, None if axis == () else axis)
    )


def _roll_vjp(cotangent: Any, out: Any, x: Any, shift: Any, axis: Any) -> Any:
    return roll(
        cotangent,
        shift=tuple(-n for n in shift) if isinstance(shift, tuple) else -shift,
        axis=axis,
    )


@function(
    vjp=_roll_vjp, forward=_roll, shape=shape_by_example(_roll),
    ulps=0, parts=None,
    numpy="np.roll({0}, {shift}, {axis})",
)
def roll(x: Any, *, shift: Any, axis: Any = None) -> Any:
    """The entries moved along axes (in order, if there is no axis), those beyond the end to the start.

    >>> roll(x, 1)
    """
    if axis is None or axis == ():
        return reshape(roll(vector_of(x), shift=shift, axis=0), shape=tuple(x.shape))
    for step, place in np.broadcast(shift, axis) if x.shape else ():
        n = x.shape[place]
        x = getitem(
            x,
            index=(
                *(ALL,) * (place % len(x.shape)),
                StaticArray((np.arange(n) - step) % max(n, 1)),
            ),
        )
    return x


@function()
def torch_roll(x: Any, *, shift: Any, axis: Any = ()) -> Any:
    """torch.roll: as many shifts as axes."""
    if np.size(shift) != (np.size(axis) or 1):
        raise ShapeError(f"roll: shifts {shift} and axes {axis} must be equally many")
    return roll(x, shift=shift, axis=axis)


@function(numpy="x|m, k, axes|dims", memory="own")
def rot90(x: Any, *, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned k times by 90 degrees, from the first of two axes towards the second.

    >>> rot90(x)
    """
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise ArgumentError(f"rot90: two axes are wanted, not {axes!r}")
    first, second = axes_of(axes, x.shape)
    if k % 4 == 0:
        return x
    turned = swapaxes(x, axis1=first, axis2=second) if k % 2 else x
    return flip(turned, axis={1: first, 2: (first, second), 3: second}[k % 4])


def _triangle(part: Any) -> Function:
    """Register the definition of a triangle of matrices."""
    name: str = part.__name__

    def check(x: Any, k: int) -> Any:
        if not np.ndim(x):
            raise ShapeError(f"{name} needs a matrix, not a number")
        return part(x, k)

    def define(body: Function) -> Op:
        op: Op = function(
            vjp=lambda cotangent, out, x, k: op(cotangent, k=k),
            forward=check,
            shape=shape_by_example(check),
            ulps=0,
            example=f"{name}(x)",
            numpy=lambda shapes, k: f"np.{name}({{0}}, {k})" if len(shapes[0]) > 1 else "",
        )(body)
        return op

    return define


def _below(x: Any, k: int) -> np.ndarray:
    """Return whether entries of matrices are on the k-th diagonal or below.

    A vector stands for the matrix that has it in each row.
    """
    rows, columns = (x.shape * 2)[-2:]
    return np.tri(rows, columns, k, bool)


@_triangle(np.tril)
def tril(x: Any, *, k: int = 0) -> Any:
    """The entries on and below the k-th diagonal of matrices, zeros elsewhere."""
    return where(_below(x, k), x, 0.0)


@_triangle(np.triu)
def triu(x: Any, *, k: int = 0) -> Any:
    """The entries on and above the k-th diagonal of matrices, zeros elsewhere."""
    return where(_below(x, k - 1), 0.0, x)


def diagonal_index(shape: Shape, offset: int) -> tuple[Any, ...]:
    """Return the index of a diagonal of matrices along the last two axes."""
    rows, columns = shape[-2:]
    places = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    return (..., StaticArray(places + max(-offset, 0)), StaticArray(places + max(offset, 0)))


def matrices_last(shape: Shape, axis1: int, axis2: int) -> tuple[int, ...]:
    """Return the order of the axes of a shape that puts two at the end."""
    if len(shape) < 2:
        raise AxisError(1, len(shape))
    return axes_last(shape, axes_of((axis1, axis2), shape))


_DIAGONAL = "x|A, offset, axis1|dim1, axis2|dim2"


@function(numpy=_DIAGONAL, memory=np.diagonal)
def diagonal(x: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The entries on a diagonal of matrices along two axes, along a new last axis.

    >>> diagonal(x, 1)
    """
    moved = permute(x, matrices_last(x.shape, axis1, axis2))
    return getitem(moved, index=diagonal_index(moved.shape, offset))


@function(numpy=_DIAGONAL)
def diag_embed(x: Any, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Matrices along two new axes, with the last axis of x on a diagonal and zeros elsewhere."""
    need_axes("diag_embed", x, 1)
    n = x.shape[-1] + abs(offset)
    matrices = scatter_add(x, index=diagonal_index((n, n), offset), shape=(*x.shape[:-1], n, n))
    return permute(matrices, inverse(matrices_last(matrices.shape, axis1, axis2)))


@function(numpy="x|v, k|diagonal")
def diag(x: Any, *, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on it and zeros elsewhere.

    >>> diag(x)
    """
    need_axes("diag", x, 1, 2)
    return diag_embed(x, offset=k) if len(x.shape) == 1 else diagonal(x, offset=k)


@function(numpy="x|v, k|offset", backward="DiagEmbed")
def diagflat(x: Any, *, k: int = 0) -> Any:
    """The matrix with all entries of x on its k-th diagonal and zeros elsewhere."""
    return diag(vector_of(x), k=k)


@function()
def fill(x: Any, value: Any) -> Any:
    """An array of the shape of x filled with one value."""
    return where(np.zeros(x.shape, bool), x, one_number("fill", value))


_LAST = {"axis1": -2, "axis2": -1}
declare(f"""
    numpy:
        reshape = numpy_reshape(x, shape|newshape+, order, -copy)
        ravel = numpy_reshape(x, order; shape=-1)
        broadcast_to(x|array, shape|size+, -subok)
        broadcast_arrays = broadcast_tensors(***arrays, -subok)
        clone copy resolve_conj resolve_neg = clone(x, -memory_format)
        permute_dims = transpose(x, axes+)
        roll(x, shift|shifts, axis|dims)
        flip(x|m, axis)
        fliplr = flip(x|m; axis=1)
        flipud = flip(x|m; axis=0)
        swapaxes = swapdims(x, dim0|axis1, dim1|axis2)
        matrix_transpose adjoint = swapdims(x; dim0=-1, dim1=-2)
        tril triu(x|m, k|diagonal)
        linalg.diagonal = diagonal({_DIAGONAL}; axis1=-2, axis2=-1)
    torch:
        roll = torch_roll(x, shift|shifts, axis|dims)
        squeeze = torch_squeeze(x, axis+)
        reshape(x, shape|size+!)
        ravel = reshape(x; shape=-1)
        swapaxes transpose = swapdims(x, dim0|axis0, dim1|axis1)
        permute = transpose(x, axes+!)
        broadcast_to = expand(x, shape|size+)
        flip(x, axis|dims+!)
        linalg.diagonal = diagonal(x|A, *, offset, axis1|dim1=-2, axis2|dim2=-1)
""")
