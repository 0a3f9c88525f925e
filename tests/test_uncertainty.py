"""Standard deviations of results: against hands and Monte Carlo, in every form, and what is
refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli
from gradcli import GradcliError
from gradcli.report.deviations import round_to_deviation


@over("uncertainty", "first order", "text", "at", "wanted")
def test_first_order(text: str, at: Any, wanted: Any) -> None:
    record = gradcli.evaluate(
        text, at=at, seed=np.ones(np.shape(wanted)) if np.ndim(wanted) else None
    )
    assert record.uncertainty is not None
    np.testing.assert_allclose(record.uncertainty.std, wanted, rtol=1e-14, atol=1e-300)


def test_second_order_is_what_samples_say() -> None:
    found = gradcli.evaluate("x*y", x="1±0.5", y="1±0.5").uncertainty
    assert found is not None
    assert found.second_order is not None
    x, y = np.random.default_rng(0).normal(1, 0.5, (2, 1_000_000))
    assert found.second_order["std"] == pytest.approx((x * y).std(), rel=5e-3)
    assert any(
        "second order changes the standard deviation by about 6.1 %" in note for note in found.notes
    )
    square = gradcli.evaluate("x**2", x="0±0.1").uncertainty
    assert square is not None
    assert (*square.second_order.values(),) == pytest.approx(
        (0.01, (np.square(x - 1) * 0.04).std()), rel=5e-3
    )
    assert any("first order has no standard deviation" in note for note in square.notes)


@pytest.mark.parametrize(
    ("text", "x", "said"),
    [
        ("abs(x)", "0.05±0.1", "kink"),
        ("log(x)", "0.05±0.1", "the end of the domain"),
        ("detach(x)*2", "1±0.1", "x is left out"),
    ],
)
def test_what_first_order_does_not_tell_is_said(text: str, x: str, said: str) -> None:
    found = gradcli.evaluate(text, x=x).uncertainty
    assert found is not None
    assert any(said in note for note in found.notes)


def test_all_names_count_whatever_the_gradient_is_asked_for() -> None:
    found = gradcli.evaluate("a*b", a="2±0.1", b="5±0.1", wrt="a").uncertainty
    assert found is not None
    assert [*found.contributions] == ["a", "b"]
    assert found.contributions["a"]["share"] == pytest.approx(25 / 29)


@pytest.mark.parametrize("deviation", ["-1", "nan", "inf", "[1, 2]", "0.1 ± 0.1", ""])
def test_what_is_no_standard_deviation_is_refused(deviation: str) -> None:
    with pytest.raises(GradcliError):
        gradcli.evaluate("x", x=f"1±{deviation}")
    with pytest.raises(GradcliError):
        gradcli.evaluate(f"x = 1 ± {deviation}\nx")


@pytest.mark.parametrize(
    "program", ["(1 ± 2)", "m = (1 ± 2)*3\nm", "a = 1\nm = a ± 2\nm", "const c = 1 ± 2\nc"]
)
def test_the_sign_stands_behind_whole_values_only(program: str) -> None:
    with pytest.raises(GradcliError):
        gradcli.evaluate(program)


@over("uncertainty", "rounded", "value", "std", "text")
def test_numbers_are_rounded_to_their_standard_deviations(
    value: float, std: float, text: str
) -> None:
    assert str(round_to_deviation(value, std)) == text
    if value == value:
        record = gradcli.evaluate("x", x=f"{value!r}±{std!r}", check=False)
        assert f"{text}  (float64)" in record.lines()[1].text
        assert record.to_dict()["value"] == value
        assert record.uncertainty.std == std


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("abs(x)", {"x": "0±0.1"}),
        ("maximum(x, y)", {"x": "1±0.1", "y": "1±0.2"}),
        ("[2*x, abs(x)]", {"x": "0±0.1"}),
    ],
)
def test_a_kink_is_named(text: str, at: dict[str, str]) -> None:
    found = gradcli.evaluate(text, at=at).uncertainty
    assert found.notes[0].startswith("linear propagation fails for x: ")
    assert "kink" in found.notes[0]


def test_given_covariances_come_into_those_of_results() -> None:
    found = gradcli.evaluate("[m + v, m - v]", at=PAIR, cov={"m,v": 0.01}, check=False)
    np.testing.assert_allclose(found.uncertainty.results.covariance, [[0.07, -0.03], [-0.03, 0.03]])


# -- covariances
# ----------------------------------------------------------------------------------------------------------------

PAIR = {"m": "2±0.1", "v": "3±0.2"}
MATRIX = [[0.01, 0.01], [0.01, 0.04]]


@pytest.mark.parametrize(
    "cov",
    [{"m,v": 0.01}, {"m,v": MATRIX}, {"v,m": [[0.04, 0.01], [0.01, 0.01]]}],
    ids=["a number", "a matrix", "turned"],
)
@pytest.mark.parametrize(
    ("text", "wanted"),  # of the package uncertainties 3.2, with correlated_values
    [
        ("m*v", 0.6082762530298219),
        ("m/v + sin(m)", 0.04911160167826273),
        ("exp(m - v)*v", 0.13264081883326737),
    ],
)
def test_covariances_come_into_the_standard_deviation(text, wanted, cov):
    found = gradcli.evaluate(text, at=PAIR, cov=cov, check=False).uncertainty
    assert found is not None
    assert float(found.std) == pytest.approx(wanted, rel=1e-13)
    assert sum(
        part["share"] for part in (*found.contributions.values(), *found.covariances.values())
    ) == pytest.approx(1, rel=1e-12)


def test_arrays_have_matrices():
    found = gradcli.evaluate("x[0]*x[1]", x=[2.0, 3.0], cov={"x": MATRIX}, check=False).uncertainty
    assert found is not None
    assert float(found.std) == pytest.approx(0.6082762530298219, rel=1e-13)
