"""Derivatives as formulas are those of the books: each is held against one written by hand, in
multi-precision numbers.
"""

from __future__ import annotations

import random
import time

import pytest
import sympy
from helpers import thinned

import gradcli

# An expression, and its derivatives as a textbook has them, in sympy's words.
BOOK: dict[str, dict[str, str]] = {
    # powers, products, quotients
    "x^2": {"x": "2*x"},
    "7": {},
    "3*x^5 - 4*x^3 + x - 9": {"x": "15*x**4 - 12*x**2 + 1"},
    "1/x": {"x": "-1/x**2"},
    "1/x^3": {"x": "-3/x**4"},
    "sqrt(x)": {"x": "1/(2*sqrt(x))"},
    "x^(1/3)": {"x": "x**Rational(-2, 3)/3"},
    "x**pi": {"x": "pi*x**(pi - 1)"},
    "x*(x+1)": {"x": "2*x + 1"},
    "(x+1)*(x-1)": {"x": "2*x"},
    "(x^2+1)^10": {"x": "20*x*(x**2 + 1)**9"},
    "x/(x+1)": {"x": "1/(x + 1)**2"},
    "(x^2-1)/(x^2+1)": {"x": "4*x/(x**2 + 1)**2"},
    "(3*x+2)/(5*x-1)": {"x": "-13/(5*x - 1)**2"},
    "x*sqrt(1-x^2)": {"x": "(1 - 2*x**2)/sqrt(1 - x**2)"},
    "sqrt(x-5)": {"x": "1/(2*sqrt(x - 5))"},
    "sqrt(x+sqrt(x))": {"x": "(1 + 1/(2*sqrt(x)))/(2*sqrt(x + sqrt(x)))"},
    # exponentials and logarithms
    "e^x": {"x": "exp(x)"},
    "exp(-x^2)": {"x": "-2*x*exp(-x**2)"},
    "x*e^x": {"x": "(x + 1)*exp(x)"},
    "2^x": {"x": "2**x*log(2)"},
    "x^x": {"x": "x**x*(log(x) + 1)"},
    "x^(1/x)": {"x": "x**(1/x)*(1 - log(x))/x**2"},
    "log(x)": {"x": "1/x"},
    "ln(x^2+1)": {"x": "2*x/(x**2 + 1)"},
    "log(x)/x": {"x": "(1 - log(x))/x**2"},
    "x*log(x) - x": {"x": "log(x)"},
    "log(log(x))": {"x": "1/(x*log(x))"},
    "log10(x)": {"x": "1/(x*log(10))"},
    "log2(x)": {"x": "1/(x*log(2))"},
    "1/(1+exp(-x))": {"x": "exp(-x)/(1 + exp(-x))**2"},
    "log(1+exp(x))": {"x": "exp(x)/(1 + exp(x))"},
    # trigonometric functions
    "sin(x)": {"x": "cos(x)"},
    "cos(3*x)": {"x": "-3*sin(3*x)"},
    "tan(x)": {"x": "1/cos(x)**2"},
    "sec(x)": {"x": "sin(x)/cos(x)**2"},
    "csc(x)": {"x": "-cos(x)/sin(x)**2"},
    "cot(x)": {"x": "-1/sin(x)**2"},
    "x^3*sin(x)": {"x": "3*x**2*sin(x) + x**3*cos(x)"},
    "sin(x)*cos(x)": {"x": "cos(2*x)"},
    "sin(x)^2": {"x": "sin(2*x)"},
    "sin(x)^2 + cos(x)^2": {"x": "0"},
    "sin(x)/x": {"x": "(x*cos(x) - sin(x))/x**2"},
    "sin(x)/(1+cos(x))": {"x": "1/(1 + cos(x))"},
    "sin(1/x)": {"x": "-cos(1/x)/x**2"},
    "sin(cos(x))": {"x": "-sin(x)*cos(cos(x))"},
    "exp(sin(x))": {"x": "cos(x)*exp(sin(x))"},
    "log(sin(x))": {"x": "cos(x)/sin(x)"},
    "asin(x)": {"x": "1/sqrt(1 - x**2)"},
    "arccos(x)": {"x": "-1/sqrt(1 - x**2)"},
    "arctan(x)": {"x": "1/(1 + x**2)"},
    "x*atan(x) - log(1+x^2)/2": {"x": "atan(x)"},
    # hyperbolic and special functions
    "sinh(x)": {"x": "cosh(x)"},
    "cosh(x)": {"x": "sinh(x)"},
    "tanh(x)": {"x": "1 - tanh(x)**2"},
    "asinh(x)": {"x": "1/sqrt(x**2 + 1)"},
    "atanh(x)": {"x": "1/(1 - x**2)"},
    "erf(x)": {"x": "2*exp(-x**2)/sqrt(pi)"},
    "gamma(x)": {"x": "gamma(x)*digamma(x)"},
    "abs(x)": {"x": "x/Abs(x)"},
    # several names, parameters, Greek letters
    "x^2*y + y^3": {"x": "2*x*y", "y": "x**2 + 3*y**2"},
    "a*x^2 + b*x + c": {"a": "x**2", "x": "2*a*x + b", "b": "x", "c": "1"},
    "exp(-(x-mu)^2/(2*sigma^2))": {
        "x": "-(x - mu)/sigma**2*exp(-(x-mu)**2/(2*sigma**2))", "mu": "(x - "
        "mu)/sigma**2*exp(-(x-mu)**2/(2*sigma**2))",
        "sigma": "(x - mu)**2/sigma**3*exp(-(x-mu)**2/(2*sigma**2))",
    },
    "A*sin(ω*t + φ)": {
        "A": "sin(ω*t + φ)", "ω": "A*t*cos(ω*t + φ)", "t": "A*ω*cos(ω*t + φ)", "φ": "A*cos(ω*t + "
        "φ)",
    },
    "sqrt(x^2+y^2)": {"x": "x/sqrt(x**2 + y**2)", "y": "y/sqrt(x**2 + y**2)"},
    "x/y": {"x": "1/y", "y": "-x/y**2"},
    "x^y": {"x": "y*x**(y - 1)", "y": "x**y*log(x)"},
    "atan(y/x)": {"y": "x/(x**2 + y**2)", "x": "-y/(x**2 + y**2)"},
    "log(x*y)": {"x": "1/x", "y": "1/y"},
    "m*c^2/sqrt(1 - v^2/c^2)": {
        "m": "c**2/sqrt(1 - v**2/c**2)", "v": "m*v/(1 - v**2/c**2)**Rational(3, 2)",
        "c": "2*m*c/sqrt(1 - v**2/c**2) - m*v**2/(c*(1 - v**2/c**2)**Rational(3, 2))",
    },
    "sum(x**2)": {"x": "2*x"},
    # programs
    "f(x) = x^2; f(3*x)": {"x": "18*x"},
    "f(t) = t^2*exp(-t)": {"t": "(2*t - t**2)*exp(-t)"},
    "y = x^2; y*sin(y)": {"x": "2*x*(sin(x**2) + x**2*cos(x**2))"},
    "y = x^2*sin(x)": {"x": "2*x*sin(x) + x**2*cos(x)"},
    "grad(x^3, x)": {"x": "6*x"},
    "f(x) = x^3; f'(x)": {"x": "6*x"},
}  # fmt: skip

