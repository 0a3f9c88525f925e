"""Context of mpmath for the judge: functions of several numbers are asked at finite ones only.

At infinity, functions of one number have mpmath's limits, each of which is computed in the end.
Those of several numbers have no limits there that are right for all of them, and some never end.
Their limits are stated here, for FLINT's functions of the same names, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from gradcli.reference.deadline import still_in_time

Limit = Callable[..., float]
_TERMS = 100_000  # most of a series until they fall

# Limits as the last argument goes to infinity. NaN where a function has no limit, or none that
# anything needs.
_LIMITS: dict[str, Limit] = {
    "expint": lambda order: 0.0,
    "psi": lambda order: 0.0 if order > 0 else math.inf,
    "hyp1f1": lambda a, b: math.inf if a > 0 and b > 0 else math.nan,
    "besseli": lambda order: math.inf,
    "besselk": lambda order: 0.0,
}


def context(answer: Callable[..., Any] | None = None) -> Any:
    """Return a context of mpmath with a precision of its own.

    ``answer(context, name, numbers)`` is asked first for a value of a function; None leaves it to
    mpmath.
    """
    from mpmath.libmp import fhalf, mpc_exp, mpf_exp, mpf_mul, mpf_sub

    def exponential(x: Any, bits: int, rounding: str) -> Any:
        """Return e to the power x; of a large x, half is taken off first.

        mpmath multiplies up the power of a large whole number, which takes 10 ms at 1e300.
        """
        if x[2] + x[3] < 64:
            return mpf_exp(x, bits, rounding)
        rest, half = (mpf_exp(part, bits + 10) for part in (mpf_sub(x, fhalf), fhalf))
        return mpf_mul(rest, half, bits, rounding)

    m = _class()()
    m.answer = answer
    m.exp = m._wrap_libmp_function(exponential, mpc_exp)
    for name in ("gamma", "rgamma"):  # for many digits mpmath makes a table first
        own = getattr(m, name)
        setattr(m, name, partial(_with_limits(name, lambda m, *x, own=own: own(*x)), m))
    return m


@cache
def _class() -> Any:
    import mpmath

    class Context(mpmath.MPContext):  # type: ignore[misc]
        """mpmath's functions, with the limits of those of several numbers."""

        @classmethod
        def _wrap_specfun(cls, name: str, function: Any, wrap: Any) -> None:
            super()._wrap_specfun(name, function, wrap)
            if not name.startswith("_"):
                setattr(cls, name, _with_limits(name, getattr(cls, name)))

        psi = _with_limits("psi", mpmath.MPContext.psi)

        def hypsum(self, p: int, q: int, flags: Any, given: Any, z: Any, **options: Any) -> Any:
            """Sum a series, unless even its last terms grow."""
            above, below = (
                self.fprod(self.convert(x) + _TERMS for x in part)
                for part in (given[:p], given[p:])
            )
            if p <= q and abs(z * above) > abs(_TERMS * below):
                raise self.NoConvergence
            return super().hypsum(p, q, flags, given, z, **options)

    return Context


def _with_limits(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run_limited(m: Any, *numbers: Any, **options: Any) -> Any:
        still_in_time()
        real = all(isinstance(x, (int, float, m.mpf, m.mpq)) for x in numbers)
        is_one = len(numbers) < 2 or not real
        finite = [is_one or m.isfinite(x) for x in numbers]
        if all(finite):
            known = m.answer(m, name, numbers) if real and m.answer and not options else None
            return function(m, *numbers, **options) if known is None else known
        is_known = all(finite[:-1]) and numbers[-1] == math.inf and name in _LIMITS
        return m.mpf(_LIMITS[name](*numbers[:-1]) if is_known else math.nan)

    return run_limited


# -- Whether numbers can be enclosed here, and what is raised where enclosures leave something
# open: without importing FLINT.


class Undecidable(Exception):
    """A branch that the enclosures leave open at this precision."""


@cache
def has_flint() -> bool:
    """Return whether FLINT is there: it is no part of Python on every system."""
    return find_spec("flint") is not None
