"""How functions run: where they are defined, rise and fall. So their range over an interval is known from a few points.

Names are those of sympy's classes in small letters. Functions that are not here are evaluated in balls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from gradcli.reference.ranges.gammas import digamma, gamma, log_gamma, polygamma
from gradcli.reference.ranges.intervals import EVERYTHING, INFINITE, MINUS_INFINITE, ONE, ZERO, Interval, high, low, power, whole_power
from gradcli.reference.ranges.shape import DOMAIN, JUMP, POLE, Found, Shape, of_balls, valley


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


_MOST_EXPONENTS = 16  # whole numbers of an interval, for each of which numbers below 0 have a power


def _powers(x: Interval, y: Interval) -> Found:
    a, b = x
    if a >= 0:
        pole = a == 0 and y[0] < 0
        return Found(power(x, y), POLE if pole else None, pole)
    if not all(end.is_finite() for end in y):
        return Found(EVERYTHING, DOMAIN)
    first, last = (int(end.unique_fmpz() or 0) for end in (y[0].ceil(), y[1].floor()))
    if last - first >= _MOST_EXPONENTS:
        return Found(EVERYTHING, DOMAIN)
    whole = y[0] == y[1] == first  # below 0, the function is that power, and has no value in between whole numbers
    parts = [] if whole or b < 0 else [power((ZERO, b), y)]
    parts += [whole_power(x if whole else (a, min(b, ZERO)), n) for n in range(first, last + 1)]
    pole = b >= 0 and y[0] < 0
    kind = POLE if pole else None if whole else DOMAIN
    if not parts:
        return Found(None, DOMAIN)
    return Found((min(low for low, _ in parts), max(high for _, high in parts)), kind, pole)


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

COSTS = dict.fromkeys(("gamma", "loggamma", "digamma", "zeta", "besselj", "bessely", "besseli", "besselk"), 20) | {
    "polygamma": 60
}  # in cells
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
    "cosh": valley(arb.cosh, _zero),
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
    "cot": _cotangent,
    "gamma": gamma,
    "loggamma": log_gamma,
    "digamma": digamma,
    "polygamma": polygamma,
    "pow": _powers,
    "atan2": _angle,
    "si": of_balls(arb.si),
    "ci": of_balls(arb.ci, POLE),
    "chi": of_balls(arb.chi, POLE),
    "ei": of_balls(arb.ei, POLE),
    "li": of_balls(arb.li, POLE),
    "zeta": of_balls(arb.zeta, POLE, most=2),
    "besselj": of_balls(lambda n, x: arb.bessel_j(x, n)),
    "bessely": of_balls(lambda n, x: arb.bessel_y(x, n), POLE),
    "besseli": of_balls(lambda n, x: arb.bessel_i(x, n)),
    "besselk": of_balls(lambda n, x: arb.bessel_k(x, n), POLE),
    "nan": lambda: Found(None, DOMAIN),
    "inf": lambda: Found(None, POLE),
    "-inf": lambda: Found(None, POLE),
    "pi": lambda: Found((low(arb.pi()), high(arb.pi()))),
    "e": lambda: Found((low(arb.const_e()), high(arb.const_e()))),
    "euler": lambda: Found((low(arb.const_euler()), high(arb.const_euler()))),
}
