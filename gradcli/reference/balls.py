"""Ball arithmetic behind the names of mpmath's context: what references of scalars are evaluated
with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import flint
from flint import arb

from gradcli.reference.ball import (
    REAL,
    Ball,
    as_arb,
    ball_of,
    check_finite,
    enclosure,
    of_mpmath,
    power,
    quotient,
    sharpen,
    whole,
)
from gradcli.reference.contexts import Undecidable
from gradcli.reference.special_balls import FUNCTIONS, by_parameters

_BITS = math.log2(10)
_GUARD = 10  # further bits at which everything is computed


def _on_scalars(function: Any) -> Callable[..., Ball]:
    """A function of real numbers, on scalars."""

    def on_scalars(*numbers: Any) -> Ball:
        given = [as_arb(x) for x in numbers]
        return ball_of(check_finite(function(*given), given))

    return on_scalars


_LOG = _on_scalars(REAL["log"])
_PLAIN: dict[str, Callable[..., arb]] = {
    "floor": lambda x: whole(x, arb.floor), "ceil": lambda x: whole(x, arb.ceil), "fabs": abs, "maximum": arb.max, "power": power,
}  # fmt: skip


class Balls:
    """A context of mpmath's names on balls.

    uncertified  the operations whose iterations have ended without a bound on what is left
    """

    mpf = Ball
    NoConvergence: tuple[()] = ()  # which mpmath raises: here it is `Undecidable`
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

    @property
    def pi(self) -> Ball:
        return ball_of(arb.pi())

    @property
    def euler(self) -> Ball:
        return ball_of(arb.const_euler())

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
        """Return whether it is a whole number; for one that is not known exactly, certainly."""
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
    def fsum(terms: Iterable[Any]) -> Ball:
        return ball_of(sum((as_arb(x) for x in terms), arb(0)))

    @staticmethod
    def fprod(factors: Iterable[Any]) -> Ball:
        product = arb(1)
        for x in factors:
            product *= as_arb(x)
        return ball_of(product)

    @staticmethod
    def make_mpf(parts: tuple[int, Any, int, int]) -> Ball:
        return ball_of(of_mpmath(parts))

    def log(self, x: Any, base: Any = None) -> Ball:
        found = _LOG(x)
        return found if base is None else ball_of(quotient(found.ball, _LOG(base).ball))

    def by_parameters(self, name: str, orders: tuple[int, ...], *numbers: Any) -> Ball:
        """A function's derivative by its parameters, so many times by each: what mpmath takes
        differences for.
        """
        return _on_scalars(lambda *given: sharpen(partial(by_parameters, name, orders), given))(
            *numbers
        )

    @staticmethod
    def matrices(name: str, arrays: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A function of whole matrices; None where it cannot be certain."""
        from gradcli.reference.special_balls import enclose

        return enclose(name, arrays)

    @staticmethod
    def nstr(x: Any, digits: int = 15) -> str:
        """The midpoint as decimals."""
        return str(as_arb(x).mid().str(digits, radius=False))

    def __getattr__(self, name: str) -> Any:
        """A function that FLINT has."""
        function = REAL.get(name) or _PLAIN.get(name)
        if name in FUNCTIONS:
            function = partial(enclosure, name, FUNCTIONS[name])
        if function is None:
            raise AttributeError(name)
        setattr(self, name, _on_scalars(function))
        return getattr(self, name)
