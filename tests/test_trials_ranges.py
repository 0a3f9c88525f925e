"""Ranges and plots of functions with branches: what holds at single points only, removable points,
poles with their sides.
"""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from gradcli.query.bindings import Programs
from gradcli.query.bounds import bounds
from gradcli.query.evaluate import Script
from gradcli.query.options import Options

# Asserts over boxes, and a point at which one does not hold.
ASSERTS = {
    "f(x) = where(x == 0.5, 0.25, x**2); assert f'(x) <= 1 for x in 0..1": {"x": 1.0},
    "f(x) = where(x == 0.5, 0.25, x**2); assert f'(x) <= 2 for x in 0..1": None,
    "assert (x == 2)*7 + x <= 4 for x in 1..3": {"x": 2.0},
    "assert (x == 2)*7 + x <= 9.5 for x in 1..3": None,
    "assert where(x == 2, 5, x**2) <= 4 for x in 1..2": {"x": 2.0},
    "assert where(x == 2, 5, x**2) >= 1 for x in 1..3": None,
    "g(x) = where(relu(x) == 0, 5*x, x); assert g'(x) <= 1.5 for x in -1..2": {"x": -1.0},
    "g(x) = where(x == y, 5, x*y); assert g'(x) <= 1.5 for x in 1..2, y in 1..2": {},
}


@pytest.mark.parametrize("text", ASSERTS)
def test_an_assert_about_a_function_with_branches(call_cli, text):
    lines = text.replace("; ", "\n") + "\n"
    done = call_cli(
        "check",
        "-f",
        "-",
        "--format",
        "json",
        stdin=lines.replace("g(x) = where(x == y", "y = 1.5\ng(x) = where(x == y"),
    )
    record = json.loads(done.stdout)
    record = record[-1] if isinstance(record, list) else record
    assert record["assert"]["holds"] is (ASSERTS[text] is None)
    if ASSERTS[text]:
        assert record["assert"]["worst"]["at"] == ASSERTS[text]


# A function, a formula that is claimed of its derivative, and whether it is its derivative all over
# the box.
OVER = {
    "where(x == 0.5, 0.25, x**2)": ("2*x", "agree"),
    "where(relu(x) == 0, 5*x, x)": ("x - x + 1", "mismatch"),
    "where(abs(x) == x, x, 7*x)": ("x - x + 1", "mismatch"),
    "where(floor(2*x) == 0, 7*x, x)": ("x - x + 1", "mismatch"),
}


@pytest.mark.parametrize("text", OVER)
def test_a_claim_over_a_box_of_a_function_with_branches(call_cli, text):
    claim, verdict = OVER[text]
    done = call_cli(
        "check", "-e", text, "--grad", f"x={claim}", "--over", "x=-1..2", "--format", "json"
    )
    (record,) = json.loads(done.stdout)
    assert record["check"]["claims"][0]["verdict"] == verdict


MARKS = {
    "1/(x^3-x) x=-5..5": [
        "pole at x=-1: -inf from the left, +inf from the right", "pole at x=0: +inf from the "
        "left, -inf from the right",
        "pole at x=1: -inf from the left, +inf from the right",
    ],
    "x/(x^2-1) x=-3..3": ["pole at x=-1: -inf from the left, +inf from the right", "pole at x=1: "
    "-inf from the left, +inf from the right"],
    "tan(pi*x) x=-1..1": ["pole at x=-0.5: +inf from the left, -inf from the right",
        "pole at x=0.5: +inf from the left, -inf from the right"],
    "tan(x) x=-pi..pi": [
        "pole at x=-pi/2 (-1.5707963267948966): +inf from the left, -inf from the right",
        "pole at x=pi/2 (1.5707963267948966): +inf from the left, -inf from the right",
    ],
    "1/sin(x) x=-4..4": [
        "pole at x=-pi (-3.141592653589793): +inf from the left, -inf from the right",
        "pole at x=0: -inf from the left, +inf from the right",
        "pole at x=pi (3.141592653589793): +inf from the left, -inf from the right",
    ],
    "1/(3*x-1) x=0..1": ["pole at x=0.3333333333333333: -inf from the left, +inf from the right"],
    "where(x>=0,1/x,0) x=-1..1": ["pole at x=0: +inf from the right"],
    "log(abs(x))+100 x=-1..1": ["pole at x=0: -inf"],
    "1/x^2 x=-1..1": ["pole at x=0: +inf"],
    "floor(3*x) x=0..0.9": ["jump at x=0.3333333333333333: from 0 to 1", "jump at "
    "x=0.6666666666666666: from 1 to 2"],
}  # fmt: skip


@pytest.mark.parametrize("line", MARKS)
def test_each_place_of_a_plot_is_told_once_with_both_sides(call_cli, line):
    done = call_cli("plot", *line.split(), "--no-check", "--format", "json")
    marks = [mark["text"] for mark in json.loads(done.stdout)["marks"]]
    assert marks == MARKS[line]


@pytest.mark.ci
def test_random_functions_with_branches_are_inside_their_ranges():
    """Values at points, those of the conditions among them, and slopes where differences of two
    sizes from both sides agree.
    """
    with np.errstate(all="ignore"):
        for seed in range(100):
            choose = random.Random(seed)
            text, box = (
                _number(choose, choose.choice((2, 3))),
                choose.choice(((-1.0, 3.0), (0.0, 2.0), (-2.0, 2.0), (0.25, 1.75))),
            )
            if "x" in text:
                _hold_at_points(text, box)


