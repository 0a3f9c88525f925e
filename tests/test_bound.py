"""``gradcli bound``: ranges hold every value, are as tight as was asked for, and say what is the
matter where.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import thinned
from scipy import special

E, PI, INF = math.e, math.pi, math.inf


@pytest.fixture
def bound(call_cli):
    """The record of one expression over a box."""

    def run(expr, *arguments):
        done = call_cli("bound", expr, *arguments, "--format", "json")
        record = json.loads(done.stdout)
        assert done.returncode == (2 if record["error"] else 0)
        return record

    return run


def floats(ends):
    return [float(end) for end in ends]


def check_range(found, wanted, width=0.01):
    """A range holds the true one, and is wider by no more than was asked for."""
    (low, high), (least, most) = floats(found), wanted
    assert low <= least, f"{low} is above {least}, which is attained"
    assert high >= most, f"{high} is below {most}, which is attained"
    if math.isfinite(least) and math.isfinite(most):
        room = width * max(most - least, 1e-12 * max(abs(least), abs(most)))
        assert (high - low) - (most - least) <= room + 1e-15 * max(abs(least), abs(most)), (
            f"[{low}, {high}] for [{least}, {most}]"
        )
    else:
        assert math.isfinite(low) == math.isfinite(least)
        assert math.isfinite(high) == math.isfinite(most)


# Lines with an expression, its box, the ranges of its value and its derivatives, numbers or formulas
# by hand, and the kinds of notes.
LINES = (Path(__file__).parent / "data" / "ranges.jsonl").read_text(encoding="utf-8")
ROWS = [pytest.param(row, id=row["expr"]) for row in map(json.loads, LINES.splitlines())]
FUNCTIONS = {**vars(math), "gamma": special.gamma, "psi": special.psi}


def numbers(ends):
    return [eval(end, FUNCTIONS) if isinstance(end, str) else end for end in ends]


@pytest.mark.parametrize("row", thinned(ROWS))
def test_ranges(bound, row):
    found = bound(row["expr"], *row["box"].split())
    assert found["certified"] is True
    if "value" in row:
        check_range(found["value"], numbers(row["value"]))
    for name, slope in row.get("grad", {}).items():
        check_range(found["grad"][name], numbers(slope))
    assert list(found["grad"]) == [word[0] for word in row["box"].split() if ".." in word]
    if "notes" in row:
        assert [note["kind"] for note in found["notes"]] == row["notes"]


def test_a_smaller_width_is_kept(bound):
    found = bound("exp(-x)*sin(x)", "x=0..3", "--width", "1e-9")
    check_range(found["value"], (0, math.exp(-PI / 4) * math.sqrt(0.5)), 1e-9)


def test_where_bounds_are_attained(bound):
    at = bound("x*(1-x)", "x=0..1")["at"]
    assert at["value"]["high"] == {"x": 0.5}
    assert at["grad"]["x"] == {"low": {"x": 1.0}, "high": {"x": 0.0}}


@pytest.mark.parametrize(
    ("expr", "box", "low", "high"),
    [
        ("sin(x)/x", "x=-1..1", -1.0, None),  # 1 is the limit at 0
        ("exp(x)", "x=0..800", 0.0, 800.0),
        ("x*exp(x)", "x=-800..800", None, 800.0),  # -exp(-1) is nothing beside the other end
    ],
)
def test_a_place_is_where_the_end_is_attained(bound, expr, box, low, high):
    at = bound(expr, *box.split())["at"]["value"]
    assert [point and point["x"] for point in (at["low"], at["high"])] == [low, high]


def test_an_end_that_no_float_has_is_told(bound):
    found = bound("exp(exp(x))", "x=0..7")  # exp(exp(7)) by mpmath
    assert found["value"] == [math.e, "inf"]
    assert "too large for floats: 1.82696e+476" in found["notes"][0]["text"]


def test_norms_of_one_derivative_are_one_number(bound):
    norms = bound("1/(1+25x^2)", "x=-1..1", "--lipschitz")["lipschitz"]
    assert norms["1"] == norms["2"] == norms["inf"]


# -- against points: NumPy's values, and differences, which are derivatives somewhere between
# ------------------------------------

SCIPY = {"erf": special.erf, "expit": special.expit}
UNARY = (
    "sin",
    "cos",
    "exp",
    "tanh",
    "arctan",
    "sinh",
    "cosh",
    "arcsinh",
    "sqrt",
    "log",
    "square",
    "abs",
    "erf",
    "expit",
)


def random_expression(random, depth):
    if not depth:
        return random.choice(["x", "x", f"{random.uniform(-2, 2):.2f}"])
    kind = random.random()
    if kind < 0.45:
        return f"{random.choice(UNARY)}({random_expression(random, depth - 1)})"
    left, right = random_expression(random, depth - 1), random_expression(random, depth - 1)
    return (
        f"({left} {random.choice(list('+-*/'))} {right})"
        if kind < 0.9
        else f"maximum({left}, {right})"
    )


@pytest.mark.parametrize("seed", range(24))
def test_no_value_and_no_slope_is_outside(bound, seed):
    random = np.random.default_rng(seed)
    expr = f"x*{random_expression(random, 3)}"
    low = float(np.round(random.uniform(-3, 2), 1))
    high = low + float(random.choice([0.5, 1, 3]))
    x = np.sort(np.append(np.linspace(low, high, 800), random.uniform(low, high, 200)))
    names = {name: getattr(np, name, None) or SCIPY.get(name) for name in [*UNARY, "maximum"]}
    with np.errstate(all="ignore"):
        y = np.asarray(eval(expr, {"__builtins__": {}}, {**names, "x": x}), float) + 0 * x
    inside = np.isfinite(y)
    found = bound(expr, f"x={low!r}..{high!r}")
    if found["error"] is not None:
        assert not inside.any(), f"{expr} has values"
        return
    (least, most), room = floats(found["value"]), 1e-9 * np.abs(y[inside]).max(initial=0)
    assert least - room <= y[inside].min(initial=INF), expr
    assert most + room >= y[inside].max(initial=-INF), expr
    if found["notes"] or not inside.all() or math.isinf(most - least):
        return
    slopes, errors = np.diff(y) / np.diff(x), 1e-12 * (1 + np.abs(y).max()) / np.diff(x)
    first, last = floats(found["grad"]["x"])
    assert (slopes >= first - errors).all(), expr
    assert (slopes <= last + errors).all(), expr
    spread = most - least
    assert least >= y.min() - 0.03 * spread, f"{expr}: {least} for {y.min()}"
    assert most <= y.max() + 0.03 * spread, f"{expr}: {most} for {y.max()}"


# -- notes
# ------------------------------------------------------------------------------------------------------------------------

NOTES = {
    "1/x": ("x=-1..1", [("pole", (0, 0))]),
    "1/(x-0.5)": ("x=0..1", [("pole", (0.5, 0.5))]),
    "sin(x)/x": ("x=-1..1", [("domain", (0, 0))]),
    "sqrt(x)": ("x=-1..1", [("domain", (-1, 0))]),
    "abs(x-0.25)": ("x=-1..1", [("kink", (0.25, 0.25))]),
    "maximum(x, 1-x)": ("x=0..1", [("kink", (0.5, 0.5))]),
    "floor(x)": ("x=0.5..2.5", [("jump", (1, 1)), ("jump", (2, 2))]),
    "where(x > 1, x, 0)": ("x=0..2", [("jump", (1, 1))]),
    "tan(x)": ("x=1..5", [("pole", (PI / 2, PI / 2)), ("pole", (3 * PI / 2, 3 * PI / 2))]),
    "x**2": ("x=-1..1", []),
    "relu(x)**2": ("x=-1..1", []),
}


@pytest.mark.parametrize(("expr", "case"), NOTES.items(), ids=NOTES)
def test_what_is_the_matter_and_where(bound, expr, case):
    box, wanted = case
    found = [note for note in bound(expr, box)["notes"] if "d/d" not in note["text"]]
    if expr == "relu(x)**2":  # it has none; that its parts have one is no mistake
        found = [note for note in found if note["kind"] not in ("kink",)]
    assert [note["kind"] for note in found] == [kind for kind, _ in wanted]
    for note, (_, (low, high)) in zip(found, wanted, strict=True):
        assert note["where"]["x"] == pytest.approx([low, high], abs=1e-9)
        assert note["where"]["x"][0] <= low + 1e-15
        assert note["where"]["x"][1] >= high - 1e-15


# -- the command
# ------------------------------------------------------------------------------------------------------------------


def test_the_record(bound):
    found = bound("sqrt(x) + 3*y", "x=-1..1", "y=0..2", "--lipschitz")
    assert found["schema"] == 1
    assert found["box"] == {"x": [-1.0, 1.0], "y": [0.0, 2.0]}
    assert found["grad"]["x"] == [0.5, "inf"]
    assert found["lipschitz"] == {"1": None, "2": None, "inf": None}
    assert all(note.keys() == {"kind", "where", "text"} for note in found["notes"])


def test_norms_of_the_gradient(bound):
    norms = bound("3*x + 4*y", "x=0..1", "y=0..1", "--lipschitz")["lipschitz"]
    assert norms == {"1": 7.0, "2": 5.0, "inf": 4.0}
    norms = bound("sin(x)*y", "x=0..7", "y=-2..2", "--lipschitz")["lipschitz"]
    assert math.hypot(2) <= norms["2"] <= 2 * 1.01


ERRORS = {
    "nowhere defined": (["sqrt(-1-x**2)", "x=0..1"], "defined nowhere"),
    "an array": (["[x, x]", "x=0..1"], "has the shape (2,)"),
    "no range": (["x**2", "x=3"], "no name has a range"),
    "a range that ends first": (["x**2", "x=1..0"], "ends before it begins"),
    "no number": (["x**2", "x=0..inf"], "no finite number"),
    "an unknown name": (["x**2", "x=0..1", "z=0..1"], "no name 'z'"),
    "a width of nothing": (["x**2", "x=0..1", "--width", "0"], "--width"),
    "twice": (["x**2", "x=0..1", "x=2"], "bound twice"),
    "a missing value": (["x*y", "x=0..1"], "no value for 'y'"),
    "an index": (["[1., 2.][x]", "x=0..1"], "whole numbers"),
    "a truth": (["x > 0", "x=0..1"], "a number"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_what_has_no_range(call_cli, arguments, message):
    done = call_cli("bound", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_text(call_cli):
    assert (
        call_cli("bound", "abs(x)", "x=-1..2").stdout
        == """\
