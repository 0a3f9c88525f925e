"""Subscripts: indices, slices and masks.

They become static parameters of the program, but for what the order of entries has chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.names import Thing
from gradcli.language.scope import Builder, Range
from gradcli.language.syntax import Slice, Subscript
from gradcli.ops.arrays import gathering_and_scattering, shapes


def subscript(builder: Builder, node: Subscript, results: list[Any]) -> Any:
    """Return ``base[items]``.

    An array is indexed as in NumPy, with its shapes. A tuple gives one entry, or a slice of it.

    Raises ShapeError for an index out of bounds and for too many indices, TypeMismatchError for
    anything that is no index, ArgumentError for a step of 0.
    """
    base = results[node.base.place]
    items = [
        _range(item, results) if isinstance(item, Slice) else results[item.place]
        for item in node.items
    ]
    if isinstance(base, Thing):
        return base.subscript(builder, items)
    if isinstance(base, tuple):
        return _of_tuple(builder, base, items)
    value = builder.value(base)
    if len(items) == 1 and value.shape and _is_chosen(items[0]):
        return gathering_and_scattering.take(value, items[0], axis=0)
    try:
        return shapes.getitem(value, index=index_of(builder, items))
    except ShapeError as error:
        text = str(error.message).replace(
            "too many indices for array: array is", "too many indices: the array is"
        )
        raise ShapeError(text) from None


def _is_chosen(item: Any) -> bool:
    """Tell whether an operation has chosen an index.

    Near a tie the operation chooses otherwise, so the index has to stay in the graph.
    """
    if not isinstance(item, Expr) or item.kind != "int":
        return False
    return any(
        node.kind == "int" and node.op is not None and node.op.kinks for node in reachable([item])
    )


def _of_tuple(builder: Builder, base: tuple[Any, ...], items: list[Any]) -> Any:
    if len(items) == 1 and isinstance(items[0], Range):
        return base[slice(*_slice(builder, items[0]))]
    index = builder.integer(items[0])
    if len(items) > 1 or not -len(base) <= index < len(base):
        raise ShapeError(f"a tuple of {len(base)} has no entry {index}")
    return base[index]


def index_of(builder: Builder, items: list[Any]) -> tuple[Any, ...]:
    """Return the items between brackets as a static index.

    Its parts are whole numbers, slices as tuples, arrays, None and ``...``.
    """
    parts = list(items[0]) if len(items) == 1 and isinstance(items[0], tuple) else items
    return tuple(
        _slice(builder, part) if isinstance(part, Range) else _index(builder, part)
        for part in parts
    )


def _range(node: Slice, results: list[Any]) -> Range:
    parts: list[Any] = [None if p is None else results[p.place] for p in node.parts]
    start, stop, step = (*parts, None)[:3]
    return Range(start, stop, step, node.span)


def _slice(builder: Builder, given: Range) -> tuple[int | None, ...]:
    parts = [
        None if p is None else builder.integer(p) for p in (given.start, given.stop, given.step)
    ]
    if parts[2] == 0:
        raise ArgumentError("the step of a slice cannot be 0").at(given.span)
    return tuple(parts)


def _index(builder: Builder, part: Any) -> Any:
    if part is None or part is ...:
        return part
    value = builder.static(builder.value(part) if isinstance(part, list) and part else part)
    if isinstance(value, bool):
        return shapes.StaticArray(np.asarray(value))
    if isinstance(value, int):
        return value
    array = np.asarray(value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeMismatchError(
            "an index must be whole numbers, a slice or a mask", help="write x[0], x[1:3], x[x > 0]"
        )
    return shapes.StaticArray(array)
