"""One function, one verdict: what underflows, cancels, branches or is exact is known to the judge
however the function is written.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli
from gradcli import Verdict
from gradcli.options import ClaimInput

SIZE = """
abs(x); absolute(x); fabs(x); np.abs(x); torch.abs(x); norm([x]); maximum(x, -x); max([x, -x]); fmax(x, -x); where(x > 0, x, -x);
relu(x) + relu(-x); clip(x, 0, None) - clip(x, None, 0); x*sign(x)
"""
ROOT_OF_SQUARE = (
    "sqrt(x**2); sqrt(x*x); math.sqrt(square(x)); (x**2)**0.5; pow(x*x, 0.5); "
    "float_power(x*x, 0.5); hypot(x, 0)"
)


def spellings(texts: str) -> list[str]:
    return [text.strip() for text in texts.replace("\n", " ").split(";")]


@over("spellings", "verdicts", "text", "at", "value", "slopes")
def test_every_spelling_gets_the_verdict_of_the_function(
    text: str, at: dict[str, float], value: str, slopes: dict[str, str]
) -> None:
    check = gradcli.evaluate(text, at=at, formula=False).check
    assert check is not None
    assert check.value is not None
    found = {name: part.verdict.name for name, part in check.variables.items()}
    assert (check.value.verdict.name, found) == (value, slopes), f"of {text} at {at}"


@pytest.mark.parametrize("text", [*spellings(SIZE), *spellings(ROOT_OF_SQUARE)])
def test_the_other_branch_of_every_spelling_is_tried(text: str) -> None:
    """That the derivative is 1 holds at 2 and near it: not on the other side of 0."""
    check = claimed(text, ClaimInput("x", "1 + 0*x"))
    assert check.claims[0].verdict is Verdict.MISMATCH, f"the derivative of {text} is -1 below 0"


def claimed(text: str, claim: ClaimInput) -> Any:
    from test_extended import checked

    return checked(text, {"x": 2.0}, (claim,))


EQUAL = (
    "sqrt(x)*sqrt(x); sqrt(x)**2; x**0.5*x**0.5; math.sqrt(x)*np.sqrt(x); 1/rsqrt(x)**2; "
    "cbrt(x)**3; prod([sqrt(x), sqrt(x)])"
)


@pytest.mark.parametrize("text", spellings(EQUAL))
def test_every_spelling_of_an_algebraic_number_is_compared_exactly(
    text: str, call_cli: Any
) -> None:
    """Floats have sqrt(2)**2 above 2; neither side is the larger."""
    done = call_cli(
        "check", "--format", "jsonl", "-e", f"assert {text} <= x and {text} >= x", "x=2"
    )
    assert {claim["verdict"] for claim in json.loads(done.stdout)["check"]["claims"]} == {
        "agree"
    }, f"{text} is 2"


N = 300_000
RANDOM = np.random.default_rng(7)
LARGE = {"x": RANDOM.standard_normal(N), "y": RANDOM.uniform(0.5, 2.0, N)}
INNER = (
    "sum(x*y); np.sum(np.multiply(x, y)); dot(x, y); vdot(x, y); inner(x, y); vecdot(x, y); x "
    "@ y; tensordot(x, y, axes=1)"
)


@pytest.mark.parametrize("text", spellings(INNER))
def test_every_spelling_is_known_to_the_judge_of_large_arrays(text: str) -> None:
    check = gradcli.evaluate(text, at=LARGE, formula=False).check
    assert check is not None
    assert {name: part.verdict.name for name, part in check.variables.items()} == dict.fromkeys(
        "xy", "AGREE"
    ), check.reason
    assert {part.decided_by for part in check.variables.values()} == {"double"}, check.reason
