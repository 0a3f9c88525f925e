"""The commands as functions: `bound`, `plot`, `export`, and `differentiate` of equations, curves and rates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import GradcliError

Cli = Callable[..., CompletedProcess[str]]


def test_bounds_of_known_functions() -> None:
    found = gradcli.bound("x*(1 - x)", x=(0, 1))
    assert (found.value.low, found.value.high, found.grad["x"][:2]) == (0.0, 0.25, (-1.0, 1.0))
    found = gradcli.bound("a*sin(x)", x="0..2*pi", a=2.0, lipschitz=True)
    assert found.value[:2] == pytest.approx((-2, 2), rel=1e-12)
    assert found.lipschitz["1"] == pytest.approx(2)
    assert found.to_dict()["certified"] is True
    narrow, wide = (
        gradcli.bound("sin(x)*cos(x) + x**3", at={"x": (0, 1)}, width=w) for w in (1e-6, 1.0)
    )
    assert narrow.value.high - narrow.value.low <= wide.value.high - wide.value.low


def test_curves_and_fields() -> None:
    curve = gradcli.plot("a*x**2", x=(-1, 2), a=3.0, points=4)
    assert [row["value"] for row in curve.table] == [3, 0, 3, 12]
    assert [row["d/dx"] for row in curve.table] == [-6, 0, 6, 12]
    assert curve.check.verdict == "agree"
    assert gradcli.plot("abs(x)", x=(-1, 1), check=False).marks[0][1].kind == "kink"
    field = gradcli.plot("x*y", x=(0, 1), y=(0, 2), points=3, wrt="y")
    assert field.columns == ["x", "y", "value", "d/dy"]
    assert np.allclose([row["d/dy"] for row in field.table], [row["x"] for row in field.table])
    two = gradcli.plot("a*x", x=(1, 100), a=[1.0, 2.0], points=3)
    assert [row["x"] for row in two.table] == pytest.approx([1, 50.5, 100] * 2)


@pytest.mark.parametrize(
    ("words", "function"),
    [
        (["bound", "exp(x)*y", "x=-1..1", "y=2"], lambda: gradcli.bound("exp(x)*y", x=(-1, 1), y=2)),
        (["plot", "x/(x-1)", "x=0..2", "--points", "5"], lambda: gradcli.plot("x/(x-1)", x=(0, 2), points=5)),
        (["diff", "x^2 + y^2 = 25", "--implicit", "y", "--latex"], lambda: gradcli.differentiate("x^2 + y^2 = 25", implicit="y")),
    ],
)  # fmt: skip
def test_results_are_those_of_the_command_line(
    call_cli: Cli, words: list[str], function: Any
) -> None:
    assert json.loads(call_cli(*words, "--format", "jsonl").stdout) == json.loads(
        function().to_json()
    )


def test_exports_are_those_of_the_command_line(call_cli: Cli) -> None:
    for to in ("numpy", "c", "js", "latex"):
        text = gradcli.export("sum((a*x)**2)", a=2.0, x=[1.0, 2.0], to=to, wrt="a", seed=2.0)
        words = ["sum((a*x)**2)", "a=2", "x=1,2", "--to", to, "--wrt", "a", "--seed", "2"]
        assert call_cli("export", *words).stdout.rstrip() == text.rstrip()
    space: dict[str, Any] = {}
    exec(gradcli.export("x**2*y\nx + y"), space)
    assert space["value_and_grad_1"](x=3.0, y=2.0) == (18.0, {"x": 12.0, "y": 9.0})


def test_slopes_and_rates() -> None:
    assert gradcli.differentiate("x = cos(t); y = sin(t)", implicit="y").derivative == {
        "x": "-cot(t)"
    }
    rate = gradcli.differentiate("x^2 + y^2 = z^2", implicit="z", of="t")
    assert rate.derivative == {"t": "(dx_dt*x + dy_dt*y)/z"}
    found = gradcli.differentiate("x^2 + y^2 = 25", "x", implicit="y")
    assert (found.derivative, found.check.verdict.word) == ({"x": "-x/y"}, "agree")
    assert gradcli.differentiate("c*r**2", of="t", c=3.0).derivative == {"t": "2*c*dr_dt*r"}


REFUSED = {
    "no range": (lambda: gradcli.bound("x", x=1), "no name has a range"),
    "no range of a plot": (lambda: gradcli.plot("x"), "no name has a range"),
    "three ranges": (lambda: gradcli.plot("x*y*z", x=(0, 1), y=(0, 1), z=(0, 1)), "room for two names"),
    "turned": (lambda: gradcli.bound("x", x=(1, 0)), "ends before it begins"),
    "a point": (lambda: gradcli.plot("x", x=(1, 1)), "is a single point"),
    "infinite": (lambda: gradcli.bound("x", x=(0, math.inf)), "no finite number"),
    "an option": (lambda: gradcli.bound("x", x=(0, 1), widht=1), "no option 'widht'"),
    "a width": (lambda: gradcli.bound("x", x=(0, 1), width=0), "'width' must be a number above 0"),
    "points": (lambda: gradcli.plot("x", x=(0, 2), points=1), "'points' must be a whole number"),
    "no value": (lambda: gradcli.bound("x*y", x=(0, 1)), "no value for 'y'"),
    "no name": (lambda: gradcli.plot("x", x=(0, 1), at={"q": (0, 1)}), "has no name 'q'"),
    "a target": (lambda: gradcli.export("x", to="cobol"), "to must be one of"),
    "a lack": (lambda: gradcli.export("cond(x)", x=[[1.0, 2], [3, 4]], to="c"), "cannot be written in c"),
    "wrt": (lambda: gradcli.export("x*y", wrt="q"), "no value for 'q'"),
    "a rate": (lambda: gradcli.differentiate("x*y = 1", of="t"), "an equation gives the rate of one name"),
    "a word": (lambda: gradcli.differentiate("x*y = 1", implicit="x y"), "implicit takes a name"),
    "no text": (lambda: gradcli.export(3), "must be text"),
    "nothing": (lambda: gradcli.bound("y = 2", y=(0, 1)), "nothing to bound"),
    "positions": (lambda: gradcli.value_and_grad("x*y")(3.0), "by names"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(GradcliError, match=message) as error:
        call()
    assert not error.value.message.startswith("--")


def test_one_name_may_come_by_position() -> None:
    value, grads = gradcli.value_and_grad("x**2")(3.0)
    assert (value, grads) == (9.0, {"x": 6.0})
    assert gradcli.compile("a*sum(x**2)")([1.0, 2.0], a=2.0) == 10.0
    assert gradcli.jacobian("x**2")(np.array([1.0, 2.0]))[1]["x"].tolist() == [
        [2.0, 0.0],
        [0.0, 4.0],
    ]
    assert gradcli.hessian("c = 2; c*x**3")(1.0)[2]["x"]["x"] == 12.0


def test_a_prompt_shows_deviations_and_verdicts() -> None:
    assert "std=0.5" in repr(gradcli.evaluate("m*v", m="2±0.1", v="3±0.2"))
    shown = repr(gradcli.evaluate("sqrt(x)*y", x=0, y=3.0))
    assert "verdicts={'x': 'undefined', 'y': 'agree'}" in shown
    page = gradcli.evaluate("m*v", m="2±0.1", v="3±0.2")._repr_html_()
    assert all(text in page for text in ("6.0 ± 0.5", "agree", "the variance comes from"))
