"""``gradcli bound``: ranges hold every value, are as tight as was asked for, and say what is the
matter where.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers import thinned
from recorded import read_lines
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
ROWS = [
    pytest.param(row, id=row["expr"], marks=[pytest.mark.ci] * ("ci" in row))
    for row in read_lines("ranges.jsonl")
]
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


def test_places_that_are_not_listed_are_counted(bound):
    notes = bound("sum(abs(x - arange(30.)))", "x=0..29")["notes"]
    assert [note["kind"] for note in notes[:12]] == ["kink"] * 12
    assert notes[12]["text"] == "16 more places are not listed"


# -- the command
# ------------------------------------------------------------------------------------------------------------------


def test_norms_of_the_gradient(bound):
    norms = bound("sin(x)*y", "x=0..7", "y=-2..2", "--lipschitz")["lipschitz"]
    # of several names, of the derivatives' ranges together: sqrt((y*cos(x))**2 + sin(x)**2) is 2
    assert math.hypot(2) <= norms["2"] <= math.hypot(2, 1) * 1.01


@pytest.mark.ci
def test_functions_without_a_shape_are_bounded_by_their_references(bound):
    found = bound("gammainc(2., x) + ellipk(x) + expn(2, x)", "x=0.25..0.5")
    x = np.linspace(0.25, 0.5, 200)
    values = special.gammainc(2.0, x) + special.ellipk(x) + special.expn(2, x)
    check_range(found["value"], (values.min() + 1e-12, values.max() - 1e-12), 0.05)
    assert found["certified"]


def test_near_the_least_value_of_gamma(bound):
    """FLINT's ball of gamma over [1.46162986..., 1.461647033...] does not hold the value at the
    upper end.
    """
    low, high = bound("gamma(x)", "x=1.46162986755371093750..1.461647033691406250")["value"]
    assert low <= special.gamma(1.4616321449683623)
    assert high >= 0.885603194505
