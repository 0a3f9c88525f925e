"""Entries chosen or replaced by masks, and parts of an array replaced by another."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.gathering_and_scattering import mixed
from gradcli.ops.arrays.repeating_and_padding import ALL
from gradcli.ops.arrays.reshaping import common_shape, inverse, matrices_last, on_diagonal, permuted
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.axes import numbered, numpy_index
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.facts import Function
from gradcli.ops.reductions.sums import is_truth
from gradcli.ops.registry import composite, function, structural
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import one_axis, witness


def _numbers(mask: Any) -> Any:
    return np.maximum(np.cumsum(np.asarray(mask).astype(bool)) - 1, 0)


numbers_of = structural(
    "numbers_of", "mask", _numbers, witness("moving.numbers_of"), shape=lambda mask: mask, result="int", ulps=0, public=False,
    doc="The numbers of the true entries of a vector, in order; those of the others mean nothing.",
)  # fmt: skip


@function(public=False)
def torch_where(condition: Any, x: Any, y: Any) -> Any:
    """torch.where: x where the condition holds, y elsewhere; also in the order of x.where(condition, y)."""
    if is_truth(x) and not is_truth(condition):
        condition, x = x, condition  # x.where(condition, y)
    return where(condition, x, y)


@function(public=False, lists=frozenset({"conditions", "choices"}))
def numpy_select(conditions: Any, choices: Any, default: Any = None) -> Any:
    """np.select: of several arrays the first whose condition holds; the default where none does."""
    if not conditions or len(conditions) != len(choices):
        raise ShapeError("select needs as many conditions as choices")
    out = 0.0 if default is None else default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = where(condition, choice, out)
    return out


@function(numpy="x, mask, value")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with one value where a mask holds."""
    if value.shape:
        raise ShapeError(f"masked_fill takes one number, not an array of shape {tuple(value.shape)}")
    return where(mask, value, x)


@function(numpy="x, mask, source")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with the entries of source, in order, where a mask holds."""
    shape = common_shape(x, mask)
    chosen = broadcast_to(mask, shape=shape)
    if 0 in shape or 0 in source.shape:
        return broadcast_to(x, shape=shape)
    taken = take_along(reshape(source, shape=(-1,)), numbers_of(reshape(chosen, shape=(-1,))), axis=0)
    return where(chosen, reshape(taken, shape=shape), x)


def _replaced(name: str, x: Any, source: Any, index: tuple[Any, ...]) -> Any:
    """x with a source of the shape of x[index] there."""
    places = numbered(x.shape)
    part = places[numpy_index(index)]
    if part.shape != tuple(source.shape):
        raise ShapeError(f"{name}: the source has the shape {tuple(source.shape)}, not {part.shape}")
    places[numpy_index(index)] = numbered(part.shape, places.size)
    return mixed(x, source, places)


def _select_scatter(x: Any, source: Any, axis: int, index: int) -> Any:
    place = one_axis(axis, len(x.shape))
    if not x.shape or not -x.shape[place] <= index < x.shape[place]:
        raise ShapeError(f"select_scatter: there is no entry {index} along axis {axis} of the shape {tuple(x.shape)}")
    return _replaced("select_scatter", x, source, (*(ALL,) * place, index))


def _slice_scatter(x: Any, source: Any, axis: int, start: int | None, stop: int | None, step: int) -> Any:
    if not x.shape or step < 1:
        raise ShapeError(f"slice_scatter: no slice of step {step} along axis {axis} of the shape {tuple(x.shape)}")
    return _replaced("slice_scatter", x, source, (*(ALL,) * one_axis(axis, len(x.shape)), (start, stop, step)))


def _diagonal_scatter(x: Any, source: Any, offset: int, axis1: int, axis2: int) -> Any:
    order = matrices_last(len(x.shape), axis1, axis2)
    moved = permuted(x, order)
    return permuted(_replaced("diagonal_scatter", moved, source, on_diagonal(moved.shape, offset)), inverse(order))


def _part(name: str, body: Function, static: dict[str, Any], what: str) -> None:
    composite(name, "x source", body, static=static, doc=f"x with the entries of source {what}.")


_part("select_scatter", _select_scatter, {"axis": REQUIRED, "index": REQUIRED}, "at one place along an axis")
_part("slice_scatter", _slice_scatter, {"axis": 0, "start": None, "stop": None, "step": 1}, "in a slice along an axis")
_part("diagonal_scatter", _diagonal_scatter, {"offset": 0, "axis1": 0, "axis2": 1}, "on a diagonal of matrices along two axes")

declare(
    NUMPY,
    select=signature("numpy_select", "conditions|condlist, choices|choicelist, default"),
    select_scatter=signature("select_scatter", "x, source|src, axis, index"),
    slice_scatter=signature("slice_scatter", "x, source|src, axis, start, stop|end, step"),
    diagonal_scatter=signature("diagonal_scatter", "x, source|src, offset, axis1|dim1, axis2|dim2"),
)
declare(TORCH, where=signature("torch_where", "condition, x|input|self, y|other"), select=signature("select", "x, axis, index"))
