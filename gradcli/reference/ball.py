"""Real numbers enclosed by FLINT's balls (``arb``), as scalars that references compute with.

Every result holds the true number, so that two balls that overlap nowhere are a proof that two numbers differ. What depends on a
comparison that the balls leave open is not guessed: `Undecidable` asks for more digits.

F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE Transactions on Computers 66, 2017.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, NamedTuple

import flint
from flint import arb

from gradcli.reference.contexts import Undecidable


def operand(x: Any) -> arb | None:
    """A number that arithmetic takes beside balls, exactly; None for anything else."""
    kind = type(x)
    if kind is Ball:
        ball: arb = x.ball
        return ball
    if kind is int or kind is bool or kind is float:
        return arb(x)
    item = getattr(x, "item", None)  # NumPy's scalars
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
        return arb(float("nan") if exponent == -123 else float("inf") if exponent == -456 else float("-inf"))
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
    return checked(x**y, (x, y))


def checked(result: arb, given: Iterable[arb]) -> arb:
    """A result; one that is not finite because of balls that may reach out of a domain asks for more digits."""
    if not result.is_finite() and any(not x.is_exact() and x.is_finite() for x in given):
        raise Undecidable
    return result


def _less(x: arb, y: arb) -> bool:
    if x < y:
        return True
    if x >= y or x is y or not _ordered(x, y):
        return False
    raise Undecidable


def _not_above(x: arb, y: arb) -> bool:
    if x <= y or x is y:
        return not x.is_nan()
    if x > y or not _ordered(x, y):
        return False
    raise Undecidable


def _ordered(x: arb, y: arb) -> bool:
    return not (x.is_nan() or y.is_nan())


def whole(x: arb, rounded: Callable[[arb], arb]) -> arb:
    """A whole number beside x, if it is certain which."""
    found = rounded(x)
    if not found.is_exact():
        raise Undecidable
    return found


def _remainder(x: arb, y: arb) -> arb:
    return x - y * whole(quotient(x, y), arb.floor)


def as_float(x: arb) -> float:
    if x.is_nan() or not x.is_exact():
        return math.nan
    return math.inf if x > 0 else -math.inf


def _binary(function: Callable[[arb, arb], arb]) -> Callable[[Any, Any], Any]:
    def method(self: Ball, other: Any) -> Any:
        return NotImplemented if (x := operand(other)) is None else made(function(self.ball, x))

    return method


def _comparison(holds: Callable[[arb, arb], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Ball, other: Any) -> Any:
        return NotImplemented if (x := operand(other)) is None else holds(self.ball, x)

    return method


class Ball:
    """A real number within a ball. Comparisons are certain, or raise `Undecidable`; a number that is not finite compares as NaN does."""

    __slots__ = ("ball",)

    ball: arb

    def __init__(self, value: Any = 0) -> None:
        self.ball = as_arb(value)

    __add__ = __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _binary(lambda x, y: y - x)
    __mul__ = __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(quotient), _binary(lambda x, y: quotient(y, x))
    __pow__, __rpow__ = _binary(power), _binary(lambda x, y: power(y, x))
    __mod__, __rmod__ = _binary(_remainder), _binary(lambda x, y: _remainder(y, x))
    __lt__, __gt__ = _comparison(_less), _comparison(lambda x, y: _less(y, x))
    __le__, __ge__ = _comparison(_not_above), _comparison(lambda x, y: _not_above(y, x))

    def __neg__(self) -> Ball:
        return made(-self.ball)

    def __pos__(self) -> Ball:
        return made(+self.ball)

    def __abs__(self) -> Ball:
        return made(abs(self.ball))

    def __eq__(self, other: object) -> bool:
        if (x := operand(other)) is None:
            return NotImplemented
        ball = self.ball
        if ball is x:
            return not ball.is_nan()
        if ball == x:
            return True
        if ball != x or not (ball.is_finite() and x.is_finite()):
            return False
        raise Undecidable

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(str(self.ball.mid())) if self.ball.is_finite() else 0

    def __bool__(self) -> bool:
        return self != 0

    def __int__(self) -> int:
        """The whole number towards zero."""
        size = abs(self.ball).floor().unique_fmpz() if self.ball.is_finite() else None
        if size is None:
            raise Undecidable if self.ball.is_finite() else ValueError("not a finite number")
        return int(size) if not self.ball < 0 else -int(size)

    __trunc__ = __int__

    @property
    def is_zero(self) -> bool:
        return bool(self.ball.is_zero())

    @property
    def real(self) -> Ball:
        return self

    def __float__(self) -> float:
        return float(self.ball.mid()) if self.ball.is_finite() else as_float(self.ball)

    def __repr__(self) -> str:
        return f"Ball({self.ball})"


_new = Ball.__new__


def made(ball: arb) -> Ball:
    made = _new(Ball)
    made.ball = ball
    return made


_SHOWN = 60  # significant digits of an enclosure's ends
_FAR = 100_000  # the binary exponent from which on ends are powers of ten


def ends(x: Ball) -> tuple[str, str]:
    """The ends of an enclosure as decimals, rounded outwards."""
    with flint.ctx.workprec(flint.ctx.prec + _SHOWN):
        return _decimal(x.ball.lower(), ROUND_FLOOR), _decimal(x.ball.upper(), ROUND_CEILING)


def width(balls: Iterable[Ball]) -> int | None:
    """A power of ten that is not below the width of any enclosure; None where all are exact."""
    radii = [ball.ball.rad().man_exp() for ball in balls if not ball.ball.is_exact()]
    sizes = [int(exponent) + int(mantissa).bit_length() + 1 for mantissa, exponent in radii]
    return math.ceil(min(max(-_FAR, *sizes), _FAR) * math.log10(2)) if sizes else None


def _decimal(x: arb, rounding: str) -> str:
    """An exact number rounded to so many digits, in one of the directions."""
    if not x.is_finite():
        return repr(as_float(x))
    mantissa, exponent = map(int, x.man_exp())
    size = exponent + mantissa.bit_length()
    if abs(size) > _FAR:
        is_away = (mantissa > 0) == (rounding == ROUND_CEILING)
        near, far = ("0", "1e-30102") if size < 0 else ("1e30102", "inf")
        return ("-" if mantissa < 0 and (is_away or size > 0) else "") + (far if is_away else near)
    context = Context(prec=_SHOWN, rounding=rounding)
    found = context.divide(Decimal(mantissa << max(exponent, 0)), Decimal(1 << max(-exponent, 0)))
    return str(found.normalize(context)).lower()


# -- Functions of one number in balls, under mpmath's names: where they are real, and their limits
# and poles, which FLINT leaves open.


INF, MINUS_INF, NAN = arb(float("inf")), arb(float("-inf")), arb(float("nan"))  # as results: certain
POLE = "pole"  # where there is no value and mpmath divides by zero
_FURTHER = (64, 320, 1200, 4800)  # bits more, at which a result of exact numbers is computed anew if it is too wide
_ENOUGH = 12  # bits of the working precision that a result may lack
_HUGE = arb(2) ** 18  # from which on what FLINT finds too large for its exponents is infinite


class Real(NamedTuple):
    """A function of one number.

    low, high  the numbers between which it is real; NaN beyond
    ends       its limits at the two infinities
    at         its values at points where FLINT has none: a number, or `POLE`
    """

    method: Callable[[arb], arb]
    ends: tuple[Any, Any] = (NAN, NAN)
    low: Any = MINUS_INF
    high: Any = INF
    at: dict[float, Any] = {}  # noqa: RUF012, never written to

    def __call__(self, x: arb) -> arb:
        if not x.is_finite():
            return as_limit(self.ends[x > 0]) if abs(x) == INF else NAN
        for point, value in self.at.items():
            if x == point:
                if value is POLE:
                    raise ZeroDivisionError
                return as_limit(value)
        if x < self.low or x > self.high:
            return NAN
        found = sharpened(self.method, (x,))
        if not found.is_finite() and abs(x) > _HUGE and not (limit := as_limit(self.ends[x > 0])).is_finite():
            return limit
        return found


def as_limit(value: Any) -> arb:
    found: arb = value() if callable(value) else value if type(value) is arb else arb(value)
    return found


def is_certain(found: arb) -> bool:
    """Return whether a result that is not finite is one that the function has there, and none that FLINT could not tell."""
    return found is NAN or found is INF or found is MINUS_INF


def sharpened(function: Callable[..., arb], given: Sequence[arb]) -> arb:
    """A function's value; of exact numbers at more digits, where cancellation or large arguments have cost those at work."""
    bits = flint.ctx.prec
    found = function(*given)
    if is_certain(found) or (found.is_finite() and found.rel_accuracy_bits() >= bits - _ENOUGH) or not all(x.is_exact() for x in given):
        return found
    try:
        for more in _FURTHER:
            flint.ctx.prec = bits + more
            again = function(*given)
            if again.is_finite():
                found = again
                if found.rel_accuracy_bits() >= bits - _ENOUGH:
                    break
    finally:
        flint.ctx.prec = bits
    return found


