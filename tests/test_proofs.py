"""Formulas decided by algebra: what is proved is right, what is right is mostly proved, and no
rewriting that holds on a part of the domain only is one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import over

from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.reference.fields.identity import Decision

pytest.importorskip("flint")

# Derivatives as sympy writes them (factored, together, by trigonometric identities, by
# exponentials), and the same with a mistake: a factor of 1.00001, a sign, an added 1e-6 or 1e-9*x,
# a half, an exponent, a cosine in the place of a sine.
LINES = (Path(__file__).parent / "data" / "hard_claims.jsonl").read_text(encoding="utf-8")
CLAIMS = [tuple(json.loads(line).values()) for line in LINES.splitlines()]


def decided(
    text: str, claim: str, by: str | None = None, seed: Any = 1.0, **values: Any
) -> Decision:
    """What is said of a claim about the derivative of an expression by a name, or about its
    value.
    """
    from gradcli.reference.fields.identity import Question, decide

    scope = Scope()
    program = Program(scope)
    names = values or dict.fromkeys("abnxy", 0.5)
    for name, value in names.items():
        scope.bind_value(name, value)
    root, formula = (
        program.execute(next(iter(statements([each], None, scope.limits)))).value
        for each in (text, claim)
    )
    return decide(
        Question(
            root, None if by is None else scope.leaves[by], formula, seed, scope.values, "float64"
        )
    )


@pytest.mark.parametrize("case", CLAIMS, ids=lambda case: case[0])
def test_derivatives_are_proved_however_they_are_written_and_wrong_ones_are_not(
    case: tuple[str, str, str, str],
) -> None:
    text, name, right, wrong = case
    assert decided(text, right, name) is Decision.SAME
    assert decided(text, wrong, name) is not Decision.SAME


@over("proofs", "tables", "text", "name", "claim")
def test_tables_of_derivatives_are_proved(text: str, name: str, claim: str) -> None:
    assert decided(text, claim, name) is Decision.SAME


@over("proofs", "half true", "text", "claim")
def test_what_holds_on_a_part_of_the_domain_is_not_proved(text: str, claim: str) -> None:
    assert decided(text, claim) is not Decision.SAME


def test_what_is_known_of_the_domain_counts() -> None:
    """Where both sides have a value, x is not negative."""
    for text, claim in (
        ("log(x**2)*log(x)", "2*log(x)**2"), ("sqrt(x)*sqrt(x**2)", "x**(3/2)"), ("(x**2)**(1/4)*sqrt(y)", "sqrt(x*y)"),
        ("sqrt(x)**2", "abs(x)"),
    ):  # fmt: skip
        assert decided(text, claim) is Decision.SAME


def test_numbers_are_those_that_are_read() -> None:
    """0.1 is the float, on both sides; no decimal is a third, and different numbers are
    different.
    """
    assert decided("0.1*x", "0.1", "x") is Decision.SAME
    assert decided("x/3", "1/3", "x") is Decision.SAME
    assert decided("x/3", "0.3333333333333333", "x") is Decision.DIFFERENT
    assert decided("x/10", "0.1", "x") is Decision.DIFFERENT
    assert decided("0.1*x + 0.2*x", "0.3", "x") is Decision.DIFFERENT
    assert decided("x**2/2", "x + 1/10**30", "x") is Decision.DIFFERENT


def test_arrays_are_decided_entry_by_entry_or_as_a_whole() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    assert decided("x**2*y", "2*x*y", "x", np.ones(3), x=x, y=y) is Decision.SAME
    assert decided("sum(x**2*y)", "2*x*y", "x", x=x, y=y) is Decision.SAME
    assert decided("sum(x)**2", "2*sum(x)*ones(3)", "x", x=x) is Decision.SAME
    assert decided("sum(x)**2", "2*x", "x", x=x) is Decision.DIFFERENT
    assert decided("x**2", "2*x", "x", np.array([1.0, 1.0, 2.0]), x=x) is Decision.DIFFERENT
    assert decided("norm(x)", "x/norm(x)", "x", x=x) is Decision.SAME
    large = np.linspace(1, 2, 1000)
    assert (
        decided("exp(x)/x", "exp(x)/x - exp(x)/x**2", "x", np.ones(1000), x=large) is Decision.SAME
    )


@pytest.mark.parametrize("depth", [50, 3000])
def test_depth_is_no_recursion(depth: int) -> None:
    """What is too deep is left open; nothing fails."""
    text = "sin(" * depth + "x" + ")" * depth
    assert decided(text, "x", "x") is Decision.OPEN


def test_work_is_limited() -> None:
    assert decided("(a + b + n + x + y + sin(x) + exp(y))**60", "x", "x") is Decision.OPEN
    assert decided(" + ".join(f"sqrt(x + {i})" for i in range(80)), "x", "x") is Decision.OPEN
