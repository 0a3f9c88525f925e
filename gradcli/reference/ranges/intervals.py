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
from typing import Any

import flint
from flint import arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ball import REAL, Ball

INFINITE, ZERO, ONE = arb.pos_inf(), arb(0), arb(1)
_LINE = -INFINITE, INFINITE  # where nothing is known
precise = partial(flint.ctx.workprec, 256)  # sets FLINT's precision, which is global, for a while


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
        ends = [_LINE if x.is_nan() else (x.lower(), x.upper()) for x in balls]
        return cls(min(low for low, _ in ends), max(high for _, high in ends))

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
            a, b = (self**-p).ends
            inverse = -INFINITE if b == 0 else 1 / b, INFINITE if a == 0 else 1 / a
            return EVERYTHING if a < 0 < b else Interval.around(*inverse)
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
        """Return the numbers in two enclosures of the same numbers; without any, one is wrong."""
        if not self.overlaps(other):
            raise AssertionError(f"{self} and {other} have no number in common")
        return Interval(max(self.low, other.low), min(self.high, other.high))

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
    def round_numbers(self) -> list[float]:
        """The floats inside, the roundest first; if there are none, the one in the middle."""
        m = float(self.middle)
        return [p for digits in range(17) if arb(p := round(m, digits)) in self] or [m]


EVERYTHING, NOUGHT = Interval(*_LINE), Interval(ZERO, ZERO)


def below(x: arb) -> float:
    """Return the largest float that is not above an exact number."""
    found = float(x) + 0.0  # turns -0.0 into 0.0
    return found if math.isnan(found) or arb(found) <= x else math.nextafter(found, -math.inf)


class Box(tuple[Interval, ...]):
    """A side for each variable."""

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
        return Box.at(x.round_numbers[0] for x in self)

    @property
    def corners(self) -> list[Box]:
        """Return the point of all lower ends, and that of all upper ones."""
        return [Box.at(x.low for x in self), Box.at(x.high for x in self)]


# -- Functions, by the names of sympy's classes in small letters


KINDS = "domain", "pole", "jump", "kink"  # of what is the matter somewhere, the gravest first
_HAVE_POLES = {"polygamma", "zeta"}  # where they have no value
_BALLS = 100  # cost of one evaluation by a reference in balls, in evaluations of cells


# The range of a function, if it is defined somewhere, and what is the matter somewhere.
Found = tuple[Interval | None, str | None]


def _by_pieces(function: Any, domain: Interval, x: Interval, *turns: tuple[arb, arb]) -> Found:
    """Return the range of a function that is monotone over its domain except where it turns.

    ``turns``: these places, with the values there. It has a pole where it is infinite at an end of
    its domain.
    """
    if not domain.overlaps(x):
        return None, "domain"
    inside = domain & x
    ends = [*map(function, inside.ends)]
    at_pole = any(p.is_finite() > y.is_finite() for p, y in zip(inside.ends, ends, strict=True))
    if at_pole and inside.is_point:
        return None, "domain"
    ends += [y for place, y in turns if not (place < inside.low or place > inside.high)]
    return Interval.around(*ends), "domain" if inside != x else "pole" if at_pole else None


with precise():
    _INVERSE_E, _PI = (-ONE).exp(), arb.pi()
    # Where gamma is least beyond 0, and its value there: FLINT's ball of wide ones around this
    # point does not hold all values (3.6).
    _LEAST_GAMMA = (
        arb("1.46163214496836234126265954232572132846819620400644629515 +/- 1e-55"),
        arb("0.88560319441088870027881590058258873320795153366990344888 +/- 1e-55"),
    )
_POSITIVE = Interval(ZERO, INFINITE)


def _gamma(name: str, of: Callable[[arb], arb], x: Interval) -> Found:
    """Return gamma, or the logarithm of its size."""
    if x.high > 0 <= x.low:
        function, (place, least) = REAL[name], _LEAST_GAMMA
        turn = place, of(least)
        return _by_pieces(lambda p: INFINITE if p == 0 else function(p), _POSITIVE, x, turn)
    return Interval.around(of(x.ball.gamma())), "pole" if x.ball.contains_integer() else None


def _wave(function: Callable[[arb], arb], crest: arb, x: Interval) -> Found:
    """Return a function of period 2*pi, between 1 at crest*pi and -1 at (crest + 1)*pi."""
    if not x.is_finite:
        return Interval(-ONE, ONE), None
    turns = ((x.ball / _PI - crest) / 2, ONE), ((x.ball / _PI - crest - 1) / 2, -ONE)
    extremes = [value for periods, value in turns if periods.contains_integer()]
    return Interval.around(*map(function, x.ends), *extremes) & Interval(-ONE, ONE), None


