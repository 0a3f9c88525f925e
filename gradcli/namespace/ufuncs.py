"""Methods of NumPy's functions of two arrays, on carriers:

``np.add.reduce(x, axis=1)``, ``.accumulate``, ``.outer``, ``.reduceat``.

``call(name, *arrays, **keywords)`` applies a function of NumPy's to carriers; ``name`` is that of
the function of two arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.joining_and_splitting import concatenate
from gradcli.ops.arrays.shapes import getitem, reshape, stack
from gradcli.ops.axes import folds
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.registry import record_named, registry
from gradcli.ops.writing import one_axis

Call = Callable[..., Any]


@cache
def joined_by(name: str) -> str:
    """The name of the operation that a function of two arrays is; empty if it is none."""
    found = lookup(name, NUMPY)
    return "" if found is None else record_named(found.target).name


@cache
def reduction(name: str) -> str | None:
    """The name of the reduction that puts entries together by a function of two arrays, if there is
    one.
    """
    joins = joined_by(name)
    return next((op.name for op in registry().values() if joins and folds(op) == joins), None)


def reduce(
    call: Call,
    name: str,
    x: Any,
    axis: Any = 0,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """One operation where there is one; else one application after the other along an axis."""
    whole = reduction(name)
    if whole is not None:
        given = {
            key: value
            for key, value in (("initial", initial), ("where", where))
            if value is not None
        }
        return call(whole, x, axis=axis, keepdims=keepdims, **given)
    if where is not None:
        raise UnreadArgumentError(f"{name}.reduce does not support where", help="leave it out")
    shape = x.shape
    if axis is None:
        if len(shape) > 1 and getattr(np, name).identity is None:
            raise ArgumentError(
                f"{name}.reduce takes one axis: its result depends on the order",
                help="write axis=0",
            )
        axis, x = 0, reshape(x, shape=(-1,))
    place = _place(axis, x)
    result = _running(call, name, x, place, initial)[-1]
    if not keepdims:
        return result
    return reshape(
        result,
        shape=tuple(
            1 if i == place or len(x.shape) < len(shape) else n for i, n in enumerate(shape)
        ),
    )


def _place(axis: Any, x: Any) -> int:
    if not x.shape:
        raise ShapeError("a number has no axis to go along")
    place: int = one_axis(axis, len(x.shape))
    return place


def _running(call: Call, name: str, x: Any, axis: int, initial: Any = None) -> list[Any]:
    """The results so far, entry by entry along an axis."""
    lead = ((None, None, None),) * axis
    results = [] if initial is None else [initial]
    for i in range(x.shape[axis]):
        row = getitem(x, index=(*lead, i))
        results.append(call(name, results[-1], row) if results else row)
    if not results:
        raise ShapeError(f"{name} has no result of no entries")
    return results


def accumulate(call: Call, name: str, x: Any, axis: int = 0) -> Any:
    """The results so far along an axis."""
    place = _place(axis, x)
    running = {"add": "cumsum", "mul": "cumprod"}.get(joined_by(name))
    return (
        stack(*_running(call, name, x, place), axis=place)
        if running is None
        else call(running, x, axis=place)
    )


def outer(call: Call, name: str, a: Any, b: Any) -> Any:
    """The function of every entry of one with every entry of the other."""
    return call(name, reshape(a, shape=(*a.shape, *(1,) * len(b.shape))), b)


def reduceat(call: Call, name: str, x: Any, indices: Any, axis: int = 0) -> Any:
    """From each index up to the next, if that is larger; else the one entry."""
    place = _place(axis, x)
    length, bounds = x.shape[place], np.asarray(indices).reshape(-1)
    if bounds.dtype.kind not in "iu" or not bounds.size:
        raise ArgumentError("reduceat takes whole numbers as indices")
    if np.any((bounds < 0) | (bounds >= length)):
        raise ShapeError(f"an index is out of bounds for {length} entries")
    lead, parts = ((None, None, None),) * place, []
    for first, last in zip(bounds.tolist(), [*bounds[1:].tolist(), length], strict=True):
        piece = getitem(x, index=(*lead, (first, max(last, first + 1), None)))
        parts.append(reduce(call, name, piece, place, keepdims=True))
    return concatenate(*parts, axis=place)