abs(x)
  for -1.0 <= x <= 2.0
  value    [0.0, 2.0]  low at x=0, high at x=2
  d/dx     [-1.0, 1.0]  low at x=-1, high at x=0.5
  proved   yes, by interval arithmetic
  kink     'abs(x)' has a kink: its derivatives from both sides differ: x = 0.0
"""
    )


def test_functions_without_a_shape_are_bounded_by_their_references(bound):
    found = bound("gammainc(x, 2.) + ellipk(x) + expn(2, x)", "x=0.25..0.5")
    x = np.linspace(0.25, 0.5, 200)
    values = special.gammainc(x, 2.0) + special.ellipk(x) + special.expn(2, x)
    check_range(found["value"], (values.min() + 1e-12, values.max() - 1e-12), 0.05)
    assert found["certified"]


def test_near_the_least_value_of_gamma(bound):
    """FLINT's ball of gamma over [1.46162986..., 1.461647033...] does not hold the value at the
    upper end.
    """
    low, high = bound("gamma(x)", "x=1.46162986755371093750..1.461647033691406250")["value"]
    assert low <= special.gamma(1.4616321449683623)
    assert high >= 0.885603194505


def test_several_queries_and_bindings(call_cli):
    done = call_cli("bound", "-", "x=0..1", "--format", "jsonl", stdin="y = x**2\ny\ny + 1\n")
    assert [json.loads(line)["value"] for line in done.stdout.splitlines()] == [
        [0.0, 1.0],
        [1.0, 2.0],
    ]


@pytest.mark.parametrize(
    ("text", "box", "value", "slopes"),
    [
        ("copysign(x, 1)", ["x=-1..2"], [0, 2], {"x": [-1, 1]}),
        ("copysign(x, y)", ["x=-1..2", "y=-1.5..1"], [-2, 2], {"x": [-1, 1], "y": [0, 0]}),
        ("x**y", ["x=-2..-1", "y=0..3"], [-8, 4], {"x": [-4, 12]}),  # at whole numbers y only
        ("x**y", ["x=-2..-1", "y=2..2"], [1, 4], {"x": [-4, -2]}),
        ("x**y", ["x=-1..2", "y=1..1"], [-1, 2], {}),
    ],
)
def test_signs_and_whole_exponents_belong_to_a_range(
    call_cli: Any, text: str, box: list[str], value: Any, slopes: Any
) -> None:
    found = json.loads(call_cli("bound", text, *box, "--format", "json").stdout)
    assert found["value"] == pytest.approx(value, abs=1e-9)
    for name, slope in slopes.items():
        assert found["grad"][name] == pytest.approx(slope, abs=1e-9)


def test_what_jumps_has_no_lipschitz_constant(call_cli: Any) -> None:
    found = json.loads(
        call_cli("bound", "floor(x)", "x=0..3", "--lipschitz", "--format", "json").stdout
    )
    assert found["lipschitz"] == {"1": None, "2": None, "inf": None}


def test_what_has_no_bounds_says_so(call_cli: Any) -> None:
    done = call_cli("bound", "eigvalsh([[x, 0], [0, 1]])[0]", "x=0..1")
    assert done.returncode == 2
    assert "its range is not known" in done.stderr
