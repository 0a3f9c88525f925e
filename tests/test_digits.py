"""The digits of a verdict are those that the printed numbers have."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest

import gradcli

M = mpmath.MPContext()
M.dps = 50
X = float(np.float32(0.7))  # what is differentiated at

CASES = {  # text, the true derivative at the bound floats, and options
    "a rounded constant": ("sqrt(x*0.1)*x", lambda x: M.mpf(1.5) * M.sqrt(x * M.mpf(float(np.float32(0.1)))), {}),
    "a sine": ("sin(x)", M.cos, {}),
    "a Jacobian": ("sin(x)", M.cos, {"mode": "jacobian"}),
    "a Hessian": ("sin(x)", lambda x: -M.sin(x), {"mode": "hessian"}),
    "a direction": ("sin(x)", M.cos, {"jvp": {"x": 1.0}}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "derivative", "options"), CASES.values(), ids=CASES)
def test_float32_has_no_more_digits_than_it_has(text, derivative, options, call_cli):
    record = gradcli.evaluate(text, x=X, dtype="float32", **options)
    (check,) = record.check.variables.values()
    (number,) = record.derivatives().values()
    truth = derivative(M.mpf(X))
    off = float(abs(M.mpf(float(np.ravel(number)[0])) - truth) / abs(truth))
    assert check.digits <= math.log10(5 / off), (
        f"{check.digits} digits are said to be right, and the relative error is {off:.2g}"
    )
    assert check.digits == 7
    assert check.max_rel_error == pytest.approx(off, rel=1e-6)


def test_the_line_of_the_verdict(call_cli):
    done = call_cli("eval", "sqrt(x*0.1)*x", "x=0.7", "--dtype", "float32")
    assert done.stdout.endswith(
        "  check    agree, certified: within 1e-52, with sympy's derivative, to 7 digits\n"
    )
    done = call_cli("eval", "x**2", "x=3", "--dtype", "float32")
    line = "  check    agree, certified: exact, with sympy's derivative, to 8 digits\n"
    assert done.stdout.endswith(line), "exact, and no more than a float32 shows"


@pytest.mark.parametrize(
    ("text", "name", "wanted"), [("abs(x)", "x=0", "0.0"), ("max(x)", "x=1,1", ["0.5", "0.5"])]
)
def test_digits_at_a_kink_are_those_of_the_choice_and_not_proved(call_cli, text, name, wanted):
    record = json.loads(
        call_cli("eval", text, name, "--precision", "20", "--format", "jsonl").stdout
    )
    assert record["precise"]["x"] == wanted
    assert record["precise_certified"] is False


def test_each_digit_is_certain(call_cli):
    record = json.loads(
        call_cli("eval", "exp(x)*sin(x)", "x=1", "--precision", "1500", "--format", "jsonl").stdout
    )
    with M.workdps(1510):
        assert record["precise"]["value"] == M.nstr(M.exp(1) * M.sin(1), 1500)
    assert record["precise_certified"] is True
