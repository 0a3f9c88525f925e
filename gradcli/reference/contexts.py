"""mpmath's context as the judge uses it: functions of several numbers are asked at finite ones only.

At infinity functions of one number have mpmath's limits, of which each comes back. Those of several have none there that is right
for all of them, and some never end: their limits are stated here, for FLINT's functions of the same names, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

Limit = Callable[..., float]

# At infinity, of the number that stands last; NaN where a function has no limit, or none that anything needs.
_LIMITS: dict[str, Limit] = {
    "expint": lambda order: 0.0,
    "psi": lambda order: 0.0 if order > 0 else math.inf,
    "hyp1f1": lambda a, b: math.inf if a > 0 and b > 0 else math.nan,
    "besseli": lambda order: math.inf,
    "besselk": lambda order: 0.0,
}


def limit_of(m: Any, name: str, numbers: tuple[Any, ...]) -> float | None:
    """Return a function's value where one of its several numbers is not finite; None where all are."""
    finite = [m.isfinite(x) for x in numbers]
    if len(numbers) < 2 or all(finite):
        return None
    if all(finite[:-1]) and numbers[-1] == math.inf and name in _LIMITS:
        return _LIMITS[name](*numbers[:-1])
    return math.nan


def context() -> Any:
    """Return a context of mpmath with a precision of its own."""
    return _class()()


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

    return Context


def _with_limits(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def limited(m: Any, *numbers: Any, **options: Any) -> Any:
        if len(numbers) > 1 and all(isinstance(x, (int, float, m.mpf)) for x in numbers):
            found = limit_of(m, name, numbers)
            if found is not None:
                return m.mpf(found)
        return function(m, *numbers, **options)

    return limited


# -- Whether numbers can be enclosed here, and what is raised where enclosures leave something
# open: without importing FLINT.


class Undecidable(Exception):
    """A branch that the enclosures leave open at this precision."""


@cache
def has_flint() -> bool:
    """Return whether FLINT is there: it is no part of Python on every system."""
    try:
        import_module("flint")
    except ImportError:
        return False
    return True
