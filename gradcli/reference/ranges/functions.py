"""Ranges of functions over intervals: by how they rise and fall, from a few points; else in balls.

Names are those of sympy's classes in small letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import flint
from flint import acb, arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ball import REAL, Real

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
    return hull([arb(q)])


def is_finite(x: Interval) -> bool:
    return bool(x[0].is_finite() and x[1].is_finite())


def is_point(x: Interval, value: int | None = None) -> bool:
    """Tell whether an interval is one number, or a certain one."""
    return bool(x[0] == x[1] and (value is None or x[0] == value))


def add(x: Interval, y: Interval) -> Interval:
    return low(x[0] + y[0]), high(x[1] + y[1])


def _times(x: arb, y: arb) -> arb:
    """Zero times infinity is zero: an end of an interval stands for numbers beside it, not for itself."""
    if x == 0 or y == 0:
        return ZERO
    if x.is_finite() and y.is_finite():
        return x * y
    return INFINITE if (x > 0) == (y > 0) else MINUS_INFINITE


def multiply(x: Interval, y: Interval) -> Interval:
    for factors in ((x, y), (y, x)):
        (a, b), (c, d) = factors
        if b <= 0:
            a, b, c, d = -b, -a, -d, -c
        if a >= 0:
            return _times(b if c < 0 else a, c).lower(), _times(a if d < 0 else b, d).upper()
    products = [_times(a, b) for a in x for b in y]
    return min([z.lower() for z in products]), max([z.upper() for z in products])


def inverse(x: Interval) -> Interval:
    """1/x; all numbers where x has both signs."""
    a, b = x
    if a < 0 < b or (a == 0 and b == 0):
        return EVERYTHING
    return (MINUS_INFINITE if b == 0 else low(1 / b)), (INFINITE if a == 0 else high(1 / a))


def whole_power(x: Interval, n: int) -> Interval:
    """x**n of a whole number n."""
    if n < 0:
        return inverse(whole_power(x, -n))
    if n == 0:
        return ONE, ONE
    ends = [end**n if end.is_finite() else end if n % 2 else INFINITE for end in x]
    if n % 2 or x[0] >= 0:
        return ends[0].lower(), ends[1].upper()
    return hull(ends if x[1] <= 0 else [*ends, ZERO])


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
    if x == 0 and p < 0:
        return INFINITE
    return ONE if x == 1 or p == 0 else x**p


def x_log_x(x: Interval | None, p: fmpq) -> Interval | None:
    """x**p*log(abs(x)) for p > 0, 0 at 0; None for what is not finite, or has roots of numbers below 0."""
    if x is None or not is_finite(x) or (x[0] < 0 and p.q != 1):
        return None
    top = max(abs(x[0]), abs(x[1]))
    ends = [ZERO] if top == 0 else [ZERO, _positive_power(top, arb(p)) * top.log()]
    if not top < (-1 / arb(p)).exp():  # where it is least
        ends.append(-1 / (arb(p) * arb(1).exp()))
    return hull(ends if x[0] >= 0 or int(p.p) % 2 == 0 else [*ends, *[-end for end in ends]])


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
    """A number inside, for halving."""
    return ((x[0] + x[1]) / 2).mid()


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
_BALLS = 100  # cells whose evaluation takes as long as one of a reference in balls
_MOST_EXPONENTS = 16  # whole numbers of an interval, for each of which numbers below 0 have a power


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


def _monotone(function: Real, x: Interval) -> Found:
    """The range of a function that rises or falls over its domain. Where it is infinite at an end of that, it has a pole."""
    a, b = inside = max(x[0], arb(function.low)), min(x[1], arb(function.high))
    if a > b:
        return Found(None, DOMAIN)
    ends = [function(end) for end in inside]
    at_pole = any(end.is_finite() and not value.is_finite() for end, value in zip(inside, ends, strict=True))
    if at_pole and a == b:
        return Found(None, DOMAIN)
    return Found(hull(ends), DOMAIN if inside != x else POLE if at_pole else None, inside == x and at_pole)


def _valley(function: Function, x: Interval, point: arb, least: arb) -> Interval:
    """The range of a function that falls up to a point, where its least value is, and rises beyond."""
    ends = list(map(function, x))
    return hull(ends if x[0] > point or x[1] < point else [*ends, least])


def ball_of(x: Interval) -> arb:
    """The smallest ball around an interval."""
    return x[0] if x[0] == x[1] else x[0].union(x[1])


# Where gamma is least beyond 0, and its value there: FLINT's ball of wide ones around this point
# does not hold all values (3.6).
_GAMMA_POINT = arb(arb("1.46163214496836234126265954232572132846819620400644629515").mid(), arb("1e-55"))
_LEAST_GAMMA = arb(arb("0.88560319441088870027881590058258873320795153366990344888").mid(), arb("1e-55"))


def _gamma(x: Interval) -> Found:
    if x[1] > 0 <= x[0]:
        at_pole = bool(x[0] == 0)
        return Found(_valley(arb.gamma, x, _GAMMA_POINT, _LEAST_GAMMA), POLE if at_pole else None, at_pole)
    ball = ball_of(x)
    if not ball.is_finite() or ball.contains_integer():
        return Found(EVERYTHING, POLE)
    mirrored, *_ = _gamma((low(1 - x[1]), high(1 - x[0])))
    assert mirrored is not None
    return Found(inverse(multiply(mirrored, hull([ball.sin_pi() / arb.pi()]))))


def _loggamma(x: Interval) -> Found:
    found = _gamma(x)
    a, b = found.interval or EVERYTHING
    return found._replace(interval=EVERYTHING if a < 0 < b else hull([REAL["log"](abs(end)) for end in (a, b)]))


def _polygamma(order: Interval, x: Interval) -> Found:
    """The derivatives of digamma, which rises between its poles."""
    ball = ball_of(x)
    if not ball.is_finite() or (x[0] <= 0 and ball.contains_integer()):
        return Found(EVERYTHING, POLE)
    if is_point(order, 0):
        return Found(hull(map(arb.digamma, x)))
    return Found(hull([acb(ball).polygamma(order[0]).real]))


def _wave(function: Function, crest: arb, x: Interval) -> Found:
    """A function of period 2*pi between -1 and 1, with a crest at crest*pi and a trough pi beyond."""
    if not is_finite(x):
        return Found((-ONE, ONE))
    ends = list(map(function, x))
    for turn, value in ((crest, ONE), (crest + 1, -ONE)):
        begin, end = ((a / arb.pi() - turn) / 2 for a in x)
        if not low(begin).ceil().mid() > high(end):  # there may be a whole number between them
            ends.append(value)
    bottom, top = hull(ends)
    return Found((max(bottom, -ONE), min(top, ONE)))


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
    across = x[0] <= 0 and y[0] <= 0 <= y[1] and (y[0] < 0 or x[1] >= 0)
    if across or not is_finite(x) or not is_finite(y):
        return Found((-high(arb.pi()), high(arb.pi())), JUMP)
    rows, columns = ([*side, ZERO] if side[0] <= 0 <= side[1] else side for side in (y, x))
    return Found(hull([arb.atan2(b, a) for a in columns for b in rows]))


_MONOTONE = "exp log sinh tanh asinh acosh atanh atan asin acos erf erfc erfi erfinv shi"


def _floor(x: Interval) -> Found:
    first, last = (end.floor().mid() if end.is_finite() else end for end in x)
    return Found((first, last), None if first == last else JUMP)


_SHAPES: dict[str, Shape] = {
    **{name: partial(_monotone, REAL[name]) for name in _MONOTONE.split()},
    "lambertw": partial(_monotone, Real("lambertw", arb.lambertw, -(arb(-1).exp()))),
    "cosh": lambda x: Found(_valley(arb.cosh, x, ZERO, ONE)),
    "gamma": _gamma,
    "loggamma": _loggamma,
    "polygamma": _polygamma,
    "sin": partial(_wave, arb.sin, ONE / 2),
    "cos": partial(_wave, arb.cos, ZERO),
    "pow": _powers,
    "atan2": _angle,
    "floor": _floor,
    "nan": lambda: Found(None, DOMAIN),
    "inf": lambda: Found(None, POLE),
    "-inf": lambda: Found(None, POLE),
    "pi": lambda: Found(hull([arb.pi()])),
    "e": lambda: Found(hull([arb.const_e()])),
    "euler": lambda: Found(hull([arb.const_euler()])),
}


def range_of(name: str, function: Any, given: Sequence[Interval]) -> tuple[Found, int]:
    """The range of a function, and the work that it took, in cells.

    By its shape, else by its reference in balls. Raises Unsupported where that is not computed there, or proves nothing.
    """
    if name in _SHAPES and not hasattr(function, "by_mpmath"):  # which is of a record, whatever it is called
        return _SHAPES[name](*given), 0
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    unknown = Found(EVERYTHING, DOMAIN), _BALLS
    if not all(map(is_finite, given)):
        return unknown
    m, value = Balls(), None
    try:
        value = program_of(function, len(given)).run(m, tuple(Ball(ball_of(x)) for x in given))[0]
    except (Undecidable, ArithmeticError, ValueError):
        return unknown
    except (TypeError, AttributeError):
        pass
    if m.uncertified or not isinstance(value, Ball):
        raise Unsupported(f"{name} has no rigorous bounds")
    return (Found(hull([value.ball])), _BALLS) if value.ball.is_finite() else unknown
