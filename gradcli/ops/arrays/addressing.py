"""Entries addressed by arrays of whole numbers along an axis, and their companions that put entries back."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.elementwise.logic import equal, isnan, logical_and, logical_or, where
from gradcli.ops.extended import Whole
from gradcli.ops.facts import Kink
from gradcli.ops.looping import fits_along
from gradcli.ops.reductions.carried import added, extreme, taken
from gradcli.ops.registry import structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, one_axis, witness


def _places(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    grid: list[np.ndarray] = list(np.indices(index.shape, sparse=True))
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
    "take_along", "x index", _take_along, witness("moving.take_along"),
    vjp=lambda wanted, cotangent, out, x, index, axis: (add_along(cotangent, index, axis=axis, shape=x.shape), None),
    shape=_take_along_shape, static={"axis": -1}, indices="index", saves="index", result="same", ulps=0, carries=taken,
    backward="Gather", axes=lambda m, x, index, axis: m.picked(x, index, axis),
    doc="The entries at indices along an axis, an index for each entry of the result: out[i, j] = x[index[i, j], j].",
    numpy=lambda shapes, axis: f"np.take_along_axis({{0}}, {{1}}, {axis})" if fits_along(shapes, axis) else "",
    torch=lambda shapes, axis: f"torch.take_along_dim({{0}}, {{1:atom}} % {shapes[0][axis]}, {axis})" if fits_along(shapes, axis) else "",
)  # fmt: skip


def _add_along(x: Any, index: Any, axis: int, shape: Shape) -> Any:
    x, index = np.asarray(x), np.asarray(index)
    out = np.zeros(shape, dtype=x.dtype)
    np.add.at(out, _places(index, axis) if index.ndim else (), x)
    return out[()]


add_along: Op = structural(
    "add_along", "x index", _add_along, witness("moving.add_along"),
    vjp=lambda wanted, cotangent, out, x, index, axis, shape: (take_along(cotangent, index, axis=axis), None),
    shape=lambda x, index, axis, shape: shape, static={"axis": -1, "shape": ()}, indices="index", saves="index",
    public=False, ulps=4, rounding="terms", carries=added,
    axes=lambda m, x, index, axis, shape: m.put(x, index, axis, shape),
    doc="Zeros with x added at indices along an axis: the transpose of take_along.",
    numpy=lambda shapes, axis, shape: f"_add_along({{0}}, {{1}}, {axis}, {shape!r})",
)  # fmt: skip


def _extreme_along(x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool) -> Any:
    out, places = np.array(x), _places(np.asarray(index), axis)
    if not include_self:
        out[places] = -np.inf if largest else np.inf
    (np.maximum if largest else np.minimum).at(out, places, source)
    return out


def _same_number(x: Any, y: Any) -> Any:
    return logical_or(equal(x, y), logical_and(isnan(x), isnan(y)))


def _extreme_along_vjp(
    wanted: Any, cotangent: Any, out: Any, x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool
) -> tuple[Any, ...]:
    own = _same_number(x, out)
    if not include_self:
        count = add_along(np.ones(index.shape), index, axis=axis, shape=tuple(x.shape))
        own = logical_and(own, equal(count, 0))
    chosen = _same_number(source, take_along(out, index, axis=axis))
    share = cotangent / (where(own, 1.0, 0.0) + add_along(where(chosen, 1.0, 0.0), index, axis=axis, shape=tuple(x.shape)))
    return where(own, share, 0.0), where(chosen, take_along(share, index, axis=axis), 0.0), None


extreme_along: Op = structural(
    "extreme_along", "x source index", _extreme_along, witness("moving.extreme_along"), vjp=_extreme_along_vjp,
    shape=lambda x, source, index, axis, largest, include_self: x,
    static={"axis": -1, "largest": True, "include_self": True}, indices="index", saves="x source index out",
    extended=Whole("running.EXTREME_ALONG"), carries=extreme, result="same",
    ulps=0, public=False, kinks=Kink(lambda out: False, "several largest or smallest entries", "shared evenly among them"),
    doc="The largest or smallest of an entry (if it is included) and of those put to its place along an axis.",
)  # fmt: skip
