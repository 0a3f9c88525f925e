"""Claims that are formulas, right and wrong ones, at bound values and without: nothing right is
refuted, nothing wrong agrees.

The right sides are derivatives from tables, not of this program.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

# expression, name, its derivative written in several ways, and a point
RIGHT = {
    "quotient": ("x/(x + 1)", "x", ("1/(x + 1)**2", "1/(x + 1) - x/(x + 1)**2", "1/(1 + 2*x + "
    "x**2)"), {"x": 0.7}),
    "radicals": ("sqrt(x + sqrt(x))", "x", ("(2*sqrt(x) + 1)/(4*sqrt(x)*sqrt(x + sqrt(x)))", "(1 "
    "+ 1/(2*sqrt(x)))/(2*sqrt(x + sqrt(x)))"),
                 {"x": 2.0}),
    "tower": ("x**(x**2)", "x", ("x**(x**2 + 1)*(2*log(x) + 1)", "x**(x**2)*(2*x*log(x) + x)"), {"x": 1.3}),
    "inverse": ("asin(x/a)", "x", ("1/(a*sqrt(1 - x**2/a**2))",), {"x": 0.3, "a": 2.0}),
    "absolute": ("abs(x)*x", "x", ("2*abs(x)", "2*sqrt(x**2)", "2*x*sign(x)"), {"x": -1.5}),
    "pieces": ("where(x > 1, x**2, 2*x - 1)", "x", ("2*maximum(x, 1)", "where(x > 1, 2*x, 2)"), {"x": 3.0}),
    "cancelling": ("sqrt(x + 1) - sqrt(x)", "x", ("(sqrt(x) - sqrt(x + 1))/(2*sqrt(x)*sqrt(x + 1))",), {"x": 1e9}),
    "tiny": ("1e-12*sin(x)/y", "y", ("-1e-12*sin(x)/y**2",), {"x": 1.0, "y": 3.0}),
    "double angle": ("sin(x)**2", "x", ("sin(2*x)", "2*sin(x)*cos(x)", "2*tan(x)/(1 + tan(x)**2)"), {"x": 0.4}),
    "special": ("erf(a*x) + gammaln(x)", "x", ("2*a*exp(-a**2*x**2)/sqrt(pi) + digamma(x)",), {"x": 1.5, "a": 0.5}),
    "faded": ("2 - erfc(pi*x)", "x", ("2*sqrt(pi)*exp(-pi**2*x**2)",), {"x": 62.3}),
    "letters": ("sqrt((x2 - x1)**2 + (y2 - y1)**2)*sin(beta)", "y1", ("(y1 - "
    "y2)*sin(beta)/sqrt((x2 - x1)**2 + (y2 - y1)**2)",),
                {"x1": 1.0, "x2": 2.0, "y1": -0.5, "y2": 3.0, "beta": 0.7}),
}  # fmt: skip
WRONG = {
    "a factor of 1.00001": "1.00001*({})",
    "a sign": "-({})",
    "an added 1e-6": "({}) + 1e-6",
    "a half": "({})/2",
    "a sign for negative numbers": "({})*sign({name} + 1e3)",
}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "verdicts"))


@pytest.fixture
def verdicts(tmp_path: Any, call_cli: Any) -> Any:
    """The verdict on each claim: of an expression, a name, a formula, and values or None."""

    def decided(cases: list[Any]) -> list[Any]:
        records = [
            {"id": i, "expr": text, "expect": {"grad": {name: {"formula": claim}}}}
            | ({} if at is None else {"at": at})
            for i, (text, name, claim, at) in enumerate(cases)
        ]
        (tmp_path / "claims.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records)
        )
        told = [
            json.loads(line)
            for line in call_cli(
                "check", "--format", "jsonl", str(tmp_path / "claims.jsonl")
            ).stdout.splitlines()
        ]
        assert [record["error"] for record in told] == [None] * len(cases)
        return [record["check"]["claims"][0] for record in told]

    return decided


@pytest.mark.parametrize("bound", [True, False], ids=["values", "sampled"])
def test_right_formulas_agree_however_they_are_written(bound: bool, verdicts: Any) -> None:
    cases = [
        (text, name, claim, at if bound else None)
        for text, name, claims, at in RIGHT.values()
        for claim in claims
    ]
    for case, claim in zip(cases, verdicts(cases), strict=True):
        assert claim["verdict"] == "agree", (
            f"{case[2]} is the derivative of {case[0]} by {case[1]}: {claim}"
        )


@pytest.mark.parametrize("mistake", WRONG)
def test_wrong_formulas_are_refuted(mistake: str, verdicts: Any) -> None:
    cases = [
        (text, name, WRONG[mistake].format(claims[0], name=name), at)
        for text, name, claims, at in RIGHT.values()
        if mistake != "a sign for negative numbers"
        or text in ("abs(x)*x", "where(x > 1, x**2, 2*x - 1)")
    ]
    for case, claim in zip(cases, verdicts(cases), strict=True):
        assert claim["verdict"] == "mismatch", (
            f"{mistake}: {case[2]} is not the derivative of {case[0]} by {case[1]}"
        )


def test_wrong_formulas_are_refuted_without_values(verdicts: Any) -> None:
    mistakes = [mistake for mistake in WRONG if mistake != "a sign for negative numbers"]
    chosen = list(RIGHT.values())
    cases = [
        (text, name, WRONG[mistakes[i % 4]].format(claims[0]), None)
        for i, (text, name, claims, _) in enumerate(chosen)
    ]
    for case, claim in zip(cases, verdicts(cases), strict=True):
        assert claim["verdict"] == "mismatch", (
            f"{case[2]} is not the derivative of {case[0]} by {case[1]}"
        )


def test_powers_with_immense_exponents_end(verdicts: Any) -> None:
    """log of a tower, at values where the tower has a quarter of a million digits."""
    base = "(x**2/(1 + pi)**2 + 1)"
    [claim] = verdicts(
        [(f"{base}**y", "y", f"log({base}**({base}**y))", {"x": 0.122, "y": -0.926})]
    )
    assert claim["verdict"] == "agree"
