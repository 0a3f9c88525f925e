"""Limits beside holes and poles, the kinds of critical points, and real roots: what textbooks say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradcli

INF, NONE = math.inf, math.nan

# expression, values, the names that move with the limits from the left and from the right
LIMITS = [
    ("(x^2-4)/(x-2)", {"x": 2}, {"x": (4, 4)}),
    ("1/x", {"x": 0}, {"x": (-INF, INF)}),
    ("1/x^2", {"x": 0}, {"x": (INF, INF)}),
    ("sin(x)/x", {"x": 0}, {"x": (1, 1)}),
    ("abs(x)/x", {"x": 0}, {"x": (-1, 1)}),
    ("x*log(x)", {"x": 0}, {"x": (NONE, 0)}),
    ("log(x)", {"x": 0}, {"x": (NONE, -INF)}),
    ("(1-cos(x))/x^2", {"x": 0}, {"x": (0.5, 0.5)}),
    ("(sqrt(1+x)-1)/x", {"x": 0}, {"x": (0.5, 0.5)}),
    ("exp(1/x)", {"x": 0}, {"x": (0, INF)}),
    ("atan(1/x)*0/0 + 1", {"x": 1}, {}),
    ("sin(1/x)", {"x": 0}, {}),
    ("1e-300/x", {"x": 0}, {"x": (-INF, INF)}),
    ("1e-40*sin(x)/x", {"x": 0}, {"x": (1e-40, 1e-40)}),
    ("(1+x)^(1/x)", {"x": 0}, {"x": (math.e, math.e)}),
    ("acos(x)/sqrt(1-x)", {"x": 1}, {"x": (math.sqrt(2), NONE)}),
    ("gamma(x)", {"x": -1}, {"x": (INF, -INF)}),
    ("sqrt(x)", {"x": -1}, {}),
    ("exp(x)", {"x": 1e10}, {}),  # too large for floats, and no pole
    ("(x^2-a^2)/(x-a)", {"x": 2, "a": 2}, {"x": (4, 4), "a": (4, 4)}),
    ("x/x + y", {"x": 0, "y": 3}, {"x": (4, 4)}),
]


@pytest.mark.parametrize(("expr", "at", "wanted"), LIMITS, ids=[row[0] for row in LIMITS])
def test_limits_beside_a_point(expr: str, at: dict[str, Any], wanted: dict[str, Any]) -> None:
    found = gradcli.evaluate(expr, at=at, formula=False).check.limits
    assert [each.name for each in found] == list(wanted)
    for each in found:
        assert np.allclose(
            (each.left, each.right), wanted[each.name], rtol=1e-14, atol=0, equal_nan=True
        )


def test_limits_of_entries_are_told() -> None:
    record = gradcli.evaluate("sin(3*x)/x", x=[1, 0])
    (limit,) = record.check.limits
    assert (limit.index, limit.of, limit.left) == ((1,), (1,), pytest.approx(3, abs=1e-14))
    assert "the value[1]: limit 3 as x[1] goes to 0" in record.check.advice
    assert record.to_dict()["check"]["limits"][0]["left"] == limit.left
    assert (
        "limit -inf from the left, inf from the right" in gradcli.evaluate("1/x", x=0)._repr_html_()
    )
    assert "\\lim_{x \\to 0^-} f &= -\\infty" in gradcli.evaluate("1/x", x=0).to_latex()


# expression, values, the kind, and words of the reason
KINDS = [
    ("x^2", {"x": 0}, "minimum", "is zero, all"),
    ("-cosh(x)", {"x": 0}, "maximum", "negative"),
    ("x^3 - 3x", {"x": 1}, "minimum", ""),
    ("x^3 - 3x", {"x": -1}, "maximum", ""),
    ("x^3 - 3x", {"x": 1.001}, None, ""),
    ("x^3", {"x": 0}, "undecided", "eigenvalue"),
    ("x^4", {"x": 0}, "undecided", "eigenvalue"),
    ("(x + y)^2", {"x": 1, "y": -1}, "undecided", "eigenvalue"),
    ("x*y", {"x": 0, "y": 0}, "saddle", "both signs"),
    ("x^2 - y^2 + z^4", {"x": 0, "y": 0, "z": 0}, "saddle", ""),
    ("x^2 + 3x*y + y^2", {"x": 0, "y": 0}, "saddle", ""),
    ("x^2 + x*y + y^2", {"x": 0, "y": 0}, "minimum", ""),
    ("(1 - x)^2 + 100*(y - x^2)^2", {"x": 1, "y": 1}, "minimum", ""),  # H. H. Rosenbrock
    ("sin(x)*sin(y)", {"x": math.pi / 2, "y": math.pi / 2}, "maximum", "within 8.9e-16"),
    ("sin(x)", {"x": math.pi / 2 + 1e-14}, None, ""),
    ("lgamma(x)", {"x": 1.4616321449683622}, "minimum", "within"),  # DLMF 5.4.20
    ("1e12*x^2 + 1e-12*y^2", {"x": 0, "y": 0}, "minimum", ""),
    ("x*x + 1e-9*y*y + 2*3.2e-5*x*y", {"x": 0, "y": 0}, "saddle", ""),  # ac - b^2 < 0
    ("abs(x)", {"x": 0}, "undecided", "kink"),
    ("x^1.5", {"x": 0}, "undecided", "no certain bounds"),
    ("sum(x*x*[1, -2, 3])", {"x": [0, 0, 0]}, "saddle", ""),
    ("cos(x)^2 + sin(x)^2", {"x": 0.3}, "undecided", "the gradient is zero to"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expr", "at", "kind", "words"), KINDS, ids=[f"{row[0]} at {row[1]}" for row in KINDS]
)
def test_kinds_of_critical_points(
    expr: str, at: dict[str, Any], kind: str | None, words: str
) -> None:
    point = gradcli.evaluate(expr, at=at, mode="hessian", formula=False).check.critical_point
    assert (point and point.kind) == kind
    assert point is None or words in point.reason


def test_a_kind_is_of_the_names_asked_for_and_in_every_format() -> None:
    record = gradcli.evaluate("x^2 - y^2", x=0, y=0, mode="hessian", wrt="x")
    assert record.check.critical_point.kind == "minimum"
    assert record.to_dict()["check"]["critical_point"]["kind"] == "minimum"
    assert "minimum: the gradient is zero" in record.to_latex()
    assert "minimum: the gradient is zero" in record._repr_html_()


ROOTS = [
    ("x^(1/3)", "cbrt(x)", -2.0),
    ("x**(2/3)", "cbrt(x)**2", 4.0),
    ("x**(-1/3)", "cbrt(x)**-1", -0.5),
    ("x**(1/5)", "sign(x)*abs(x)**(1/5)", -(8**0.2)),
    ("x**0.4", "abs(x)**(2/5)", 8**0.4),
    ("(2x)^(1/3)", "cbrt(2*x)", -(16 ** (1 / 3))),
    ("x**0.5", None, None),
    ("x**0.3", None, None),
    ("x**pi", None, None),
]


@pytest.mark.parametrize(("expr", "text", "value"), ROOTS, ids=[row[0] for row in ROOTS])
def test_real_roots_of_negative_numbers_are_named(
    expr: str, text: str | None, value: float | None
) -> None:
    said = gradcli.evaluate(expr, x=-8, check=False).warnings
    assert [note.partition("the real value is ")[2] for note in said] == [text or ""]
    if text is not None:
        assert gradcli.evaluate(text, x=-8).value == pytest.approx(value, rel=1e-14)
