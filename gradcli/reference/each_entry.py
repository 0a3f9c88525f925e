"""Functions entry by entry on arrays of long doubles: by NumPy's loops in long double where there are such, else one by one in balls.

NumPy's loops are those of the forward pass, so they are held against the record's reference at some entries; where they differ, the
reference computes all. Derivatives are sympy's, and so are their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, number
from gradcli.reference.deadline import in_time
from gradcli.reference.tables import tabulated

_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_SOME = 5  # entries at which NumPy's loop is held against the reference
_UNITS = 64  # that it may be off by
_MOST, _MOST_SLOW = 200_000, 5_000  # entries that are computed one by one, by FLINT and by mpmath
_OF_POLYNOMIALS = 8  # the units of a polynomial's error in those of a function of NumPy
_MANY = 500  # from which on polynomials may pay
_DIGITS = 25, 50, 200  # the first that tell all bits of a long double

Static = Mapping[str, Any]


def on_entries(op: Op, operands: Sequence[Any], static: Static) -> Any:
    """The value of an elementwise operation. Raises Unsupported."""
    try:
        result = np.asarray(op.forward(*operands, **static))
    except (TypeError, ValueError, AttributeError):  # no loop for long doubles
        result = np.empty(0, object)
    if (result.dtype == LONG_DOUBLE or result.dtype.kind in "biu") and _confirmed(op, operands, static, result):
        return result
    return each(lambda m, *numbers: number(m, op, static, *numbers), operands, op.result, op.kind == "smooth")


def _confirmed(op: Op, operands: Sequence[Any], static: Static, result: Any) -> bool:
    """Whether the reference gives the same at some entries."""
    if not result.size:
        return True
    places = np.unique(np.linspace(0, result.size - 1, _SOME).astype(int))
    columns = [None if o is None else np.broadcast_to(o, result.shape).reshape(-1)[places] for o in operands]
    expected = each(lambda m, *numbers: number(m, op, static, *numbers), columns, op.result)
    got = result.reshape(-1)[places]
    if result.dtype.kind in "biu":
        return bool(np.all(got == expected))
    near = np.abs(got - expected) <= _UNITS * _UNIT * np.abs(expected)
    return bool(np.all(near | (got == expected) | (np.isnan(got) & np.isnan(expected))))


def each(function: Callable[..., Any], operands: Sequence[Any], result: str = "float", smooth: bool = False) -> Any:
    """``function(m, *numbers)`` at every entry, exact to the last bit of long doubles; of many by polynomials, where it is smooth."""
    present = [np.asarray(o) for o in operands if o is not None]
    shape = np.broadcast_shapes(*(o.shape for o in present))
    varying = [i for i, o in enumerate(operands) if np.size(o) > 1]
    one = OneByOne(function, result)
    if smooth and len(varying) == 1 and np.size(operands[varying[0]]) > _MANY:
        (place,) = varying
        fixed = [None if o is None or i == place else np.reshape(o, (1,)) for i, o in enumerate(operands)]
        given = np.asarray(operands[place], LONG_DOUBLE)

        def values(x: Any) -> Any:
            return one.at([x if i == place else o if o is None else np.broadcast_to(o, x.shape) for i, o in enumerate(fixed)], x.size)

        return np.broadcast_to(tabulated(values, given.reshape(-1)).reshape(given.shape), shape)
    columns = [None if o is None else np.broadcast_to(o, shape).reshape(-1) for o in operands]
    return one.at(columns, int(np.prod(shape))).reshape(shape)


_AT_ONCE = 64  # entries between two looks at the time


class OneByOne:
    """A function that is computed for one entry after the other; raises Unsupported where these are too many."""

    def __init__(self, function: Callable[..., Any], result: str) -> None:
        self.function, self.result, self.count = function, result, 0
        self.contexts = [*_balls(), *_mpmath()]

    def at(self, columns: Sequence[Any], size: int) -> Any:
        """The values at the entries of vectors, None for operands that are left out."""
        self.count += size
        self._allow(_MOST)
        try:
            return self._values(columns, size)
        except (AttributeError, TypeError):  # a function that is not made for balls
            if self.contexts is _mpmath():
                raise
            self.contexts = _mpmath()
            return self._values(columns, size)

    def _allow(self, most: int) -> None:
        if self.count > most:
            raise Unsupported(f"a function of {self.count:,} entries one by one")

    def _values(self, columns: Sequence[Any], size: int) -> Any:
        out = np.empty(size, {"bool": bool, "int": np.int64}.get(self.result, LONG_DOUBLE))
        first = self.contexts[0]
        first.begin()
        with first.working():
            rows = zip(*(_numbers(first, column, size) for column in columns), strict=True)
            for i, numbers in enumerate(in_time(rows, _AT_ONCE)):
                out[i] = _of_one(self.contexts, self.function, numbers, self.result)
                if first.slow:
                    self._allow(_MOST_SLOW)
        return out


def _of_one(contexts: Sequence[Any], function: Callable[..., Any], numbers: Sequence[Any], result: str) -> Any:
    for m in contexts:
        with nullcontext() if m is contexts[0] else m.working():
            try:
                value = function(m, *(numbers if m is contexts[0] else [m.again(x) for x in numbers]))
            except m.undecidable:
                continue
            if result == "bool":
                return bool(value)
            if m.settled(value):
                return m.long_double(value)
    raise Unsupported("a function of an entry that no precision decides")


def _numbers(m: Any, column: Any, count: int) -> Iterator[Any]:
    if column is None:
        return (None for _ in range(count))
    if column.dtype.kind == "b":
        return (bool(x) for x in column)
    if column.dtype.kind in "iu":
        return (m.whole(int(x)) for x in column)
    high = column.astype(np.float64)
    low = np.where(np.isfinite(high), column - high, 0).astype(np.float64)
    huge = np.isinf(high) & np.isfinite(column)
    if huge.any():
        raise Unsupported("numbers beyond doubles")
    return (m.exact(a, b) for a, b in zip(high.tolist(), low.tolist(), strict=True))


@cache
def _mpmath() -> list[Any]:
    from gradcli.reference.long_numbers import LongMpmath

    return [LongMpmath()]


@cache
def _balls() -> list[Any]:
    from gradcli.reference.long_numbers import LongBalls

    return [LongBalls(digits) for digits in _DIGITS]


def slopes_of_entries(op: Op, out: Any, operands: Sequence[Any], static: Static, wanted: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The slopes of a smooth operation, by sympy, and the size of the terms that they are computed of; None where it is their own.

    out     the value, which slopes may be made of
    wanted  the operands by which
    Raises Unsupported.
    """
    if op.kind != "smooth" or not op.elementwise or any(o is None for o in operands):
        raise Unsupported(f"{op.name} of so many entries")
    from gradcli.reference.symbolic.on_arrays import Unknown, on_arrays
    from gradcli.reference.symbolic.translate import smooth_function

    smooth = smooth_function(op, len(operands), static)
    slopes: list[Any] = []
    sizes: list[Any] = []
    known = {smooth.expression: out}
    for place, asked in enumerate(wanted):
        partial = smooth.partial(place)
        slope = size = None
        try:
            if asked:
                slope = on_arrays(partial.expression, partial.symbols, operands, known)
                size = on_arrays(partial.magnitude().expression, partial.symbols, operands, known)
        except Unknown:
            slope = each(lambda m, *numbers, partial=partial: partial.value(m, numbers), operands, smooth=True)
            size = _OF_POLYNOMIALS * np.abs(slope)
        slopes.append(slope)
        sizes.append(size)
    return slopes, sizes
