"""What a row of the battery is, and ways to write many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
import scipy.special

PRECISE = mpmath.MPContext()
PRECISE.dps = 50
FINE = ("agree",)
ROUNDED = ("agree", "ill-conditioned")
SLIGHTLY = 5e-6


class Row(NamedTuple):
    """A claim on a program, and the verdicts that it may have:

    "mismatch", or others if it is right.
    """

    title: str
    program: str
    at: Mapping[str, Any]
    claims: Mapping[str, Any]  # by name, or of the "value": numbers, or text as a formula
    verdicts: tuple[str, ...] = FINE
    seed: Any = None
    wrt: list[str] | None = None
    rtol: float | None = None
    dtype: str = "float64"

    @property
    def is_right(self) -> bool:
        return self.verdicts != WRONG


WRONG = ("mismatch",)
Formula = Callable[..., Any]  # of a namespace of functions and the numbers


class Plain:
    """Functions as somebody's float64 code would call them."""

    mpf = staticmethod(float)
    pi = np.pi

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name) if hasattr(np, name) else getattr(scipy.special, name)


def by_mpmath(formula: Formula, *numbers: float) -> float:
    """A formula at the exact numbers, to fifty digits, rounded once."""
    return float(formula(PRECISE, *map(PRECISE.mpf, numbers)))


def by_numpy(formula: Formula, *numbers: float) -> float:
    with np.errstate(all="ignore"):
        return float(formula(Plain(), *map(np.float64, numbers)))


def scalar(
    title: str,
    program: str,
    x: float,
    slope: Formula,
    wrong: Mapping[str, Formula | None] | None = None,
    verdicts: tuple[str, ...] = FINE,
    plain: Formula | bool = True,
    slightly: float | None = SLIGHTLY,
    **more: float,
) -> list[Row]:
    """A function of numbers and its derivative by x: right as mathematics and as code say, and
    wrong in several ways.

    plain     the derivative as code would compute it, where that is another formula; False if there
              is none
    slightly  the relative error that must be found; None where rounding costs more
    """
    at = {"x": x, **more}
    numbers = list(at.values())
    truth = by_mpmath(slope, *numbers)
    rows = [Row(f"{title}: mathematics", program, at, {"x": truth}, verdicts)]
    if plain:
        code = slope if plain is True else plain
        rows.append(Row(f"{title}: code", program, at, {"x": by_numpy(code, *numbers)}, verdicts))
    if truth and slightly:
        rows.append(
            Row(f"{title}: off by {slightly:g}", program, at, {"x": truth * (1 + slightly)}, WRONG)
        )
    if truth:
        rows.append(Row(f"{title}: sign", program, at, {"x": -truth}, WRONG))
    for mistake, formula in (wrong or {}).items():
        rows.append(
            Row(f"{title}: {mistake}", program, at, {"x": by_mpmath(formula, *numbers)}, WRONG)
        )
    return rows
