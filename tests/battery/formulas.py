"""Rows that stand as lines of JSON: functions of numbers (scalars.jsonl), kinks and branches
(branches.jsonl), claims as formulas, values and asserts (formulas.jsonl).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from battery.arrays import some
from battery.rows import FINE, WRONG, Row, scalar

_A, _V = some(3, 3) + 3 * np.eye(3), some(3)
ARRAYS = {"A": _A, "V": _V, "W": some(3), "S": _A @ _A.T, "I": np.eye(3), "V + 2": _V + 2, "V**2": _V**2, "2*V[:2]": 2 * _V[:2]}  # fmt: skip


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Values of a line, of which some are the names of arrays."""
    return {
        name: ARRAYS.get(value, value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def _lines(name: str) -> list[dict[str, Any]]:
    text = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _branches(
    title: str, program: str, at: Any, right: list[Any], wrong: list[Any], verdict: str = "agree"
) -> list[Row]:
    """Claims of x's gradient, numbers or formulas."""
    return [
        Row(
            f"{title}: {word}{claim['formula'] if isinstance(claim, dict) else claim}",
            program,
            at,
            {"x": claim},
            verdicts,
        )
        for word, claims, verdicts in (("", right, (verdict,)), ("not ", wrong, WRONG))
        for claim in claims
    ]


def _formulas(
    at: Any,
    program: str = "",
    right: tuple[str, ...] = (),
    wrong: tuple[str, ...] = (),
    of: str = "x",
    verdicts: tuple[str, ...] = FINE,
    asserts: tuple[str, ...] = (),
    refuted: tuple[str, ...] = (),
    **options: Any,
) -> list[Row]:
    """Formulas that are the derivative of a program or not, and asserts that hold or do not."""
    at = _given(at)
    if "claims" in options:
        claims = _given(options.pop("claims"))
        return [Row(program=program, at=at, claims=claims, verdicts=tuple(verdicts), **options)]
    return [
        *(
            Row(
                f"d/d{of} {program} {word} {f}", program, at, {of: {"formula": f}}, found, **options
            )
            for word, formulas, found in (("=", right, tuple(verdicts)), ("is not", wrong, WRONG))
            for f in formulas
        ),
        *(
            Row(f"assert {claim}", f"assert {claim}", at, {}, found)
            for claims, found in ((asserts, FINE), (refuted, WRONG))
            for claim in claims
        ),
    ]


SCALARS = [row for line in _lines("scalars") for row in scalar(**line)]
BRANCHES = [row for line in _lines("branches") for row in _branches(**line)]
FORMULAS = [row for line in _lines("formulas") for row in _formulas(**line)]