_CONSTANTS = ("0", "1", "2", "0.5", "-1")
_FUNCTIONS = {
    "sin": np.sin, "exp": np.exp, "abs": np.abs, "relu": lambda x: np.where(np.asarray(x) > 0, x, 0.0), "tanh": np.tanh, "floor": np.floor,
    "sinc": np.sinc, "sqrt": np.sqrt,
}  # fmt: skip
_NAMES = {**_FUNCTIONS, "where": np.where, "maximum": np.maximum, "NOT": np.logical_not}


def _number(choose, depth):
    kind = choose.random() if depth else 1.0
    inner = [_number(choose, depth - 1) for _ in range(2)] if depth else []
    if kind < 0.25:
        return f"({inner[0]} {choose.choice('+-*')} {inner[1]})"
    if kind < 0.3:
        return f"({inner[0]})/({inner[1]})"
    if kind < 0.45:
        return f"{choose.choice(list(_FUNCTIONS))}({inner[0]})"
    if kind < 0.5:
        return f"maximum({inner[0]}, {inner[1]})"
    if kind < 0.6:
        return f"(({_condition(choose, depth - 1)})*{_number(choose, 0)} + {inner[0]})"
    if kind < 1:
        return f"where({_condition(choose, depth - 1)}, {inner[0]}, {inner[1]})"
    return choose.choice(("x", "x", *_CONSTANTS))


def _condition(choose, depth):
    kind = choose.random() if depth else 1.0
    if kind < 0.2:
        return f"({_condition(choose, 0)}) {choose.choice('&|')} ({_condition(choose, 0)})"
    if kind < 0.3:
        return f"~({_condition(choose, 0)})"
    return (
        f"{_number(choose, depth) if kind < 0.6 else 'x'} "
        f"{choose.choice(('==', '!=', '==', '<', '>='))} {choose.choice(_CONSTANTS)}"
    )


def _hold_at_points(text, box):
    begin, end = box
    programs = Programs(values={"x": np.float64((begin + end) / 2)})
    (record,) = bounds(Script(programs.fresh(), [text]), Options(over={"x": box}, width=0.5))
    if record.error is not None:
        assert (
            "its range is not known" in record.error.message or "nowhere" in record.error.message
        ), (text, record.error.message)
        return
    xs = np.unique(
        [*np.linspace(begin, end, 61), *(x for x in map(float, _CONSTANTS) if begin <= x <= end)]
    )

    def values(xs):
        return np.broadcast_to(
            np.asarray(eval(text.replace("~(", "NOT("), dict(_NAMES), {"x": xs}), float), xs.shape
        )

    found = values(xs)
    defined = np.isfinite(found) & np.isfinite(values(xs + 1e-9)) & np.isfinite(values(xs - 1e-9))
    room = 1e-12 * (1 + np.abs(found))
    assert np.all(
        ~defined | ((record.value.low - room <= found) & (found <= record.value.high + room))
    ), (text, box, record.value)
    steps = np.array([1e-4, -1e-4, 1e-5, -1e-5])[:, None]
    slopes = (np.array([values(xs + step) for step in steps]) - found) / steps
    spread = slopes.max(axis=0) - slopes.min(axis=0)
    smooth = defined & (spread < 1e-2) & (begin < xs) & (xs < end)
    room = 2 * spread + 1e-9 + 1e-9 * np.abs(found) / 1e-5
    inside = (record.grad["x"].low - room <= slopes[2]) & (
        slopes[2] <= record.grad["x"].high + room
    )
    assert np.all(~smooth | inside), (
        text,
        box,
        record.grad["x"],
        xs[smooth & ~inside],
        slopes[2][smooth & ~inside],
    )


PLOTS = {
    "sin(x)|cos(x)|x=0..6": ["sin(x)", "cos(x)"],
    "x^3-3x|-2..2": ["x^3-3x"],
    "-2..2|x^3-3x": ["x^3-3x"],
    "-x|a*x|a=2|-1..1": ["-x", "a*x"],
}


@pytest.mark.parametrize("line", PLOTS)
@pytest.mark.parametrize("suffix", ["csv", "json", "svg", "html"])
def test_plots_of_several_expressions_and_of_a_range_alone(call_cli, tmp_path, line, suffix):
    pytest.importorskip("matplotlib")
    done = call_cli(
        "plot",
        *line.split("|"),
        "--points",
        "3",
        "--no-check",
        "--out",
        str(tmp_path / f"p.{suffix}"),
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / f"p.{suffix}").read_text()
    if suffix == "json":
        found = json.loads(text)
        assert [r["expr"] for r in (found if isinstance(found, list) else [found])] == PLOTS[line]
    elif suffix == "csv":
        assert len(text.splitlines()) == 1 + 3 * len(PLOTS[line])


REFUSED = {
    "x --out p.csv --format json 0..1": "--out p.csv and --format json contradict each other",
    "x --out p.svg --format csv 0..1": "--out p.svg and --format csv contradict each other",
    "x --out p.gif 0..1": "--out p.gif: a suffix says what is written",
    "x*y 0..1": "'0..1' is the range of no name in particular",
    "x 0..1 1..2": "'0..1' is the range of no name in particular",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_a_plot_cannot_know_is_refused(call_cli, line):
    done = call_cli("plot", *line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert REFUSED[line] in done.stderr


def test_numbers_of_logarithmic_axes_are_numbers(call_cli, tmp_path):
    pytest.importorskip("matplotlib")
    call_cli(
        "plot", "exp(x)", "x=1..10", "--log", "xy", "--no-check", "--out", str(tmp_path / "p.svg")
    )
    text = (tmp_path / "p.svg").read_text()
    assert "mathdefault" not in text
    assert "<!-- 10000 -->" in text
