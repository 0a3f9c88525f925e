"""The same entries in other shapes and under other orders of axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, AxisError, ShapeError
from gradcli.ops import cutting
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, flip, getitem, reshape, scatter_add, sum_to, swapaxes, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite, function, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.writing import Shape, axes_of, one_axis, shape_by_example, witness


def _squeeze(x: Any, axis: Any) -> Any:
    axes = axes_of(axis, len(x.shape))
    return reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes or n != 1))


def _t(x: Any) -> Any:
    if len(x.shape) > 2:
        raise ShapeError(f"t() expects at most 2 axes, not {len(x.shape)}")
    return transpose(x, axes=None) if len(x.shape) == 2 else x


@function()
def flatten(x: Any, *, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes from start_dim to end_dim as one."""
    if not x.shape:
        return reshape(x, shape=(1,))
    first, last = one_axis(start_dim, len(x.shape)), one_axis(end_dim, len(x.shape))
    if first > last:
        raise ShapeError("flatten: start_dim must not come after end_dim")
    if first == last:
        return x
    return reshape(x, shape=(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


@function()
def ravel(x: Any) -> Any:
    """All entries along one axis."""
    return reshape(x, shape=(-1,))


t = composite(
    "t", "x", _t, shares="view",
    doc="The transpose of a matrix; vectors and numbers as they are.",
)  # fmt: skip


@function()
def squeeze(x: Any, *, axis: Any = None) -> Any:
    """Axes of one entry removed."""
    if axis is not None and any(x.shape[a] != 1 for a in axes_of(axis, len(x.shape))):
        raise ShapeError(f"cannot squeeze an axis of more than one entry from the shape {tuple(x.shape)}")
    return _squeeze(x, axis)


torch_squeeze = composite(
    "torch_squeeze", "x", _squeeze, static={"axis": None}, public=False, doc="Axes removed that have one entry.",
)


@function(aliases=("unsqueeze",), backward="Unsqueeze", examples=("expand_dims(x, 0)",))
def expand_dims(x: Any, *, axis: Any) -> Any:
    """New axes of one entry."""
    count = len(axis) if isinstance(axis, tuple) else 1
    axes = axes_of(axis, len(x.shape) + count)
    rest = iter(x.shape)
    return reshape(x, shape=tuple(1 if i in axes else next(rest) for i in range(len(x.shape) + count)))


declare(TORCH, squeeze=signature("torch_squeeze", "x, axis+"))


def permuted(x: Any, order: tuple[int, ...]) -> Any:
    """The axes in an order, unless they are in it already."""
    return x if order == tuple(range(len(order))) else transpose(x, axes=order)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes an order of axes."""
    return tuple(np.argsort(order).tolist())


def _each(function: Function) -> Function:
    """A function of one array, or of several in a tuple."""
    return lambda *arrays: function(arrays[0]) if len(arrays) == 1 else tuple(map(function, arrays))


def _at_least_2d(x: Any) -> Any:
    return x if len(x.shape) > 1 else reshape(x, shape=(1, math.prod(x.shape)))


def _at_least_3d(x: Any) -> Any:
    if len(x.shape) > 2:
        return x
    return expand_dims(x, axis=-1) if len(x.shape) == 2 else reshape(x, shape=(1, math.prod(x.shape), 1))


def at_least_1d(x: Any) -> Any:
    return x if x.shape else reshape(x, shape=(1,))


atleast_1d = composite("atleast_1d", "*arrays", _each(at_least_1d), doc="Numbers as arrays of one entry.")
atleast_2d = composite(
    "atleast_2d", "*arrays", _each(_at_least_2d), doc="Numbers and vectors as matrices of one row.",
)  # fmt: skip
atleast_3d = composite(
    "atleast_3d", "*arrays", _each(_at_least_3d),
    doc="Numbers, vectors and matrices with three axes: (1, n, 1) of a vector, (m, n, 1) of a matrix.",
)  # fmt: skip


@function(numpy="x, shape|size+, -implicit", examples=("x.expand(2, -1)",))
def expand(x: Any, *, shape: Shape) -> Any:
    """The entries repeated along new or one-entry axes; -1 keeps an extent."""
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise ShapeError(f"expand: the shape {shape} has fewer axes than the array of shape {tuple(x.shape)}")
    if -1 in shape[:lead]:
        raise ShapeError("expand: -1 stands for an extent of the array, not for a new one")
    return broadcast_to(x, shape=(*shape[:lead], *(old if n == -1 else n for n, old in zip(shape[lead:], x.shape, strict=True))))


@function()
def expand_as(x: Any, y: Any) -> Any:
    """x broadcast to the shape of y."""
    return broadcast_to(x, shape=y.shape)


@function(aliases=("reshape_as",), backward="View")
def view_as(x: Any, y: Any) -> Any:
    """x in the shape of y."""
    return reshape(x, shape=y.shape)


def common_shape(*arrays: Any) -> Shape:
    """The shape to which arrays broadcast together."""
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(f"shapes {' and '.join(str(tuple(x.shape)) for x in arrays)} do not broadcast together") from None


@function()
def broadcast_tensors(*arrays: Any) -> tuple[Any, ...]:
    """A tuple of the arrays in their common shape."""
    shape = common_shape(*arrays)
    return tuple(x if tuple(x.shape) == shape else broadcast_to(x, shape=shape) for x in arrays)


@function(numpy="x, axis, shape|sizes+", examples=("unflatten(x, 0, (2, -1))",))
def unflatten(x: Any, *, axis: int, shape: Shape) -> Any:
    """One axis as several; one extent may be -1."""
    place = one_axis(axis, len(x.shape))
    n, known = (x.shape or (1,))[place], math.prod(k for k in shape if k != -1)
    if shape.count(-1) == 1 and known and n % known == 0:
        shape = tuple(n // known if k == -1 else k for k in shape)
    if not shape or math.prod(shape) != n or min(shape) < 0:
        raise ShapeError(f"unflatten: an axis of {n} entries cannot have the shape {shape}")
    return reshape(x, shape=(*x.shape[:place], *shape, *x.shape[place + 1 :]))


def _in_order(function: Function) -> Function:
    """A function of the entries row by row, or column by column (order='F')."""

    def body(x: Any, *arguments: Any, order: str = "C", **static: Any) -> Any:
        if order not in ("C", "F", "A", "K"):
            raise ArgumentError(f"the order must be 'C' or 'F', not {order!r}")
        return function(x, order == "F", **static)

    return body


def _reshape(x: Any, by_columns: bool, shape: Shape) -> Any:
    if not by_columns:
        return reshape(x, shape=shape)
    return transpose(reshape(transpose(x, axes=None), shape=shape[::-1]), axes=None)


composite(
    "numpy_reshape", "x", _in_order(_reshape), static={"shape": REQUIRED, "order": "C"}, public=False,
    doc="np.reshape: the same entries in another shape, row by row or by columns (order='F').",
)  # fmt: skip
composite(
    "numpy_ravel", "x", _in_order(lambda x, by_columns: _reshape(x, by_columns, (-1,))), static={"order": "C"}, public=False,
    doc="np.ravel: all entries along one axis, row by row or by columns (order='F').",
)  # fmt: skip


def _movedim(x: Any, source: Any, destination: Any) -> Any:
    taken, places = axes_of(source, len(x.shape)), axes_of(destination, len(x.shape))
    if len(taken) != len(places):
        raise ShapeError("movedim: source and destination must name equally many axes")
    rest = iter(a for a in range(len(x.shape)) if a not in taken)
    return permuted(x, tuple(taken[places.index(a)] if a in places else next(rest) for a in range(len(x.shape))))


movedim = composite(
    "movedim", "x", _movedim, static={"source": REQUIRED, "destination": REQUIRED}, shares="view",
    aliases=("moveaxis",),
    doc="Axes moved from source to destination, the others in their order.", examples=("movedim(x, 0, -1)",),
)  # fmt: skip


@function()
def rollaxis(x: Any, *, axis: int, start: int = 0) -> Any:
    """An axis moved back to before the axis start."""
    place, n = one_axis(axis, len(x.shape)), len(x.shape)
    if not -n <= start <= n:
        raise ShapeError(f"rollaxis: start {start} is out of bounds for an array of {n} axes")
    before = start % n if start < 0 else start
    return _movedim(x, place, before - 1 if place < before else before)


@function(backward="Transpose", shares="view")
def swapdims(x: Any, *, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    first, second = one_axis(dim0, len(x.shape)), one_axis(dim1, len(x.shape))
    return x if first == second else swapaxes(x, axis1=first, axis2=second)


@function(aliases=("adjoint",))
def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged: the transpose of each matrix."""
    return swapaxes(x, axis1=-1, axis2=-2)


def _fill(x: Any, value: Any) -> Any:
    if value.shape:
        raise ShapeError(f"fill takes one number, not an array of shape {tuple(value.shape)}")
    return where(np.zeros(x.shape, bool), x, value)


composite(
    "fill", "x value", _fill, doc="An array of the shape of x filled with one value.",
)  # fmt: skip
declare(
    NUMPY,
    reshape=signature("numpy_reshape", "x, shape|newshape+, order, -copy"),
    ravel=signature("numpy_ravel", "x, order"),
    broadcast_to=signature("broadcast_to", "x|array, shape|size+, -subok"),
    broadcast_arrays=signature("broadcast_tensors", "***arrays, -subok"),
    sum_to_size=signature(sum_to.name, "x, shape|size+", shape=REQUIRED),
    **dict.fromkeys(("clone", "copy", "resolve_conj", "resolve_neg"), signature("clone", "x, -memory_format")),
    permute_dims=signature("transpose", "x, axes+"),
    **{name: signature(name, "***arrays") for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
)
_SWAPPED = signature("swapdims", "x, dim0|axis0, dim1|axis1")
declare(
    TORCH,
    reshape=signature("reshape", "x, shape|size+", shape=REQUIRED),
    ravel=signature(ravel.name, "x"),
    **{name: signature(name, "**arrays|tensors") for name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors")},
    **dict.fromkeys(("swapaxes", "swapdims", "transpose"), _SWAPPED),
    permute=signature("transpose", "x, axes+", axes=REQUIRED),
    broadcast_to=signature("expand", "x, shape|size+"),
)


# -- Entries in other places of the same array: rolled, turned, in triangles and on diagonals ------


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    if isinstance(shift, tuple) and axis is None and len(shift) != 1:
        raise ShapeError(f"roll: shifts {shift} need an axis each")
    return x if axis is not None and not np.ndim(x) else np.roll(x, shift, None if axis == () else axis)


def _roll_shape(old: Shape, shift: Any, axis: Any) -> Shape:
    axes = axis if isinstance(axis, tuple) else (axis,)
    for a in axes if axis is not None else ():
        axes_of(a, len(old))
    shape_by_example(_roll)(tuple(min(n, 1) for n in old), shift=shift, axis=axis)  # whether shifts and axes fit
    return old


def _back(shift: Any) -> Any:
    return tuple(-n for n in shift) if isinstance(shift, tuple) else -shift


roll: Op = structural(
    "roll", "x", _roll, witness("moving.roll"), shape=_roll_shape, static={"shift": REQUIRED, "axis": None}, moves=True,
    result="same", vjp=lambda wanted, cotangent, out, x, shift, axis: (roll(cotangent, shift=_back(shift), axis=axis),),
    doc="The entries moved along axes (in order, if there is no axis), those beyond the end to the start.",
    examples=("roll(x, 1)",), across=cutting.moved,
    numpy=lambda shapes, shift, axis: f"np.roll({{0}}, {shift!r}, {axis!r})",
)  # fmt: skip


def _flipped(name: str, axis: int, doc: str) -> None:
    def body(x: Any) -> Any:
        if len(x.shape) <= axis:
            raise ShapeError(f"{name} needs an array of at least {axis + 1} axes, not of shape {tuple(x.shape)}")
        return flip(x, axis=axis)

    composite(name, "x", body, doc=doc)


@function(numpy="x|m, k, axes|dims", copied=True, examples=("rot90(x)",))
def rot90(x: Any, *, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned k times by 90 degrees, from the first of two axes towards the second."""
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise ArgumentError(f"rot90: two axes are wanted, not {axes!r}")
    first, second = axes_of(axes, len(x.shape))
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, axis=(first, second))
    if turns == 1:
        return swapaxes(flip(x, axis=second), axis1=first, axis2=second)
    return flip(swapaxes(x, axis1=first, axis2=second), axis=second)


@function(public=False, copied=True)
def torch_flip(x: Any, *, axis: Any) -> Any:
    """torch.flip: the entries in reverse order along the axes given."""
    axes = axes_of(axis if isinstance(axis, tuple) else (axis,), max(len(x.shape), 1))
    return flip(x, axis=axes) if x.shape and axes else x


_flipped("fliplr", 1, "The columns in reverse order.")
_flipped("flipud", 0, "The rows in reverse order.")


def _triangle(name: str, forward: Function, keep: str, backward: str) -> Op:
    def checked(x: Any, k: int) -> Any:
        if not np.ndim(x):
            raise ShapeError(f"{name} needs a matrix, not a number")
        return forward(x, k)

    def shape(old: Shape, k: int) -> Shape:
        fitting: Shape = shape_by_example(checked)((1,) * len(old), k=k)
        return old if len(old) > 1 else (old[0], old[0]) if old else fitting

    op: Op = structural(
        name, "x", checked, witness(f"moving.{name}"), vjp=lambda wanted, cotangent, out, x, k: (op(cotangent, k=k),),
        shape=shape, static={"k": 0}, moves=True, result="same",
        batched=lambda lead, x, k: op(x, k=k) if len(x.shape) > len(lead) + 1 else None,
        doc=f"The entries on and {keep} the k-th diagonal of matrices, zeros elsewhere.", examples=(f"{name}(x)",),
        numpy=lambda shapes, k: f"np.{name}({{0}}, {k})", torch=lambda shapes, k: f"torch.{name}({{0}}, {k})" if len(shapes[0]) > 1 else "",
        jax=lambda shapes, k: f"jnp.{name}({{0}}, {k})" if len(shapes[0]) > 1 else "",
    )  # fmt: skip
    return op


tril = _triangle("tril", np.tril, "below", "Tril")
triu = _triangle("triu", np.triu, "above", "Triu")


def on_diagonal(shape: Shape, offset: int) -> tuple[Any, ...]:
    """The index of a diagonal of matrices along the last two axes."""
    rows, columns = shape[-2:]
    n = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    places = np.arange(n)
    return (..., StaticArray(places + max(-offset, 0)), StaticArray(places + max(offset, 0)))


def matrices_last(ndim: int, axis1: int, axis2: int) -> tuple[int, ...]:
    """The order of axes that puts two at the end."""
    if ndim < 2:
        raise AxisError(1, ndim)
    first, second = axes_of((axis1, axis2), ndim)
    return (*(a for a in range(ndim) if a not in (first, second)), first, second)


def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    moved = permuted(x, matrices_last(len(x.shape), axis1, axis2))
    return getitem(moved, index=on_diagonal(moved.shape, offset))


def _diag_embed(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    if not x.shape:
        raise ShapeError("diag_embed needs at least one axis, not a number")
    n = x.shape[-1] + abs(offset)
    matrices = scatter_add(x, index=on_diagonal((n, n), offset), shape=(*x.shape[:-1], n, n))
    return permuted(matrices, inverse(matrices_last(len(x.shape) + 1, axis1, axis2)))


def _diag(x: Any, k: int) -> Any:
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"diag needs a vector or a matrix, not an array of shape {tuple(x.shape)}")
    return _diag_embed(x, k, 0, 1) if len(x.shape) == 1 else _diagonal(x, k, 0, 1)


diagonal = composite(
    "diagonal", "x", _diagonal, static={"offset": 0, "axis1": 0, "axis2": 1}, region=np.diagonal,
    doc="The entries on a diagonal of matrices along two axes, along a new last axis.", examples=("diagonal(x, 1)",),
)  # fmt: skip
diag_embed = composite(
    "diag_embed", "x", _diag_embed, static={"offset": 0, "axis1": -2, "axis2": -1},
    doc="Matrices along two new axes, with the last axis of x on a diagonal and zeros elsewhere.",
)  # fmt: skip
diag = composite(
    "diag", "x", _diag, static={"k": 0}, examples=("diag(x)",),
    doc="The k-th diagonal of a matrix, or the matrix with a vector on it and zeros elsewhere.",
)  # fmt: skip


@function(numpy="x|v, k|offset", backward="DiagEmbed")
def diagflat(x: Any, *, k: Any = 0) -> Any:
    """The matrix with all entries of x on its k-th diagonal and zeros elsewhere."""
    return _diag(reshape(x, shape=(-1,)), k)


_DIAGONAL = "x|A, offset, axis1|dim1, axis2|dim2"
_LAST = {"axis1": -2, "axis2": -1}
declare(
    NUMPY,
    roll=signature("roll", "x, shift|shifts, axis|dims"),
    flip=signature("flip", "x|m, axis"),
    fliplr=signature("fliplr", "x|m"),
    flipud=signature("flipud", "x|m"),
    diag=signature("diag", "x|v, k|diagonal"),
    tril=signature("tril", "x|m, k|diagonal"),
    triu=signature("triu", "x|m, k|diagonal"),
    diagonal=signature("diagonal", _DIAGONAL),
    diag_embed=signature("diag_embed", _DIAGONAL),
    **{"linalg.diagonal": signature("diagonal", _DIAGONAL, **_LAST)},
)
declare(
    TORCH,
    flip=signature("torch_flip", "x, axis|dims+"),
    **{"linalg.diagonal": signature("diagonal", "x|A, *, offset, axis1|dim1, axis2|dim2", **_LAST)},
)
