"""How records say what an operation on arrays is for loops: entries, indices along axes, sums along them.

``m`` makes the index form (`gradcli.plans.index_form.Indices`), and views are arrays in it. What has no such form raises `m.NoLoop`, or has
no field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.facts import Function
from gradcli.ops.fixed import Fixed
from gradcli.ops.writing import Shape


class Fold(Fixed):
    """What puts the entries along axes together, two at a time.

    ufunc   NumPy's, which reduces
    start   in C, what nothing comes to
    joined  in C, the text of two
    sign    OpenMP's, of variables that each lane has for itself
    """

    ufunc: np.ufunc
    start: str
    joined: str
    sign: str


SUM = Fold(np.add, "0", "{0} + {1}", "+")
PRODUCT = Fold(np.multiply, "1", "{0} * {1}", "*")
LARGEST = Fold(np.maximum, "-__builtin_inf()", "g_maximum({0}, {1})", "max")
SMALLEST = Fold(np.minimum, "__builtin_inf()", "g_minimum({0}, {1})", "min")


class Loops(Fixed):
    """What loops make of an operation that is not one on entries.

    axes    ``axes(m, *views, **static)``: the view of the result
    parts   ``parts(*operands, **static)``: the same made of operations that loops can do, as exactly where all is finite
    raised  ``raised(*operands, **static)``: the exponential of the result, where it takes less than that of any number
    cut     ``cut(out, shapes, cuts, **static)``: where it leaves the axis along which operands are cut into chunks (cutting.py)
    across  ``across(out, shapes, cuts, **static)``: the same where entries go from chunk to chunk, and ``forward`` takes arrays of chunks
    less    ``less(**static)``: the operation, with its parameters, that the exponential of the operand less the result is
    """

    axes: Function | None = None
    parts: Function | None = None
    raised: Function | None = None
    less: Function | None = None
    cut: Function | None = None
    across: Function | None = None


def along(fold: Fold) -> Function:
    """Of a reduction: what it makes of the entries along axes."""

    def axes(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        return m.folded(x, fold, axis, keepdims)

    return axes


def summed_to(m: Any, x: Any, shape: Shape) -> Any:
    """The sum over what broadcasting would have repeated."""
    lead = len(x.shape) - len(shape)
    gone = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1))
    return m.arranged(m.folded(x, SUM, gone, True), range(lead, len(x.shape)))


def reshaped(m: Any, x: Any, shape: Sequence[int]) -> Any:
    return m.reshaped(x, tuple(shape))


def repeated(m: Any, x: Any, shape: Shape) -> Any:
    return m.repeated(x, shape)


def transposed(m: Any, x: Any, axes: Sequence[int] | None) -> Any:
    ndim = len(x.shape)
    return m.arranged(x, range(ndim)[::-1] if axes is None else [a % ndim for a in axes])


def exchanged(m: Any, x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(len(x.shape)))
    if order:
        order[axis1], order[axis2] = order[axis2], order[axis1]
    return m.arranged(x, order)


_WHOLE = (None, None, None)  # a slice


def indexed(m: Any, x: Any, index: tuple[Any, ...]) -> Any:
    """x[:, None] and its like: new axes of one entry."""
    if any(part is not None and part != _WHOLE for part in index):
        raise m.NoLoop
    places = iter(range(len(x.shape)))
    order = [None if part is None else next(places) for part in index]
    return m.arranged(x, [*order, *places])


def unindexed(m: Any, x: Any, index: tuple[Any, ...], shape: Shape) -> Any:
    """The way back."""
    if any(part is not None and part != _WHOLE for part in index):
        raise m.NoLoop
    old = [place for place, part in enumerate(index) if part is not None]
    return m.arranged(x, [*old, *range(len(index), len(x.shape))])


def matrix_product(m: Any, x: Any, y: Any) -> Any:
    """x @ y: the sum of products along the last axis of x and the last but one of y, both with the axes (batch, row, inner, column)."""
    rows, columns = len(x.shape) > 1, len(y.shape) > 1
    ours, others = max(len(x.shape) - 2, 0), max(len(y.shape) - 2, 0)
    batch = max(ours, others)
    left = [*[None] * (batch - ours), *range(ours), ours if rows else None, len(x.shape) - 1, None]
    right = [*[None] * (batch - others), *range(others), None, others, others + 1 if columns else None]
    found = m.folded(m.product(m.arranged(x, left), m.arranged(y, right)), SUM, batch + 1, False)
    return m.arranged(found, [*range(batch), *([batch] if rows else []), *([batch + 1] if columns else [])])


def dot(m: Any, x: Any, y: Any) -> Any:
    """NumPy's dot where it is a matrix product, or a product with a number."""
    if not x.shape or not y.shape:
        return m.product(x, y)
    if len(y.shape) > 2:
        raise m.NoLoop
    return matrix_product(m, x, y)


def table_of_products(m: Any, x: Any, y: Any) -> Any:
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise m.NoLoop
    return m.product(m.arranged(x, [0, None]), m.arranged(y, [None, 0]))


def picked(m: Any, x: Any, index: Any, axis: int) -> Any:
    return m.picked(x, index, axis)


def put(m: Any, x: Any, index: Any, axis: int, shape: Shape) -> Any:
    return m.put(x, index, axis, shape[axis])
