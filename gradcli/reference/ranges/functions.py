"""Ranges of functions over intervals: by how they rise and fall, from a few points; else in balls; or else sampled, which proves nothing.

Names are those of sympy's classes in small letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from flint import acb, arb

from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import context
from gradcli.reference.ranges.intervals import (
    EVERYTHING,
    INFINITE,
    MINUS_INFINITE,
    ONE,
    ZERO,
    Interval,
    high,
    hull,
    is_finite,
    is_point,
    low,
    power,
    whole_power,
)

DOMAIN, POLE, JUMP, KINK = "domain", "pole", "jump", "kink"
_MOST_EXPONENTS = 16  # whole numbers of an interval, for each of which numbers below 0 have a power
_POINTS = 9  # along each argument, where a function is sampled
_ROOM = 0.25  # of the spread of the values, on both sides


class Found(NamedTuple):
    """The range of a function over intervals.

    interval  None where it is defined nowhere
    kind      what is the matter somewhere: DOMAIN, POLE or JUMP
    soft      whether that is at an end of an argument only
    """

    interval: Interval | None
    kind: str | None = None
    soft: bool = False


Shape = Callable[..., Found]
Function = Callable[..., arb]


def _monotone(
    function: Function, least: Any = MINUS_INFINITE, most: Any = INFINITE, *, falls: bool = False, open_: bool = False,
    within: tuple[Any, Any] = EVERYTHING,
) -> Shape:  # fmt: skip
    """A function that rises (or falls) over its domain, at whose ends it may be infinite (``open_``). ``within`` holds its range."""

    def shape(x: Interval) -> Found:
        a, b = x
        if b < least or a > most or (open_ and (b <= least or a >= most)):
            return Found(None, DOMAIN)
        ends = [function(max(a, least)), function(min(b, most))]
        first, last = ends[::-1] if falls else ends
        found = max(low(first), within[0]), min(high(last), within[1])
        if not (a >= least and b <= most):
            return Found(found, DOMAIN)
        at_end = open_ and ((a == least and least.is_finite()) or (b == most and most.is_finite()))
        return Found(found, POLE if at_end else None, bool(at_end))

    return shape


def _valley(function: Function, point: arb) -> Shape:
    """A function that falls up to a point and rises beyond."""

    def shape(x: Interval) -> Found:
        a, b = x
        bottom = a if a > point else b if b < point else point
        return Found((low(function(bottom)), max(high(function(a)), high(function(b)))))

    return shape


def _gamma_like(positive: Shape, function: Function) -> Shape:
    """A function with a known shape for positive numbers, and poles at 0 and all negative whole numbers."""
    elsewhere = _of_balls(function, POLE, lambda y: y.contains_integer())

    def shape(x: Interval) -> Found:
        if x[0] < 0 or x[1] == 0:
            return elsewhere(x)
        return positive(x) if x[0] > 0 else Found(positive(x).interval, POLE, True)

    return shape


def _polygamma(order: Interval, x: Interval) -> Found:
    n = int(order[0].unique_fmpz() or 0)
    if n == 0:
        return _SLOW["digamma"](x)

    def function(y: arb) -> arb:
        return acb(y).polygamma(n).real

    within = (ZERO, INFINITE) if n % 2 else (MINUS_INFINITE, ZERO)
    return _gamma_like(_monotone(function, ZERO, falls=bool(n % 2), open_=True, within=within), function)(x)


def _of_balls(function: Function, kind: str | None = None, trouble: Callable[[arb], bool] = lambda y: False) -> Shape:
    """A function of which nothing is known but balls."""

    def shape(*given: Interval) -> Found:
        balls = [ball_of(x) for x in given]
        found = function(*balls) if all(x.is_finite() for x in balls) else arb.nan()
        if found.is_finite() and not any(map(trouble, balls)):
            return Found((low(found), high(found)))
        return Found(EVERYTHING, kind)

    return shape


def ball_of(x: Interval) -> arb:
    """The smallest ball around an interval."""
    return x[0] if x[0] == x[1] else x[0].union(x[1])


def _bessel(kind: str, order: arb, x: arb) -> arb:
    found: arb = getattr(x, f"bessel_{kind}")(order)
    return found


def _constant(make: Callable[[], arb]) -> Shape:
    return lambda: Found(hull([make()]))


def _holds_whole(begin: arb, end: arb) -> bool:
    """Tell whether there may be a whole number between two numbers."""
    return not low(begin).ceil().mid() > high(end)


def _wave(function: Function, crest: arb) -> Shape:
    """A function of period 2*pi between -1 and 1, with a crest at crest*pi and a trough pi beyond."""

    def shape(x: Interval) -> Found:
        if not is_finite(x):
            return Found((-ONE, ONE))
        bottom, top = hull(map(function, x))
        begin, end = ((a / arb.pi() - crest) / 2 for a in x)
        if _holds_whole(begin, end):
            top = ONE
        if _holds_whole(begin - ONE / 2, end - ONE / 2):
            bottom = -ONE
        return Found((max(bottom, -ONE), min(top, ONE)))

    return shape


def _powers(x: Interval, y: Interval) -> Found:
    a, b = x
    if a >= 0:
        pole = bool(a == 0 and y[0] < 0)
        return Found(power(x, y), POLE if pole else None, pole)
    if not is_finite(y):
        return Found(EVERYTHING, DOMAIN)
    first, last = (int(end.unique_fmpz() or 0) for end in (y[0].ceil(), y[1].floor()))
    if last - first >= _MOST_EXPONENTS:
        return Found(EVERYTHING, DOMAIN)
    whole = y[0] == y[1] == first  # below 0, the function is that power, and has no value in between whole numbers
    parts = [] if whole or b < 0 else [power((ZERO, b), y)]
    parts += [whole_power(x if whole else (a, min(b, ZERO)), n) for n in range(first, last + 1)]
    pole = bool(b >= 0 and y[0] < 0)
    kind = POLE if pole else None if whole else DOMAIN
    if not parts:
        return Found(None, DOMAIN)
    return Found((min(part[0] for part in parts), max(part[1] for part in parts)), kind, pole)


def _angle(y: Interval, x: Interval) -> Found:
    """atan2: monotone along both axes but across the negative half of the x-axis."""
    at_origin = x[0] <= 0 <= x[1] and y[0] <= 0 <= y[1]
    if not is_finite(x) or not is_finite(y) or at_origin or (x[0] < 0 and y[0] < 0 <= y[1]):
        return Found((-high(arb.pi()), high(arb.pi())), JUMP)
    rows = [*y, ZERO] if y[0] <= 0 <= y[1] else y
    columns = [*x, ZERO] if x[0] <= 0 <= x[1] else x
    return Found(hull(arb.atan2(b, a) for a in columns for b in rows))


_HALF_PI = (-arb(2), arb(2))
_GAMMA_POINT = arb(arb("1.4616321449683623412626595423257213284681962040064463512959884").mid(), arb("1e-55"))  # where digamma is 0

_SHAPES: dict[str, Shape] = {
    "exp": _monotone(arb.exp, within=(ZERO, INFINITE)),
    "log": _monotone(arb.log, ZERO, open_=True),
    "tanh": _monotone(arb.tanh, within=(-ONE, ONE)),
    "acosh": _monotone(arb.acosh, ONE, within=(ZERO, INFINITE)),
    "atanh": _monotone(arb.atanh, -ONE, ONE, open_=True),
    "atan": _monotone(arb.atan, within=_HALF_PI),
    "asin": _monotone(arb.asin, -ONE, ONE, within=_HALF_PI),
    "acos": _monotone(arb.acos, -ONE, ONE, falls=True, within=(ZERO, arb(4))),
    "erf": _monotone(arb.erf, within=(-ONE, ONE)),
    "erfc": _monotone(arb.erfc, falls=True, within=(ZERO, arb(2))),
    "erfinv": _monotone(arb.erfinv, -ONE, ONE, open_=True),
    **{name: _monotone(getattr(arb, name)) for name in ("sinh", "asinh", "erfi", "shi")},
    "cosh": _valley(arb.cosh, ZERO),
    "sin": _wave(arb.sin, ONE / 2),
    "cos": _wave(arb.cos, ZERO),
    "pow": _powers,
    "atan2": _angle,
    "nan": lambda: Found(None, DOMAIN),
    "inf": lambda: Found(None, POLE),
    "-inf": lambda: Found(None, POLE),
    "pi": _constant(arb.pi),
    "e": _constant(arb.const_e),
    "euler": _constant(arb.const_euler),
}
_SLOW: dict[str, Shape] = {
    "lambertw": _monotone(arb.lambertw, -(arb(-1).exp()), within=(-ONE, INFINITE)),
    "gamma": _gamma_like(_valley(arb.gamma, _GAMMA_POINT), arb.gamma),
    "loggamma": _gamma_like(_valley(arb.lgamma, _GAMMA_POINT), lambda y: abs(arb.gamma(y)).log()),
    "digamma": _gamma_like(_monotone(arb.digamma, ZERO, open_=True), arb.digamma),
    "polygamma": _polygamma,
    "si": _of_balls(arb.si),
    **{name: _of_balls(getattr(arb, name), POLE) for name in ("ci", "chi", "ei", "li", "zeta")},
    **{f"bessel{kind}": _of_balls(partial(_bessel, kind), POLE) for kind in "jyik"},
}


def range_of(name: str, function: Any, given: Sequence[Interval]) -> tuple[Found, int, bool]:
    """The range of a function, the work that it took, in cells, and whether it is proved."""
    of_record = hasattr(function, "by_mpmath")  # whatever it is called
    if not of_record and name in _SHAPES:
        return _SHAPES[name](*given), 0, True
    if not of_record and name in _SLOW:
        return _SLOW[name](*given), 20, True
    found = in_balls(function, given)
    return (Found(_sampled(function, given)), 2_300, False) if found is None else (found, 300, True)


def in_balls(function: Any, given: Sequence[Interval]) -> Found | None:
    """The range of a function by its reference in balls; None if that is not computed there, or proves nothing."""
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    m = Balls()
    if not all(map(is_finite, given)):
        return Found(EVERYTHING, DOMAIN)
    try:
        value = program_of(function, len(given)).run(m, tuple(Ball(ball_of(x)) for x in given))[0]
    except Undecidable:
        return None if all(map(is_point, given)) else Found(EVERYTHING, DOMAIN)
    except (ArithmeticError, ValueError, TypeError, AttributeError, Unsupported):
        return None
    if m.uncertified or not isinstance(value, Ball):
        return None
    return Found(hull([value.ball])) if value.ball.is_finite() else Found(EVERYTHING, DOMAIN)


def _sampled(function: Any, given: Sequence[Interval]) -> Interval:
    """About what a function is between some ends."""
    from gradcli.reference.symbolic.translate import program_of

    steps = program_of(function, len(given))
    m = context()
    m.dps = 30
    values = []
    sides = [np.unique(np.linspace(float(a), float(b), _POINTS)) for a, b in given] if all(map(is_finite, given)) else [np.empty(0)]
    for point in product(*sides):
        try:
            value = float(steps.run(m, tuple(map(m.mpf, point)))[0])
        except (ArithmeticError, ValueError, TypeError):
            continue
        values += [arb(value)] if math.isfinite(value) else []
    if not values:
        return EVERYTHING
    room = (max(values) - min(values)) * arb(_ROOM)
    return low(min(values) - room), high(max(values) + room)
