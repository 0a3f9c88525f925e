"""How functions run: where they are defined, rise and fall. So their range over an interval is known from a few points.

Names are those of sympy's classes in small letters. Functions that are not here are evaluated in balls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import acb, arb

from gradcli.reference.ranges.intervals import (
    EVERYTHING,
    INFINITE,
    MINUS_INFINITE,
    ONE,
    ZERO,
    Interval,
    high,
    low,
    power,
)

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


Shape = Callable[..., Found]


def _monotone(
    function: Callable[[arb], arb],
    least: Any = None,
    most: Any = None,
    *,
    falls: bool = False,
    open_: bool = False,
    within: Any = EVERYTHING,
) -> Shape:
    """A function that rises (or falls) over its domain, at whose ends it may be infinite (``open_``). ``within`` is its range."""

    def shape(x: Interval) -> Found:
        kind, soft = None, False
        a, b = x
        bottom, top = (MINUS_INFINITE if least is None else arb(least())), (INFINITE if most is None else arb(most()))
        if b < bottom or a > top or (open_ and (b <= bottom or a >= top)):
            return Found(None, DOMAIN)
        if not a >= bottom or not b <= top:
            kind = DOMAIN
        elif open_ and (a <= bottom or b >= top) and (least is not None or most is not None):
            kind, soft = (POLE, True) if (a == bottom and least is not None) or (b == top and most is not None) else (None, False)
        ends: list[arb | None] = [a if a > bottom else None, b if b < top else None]
        if not open_:
            ends = [a if a > bottom or least is None else low(bottom), b if b < top or most is None else high(top)]
        first, last = ends[::-1] if falls else ends
        limits = list(within)
        lower = limits[0] if first is None else low(function(first))
        upper = limits[1] if last is None else high(function(last))
        return Found((max(lower, limits[0]), min(upper, limits[1])), kind, soft)

    return shape


def _valley(function: Callable[[arb], arb], where: Callable[[], arb]) -> Shape:
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


def _sine(x: Interval) -> Found:
    return _wave(x, arb.sin, arb(1) / 2)


def _cosine(x: Interval) -> Found:
    return _wave(x, arb.cos, ZERO)


def _wave(x: Interval, function: Callable[[arb], arb], crest: arb) -> Found:
    """A function of period 2*pi between -1 and 1, with a crest at crest*pi and a trough pi beyond."""
    a, b = x
    if not (a.is_finite() and b.is_finite()):
        return Found((-ONE, ONE))
    ends = [function(a), function(b)]
    bottom, top = min(map(low, ends)), max(map(high, ends))
    begin, end = ((a / arb.pi() - crest) / 2, (b / arb.pi() - crest) / 2)
    if _holds_whole(begin, end):
        top = ONE
    if _holds_whole(begin - ONE / 2, end - ONE / 2):
        bottom = -ONE
    return Found((max(bottom, -ONE), min(top, ONE)))


def _holds_whole(begin: arb, end: arb) -> bool:
    """Whether there may be a whole number between two numbers."""
    return not low(begin).ceil().mid() > high(end)


def _tangent(x: Interval) -> Found:
    return _between_poles(x, arb.tan, ONE / 2, falls=False)


def _cotangent(x: Interval) -> Found:
    return _between_poles(x, arb.cot, ZERO, falls=True)


def _between_poles(x: Interval, function: Callable[[arb], arb], first: arb, falls: bool) -> Found:
    """A function with poles at (first + k)*pi that is monotone between two of them."""
    a, b = x
    if not (a.is_finite() and b.is_finite()):
        return Found(EVERYTHING, POLE)
    if a == 0 and first == 0:
        first = -ONE  # the pole at 0 is exactly there
        if b == 0:
            return Found(None, POLE)
        if not _holds_whole(arb(1) / 2, b / arb.pi()):
            return Found((low(function(b)), INFINITE), POLE, True)
    if b == 0 and first == 0 and not _holds_whole(a / arb.pi(), -arb(1) / 2):
        return Found((MINUS_INFINITE, high(function(a))), POLE, True)
    if _holds_whole(a / arb.pi() - first, b / arb.pi() - first):
        return Found(EVERYTHING, POLE)
    ends = (function(b), function(a)) if falls else (function(a), function(b))
    return Found((low(ends[0]), high(ends[1])))


def _gamma_point() -> arb:
    """Where gamma is least among the positive numbers: the zero of digamma, which rises there."""
    x = arb("1.4616321449683623412626595423257213284681962040064463512959884")
    return arb(x.mid(), arb("1e-55"))


def _gamma(x: Interval) -> Found:
    if x[0] > 0:
        return _valley(arb.gamma, _gamma_point)(x)
    if x[0] == 0 and x[1] > 0:
        ends = [arb.gamma(x[1])] if x[1] < arb("1.46") else [arb.gamma(_gamma_point())]
        return Found((low(ends[0]), INFINITE), POLE, True)
    return _in_balls(arb.gamma, POLE, lambda y: y.contains_integer())(x)


def _log_gamma(x: Interval) -> Found:
    if x[0] > 0:
        return _valley(arb.lgamma, _gamma_point)(x)
    if x[0] == 0 and x[1] > 0:
        ends = [arb.lgamma(x[1])] if x[1] < arb("1.46") else [arb.lgamma(_gamma_point())]
        return Found((low(ends[0]), INFINITE), POLE, True)
    return _in_balls(lambda y: arb(arb.gamma(y).__abs__()).log(), POLE, lambda y: y.contains_integer())(x)


def _digamma(x: Interval) -> Found:
    if x[0] > 0:
        return Found((low(x[0].digamma()), high(x[1].digamma()) if x[1].is_finite() else INFINITE))
    if x[0] == 0 and x[1] > 0:
        return Found((MINUS_INFINITE, high(x[1].digamma()) if x[1].is_finite() else INFINITE), POLE, True)
    return _in_balls(arb.digamma, POLE, lambda y: y.contains_integer())(x)


def _polygamma(order: Interval, x: Interval) -> Found:
    whole = order[0].unique_fmpz()
    assert whole is not None
    n = int(whole)
    if n == 0:
        return _digamma(x)

    def function(y: arb) -> arb:
        return acb(y).polygamma(n).real

    if x[0] >= 0 and x[1] > 0:
        far = ZERO if not x[1].is_finite() else function(x[1])
        near = (INFINITE if n % 2 else MINUS_INFINITE) if x[0] == 0 else function(x[0])
        found = (low(far), high(near)) if n % 2 else (low(near), high(far))
        return Found(found, POLE if x[0] == 0 else None, x[0] == 0)
    return _in_balls(function, POLE, lambda y: y.contains_integer())(x)


def _in_balls(function: Callable[..., arb], kind: str | None = None, trouble: Callable[[arb], bool] = lambda y: False) -> Shape:
    """A function of which nothing is known but balls."""

    def shape(*given: Interval) -> Found:
        balls = [ball_of(x) for x in given]
        found = function(*balls) if all(x.is_finite() for x in balls) else arb.nan()
        bad = not found.is_finite() or any(map(trouble, balls))
        return Found((low(found), high(found)) if not bad else EVERYTHING, kind if bad else None)

    return shape


def ball_of(x: Interval) -> arb:
    """The smallest ball around an interval."""
    return x[0] if x[0] == x[1] else x[0].union(x[1])


def _powers(x: Interval, y: Interval) -> Found:
    a, b = x
    kind, soft = None, False
    if b < 0:
        return Found(None, DOMAIN)
    if a < 0:
        kind, a = DOMAIN, ZERO
    elif a == 0 and y[0] < 0:
        kind, soft = POLE, True
    return Found(power((a, b), y), kind, soft)


def _angle(y: Interval, x: Interval) -> Found:
    """atan2: monotone along both axes but across the negative half of the x-axis."""
    if not all(end.is_finite() for end in (*x, *y)):
        return Found((-high(arb.pi()), high(arb.pi())), JUMP)
    if x[0] <= 0 <= x[1] and y[0] <= 0 <= y[1]:
        return Found((-high(arb.pi()), high(arb.pi())), JUMP)
    if x[0] < 0 and y[0] < 0 <= y[1]:
        return Found((-high(arb.pi()), high(arb.pi())), JUMP)
    corners = [arb.atan2(b, a) for a in x for b in y]
    if x[0] <= 0 <= x[1] or y[0] <= 0 <= y[1]:
        corners += [arb.atan2(b, ZERO) for b in y if x[0] <= 0 <= x[1]] + [arb.atan2(ZERO, a) for a in x if y[0] <= 0 <= y[1]]
    return Found((min(map(low, corners)), max(map(high, corners))))


def _zero() -> arb:
    return ZERO


def _one() -> arb:
    return ONE


def _minus_one() -> arb:
    return -ONE


_HALF_PI = (-arb(2), arb(2))

SHAPES: dict[str, Shape] = {
    "exp": _monotone(arb.exp, within=(ZERO, INFINITE)),
    "log": _monotone(arb.log, _zero, open_=True),
    "sinh": _monotone(arb.sinh),
    "tanh": _monotone(arb.tanh, within=(-ONE, ONE)),
    "asinh": _monotone(arb.asinh),
    "acosh": _monotone(arb.acosh, _one, within=(ZERO, INFINITE)),
    "atanh": _monotone(arb.atanh, _minus_one, _one, open_=True),
    "atan": _monotone(arb.atan, within=_HALF_PI),
    "asin": _monotone(arb.asin, _minus_one, _one, within=_HALF_PI),
    "acos": _monotone(arb.acos, _minus_one, _one, falls=True, within=(ZERO, arb(4))),
    "erf": _monotone(arb.erf, within=(-ONE, ONE)),
    "erfc": _monotone(arb.erfc, falls=True, within=(ZERO, arb(2))),
    "erfi": _monotone(arb.erfi),
    "erfinv": _monotone(arb.erfinv, _minus_one, _one, open_=True),
    "shi": _monotone(arb.shi),
    "lambertw": _monotone(arb.lambertw, lambda: -(arb(-1).exp()), within=(-ONE, INFINITE)),
    "cosh": _valley(arb.cosh, _zero),
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
    "cot": _cotangent,
    "gamma": _gamma,
    "loggamma": _log_gamma,
    "digamma": _digamma,
    "polygamma": _polygamma,
    "pow": _powers,
    "atan2": _angle,
    "si": _in_balls(arb.si),
    "ci": _in_balls(arb.ci, POLE),
    "chi": _in_balls(arb.chi, POLE),
    "ei": _in_balls(arb.ei, POLE),
    "li": _in_balls(arb.li, POLE),
    "zeta": _in_balls(lambda s, a=None: arb.zeta(s) if a is None else arb.zeta(s, a), POLE),
    "besselj": _in_balls(lambda n, x: arb.bessel_j(x, n)),
    "bessely": _in_balls(lambda n, x: arb.bessel_y(x, n), POLE),
    "besseli": _in_balls(lambda n, x: arb.bessel_i(x, n)),
    "besselk": _in_balls(lambda n, x: arb.bessel_k(x, n), POLE),
    "nan": lambda: Found(None, DOMAIN),
    "inf": lambda: Found(None, POLE),
    "-inf": lambda: Found(None, POLE),
    "pi": lambda: Found((low(arb.pi()), high(arb.pi()))),
    "e": lambda: Found((low(arb.const_e()), high(arb.const_e()))),
    "euler": lambda: Found((low(arb.const_euler()), high(arb.const_euler()))),
}
