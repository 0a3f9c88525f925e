"""Intervals: two exact ends, rounded outwards at FLINT's precision; an end may be infinite.

Boxes of them.

Balls are poor enclosures of wide ranges: exp over [-9, 9] has no positive ball. So ends are exact
numbers (``arb`` of radius 0), which compare without doubt, and balls are what the ends of results
are computed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import flint
from flint import arb, fmpq

INFINITE, ZERO, ONE = arb.pos_inf(), arb(0), arb(1)
precise = partial(flint.ctx.workprec, 256)  # FLINT's precision, which is global, for a while


def low(x: arb) -> arb:
    """The largest exact number that is known not to be above."""
    return -INFINITE if x.is_nan() else x.lower()


def high(x: arb) -> arb:
    """The smallest exact number that is known not to be below."""
    return INFINITE if x.is_nan() else x.upper()


def _times(x: arb, y: arb) -> arb:
    """Zero times infinity is zero: an end of an interval stands for numbers beside it, not for
    itself.
    """
    return ZERO if x == 0 or y == 0 else x * y


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
        """The smallest interval that holds some balls."""
        return cls(min(map(low, balls)), max(map(high, balls)))

    @classmethod
    def of(cls, q: fmpq) -> Interval:
        """A rational number."""
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

    @property
    def is_zero(self) -> bool:
        return bool(self.low == 0 == self.high)

    def __contains__(self, x: arb | int) -> bool:
        return bool(self.low <= x <= self.high)

    def __add__(self, other: Interval) -> Interval:
        return Interval(low(self.low + other.low), high(self.high + other.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        if self.low < 0 >= self.high:
            return -(-self * other)
        if self.low >= 0 <= other.low:
            return Interval(
                _times(self.low, other.low).lower(), _times(self.high, other.high).upper()
            )
        return Interval.around(*[_times(a, b) for a in self.ends for b in other.ends])

    def inverse(self) -> Interval:
        """1/x; all numbers where x has both signs."""
        a, b = self.ends
        if a < 0 < b or a == 0 == b:
            return EVERYTHING
        return Interval(-INFINITE if b == 0 else low(1 / b), INFINITE if a == 0 else high(1 / a))

    def __pow__(self, p: fmpq) -> Interval:
        """Powers of numbers from 0 on, unless the exponent is a whole number."""
        if p < 0:
            return (self**-p).inverse()
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
        """The numbers in both of two enclosures of the same numbers, of which one is wrong if there
        are none.
        """
        if not self.overlaps(other):
            raise AssertionError(
                f"{self} and {other} have no number in common, and should have those of one "
                "function"
            )
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
        """The roundest floats inside, the roundest first; if there are none, the one in the
        middle.
        """
        m = float(self.middle)
        return [p for digits in range(17) if arb(p := round(m, digits)) in self] or [m]


EVERYTHING = Interval(-INFINITE, INFINITE)


def below(x: arb) -> float:
    """The largest float that is not above an exact number."""
    found = float(x) + 0.0  # no minus sign on a zero
    return found if math.isnan(found) or arb(found) <= x else math.nextafter(found, -math.inf)


Box = tuple[Interval, ...]


def with_side(box: Box, k: int, side: Interval) -> Box:
    """A box with another side."""
    return (*box[:k], side, *box[k + 1 :])


def thin(point: Iterable[arb | float]) -> Box:
    """A point as a box."""
    return tuple(Interval(arb(p), arb(p)) for p in point)


def corners(box: Box) -> list[Box]:
    """The points of all lower ends, and of all upper ones."""
    return [thin(x.low for x in box), thin(x.high for x in box)]


class Sides:
    """The sides of a box that matter to a cell: those of its variables that are not points."""

    def __init__(self, box: Box, leaves: Iterable[int]) -> None:
        self.whole = {k: box[k].high - box[k].low for k in sorted(leaves) if not box[k].is_point}

    def is_below(self, box: Box, share: float) -> bool:
        """Tell whether all sides are so small, as shares of those of the whole box."""
        return all(box[k].high - box[k].low <= side * share for k, side in self.whole.items())

    def halves(self, box: Box) -> list[Box]:
        """A box cut in two, across its widest side."""
        k = max(self.whole, key=lambda k: float(((box[k].high - box[k].low) / self.whole[k]).mid()))
        m = box[k].middle
        return [
            with_side(box, k, half) for half in (Interval(box[k].low, m), Interval(m, box[k].high))
        ]
