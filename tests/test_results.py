"""Results of the Python API: looked at, written out, handed on."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from recorded import over

import gradcli
from gradcli import Verdict

PLAIN = {"check": False, "formula": False}


# -- verdicts
# ------------------------------------------------------------------------------------------------------------

WORDS = [
    "skipped",
    "agree",
    "kink",
    "ill-conditioned",
    "undefined",
    "undetermined",
    "mismatch",
]  # by gravity


def test_verdicts_are_words_in_the_order_of_gravity() -> None:
    for i, (verdict, word) in enumerate(zip(Verdict, WORDS, strict=True)):
        assert (str(verdict), f"{verdict}", verdict.word, f"{verdict:>20}") == (
            word, word, word, f"{word:>20}"
        )  # fmt: skip
        assert verdict == word != "Mismatch"
        assert (hash(verdict), json.dumps(verdict)) == (hash(word), f'"{word}"')
        for same in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict), Verdict(word)):
            assert same is verdict
        assert repr(verdict) == f"<Verdict.{verdict.name}: '{word}'>"
        for j, other in enumerate(WORDS):
            for right in (Verdict(other), other):
                found = [verdict < right, verdict <= right, verdict > right, verdict >= right]
                assert found == [i < j, i <= j, i > j, i >= j]
    with pytest.raises(ValueError, match="'wrong' is not a valid Verdict"):
        assert Verdict.AGREE < "wrong"


def test_the_verdict_of_a_record() -> None:
    assert gradcli.evaluate("x**2", x=3.0).check.verdict == "agree"
    assert gradcli.evaluate("abs(x)", x=0.0).check.verdict == "kink"


# -- what a prompt shows
# ---------------------------------------------------------------------------------------------------


@over("results", "shown", "call", "shown")
def test_what_a_prompt_shows(call, shown) -> None:
    assert repr(eval(call, globals())) == shown


def test_no_result_fills_the_screen() -> None:
    text = "+".join(f"sin(x{i})" for i in range(300))
    record = gradcli.evaluate(
        text, at={f"x{i}": [[1.0] * 3] * 3 for i in range(300)}, seed=np.ones((3, 3)), check=False
    )
    assert len(repr(record)) <= 400
    assert len(repr(gradcli.explain("sum(x*y)", x=[1.0] * 50, y=[2.0] * 50, check=False))) <= 400


@pytest.mark.parametrize(
    "make",
    [gradcli.compile, gradcli.value_and_grad, gradcli.jacobian, gradcli.hessian],
)
def test_no_function_fills_the_screen(make) -> None:
    assert len(repr(make("+".join(["x"] * 5000)))) <= 140


def test_text_of_others_cannot_act_on_a_terminal() -> None:
    record = gradcli.evaluate("x**2  # \x1b[31m\u202e", x=3.0, **PLAIN)
    assert repr(record).isprintable()


# -- handed on
# -------------------------------------------------------------------------------------------------------------


@over("results", "handed on", "text", "bound", "at", "options", "flags")
def test_a_record_is_the_line_of_the_command(text, bound, at, options, flags, call_cli) -> None:
    """As data and as text, but for where it was read."""
    formulas = [] if {"formula", "jvp"} & {*options} else ["--formula"]
    line = json.loads(call_cli("eval", "--format", "jsonl", *formulas, text, *bound, *flags).stdout)
    record = gradcli.evaluate(text, at=at, **options)
    for found in (record.to_dict(), json.loads(record.to_json())):
        assert {**found, "source": None} == {**line, "source": None}
    assert "\n" not in record.to_json()


def test_formulas_and_explanations_are_those_of_their_commands(call_cli) -> None:
    derivatives = json.loads(call_cli("diff", "--format", "jsonl", "x**2*y").stdout)
    found = gradcli.differentiate("x**2*y").to_dict()
    latex = found.pop("latex")
    assert {**found, "source": None} == {**derivatives, "source": None}
    assert latex == {"x": "2 x y", "y": "x^{2}"}
    assert json.loads(gradcli.differentiate("x**2*y").to_json())["derivative"] == {
        "x": "2*x*y",
        "y": "x**2",
    }
    explained = json.loads(call_cli("explain", "--format", "jsonl", "x**2*y", "x=3", "y=2").stdout)
    assert {**gradcli.explain("x**2*y", x=3.0, y=2.0).to_dict(), "source": None} == {
        **explained,
        "source": None,
    }


@pytest.mark.parametrize("options", [{}, {"mode": "hessian"}, {"jvp": {"x": 1.0}}, PLAIN], ids=str)
def test_records_travel(options) -> None:
    record = gradcli.evaluate("x**3", x=2.0, **options)
    there = pickle.loads(pickle.dumps(record))
    assert type(there) is type(record)
    assert there.to_dict() == copy.deepcopy(record).to_dict() == record.to_dict()


def test_what_was_not_asked_for_is_empty() -> None:
    record = gradcli.evaluate("x**2", x=3.0, **PLAIN)
    assert (record.derivative, record.latex, record.precise) == ({}, {}, {})
    assert record.check is None
    decided = gradcli.evaluate("assert x == 3", x=3.0)
    assert (decided.value, decided.grad, decided.failed) == (True, {}, False)
    assert decided.check.verdict == "skipped"
    assert gradcli.evaluate("assert x == 2", x=3.0).failed


def test_latex_of_formulas() -> None:
    assert gradcli.evaluate("a*sin(x)", a=2.0, x=3.0, wrt="x", latex=True).latex == {
        "x": "a \\cos\\left(x\\right)"
    }
    assert gradcli.evaluate("x**3", x=3.0, mode="hessian", latex=True).latex == {"x,x": "6 x"}
    power = gradcli.evaluate("x*log(y)**2 + y*1e-7**x", x=1.0, y=2.0, latex=True)
    for name, text in power.latex.items():
        assert gradcli.evaluate(text, x=1.0, y=2.0).value == pytest.approx(power.grad[name])
    assert json.loads(gradcli.evaluate("x**2", x=3.0, latex=True).to_json())["latex"] == {
        "x": "2 x"
    }


def test_digits_of_the_reference() -> None:
    record = gradcli.evaluate("exp(x)", x=1.0, precision=40)
    e = "2.718281828459045235360287471352662497757"  # OEIS A001113
    assert record.precise == {"value": e, "x": e}
    assert record.precise_certified


def test_an_assert_has_nothing_to_explain() -> None:
    with pytest.raises(gradcli.UsageError, match="no gradient to explain"):
        gradcli.explain("assert x == 2", x=2.0)
