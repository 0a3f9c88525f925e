"""What is known of a function over intervals: its range, and what is the matter there; how functions without a formula are bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb

from gradcli.reference.ranges.intervals import EVERYTHING, Interval, high, low

DOMAIN, POLE, JUMP, KINK = "domain", "pole", "jump", "kink"


class Found(NamedTuple):
    """The range of a function over intervals.

    interval  None where it is defined nowhere
    kind      what is the matter somewhere: DOMAIN, POLE or JUMP
    soft      whether that is at an end of an argument only
    """

    interval: Interval | None
    kind: str | None = None
    soft: bool = False


Shape = Callable[..., "Found | None"]


def valley(function: Callable[[arb], arb], where: Callable[[], arb]) -> Callable[[Interval], Found]:
    """A function that falls up to a point and rises beyond."""

    def shape(x: Interval) -> Found:
        a, b = x
        point = where()
        top = max(high(function(a)), high(function(b)))
        if a > point:
            return Found((low(function(a)), top))
        if b < point:
            return Found((low(function(b)), top))
        return Found((low(function(point)), top))

    return shape


def of_balls(
    function: Callable[..., arb], kind: str | None = None, trouble: Callable[[arb], bool] = lambda y: False, most: int = 9
) -> Callable[..., Any]:
    """A function of which nothing is known but balls, of so many arguments at most."""

    def shape(*given: Interval) -> Found | None:
        if len(given) > most:
            return None
        balls = [ball_of(x) for x in given]
        found = function(*balls) if all(x.is_finite() for x in balls) else arb.nan()
        bad = not found.is_finite() or any(map(trouble, balls))
        return Found((low(found), high(found)) if not bad else EVERYTHING, kind if bad else None)

    return shape


def ball_of(x: Interval) -> arb:
    """The smallest ball around an interval."""
    return x[0] if x[0] == x[1] else x[0].union(x[1])