SECOND: dict[str, dict[tuple[str, str], str]] = {
    "x^2*y + y^3": {("x", "x"): "2*y", ("x", "y"): "2*x", ("y", "y"): "6*y"},
    "x^3*sin(x)": {("x", "x"): "6*x*sin(x) + 6*x**2*cos(x) - x**3*sin(x)"},
    "x*exp(x*y)": {
        ("x", "x"): "(2*y + x*y**2)*exp(x*y)", ("x", "y"): "(2*x + x**2*y)*exp(x*y)", ("y", "y"): "x**3*exp(x*y)",
    },
    "log(x)": {("x", "x"): "-1/x**2"},
    "atan(x)": {("x", "x"): "-2*x/(1 + x**2)**2"},
    "sqrt(1-x^2)": {("x", "x"): "-1/(1 - x**2)**Rational(3, 2)"},
    "x^2 + y": {("x", "x"): "2", ("x", "y"): "0", ("y", "y"): "0"},
    "100*(y-x^2)^2 + (1-x)^2": {("x", "x"): "1200*x**2 - 400*y + 2", ("x", "y"): "-400*x", ("y", "y"): "200"},
}  # fmt: skip

OURS = {
    "e": sympy.E, "pi": sympy.pi, "gamma": sympy.gamma, "digamma": sympy.digamma, "erf": sympy.erf,
    "log2": lambda x: sympy.log(x) / sympy.log(2), "log10": lambda x: sympy.log(x) / sympy.log(10),
    "where": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True)),
}  # fmt: skip


