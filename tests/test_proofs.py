"""Formulas decided by algebra: what is proved is right, what is right is mostly proved, and no
rewriting that holds on a part of the domain only is one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


TABLES = [  # from tables of derivatives
    ("x**n", "x", "n*x**(n - 1)"), ("x**n", "n", "x**n*log(x)"), ("x**x", "x", "x**x*(1 + log(x))"), ("2**x", "x", "log(2)*2**x"),
    ("log(x*y)", "x", "1/x"), ("log(abs(x))", "x", "1/x"), ("log(x**2)", "x", "2/x"), ("abs(x)*x", "x", "2*sqrt(x**2)"),
    ("sqrt(x + sqrt(x))", "x", "(2*sqrt(x) + 1)/(4*sqrt(x)*sqrt(x + sqrt(x)))"), ("cbrt(x)", "x", "1/(3*cbrt(x)**2)"),
    ("sin(x)**2", "x", "sin(2*x)"), ("tan(x)", "x", "1 + tan(x)**2"), ("(sin(x) + cos(x))**2", "x", "2*cos(2*x)"),
    ("sin(x + pi/4)", "x", "(cos(x) - sin(x))/sqrt(2)"), ("log(tan(x/2))", "x", "csc(x)"), ("sec(x)", "x", "sin(x)/cos(x)**2"),
    ("asin(x/a)", "x", "1/(a*sqrt(1 - x**2/a**2))"), ("asec(x)", "x", "1/(abs(x)*sqrt(x**2 - 1))"),
    ("atan2(y, x)", "x", "-y/(x**2 + y**2)"),
    ("acosh(x)", "x", "1/sqrt(x**2 - 1)"), ("asinh(x)", "x", "1/sqrt(1 + x**2)"), ("atanh(x)", "x", "1/(1 - x**2)"),
    ("log(cosh(x))", "x", "tanh(x)"), ("tanh(x)", "x", "sech(x)**2"), ("sigmoid(x)", "x", "sigmoid(x)*(1 - sigmoid(x))"),
    ("erf(a*x)", "x", "2*a*exp(-a**2*x**2)/sqrt(pi)"), ("gamma(x)", "x", "gamma(x)*digamma(x)"),
    ("hypot(x, y)", "y", "y/sqrt(x**2 + y**2)"), ("x**0.5", "x", "0.5/sqrt(x)"), ("exp(-x**2/2)*0.1", "x", "-0.1*x*exp(-x**2/2)"),
    ("grad(x**3, x)*y", "x", "6*x*y"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "claim"), TABLES)
def test_tables_of_derivatives_are_proved(text: str, name: str, claim: str) -> None:
    assert decided(text, claim, name) is Decision.SAME


HALF_TRUE = [  # right on a part of the domain only
    ("sqrt(x**2)", "x"), ("abs(x)", "x"), ("log(x**2)/2", "log(abs(x)) + x - abs(x)"), ("asin(sin(x))", "x"),
    ("atan(tan(x))", "x"), ("acos(cos(x))", "x"), ("(x**2)**n", "x**(2*n)"), ("sqrt(x**2*y)", "x*sqrt(y)"), ("(x*y)**n", "abs(x*y)**n"),
    ("sqrt((x - y)**2)", "x - y"), ("(x**4)**(1/4)", "x"), ("atan(1/x)", "pi/2 - atan(x)"), ("atan2(y, x)", "atan(y/x)"),
    ("sign(x)**2", "1"), ("acosh(cosh(x))", "x"), ("where(x > 1, x**2, x)", "x"), ("floor(x)", "x"), ("maximum(x, y)", "x"),
    ("(-x)**n*(-1)**n", "x**n"), ("exp(n*log(x**2)/2)", "x**n"), ("softplus(x, threshold=20)", "log(1 + exp(x))"),
    ("detach(x)*x", "x**2 + 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "claim"), HALF_TRUE)
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


@pytest.mark.parametrize("values", [["x=0.3", "y=2"], []], ids=["values", "sampled"])
def test_records_say_what_is_a_proof(values: list[str], call_cli: Any) -> None:
    def claim(text: str, said: str) -> Any:
        told = call_cli(
            "check", "--no-cache", "--format", "jsonl", "-e", text, *values, "--grad", f"x={said}"
        )
        return json.loads(told.stdout)["check"]["claims"][0]

    proved = claim("x**2*sin(y)", "2*x*sin(y)")
    assert (proved["verdict"], proved["decided_by"], "points" in proved) == (
        "agree",
        "algebra",
        False,
    )
    tried = claim("where(x > 0.7, x**2, x)", "where(x > 0.7, 2*x, 1)")
    assert (tried["verdict"], tried["decided_by"], tried["points"] > 6) == ("agree", "points", True)
    wrong = claim("x**2*y", "2*x*y + 1")
    assert (wrong["verdict"], wrong["decided_by"], wrong["worst"] is not None) == (
        "mismatch",
        "algebra",
        True,
    )
    near = claim("x**2*sin(y)", "2*x*sin(y)*(1 + 1/10**9)")
    assert (near["verdict"], near["decided_by"]) == ("mismatch", "points")


def test_lists_of_cases_say_what_is_a_proof(call_cli: Any) -> None:
    told = call_cli("check", "-v", "-e", "x**2", "--grad", "x=2*x").stdout
    assert "x**2  agree, the formula proved for all values\n" in told
    told = call_cli("check", "-v", "-e", "abs(x)**3", "x=2", "--grad", "x=3*x**2*sign(x)").stdout
    assert "abs(x)**3  agree, the formula at " in told


def test_cancellation_in_a_claim_is_no_mismatch(call_cli: Any) -> None:
    """The same derivatives, of terms that leave no digit of fifty, at points of any size."""
    for text, claim in (
        ("exp(-x*y)", "-y*(cosh(x*y) - sinh(x*y))"),
        ("erf(x**2*y**2)", "4*x*y**2*exp(-x**4*y**4)/sqrt(pi)"),
    ):
        assert call_cli("check", "-e", text, "--grad", f"x={claim}").returncode == 0
