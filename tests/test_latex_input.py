r"""LaTeX as input: what it is read as, and what is refused at its place."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.errors import AmbiguousError, GradcliError, LimitError

READ = [  # a text, and what a person would type for it
    (r"\frac{x}{2}", "x/2"),
    (r"\frac12 x", "1/2*x"),
    (r"\dfrac{\frac{x}{2}}{3}", "x/2/3"),
    (r"m\frac{v^2}{2}", "m*(v**2/2)"),
    (r"\sqrt{x^{2}+t^{2}}", "sqrt(x**2 + t**2)"),
    (r"\sqrt[3]{x}+\sqrt[n]{x}", "cbrt(x) + x**(1/n)"),
    (r"\sqrt 2x", "sqrt(2)*x"),
    (r"e^{-x^2}", "e**-x**2"),
    (r"e^{-(wx+b)}", "e**-(w*x + b)"),
    (r"\sin^2 x", "sin(x)**2"),
    (r"\sin^{2}{x}", "sin(x)**2"),
    (r"\sin\frac{\pi x}{2}", "sin(pi*x/2)"),
    (r"\cos 2x \sin x", "cos(2*x)*sin(x)"),
    (r"e^x t\pi", "e**x*t*pi"),
    (r"\sin\sqrt{x}", "sin(sqrt(x))"),
    (r"\ln x", "ln(x)"),
    (r"\ln\left|x\right|", "ln(abs(x))"),
    (r"\sin^2\left|x\right|", "sin(abs(x))**2"),
    (r"x\left|t\right|", "x*abs(t)"),
    (r"$x^2 + 1$", "x**2 + 1"),
    (r"\log_{2} x", "log_2(x)"),
    (r"\arctan x", "arctan(x)"),
    (r"x_{1}^2+x_1", "x_1**2 + x_1"),
    (r"v_{\text{max}} t", "v_max*t"),
    (r"\hat{y}x", "y_hat*x"),
    (r"\left(x+1\right)^{10}", "(x + 1)**10"),
    (r"x\left(x+1\right)", "x*(x + 1)"),
    (r"\left[x+1\right]\cdot 2", "(x + 1)*2"),
    (r"\left|x-5\right|", "abs(x - 5)"),
    (r"|x|\cdot\pi", "abs(x)*pi"),
    (r"\lfloor x\rfloor + \lceil x\rceil", "floor(x) + ceil(x)"),
    (r"2\cdot x\times t\div n", "2*x*t/n"),
    (r"\alpha x + \varepsilon", "alpha*x + epsilon"),
    (r"\Gamma(x) + \Gamma", "gamma(x) + Gamma"),
    (r"\mathrm{rate}\cdot x", "rate*x"),
    (r"\max(x, 2) + \exp(-x)", "max(x, 2) + exp(-x)"),
    (r"x_{1}+softmax(x_{1})", "x_1 + softmax(x_1)"),
    (r"30^\circ x^{1}", "30*(pi/180)*x**1"),
    (r"x^\top + \frac{x}{1}", "x.T + x/1"),
    (r"\frac{d}{dx} x^3", "grad(x**3, x)"),
    (r"\frac{\mathrm{d}}{\mathrm{d}x}\left(x^2\right)", "grad(x**2, x)"),
    (r"\frac{d^2}{d\alpha^2}(\alpha^3)", "grad(grad(alpha**3, alpha), alpha)"),
    (r"\frac{\partial^2}{\partial x\,\partial t}(x^2 t)", "grad(grad(x**2*t, x), t)"),
    (r"$\frac{x}{3}$  # of a page", "x/3"),
    (r"\frac{1}{\sqrt{2\pi}\sigma}e^{-\frac{x^2}{2}}", "1/(sqrt(2*pi)*sigma)*e**-(x**2/2)"),
    (r"x if x \leq 2 else \frac{x}{2}", "x if x <= 2 else x/2"),
]  # fmt: skip
NAMES = [
    "x",
    "t",
    "n",
    "m",
    "v",
    "w",
    "b",
    "alpha",
    "epsilon",
    "sigma",
    "Gamma",
    "rate",
    "y_hat",
    "x_1",
    "v_max",
]
AT = dict.fromkeys(NAMES, 1.75)


@pytest.mark.parametrize(("text", "read_as"), READ)
def test_a_text_is_read_as_in_print(text: str, read_as: str) -> None:
    record = gradcli.evaluate(text, at=AT, check=False)
    assert record.read_as == read_as
    typed = gradcli.evaluate(read_as, at=AT, check=False)
    assert record.value == typed.value
    assert record.derivative == typed.derivative


def test_a_program_in_latex() -> None:
    record = gradcli.evaluate(r"f(x) = \frac{x^{2}}{2}; y = f(3a); \sqrt{y}", a=2.0)
    assert record.expr == r"\sqrt{y}"
    assert record.value == pytest.approx(18**0.5)
    assert record.grad["a"] == pytest.approx(18**0.5 / 2)


REFUSED = [  # a text, the column of the error, and a part of its help
    (r"\int x", 1, "differentiates"),
    (r"2+\sum_{i=1}^{n} x", 3, "sum(x)"),
    (r"x\foo", 2, ""),
    (r"\begin{pmatrix}1\end{pmatrix}", 1, "[[1, 2], [3, 4]]"),
    (r"\frac{x", 6, ""),
    (r"\frac{x}", 1, ""),
    (r"\left(x\right]", 14, ""),
    (r"x^{2}_3", 6, ""),
    (r"x+\frac{y}{2}", 8, "y=1"),
]


@pytest.mark.parametrize(("text", "column", "help"), REFUSED)
def test_what_has_no_meaning_is_refused_at_its_place(text: str, column: int, help: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(text, at={"x": 1.0, "n": 2.0}, check=False)
    assert caught.value.span is not None
    assert caught.value.span.start == column - 1
    assert help in (caught.value.help or "")


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (r"\pi x^10", "braces say which: ^{10} or ^{1} 0"),
        (r"\pi x_10", "braces say which: _{10} or _{1} 0"),
        (r"\sqrt10", r"braces say which: \sqrt{10} or \sqrt{1} 0"),
        (r"\vec{a}\cdot\vec{b}", "@ is the dot product, * multiplies entry by entry"),
        (r"\sin^{-1} x", "write asin(x) or 1/sin(x)"),
        (r"\frac{dy}{dx}", "write grad(y, x)"),
    ],
)
def test_two_readings(text: str, help: str) -> None:
    with pytest.raises(AmbiguousError) as caught:
        gradcli.evaluate(text, at={"x": 1.0}, check=False)
    assert caught.value.help == help


@pytest.mark.parametrize("piece", ["{", r"\frac", r"\sqrt[", r"\left(", "x^{", r"\sqrt"])
def test_what_is_nested_deeply_is_refused(piece: str) -> None:
    with pytest.raises(LimitError):
        gradcli.evaluate("x_{1}" + piece * 1_000, check=False)
