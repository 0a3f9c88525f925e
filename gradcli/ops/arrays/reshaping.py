"""The same entries in other shapes and under other orders of axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import broadcast_to, reshape, sum_to, swapaxes, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import Shape, axes_of, one_axis


def _squeeze(x: Any, axis: Any) -> Any:
    axes = axes_of(axis, len(x.shape))
    return reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in axes or n != 1))


def _numpy_squeeze(x: Any, axis: Any) -> Any:
    if axis is not None and any(x.shape[a] != 1 for a in axes_of(axis, len(x.shape))):
        raise ShapeError(f"cannot squeeze an axis of more than one entry from the shape {tuple(x.shape)}")
    return _squeeze(x, axis)


def _expand_dims(x: Any, axis: Any) -> Any:
    count = len(axis) if isinstance(axis, tuple) else 1
    axes = axes_of(axis, len(x.shape) + count)
    rest = iter(x.shape)
    return reshape(x, shape=tuple(1 if i in axes else next(rest) for i in range(len(x.shape) + count)))


def _t(x: Any) -> Any:
    if len(x.shape) > 2:
        raise ShapeError(f"t() expects at most 2 axes, not {len(x.shape)}")
    return transpose(x, axes=None) if len(x.shape) == 2 else x


def _flatten(x: Any, start_dim: int, end_dim: int) -> Any:
    if not x.shape:
        return reshape(x, shape=(1,))
    first, last = one_axis(start_dim, len(x.shape)), one_axis(end_dim, len(x.shape))
    if first > last:
        raise ShapeError("flatten: start_dim must not come after end_dim")
    if first == last:
        return x
    return reshape(x, shape=(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


flatten = composite(
    "flatten", "x", _flatten, static={"start_dim": 0, "end_dim": -1},
    doc="Axes from start_dim to end_dim as one.",
)  # fmt: skip
ravel = composite("ravel", "x", lambda x: reshape(x, shape=(-1,)), doc="All entries along one axis.")
t = composite(
    "t", "x", _t, shares="view",
    doc="The transpose of a matrix; vectors and numbers as they are.",
)  # fmt: skip
squeeze = composite("squeeze", "x", _numpy_squeeze, static={"axis": None}, doc="Axes of one entry removed.")
torch_squeeze = composite(
    "torch_squeeze", "x", _squeeze, static={"axis": None}, public=False, doc="Axes removed that have one entry.",
)
expand_dims = composite(
    "expand_dims", "x", _expand_dims, static={"axis": REQUIRED}, aliases=("unsqueeze",), backward="Unsqueeze",
    doc="New axes of one entry.", examples=("expand_dims(x, 0)",),
)
declare(NUMPY, ravel=signature("ravel", "x, -order"))
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


def _expand(x: Any, shape: Shape) -> Any:
    lead = len(shape) - len(x.shape)
    if lead < 0:
        raise ShapeError(f"expand: the shape {shape} has fewer axes than the array of shape {tuple(x.shape)}")
    if -1 in shape[:lead]:
        raise ShapeError("expand: -1 stands for an extent of the array, not for a new one")
    return broadcast_to(x, shape=(*shape[:lead], *(old if n == -1 else n for n, old in zip(shape[lead:], x.shape, strict=True))))


expand = composite(
    "expand", "x", _expand, static={"shape": REQUIRED},
    doc="The entries repeated along new or one-entry axes; -1 keeps an extent.", examples=("x.expand(2, -1)",),
)  # fmt: skip
expand_as = composite(
    "expand_as", "x y", lambda x, y: broadcast_to(x, shape=y.shape), doc="x broadcast to the shape of y.",
)  # fmt: skip
view_as = composite(
    "view_as", "x y", lambda x, y: reshape(x, shape=y.shape), aliases=("reshape_as",), backward="View",
    doc="x in the shape of y.",
)  # fmt: skip


def common_shape(*arrays: Any) -> Shape:
    """The shape to which arrays broadcast together."""
    try:
        return np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ShapeError(f"shapes {' and '.join(str(tuple(x.shape)) for x in arrays)} do not broadcast together") from None


def _broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    shape = common_shape(*arrays)
    return tuple(x if tuple(x.shape) == shape else broadcast_to(x, shape=shape) for x in arrays)


broadcast_tensors = composite(
    "broadcast_tensors", "*arrays", _broadcast_arrays, doc="A tuple of the arrays in their common shape.",
)  # fmt: skip


def _unflatten(x: Any, axis: int, shape: Shape) -> Any:
    place = one_axis(axis, len(x.shape))
    n, known = (x.shape or (1,))[place], math.prod(k for k in shape if k != -1)
    if shape.count(-1) == 1 and known and n % known == 0:
        shape = tuple(n // known if k == -1 else k for k in shape)
    if not shape or math.prod(shape) != n or min(shape) < 0:
        raise ShapeError(f"unflatten: an axis of {n} entries cannot have the shape {shape}")
    return reshape(x, shape=(*x.shape[:place], *shape, *x.shape[place + 1 :]))


unflatten = composite(
    "unflatten", "x", _unflatten, static={"axis": REQUIRED, "shape": REQUIRED},
    doc="One axis as several; one extent may be -1.", examples=("unflatten(x, 0, (2, -1))",),
)  # fmt: skip


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


def _rollaxis(x: Any, axis: int, start: int) -> Any:
    place, n = one_axis(axis, len(x.shape)), len(x.shape)
    if not -n <= start <= n:
        raise ShapeError(f"rollaxis: start {start} is out of bounds for an array of {n} axes")
    before = start % n if start < 0 else start
    return _movedim(x, place, before - 1 if place < before else before)


def _swapdims(x: Any, dim0: int, dim1: int) -> Any:
    first, second = one_axis(dim0, len(x.shape)), one_axis(dim1, len(x.shape))
    return x if first == second else swapaxes(x, axis1=first, axis2=second)


movedim = composite(
    "movedim", "x", _movedim, static={"source": REQUIRED, "destination": REQUIRED}, shares="view",
    aliases=("moveaxis",),
    doc="Axes moved from source to destination, the others in their order.", examples=("movedim(x, 0, -1)",),
)  # fmt: skip
composite("rollaxis", "x", _rollaxis, static={"axis": REQUIRED, "start": 0}, doc="An axis moved back to before the axis start.")
composite(
    "swapdims", "x", _swapdims, static={"dim0": REQUIRED, "dim1": REQUIRED}, backward="Transpose", shares="view",
    doc="Two axes exchanged.",
)  # fmt: skip
matrix_transpose = composite(
    "matrix_transpose", "x", lambda x: swapaxes(x, axis1=-1, axis2=-2), aliases=("adjoint",),
    doc="The last two axes exchanged: the transpose of each matrix.",
)  # fmt: skip


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
    unflatten=signature("unflatten", "x, axis, shape|sizes+"),
    **dict.fromkeys(("clone", "copy", "resolve_conj", "resolve_neg"), signature("clone", "x, -memory_format")),
    permute_dims=signature("transpose", "x, axes+"),
    **{name: signature(name, "***arrays") for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    expand=signature("expand", "x, shape|size+, -implicit"),
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
