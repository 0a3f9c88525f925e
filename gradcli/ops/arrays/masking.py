"""Entries chosen or replaced by masks, and parts of an array replaced by another."""

from __future__ import annotations

from typing import Any

from gradcli.errors import ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.gathering_and_scattering import replace_at
from gradcli.ops.arrays.reshaping import common_shape, inverse, matrices_last, on_diagonal, one_number, permuted
from gradcli.ops.arrays.shapes import ALL, broadcast_to, reshape
from gradcli.ops.calling.signatures import declare
from gradcli.ops.elementwise.bounds import maximum
from gradcli.ops.elementwise.logic import where
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import is_truth
from gradcli.ops.registry import function
from gradcli.ops.structure import to_int
from gradcli.ops.writing import one_axis


@function()
def torch_where(condition: Any, x: Any, y: Any) -> Any:
    """torch.where: x where the condition holds, y elsewhere; also in the order of x.where(condition, y)."""
    if is_truth(x) and not is_truth(condition):
        condition, x = x, condition  # x.where(condition, y)
    return where(condition, x, y)


@function(lists="conditions choices")
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
    return where(mask, one_number("masked_fill", value), x)


@function(numpy="x, mask, source")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with the entries of source, in order, where a mask holds."""
    shape = common_shape(x, mask)
    chosen = broadcast_to(mask, shape=shape)
    if 0 in shape or 0 in source.shape:
        return broadcast_to(x, shape=shape)
    count = cumsum(where(reshape(chosen, shape=(-1,)), 1.0, 0.0), axis=0)
    taken = take_along(reshape(source, shape=(-1,)), to_int(maximum(count - 1, 0)), axis=0)
    return where(chosen, reshape(taken, shape=shape), x)


@function(numpy="x, source|src, axis, index")
def select_scatter(x: Any, source: Any, *, axis: int, index: int) -> Any:
    """x with the entries of source at one place along an axis."""
    place = one_axis(axis, len(x.shape))
    if not x.shape or not -x.shape[place] <= index < x.shape[place]:
        raise ShapeError(f"select_scatter: there is no entry {index} along axis {axis} of the shape {tuple(x.shape)}")
    return replace_at(x, source, (*(ALL,) * place, index))


@function(numpy="x, source|src, axis, start, stop|end, step")
def slice_scatter(x: Any, source: Any, *, axis: int = 0, start: int | None = None, stop: int | None = None, step: int = 1) -> Any:
    """x with the entries of source in a slice along an axis."""
    if not x.shape or step < 1:
        raise ShapeError(f"slice_scatter: no slice of step {step} along axis {axis} of the shape {tuple(x.shape)}")
    return replace_at(x, source, (*(ALL,) * one_axis(axis, len(x.shape)), (start, stop, step)))


@function(numpy="x, source|src, offset, axis1|dim1, axis2|dim2")
def diagonal_scatter(x: Any, source: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """x with the entries of source on a diagonal of matrices along two axes."""
    order = matrices_last(len(x.shape), axis1, axis2)
    moved = permuted(x, order)
    return permuted(replace_at(moved, source, on_diagonal(moved.shape, offset)), inverse(order))


declare("""
    numpy:
        select = numpy_select(conditions|condlist, choices|choicelist, default)
    torch:
        where = torch_where(condition, x|input|self, y|other)
        select(x, axis, index)
""")
