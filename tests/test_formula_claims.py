"""Claims that are formulas, right and wrong ones, at bound values and without: nothing right is
refuted, nothing wrong agrees.

The right sides are derivatives from tables, not of this program.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import read_lines

# expression, name, its derivative written in several ways, and a point
RIGHT = [
    (row["expr"], row["by"], row["claims"], row["at"]) for row in read_lines("right_claims.jsonl")
]
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
        for text, name, claims, at in RIGHT
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
        for text, name, claims, at in RIGHT
        if mistake != "a sign for negative numbers"
        or text in ("abs(x)*x", "where(x > 1, x**2, 2*x - 1)")
    ]
    for case, claim in zip(cases, verdicts(cases), strict=True):
        assert claim["verdict"] == "mismatch", (
            f"{mistake}: {case[2]} is not the derivative of {case[0]} by {case[1]}"
        )


def test_wrong_formulas_are_refuted_without_values(verdicts: Any) -> None:
    mistakes = [mistake for mistake in WRONG if mistake != "a sign for negative numbers"]
    cases = [
        (text, name, WRONG[mistakes[i % 4]].format(claims[0]), None)
        for i, (text, name, claims, _) in enumerate(RIGHT)
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
