"""Ball arithmetic behind the names of mpmath's context: what references of scalars are evaluated with.

Where FLINT lacks a function, mpmath's is used at some more digits, and its name is kept: such a result is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import flint
from flint import arb

from gradcli.reference.ball import Ball, Undecidable, as_arb, as_float, checked, made, of_mpmath, power, quotient, whole

_BITS = math.log2(10)
_GUARD = 10  # further bits at which everything is computed
_MPMATH_GUARD = 30  # bits of mpmath's result that are not relied upon


def _plain(method: Callable[[arb], arb]) -> Callable[[Any], Ball]:
    """A function of one number."""

    def function(x: Any) -> Ball:
        given = as_arb(x)
        return made(checked(method(given), (given,)))

    return function


class Balls:
    """A context of mpmath's names on balls.

    uncertified  the functions that FLINT lacks and mpmath has computed
    """

    mpf = Ball
    mpc = type("Complex", (), {})  # no number here is one

    def __init__(self, digits: int = 50) -> None:
        self.uncertified: set[str] = set()
        self.dps = digits
        self.zero, self.one = Ball(0), Ball(1)
        self.inf, self.ninf, self.nan = Ball(float("inf")), Ball(float("-inf")), Ball(float("nan"))

    @property
    def dps(self) -> int:
        return self._digits

    @dps.setter
    def dps(self, digits: int) -> None:
        self._digits = digits
        self._bits = math.ceil(digits * _BITS) + _GUARD

    @property
    def prec(self) -> int:
        return self._bits

    @contextmanager
    def working(self, bits: int | None = None) -> Iterator[Balls]:
        """FLINT's precision, which is global, is this context's for a while."""
        before, flint.ctx.prec = flint.ctx.prec, bits or self._bits
        try:
            yield self
        finally:
            flint.ctx.prec = before

    def workprec(self, bits: int) -> Any:
        return self.working(int(bits))

    def extraprec(self, bits: int) -> Any:
        return self.working(self._bits + int(bits))

    @property
    def pi(self) -> Ball:
        return made(arb.pi())

    @property
    def e(self) -> Ball:
        return made(arb.const_e())

    @property
    def euler(self) -> Ball:
        return made(arb.const_euler())

    @property
    def phi(self) -> Ball:
        return Ball((1 + arb(5).sqrt()) / 2)

    @staticmethod
    def isfinite(x: Any) -> bool:
        return bool(x.ball.is_finite()) if type(x) is Ball else math.isfinite(x)

    @staticmethod
    def isnan(x: Any) -> bool:
        return bool(x.ball.is_nan()) if type(x) is Ball else math.isnan(x)

    @staticmethod
    def isinf(x: Any) -> bool:
        return bool(abs(as_arb(x)) == arb.pos_inf())

    @staticmethod
    def isint(x: Any) -> bool:
        """Whether it is a whole number; for one that is not known exactly, certainly."""
        ball = as_arb(x)
        if ball.is_exact():
            return bool(ball.is_integer())
        if ball.contains_integer():
            raise Undecidable
        return False

    def sign(self, x: Any) -> Ball:
        if x == 0:
            return self.zero
        return self.nan if x != x else self.one if x > 0 else -self.one

    @staticmethod
    def mag(x: Any) -> int:
        """A power of two that the number does not exceed."""
        upper = as_arb(x).abs_upper()
        if upper.is_zero():
            return -(1 << 60)
        mantissa, exponent = upper.man_exp()
        return int(exponent) + int(mantissa).bit_length()

    @staticmethod
    def floor(x: Any) -> Ball:
        return made(whole(as_arb(x), arb.floor))

    @staticmethod
    def ceil(x: Any) -> Ball:
        return made(whole(as_arb(x), arb.ceil))

    @staticmethod
    def fabs(x: Any) -> Ball:
        return abs(Ball(x))

    @staticmethod
    def fsum(terms: Iterable[Any]) -> Ball:
        return made(sum((as_arb(x) for x in terms), arb(0)))

    @staticmethod
    def fprod(factors: Iterable[Any]) -> Ball:
        product = arb(1)
        for x in factors:
            product *= as_arb(x)
        return made(product)

    @staticmethod
    def make_mpf(parts: tuple[int, Any, int, int]) -> Ball:
        return made(of_mpmath(parts))

    @staticmethod
    def power(x: Any, y: Any) -> Ball:
        return made(power(as_arb(x), as_arb(y)))

    @staticmethod
    def sqrt(x: Any) -> Ball:
        given = as_arb(x)
        return made(checked(given.sqrt(), (given,)))

    def log(self, x: Any, base: Any = None) -> Ball:
        given = as_arb(x)
        if base is not None:
            return made(quotient(self.log(x).ball, self.log(base).ball))
        return self.ninf if given.is_zero() else made(checked(given.log(), (given,)))

    def cbrt(self, x: Any) -> Ball:
        return made(as_arb(x).root(3)) if not x < 0 else self.nan

    @staticmethod
    def atan2(y: Any, x: Any) -> Ball:
        given = as_arb(y), as_arb(x)
        return made(checked(arb.atan2(*given), given))

    def psi(self, order: int, x: Any) -> Ball:
        """The polygamma function."""
        given = as_arb(x)
        return made(checked(given.digamma() if order == 0 else flint.acb(given).polygamma(order).real, (given,)))

    @staticmethod
    def nstr(x: Any, digits: int = 15) -> str:
        """The midpoint as decimals."""
        return str(as_arb(x).mid().str(digits, radius=False))

    def __getattr__(self, name: str) -> Any:
        """Functions of one number that FLINT has; or mpmath's, whose results are no proof."""
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(arb, _NAMES.get(name, name), None) if name in _ONE or name in _NAMES else None
        function = _plain(method) if method is not None else self._by_mpmath(name)
        setattr(self, name, function)
        return function

    def _by_mpmath(self, name: str) -> Callable[..., Ball]:
        import mpmath

        if not callable(getattr(mpmath.mp, name, None)):
            raise AttributeError(name)

        def function(*given: Any, **options: Any) -> Ball:
            self.uncertified.add(name)
            with mpmath.workprec(flint.ctx.prec + _MPMATH_GUARD):
                value = getattr(mpmath.mp, name)(*[_to_mpmath(x) for x in given], **options)
                if isinstance(value, mpmath.mpc):
                    value = value.real if value.imag == 0 else mpmath.nan
                exact = of_mpmath(value._mpf_)
            return made(exact if not exact.is_finite() else arb(exact, abs(exact) * arb(2) ** -flint.ctx.prec))

        return function


_ONE = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "sech",
        "csch",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "expm1",
        "log1p",
        "gamma",
        "rgamma",
        "digamma",
        "erf",
        "erfc",
        "erfi",
        "erfinv",
        "erfcinv",
        "lambertw",
        "zeta",
        "ei",
        "si",
        "ci",
        "shi",
        "chi",
        "li",
    ]
)
_NAMES = {"loggamma": "lgamma", "sinpi": "sin_pi", "cospi": "cos_pi", "factorial": "fac"}


def _to_mpmath(x: Any) -> Any:
    import mpmath

    if type(x) is not Ball:
        return x
    if not x.ball.is_finite():
        return mpmath.mpf(as_float(x.ball))
    mantissa, exponent = x.ball.mid().man_exp()
    return mpmath.mpf((int(mantissa), int(exponent)))