def _quarter() -> arb:
    return arb.pi() / 2


def _inverse(method: Callable[[arb], arb]) -> Callable[[arb], arb]:
    return lambda x: method(1 / x)


def _erfc(x: arb) -> arb:
    """Far out by the function of Tricomi, which loses no more than exp(-x**2) does."""
    if not x > _FAR_OUT:
        return x.erfc()
    square = x * x
    return (-square).exp() * square.hypgeom_u(0.5, 0.5) / arb.const_sqrt_pi()


_FAR_OUT = 30
_GROWS = (INF, INF)
_ODD = (MINUS_INF, INF)
_FADES = (0, 0)
_BOUNDED = (-1, 1)


class RealFunctions:
    """The functions of one number that a context of mpmath has, under its names."""

    sin = Real(arb.sin)
    cos = Real(arb.cos)
    tan = Real(arb.tan)
    sec = Real(arb.sec)
    cot = Real(arb.cot, at={0: POLE})
    csc = Real(arb.csc, at={0: POLE})
    sinpi = Real(arb.sin_pi)
    cospi = Real(arb.cos_pi)
    sincpi = Real(arb.sinc_pi, _FADES)
    asin = Real(arb.asin, low=-1, high=1)
    acos = Real(arb.acos, low=-1, high=1)
    atan = Real(arb.atan, (lambda: -_quarter(), _quarter))
    asec = Real(_inverse(arb.acos), (_quarter, _quarter), at={0: POLE})
    acsc = Real(_inverse(arb.asin), _FADES, at={0: POLE})
    sinh = Real(arb.sinh, _ODD)
    cosh = Real(arb.cosh, _GROWS)
    tanh = Real(arb.tanh, _BOUNDED)
    coth = Real(arb.coth, _BOUNDED, at={0: POLE})
    sech = Real(arb.sech, _FADES)
    csch = Real(arb.csch, _FADES, at={0: POLE})
    asinh = Real(arb.asinh, _ODD)
    acosh = Real(arb.acosh, (NAN, INF), low=1)
    atanh = Real(arb.atanh, low=-1, high=1, at={1: INF, -1: MINUS_INF})
    acoth = Real(_inverse(arb.atanh), _FADES, at={0: NAN, 1: INF, -1: MINUS_INF})
    asech = Real(_inverse(arb.acosh), low=0, high=1, at={0: POLE})
    acsch = Real(_inverse(arb.asinh), _FADES, at={0: POLE})
    exp = Real(arb.exp, (0, INF))
    expm1 = Real(arb.expm1, (-1, INF))
    log = Real(arb.log, (NAN, INF), low=0, at={0: MINUS_INF})
    log1p = Real(arb.log1p, (NAN, INF), low=-1, at={-1: MINUS_INF})
    sqrt = Real(arb.sqrt, (NAN, INF), low=0)
    cbrt = Real(lambda x: x.root(3), (NAN, INF), low=0)
    gamma = Real(arb.gamma, (NAN, INF))
    factorial = Real(arb.fac, (NAN, INF))
    loggamma = Real(arb.lgamma, (NAN, INF), low=0)
    digamma = Real(arb.digamma, (NAN, INF))
    erf = Real(arb.erf, _BOUNDED)
    erfc = Real(_erfc, (2, 0))
    erfi = Real(arb.erfi, _ODD)
    erfinv = Real(arb.erfinv, low=-1, high=1, at={1: INF, -1: MINUS_INF})
    ei = Real(arb.ei, (0, INF), at={0: MINUS_INF})
    si = Real(arb.si, (lambda: -_quarter(), _quarter))
    ci = Real(arb.ci, (NAN, 0), low=0, at={0: MINUS_INF})
    shi = Real(arb.shi, _ODD)
    chi = Real(arb.chi, (NAN, INF), low=0, at={0: MINUS_INF})
