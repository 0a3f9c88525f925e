"""Subscripts: indices, slices and masks become static parameters of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.language.builder import Builder
from gradcli.language.tree import Slice, Subscript
from gradcli.ops.arrays import shapes


class _SliceParts(list[Any]):
    """start, stop and step of a slice, told apart from a list of indices."""


def subscript(builder: Builder, node: Subscript, results: list[Any]) -> Any:
    """``base[items]``: of an array as in NumPy, with its shapes; of a tuple one entry, or a slice of it.

    Raises ShapeError for an index out of bounds and for too many, TypeMismatchError for what is no index, ArgumentError for a step of 0.
    """
    base = results[node.base.place]
    if isinstance(base, tuple):
        if len(node.items) == 1 and isinstance(node.items[0], Slice):
            return base[slice(*_slice(builder, node.items[0], results))]
        index = builder.integer(results[node.items[0].place])
        if len(node.items) > 1 or not -len(base) <= index < len(base):
            raise ShapeError(f"a tuple of {len(base)} has no entry {index}")
        return base[index]
    value = builder.value(base)
    if len(node.items) == 1 and isinstance(results[node.items[0].place], tuple):
        parts = list(results[node.items[0].place])
    else:
        parts = [_slice(builder, item, results) if isinstance(item, Slice) else results[item.place] for item in node.items]
    index_parts = [p if isinstance(p, _SliceParts) else _index(builder, p) for p in parts]
    try:
        return shapes.getitem(value, index=tuple(tuple(p) if isinstance(p, _SliceParts) else p for p in index_parts))
    except ShapeError as error:
        text = str(error.message).replace("too many indices for array: array is", "too many indices: the array is")
        raise ShapeError(text) from None


def _slice(builder: Builder, node: Slice, results: list[Any]) -> _SliceParts:
    parts = [None if p is None or results[p.place] is None else builder.integer(results[p.place]) for p in node.parts]
    parts += [None] * (3 - len(parts))
    if parts[2] == 0:
        raise ArgumentError("the step of a slice cannot be 0").at(node.span)
    return _SliceParts(parts)


def _index(builder: Builder, part: Any) -> Any:
    if part is None or part is ...:
        return part
    value = builder.static(builder.value(part) if isinstance(part, list) and part else part)
    if isinstance(value, bool):
        return shapes.StaticArray(np.asarray(value))
    if isinstance(value, int):
        return value
    array = np.asarray(value, dtype=np.int64) if isinstance(value, list) and not value else np.asarray(value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeMismatchError("an index must be whole numbers, a slice or a mask", help="write x[0], x[1:3], x[x > 0]")
    return shapes.StaticArray(array)
