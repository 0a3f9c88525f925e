"""Slopes of what an equation or a curve gives, and rates of names that depend on another."""

from __future__ import annotations

import json

import pytest
from helpers import thinned

FOUND = {  # what is asked, and the derivatives
    "a circle": (["x^2 + y^2 = 25", "--implicit", "y"], {"x": "-x/y"}),
    "of second order": (["x^2 + y^2 = 25", "--implicit", "y", "--order", "2"], {"x": {"x": "-(x**2 + y**2)/y**3"}}),
    "an expression is zero": (["x*y - 1", "--implicit", "y"], {"x": "-y/x"}),
    "an equation of the language": (["x*y == 1", "--implicit", "y"], {"x": "-y/x"}),
    "Descartes's leaf": (["x^3 + y^3 = 6x*y", "--implicit", "y"], {"x": "(2*y - x**2)/(y**2 - 2*x)"}),
    "a sphere": (["x^2 + y^2 + z^2 = 1", "--implicit", "z"], {"x": "-x/z", "y": "-y/z"}),
    "by one of two": (["x^2 + y^2 + z^2 = 1", "--implicit", "z", "y"], {"y": "-y/z"}),
    "with a constant": (["x^2/a^2 + y^2 = 1", "a=2", "--implicit", "y"], {"x": "-x/(a**2*y)"}),
    "in LaTeX": ([r"\sqrt{x} + y^{3} = 1", "--implicit", "y"], {"x": "-1/(6*sqrt(x)*y**2)"}),
    "a curve": (["x = cos(t); y = sin(t)", "--implicit", "y"], {"x": "-cot(t)"}),
    "a curve's second": (["x = cos(t); y = sin(t)", "--implicit", "y", "--order", "2"], {"x": {"x": "-csc(t)**3"}}),
    "a function of x": (["y = x^3", "--implicit", "y"], {"x": "3*x**2"}),
    "a definition before": (["f(a, b) = a*b; f(x, y) == 2", "--implicit", "y"], {"x": "-y/x"}),
    "a constant before": (["a = 2; x^2 + a*y = 1", "--implicit", "y"], {"x": "-2*x/a"}),
    "a curve by one name": (["x = t^2; y = t^3; y", "x", "--implicit", "y"], {"x": "1.5*t"}),
    "a cylinder": (["pi r^2 h", "--of", "t", "r", "h"], {"t": "pi*r*(dh_dt*r + 2*dr_dt*h)"}),
    "an equation": (["x^2 + y^2 = z^2", "--of", "t", "x", "y", "--implicit", "z"], {"t": "(dx_dt*x + dy_dt*y)/z"}),
    "a formula": (["V = pi r^2 h", "--of", "t", "r", "h", "--implicit", "V"], {"t": "pi*r*(dh_dt*r + 2*dr_dt*h)"}),
    "a call before the sign": (["sin(x y) = x + y", "--implicit", "y"], {"x": "(1 - y*cos(x*y))/(x*cos(x*y) - 1)"}),
    "y on both sides": (["y = sin(x*y)", "--implicit", "y"], {"x": "y*cos(x*y)/(1 - x*cos(x*y))"}),
    "all depend": (["a*b", "--of", "t"], {"t": "a*db_dt + b*da_dt"}),
    "and it depends itself": (["r^2 t", "--of", "t", "r"], {"t": "r*(2*dr_dt*t + r)"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "derivative"),
    thinned((pytest.param(*case, id=name) for name, case in FOUND.items()), every=2),
)
def test_a_formula(call_cli, arguments, derivative):
    done = call_cli("diff", *arguments, "--format", "json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["derivative"]) == (0, derivative)
    assert record["check"]["verdict"] == "agree"


POINTS = {  # what is asked, the value of the name, and its slopes
    "a circle": (["x^2 + y^2 = 25", "--implicit", "y", "x=3", "y=4"], 4, {"x": -0.75}),
    "a sphere": (["x^2 + y^2 + z^2 = 9", "--implicit", "z", "x=2", "y=2", "z=1"], 1, {"x": -2, "y": -2}),
    "by one of two": (["x^2 + y^2 + z^2 = 9", "--implicit", "z", "x=2", "y=2", "z=1", "--wrt", "y"], 1, {"y": -2}),
    "a call before the sign": (["sin(x*y) = y", "--implicit", "y", "x=3", "y=0"], 0, {"x": 0}),
    "a curve": (["x = t^2; y = t^3", "--implicit", "y", "t=2"], 8, {"x": 3}),
    "in LaTeX": ([r"\frac{x^2}{4} + y^2 = 2", "--implicit", "y", "x=2", "y=1"], 1, {"x": -0.5}),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "value", "slopes"), POINTS.values(), ids=POINTS)
def test_a_point(call_cli, arguments, value, slopes):
    done = call_cli("eval", *arguments, "--format", "jsonl")
    record = json.loads(done.stdout)
    assert (done.returncode, record["value"], record["grad"]) == (0, value, slopes)
    assert (record["check"]["verdict"], record["warnings"]) == ("agree", [])


def test_a_point_beside_the_curve_is_told(call_cli):
    done = call_cli("eval", "x^2 + y^2 = 25", "--implicit", "y", "x=3", "y=5", "--format", "jsonl")
    said = json.loads(done.stdout)["warnings"]
    assert said == ["the point is not on the curve: the sides differ by 9"]


REFUSED = {
    "no such name": (["diff", "x^2 + y^2 = 1", "--implicit", "z"], "the equation has no name 'z'"),
    "by no name of it": (["diff", "x^2 + y^2 = 1", "q", "--implicit", "y"], "'y' does not depend on 'q'"),
    "a curve of two names": (["diff", "x = t; y = t*u", "--implicit", "y"], "a curve depends on one name, and 'y' on t, u"),
    "a second by two": (["diff", "x*y*z = 1", "--implicit", "z", "--order", "2"], "a higher derivative is by one name"),
    "a second rate": (["diff", "r^2", "--of", "t", "--order", "2"], "--of gives first derivatives"),
    "no name": (["diff", "x*y = 1", "--implicit", "y,x"], "--implicit takes a name, not 'y,x'"),
    "a rate of nothing": (["diff", "5", "--of", "t"], "nothing here depends on 't'"),
    "an inequality": (["diff", "x^2 + y^2 < 25", "--implicit", "y"], "not for a truth"),
    "a point": (["diff", "x^2 + y^2 = 25", "--implicit", "y", "x=3", "y=4"], "gradcli eval gives the slope at a point"),
    "nothing to depend on": (["diff", "x^2 + y^2 = 25", "--implicit", "y", "x=3"], "'y' depends on no other name"),
    "an array": (["diff", "v*y = x", "v=1,2", "--implicit", "y"], "not for an array"),
    "an equation's rate": (["diff", "r^2 = z", "--of", "t"], "say which: --implicit NAME"),
    "an unknown rate": (["diff", "r^2 = z", "--of", "t", "--implicit", "w"], "the equation has no name 'w'"),
    "what cannot be read": (["diff", "x^2 + = 1", "--implicit", "x"], "expected a value"),
    "a name without a value": (["eval", "x*y = 1", "--implicit", "y", "x=2"], "no value for 'y'"),
    "an uncertain value": (["eval", "x*y = 1", "--implicit", "y", "x=2±0.1", "y=0.5"], "takes exact values, without ±"),
    "another mode": (["eval", "x*y = 1", "--implicit", "y", "x=2", "y=1", "--hessian"], "exclude each other"),
    "no option": (["eval", "x*y = 1", "x=2", "y=1"], "for the slope of a y that an equation gives: --implicit y"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call_cli, arguments, said):
    done = call_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "factor0" not in done.stderr


def test_lines_say_whose_derivatives_they_are(call_cli):
    done = call_cli("diff", "x^2 + y^2 = 25", "--implicit", "y", "--order", "2")
    assert done.stdout.splitlines()[1] == "  d²y/dx²  -(x**2 + y**2)/y**3"
    done = call_cli("diff", "x^2 + y^2 = 25", "--implicit", "y", "--latex")
    assert r"\frac{d}{dx} y &= " in done.stdout
