"""Numbers at a point by balls that are narrow: the digits are raised until they are, so that two of them can be told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.reference.algebra import Algebra, Unsupported, settled
from gradcli.reference.enclosures import Undecidable, has_flint

_DIGITS = (40, 100, 400, 1600)
_NARROW = 30  # digits that an enclosure has
_NOTHING = -400  # the power of ten below which an enclosure of zero is taken for zero: floats end before
_WITHOUT_BALLS = (Unsupported, AttributeError, TypeError, ValueError, ArithmeticError, LookupError)


def numbers(m: Any, evaluate: Callable[[Any], Sequence[np.ndarray] | None]) -> list[np.ndarray] | None:
    """What arrays of scalars are that are computed in a context, as numbers of mpmath's ``m``, right to thirty digits.

    None where balls cannot tell, or have nothing finite to tell, and where there is nothing to evaluate (None).
    """
    if not has_flint():
        return None
    from gradcli.reference.balls import Balls

    balls = Balls()
    for balls.dps in _DIGITS:
        try:
            with balls.working():
                arrays = evaluate(balls)
                if arrays is None or not all(_finite(balls, x) for array in arrays for x in np.ravel(array)):
                    return None
                if all(_narrow(x) for array in arrays for x in np.ravel(array)):
                    return [Algebra.map(lambda x: _number(m, x), array) for array in arrays]
        except Undecidable:
            continue
        except _WITHOUT_BALLS:
            return None
    return None


def _finite(balls: Any, x: Any) -> bool:
    return isinstance(x, bool) or bool(balls.isfinite(x))


def _narrow(x: Any) -> bool:
    """Whether an enclosure has enough digits, or is of nothing that floats could tell from zero."""
    from flint import arb

    if isinstance(x, bool) or x.ball.rad() == 0:
        return True
    return bool(x.ball.rel_accuracy_bits() > _NARROW * 3.33 or abs(x.ball) < arb(10) ** _NOTHING)


def _number(m: Any, x: Any) -> Any:
    if isinstance(x, bool):
        return x
    mantissa, exponent = x.ball.mid().man_exp()
    return settled(m, m.ldexp(int(mantissa), int(exponent)))
