"""Ranges of functions over intervals: by how they rise and fall, from a few points; else in balls; or else sampled, which proves nothing.

Names are those of sympy's classes in small letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import flint
import numpy as np
from flint import acb, arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import context

# -- Intervals: two exact ends, rounded outwards at FLINT's precision; an end may be infinite.
# Boxes of them.
#
# Balls are poor enclosures of wide ranges: exp over [-9, 9] has no positive ball. So ends are
# exact numbers (``arb`` of radius 0), which compare without doubt, and balls are what the ends of
# results are computed in.


BITS = 256
Interval = tuple[arb, arb]
Box = tuple[Interval, ...]

INFINITE, MINUS_INFINITE, ZERO, ONE = arb.pos_inf(), arb.neg_inf(), arb(0), arb(1)
EVERYTHING: Interval = (MINUS_INFINITE, INFINITE)


@contextmanager
def precise() -> Iterator[None]:
    """FLINT's precision, which is global, for a while."""
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        yield
    finally:
        flint.ctx.prec = before


def low(x: arb) -> arb:
    """The largest exact number that is known not to be above."""
    return MINUS_INFINITE if x.is_nan() else x.lower()


def high(x: arb) -> arb:
    """The smallest exact number that is known not to be below."""
    return INFINITE if x.is_nan() else x.upper()


def hull(balls: Iterable[arb]) -> Interval:
    """The interval around some balls."""
    balls = list(balls)
    return min(map(low, balls)), max(map(high, balls))


def rational(q: fmpq) -> Interval:
    """A rational number."""
    x = arb(q)
    return low(x), high(x)


def is_finite(x: Interval) -> bool:
    return bool(x[0].is_finite() and x[1].is_finite())


def is_point(x: Interval, value: int | None = None) -> bool:
    """Tell whether an interval is one number, or a certain one."""
    return bool(x[0] == x[1] and (value is None or x[0] == value))


def add(x: Interval, y: Interval) -> Interval:
    return low(x[0] + y[0]), high(x[1] + y[1])


def _times(x: arb, y: arb) -> arb:
    """Zero times infinity is zero: an end of an interval stands for numbers beside it, not for itself."""
    return ZERO if x == 0 or y == 0 else x * y


def multiply(x: Interval, y: Interval) -> Interval:
    if x[0] >= 0 and y[0] >= 0:
        return low(_times(x[0], y[0])), high(_times(x[1], y[1]))
    return hull([_times(a, b) for a in x for b in y])


def _inverse(x: Interval) -> Interval:
    """1/x; all numbers where x has both signs."""
    a, b = x
    if a < 0 < b or (a == 0 and b == 0):
        return EVERYTHING
    return (MINUS_INFINITE if b == 0 else low(1 / b)), (INFINITE if a == 0 else high(1 / a))


def whole_power(x: Interval, n: int) -> Interval:
    """x**n of a whole number n."""
    if n < 0:
        return _inverse(whole_power(x, -n))
    a, b = x
    if n == 0:
        return ONE, ONE
    if n % 2 or a >= 0:
        return low(a**n), high(b**n)
    if b <= 0:
        return low(b**n), high(a**n)
    return ZERO, max(high(a**n), high(b**n))


def rational_power(x: Interval, p: fmpq) -> Interval:
    """x**p: of numbers from 0 on, unless p is a whole number."""
    if p.q == 1:
        return whole_power(x, int(p.p))
    return power((max(x[0], ZERO), max(x[1], ZERO)), (arb(p), arb(p)))


def power(x: Interval, y: Interval) -> Interval:
    """x**y of numbers x from 0 on: monotone along both axes, so that the ends are at corners."""
    corners = [_positive_power(a, b) for a in x for b in y]
    if x[0] == 0 and y[0] <= 0 <= y[1]:
        corners.append(ONE)
    return hull(corners)


