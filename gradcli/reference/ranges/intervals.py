"""Intervals, boxes of them, and ranges of functions over them.

A range follows from where the function rises and falls, by its values at a few points; otherwise it
is computed in balls. Balls are poor enclosures of wide ranges: exp over [-9, 9] has no positive
ball. So an interval has two exact ends (``arb`` of radius 0), rounded outwards, which compare
without doubt and may be infinite. Balls compute the ends of results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import flint
from flint import arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ball import REAL, Real

INFINITE, ZERO, ONE = arb.pos_inf(), arb(0), arb(1)
precise = partial(flint.ctx.workprec, 256)  # sets FLINT's precision, which is global, for a while


def low(x: arb) -> arb:
    """Return the largest exact number that is known not to be above x."""
    return -INFINITE if x.is_nan() else x.lower()


def high(x: arb) -> arb:
    """Return the smallest exact number that is known not to be below x."""
    return INFINITE if x.is_nan() else x.upper()


def power(x: arb, p: arb) -> arb:
    """x**p of a number from 0 on, and its limit where it has none."""
    if x == 0 and p < 0:
        return INFINITE
    return ONE if x == 1 or p == 0 else x**p


@dataclass(slots=True)
class Interval:
    """All numbers from one end to the other."""

    low: arb
    high: arb

    @classmethod
    def around(cls, *balls: arb) -> Interval:
        """Return the smallest interval that holds some balls."""
        return cls(min(map(low, balls)), max(map(high, balls)))

    @classmethod
    def of(cls, q: fmpq) -> Interval:
        """Enclose a rational number."""
        return cls.around(arb(q))

    @property
    def ends(self) -> tuple[arb, arb]:
        return self.low, self.high

    @property
    def is_finite(self) -> bool:
        return bool(self.low.is_finite() and self.high.is_finite())

    @property
    def is_point(self) -> bool:
        return bool(self.low == self.high)

    def __contains__(self, x: arb | int) -> bool:
        return bool(self.low <= x <= self.high)

    def __add__(self, other: Interval) -> Interval:
        return Interval.around(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        """Zero times infinity is zero: an end of an interval stands for numbers beside it."""
        is_positive = self.low >= 0 <= other.low
        pairs = (zip if is_positive else product)(self.ends, other.ends)
        return Interval.around(*[ZERO if a == 0 or b == 0 else a * b for a, b in pairs])

    def __pow__(self, p: fmpq) -> Interval:
        """Powers of numbers from 0 on, unless the exponent is a whole number."""
        if p < 0:
            a, b = (self**-p).ends  # a quotient by 0 is no number, whose ends are infinite
            return EVERYTHING if a < 0 < b else Interval(low(1 / b), high(1 / a))
        if p == 1:
            return self
        whole, odd = p.q == 1, p.p % 2 == 1
        ends = self.ends if whole else [max(end, ZERO) for end in self.ends]
        powers = [power(abs(end), arb(p)) * (-1 if odd and end < 0 else 1) for end in ends]
        turns = p > 0 and whole and not odd and 0 in self
        return Interval.around(*powers, *([ZERO] if turns else []))

    def overlaps(self, other: Interval) -> bool:
        return bool(self.low <= other.high and other.low <= self.high)

    def __and__(self, other: Interval) -> Interval:
        """Return the numbers in two enclosures of the same numbers.

        If there are none, one enclosure is wrong.
        """
        if not self.overlaps(other):
            raise AssertionError(f"{self} and {other} have no number in common")
        return Interval(max(self.low, other.low), min(self.high, other.high))

    @property
    def width(self) -> arb:
        return self.high - self.low

    @property
    def middle(self) -> arb:
        """A number inside, for halving."""
        return ((self.low + self.high) / 2).mid()

    @property
    def ball(self) -> arb:
        """The smallest ball around it."""
        return self.low if self.is_point else self.low.union(self.high)

    @property
    def floats(self) -> tuple[float, float]:
        """The floats beside it that are nearest to its ends."""
        return below(self.low), 0.0 - below(-self.high)

    @property
    def roundest(self) -> float:
        return self.round_numbers[0]

    @property
    def round_numbers(self) -> list[float]:
        """The floats inside, the roundest first; if there are none, the one in the middle."""
        m = float(self.middle)
        return [p for digits in range(17) if arb(p := round(m, digits)) in self] or [m]


EVERYTHING, NOUGHT = Interval(-INFINITE, INFINITE), Interval(ZERO, ZERO)


def below(x: arb) -> float:
    """Return the largest float that is not above an exact number."""
    found = float(x) + 0.0  # turns -0.0 into 0.0
    return found if math.isnan(found) or arb(found) <= x else math.nextafter(found, -math.inf)


class Box(tuple[Interval, ...]):
    """A side for each variable."""

    __slots__ = ()

    @classmethod
    def at(cls, point: Iterable[arb | float]) -> Box:
        """Convert a point to a box."""
        return cls(Interval(arb(p), arb(p)) for p in point)

    def with_side(self, k: int, side: Interval) -> Box:
        """Replace a side of a box."""
        return Box((*self[:k], side, *self[k + 1 :]))

    def halves(self, k: int) -> list[Box]:
        """Cut a box in two across a side."""
        (a, b), m = self[k].ends, self[k].middle
        return [self.with_side(k, half) for half in (Interval(a, m), Interval(m, b))]

    @property
    def middle(self) -> Box:
        return Box.at(x.middle for x in self)

    @property
    def roundest(self) -> Box:
        """The point of the roundest numbers inside."""
        return Box.at(x.roundest for x in self)

    @property
    def corners(self) -> list[Box]:
        """Return the point of all lower ends, and that of all upper ones."""
        return [Box.at(x.low for x in self), Box.at(x.high for x in self)]

    @property
    def floats(self) -> list[tuple[float, float]]:
        return [x.floats for x in self]


# -- Functions, by the names of sympy's classes in small letters


KINDS = DOMAIN, POLE, JUMP, KINK = "domain", "pole", "jump", "kink"  # the gravest first
_HAVE_POLES = {"polygamma"}  # where they have no value
_BALLS = 100  # cost of one evaluation by a reference in balls, in evaluations of cells


class Found(NamedTuple):
    """The range of a function, if it is defined somewhere, and what is the matter somewhere."""

    interval: Interval | None
    kind: str | None = None


def _by_pieces(function: Real, x: Interval, *turns: tuple[arb, arb]) -> Found:
    """Return the range of a function that is monotone over its domain except where it turns.

    ``turns``: these places, with the values there. It has a pole where it is infinite at an end of
    its domain.
    """
    inside = Interval(max(x.low, arb(function.low)), min(x.high, arb(function.high)))
    if inside.low > inside.high:
        return Found(None, DOMAIN)
    ends = [function(end) for end in inside.ends]
    at_pole = any(
        p.is_finite() and not y.is_finite() for p, y in zip(inside.ends, ends, strict=True)
    )
    if at_pole and inside.is_point:
        return Found(None, DOMAIN)
    ends += [y for place, y in turns if not (place < inside.low or place > inside.high)]
    return Found(Interval.around(*ends), DOMAIN if inside != x else POLE if at_pole else None)


with precise():
    _INVERSE_E = (-ONE).exp()
    _X_LOG_X = Real("x_log_x", lambda x: x if x == 0 else x * x.log(), ZERO)
    # Where gamma is least beyond 0, and its value there: FLINT's ball of wide ones around this
    # point does not hold all values (3.6).
    _LEAST_GAMMA = (
        arb("1.46163214496836234126265954232572132846819620400644629515 +/- 1e-55"),
        arb("0.88560319441088870027881590058258873320795153366990344888 +/- 1e-55"),
    )


def _gamma(name: str, of: Callable[[arb], arb], x: Interval) -> Found:
    """Return gamma, or the logarithm of its size."""
    if x.high > 0 <= x.low:
        place, least = _LEAST_GAMMA
        return _by_pieces(REAL[name], x, (place, of(least)))
    return Found(Interval.around(of(x.ball.gamma())), POLE if x.ball.contains_integer() else None)


def _wave(function: Callable[[arb], arb], crest: arb, x: Interval) -> Found:
    """Return a function of period 2*pi, between 1 at crest*pi and -1 at (crest + 1)*pi."""
    whole, turns = Interval(-ONE, ONE), []
    if not x.is_finite:
        return Found(whole)
    for turn, value in ((crest, ONE), (crest + 1, -ONE)):
        begin, end = ((a / arb.pi() - turn) / 2 for a in x.ends)
        if not low(begin).ceil().mid() > high(end):  # a whole number may lie between them
            turns.append(value)
    return Found(whole & Interval.around(*map(function, x.ends), *turns))


def _powers(x: Interval, y: Interval) -> Found:
    """Powers with an exponent that varies; below 0 no range of them is known."""
    whole = y.low.unique_fmpz() if y.is_point else None
    if whole is not None:
        return Found(x ** fmpq(whole), POLE if y.low < 0 and 0 in x else None)
    if x.low < 0:
        nowhere = x.high < 0 and y.is_finite and y.high.floor() < y.low
        return Found(None if nowhere else EVERYTHING, DOMAIN)
    # For bases from 0 on, powers are monotone along both axes, so that the ends are at the corners.
    corners = [power(a, b) for a in x.ends for b in y.ends]
    found = Interval.around(*corners, *([ONE] if x.low == 0 and 0 in y else []))
    return Found(found, POLE if x.low == 0 and y.low < 0 else None)


def _angle(y: Interval, x: Interval) -> Found:
    """atan2, which jumps across the negative half of the x-axis."""
    across = x.low <= 0 and 0 in y and (y.low < 0 or x.high >= 0)
    if across or not x.is_finite or not y.is_finite:
        return Found(Interval(-high(arb.pi()), high(arb.pi())), JUMP)
    return Found(Interval.around(arb.atan2(y.ball, x.ball)))


def _floor(x: Interval) -> Found:
    found = Interval(*(end.floor().mid() if end.is_finite() else end for end in x.ends))
    return Found(found, None if found.is_point else JUMP)


_NAMES = "exp log sinh tanh asinh acosh atanh atan asin acos erf erfc erfi erfinv shi"
MONOTONE = _NAMES.split()  # analytic between the ends of their domains
ENTIRE = {name for name in MONOTONE if REAL[name].low == -REAL[name].high == -math.inf}
ENTIRE |= {"sin", "cos", "cosh", "pi", "e", "euler"}
_SHAPES: dict[str, Callable[..., Found]] = {
    **{name: partial(_by_pieces, REAL[name]) for name in MONOTONE},
    "cosh": lambda x: _by_pieces(REAL["cosh"], x, (ZERO, ONE)),
    "x_log_x": lambda x: _by_pieces(_X_LOG_X, x, (_INVERSE_E, -_INVERSE_E)),
    "sign": lambda x: Found(Interval(x.low.sgn(), x.high.sgn())),
    "gamma": partial(_gamma, "gamma", arb.__pos__),
    "loggamma": partial(_gamma, "loggamma", lambda y: abs(y).log()),
    "sin": partial(_wave, arb.sin, ONE / 2), "cos": partial(_wave, arb.cos, ZERO),
    "pow": _powers, "atan2": _angle, "floor": _floor,
    "nan": lambda: Found(None, DOMAIN), "inf": lambda: Found(None, POLE), "-inf": lambda: Found(None, POLE),
    "pi": lambda: Found(Interval.around(arb.pi())), "e": lambda: Found(Interval.around(arb.const_e())),
    "euler": lambda: Found(Interval.around(arb.const_euler())),
}  # fmt: skip


def range_of(name: str, function: Any, given: Sequence[Interval]) -> tuple[Found, int]:
    """Return the range of a function, and the work that it took, in cells.

    The range follows from its shape, or else from its reference in balls. Raises Unsupported where
    that proves nothing.
    """
    if name in _SHAPES and not hasattr(function, "by_mpmath"):  # that of a record has its own name
        return _SHAPES[name](*given), 0
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    unknown = Found(EVERYTHING, POLE if name in _HAVE_POLES else DOMAIN), _BALLS
    if not all(x.is_finite for x in given):
        return unknown
    m, value = Balls(), None
    try:
        value = program_of(function, len(given)).run(m, tuple(Ball(x.ball) for x in given))[0]
    except (Undecidable, ArithmeticError, ValueError):
        return unknown
    except (TypeError, AttributeError, NotImplementedError):
        pass
    if m.uncertified or not isinstance(value, Ball):
        raise Unsupported(f"{name} has no rigorous bounds")
    return (Found(Interval.around(value.ball)), _BALLS) if value.ball.is_finite() else unknown
