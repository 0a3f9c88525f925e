"""Lost digits are found and told, entry by entry, and what is written instead keeps them: against
recorded truths.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from helpers import thinned

import gradcli

LINES = (Path(__file__).parent / "data" / "lost_digits.jsonl").read_text(encoding="utf-8")
CASES = [tuple(json.loads(line).values()) for line in LINES.splitlines()]
MANY, FEW = 20, 12  # bits


def lost(computed: Any, true: str) -> float:
    """The bits that a float has lost."""
    found, right = float(computed), Decimal(true)
    if not math.isfinite(found):
        return 0.0 if found == float(right) else 53.0
    with localcontext() as context:
        context.prec = 60
        relative = float(abs(Decimal(found) - right) / abs(right)) if right else float(found != 0)
    return min(53.0, max(0.0, math.log2(relative / 2.0**-52))) if relative else 0.0


def losses(record: Any, true: dict[str, str]) -> dict[str, float]:
    return {
        name: lost(record.value if name == "value" else record.grad.get(name, 0.0), number)
        for name, number in true.items()
    }


@pytest.mark.parametrize(
    ("text", "point", "true"), thinned(pytest.param(*case, id=case[0]) for case in CASES)
)
def test_lost_digits_are_told_and_kept_by_the_rewrite(
    text: str, point: dict[str, float], true: dict[str, str]
) -> None:
    record = gradcli.evaluate(text, formula=False, **point)
    before = losses(record, true)
    for name, bits in before.items():
        part = record.check.value if name == "value" else record.check.variables[name]
        if part.verdict.word != "mismatch":
            assert (part.lost or 0) == pytest.approx(bits, abs=1.0) or bits < MANY + 1, name
            assert (part.verdict.word == "ill-conditioned") == (bits > 34) or 32 <= bits <= 35, name
    assert record.check.repairs
    rewrite = record.check.rewrite
    assert rewrite.lost == pytest.approx(max(before.values()), abs=1.0)
    typed = gradcli.evaluate(
        rewrite.text,
        check=False,
        formula=False,
        **{name: x for name, x in point.items() if name in rewrite.text},
    )
    after = losses(typed, true)
    assert max(after.values()) <= min(FEW, max(before.values()) - 8)
    assert max(after.values()) == pytest.approx(rewrite.left, abs=1.0)
