"""Overflow at points of our choice, underflow, true zeros, rewrites and where they hold,
normalisations in 16 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import gradcli
import gradcli.testing

FORMULAS = (  # of several names, that overflow at some of the points that are tried
    "b/(1 + exp(-c*(x-d)))^(1/4)",
    "k/(1 + (k-n)/n*exp(-r*t))",
    "a*exp(-e/(r*t))",
    "1/(exp((e-m)/(k*t)) + 1)",
    "2*h*f^3/c^2/(exp(h*f/(k*t)) - 1)",
    "4*e*((s/r)^12 - (s/r)^6)",
    "d*(1 - exp(-a*(r-b)))^2",
    "a*exp(-b*exp(-c*t))",
    "v*s^n/(k^n + s^n)",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_overflow_at_a_point_that_was_picked_decides_nothing(text: str) -> None:
    assert gradcli.differentiate(text).check.verdict.word == "agree"


def test_overflow_at_values_that_were_given_is_a_mismatch() -> None:
    record = gradcli.evaluate("b/(1 + exp(-c*(x-d)))^(1/4)", b=4, c=25, x=-42, d=0)
    assert record.check.verdict.word == "mismatch"


def test_underflow_in_float32_is_ill_conditioned() -> None:
    assert gradcli.evaluate("x**2", x=1e-30, dtype="float32").check.value.digits == 0


@pytest.mark.parametrize("text", ["x - x", "sin(x - x)", "0*x", "(x - 3)**2"])
def test_what_is_truly_zero_has_not_underflowed(text: str) -> None:
    check = gradcli.evaluate(text, x=3).check
    assert check.verdict.word == "agree"
    assert check.value.digits == 17


@pytest.mark.parametrize(
    ("text", "values", "name"),
    [("sin(pi)", {}, "the value"), ("sum(softmax(x))", {"x": [1.0, 2.0, 3.0]}, "x")],
)
def test_no_digit_of_a_true_zero_is_right(
    text: str, values: dict[str, Any], name: str, call_cli: Callable[..., Any]
) -> None:
    record = gradcli.evaluate(text, **values)
    part = record.check.value if name == "the value" else record.check.variables[name]
    assert (record.check.verdict.word, part.digits) == ("agree", 0)
    given = [f"{key}={','.join(map(str, value))}" for key, value in values.items()]
    shown = call_cli("eval", text, *given).stdout
    assert f"no digit of {name} is right" in shown
    assert "to 17 digits" not in shown


REWRITES = (  # what is written instead, which equals the function everywhere
    ("log(1-x)/log(1+x)", 1e-9, "log1p(-x)/log1p(x)"),
    ("2/(1+exp(-2*x))-1", 1e-17, "tanh(x)"),
    ("1/(1+exp(-x))-1/2", 1e-12, "tanh(x/2)/2"),
)


@pytest.mark.parametrize(("text", "x", "wanted"), REWRITES, ids=[row[0] for row in REWRITES])
def test_identities_hold_everywhere(text: str, x: float, wanted: str) -> None:
    rewrite = gradcli.evaluate(text, x=x).check.rewrite
    assert rewrite.text == wanted
    assert rewrite.where == ""
    for number in (0.3, -0.4):
        mine = gradcli.evaluate(rewrite.text, x=number, precision=30, check=False).precise["value"]
        theirs = gradcli.evaluate(text, x=number, precision=30, check=False).precise["value"]
        assert math.isclose(float(mine), float(theirs), rel_tol=1e-14)
