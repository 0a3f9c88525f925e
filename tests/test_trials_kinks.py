"""Kinks: ties of order statistics, jumps, filled points, and where formulas have them.

All wanted values are by hand.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import gradcli

TIED = [1.0, 2.0, 2.0]
PAIR = {1: (1.0, 0.0), 2: (1.0, 0.0)}  # the middle of three: an entry that grows is no longer it
TOP = {1: (0.0, 1.0), 2: (0.0, 1.0)}

TIES = {
    "torch.median": ("torch.median(x)", TIED, PAIR),
    "torch.nanmedian": ("torch.nanmedian(x)", TIED, PAIR),
    "np.median": ("np.median(x)", TIED, PAIR),
    "an entry of sort": ("np.sort(x)[1]", TIED, PAIR),
    "percentile": ("np.percentile(x, 50)", TIED, PAIR),
    "kthvalue": ("torch.kthvalue(x, 2)[0]", TIED, PAIR),
    "msort": ("torch.msort(x)[2]", TIED, TOP),
    "topk": ("sum(torch.topk(x, 1)[0])", TIED, TOP),
    "pooling": ("np.sum(F.max_pool1d(reshape(x, (1, 3)), 3))", TIED, TOP),
    "x[argmax(x)]": ("x[argmax(x)]", TIED, TOP),
    "x[argsort(x)][i]": ("x[argsort(x)][2]", TIED, TOP),
    "take_along_axis": ("np.take_along_axis(x, np.argsort(x), 0)[2]", TIED, TOP),
    "cummax": ("cummax(x, 0)[0][2]", TIED, TOP),
    "cummin": ("cummin(x, 0)[0][1]", [2.0, 2.0, 3.0], {0: (1.0, 0.0), 1: (1.0, 0.0)}),
    "weights": ("dot(sort(x), [1, 2, 4])", TIED, {1: (2.0, 4.0), 2: (2.0, 4.0)}),
    "three of which one counts": (
        "torch.median(x)",
        [2.0, 2.0, 2.0, 1.0, 3.0],
        {0: (0.0, 0.0), 1: (0.0, 0.0), 2: (0.0, 0.0)},
    ),
    "the first of three": (
        "np.median(x)",
        [2.0, 2.0, 2.0, 1.0, 3.0],
        {0: (0.0, 0.0), 1: (0.0, 0.0), 2: (0.0, 0.0)},
    ),
}


@pytest.mark.parametrize(("text", "x", "sides"), TIES.values(), ids=TIES)
def test_ties(text, x, sides):
    check = gradcli.evaluate(text, x=np.array(x)).check
    assert check.verdict == "kink"
    assert {kink.index[0]: (kink.left, kink.right) for kink in check.variables["x"].kinks} == sides


SMOOTH = {
    "a sum": ("sum(sort(x))", TIED),
    "all that tie": ("sum(torch.topk(x, 2)[0])", TIED),
    "others than those": ("np.sort(x)[0]", TIED),
    "equal weights": ("dot(sort(x), [3, 5, 5])", TIED),
    "a function of a sum": ("exp(mean(x[argsort(x)]))", TIED),
    "no tie": ("np.median(x)", [1.0, 2.0, 4.0]),
    "squares that vanish": ("max(x)**2", [0.0, 0.0]),
    "many": ("sum(np.sort(x))", [float(i // 4) for i in range(200)]),
}


@pytest.mark.parametrize(("text", "x"), SMOOTH.values(), ids=SMOOTH)
def test_ties_that_do_not_matter(text, x):
    assert gradcli.evaluate(text, x=np.array(x)).check.verdict == "agree"


JUMPS = {
    "sin": ("where(x < 0, sin(x), 0.5)", 0.0, 1.0, 0.0, "jumps by 0.5"),
    "one point": ("where(x == 2, 5, x**2)", 2.0, 4.0, 4.0, "jumps by 1"),
    "a truth as a number": ("(x == 2)*7 + x", 2.0, 1.0, 1.0, "jumps by 7"),
    "if": ("x if x != 2 else 5", 2.0, 1.0, 1.0, "jumps by 3"),
    "floor": ("floor(x)", 2.0, 0.0, 0.0, "jumps by 1"),
    "round": ("round(x)", 2.5, 0.0, 0.0, "jumps by 1"),
    "sign": ("3*sign(x - 2)", 2.0, 0.0, 0.0, "jumps by 6"),
    "remainder": ("x % 1", 2.0, 1.0, 1.0, "jumps by 1"),
    "a body": ("f(t) = floor(t)*t; f(x)", 2.0, 1.0, 2.0, "jumps by 2"),
    "a pole": ("where(x > 0, log(x), 0)", 0.0, 0.0, np.inf, "goes to -inf from the right"),
    "a pole of 1/x": ("where(x > 0, 1/x, x)", 0.0, 1.0, -np.inf, "goes to inf from the right"),
    "wrongly filled": ("where(x == 0, 2, sin(x)/x)", 0.0, 0.0, 0.0, "jumps by 1"),
}


@pytest.mark.parametrize(("text", "x", "left", "right", "jump"), JUMPS.values(), ids=JUMPS)
def test_jumps(text, x, left, right, jump):
    (kink,) = gradcli.evaluate(text, x=x).check.variables["x"].kinks
    assert (kink.left, kink.right, kink.jump) == (left, right, jump)


def test_what_jumps_both_ways_does_not_jump():
    assert gradcli.evaluate("floor(x) - floor(x)", x=2.0).check.verdict == "agree"
    assert gradcli.evaluate("sum([floor(x), -floor(x)])", x=2.0).check.verdict == "agree"


BY_DEFINITION = {
    "oscillating": ("where(x != 0, x**2*sin(1/x), 0)", "agree", None),
    "with a slope": (
        "where(x != 0, x**2*sin(1/x) + 3*x, 0)",
        "mismatch",
        3.0,
    ),  # of the branch with the condition, which is flat
    "from both sides": ("where(x == 0, 0, x/(1 + exp(1/x)))", "kink", (1.0, 0.0)),
    "removable": ("where(x == 0, 1, sin(x)/x)", "agree", None),
    "removable, with a slope": ("where(x == 0, 0, (1 - cos(x))/x)", "mismatch", 0.5),
    "removable, falling": ("where(x == 0, 1, log1p(x)/x)", "mismatch", -0.5),
    "flat": ("0 if x == 0 else exp(-1/x**2)", "agree", None),
    "no derivative": ("where(x == 0, 0, x*sin(1/x))", "undefined", None),
    "infinite": ("where(x == 0, 0, x*log(abs(x)))", "undefined", None),
    "too slow to be seen": ("where(x == 0, 0, x/log(abs(x)))", "undetermined", None),
}


@pytest.mark.parametrize(("text", "verdict", "wanted"), BY_DEFINITION.values(), ids=BY_DEFINITION)
def test_derivatives_by_definition(text, verdict, wanted):
    check = gradcli.evaluate(text, x=0.0).check
    part = check.variables["x"]
    assert check.verdict == verdict
    if verdict == "kink":
        assert (part.kinks[0].left, part.kinks[0].right) == wanted
    elif wanted is not None:
        assert part.worst.reference == pytest.approx(wanted, rel=1e-12)


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
        "x a standard deviation aside, the result is 0.1 to 0.1",
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
