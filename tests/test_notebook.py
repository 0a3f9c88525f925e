"""What notebooks show: values, gradients and formulas, in which the user's text is text."""

from __future__ import annotations

from xml.etree import ElementTree

import gradcli


def test_a_record_shows_its_value_gradients_and_formulas() -> None:
    shown = gradcli.evaluate("x**2*y", x=3.0, y=2.0)._repr_html_()
    cells = [cell.text or "" for cell in ElementTree.fromstring(shown).iter("td")]
    assert cells[1:4] == ["x**2*y", "value", "18.0  (float64)"]
    assert cells[4:12] == ["", "gradient", "check", "derivative", "x", "12.0", "agree", "2*x*y"]


def test_latex_of_a_record() -> None:
    shown = gradcli.evaluate("x**2", x=3.0)._repr_latex_()
    assert shown.startswith("$\\displaystyle")
    assert "\\frac{\\partial f}{\\partial x} &= 6" in shown


def test_text_of_users_is_text() -> None:
    shown = gradcli.evaluate("x**2  # </pre><script>alert('$x$')</script>", x=3.0)._repr_html_()
    assert "<script" not in shown
    assert list(ElementTree.fromstring(shown).iter("td"))


def test_derivatives_show_their_formulas() -> None:
    found = gradcli.differentiate("x**3*y")
    cells = [cell.text for cell in ElementTree.fromstring(found._repr_html_()).iter("td")]
    assert cells[1:6] == ["x**3*y", "∂/∂x", "3*x**2*y", "∂/∂y", "x**3"]
    assert "\\frac{\\partial}{\\partial y} \\left(x^{3} y\\right) &= x^{3}" in found._repr_latex_()


def test_an_explanation_shows_its_picture_and_its_gradients() -> None:
    explanation = gradcli.explain("x**2*y", x=3.0, y=2.0, check=False, why="x", steps=True)
    tree = ElementTree.fromstring(explanation._repr_html_())
    assert [group.get("data-nodes") for group in tree.iterfind(".//{*}g[@data-nodes]")] == [
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    assert "x has gradient 12: all of it by x" in "".join(tree.itertext())
    assert "&= y \\frac{d}{dx}" in explanation.to_latex()
    told = "".join(
        ElementTree.fromstring(
            gradcli.explain("x**2*y", x=3.0, y=2.0, check=False)._repr_html_()
        ).itertext()
    )
    assert "  x  12\n     12 by x → x**2 → x**2*y\n  y  9\n" in told
