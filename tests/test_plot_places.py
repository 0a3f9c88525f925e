"""Where curves are not smooth: what is found along a range, and at which floats.

Places and limits are by hand.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import over

from gradcli import PlotRecord
from gradcli.options import Options
from gradcli.plots.places import levels, roundest
from gradcli.plots.sampling import sample
from gradcli.query.plots import plots
from gradcli.query.programs import Programs, Script
from gradcli.report.plot_chart import panels
from gradcli.report.ranges import VALUE

PI, E = math.pi, math.e


def record_of(text: str, begin: float, end: float, **values: Any) -> PlotRecord:
    """The curve of a program's last query over a range of x."""
    bound = {name: np.asarray(value, float) for name, value in values.items()}
    program = Programs(values={**bound, "x": np.float64(begin + (end - begin) / 2)}).fresh()
    script = Script(program, text.splitlines(keepends=True))
    *_, record = plots(script, Options(over={"x": (begin, end)}, check=False))
    assert record.error is None, record.error
    return record


@over("curves", "places", "text", "ends", "places")
def test_places_are_found_where_they_are(text, ends, places):
    """Of these kinds, and to a unit in the last place."""
    found = [(mark.kind, mark.at) for _, mark in record_of(text, *ends).marks]
    assert [kind for kind, _ in found] == [kind for kind, _ in places], found
    for (kind, at), (_, wanted) in zip(found, places, strict=True):
        assert abs(at - wanted) <= 2 * math.ulp(wanted or 1e-300), (
            f"{kind} at {at!r}, wanted {wanted!r}"
        )


@over("curves", "words", "text", "words")
def test_places_in_words(text, words):
    assert record_of(text, -2, 2).marks[0][1].text == words


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
@pytest.mark.ci
def test_a_kink_anywhere_is_located_to_the_float(at, size):
    def probe(xs):
        return (size * np.abs(xs - at))[:, None], (size * np.sign(xs - at))[:, None]

    (found,) = sample(probe, -10.0, 10.0, 1, 2_000).places
    assert [place.kind for place in found] == ["kink"]
    assert found[0].low <= at <= found[0].high
    assert found[0].high - found[0].low <= 2 * max(math.ulp(at), 1e-40)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.floats(-9, 9).filter(lambda x: abs(x) > 1e-6), st.integers(1, 4))
def test_a_pole_anywhere_is_located_to_the_float(at, order):
    def probe(xs):
        with np.errstate(all="ignore"):
            return ((xs - at) ** -order)[:, None], (-order * (xs - at) ** (-order - 1.0))[:, None]

    (found,) = sample(probe, -10.0, 10.0, 1, 2_000).places
    assert [place.kind for place in found] == ["pole"]
    assert abs(found[0].at - at) <= 4 * math.ulp(at)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=7))
def test_polynomials_have_no_places(coefficients):
    polynomial = np.polynomial.Polynomial(coefficients)
    slope = polynomial.deriv()
    found = sample(lambda xs: (polynomial(xs)[:, None], slope(xs)[:, None]), -2.0, 2.0, 1, 2_000)
    assert found.places == [[]]


def test_places_of_each_entry_are_its_own():
    record = record_of("abs(x - a)", -3, 3, a=[0.5, 1.0, 9.0])
    assert [(curve.label, [mark.at for mark in curve.marks]) for curve in record.curves] == [
        ("a=0.5", [0.5]),
        ("a=1", [1.0]),
        ("a=9", []),
    ]


def test_round_numbers():
    assert roundest(math.nextafter(0.3, 0), 0.3) == 0.3
    assert roundest(-5e-324, 0.0) == 0.0
    assert roundest(1.0, math.nextafter(1.0, 2)) == 1.0
    found = levels(np.linspace(0, 100, 1001), 4)
    assert found == sorted(found)
    assert all(level == round(level) for level in found)
    assert levels(np.full(9, 2.0), 4) == []
    assert levels(np.array([np.nan]), 4) == []
