"""Rewrites that are proposed where digits or the whole value are lost: equal in value, and without the loss."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.check.repairs import candidates
from gradcli.graph.nodes import Expr
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope

# a program, the point where it loses, the rewrite, and a point where both are fine
ROWS = [
    ("exp(x)/(1 + exp(x))", 800.0, "exp(x)/(1 + exp(x)) as sigmoid(x)", 0.7),
    ("1/(1 + exp(-x))", -800.0, "1/(1 + exp(-x)) as sigmoid(-(-x))", 0.7),
    ("log(1 + exp(x))", 1000.0, "log(1 + exp(x)) as softplus(x)", 0.7),
    ("log(1 + x)", 1e-18, "log(1 + x) as log1p(x)", 0.7),
    ("exp(x) - 1", 1e-18, "exp(x) - 1 as expm1(x)", 0.7),
    ("(1 - cos(x))/x**2", 1e-9, "1 - cos(x) as 2*sin((x)/2)**2", 0.7),
    ("1 - erf(x)", 9.0, "1 - erf(x) as erfc(x)", 0.7),
    ("sqrt(x*x)", 0.0, "sqrt(x*x) as abs(x)", 0.7),
    ("x*log(x)", 0.0, "x*log(x) as xlogy(x, x)", 0.7),
    ("log(sigmoid(x))", -1000.0, "log(sigmoid(x)) as -softplus(-(x))", 0.7),
    ("log(sum(exp([x, 2*x])))", 1000.0, "log(sum(exp([x, 2*x]))) as logsumexp([x, 2*x])", 0.7),
    ("sin(x)/x", 0.0, "sin(x)/x as sinc(x/pi)", 0.7),
]


def root_of(text: str) -> Expr:
    scope = Scope()
    scope.bind_value("x", 2.0)
    (statement,) = statements([text])
    root: Expr = Program(scope).execute(statement).value
    return root


@pytest.mark.parametrize(("text", "_", "repair", "__"), ROWS, ids=[row[0] for row in ROWS])
def test_proposed(text: str, _: float, repair: str, __: float) -> None:
    assert repair in [candidate.text for candidate in candidates(root_of(text))]


BAD = ("mismatch", "undefined", "ill-conditioned")


@pytest.mark.parametrize(("text", "at"), [("exp(x)/(1 + exp(x))", 800.0), ("sqrt(x*x)", 0.0), ("(1 - cos(x))/x**2", 1e-4)])
def test_shown_with_the_verdict(text: str, at: float) -> None:
    record = gradcli.evaluate(text, x=at, formula=False)
    assert record.check.verdict.word in BAD
    assert record.check.repairs


NO_REPAIR = [
    ("x*log(x)", float(np.exp(-1))),  # the derivative log(x) + 1 is 0 nearby, however it is written
    ("sqrt(x) + (exp(x) - 1)*0", 0.0),
    ("log(1 + x) + sqrt(x - 2)", 2.0),
]


@pytest.mark.parametrize(("text", "at"), NO_REPAIR)
def test_what_repairs_nothing_is_not_shown(text: str, at: float) -> None:
    record = gradcli.evaluate(text, x=at, formula=False)
    assert record.check.verdict.word in BAD
    assert record.check.repairs == []


def test_one_of_several_troubles_is_repaired() -> None:
    record = gradcli.evaluate("log(1 + exp(x)) + sin(y)/y", x=800.0, y=0.0, formula=False)
    assert record.check.repairs == ["log(1 + exp(x)) as softplus(x)", "sin(y)/y as sinc(y/pi)"]


@pytest.mark.parametrize(("_", "at", "repair", "fine"), ROWS, ids=[row[0] for row in ROWS])
def test_equal_and_better(_: str, at: float, repair: str, fine: float) -> None:
    before, after = repair.split(" as ")
    one, other = (gradcli.evaluate(text, x=fine, check=False, formula=False) for text in (before, after))
    assert float(other.value) == pytest.approx(float(one.value), rel=1e-14)
    assert float(other.grad["x"]) == pytest.approx(float(one.grad["x"]), rel=1e-13)
    assert np.isfinite(gradcli.evaluate(after, x=at, check=False, formula=False).value)


def test_nothing_is_proposed_where_nothing_is_known() -> None:
    assert candidates(root_of("sin(x)**3 + tanh(x)/x")) == []
