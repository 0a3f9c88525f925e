"""Where curves are not smooth: what is found along a range, and at which floats.

Places and limits are by hand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import thinned
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.plots.places import evenly, levels, locate_places, roundest
from gradcli.plots.sampling import sample
from gradcli.query.bindings import Programs
from gradcli.query.evaluate import Script
from gradcli.query.options import Options
from gradcli.query.plots import plots
from gradcli.report.plot_chart import panels
from gradcli.report.ranges import VALUE, PlotRecord

PI, E = math.pi, math.e


def record_of(text: str, begin: float, end: float, **values: Any) -> PlotRecord:
    """The curve of a program's last query over a range of x."""
    bound = {name: np.asarray(value, float) for name, value in values.items()}
    program = Programs(values={**bound, "x": np.float64(begin + (end - begin) / 2)}).fresh()
    script = Script(program, text.splitlines(keepends=True))
    *_, record = plots(script, Options(over={"x": (begin, end)}, check=False))
    assert record.error is None, record.error
    return record


class Row(NamedTuple):
    text: str
    ends: tuple[float, float]
    places: list[tuple[str, float]]  # kinds, and where, to a unit in the last place


ROWS = [
    Row("sin(x)", (-3, 3), []),
    Row("x**3 - 2*x", (-3, 3), []),
    Row("exp(x)", (-30, 30), []),
    Row("1/(1+exp(-x))", (-30, 30), []),
    Row("tanh(1e6*x)", (-1, 1), []),  # steep, and smooth
    Row("sqrt(x**2 + 1e-8)", (-1, 1), []),
    Row("sin(300*x)", (0, 3), []),
    Row("x*abs(x)", (-1, 1), []),  # of which only the second derivative jumps
    Row("abs(x)", (-3, 3), [("kink", 0)]),
    Row("abs(x - 0.3)", (-3, 3), [("kink", 0.3)]),
    Row("abs(x - 0.3) + exp(x)", (-3, 9), [("kink", 0.3)]),
    Row("abs(x**2 - 2)", (-3, 3), [("kink", -math.sqrt(2)), ("kink", math.sqrt(2))]),
    Row("relu(x - 1)", (-3, 3), [("kink", 1)]),
    Row("maximum(x, x**2)", (-3, 3), [("kink", 0), ("kink", 1)]),
    Row("clip(x, -1, 2)", (-3, 3), [("kink", -1), ("kink", 2)]),
    Row("max([x, x**2, 1])", (-3, 3), [("kink", -1), ("kink", 1)]),  # not entry by entry
    Row(
        "relu(1 - 1000*abs(x - 0.3337))",
        (-10, 10),
        [("kink", 0.3327), ("kink", 0.3337), ("kink", 0.3347)],
    ),  # narrow
    Row("sqrt(abs(x))", (-3, 3), [("kink", 0)]),
    Row("cbrt(x)", (-3, 3), [("kink", 0)]),
    Row("floor(x)", (-2.5, 2.5), [("jump", n) for n in (-2, -1, 0, 1, 2)]),
    Row("round(x)", (-2, 2), [("jump", n) for n in (-1.5, -0.5, 0.5, 1.5)]),
    Row("x % 1", (0.5, 2.5), [("jump", 1), ("jump", 2)]),
    Row("sign(x)", (-3, 3), [("jump", 0)]),
    Row("where(x > 1, x, 2)", (-3, 3), [("jump", 1)]),
    Row("where(x < 0, -x, x + 1e-6)", (-3, 3), [("jump", 0)]),
    Row("where(x == 1, 5, x)", (-3, 3), [("jump", 1)]),
    Row("arctan(1/x)", (-3, 3), [("jump", 0)]),
    Row("heaviside(x - 0.1, 0.5)", (-1, 1), [("jump", 0.1)]),
    Row("1/x", (-3, 3), [("pole", 0)]),
    Row("1/x**2", (-3, 3), [("pole", 0)]),
    Row("1/(x - 0.30001)**2", (-3, 3), [("pole", 0.30001)]),
    Row("1/sqrt(abs(x - 1))", (-3, 3), [("pole", 1)]),
    Row("tan(x)", (-3, 3), [("pole", -PI / 2), ("pole", PI / 2)]),
    Row("tan(x)", (0, 30), [("pole", PI / 2 + k * PI) for k in range(10) if PI / 2 + k * PI < 30]),
    Row("gamma(x)", (-2.5, 3), [("pole", n) for n in (-2, -1, 0)]),
    Row("inv([[x, 1], [1, x]])[0, 0]", (-3, 3), [("pole", -1), ("pole", 1)]),
    Row("log(abs(x))", (-3, 3), [("pole", 0)]),
    Row("sin(x)/x", (-3, 3), [("domain", 0)]),
    Row("sqrt(x)", (-3, 3), [("domain", -3)]),
    Row("asin(x)", (-3, 3), [("domain", -3), ("domain", 1)]),
    Row("sqrt(x**2 - 1)", (-3, 3), [("domain", -1)]),
    Row("log(x)", (-3, 3), [("domain", -3), ("pole", 0)]),
    Row("exp(300*x)", (-3, 3), [("domain", math.log(1.7976931348623157e308) / 300)]),
    Row("x*sin(1/x)", (-1, 1), [("domain", 0)]),
    Row("abs(x) + floor(x) + 1/(x - 2)", (-0.5, 2.5), [("jump", 0), ("jump", 1), ("pole", 2)]),
]


