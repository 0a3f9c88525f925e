"""Numbers that come from long doubles, and go back to them when all of their bits are certain: balls, or mpmath's where these do not do."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from flint import arb

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.reference.ball import Ball, as_arb, made
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import context
from gradcli.reference.enclosures import Undecidable

_BITS = 70  # that have to be certain
_DIGITS_OF_MPMATH = 40
_BEYOND = 1 << 20  # binary exponents that no long double has
_ORDINARY = 1e-290, 1e290  # sizes whose high and low parts are doubles


class LongBalls(Balls):
    """A context whose numbers are made of long doubles."""

    undecidable = Undecidable

    def exact(self, high: float, low: float) -> Any:
        return made(arb(high) + low) if low else Ball(high)

    def whole(self, n: int) -> Any:
        return Ball(n)

    def again(self, x: Any) -> Any:
        return x

    def settled(self, x: Any) -> bool:
        """Whether all bits of a long double are certain, or no digits ever make them so."""
        ball = as_arb(x)
        return not ball.is_finite() or ball.is_exact() or ball.rel_accuracy_bits() >= _BITS

    def long_double(self, x: Any) -> Any:
        ball = as_arb(x).mid()
        if not ball.is_finite():
            return LONG_DOUBLE(float(ball))
        high = float(ball)
        if ball.is_zero() or _ORDINARY[0] < abs(high) < _ORDINARY[1]:
            return LONG_DOUBLE(high) + LONG_DOUBLE(float(ball - high))
        mantissa, exponent = ball.man_exp()
        high = float(int(mantissa))
        low = float(int(mantissa) - int(high)) if abs(high) < _ORDINARY[1] else 0.0
        return np.ldexp(LONG_DOUBLE(high) + LONG_DOUBLE(low), max(-_BEYOND, min(_BEYOND, int(exponent))))


class LongMpmath:
    """mpmath's context, at so many digits that the last of a long double is right in all but name."""

    undecidable = ()

    def __init__(self) -> None:
        self.context = context()
        self.context.dps = _DIGITS_OF_MPMATH

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def working(self) -> Any:
        return nullcontext()

    def exact(self, high: float, low: float) -> Any:
        return self.context.mpf(high) + low

    def whole(self, n: int) -> Any:
        return self.context.mpf(n)

    def again(self, x: Any) -> Any:
        """A number of another context."""
        if not isinstance(x, Ball):
            return x
        if not x.ball.is_finite():
            return self.context.mpf(float(x.ball.mid()))
        mantissa, exponent = x.ball.mid().man_exp()
        return self.context.mpf((int(mantissa), int(exponent)))

    def settled(self, x: Any) -> bool:
        return True

    def long_double(self, x: Any) -> Any:
        return LONG_DOUBLE(self.context.nstr(self.context.mpf(x), 25))
