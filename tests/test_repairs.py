"""Rewrites that are proposed where digits or the whole value are lost: equal, without the loss, and
valid as they are typed.
"""

from __future__ import annotations

import numpy as np
import pytest
from recorded import over

import gradcli

# a program, the point where it loses, the rewrite, and a point where both are fine


BAD = ("mismatch", "undefined", "ill-conditioned")


@over("repairs", "proposed", "text", "at", "repair", "fine")
def test_proposed_equal_and_better(text: str, at: float, repair: str, fine: float) -> None:
    record = gradcli.evaluate(text, x=at, formula=False)
    assert record.check.verdict.word in BAD
    assert record.check.repairs == [repair]
    before, after = repair.split(" as ")
    one, other = (
        gradcli.evaluate(part, x=fine, check=False, formula=False) for part in (before, after)
    )
    assert float(other.value) == pytest.approx(float(one.value), rel=1e-14)
    assert float(other.grad["x"]) == pytest.approx(float(one.grad["x"]), rel=1e-13)
    assert np.isfinite(gradcli.evaluate(after, x=at, check=False, formula=False).value)


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


def test_each_of_several_troubles_is_repaired() -> None:
    record = gradcli.evaluate("log(1 + exp(x)) + sin(y)/y", x=800.0, y=0.0, formula=False)
    assert record.check.repairs == ["log(1 + exp(x)) as softplus(x)", "sin(y)/y as sinc(y/pi)"]


def test_a_loss_that_leaves_digits_enough_is_noted() -> None:
    record = gradcli.evaluate("exp(x) - 1", x=1e-7, formula=False)
    assert record.check.verdict.word == "agree"
    assert record.check.value.lost >= 20
    assert record.check.repairs == ["exp(x) - 1 as expm1(x)"]
    assert record.check.rewrite.text == "expm1(x)"
    assert record.check.rewrite.lost >= 20 > record.check.rewrite.left


@pytest.mark.parametrize("x", [1e16, 1e54, 1e140])
def test_a_value_that_is_lost_as_a_whole_is_no_true_zero(x: float) -> None:
    record = gradcli.evaluate("sqrt(x + 1) - sqrt(x)", x=x, formula=False)
    assert record.value == 0.0
    assert record.check.value.verdict.word == "ill-conditioned"


def test_a_true_zero_has_no_digits_to_lose() -> None:
    record = gradcli.evaluate("sum(softmax(x))", x=np.array([1.0, 2.0, -3.0]), formula=False)
    assert record.check.verdict.word == "agree"
    assert record.check.repairs == []


@pytest.mark.parametrize("text", ["sin(x)**3 + tanh(x)/x", "exp(x) - 1", "log(1 + x)"])
def test_nothing_is_proposed_where_nothing_is_lost(text: str) -> None:
    assert gradcli.evaluate(text, x=2.0, formula=False).check.repairs == []


@over("repairs", "arrays", "text", "x", "repairs")
def test_parts_of_functions_of_arrays(text: str, x: list[float], repairs: list[str]) -> None:
    record = gradcli.evaluate(text, x=np.array(x), formula=False)
    assert record.check.verdict.word in BAD or record.check.loses
    assert record.check.repairs == repairs or not repairs
