"""Declarations how operations move axes, put entries together along them, and choose entries.

Each operation has one declaration, which is read in many ways.

A record declares ``axes(m, *views, **static)``, which makes the view of the result from those of
the operands by the methods of ``m``:

arrange    the axes in another order; None is a new one of extent 1, and those left out must be
           of extent 1
reshape    the same entries in another shape
repeat     the entries repeated along new axes in front, or along axes of extent 1
fold_axes  what a fold makes of all entries along axes
product    entries times entries
choose     the entries at an index, and ``scatter`` the way back: zeros with entries added there
pick       the entries at whole numbers along an axis, and ``put`` the way back

Each ``m`` is a reading: loops (`gradcli.plans.index_form`), chunks (cutting.py), sets of entries
(`gradcli.graph.sparsity`), and whole arrays, whose steps are transposed one by one (`Arrays`). What
a reading cannot express raises `NoLoop`. An operation needs no declaration if each entry of its
result is an operand's, or zero (`Op.moves`): its forward pass, on the numbers of entries, shows
where they go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.ops.facts import Fixed
from gradcli.ops.writing import Shape, axes_of

if TYPE_CHECKING:
    from gradcli.ops.spec import Op


class NoLoop(Exception):
    """Error of a reading that cannot express an operation, or this use of it, by axes and entries.

    The operation works on whole arrays.
    """


class Fold(Fixed):
    """An operation that puts the entries along axes together, two at a time.

    name    the operation of two entries
    ufunc   NumPy's, which reduces
    start   in C, what nothing comes to
    joined  in C, the text of two
    sign    OpenMP's, of variables that each lane has for itself
    """

    name: str
    ufunc: np.ufunc
    start: str
    joined: str
    sign: str


SUM = Fold("add", np.add, "0", "{0} + {1}", "+")
PRODUCT = Fold("mul", np.multiply, "1", "{0} * {1}", "*")
LARGEST = Fold("maximum", np.maximum, "-__builtin_inf()", "g_maximum({0}, {1})", "max")
SMALLEST = Fold("minimum", np.minimum, "__builtin_inf()", "g_minimum({0}, {1})", "min")


# -- Declarations of records ---------------------------------------------------------------------


class Reduction(Fixed):
    """The declaration of an operation that puts all entries along axes together."""

    fold: Fold

    def __call__(self, m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
        return m.fold_axes(x, self.fold, axis, keepdims)


def folds(op: Op) -> str:
    """Return the name of the operation of two entries by which a reduction joins entries.

    It is empty for other operations.
    """
    return op.axes.fold.name if isinstance(op.axes, Reduction) else ""


def reshape(m: Any, x: Any, shape: Sequence[int]) -> Any:
    known = math.prod(n for n in shape if n != -1)
    return m.reshape(x, tuple(math.prod(x.shape) // known if n == -1 else n for n in shape))


def transpose(m: Any, x: Any, axes: Sequence[int] | None) -> Any:
    ndim = len(x.shape)
    return m.arrange(x, range(ndim)[::-1] if axes is None else [a % ndim for a in axes])


def matrix_product(m: Any, x: Any, y: Any) -> Any:
    """Compute x @ y, the sum of products along the last axis of x and the last but one of y.

    Both have the axes (batch, row, inner, column).
    """
    rows, columns = len(x.shape) > 1, len(y.shape) > 1
    ours, others = max(len(x.shape) - 2, 0), max(len(y.shape) - 2, 0)
    batch = max(ours, others)
    left = [*[None] * (batch - ours), *range(ours), ours if rows else None, len(x.shape) - 1, None]
    right = [
        *[None] * (batch - others),
        *range(others),
        None,
        others,
        others + 1 if columns else None,
    ]
    found = m.fold_axes(m.product(m.arrange(x, left), m.arrange(y, right)), SUM, batch + 1, False)
    return m.arrange(
        found, [*range(batch), *([batch] if rows else []), *([batch + 1] if columns else [])]
    )


# -- Whole arrays, and the way back --------------------------------------------------------------


def numpy_index(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the index in NumPy's form.

    Slices are stored as tuples because they must be hashable.
    """
    return tuple(
        [slice(*part) if type(part) is tuple else getattr(part, "array", part) for part in index]
    )


def entry_numbers(shape: Shape, first: int = 0) -> np.ndarray:
    """Return the numbers of an array's entries, in their places."""
    return np.arange(first, first + math.prod(shape)).reshape(shape)


def places_along(shape: Shape, index: Any, axis: int) -> np.ndarray:
    """Return the numbers of the entries at whole numbers along an axis of an array."""
    if not shape:
        return np.zeros(np.shape(index), int)
    others = tuple(
        slice(None) if i == axis % len(shape) else slice(n) for i, n in enumerate(np.shape(index))
    )
    return np.take_along_axis(entry_numbers(shape)[others], np.asarray(index), axis)


def add_up(x: Any, places: np.ndarray, shape: Shape) -> np.ndarray:
    """Zeros of a shape with entries added at the numbers of their places."""
    entries = np.broadcast_to(x, places.shape).ravel()
    flat = places.ravel()
    if entries.dtype == np.float64:
        return np.bincount(flat, entries, math.prod(shape)).reshape(shape)
    found = np.zeros(math.prod(shape), entries.dtype)
    np.add.at(found, flat, entries)
    return found.reshape(shape)


