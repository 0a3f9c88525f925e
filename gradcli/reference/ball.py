"""Real numbers enclosed by FLINT's balls (``arb``), as scalars that references compute with.

Every result holds the true number, so that two balls that overlap nowhere are a proof that two
numbers differ. What depends on a comparison that the balls leave open is not guessed: `Undecidable`
asks for more digits.

F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE
Transactions on Computers 66, 2017.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

import flint
from flint import arb

from gradcli.reference.contexts import Undecidable, context


def operand(x: Any) -> arb | None:
    """Convert exactly a number that arithmetic with balls takes; return None for anything else."""
    kind = type(x)
    if kind is Ball:
        ball: arb = x.ball
        return ball
    if kind is int or kind is bool or kind is float:
        return arb(x)
    item = getattr(x, "item", None)  # a NumPy scalar
    if item is not None and getattr(x, "ndim", 1) == 0:
        return operand(item())
    parts = getattr(x, "_mpf_", None)
    return None if parts is None else of_mpmath(parts)


def as_arb(x: Any) -> arb:
    found = arb(x) if isinstance(x, (str, arb)) else operand(x)
    if found is None:
        raise TypeError(f"no real number: {x!r}")
    return found


def of_mpmath(parts: tuple[int, Any, int, int]) -> arb:
    sign, mantissa, exponent, _ = parts
    if not mantissa and exponent:
        return arb(
            float("nan")
            if exponent == -123
            else float("inf")
            if exponent == -456
            else float("-inf")
        )
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))


def quotient(x: arb, y: arb) -> arb:
    if y.contains(0) and not y.is_zero() and y.is_finite():
        raise Undecidable
    if y.is_zero():
        raise ZeroDivisionError
    return x / y


def power(x: arb, y: arb) -> arb:
    if y.is_exact() and y.is_integer():
        if x.is_zero() and y < 0:
            raise ZeroDivisionError
        if y < 0 and x.contains(0) and x.is_finite():
            raise Undecidable
        return x**y
    if x.is_zero():
        if y > 0:
            return arb(0)
        if y < 0:
            raise ZeroDivisionError
    return check_finite(x**y, (x, y))


def check_finite(result: arb, given: Iterable[arb]) -> arb:
    """Return a result if it is certain, and else raise Undecidable to ask for more digits.

    A result that is not finite is uncertain if balls may reach out of a domain.
    """
    is_certain = result is NAN or result is INF or result is MINUS_INF or result.is_finite()
    if not is_certain and any(not x.is_exact() and x.is_finite() for x in given):
        raise Undecidable
    return result


def whole(x: arb, rounded: Callable[[arb], arb]) -> arb:
    """Round x to a whole number.

    Raises Undecidable if it is not certain which number that is.
    """
    found = rounded(x)
    if not found.is_exact():
        raise Undecidable
    return found


def as_float(x: arb) -> float:
    if x.is_nan() or not x.is_exact():
        return math.nan
    return math.inf if x > 0 else -math.inf


def _binary(function: Callable[[arb, arb], arb]) -> Callable[[Any, Any], Any]:
    def method(self: Ball, other: Any) -> Any:
        return NotImplemented if (x := operand(other)) is None else ball_of(function(self.ball, x))

    return method


def _both(function: Callable[[arb, arb], arb]) -> tuple[Any, Any]:
    """Return the operator of a ball before another number, and behind it."""
    return _binary(function), _binary(lambda x, y: function(y, x))


def _comparison(
    holds: Callable[[arb, arb], bool], fails: Callable[[arb, arb], bool]
) -> Callable[[Any, Any], Any]:
    def method(self: Ball, other: Any) -> Any:
        x = self.ball
        if (y := x if other is self else operand(other)) is None:
            return NotImplemented
        if x is y:
            return holds(_ZERO, _ZERO) and not x.is_nan()
        if not (found := holds(x, y)) and not (fails(x, y) or x.is_nan() or y.is_nan()):
            raise Undecidable
        return found

    return method


_ZERO = arb(0)


class Ball:
    """A real number within a ball.

    Comparisons are certain, or raise `Undecidable`; a number that is not finite compares as NaN
    does.
    """

    __slots__ = ("ball",)

    ball: arb

    def __init__(self, value: Any = 0) -> None:
        self.ball = as_arb(value)

    __add__ = __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _both(operator.sub)
    __mul__ = __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _both(quotient)
    __pow__, __rpow__ = _both(power)
    __mod__, __rmod__ = _both(lambda x, y: x - y * whole(quotient(x, y), arb.floor))
    __lt__, __ge__ = _comparison(operator.lt, operator.ge), _comparison(operator.ge, operator.lt)
    __gt__, __le__ = _comparison(operator.gt, operator.le), _comparison(operator.le, operator.gt)
    __eq__ = _comparison(operator.eq, operator.ne)

    def __neg__(self) -> Ball:
        return ball_of(-self.ball)

    def __pos__(self) -> Ball:
        return ball_of(+self.ball)

    def __abs__(self) -> Ball:
        return ball_of(abs(self.ball))

    def __hash__(self) -> int:
        return hash(str(self.ball.mid()))

    def __bool__(self) -> bool:
        return self != 0

    def __int__(self) -> int:
        """Round towards zero to a whole number."""
        if not self.ball.is_finite():
            raise ValueError("not a finite number")
        size: Any = whole(abs(self.ball), arb.floor).unique_fmpz()
        return -int(size) if self.ball < 0 else int(size)

    __trunc__ = __int__

    @property
    def is_zero(self) -> bool:
        return bool(self.ball.is_zero())

    def __float__(self) -> float:
        return float(self.ball.mid()) if self.ball.is_finite() else as_float(self.ball)

    def __repr__(self) -> str:
        return f"Ball({self.ball})"


_new = Ball.__new__


def ball_of(ball: arb) -> Ball:
    made = _new(Ball)
    made.ball = ball
    return made


_SHOWN = 60  # significant digits of an enclosure's ends
_FAR = 100_000  # binary exponent from which on the ends are shown as powers of ten
_NEAREST, _FARTHEST = arb(2) ** -_FAR, arb(2) ** _FAR


def ends(x: Ball) -> tuple[str, str]:
    """Return the ends of an enclosure as decimals, rounded outwards."""
    with flint.ctx.workprec(2 * (flint.ctx.prec + 4 * _SHOWN)):
        return _decimal(x.ball.lower(), -1), _decimal(x.ball.upper(), 1)


def width(balls: Iterable[Ball]) -> int | None:
    """Return an exponent of ten whose power is not below the width of any enclosure.

    It is None if all enclosures are exact.
    """
    radii = [ball.ball.rad().man_exp() for ball in balls if not ball.ball.is_exact()]
    sizes = [int(exponent) + int(mantissa).bit_length() + 1 for mantissa, exponent in radii]
    return math.ceil(min(max(-_FAR, *sizes), _FAR) * math.log10(2)) if sizes else None


def _decimal(x: arb, sign: int) -> str:
    """Round an exact number to ``_SHOWN`` digits, up (1) or down (-1)."""
    if not x.is_finite():
        return repr(as_float(x))
    if not x.is_zero() and not _NEAREST < abs(x) < _FARTHEST:
        is_small, is_away = abs(x) < 1, x * sign > 0
        end = ("1e-30102" if is_away else "0") if is_small else "inf" if is_away else "1e30102"
        return end if x > 0 or end == "0" else f"-{end}"
    mantissa, exponent = map(int, x.man_exp())
    decimals = Context(_SHOWN, ROUND_CEILING if sign > 0 else ROUND_FLOOR)
    above, below = Decimal(mantissa << max(exponent, 0)), Decimal(1 << max(-exponent, 0))
    return str(decimals.divide(above, below).normalize(decimals)).lower()


# -- Functions in balls, under mpmath's names. At infinities, poles and ends of domains, where FLINT
# leaves values open, they are mpmath's.


INF, MINUS_INF, NAN = (
    arb(float("inf")),
    arb(float("-inf")),
    arb(float("nan")),
)  # as results, these are certain
_UNKNOWN = arb(float("nan"))
_FURTHER = (
    64,
    320,
    1200,
    4800,
)  # extra bits, tried in turn where the result of exact numbers is too wide
_ENOUGH = 12  # bits of the working precision that a result may lack
_HUGE = arb(2) ** 18  # argument from which on a result that overflows FLINT's exponents is infinite


def enclosure(name: str, function: Callable[..., arb], *given: arb) -> arb:
    """Return a function's value.

    A value that is not finite is certain if it is one of the three numbers above. Raises
    ZeroDivisionError at some poles.
    """
    found = sharpen(function, given) if all(map(arb.is_finite, given)) else _UNKNOWN
    if found.is_finite():
        return found
    # An exact infinity, without the error of a difference from it.
    *others, x = given = tuple((INF if x > 0 else MINUS_INF) if abs(x) == INF else x for x in given)
    if (
        abs(x) > _HUGE
        and abs(limit := _by_mpmath(name, *others, INF if x > 0 else MINUS_INF)) == INF
    ):
        return limit
    return _by_mpmath(name, *given) if all(x.is_exact() for x in given) else found


def _by_mpmath(name: str, *given: arb) -> arb:
    return _at_an_edge(
        name, flint.ctx.prec, *[float(x) if x.is_finite() else as_float(x) for x in given]
    )


@lru_cache(1_000)
def _at_an_edge(name: str, bits: int, *numbers: float) -> arb:
    """Return mpmath's value.

    It is NaN for what is not real, and unknown where mpmath computes a number but has no limit.
    """
    m = _context()
    with m.workprec(bits):
        try:
            value = getattr(m, name)(*map(m.mpf, numbers))
        except (AttributeError, ValueError, TypeError):
            return NAN
    found = of_mpmath(value._mpf_) if isinstance(value, m.mpf) else NAN
    if not found.is_finite():
        return INF if found > 0 else MINUS_INF if found < 0 else NAN
    if len(numbers) > 1 and numbers[-1] and math.isfinite(numbers[-1]):
        return _UNKNOWN
    return found if found.is_integer() else arb(found, abs(found) * arb(2) ** (2 - bits))


@cache
def _context() -> Any:
    return context()


def sharpen(function: Callable[..., arb], given: Sequence[arb]) -> arb:
    """Return a function's value, for exact numbers at more digits where digits are lost.

    Cancellation or large arguments may have cost digits at the working precision.
    """
    bits, found = flint.ctx.prec, function(*given)
    for more in _FURTHER:
        is_sharp = found.is_finite() and found.rel_accuracy_bits() >= bits - _ENOUGH
        if is_sharp or not all(x.is_exact() for x in given):
            break
        with flint.ctx.workprec(bits + more):
            again = function(*given)
        found = again if again.is_finite() else found
    return found


class Real(NamedTuple):
    """A function of one number, and the numbers between which it is real."""

    name: str
    method: Callable[[arb], arb]
    low: Any = MINUS_INF
    high: Any = INF

    def __call__(self, x: arb) -> arb:
        return NAN if x < self.low or x > self.high else enclosure(self.name, self.method, x)


def _erfc(x: arb) -> arb:
    """Far out by the function of Tricomi, which loses no more than exp(-x**2) does."""
    if not x > _FAR_OUT:
        return x.erfc()
    square = x * x
    return (-square).exp() * square.hypgeom_u(0.5, 0.5) / arb.const_sqrt_pi()


def _real(name: str, method: str = "", low: str = "-inf", high: str = "inf") -> Real:
    function = getattr(arb, method.removeprefix("1/") or name)
    inverse = method.startswith("1/")
    found = (lambda x: function(1 / x)) if inverse else function
    return Real(name, found, float(low), float(high))


_FAR_OUT = 30
# Each entry: a name; FLINT's method if it has another name (1/ for the method at 1/x); and the
# numbers between which the result is real.
_TABLE = """
sin; cos; tan; sec; cot; csc; atan; sinh; cosh; tanh; coth; sech; csch; asinh; exp; expm1
gamma; rgamma; digamma; erf; erfi; ei; si; shi; sinpi sin_pi; cospi cos_pi; sincpi sinc_pi
factorial fac; fresnels fresnel_s; fresnelc fresnel_c
asec 1/acos; acsc 1/asin; acoth 1/atanh; acsch 1/asinh; asech 1/acosh 0 1
asin asin -1 1; acos acos -1 1; atanh atanh -1 1; acosh acosh 1; erfinv erfinv -1 1
log log 0; log1p log1p -1; sqrt sqrt 0; loggamma lgamma 0; ci ci 0; chi chi 0
"""
REAL = {
    function.name: function
    for function in (
        *(_real(*entry.split()) for entry in _TABLE.strip().replace("\n", ";").split(";")),
        Real("erfc", _erfc),
        Real("cbrt", lambda x: x.root(3), 0),
    )
}
"""Functions of one number that are real between two others."""