def same(printed: str, wanted: str) -> None:
    """Both have the same values in 30 digits, wherever the book's derivative is real."""
    ours, book = (sympy.sympify(text.replace("^", "**"), locals=OURS) for text in (printed, wanted))
    names = sorted(ours.free_symbols | book.free_symbols, key=str)
    compared = 0
    chance = random.Random(5)
    for _ in range(40):
        point = {name: sympy.Float(repr(chance.uniform(-2, 6)), 40) for name in names}
        x, y = (sympy.N(side.subs(point), 40) for side in (ours, book))
        if not (x.is_real and y.is_real):
            continue
        compared += 1
        assert abs(x - y) <= 1e-25 * (1 + abs(y)), (
            f"{printed} is {x} at {point}, the book's {wanted} is {y}"
        )
    assert compared >= 2, f"{printed} and {wanted} are nowhere real together"


@pytest.mark.parametrize("text", thinned(BOOK, every=6))
def test_first_derivatives(text: str) -> None:
    record = gradcli.differentiate(text)
    assert record.derivative is not None
    assert set(record.derivative) == set(BOOK[text])
    for name, wanted in BOOK[text].items():
        same(record.derivative[name], wanted)
    assert record.verdict == ("agree" if BOOK[text] else None)


@pytest.mark.parametrize("text", SECOND)
def test_second_derivatives(text: str) -> None:
    record = gradcli.differentiate(text, order=2)
    assert record.derivative is not None
    for (x, y), wanted in SECOND[text].items():
        same(record.derivative[x][y], wanted)
        assert record.derivative[x][y] == record.derivative[y][x] == record.formula(y, x)
    assert record.verdict == "agree"


THIRD = {
    ("x", "x", "x"): "0",
    ("x", "x", "y"): "2*cos(y)",
    ("x", "y", "y"): "-2*x*sin(y)",
    ("y", "y", "y"): "-x**2*cos(y)",
}


def test_third_derivatives() -> None:
    record = gradcli.differentiate("x^2*sin(y)", order=3)
    assert record.derivative is not None
    for (x, y, z), wanted in THIRD.items():
        same(record.derivative[x][y][z], wanted)
        assert record.derivative[z][x][y] == record.derivative[x][y][z]
    assert record.verdict == "agree"


@pytest.mark.parametrize(
    ("text", "names", "wanted"),
    [
        ("e*x", ("e",), {"e": "x"}),
        ("e*x", (), {"x": "E"}),
        ("pi*r^2", ("pi",), {"pi": "r**2"}),
        ("beta*x^2", ("x", "beta"), {"x": "2*x*b", "beta": "x**2"}),
        ("y = x^2; y^3", ("y",), {"y": "3*y**2"}),
        ("a*x^2", ("x",), {"x": "2*a*x"}),
    ],
)
def test_listed_names(text: str, names: tuple[str, ...], wanted: dict[str, str]) -> None:
    record = gradcli.differentiate(text, *names)
    assert record.derivative is not None
    assert list(record.derivative) == list(wanted)
    for name, book in wanted.items():
        same(record.derivative[name].replace("beta", "b"), book)
    assert record.verdict == "agree"


def test_names_with_values_are_constants() -> None:
    record = gradcli.differentiate("a*sum(w*x^2)", at={"a": 3.0, "w": [1.0, 2.0, 4.0]})
    assert record.derivative is not None
    assert list(record.derivative) == ["x"]
    printed = gradcli.evaluate(
        record.derivative["x"], at={"a": 3.0, "w": [1.0, 2.0, 4.0], "x": 0.5}
    )
    assert printed.value == 2 * 3 * 7 * 0.5
    assert record.verdict == "agree"


def test_entries_of_arrays_have_one_formula() -> None:
    record = gradcli.differentiate("w*x^2", "x", "w", at={"w": [1.0, 2.0, 4.0]})
    assert record.derivative == {"x": "2*w*x", "w": "x**2"}
    assert record.verdict == "agree"


def test_formulas_take_milliseconds() -> None:
    texts = [text for text in BOOK if BOOK[text]]
    gradcli.differentiate("sin(x)*exp(x)", check=False)
    started = time.process_time()
    for text in texts:
        gradcli.differentiate(text, check=False)
    count = sum(len(BOOK[text]) for text in texts)
    assert (time.process_time() - started) / count < 0.05, (
        "a formula takes more than 50 ms on average"
    )
