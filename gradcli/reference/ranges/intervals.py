"""Intervals: two exact ends, rounded outwards at FLINT's precision; an end may be infinite. Boxes of them.

Balls are poor enclosures of wide ranges: exp over [-9, 9] has no positive ball. So ends are exact numbers (``arb`` of radius 0), which
compare without doubt, and balls are what the ends of results are computed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import flint
from flint import arb, fmpq

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
