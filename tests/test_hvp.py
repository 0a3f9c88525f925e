"""The Hessian of a scalar times a vector:

``--hvp NAME=VALUE`` and ``evaluate(hvp=...)``, with torch.autograd.functional's numbers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError
from gradcli.query import warnings

# the expression, the point, the direction, and what torch.autograd.functional.hvp gives (version
# 2.13, float64)
TORCH = {
    "one name moves": ("x**2*y", {"x": 3.0, "y": 2.0}, {"x": 1.0}, {"x": 4.0, "y": 6.0}),
    "both move": ("x**2*y", {"x": 3.0, "y": 2.0}, {"x": 1.0, "y": -2.0}, {"x": -8.0, "y": 6.0}),
    "Rosenbrock": ("100*(y-x**2)**2 + (1-x)**2", {"x": -1.25, "y": 1.5}, {"x": 0.5, "y": 2.0}, {"x": 1638.5, "y": 650.0}),
    "a vector": ("sum(x**3)*y", {"x": [1.0, 2.0, 3.0], "y": 2.0}, {"x": [1.0, 0.0, 0.5], "y": 1.0}, {"x": [15.0, 12.0, 45.0], "y": 16.5}),
    "a matrix": (
        "sum(tanh(w @ x))", {"w": [[0.5, -1.0], [0.25, 2.0]], "x": [1.0, 0.5]}, {"w": [[1.0, 0.0], [0.0, 2.0]], "x": [0.0, 1.0]},
        {"w": [[0.0, 1.0], [-1.4272280602904177, -0.4331991639647762]], "x": [0.6431929849273956, -2.29362638821997]},
    ),
    "logsumexp": (
        "logsumexp(z)", {"z": [0.5, 1.0, -2.0]}, {"z": [1.0, -1.0, 0.5]},
        {"z": [0.44767995804574534, -0.4693983230010904, 0.021718364955345064]},
    ),
    "a kink elsewhere": ("abs(x)*x", {"x": -2.0}, {"x": 1.0}, {"x": -2.0}),
    "exponentials": ("exp(x)*sin(x)", {"x": 0.5}, {"x": 2.0}, {"x": 5.787556146336677}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "at", "direction", "wanted"), TORCH.values(), ids=TORCH)
def test_numbers_of_torch(text, at, direction, wanted):
    record = gradcli.evaluate(text, at=at, hvp=direction)
    assert set(record.hvp) == set(wanted)
    for name, numbers in wanted.items():
        np.testing.assert_allclose(record.hvp[name], numbers, rtol=1e-13, atol=1e-14)
        assert np.shape(record.hvp[name]) == np.shape(at[name])
    assert record.check.verdict.word == "agree"
    assert set(record.check.variables) == set(wanted)


def test_a_wrong_product_is_a_mismatch(monkeypatch, call_cli):
    """A product that is off by a millionth is found, and exits with 1."""
    right = warnings.jacobian
    monkeypatch.setattr(warnings, "jacobian", lambda *arguments: right(*arguments) * 1.000001)
    done = call_cli("eval", "x**3*y", "x=3", "y=2", "--hvp", "x=1", "--format", "jsonl")
    assert done.returncode == 1
    assert json.loads(done.stdout)["check"]["variables"]["x"]["verdict"] == "mismatch"


def test_text(call_cli):
    done = call_cli("eval", "x**2*y", "x=3", "y=2", "--hvp", "x=1", "--hvp", "y=-2")
    assert done.stdout.startswith("""\
x**2*y
  value    18.0  (float64)
     Hessian · v  check
  x  -8.0         agree
  y  6.0          agree
  check    agree, certified: exact, with sympy's derivative""")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (
            ["--format", "csv"],
            "id,line,expr,variable,index,at,gradient,value\n,1,x**2*y,x,,3.0,4.0,18.0\n,1,x**2*y,y,,2.0,6.0,18.0\n",
        ),
        (
            ["--format", "latex"],
            "% x**2*y\n\\begin{align*}\nf &= 18 \\\\\n\\left(\\nabla^2 f\\, v\\right)_{x} &= 4 "
            "\\\\\n"
            "\\left(\\nabla^2 f\\, v\\right)_{y} &= 6\n\\end{align*}\n",
        ),
    ],
    ids=["csv", "latex"],
)
def test_formats(call_cli, options, wanted):
    assert (
        call_cli("eval", "x**2*y", "x=3", "y=2", "--hvp", "x=1", "--no-check", *options).stdout
        == wanted
    )


@pytest.mark.parametrize(
    ("option", "names"), [(["--wrt", "y"], ["y"]), (["--freeze", "y"], ["x"]), ([], ["x", "y"])]
)
def test_rows_are_by_the_names_that_are_differentiated(call_cli, option, names):
    done = call_cli(
        "eval", "x**2*y", "x=3", "y=2", "--hvp", "x=1", "--no-check", "--format", "jsonl", *option
    )
    assert list(json.loads(done.stdout)["hvp"]) == names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hvp": {"x": 1.0}, "jvp": {"x": 1.0}}, "'jvp' and 'hvp' exclude each other"),
        ({"hvp": {"x": 1.0}, "mode": "hessian"}, "the mode 'hessian' and 'hvp' exclude each other"),
        ({"hvp": {}}, "mode 'hvp' needs a direction"),
        ({"hvp": [1.0]}, "'hvp' must map names to tangents, not list"),
        ({"mode": "hvp"}, "mode 'hvp' needs a direction"),
        ({"hvp": {"x": 1.0}, "seed": 1.0}, "'hvp' and 'seed' exclude each other"),
    ],
)
def test_refused_in_python(options, message):
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate("x*x", x=3.0, **options)
    assert caught.value.message == message