def broadcast(x: Any, shape: Shape) -> Any:
    """Return what broadcasts to a shape in that shape; itself, where it has it."""
    return x if np.shape(x) == shape else np.broadcast_to(x, shape)


def repeated_axes(whole: Shape, shape: Shape) -> tuple[int, ...]:
    """Return the axes along which an array of a shape is repeated when it is broadcast."""
    lead = len(whole) - len(shape)
    return (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 != whole[lead + i]))


def sum_to_shape(part: Any, shape: Shape) -> Any:
    """Sum an array to the shape that broadcasting started from."""
    part = np.asarray(part)
    if part.shape == shape:
        return part
    if part.ndim < len(shape):
        return np.broadcast_to(part, shape)
    return part.sum(axis=repeated_axes(part.shape, shape)).reshape(shape)


class Arrays:
    """The reading by NumPy: each step computes, and notes how a cotangent goes back through it."""

    def __init__(self) -> None:
        self._steps: list[Callable[[Any], Any]] = []

    def back(self, cotangent: Any) -> Any:
        """Return the cotangent of the first operand for a cotangent of the last result.

        The steps are transposed, the last one first.
        """
        for step in reversed(self._steps):
            cotangent = step(cotangent)
        return cotangent

    def arrange(self, x: Any, order: Sequence[int | None]) -> Any:
        kept = [place for place in order if place is not None]
        every = [*kept, *(place for place in range(x.ndim) if place not in kept)]
        moved = x.transpose(every)
        if any(n != 1 for n in moved.shape[len(kept) :]):
            raise NoLoop
        self._steps.append(
            lambda c: c.reshape(moved.shape).transpose(
                [every.index(place) for place in range(x.ndim)]
            )
        )
        return moved.reshape([1 if place is None else x.shape[place] for place in order])

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        self._steps.append(lambda c: c.reshape(x.shape))
        return x.reshape(shape)

    def repeat(self, x: Any, shape: Shape) -> Any:
        self._steps.append(lambda c: sum_to_shape(c, x.shape))
        return np.broadcast_to(x, shape)

    def fold_axes(self, x: Any, fold: Fold, axis: Any, keepdims: bool) -> Any:
        if fold is not SUM:
            raise NoLoop
        axes = axes_of(axis, x.shape)
        kept = [1 if i in axes else n for i, n in enumerate(x.shape)]
        self._steps.append(lambda c: np.broadcast_to(c.reshape(kept), x.shape))
        return x.sum(
            axis=axes, keepdims=keepdims, dtype=x.dtype if x.dtype.kind == "f" else LONG_DOUBLE
        )

    def product(self, x: Any, y: Any) -> Any:
        raise NoLoop  # cotangents would go back to two operands

    def choose(self, x: Any, index: tuple[Any, ...]) -> Any:
        return self._take(x, entry_numbers(x.shape)[numpy_index(index)])

    def scatter(self, x: Any, index: tuple[Any, ...], shape: Shape) -> Any:
        return self._scatter(x, entry_numbers(shape)[numpy_index(index)], shape)

    def pick(self, x: Any, index: Any, axis: int) -> Any:
        return self._take(x, places_along(x.shape, index, axis))

    def put(self, x: Any, index: Any, axis: int, shape: Shape) -> Any:
        return self._scatter(x, places_along(shape, index, axis), shape)

    def _take(self, x: Any, places: Any) -> Any:
        self._steps.append(lambda c: add_up(c, places, x.shape))
        return x.reshape(-1)[places]

    def _scatter(self, x: Any, places: Any, shape: Shape) -> Any:
        self._steps.append(lambda c: sum_to_shape(c.reshape(-1)[places], x.shape))
        return add_up(x, places, shape)


def sources(op: Op, shapes: Sequence[Shape], static: Mapping[str, Any]) -> np.ndarray:
    """Return the source of each entry of a result, as a number among the operands' entries.

    The entries of all operands are counted one after the other, from 1; 0 is a zero.
    """
    numbers = []
    first = 1
    for shape in shapes:
        numbers.append(entry_numbers(shape, first))
        first += math.prod(shape)
    found = np.asarray(op.forward(*numbers, **static))
    if found.dtype.kind != "i" or (found.size and not 0 <= found.min() <= found.max() < first):
        raise NoLoop
    return found


def move_entries(
    op: Op, operands: Sequence[Any], static: Mapping[str, Any]
) -> tuple[Any, Callable[[Any], Sequence[Any]]]:
    """Move or add entries of whole arrays by an operation.

    Its result is returned with the function that takes a cotangent back to each operand. Nothing
    goes back through whole numbers. Raises NoLoop for other operations.
    """
    if op.vjp is None:
        return op.forward(*operands, **static), lambda cotangent: [None] * len(operands)
    if op.axes is not None:
        m = Arrays()
        value = op.axes(m, *operands, **static)
        return value, lambda cotangent: [m.back(cotangent), *[None] * (len(operands) - 1)]
    if not op.moves:
        raise NoLoop
    places = sources(op, [np.shape(x) for x in operands], static)
    ends = np.cumsum([np.size(x) for x in operands])

    def back(cotangent: Any) -> Sequence[Any]:
        parts = np.split(add_up(cotangent, places, (int(ends[-1]) + 1,))[1:], ends[:-1])
        return [part.reshape(np.shape(x)) for part, x in zip(parts, operands, strict=True)]

    return op.forward(*operands, **static), back
