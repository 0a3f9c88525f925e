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
from gradcli.ops.writing import Shape, axes_of


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


# -- How operations on arrays are written for libraries of arrays: axes, shapes and indices as
# text, in NumPy's words.


LARGEST_INDEX = 10_000  # entries of an index that is written out


def listed(shapes: Sequence[Any]) -> str:
    """As many operands as there are."""
    return ", ".join(f"{{{place}}}" for place in range(len(shapes)))


def reduced_text(function: str, shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """A reduction along axes."""
    if not shapes[0]:
        return "{0}" if "arg" not in function else ""
    kept = ", keepdims=True" if keepdims else ""
    if axis is None and not keepdims:
        return f"{function}({{0}})"
    axes = axes_of(axis, len(shapes[0]))
    return f"{function}({{0}}, axis={axes[0] if len(axes) == 1 else axes}{kept})"


def product_in_torch(shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """PyTorch's product is along all axes or along one."""
    axes = axes_of(axis, len(shapes[0]))
    if len(axes) == 1 or not keepdims:
        return (
            "torch.prod({0})"
            if len(axes) == len(shapes[0]) and not keepdims
            else (f"torch.prod({{0}}, {axes[0]}, {keepdims})" if len(axes) == 1 else "")
        )
    return ""


def summed_text(shape: Shape, wanted: Shape) -> str:
    """The sum over what broadcasting would have repeated."""
    lead = len(shape) - len(wanted)
    kept = tuple(lead + i for i, n in enumerate(wanted) if n == 1 and shape[lead + i] != 1)
    text = "{0}"
    if kept:
        text = f"np.sum({text}, axis={kept}, keepdims=True)"
    if lead:
        text = f"np.sum({text}, axis={tuple(range(lead))})"
    return text


def order_text(shapes: Sequence[Any], axes: Any) -> str:
    """The axes of a transpose."""
    ndim = len(shapes[0])
    return repr(tuple(range(ndim)[::-1]) if axes is None else tuple(a % ndim for a in axes))


def subscript_text(index: Sequence[Any]) -> str:
    """An index between its brackets."""
    return ", ".join(map(_part, index)) or "..."


def _part(part: Any) -> str:
    if isinstance(part, tuple):  # a slice
        start, stop, step = ("" if p is None else str(p) for p in part)
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if part is ...:
        return "..."
    if part is None or (isinstance(part, (int, np.integer)) and not isinstance(part, bool)):
        return "None" if part is None else str(int(part))
    return f"np.array({part.array.tolist()!r})"


def labels_text(subscripts: str) -> str:
    """Subscripts of einsum in the letters that all libraries have."""
    free = iter(letter for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in subscripts)
    spelled = {letter: next(free) for letter in dict.fromkeys(subscripts) if not letter.isascii()}
    return "".join(spelled.get(letter, letter) for letter in subscripts)


def fits_along(shapes: Sequence[Any], axis: int) -> bool:
    """Return whether an array and what addresses it along an axis are alike along the others."""
    if not shapes[0]:
        return False
    place = axis % len(shapes[0])
    return all(m == n for i, (m, n) in enumerate(zip(shapes[0], shapes[1], strict=True)) if i != place)


def runs_backwards(index: Sequence[Any]) -> bool:
    """Return whether a slice has a negative step, which PyTorch refuses."""
    return any(isinstance(part, tuple) and part[2] is not None and part[2] < 0 for part in index)
