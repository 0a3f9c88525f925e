"""``gradcli diff``: verdicts on formulas, and hostile texts."""

from __future__ import annotations

import json

import pytest

import gradcli
from gradcli.formulas import derivatives


@pytest.fixture
def records(call_cli):
    """Run gradcli diff and give its exit code and its records."""

    def run(*arguments, **options):
        done = call_cli("diff", "--format", "jsonl", *arguments, **options)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize(
    "wrong",
    [lambda raw: raw * 1.00001, lambda raw: -raw, lambda raw: raw + 1e-6, lambda raw: raw / 2],
)
@pytest.mark.parametrize("text", ["x^3*sin(x)", "log(x)/x", "x*y + sqrt(x*y)"])
def test_a_wrong_formula_is_a_mismatch(monkeypatch, call_cli, text, wrong):
    """The simplifier is made to change the function, and what would notice it before is
    made blind.
    """
    monkeypatch.setattr(derivatives, "WAYS", (lambda raw, graph: wrong(raw),))
    monkeypatch.setattr(derivatives.General, "_agree", lambda self, simple, raw: True)
    done = call_cli("diff", text, "--format", "jsonl")
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert record["check"]["verdict"] == "mismatch"
    assert "claimed" in record["warnings"][0]


def test_a_simplifier_that_changes_the_function_is_not_believed(monkeypatch):
    monkeypatch.setattr(derivatives, "WAYS", (lambda raw, graph: raw * 2, derivatives.plain))
    record = gradcli.differentiate("x^3")
    assert (record.derivative, record.check.verdict) == ({"x": "3*x**2"}, "agree")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "x" + ")" * 3000,
        "+".join(f"x**{i}" for i in range(10_000)),
        "-" * 5000 + "x",
        *("sin(" * n + "x" + ")" * n for n in (300, 800, 3000)),
        "1/(1+" * 150 + "x" + ")" * 150,
    ],
    ids=["brackets", "terms", "signs", "depth", "more depth", "most depth", "fractions"],
)
def test_hostile_texts_are_answered(records, text):
    code, (record,) = records("-", stdin=text)
    assert code == (0 if record["error"] is None else 2)
    assert record["error"] is None or record["error"]["code"] == "limit"


def test_a_tower_of_powers(records):
    code, (record,) = records("9**9**9**9*x")
    assert (code, gradcli.evaluate(record["derivative"]["x"]).value) == (0, float("inf"))