@pytest.mark.parametrize(
    "row", thinned(pytest.param(row, id=f"{row.text} {row.ends}") for row in ROWS)
)
def test_places_are_found_where_they_are(row):
    found = [(mark.kind, mark.at) for _, mark in record_of(row.text, *row.ends).marks]
    assert [kind for kind, _ in found] == [kind for kind, _ in row.places], found
    for (kind, at), (_, wanted) in zip(found, row.places, strict=True):
        assert abs(at - wanted) <= 2 * math.ulp(wanted or 1e-300), (
            f"{kind} at {at!r}, wanted {wanted!r}"
        )


WORDS = {
    "abs(x)": "kink at x=0: the slope goes from -1 to 1",
    "cbrt(x)": "vertical slope at x=0: +inf",
    "sqrt(abs(x))": "kink at x=0: the slope goes from -inf to +inf",
    "sign(x)": "jump at x=0: from -1 to 1, 0 there",
    "floor(x/3 + 0.5)": "jump at x=-1.5: from -1 to 0",
    "where(x == 1, 5, x)": "a point by itself at x=1: 5, beside it 1",
    "1/x": "pole at x=0: -inf from the left, +inf from the right",
    "1/x**2": "pole at x=0: +inf",
    "sqrt(x)": "no value for x < 0: 'sqrt(x)' has none (sqrt needs x >= 0)",
    "log(x)": "no value for x <= 0: 'log(x)' has none (log needs x > 0)",
    "sqrt(1 - x)": "no value for x > 1: 'sqrt(1 - x)' has none (sqrt needs x >= 0)",
    "sqrt(x**2 - 1)": "no value for -1 < x < 1: 'sqrt(x**2 - 1)' has none (sqrt needs x >= 0)",
}


@pytest.mark.parametrize("text", WORDS)
def test_places_in_words(text):
    assert record_of(text, -2, 2).marks[0][1].text == WORDS[text]


def test_curves_are_not_drawn_through_what_is_not_smooth():
    tangent = record_of("tan(x)", -3, 3).curves[0]
    for heading in (VALUE, "d/dx"):
        heights = tangent.heights[heading]
        for pole in (-PI / 2, PI / 2):
            beside = np.flatnonzero((tangent.xs[:-1] <= pole) & (tangent.xs[1:] >= pole))
            assert any(np.isnan(heights[i]) or np.isnan(heights[i + 1]) for i in beside), heading
    heights = record_of("tan(x)", 0, PI).curves[0].heights[VALUE]
    assert not (heights[1:] * heights[:-1] < -1).any(), "from one side of a pole to the other"
    steps = record_of("floor(x) + abs(x)", -1.5, 1.5).curves[0]
    heights = steps.heights[VALUE]
    joined = np.isfinite(heights[1:]) & np.isfinite(heights[:-1])
    assert np.abs(np.diff(heights))[joined].max() < 0.1  # no riser of a step is drawn
    slopes = steps.heights["d/dx"]
    assert set(np.unique(slopes[np.isfinite(slopes)])) == {
        -1.0,
        1.0,
    }  # nor the 0 that is chosen at the kink


