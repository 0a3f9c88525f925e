"""Elementwise functions and their slopes on large arrays: by loops of long doubles, or entry by entry in balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb

from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported, number
from gradcli.reference.ball import Ball, as_arb, made
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable
from gradcli.reference.deadline import in_time

# NumPy's loops are those of the forward pass, so they are held against the record's reference at
# some entries; where they differ, the reference computes all, if these are few. Derivatives are
# sympy's, and so are their sizes.


_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_SOME = 5 if WIDER else 200  # entries at which NumPy's loop is held against the reference
_UNITS = 64  # that it may be off by
_MOST_ENTRIES = 5_000  # entries that are computed one by one
_AT_ONCE = 64  # entries between two looks at the time
_CONTEXTS = [Balls(digits) for digits in (25, 50, 200, 800)]  # the first tells all bits of a long double
_BITS = 70  # that have to be certain
_BEYOND = 1 << 20  # binary exponents that no long double has
_ORDINARY = 1e-290, 1e290  # sizes whose high and low parts are doubles

Static = Mapping[str, Any]


def on_entries(op: Op, operands: Sequence[Any], static: Static) -> Any:
    """The value of an elementwise operation. Raises Unsupported."""
    try:
        result = np.asarray(op.forward(*operands, **static))
    except (TypeError, ValueError, AttributeError):  # no loop for long doubles
        result = np.empty(0, object)
    if (result.dtype == LONG_DOUBLE or result.dtype.kind in "biu") and _confirmed(op, operands, static, result):
        return result
    return by_reference(op, operands, static)


def by_reference(op: Op, operands: Sequence[Any], static: Static) -> Any:
    """Return the value of an elementwise operation by its reference. Raises Unsupported."""
    return each(lambda m, *numbers: number(m, op, static, *numbers), operands, op.result)


def entries(operands: Sequence[Any], shape: tuple[int, ...], places: Any) -> list[Any]:
    """Return what operands that broadcast to a shape have at some of its places."""
    return [None if o is None else np.broadcast_to(o, shape).reshape(-1)[places] for o in operands]


def _confirmed(op: Op, operands: Sequence[Any], static: Static, result: Any) -> bool:
    """Return whether the reference gives the same at some entries."""
    if not result.size:
        return True
    places = np.unique(np.linspace(0, result.size - 1, _SOME).astype(int))
    expected = by_reference(op, entries(operands, result.shape, places), static)
    got = result.reshape(-1)[places]
    if result.dtype.kind in "biu":
        return bool(np.all(got == expected))
    near = np.abs(got - expected) <= _UNITS * _UNIT * np.abs(expected)
    return bool(np.all(near | (got == expected) | (np.isnan(got) & np.isnan(expected))))


def each(function: Callable[..., Any], operands: Sequence[Any], result: str = "float") -> Any:
    """Return ``function(m, *numbers)`` at every entry, exact to the last bit of long doubles. Raises Unsupported for too many."""
    shape = np.broadcast_shapes(*(np.shape(o) for o in operands if o is not None))
    size = math.prod(shape)
    if size > _MOST_ENTRIES:
        raise Unsupported(f"a function of {size:,} entries one by one")
    columns = [None if o is None else np.broadcast_to(o, shape).reshape(-1) for o in operands]
    out = np.empty(size, {"bool": bool, "int": np.int64}.get(result, LONG_DOUBLE))
    rows = zip(*(_numbers(column, size) for column in columns), strict=True)
    try:
        with _CONTEXTS[0].working():
            for i, numbers in enumerate(in_time(rows, _AT_ONCE)):
                out[i] = _of_one(function, numbers, result)
    except (AttributeError, TypeError) as error:
        raise Unsupported(f"a function of an entry: {error}") from None
    return out.reshape(shape)


def _of_one(function: Callable[..., Any], numbers: Sequence[Any], result: str) -> Any:
    for m in _CONTEXTS:
        with m.working():
            try:
                value = function(m, *numbers)
            except Undecidable:
                continue
            if result == "bool":
                return bool(value)
            ball = as_arb(value)
            if not ball.is_finite() or ball.is_exact() or ball.rel_accuracy_bits() >= _BITS:
                return _long_double(ball.mid())
    raise Unsupported("a function of an entry that no precision decides")


def _numbers(column: Any, count: int) -> Iterable[Any]:
    """The entries of an operand as scalars."""
    if column is None or column.dtype.kind == "b":
        return [None] * count if column is None else column.tolist()
    if column.dtype.kind in "iu":
        return map(Ball, column.tolist())
    high = column.astype(np.float64)
    low = np.where(np.isfinite(high), column - high, 0).astype(np.float64)
    if (np.isinf(high) & np.isfinite(column)).any():
        raise Unsupported("numbers beyond doubles")
    return (made(arb(a) + b) if b else Ball(a) for a, b in zip(high.tolist(), low.tolist(), strict=True))


def _long_double(x: arb) -> Any:
    high = float(x)
    if not x.is_finite():
        return LONG_DOUBLE(high)
    if x.is_zero() or _ORDINARY[0] < abs(high) < _ORDINARY[1]:
        return LONG_DOUBLE(high) + LONG_DOUBLE(float(x - high))
    mantissa, exponent = x.man_exp()
    high = float(int(mantissa))
    low = float(int(mantissa) - int(high)) if abs(high) < _ORDINARY[1] else 0.0
    return np.ldexp(LONG_DOUBLE(high) + LONG_DOUBLE(low), max(-_BEYOND, min(_BEYOND, int(exponent))))


def slope_by_reference(op: Op, operands: Sequence[Any], static: Static, place: int) -> Any:
    """Return the slope of a smooth operation by one operand, by sympy, in balls at every entry. Raises Unsupported."""
    partial = _smooth(op, operands, static).partial(place)
    return each(lambda m, *numbers: partial.value(m, numbers), operands)


def _smooth(op: Op, operands: Sequence[Any], static: Static) -> Any:
    if op.kind != "smooth" or not op.elementwise or any(o is None for o in operands):
        raise Unsupported(f"{op.name} of so many entries")
    from gradcli.reference.symbolic.translate import smooth_function

    return smooth_function(op, len(operands), static)


def slopes_of_entries(op: Op, out: Any, operands: Sequence[Any], static: Static, wanted: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The slopes of a smooth operation, by sympy, and the size of the terms that they are computed of; None where it is their own.

    out     the value, which slopes may be made of
    wanted  the operands by which
    Raises Unsupported.
    """
    smooth = _smooth(op, operands, static)
    found: list[Any] = []
    arrays = [np.asarray(operand, LONG_DOUBLE) for operand in operands]
    for place, asked in enumerate(wanted):
        try:
            found.append(smooth.partial(place).on_arrays(smooth, out, arrays) if asked else (None, None))
        except (Unsupported, ValueError):  # the latter where a reference compares single numbers
            found.append((slope_by_reference(op, operands, static, place), None))
    return [slope for slope, _ in found], [size for _, size in found]
