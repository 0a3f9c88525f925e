"""Entries addressed by arrays of whole numbers, and their companions that put entries back."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.spec import Op, Shape, one_axis, structural, whole_numbers


def _places(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    grid = list(np.indices(index.shape, sparse=True))
    if grid:
        grid[axis] = index
    return tuple(grid)


def _take_along(x: Any, index: Any, axis: int) -> Any:
    index = np.asarray(index)
    return np.asarray(x)[_places(index, axis)] if index.ndim else np.asarray(x)[()]


def _take_along_shape(x: Shape, index: Shape, axis: int) -> Shape:
    place = one_axis(axis, len(x))
    if len(x) != len(index) or any(i > n for d, (n, i) in enumerate(zip(x, index, strict=True)) if d != place):
        raise ShapeError(f"an index of shape {index} does not fit an array of shape {x} along axis {axis}")
    return index


take_along: Op = structural(
    "take_along", "x index", _take_along, lambda m, x, index, axis: _take_along(x, whole_numbers(index), axis),
    vjp=lambda wanted, cotangent, out, x, index, axis: (add_along(cotangent, index, axis=axis, shape=x.shape), None),
    shape=_take_along_shape, static={"axis": -1}, indices=frozenset({"index"}), saves=("index",), result="same", ulps=0,
    backward="Gather",
    doc="The entries at indices along an axis, an index for each entry of the result: out[i, j] = x[index[i, j], j].",
)  # fmt: skip


def _add_along(x: Any, index: Any, axis: int, shape: Shape) -> Any:
    x, index = np.asarray(x), np.asarray(index)
    out = np.zeros(shape, dtype=x.dtype)
    np.add.at(out, _places(index, axis) if index.ndim else (), x)
    return out[()]


add_along: Op = structural(
    "add_along", "x index", _add_along, lambda m, x, index, axis, shape: _add_along(x, whole_numbers(index), axis, shape),
    vjp=lambda wanted, cotangent, out, x, index, axis, shape: (take_along(cotangent, index, axis=axis), None),
    shape=lambda x, index, axis, shape: shape, static={"axis": -1, "shape": ()}, indices=frozenset({"index"}), saves=("index",),
    public=False, ulps=4, rounding="terms", doc="Zeros with x added at indices along an axis: the transpose of take_along.",
)  # fmt: skip