@pytest.mark.parametrize("end", [709, 800])
def test_panels_of_a_function_near_the_largest_float(end):
    value, slope = panels([record_of("exp(x)", 0, end)])
    assert end == 709 or value.view == slope.view, "it is its own derivative"
    low, high = value.view
    assert -0.1 * high < low < 0, "it is positive"


def test_points_are_where_a_curve_bends():
    curve = record_of("exp(-1000*(x - 0.7)**2)", 0, 10).curves[0]
    xs, heights = curve.xs, curve.heights[VALUE]
    middles = (xs[1:] + xs[:-1]) / 2
    off = np.abs(np.exp(-1000 * (middles - 0.7) ** 2) - (heights[1:] + heights[:-1]) / 2)
    assert off.max() < 0.01, f"a chord is {off.max():.3g} of the height off"


def test_work_is_bounded_whatever_is_drawn():
    for text in ("sin(1e9*x)", "x*sin(1/x)", "floor(1e5*x)", "sin(1e9*x)*floor(3e4*x)"):
        assert len(record_of(text, -1, 1).curves[0].xs) < 30_000


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    st.just(0.0) | st.floats(-9, 9).filter(lambda x: abs(x) > 1e-9),
    st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_a_kink_anywhere_is_located_to_the_float(at, size):
    def probe(xs):
        return (size * np.abs(xs - at))[:, None], (size * np.sign(xs - at))[:, None]

    (found,) = sample(probe, -10.0, 10.0, 1, (), 2_000).places
    assert [place.kind for place in found] == ["kink"]
    assert found[0].low <= at <= found[0].high
    assert found[0].high - found[0].low <= 2 * max(math.ulp(at), math.ulp(0.0))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.floats(-9, 9).filter(lambda x: abs(x) > 1e-6), st.integers(1, 4))
def test_a_pole_anywhere_is_located_to_the_float(at, order):
    def probe(xs):
        with np.errstate(all="ignore"):
            return ((xs - at) ** -order)[:, None], (-order * (xs - at) ** (-order - 1.0))[:, None]

    (found,) = sample(probe, -10.0, 10.0, 1, (), 2_000).places
    assert [place.kind for place in found] == ["pole"]
    assert abs(found[0].at - at) <= 4 * math.ulp(at)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=7))
def test_polynomials_have_no_places(coefficients):
    polynomial = np.polynomial.Polynomial(coefficients)
    slope = polynomial.deriv()
    found = sample(
        lambda xs: (polynomial(xs)[:, None], slope(xs)[:, None]), -2.0, 2.0, 1, (), 2_000
    )
    assert found.places == [[]]


def test_places_of_each_entry_are_its_own():
    record = record_of("abs(x - a)", -3, 3, a=[0.5, 1.0, 9.0])
    assert [(curve.label, [mark.at for mark in curve.marks]) for curve in record.curves] == [
        ("a=0.5", [0.5]),
        ("a=1", [1.0]),
        ("a=9", []),
    ]


def test_intervals_without_a_place_have_none():
    def probe(xs):
        return np.sin(xs)[:, None], np.cos(xs)[:, None]

    assert (
        locate_places(probe, -3, 3, np.array([0.0, 1.0]), np.array([0.5, 1.1]), np.array([0, 0]))
        == []
    )


def test_points_are_the_decimals_that_are_meant():
    assert evenly(0.0, 1.0, 11).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert evenly(-3.0, 3.0, 7).tolist() == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    assert evenly(0.1, 1000.0, 5, log=True) == pytest.approx(
        [0.1, 1.0, 10.0, 100.0, 1000.0], rel=1e-14
    )


def test_round_numbers():
    assert roundest(math.nextafter(0.3, 0), 0.3) == 0.3
    assert roundest(-5e-324, 0.0) == 0.0
    assert roundest(1.0, math.nextafter(1.0, 2)) == 1.0
    found = levels(np.linspace(0, 100, 1001), 4)
    assert found == sorted(found)
    assert all(level == round(level) for level in found)
    assert levels(np.full(9, 2.0), 4) == []
    assert levels(np.array([np.nan]), 4) == []
