"""Subscripts, read once more: whole numbers, slices, masks and arrays of indices into an array of scalars."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradcli.reference.algebra import Unsupported
from gradcli.reference.reading.arrays import Arrays, as_object, kind


class Range(NamedTuple):
    """``start:stop:step`` between brackets."""

    start: Any
    stop: Any
    step: Any


def subscripted(arrays: Arrays, base: Any, items: list[Any]) -> Any:
    """``base[items]``, of an array or of a tuple."""
    if isinstance(base, tuple):
        return _of_tuple(arrays, base, items)
    parts = list(items[0]) if len(items) == 1 and isinstance(items[0], tuple) and not isinstance(items[0], Range) else items
    index = tuple(_index(arrays, part) for part in parts)
    try:
        return as_object(arrays.of(base)[index])
    except IndexError as error:
        raise Unsupported(str(error)) from None


def _of_tuple(arrays: Arrays, base: tuple[Any, ...], items: list[Any]) -> Any:
    if len(items) != 1:
        raise Unsupported("several indices into a tuple")
    if isinstance(items[0], Range):
        return tuple(base)[_slice(arrays, items[0])]
    place = arrays.integer(items[0])
    if not -len(base) <= place < len(base):
        raise Unsupported("an index beyond the end of a tuple")
    return base[place]


def _slice(arrays: Arrays, given: Range) -> slice:
    return slice(*[None if part is None else arrays.integer(part) for part in given])


def _index(arrays: Arrays, part: Any) -> Any:
    if part is None or part is ...:
        return part
    if isinstance(part, Range):
        return _slice(arrays, part)
    if isinstance(part, list) and not part:
        return np.empty(0, dtype=np.int64)
    array = arrays.of(part)
    if kind(array) == "bool":
        return array.astype(bool) if array.ndim else bool(array.item())
    whole = arrays.whole(array)
    return whole.astype(np.int64) if whole.ndim else int(whole.item())