def _positive_power(x: arb, p: arb) -> arb:
    if x == 0:
        return ZERO if p > 0 else INFINITE if p < 0 else ONE
    if x == INFINITE:
        return INFINITE if p > 0 else ZERO if p < 0 else ONE
    if p == arb(0.5):
        return x.sqrt()
    if not p.is_finite():
        return ONE if x == 1 else INFINITE if (x > 1) == (p > 0) else ZERO
    return x**p


def x_log_x(x: Interval | None, p: fmpq) -> Interval | None:
    """x**p*log(abs(x)) for p > 0, 0 at 0; None for what is not finite, or has roots of numbers below 0."""
    if x is None or not is_finite(x) or (x[0] < 0 and p.q != 1):
        return None
    top = max(abs(x[0]), abs(x[1]))
    if top == 0:
        return ZERO, ZERO
    turn = (-1 / arb(p)).exp()  # where it is least: -1/(p*e)
    last = _positive_power(top, arb(p)) * top.log()
    found = (low(last) if top < turn else low(-1 / (arb(p) * arb(1).exp())), max(ZERO, high(last)))
    return found if x[0] >= 0 or int(p.p) % 2 == 0 else (min(found[0], -found[1]), max(found[1], -found[0]))


class Disjoint(AssertionError):
    """Two enclosures of the same numbers have none in common: one of them is wrong."""


def overlap(x: Interval, y: Interval) -> bool:
    return bool(x[0] <= y[1] and y[0] <= x[1])


def meet(x: Interval, y: Interval) -> Interval:
    """The numbers in both of two enclosures of the same numbers. Raises Disjoint."""
    if not overlap(x, y):
        raise Disjoint(f"[{x[0]}, {x[1]}] and [{y[0]}, {y[1]}] have no number in common, and should have those of one function")
    return max(x[0], y[0]), min(x[1], y[1])


def middle(x: Interval) -> arb:
    """A number inside, for halving: infinite intervals are halved where floats would."""
    return x[0] if x[0] == x[1] else arb((x[0] + x[1]).mid() / 2).mid()


def below(x: arb) -> float:
    """The largest float that is not above an exact number."""
    found = float(x) + 0.0  # no minus sign on a zero
    return found if math.isnan(found) or arb(found) <= x else math.nextafter(found, -math.inf)


def above(x: arb) -> float:
    """The smallest float that is not below an exact number."""
    return 0.0 - below(-x)


def round_numbers(x: Interval) -> list[float]:
    """The roundest floats in an interval, the roundest first; if there are none, the one in its middle."""
    m = float(middle(x).mid())
    found = [p for digits in range(17) if x[0] <= arb(p := round(m, digits)) <= x[1]]
    return found or [m]


# -- boxes


class Sides:
    """The sides of a box that matter to a cell: those of its variables that are not points."""

    def __init__(self, box: Box, leaves: Iterable[int]) -> None:
        self.places = [k for k in sorted(leaves) if box[k][0] < box[k][1]]
        self.whole = {k: box[k][1] - box[k][0] for k in self.places}

    def is_below(self, box: Box, share: float) -> bool:
        """Tell whether all sides are so small, as shares of those of the whole box."""
        return all(box[k][1] - box[k][0] <= self.whole[k] * share for k in self.places)

    def halves(self, box: Box) -> list[Box]:
        """A box cut in two, across its widest side."""
        k = max(self.places, key=lambda k: float(((box[k][1] - box[k][0]) / self.whole[k]).mid()))
        a, b = box[k]
        m = middle((a, b))
        return [with_side(box, k, half) for half in ((a, m), (m, b))]


def with_side(box: Box, k: int, side: Interval) -> Box:
    """A box with another side."""
    return (*box[:k], side, *box[k + 1 :])


def corners(box: Box) -> list[Box]:
    """The points of all lower ends, and of all upper ones."""
    return [tuple((x[end], x[end]) for x in box) for end in (0, 1)]


def thin(point: Iterable[arb | float]) -> Box:
    """A point as a box."""
    return tuple((arb(p), arb(p)) for p in point)


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
