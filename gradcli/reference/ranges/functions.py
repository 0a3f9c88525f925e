"""Ranges of functions over intervals: by how they rise and fall, from a few points; else in balls.

Names are those of sympy's classes in small letters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from flint import acb, arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ball import REAL, Real
from gradcli.reference.ranges.intervals import EVERYTHING, ONE, ZERO, Interval, high, low, power

DOMAIN, POLE, HOLE, JUMP, KINK = "domain", "pole", "hole", "jump", "kink"
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
    at_end: bool = False


def _by_pieces(function: Real, x: Interval, *turns: arb) -> Found:
    """The range of a function that is monotone over its domain but for some values inside, at which
    it turns.

    Where it is infinite at an end of its domain, it has a pole.
    """
    a, b = inside = max(x.low, arb(function.low)), min(x.high, arb(function.high))
    if a > b:
        return Found(None, DOMAIN)
    ends = [function(end) for end in inside]
    at_pole = any(
        end.is_finite() and not value.is_finite() for end, value in zip(inside, ends, strict=True)
    )
    if at_pole and a == b:
        return Found(None, DOMAIN)
    found = Interval.around(*ends, *turns)
    return Found(
        found,
        DOMAIN if inside != x.ends else POLE if at_pole else None,
        inside == x.ends and at_pole,
    )


def x_log_x(x: Interval) -> Interval:
    """x*log(abs(x)), 0 at 0, which turns at 1/e and -1/e."""
    ends = [ZERO if end == 0 else end * abs(end).log() for end in x.ends]
    turns = [turn for turn in ((-ONE).exp(), -(-ONE).exp()) if not (turn < x.low or turn > x.high)]
    return Interval.around(*ends, *[-turn for turn in turns])


# Where gamma is least beyond 0, and its value there: FLINT's ball of wide ones around this point
# does not hold all values (3.6).
_GAMMA_POINT = arb(
    arb("1.46163214496836234126265954232572132846819620400644629515").mid(), arb("1e-55")
)
_LEAST_GAMMA = arb(
    arb("0.88560319441088870027881590058258873320795153366990344888").mid(), arb("1e-55")
)


def _gamma(x: Interval) -> Found:
    if x.high > 0 <= x.low:
        return _by_pieces(
            REAL["gamma"],
            x,
            *([] if x.low > _GAMMA_POINT or x.high < _GAMMA_POINT else [_LEAST_GAMMA]),
        )
    if not x.is_finite or x.ball.contains_integer():
        return Found(EVERYTHING, POLE)
    mirrored = _gamma(Interval(ONE, ONE) - x).interval
    assert mirrored is not None
    return Found((mirrored * Interval.around(x.ball.sin_pi() / arb.pi())).inverse())


def _loggamma(x: Interval) -> Found:
    found = _gamma(x)
    sizes = found.interval or EVERYTHING
    is_known = sizes.low > 0 or sizes.high < 0
    return found._replace(
        interval=Interval.around(*[REAL["log"](abs(end)) for end in sizes.ends])
        if is_known
        else EVERYTHING
    )


def _polygamma(order: Interval, x: Interval) -> Found:
    """The derivatives of digamma, which rises between its poles."""
    if not x.is_finite or (x.low <= 0 and x.ball.contains_integer()):
        return Found(EVERYTHING, POLE)
    ends = map(arb.digamma, x.ends) if order.is_zero else [acb(x.ball).polygamma(order.low).real]
    return Found(Interval.around(*ends))


def _wave(function: Callable[[arb], arb], crest: arb, x: Interval) -> Found:
    """A function of period 2*pi between -1 and 1, with a crest at crest*pi and a trough pi
    beyond.
    """
    whole, turns = Interval(-ONE, ONE), []
    if not x.is_finite:
        return Found(whole)
    for turn, value in ((crest, ONE), (crest + 1, -ONE)):
        begin, end = ((a / arb.pi() - turn) / 2 for a in x.ends)
        if not low(begin).ceil().mid() > high(end):  # there may be a whole number between them
            turns.append(value)
    return Found(whole & Interval.around(*map(function, x.ends), *turns))


def _powers(x: Interval, y: Interval) -> Found:
    if x.low >= 0:
        pole = bool(x.low == 0 and y.low < 0)
        return Found(_positive_powers(x, y), POLE if pole else None, pole)
    first, last = (int(end.unique_fmpz() or 0) for end in (y.low.ceil(), y.high.floor()))
    if not y.is_finite or last - first >= _MOST_EXPONENTS:
        return Found(EVERYTHING, DOMAIN)
    whole = (
        y.is_point and first in y
    )  # below 0, the function is that power, and has no value in between whole numbers
    parts = [] if whole or x.high < 0 else [_positive_powers(Interval(ZERO, x.high), y)]
    parts += [
        (x if whole else Interval(x.low, min(x.high, ZERO))) ** fmpq(n)
        for n in range(first, last + 1)
    ]
    pole = bool(x.high >= 0 and y.low < 0)
    kind = POLE if pole else None if whole else DOMAIN
    return (
        Found(Interval.around(*[end for part in parts for end in part.ends]), kind, pole)
        if parts
        else Found(None, DOMAIN)
    )


def _positive_powers(x: Interval, y: Interval) -> Interval:
    """Powers of numbers from 0 on, which are monotone along both axes, so that the ends are at
    corners.
    """
    corners = [power(a, b) for a in x.ends for b in y.ends]
    return Interval.around(*corners, *([ONE] if x.low == 0 and 0 in y else []))


def _angle(y: Interval, x: Interval) -> Found:
    """atan2: monotone along both axes but across the negative half of the x-axis."""
    across = x.low <= 0 and 0 in y and (y.low < 0 or x.high >= 0)
    if across or not x.is_finite or not y.is_finite:
        return Found(Interval(-high(arb.pi()), high(arb.pi())), JUMP)
    rows, columns = ([*side.ends, ZERO] if 0 in side else side.ends for side in (y, x))
    return Found(Interval.around(*[arb.atan2(b, a) for a in columns for b in rows]))


def _floor(x: Interval) -> Found:
    found = Interval(*(end.floor().mid() if end.is_finite() else end for end in x.ends))
    return Found(found, None if found.is_point else JUMP)


_MONOTONE = "exp log sinh tanh asinh acosh atanh atan asin acos erf erfc erfi erfinv shi"
_SHAPES: dict[str, Callable[..., Found]] = {
    **{name: partial(_by_pieces, REAL[name]) for name in _MONOTONE.split()},
    "lambertw": partial(_by_pieces, Real("lambertw", arb.lambertw, -(arb(-1).exp()))),
    "cosh": lambda x: _by_pieces(REAL["cosh"], x, *([ONE] if 0 in x else [])),
    "gamma": _gamma, "loggamma": _loggamma, "polygamma": _polygamma,
    "sin": partial(_wave, arb.sin, ONE / 2), "cos": partial(_wave, arb.cos, ZERO),
    "pow": _powers, "atan2": _angle, "floor": _floor,
    "nan": lambda: Found(None, DOMAIN), "inf": lambda: Found(None, POLE), "-inf": lambda: Found(None, POLE),
    "pi": lambda: Found(Interval.around(arb.pi())), "e": lambda: Found(Interval.around(arb.const_e())),
    "euler": lambda: Found(Interval.around(arb.const_euler())),
}  # fmt: skip


def range_of(name: str, function: Any, given: Sequence[Interval]) -> tuple[Found, int]:
    """The range of a function, and the work that it took, in cells.

    By its shape, else by its reference in balls. Raises Unsupported where that is not computed
    there, or proves nothing.
    """
    if name in _SHAPES and not hasattr(
        function, "by_mpmath"
    ):  # which is of a record, whatever it is called
        return _SHAPES[name](*given), 0
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.reference.contexts import Undecidable
    from gradcli.reference.symbolic.translate import program_of

    unknown = Found(EVERYTHING, DOMAIN), _BALLS
    if not all(x.is_finite for x in given):
        return unknown
    m, value = Balls(), None
    try:
        value = program_of(function, len(given)).run(m, tuple(Ball(x.ball) for x in given))[0]
    except (Undecidable, ArithmeticError, ValueError):
        return unknown
    except (TypeError, AttributeError):
        pass
    if m.uncertified or not isinstance(value, Ball):
        raise Unsupported(f"{name} has no rigorous bounds")
    return (Found(Interval.around(value.ball)), _BALLS) if value.ball.is_finite() else unknown