def _powers(x: Interval, y: Interval) -> Found:
    """Powers with an exponent that varies; below 0 no range of them is known."""
    whole = y.low.unique_fmpz() if y.is_point else None
    if whole is not None:
        return x ** fmpq(whole), "pole" if y.low < 0 and 0 in x else None
    if x.low < 0:
        nowhere = x.high < 0 and y.is_finite and y.high.floor() < y.low
        return None if nowhere else EVERYTHING, "domain"
    # For bases from 0 on, powers are monotone along both axes, so that the ends are at the corners.
    corners = [power(a, b) for a in x.ends for b in y.ends]
    found = Interval.around(*corners, *([ONE] if x.low == 0 and 0 in y else []))
    return found, "pole" if x.low == 0 and y.low < 0 else None


def _angle(y: Interval, x: Interval) -> Found:
    """atan2, which has its ends at corners; it jumps at 0, and across the negative x-axis."""
    across = x.low < 0 and y.low < 0 <= y.high
    if across or not x.is_finite or not y.is_finite:
        return Interval.around(-_PI, _PI), "jump"
    corners = [arb.atan2(b, a) for b in y.ends for a in x.ends]
    return Interval.around(*corners), "jump" if 0 in x and 0 in y else None


def _floor(x: Interval) -> Found:
    found = Interval(*(end.floor().mid() if end.is_finite() else end for end in x.ends))
    return found, None if found.is_point else "jump"


def _incomplete(of: Callable[[arb], arb], a: Interval, x: Interval, order: Interval) -> Any:
    if order != NOUGHT or a.low <= 0:
        return None
    return _by_pieces(lambda p: of(p.gamma_lower(a.ball, 1)), _POSITIVE, x)


_NAMES = "exp log sinh tanh asinh acosh atanh atan asin acos erf erfc erfi erfinv shi"
_DOMAINS = {x: Interval(arb(REAL[x].low), arb(REAL[x].high)) for x in _NAMES.split()}
# Functions that are analytic between the ends of their domains, and whether they have no ends.
ANALYTIC = {name: domain == EVERYTHING for name, domain in _DOMAINS.items()}
ANALYTIC |= dict.fromkeys(("sin", "cos", "cosh", "pi", "e", "euler"), True)
_SHAPES: dict[str, Callable[..., Found | None]] = {
    **{name: partial(_by_pieces, REAL[name], domain) for name, domain in _DOMAINS.items()},
    "cosh": lambda x: _by_pieces(REAL["cosh"], EVERYTHING, x, (ZERO, ONE)),
    "x_log_x": lambda x: _by_pieces(lambda p: p if p == 0 else p * p.log(), _POSITIVE, x, (_INVERSE_E, -_INVERSE_E)),
    "sign": lambda x: (Interval(x.low.sgn(), x.high.sgn()), None),
    "gamma": partial(_gamma, "gamma", arb.__pos__),
    "loggamma": partial(_gamma, "loggamma", lambda y: abs(y).log()),
    "sin": partial(_wave, arb.sin, ONE / 2), "cos": partial(_wave, arb.cos, ZERO),
    "pow": _powers, "atan2": _angle, "floor": _floor,
    "nan": lambda: (None, "domain"), "inf": lambda: (None, "pole"), "-inf": lambda: (None, "pole"),
    "pi": lambda: (Interval.around(arb.pi()), None), "e": lambda: (Interval.around(arb.const_e()), None),
    "euler": lambda: (Interval.around(arb.const_euler()), None),
    "spence": partial(_by_pieces, lambda p: _PI**2 / 6 if p == 0 else (1 - p).polylog(2), _POSITIVE),
    "expint": lambda n, x: _by_pieces(lambda p: INFINITE if p == 0 and n.low <= 1 else p.expint(n.ball), _POSITIVE, x),
    "besselk": lambda v, x: _by_pieces(lambda p: INFINITE if p == 0 else p.bessel_k(v.ball), _POSITIVE, x),
    "gammainc": partial(_incomplete, arb.__pos__), "gammaincc": partial(_incomplete, lambda lower: 1 - lower),
}  # fmt: skip


def range_of(name: str, function: Any, given: Sequence[Interval]) -> tuple[Found, int]:
    """Return the range of a function by its shape, or else its reference in balls, and the work.

    Raises Unsupported where the reference proves nothing.
    """
    if name in _SHAPES and (found := _SHAPES[name](*given)):
        return found, 0
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    unknown: Found = EVERYTHING, "pole" if name in _HAVE_POLES else "domain"
    if not all(x.is_finite for x in given):
        return unknown, _BALLS
    m, value = Balls(), None
    try:
        value = program_of(function, len(given)).run(m, tuple(Ball(x.ball) for x in given))[0]
    except (Undecidable, ArithmeticError, ValueError):
        return unknown, _BALLS
    except (TypeError, AttributeError, NotImplementedError):
        pass
    if m.uncertified or not isinstance(value, Ball):
        raise Unsupported(f"{name} has no rigorous bounds")
    return (Interval.around(value.ball), None) if value.ball.is_finite() else unknown, _BALLS
