"""The vector product of three-dimensional space."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.shapes import getitem, transpose
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.extended import Whole
from gradcli.ops.registry import composite, structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, one_axis, witness


def _cross(x: Any, y: Any) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    return np.stack([x[..., i - 2] * y[..., i - 1] - x[..., i - 1] * y[..., i - 2] for i in range(3)], axis=-1)


def _sizes(x: Any, y: Any) -> Any:
    """The sizes of the terms of a vector product, added up."""
    return np.stack([x[..., i - 2] * y[..., i - 1] + x[..., i - 1] * y[..., i - 2] for i in range(3)], axis=-1)


def _cross_shape(x: Shape, y: Shape) -> Shape:
    if x[-1:] != (3,) or y[-1:] != (3,):
        raise ShapeError(f"cross needs vectors of 3 entries, not the shapes {x} and {y}")
    return np.broadcast_shapes(x, y)


vector_product: Op = structural(
    "vector_product", "x y", _cross, witness("products.vector_product"), shape=_cross_shape, saves=("x", "y"), core_dims=(1, 1),
    public=False, vjp=lambda wanted, cotangent, out, x, y: (
        vector_product(y, cotangent) if wanted[0] else None, vector_product(cotangent, x) if wanted[1] else None
    ),
    backward="LinalgCross", ulps=4, extended=Whole("products.VECTOR_PRODUCT"),
    doc="The vector product of vectors along the last axis.",
    carries=lambda m, out, x, y, e, f: _sizes(m.abs(x) + e, m.filled(f, y)) + _sizes(m.filled(e, x), m.abs(y)),
    rounds=lambda m, out, x, y: 3 * _sizes(m.abs(x), m.abs(y)),
    numpy="np.cross({0}, {1})",
    torch="torch.linalg.cross({0}, {1})",
)  # fmt: skip


def moved(x: Any, source: int, target: int) -> Any:
    """One axis moved to another place, the others in their order."""
    n = len(x.shape)
    rest = [a for a in range(n) if a != source % n]
    rest.insert(target % n, source % n)
    return transpose(x, axes=tuple(rest))


def _in_space(x: Any, y: Any) -> Any:
    """A vector of the plane has 0 as its third entry."""
    if x.shape[-1] == 3:
        return x
    if x.shape[-1] != 2:
        raise ShapeError(f"cross needs vectors of 2 or 3 entries, not {x.shape[-1]}")
    return concatenate(x, np.zeros((*x.shape[:-1], 1)), axis=-1)


def _numpy_cross(x: Any, y: Any, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moved(x, one_axis(axisa, len(x.shape)), -1), moved(y, one_axis(axisb, len(y.shape)), -1)
    result = vector_product(_in_space(x, y), _in_space(y, x))
    if x.shape[-1] == y.shape[-1] == 2:
        return getitem(result, index=(..., 2))
    return moved(result, -1, one_axis(axisc, len(result.shape)))


def _along(x: Any, y: Any, axis: int | None) -> Any:
    if len(x.shape) != len(y.shape):
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    if axis is None:
        axis = next((i for i, n in enumerate(x.shape) if n == 3), None)
        if axis is None:
            raise ShapeError("no dimension of size 3 in input")
    place = one_axis(axis, len(x.shape))
    if (x.shape[place], y.shape[place]) != (3, 3):
        found = f"{x.shape[place]} and {y.shape[place]}"
        raise ShapeError(f"linalg.cross: inputs dimension {axis} must have length 3. Got {found}")
    result = vector_product(moved(x, one_axis(axis, len(x.shape)), -1), moved(y, one_axis(axis, len(y.shape)), -1))
    return moved(result, -1, axis)


cross = composite(
    "cross", "x y", _numpy_cross, static={"axisa": -1, "axisb": -1, "axisc": -1, "axis": None},
    doc="The vector product along an axis; of two vectors of the plane, its third entry.", examples=("cross(x, y)",),
)  # fmt: skip
torch_cross = composite(
    "torch_cross", "x y", _along, static={"axis": None}, public=False, backward="LinalgCross",
    doc="torch.cross: the vector product along the first axis of 3 entries, or along dim.",
)  # fmt: skip
linalg_cross = composite(
    "linalg_cross", "x y", _along, static={"axis": -1}, public=False,
    doc="torch.linalg.cross: the vector product along the last axis, or along dim.",
)  # fmt: skip
declare(TORCH, **{"cross": signature("torch_cross", "x, y|other, axis"), "linalg.cross": signature("linalg_cross", "x, y|other, *, axis")})
declare(NUMPY, cross=signature("cross", "x|a, y|b, axisa, axisb, axisc, axis"))
