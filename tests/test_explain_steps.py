"""Derivations: each line is the whole derivative, and true where what is still to do is done; the
last is what `gradcli diff` prints.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import sympy

import gradcli

WHOLE = {
    "a product": ("x^3*sin(x)", """\
x^3*sin(x)

d/dx
  = d/dx(x**3)*sin(x) + x**3*d/dx(sin(x))   product rule
  = 3*x**2*sin(x) + x**3*d/dx(sin(x))       power rule
  = 3*x**2*sin(x) + x**3*cos(x)             sine rule
  = x**2*(x*cos(x) + 3*sin(x))              simplify
"""),
    "a chain": ("(3x + 5)^7", """\
(3x + 5)^7

d/dx
  = 7*(3*x + 5)**6*d/dx(3*x + 5)           chain rule, power rule
  = 7*(3*x + 5)**6*(d/dx(3*x) + d/dx(5))   sum rule
  = 7*(3*x + 5)**6*d/dx(3*x)               constant rule
  = 7*(3*x + 5)**6*(3*d/dx(x))             constant multiple rule
  = 7*(3*x + 5)**6*3                       variable
  = 21*(3*x + 5)**6                        simplify

  read as  (3*x + 5)**7
"""),
    "a line too long for its rule": ("exp(-x^2)/(1+x)", """\
exp(-x^2)/(1+x)

d/dx
    quotient rule:
  = (d/dx(exp(-x**2))*(1 + x) - exp(-x**2)*d/dx(1 + x))/(1 + x)**2
    sum rule:
  = (d/dx(exp(-x**2))*(1 + x) - exp(-x**2)*(d/dx(1) + d/dx(x)))/(1 + x)**2
    constant rule:
  = (d/dx(exp(-x**2))*(1 + x) - exp(-x**2)*d/dx(x))/(1 + x)**2
    variable:
  = (d/dx(exp(-x**2))*(1 + x) - exp(-x**2))/(1 + x)**2
    chain rule, exponential rule:
  = (exp(-x**2)*d/dx(-x**2)*(1 + x) - exp(-x**2))/(1 + x)**2
    constant multiple rule:
  = (exp(-x**2)*-d/dx(x**2)*(1 + x) - exp(-x**2))/(1 + x)**2
    power rule:
  = (exp(-x**2)*-(2*x)*(1 + x) - exp(-x**2))/(1 + x)**2
  = -exp(-x**2)*(2*x*(x + 1) + 1)/(x + 1)**2   simplify
"""),
    "two names": ("log(x^2+1)*y", """\
log(x^2+1)*y

d/dx
  = y*d/dx(log(x**2 + 1))                     constant multiple rule
  = y*(1/(x**2 + 1)*d/dx(x**2 + 1))           chain rule, logarithm rule
  = y*(1/(x**2 + 1)*(d/dx(x**2) + d/dx(1)))   sum rule
  = y*(1/(x**2 + 1)*d/dx(x**2))               constant rule
  = y*(1/(x**2 + 1)*(2*x))                    power rule
  = 2*x*y/(x**2 + 1)                          simplify

d/dy
  = log(x**2 + 1)*d/dy(y)   constant multiple rule
  = log(x**2 + 1)           variable
