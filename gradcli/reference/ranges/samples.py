"""Ranges of functions that neither stand in `shapes` nor are known to balls: some values, and room around them. No proof."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from flint import arb

from gradcli.reference.ranges.cells import Call
from gradcli.reference.ranges.intervals import EVERYTHING, Interval

_POINTS = 9
_ROOM = 0.25  # of the spread of the values, on both sides


def sampled(call: Call, given: Sequence[Interval]) -> Interval:
    """About what a function is between some ends."""
    import mpmath
    import sympy

    from gradcli.reference.symbolic.translate import Steps

    symbols = tuple(sympy.Dummy(f"v{i}", real=True) for i in range(len(given)))
    steps = Steps([call.function(*symbols)], symbols)
    m = mpmath.MPContext()
    m.dps = 30
    values = []
    for point in product(*[_points(m, x) for x in given]):
        try:
            value = steps.run(m, point)[0]
        except (ArithmeticError, ValueError, TypeError):
            continue
        if isinstance(value, m.mpf) and m.isfinite(value):
            values.append(value)
    if not values:
        return EVERYTHING
    room = (max(values) - min(values)) * _ROOM
    return _arb(min(values) - room), _arb(max(values) + room)


def _points(m: Any, x: Interval) -> list[Any]:
    low, high = (m.mpf(_pair(end)) for end in x)
    if low == high:
        return [low]
    if not (m.isfinite(low) and m.isfinite(high)):
        return []
    return [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]


def _pair(x: arb) -> Any:
    if not x.is_finite():
        return "inf" if x > 0 else "-inf"
    mantissa, exponent = x.man_exp()
    return int(mantissa), int(exponent)


def _arb(x: Any) -> arb:
    sign, mantissa, exponent, _ = x._mpf_
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))
