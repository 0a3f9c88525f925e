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

_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_SOME = 5  # entries at which NumPy's loop is held against the reference
_UNITS = 64  # that it may be off by
_MOST, _MOST_SLOW = 200_000, 2_000  # entries that are computed one by one, by FLINT and by mpmath
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
    return each(lambda m, *numbers: number(m, op, static, *numbers), operands, op.result)


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


def each(function: Callable[..., Any], operands: Sequence[Any], result: str = "float") -> Any:
    """``function(m, *numbers)`` at every entry, exact to the last bit of long doubles."""
    present = [np.asarray(o) for o in operands if o is not None]
    shape = np.broadcast_shapes(*(o.shape for o in present))
    out = np.empty(int(np.prod(shape)), LONG_DOUBLE if result not in ("bool", "int") else bool if result == "bool" else np.int64)
    if out.size > _MOST:
        raise Unsupported(f"functions of {out.size:,} entries that are computed one by one")
    columns = [None if o is None else np.broadcast_to(o, shape).reshape(-1) for o in operands]
    try:
        _fill(out, [*_balls(), *_mpmath()], function, columns, result)
    except (AttributeError, TypeError):  # a function that is not made for balls
        _fill(out, _mpmath(), function, columns, result)
    return out.reshape(shape)


def _fill(out: Any, contexts: Sequence[Any], function: Callable[..., Any], columns: Sequence[Any], result: str) -> None:
    first = contexts[0]
    first.begin()
    with first.working():
        rows = zip(*(_numbers(first, column, out.size) for column in columns), strict=True)
        for i, numbers in enumerate(rows):
            out[i] = _of_one(contexts, function, numbers, result)
            if first.slow and out.size > _MOST_SLOW:
                raise Unsupported(f"functions of {out.size:,} entries that FLINT does not compute")


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
            slope, size = each(lambda m, *numbers, partial=partial: partial.value(m, numbers), operands), None
        slopes.append(slope)
        sizes.append(size)
    return slopes, sizes
