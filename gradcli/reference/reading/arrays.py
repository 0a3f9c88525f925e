"""What the judge computes with while it reads: arrays of scalars, made of what stands in the text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.scalars import Traced, Tracing, plain

Array = np.ndarray
NUMERIC = (bool, int, float)
_EXACT = 2**53  # whole numbers up to this are floats, too


def kind(array: Array) -> str:
    """What the entries are: "bool", "int" (indices) or "float"."""
    first = array.flat[0] if array.size else None
    return "bool" if isinstance(first, (bool, np.bool_)) else "int" if isinstance(first, (int, np.integer)) else "float"


def scalar(value: Any) -> Array:
    """An array of no axes."""
    out = np.empty((), dtype=object)
    out[()] = value
    return out


def as_object(value: Any) -> Array:
    """A result of NumPy's on an array of scalars as an array, also where it is one scalar."""
    return value if isinstance(value, np.ndarray) else scalar(value)


class Arrays:
    """Takes what expressions stand for as arrays, whole numbers or parameters, in numbers of one precision."""

    def __init__(self, scalars: Tracing, precision: str) -> None:
        self.scalars, self.m, self.precision = scalars, scalars.m, precision
        self.whole_leaves: dict[int, Array] = {}  # arrays of whole numbers that were bound to names, by their identity

    # -- arrays ---------------------------------------------------------------------------------------------------------------

    def of(self, value: Any) -> Array:
        """A value as an array: numbers in the program's precision, lists along a new first axis."""
        if isinstance(value, np.ndarray):
            return value
        if type(value) in NUMERIC:
            return self.numbers(value)
        if isinstance(value, list):
            return self._list(value)
        raise Unsupported(f"{type(value).__name__} where an array is wanted")

    def numbers(self, value: Any) -> Array:
        """Floats and booleans known beforehand, as the program has them in its precision."""
        given = np.asarray(value)
        if given.dtype.kind == "b":
            return exact_array(self.m, given, "bool")
        return exact_array(self.m, given.astype(self.precision), "float")

    def _list(self, items: list[Any]) -> Array:
        if not items:
            return np.empty(0, dtype=object)
        return self.stacked([self.of(list(item) if isinstance(item, tuple) else item) for item in items])

    def stacked(self, parts: list[Array]) -> Array:
        if len({part.shape for part in parts}) > 1:
            raise Unsupported("rows of different shapes")
        if len({kind(part) for part in parts}) > 1:
            parts = [self.floats(part) for part in parts]
        out = np.empty((len(parts), *parts[0].shape), dtype=object)
        for i, part in enumerate(parts):
            out[i] = part[()] if part.ndim == 0 else part
        return out

    def floats(self, array: Array) -> Array:
        """Booleans and indices as numbers."""
        return array if kind(array) == "float" else Algebra.map(lambda v: self.m.mpf(int(v)), array)

    # -- whole numbers --------------------------------------------------------------------------------------------------------

    def whole(self, value: Any) -> Array:
        """A value as indices."""
        return Algebra.map(self._whole, self.of(list(value) if isinstance(value, tuple) else value))

    def _whole(self, entry: Any) -> int:
        found = plain(entry)
        if not math.isfinite(float(found)) or int(found) != found:
            raise Unsupported("an index that is no whole number")
        return int(found)

    def integer(self, value: Any) -> int:
        array = self.whole(value)
        if array.size != 1:
            raise Unsupported("several numbers where a whole number is wanted")
        found: int = array.item()
        return found

    def is_whole(self, value: Any) -> bool:
        """Whether something is whole by construction: indices, literals, sums of these; and names that were bound to such."""
        if isinstance(value, (bool, float)):
            return False
        if isinstance(value, int):
            return True
        if isinstance(value, (list, tuple)):
            return all(map(self.is_whole, value))
        if not isinstance(value, np.ndarray):
            return False
        if kind(value) == "int" or id(value) in self.whole_leaves:
            return True
        if kind(value) == "bool" or any(plain(v) != self.m.floor(plain(v)) for v in value.flat):
            return False
        raise Unsupported("a number that may be meant as a whole one")

    def is_axis(self, value: Any) -> bool:
        """Whether an argument that may be an axis is one."""
        if value is None or isinstance(value, (tuple, list)):
            return True
        return (not isinstance(value, np.ndarray) or value.ndim == 0) and self.is_whole(value)

    # -- parameters -----------------------------------------------------------------------------------------------------------

    def static(self, value: Any) -> Any:
        """A value as a parameter that is part of the program: numbers, tuples of them, strings."""
        if isinstance(value, (tuple, list)):
            return tuple(self.static(part) for part in value)
        if isinstance(value, np.ndarray):
            return self._parameter(value.item()) if value.ndim == 0 else tuple(self.static(scalar_or_row) for scalar_or_row in _rows(value))
        if value is None or isinstance(value, (str, *NUMERIC)):
            return value
        raise Unsupported(f"{type(value).__name__} as a parameter")

    def _parameter(self, entry: Any) -> Any:
        """A number that floats have exactly; of another the program has taken a rounded one, which nobody knows here."""
        if isinstance(entry, (bool, int, np.bool_, np.integer)):
            return entry
        from gradcli.reference.enclosures import Undecidable

        found = plain(entry)
        rounded = float(found)
        if not math.isfinite(rounded):
            return rounded
        try:
            if found == self.m.mpf(rounded):
                return int(rounded) if rounded.is_integer() and abs(rounded) <= _EXACT else rounded
        except Undecidable:
            pass
        raise Unsupported("a parameter that is computed")

    def varies(self, value: Any) -> bool:
        """Whether something in the place of a number depends on a name."""
        if isinstance(value, (list, tuple)):
            return any(map(self.varies, value))
        return isinstance(value, np.ndarray) and any(type(v) is Traced for v in value.flat)


def _rows(array: Array) -> list[Array]:
    return [as_object(row) for row in array]
