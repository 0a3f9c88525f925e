"""Functions of one number in balls, under mpmath's names: where they are real, and their limits and poles, which FLINT leaves open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flint
from flint import arb

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
    """Whether a result that is not finite is one that the function has there, and none that FLINT could not tell."""
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
    acot = Real(_inverse(arb.atan), _FADES, at={0: _quarter})
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
    rgamma = Real(arb.rgamma, (NAN, 0))
    loggamma = Real(arb.lgamma, (NAN, INF), low=0)
    digamma = Real(arb.digamma, (NAN, INF))
    erf = Real(arb.erf, _BOUNDED)
    erfc = Real(_erfc, (2, 0))
    erfi = Real(arb.erfi, _ODD)
    erfinv = Real(arb.erfinv, low=-1, high=1, at={1: INF, -1: MINUS_INF})
    ei = Real(arb.ei, (0, INF), at={0: MINUS_INF})
    li = Real(arb.li, (NAN, INF), low=0, at={1: MINUS_INF})
    si = Real(arb.si, (lambda: -_quarter(), _quarter))
    ci = Real(arb.ci, (NAN, 0), low=0, at={0: MINUS_INF})
    shi = Real(arb.shi, _ODD)
    chi = Real(arb.chi, (NAN, INF), low=0, at={0: MINUS_INF})
