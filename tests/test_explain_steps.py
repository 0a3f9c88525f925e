"""Derivations: each line is the whole derivative, and true where what is still to do is done; the
last is what `gradcli diff` prints.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy

import gradcli
from gradcli.notation import mathml

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
    "k*x**2", "(x**2 + 1)/(x - 3) - 2*x*y/5", "sin(x)**cos(x)*exp(x)", "x**x**y", "y**x/x**y", "-(-x)*-sin(-x)", "0.3*x**0.7*3",
    "exp(-x**2/2)/sqrt(2*pi)", "log(x + sqrt(x**2 + 1))", "sec(x)*tan(x)*x", "log(x, 2)/x", "1/(1 + exp(-x))", "(x + 1)*(x + 2)*(x + 3)",
    "sin(x)/(y/(x/(1 + x)))", "x**2 if x > y else -3*sin(x)", "1 if x > 5 else x if x > 1 else 2*x", "sum([1, 2, 3] + x*y)",
    "mean([1, 2, 3]*sin(x))*x", "u = x*y; v = sin(u); v**u + u", "sum([1, 2]*x)**2", "x - (y - (x - 3*y))", "dot([1, 2], [x, y])",
]  # fmt: skip
POINT = {"x": 1.75, "y": 0.625}
_STILL = re.compile(r"d/d(\w)\(")


def done(line: str, rates: dict[str, float], lets: str = "") -> str:
    """A line with the number of each derivative that is still to do, by a difference quotient of
    extreme precision.

    rates  how fast names move
    lets   bindings of names that stand for parts
    """
    while (match := _STILL.search(line)) is not None:
        depth, end = 1, match.end()
        while depth:
            depth += (line[end] == "(") - (line[end] == ")")
            end += 1
        slope = _slope(f"{lets}{line[match.end() : end - 1]}", rates)
        line = f"{line[: match.start()]}({slope.tolist()!r}){line[end:]}"
    return lets + line


def given_in(text: str, at: dict[str, Any] = POINT) -> dict[str, Any]:
    """The values of the names that stand in a text."""
    return {
        name: number
        for name, number in at.items()
        if re.search(rf"(?<!\w){name}(?!\w)", text) and not re.search(rf"(?<!\w){name} = ", text)
    }


def value(text: str, at: dict[str, Any]) -> np.ndarray:
    return _value(text, tuple(given_in(text, at).items()))


@cache
def _value(text: str, at: tuple[tuple[str, Any], ...]) -> np.ndarray:
    return np.asarray(gradcli.evaluate(text, at=dict(at), check=False, formula=False).value)


def _slope(text: str, rates: dict[str, float]) -> np.ndarray:
    """The rate of a text by six values around the point, of an error of the sixth order."""
    step = 1e-3
    weights = {1: 45, 2: -9, 3: 1}
    total: Any = 0
    for k, sign in product(weights, (1, -1)):
        at = {name: x + sign * k * step * rates.get(name, 0) for name, x in POINT.items()}
        total += sign * weights[k] * value(text, at)
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
        hold_lines([step.to_dict() for step in steps], {name: 1.0}, true)


def hold_lines(steps: list[dict[str, Any]], rates: dict[str, float], true: float) -> None:
    """Each line is the derivative, or an equation that holds."""
    lets, known = "", "".join(f"d{name}_dx = {rate!r}; " for name, rate in rates.items())
    for step in steps:
        if step["rule"] == "substitute back":
            lets = ""
        if step["rule"] == "let":
            lets += f"{step['left']} = {step['formula']}; "
        left, right = (
            value(known + done(text, rates, lets), POINT)
            for text in (
                step.get("left", repr(true)),
                step["formula"].replace("detach(x)", repr(POINT["x"])).replace("k*", "3*"),
            )
        )
        assert right == pytest.approx(left, rel=1e-7, abs=1e-9), step


ORDERS = {
    "sin(x)**2": "2*cos(2*x)",
    "x**x": "x**x*((log(x) + 1)**2 + 1/x)",
    "x*exp(-x)": "(x - 2)*exp(-x)",
}


@pytest.mark.parametrize(("text", "second"), ORDERS.items())
def test_steps_of_the_second_derivative(call_cli, text, second):
    found = call_cli("diff", text, "--order", "2", "--steps", "--format", "json", "--no-check")
    record = json.loads(found.stdout)
    hold_lines(record["steps"]["x,x"], {"x": 1.0}, float(value(second, POINT)))
    assert record["steps"]["x,x"][-1]["formula"] == record["derivative"]["x"]["x"]


EQUATIONS = {  # with the slope at the point, by hand
    "x^2 + y^2 = 25": -1.75 / 0.625,
    "x*y": -0.625 / 1.75,
    "x^3 + y^3 = 6x*y": (2 * 0.625 - 1.75**2) / (0.625**2 - 2 * 1.75),
    "x*exp(y) = y^2/x": -(math.exp(0.625) + (0.625 / 1.75) ** 2) / (1.75 * math.exp(0.625) - 2 * 0.625 / 1.75),
    "y^x = 2": -math.log(0.625) * 0.625 / 1.75,
}  # fmt: skip


@pytest.mark.parametrize(("text", "slope"), EQUATIONS.items())
def test_steps_of_an_equation(call_cli, text, slope):
    found = call_cli("diff", text, "--implicit", "y", "--steps", "--format", "json", "--no-check")
    record = json.loads(found.stdout)
    (steps,) = record["steps"].values()
    hold_lines(steps, {"x": 1.0, "y": slope}, math.nan)
    assert (steps[0]["rule"], steps[-1]["rule"], steps[-1]["left"]) == (
        "differentiate both sides", "solve", "dy_dx",
    )  # fmt: skip
    assert steps[-1]["formula"] == record["derivative"]["x"]


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
    assert done_.stdout.splitlines()[-1] == "  simplify                = x*z*(z*cos(z) + 2*sin(z))"


def test_where_there_are_no_steps_the_numbers_are_explained(call_cli):
    done_ = call_cli("explain", "softmax(x)", "x=1,2", "--steps", "--no-check")
    assert done_.returncode == 0
    assert (
        "note     there are no steps: the result has the shape (2,), and its entries have no formula "
        "in common" in done_.stdout
    )
    assert "forward" in done_.stdout


TYPESET = {
    r"\frac{d}{dx}\left(x^{2}\right)": "<mfrac><mrow><mi>d</mi></mrow><mrow><mi>d</mi><mi>x</mi></mrow></mfrac>"
    "<mrow><mo>(</mo><msup><mi>x</mi><mrow><mn>2</mn></mrow></msup><mo>)</mo></mrow>",
    r"\alpha_{1} \le \sqrt{2.5}": "<msub><mi>α</mi><mrow><mn>1</mn></mrow></msub><mo>≤</mo><msqrt><mrow><mn>2.5</mn></mrow></msqrt>",
    r"\begin{cases} x & \text{if } x > 1 \\ 2 & \text{else} \end{cases}": "<mrow><mo>{</mo><mtable><mtr><mtd><mrow><mi>x</mi></mrow></mtd>"
    "<mtd><mrow><mtext>if&#160;</mtext><mi>x</mi><mo>&gt;</mo><mn>1</mn></mrow></mtd></mtr><mtr><mtd><mrow><mn>2</mn></mrow></mtd>"
    "<mtd><mrow><mtext>else</mtext></mrow></mtd></mtr></mtable></mrow>",
    r"\left\lfloor x \right\rfloor \wedge \lnot y": "<mrow><mo>⌊</mo><mi>x</mi><mo>⌋</mo></mrow><mo>∧</mo><mo>¬</mo><mi>y</mi>",
    r"\sqrt[3]{x} \, \mathrm{lr}": "<msup><mrow></mrow><mrow><mn>3</mn></mrow></msup><msqrt><mrow><mi>x</mi></mrow></msqrt>"
    "<mtext>&#160;</mtext><mtext>lr</mtext>",
    r"2 \cdot \operatorname{log\_ndtr}\left(x\right)": "<mn>2</mn><mo>⋅</mo>"
    "<mtext>log_ndtr</mtext><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>",
}  # fmt: skip


@pytest.mark.parametrize(("latex", "wanted"), TYPESET.items())
def test_latex_as_mathml(latex, wanted):
    assert mathml(latex) == f'<math displaystyle="true"><mrow>{wanted}</mrow></math>'


def test_the_page_is_typeset(call_cli):
    done_ = call_cli("explain", "x**alpha*y", "--steps", "--format", "html", "--no-check")
    formulas = re.findall("<math.*?</math>", done_.stdout)
    assert len(formulas) == done_.stdout.count("<li>") >= 6
    assert all(len(ElementTree.fromstring(each)) == 1 for each in formulas)
