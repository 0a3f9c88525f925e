"""Kinks: ties of order statistics, jumps, filled points, and where formulas have them.

All wanted values are by hand.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import gradcli


def test_what_jumps_both_ways_does_not_jump():
    assert gradcli.evaluate("floor(x) - floor(x)", x=2.0).check.verdict == "agree"
    assert gradcli.evaluate("sum([floor(x), -floor(x)])", x=2.0).check.verdict == "agree"


CLAIMS = {
    "between": ("torch.median(x)", "1,2,2", "0,0.3,0.7", "kink"),
    "outside": ("torch.median(x)", "1,2,2", "0,1.2,0", "mismatch"),
    "beside": ("torch.median(x)", "1,2,2", "0.1,0.5,0.5", "mismatch"),
    "one of three": ("torch.median(x)", "2,2,2,1,3", "0,1,0,0,0", "kink"),
    "of neither branch": ("where(x == 2, 5, x**2)", "2", "7", "mismatch"),
    "of the point": ("where(x == 2, 5, x**2)", "2", "0", "kink"),
    "of both sides": ("where(x == 2, 5, x**2)", "2", "4", "kink"),
}


@pytest.mark.parametrize(("text", "x", "claim", "verdict"), CLAIMS.values(), ids=CLAIMS)
def test_claims(call_cli, text, x, claim, verdict):
    numbers = [float(v) for v in claim.split(",")]
    at = [float(v) for v in x.split(",")] if "," in x else float(x)
    record = {
        "expr": text,
        "at": {"x": at},
        "expect": {"grad": {"x": numbers if "," in claim else numbers[0]}},
    }
    done = call_cli(
        "check",
        "-i",
        "jsonl",
        "-",
        "--no-cache",
        "--format",
        "jsonl",
        stdin=json.dumps(record) + "\n",
    )
    assert json.loads(done.stdout)["check"]["claims"][0]["verdict"] == verdict


def test_a_quantile_by_its_rank():
    smooth, bent = (
        gradcli.evaluate("quantile(x, q)", x=np.array(x), q=0.5)
        for x in ([0.5, 0.25, 0.75], [0.5, 0.25, 1.75])
    )
    assert smooth.grad["q"] == 0.5
    assert smooth.check.verdict == "agree"
    (kink,) = bent.check.variables["q"].kinks
    assert (kink.left, kink.right) == (0.5, 2.5)
    assert bent.check.verdict == "kink"


FORMULAS = {
    "|x^2-4|": "at x = -2 and x = 2",
    "relu(3x-6)": "at x = 2",
    "max(x, y)": "where x = y",
    "|sin x|": "where sin(x) = 0",
    "sqrt(x^2)": "at x = 0",
    "|x*y|": "where x*y = 0",
    "maximum(x**2, 4)": "at x = -2 and x = 2",
    "|x^2 - 2|": "where x**2 - 2 = 0",
    "|x^3+exp(x)|": "where x**3 + exp(x) = 0",
    "relu(x)^2": "",
    "x*|x|": "",
    "|x^4+1|": "",
}


@pytest.mark.parametrize(("text", "places"), FORMULAS.items(), ids=FORMULAS)
def test_places_of_kinks(call_cli, text, places):
    said = call_cli("diff", text).stdout
    assert "claim" not in said
    assert (
        (f"kinks {places}\n" in said or f"not differentiable {places}\n" in said)
        if places
        else "kink" not in said
    )


NOTES = {
    "a kink": (
        ("eval", "|x|", "x=0±0.1"),
        "linear propagation fails for x: a standard deviation aside the result is 0.1 to 0.1",
    ),
    "an order": (
        ("eval", "jv(nu, x)", "nu=0.5", "x=1"),
        "no derivative by nu: it is 'v' of jv, by which there is no derivative here",
    ),
    "outside of the support": (
        ("eval", "expon.logpdf(x)", "x=-1"),
        "'expon.logpdf(x)' is -inf, by its definition there",
    ),
}


@pytest.mark.parametrize(("arguments", "note"), NOTES.values(), ids=NOTES)
def test_notes(call_cli, arguments, note):
    assert note in call_cli(*arguments).stdout
