"""Intervals: two exact ends, rounded outwards at FLINT's precision; an end may be infinite.

Balls are poor enclosures of wide ranges: exp over [-9, 9] has no positive ball. So ends are exact numbers (``arb`` of radius 0), which
compare without doubt, and balls are what the ends of results are computed in.
"""

from __future__ import annotations

from flint import arb, ctx, fmpq

Interval = tuple[arb, arb]

INFINITE, MINUS_INFINITE, ZERO, ONE = arb.pos_inf(), arb.neg_inf(), arb(0), arb(1)
EVERYTHING: Interval = (MINUS_INFINITE, INFINITE)


def low(x: arb) -> arb:
    """The largest exact number that is known not to be above."""
    return MINUS_INFINITE if x.is_nan() else x.lower()


def high(x: arb) -> arb:
    """The smallest exact number that is known not to be below."""
    return INFINITE if x.is_nan() else x.upper()


def around(x: arb) -> Interval:
    """What a ball holds."""
    return low(x), high(x)


def rational(q: fmpq) -> Interval:
    """A rational number."""
    return around(arb(q))


class Rational:
    """A rational number that is asked for again and again."""

    __slots__ = ("_bits", "_interval", "value")

    def __init__(self, value: fmpq) -> None:
        self.value, self._bits = value, 0
        self._interval: Interval = EVERYTHING

    @property
    def interval(self) -> Interval:
        if self._bits != ctx.prec:
            self._interval, self._bits = rational(self.value), ctx.prec
        return self._interval


def add(x: Interval, y: Interval) -> Interval:
    return low(x[0] + y[0]), high(x[1] + y[1])


def _times(x: arb, y: arb) -> arb:
    """Zero times infinity is zero: an end of an interval stands for numbers beside it, not for itself."""
    return ZERO if x == 0 or y == 0 else x * y


def multiply(x: Interval, y: Interval) -> Interval:
    a, b = x
    c, d = y
    if a >= 0:
        if c >= 0:
            return low(_times(a, c)), high(_times(b, d))
        if d <= 0:
            return low(_times(b, c)), high(_times(a, d))
        return low(_times(b, c)), high(_times(b, d))
    if b <= 0:
        if c >= 0:
            return low(_times(a, d)), high(_times(b, c))
        if d <= 0:
            return low(_times(b, d)), high(_times(a, c))
        return low(_times(a, d)), high(_times(a, c))
    if c >= 0:
        return low(_times(a, d)), high(_times(b, d))
    if d <= 0:
        return low(_times(b, c)), high(_times(a, c))
    return min(low(_times(a, d)), low(_times(b, c))), max(high(_times(a, c)), high(_times(b, d)))


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
    a, b = x
    if n % 2 or a >= 0:
        return low(a**n), high(b**n)
    if b <= 0:
        return low(b**n), high(a**n)
    return ZERO, max(high(a**n), high(b**n))


def real_power(x: Interval, p: fmpq) -> Interval:
    """x**p of numbers from 0 on."""
    a, b = x
    if p < 0:
        a, b = b, a
    return low(_positive_power(a, arb(p))), high(_positive_power(b, arb(p)))


def power(x: Interval, y: Interval) -> Interval:
    """x**y of numbers x from 0 on: monotone along both axes, so that the ends are at corners."""
    corners = [_positive_power(a, b) for a in x for b in y]
    if x[0] == 0 and y[0] <= 0 <= y[1]:
        corners.append(ONE)
    return min(map(low, corners)), max(map(high, corners))


def x_log_x(x: Interval | None, p: fmpq) -> Interval | None:
    """x**p*log(abs(x)) for p > 0, 0 at 0; None for what is not finite, or has roots of numbers below 0."""
    if x is None or not (x[0].is_finite() and x[1].is_finite()) or (x[0] < 0 and p.q != 1):
        return None
    top = max(abs(x[0]), abs(x[1]))
    if top == 0:
        return ZERO, ZERO
    turn = (-1 / arb(p)).exp()  # where it is least: -1/(p*e)
    last = _positive_power(top, arb(p)) * top.log()
    found = (low(last) if top < turn else low(-1 / (arb(p) * arb(1).exp())), max(ZERO, high(last)))
    return found if x[0] >= 0 or int(p.p) % 2 == 0 else (min(found[0], -found[1]), max(found[1], -found[0]))


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


class Disjoint(AssertionError):
    """Two enclosures of the same numbers have none in common: one of them is wrong."""


def meet(x: Interval, y: Interval) -> Interval:
    """The numbers in both of two enclosures of the same numbers. Raises Disjoint."""
    if not overlap(x, y):
        raise Disjoint(f"[{x[0]}, {x[1]}] and [{y[0]}, {y[1]}] have no number in common, and should have those of one function")
    return max(x[0], y[0]), min(x[1], y[1])


def overlap(x: Interval, y: Interval) -> bool:
    return bool(x[0] <= y[1] and y[0] <= x[1])


def union(x: Interval, y: Interval) -> Interval:
    return min(x[0], y[0]), max(x[1], y[1])


def middle(x: Interval) -> arb:
    """A number inside, for halving: infinite intervals are halved where floats would."""
    a, b = x
    return arb((a + b).mid() / 2).mid()