"""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), WHOLE.values(), ids=list(WHOLE))
def test_the_whole_derivation(call_cli, text, wanted):
    done = call_cli("explain", text, "--steps", "--no-check")
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


EXPRESSIONS = [
    "2", "x", "-x", "x + y - 3", "x*y*x", "x/y", "1/x", "(x + 1)/(x - 3)", "x**2.5", "x**-1", "2**x", "x**x", "(x**2 + 1)**(x*y)",
    "sqrt(x**2 + y)", "sin(cos(tan(x)))", "exp(x)*log(y + x)", "log(log(x + 3))",
    "asin(x/4) + atan(x)*acos(y/5)", "sinh(x)*cosh(2*x)/tanh(x)",
    "x*exp(-x**2/2)",
    "sigmoid(3*x - y)", "abs(x - 5)*relu(x)", "maximum(x, y)*minimum(x, y**2)", "where(x > 1, "
    "x**2, sin(x))", "cbrt(x)*log2(x) - log10(y)",
    "gamma(x)*erf(y)", "x % 3 + floor(x)", "atan2(y, x)", "hypot(x, y)", "-(x - y)**3/(x*y + 1)", "softplus(x)*gelu(y)",
    "a = x**2; b = a*sin(a); b/a + a",
    "f(t) = t**2*exp(t); f(x) + f(2*y)", "f(t) = sin(t); f'(x)*x", "detach(x)*x", "const k = 3; "
    "k*x**2",
]  # fmt: skip
POINT = {"x": 1.75, "y": 0.625}
_STILL = re.compile(r"d/d(\w)\(")


def done(line: str, name: str) -> str:
    """A line with the number of each derivative that is still to do, by sympy's or a difference
    quotient of extreme precision.
    """
    while (match := _STILL.search(line)) is not None:
        depth, end = 1, match.end()
        while depth:
            depth += (line[end] == "(") - (line[end] == ")")
            end += 1
        inner = line[match.end() : end - 1]
        line = f"{line[: match.start()]}({_slope(inner, name)!r}){line[end:]}"
    return line


def given_in(text: str, at: dict[str, Any] = POINT) -> dict[str, Any]:
    """The values of the names that stand in a text."""
    return {name: number for name, number in at.items() if re.search(rf"(?<!\w){name}(?!\w)", text)}


def value(text: str, at: dict[str, Any]) -> float:
    return float(
        np.asarray(gradcli.evaluate(text, at=given_in(text, at), check=False, formula=False).value)
    )


def _slope(text: str, name: str) -> float:
    """The derivative of a text by six values around the point, of an error of the sixth order."""
    step = 1e-3
    weights = {1: 45, 2: -9, 3: 1}
    total = sum(
        sign * weight * value(text, {**POINT, name: POINT[name] + sign * k * step}) for k, weight in weights.items() for sign in (1, -1)
    )  # fmt: skip
    return total / (60 * step)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_line_is_the_derivative(text):
    explanation = gradcli.explain(
        text,
        at={name: POINT[name] for name in "xy" if re.search(rf"(?<!\w){name}(?!\w)", text)},
        check=False,
        steps=True,
    )
    for name, steps in explanation.steps.items():
        true = float(explanation.gradients[name].value)
        for step in steps:
            line = step.formula.replace("detach(x)", repr(POINT["x"])).replace("k*", "3*")
            assert value(done(line, name), POINT) == pytest.approx(true, rel=1e-7, abs=1e-9), (
                f"{step.rule}: {step.formula}"
            )


@pytest.mark.parametrize(
    "text", [text for text in EXPRESSIONS if ";" not in text and text not in ("2", "detach(x)*x")]
)
def test_the_last_line_is_what_diff_prints(text):
    explanation = gradcli.explain(
        text,
        at={name: POINT[name] for name in "xy" if re.search(rf"(?<!\w){name}(?!\w)", text)},
        check=False,
        steps=True,
    )
    formulas = gradcli.differentiate(text, check=False).derivative
    assert {name: steps[-1].formula for name, steps in explanation.steps.items()} == formulas


@pytest.mark.parametrize(
    "text", ["x**2*sin(x)", "exp(-x**2)/(1 + x)", "sqrt(1 + x**2)*log(x)", "x**x"]
)
def test_sympy_agrees_with_the_last_line(text):
    x = sympy.Symbol("x", positive=True)
    final = gradcli.explain(text, x=1.5, check=False, steps=True).steps["x"][-1].formula
    names = {
        "x": x,
        "log": sympy.log,
        "exp": sympy.exp,
        "sqrt": sympy.sqrt,
        "sin": sympy.sin,
        "cos": sympy.cos,
    }
    assert (
        sympy.simplify(
            sympy.sympify(final, locals=names) - sympy.diff(sympy.sympify(text, locals=names), x)
        )
        == 0
    )


def test_rules_have_their_usual_names():
    def rules(text: str) -> list[str]:
        return [
            step.rule for step in gradcli.explain(text, x=1.5, check=False, steps=True).steps["x"]
        ]

    assert rules("x + 3") == ["sum rule", "constant rule", "variable"]
    assert rules("sin(x)*x") == ["product rule", "variable", "sine rule", "simplify"]
    assert rules("tan(2*x)") == [
        "chain rule, tangent rule",
        "constant multiple rule",
        "variable",
        "simplify",
    ]
    assert rules("sqrt(x)") == ["square root rule"]
    assert rules("3**x") == ["exponential rule"]


def test_latex_and_json(call_cli):
    done_ = call_cli("explain", "x*sin(x)", "--steps", "--latex", "--no-check")
    assert "&= \\frac{d}{dx}\\left(x\\right) \\sin\\left(x\\right)" in done_.stdout
    found = json.loads(
        call_cli("explain", "x*sin(x)", "x=2", "--steps", "--format", "json", "--no-check").stdout
    )
    assert (found["steps"]["x"][0]["rule"], found["nodes"][0]["op"]) == ("product rule", "leaf")
    without = json.loads(
        call_cli("explain", "x*sin(x)", "--steps", "--format", "json", "--no-check").stdout
    )
    assert (without["steps"]["x"][-1]["formula"], without["nodes"]) == (
        found["steps"]["x"][-1]["formula"],
        [],
    )


def test_what_has_no_entry_in_common_has_its_gradient_alone():
    steps = gradcli.explain("sum(x**2)*y", x=[1.0, 2.0], y=3.0, check=False, steps=True).steps
    assert [(step.rule, step.formula) for step in steps["x"]] == [("gradient", "2*x*y")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "x=1", "--steps", "--format", "svg"], "--format svg and --steps exclude each other"),
        (["x >", "--steps"], "error[syntax]"),
        (["x > 2", "--steps"], "boolean"),
        (
            ["x", "x=1", "--why", "x", "--format", "latex"],
            "--format latex and --why exclude each other",
        ),
    ],
)
def test_what_is_refused(call_cli, arguments, message):
    done_ = call_cli("explain", *arguments)
    assert (done_.returncode, message in done_.stderr) == (2, True), done_.stderr


@pytest.mark.parametrize("by", ["a file", "standard input"])
def test_names_without_values_and_functions_of_a_file(call_cli, tmp_path, by):
    """The file is read twice: once for values, which are not all there, and once for the
    formulas.
    """
    program = "f(t) = t^2*sin(t)\nx = 2\n"
    (tmp_path / "f.grad").write_text(program, "utf-8")
    path = str(tmp_path / "f.grad") if by == "a file" else "-"
    done_ = call_cli("explain", "-f", path, "f(z)*x", "--steps", "--no-check", stdin=program)
    assert done_.stdout.splitlines()[0] == "f(z)*x"
    assert (
        done_.stdout.splitlines()[-1] == "  = x*z*(z*cos(z) + 2*sin(z))                   simplify"
    )


def test_where_there_are_no_steps_the_numbers_are_explained(call_cli):
    done_ = call_cli("explain", "softmax(x)", "x=1,2", "--steps", "--no-check")
    assert done_.returncode == 0
    assert (
        "note     there are no steps: the result has the shape (2,), and its entries no formula "
        "in common" in done_.stdout
    )
    assert "forward" in done_.stdout
