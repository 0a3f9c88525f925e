"""What a row of the battery is, and ways to write many of them."""

from __future__ import annotations

from collections.abc import Mapping
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


class Plain:
    """Functions as somebody's float64 code would call them."""

    pi = np.pi

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name) if hasattr(np, name) else getattr(scipy.special, name)


def evaluated(formula: str, functions: Any, at: Mapping[str, Any]) -> float:
    """A formula of the table, with the functions of mpmath or of NumPy and SciPy."""
    code = compile(formula, formula, "eval")
    named = {name: getattr(functions, name) for name in set(code.co_names) - set(at)}
    return float(eval(code, {**named, **at}))


def by_mpmath(formula: str, at: Mapping[str, float]) -> float:
    """A formula at the exact numbers, to fifty digits, rounded once."""
    return evaluated(formula, PRECISE, {name: PRECISE.mpf(x) for name, x in at.items()})


def by_numpy(formula: str, at: Mapping[str, float]) -> float:
    with np.errstate(all="ignore"):
        return evaluated(formula, Plain(), {name: np.float64(x) for name, x in at.items()})


def scalar(
    title: str,
    program: str,
    at: Mapping[str, float],
    slope: str,
    code: str | None = None,
    wrong: Mapping[str, str] | None = None,
    verdicts: tuple[str, ...] = FINE,
    slightly: float | None = SLIGHTLY,
) -> list[Row]:
    """A function of numbers and its derivative by x: right as mathematics and as code say, and
    wrong in several ways.

    code      the derivative as code would compute it, where that is another formula
    slightly  the relative error that must be found; None where rounding costs more
    """
    truth = by_mpmath(slope, at)
    rows = [
        Row(f"{title}: mathematics", program, at, {"x": truth}, verdicts),
        Row(f"{title}: code", program, at, {"x": by_numpy(code or slope, at)}, verdicts),
    ]
    mistakes = {f: by_mpmath(formula, at) for f, formula in (wrong or {}).items()}
    if truth:
        off = {f"off by {slightly:g}": truth * (1 + slightly)} if slightly else {}
        mistakes = {**off, "sign": -truth, **mistakes}
    return rows + [
        Row(f"{title}: {mistake}", program, at, {"x": claim}, WRONG)
        for mistake, claim in mistakes.items()
    ]
