"""Ranges of functions that do not stand in `shapes`: in balls, by their references; or some values and room around them, no proof."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from flint import arb

from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import context
from gradcli.reference.ranges.cells import Call
from gradcli.reference.ranges.intervals import EVERYTHING, Interval, around
from gradcli.reference.ranges.shape import DOMAIN, Found, ball_of

COST_OF_BALLS, COST_OF_SAMPLES = 300, 2_000  # in cells
_POINTS = 9
_ROOM = 0.25  # of the spread of the values, on both sides


def in_balls(call: Call, given: Sequence[Interval]) -> Found | None:
    """The range of a function by its reference in balls; None if that is not computed there, or proves nothing."""
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    m = Balls()
    if not all(end.is_finite() for x in given for end in x):
        return Found(EVERYTHING, DOMAIN)
    try:
        value = program_of(call.function, len(given)).run(m, tuple(Ball(ball_of(x)) for x in given))[0]
    except Undecidable:
        return None if all(x[0] == x[1] for x in given) else Found(EVERYTHING, DOMAIN)
    except (ArithmeticError, ValueError, TypeError, AttributeError, Unsupported):
        return None
    if m.uncertified or not isinstance(value, Ball):
        return None
    return Found(around(value.ball)) if value.ball.is_finite() else Found(EVERYTHING, DOMAIN)


def sampled(call: Call, given: Sequence[Interval]) -> Interval:
    """About what a function is between some ends."""
    from gradcli.reference.symbolic.translate import program_of

    steps = program_of(call.function, len(given))
    m = context()
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
