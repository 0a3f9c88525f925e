"""Entries in other places of the same array: rolled, turned, in triangles and on diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, AxisError, ShapeError
from gradcli.ops import cutting
from gradcli.ops.arrays.reshaping import inverse, permuted
from gradcli.ops.arrays.shapes import StaticArray, flip, getitem, reshape, scatter_add, swapaxes
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.extended import Whole
from gradcli.ops.facts import Function
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import REQUIRED, Op
from gradcli.ops.writing import Shape, axes_of, shape_by_example, witness


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
    "roll", "x", _roll, witness("moving.roll"), shape=_roll_shape, static={"shift": REQUIRED, "axis": None}, linear=True,
    result="same", ulps=0, vjp=lambda wanted, cotangent, out, x, shift, axis: (roll(cotangent, shift=_back(shift), axis=axis),),
    doc="The entries moved along axes (in order, if there is no axis), those beyond the end to the start.",
    extended=Whole("moving.ROLLED"), examples=("roll(x, 1)",), across=cutting.moved,
    numpy=lambda shapes, shift, axis: f"np.roll({{0}}, {shift!r}, {axis!r})",
)  # fmt: skip


def _rot90(x: Any, k: int, axes: Any) -> Any:
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


def _torch_flip(x: Any, axis: Any) -> Any:
    axes = axes_of(axis if isinstance(axis, tuple) else (axis,), max(len(x.shape), 1))
    return flip(x, axis=axes) if x.shape and axes else x


def _flipped(name: str, axis: int, doc: str) -> None:
    def body(x: Any) -> Any:
        if len(x.shape) <= axis:
            raise ShapeError(f"{name} needs an array of at least {axis + 1} axes, not of shape {tuple(x.shape)}")
        return flip(x, axis=axis)

    composite(name, "x", body, doc=doc)


rot90 = composite(
    "rot90", "x", _rot90, static={"k": 1, "axes": (0, 1)}, copied=True, examples=("rot90(x)",),
    doc="The array turned k times by 90 degrees, from the first of two axes towards the second.",
)  # fmt: skip
composite(
    "torch_flip", "x", _torch_flip, static={"axis": REQUIRED}, public=False, copied=True,
    doc="torch.flip: the entries in reverse order along the axes given.",
)  # fmt: skip
_flipped("fliplr", 1, "The columns in reverse order.")
_flipped("flipud", 0, "The rows in reverse order.")


def _triangle(name: str, forward: Function, keep: str, backward: str, form: str) -> Op:
    def checked(x: Any, k: int) -> Any:
        if not np.ndim(x):
            raise ShapeError(f"{name} needs a matrix, not a number")
        return forward(x, k)

    def shape(old: Shape, k: int) -> Shape:
        fitting: Shape = shape_by_example(checked)((1,) * len(old), k=k)
        return old if len(old) > 1 else (old[0], old[0]) if old else fitting

    op: Op = structural(
        name, "x", checked, witness(f"moving.{name}"), vjp=lambda wanted, cotangent, out, x, k: (op(cotangent, k=k),),
        shape=shape, static={"k": 0}, linear=True, result="same", ulps=0, extended=Whole(form),
        batched=lambda lead, x, k: op(x, k=k) if len(x.shape) > len(lead) + 1 else None,
        doc=f"The entries on and {keep} the k-th diagonal of matrices, zeros elsewhere.", examples=(f"{name}(x)",),
        numpy=lambda shapes, k: f"np.{name}({{0}}, {k})", torch=lambda shapes, k: f"torch.{name}({{0}}, {k})" if len(shapes[0]) > 1 else "",
        jax=lambda shapes, k: f"jnp.{name}({{0}}, {k})" if len(shapes[0]) > 1 else "",
    )  # fmt: skip
    return op


tril = _triangle("tril", np.tril, "below", "Tril", "moving.LOWER")
triu = _triangle("triu", np.triu, "above", "Triu", "moving.UPPER")


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
diagflat = composite(
    "diagflat", "x", lambda x, k: _diag(reshape(x, shape=(-1,)), k), static={"k": 0}, backward="DiagEmbed",
    doc="The matrix with all entries of x on its k-th diagonal and zeros elsewhere.",
)  # fmt: skip

_DIAGONAL = "x|A, offset, axis1|dim1, axis2|dim2"
_LAST = {"axis1": -2, "axis2": -1}
declare(
    NUMPY,
    roll=signature("roll", "x, shift|shifts, axis|dims"),
    rot90=signature("rot90", "x|m, k, axes|dims"),
    flip=signature("flip", "x|m, axis"),
    fliplr=signature("fliplr", "x|m"),
    flipud=signature("flipud", "x|m"),
    diag=signature("diag", "x|v, k|diagonal"),
    diagflat=signature("diagflat", "x|v, k|offset"),
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
