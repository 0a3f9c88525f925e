"""Zero times infinity on the way back: what stays zero contributes nothing, what is zero at the
point only is never called right.
"""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest
from checking import judged, partial, planted, rejudged, remembered_differs, said, times
from recorded import LISTS

import gradcli
from gradcli.check import judge
from gradcli.reference.deadline import Budget


def slope(text: str, values: dict[str, Any], name: str) -> Any:
    return gradcli.evaluate(text, at=values, check=False, formula=False).grad[name]


@pytest.mark.parametrize(
    ("text", "x"), [("cbrt(x)**3", 0.0), ("sqrt(x)**2 + x", 0.0), ("exp(log(x))", 0.0)]
)
def test_a_root_and_its_power_are_rewritten(text: str, x: float) -> None:
    assert any(repair.endswith(" as x") for repair in judged(text, {"x": x}).repairs)


def test_both_ways_to_a_jacobian_decide_zero_times_infinity() -> None:
    found = gradcli.evaluate(
        "[where(x == 0, 1, sin(x)/x), sqrt(relu(x - 1)), sqrt(x)**2]",
        x=0.0,
        mode="jacobian",
        formula=False,
    )
    np.testing.assert_array_equal(found.jacobian["x"], [0.0, 0.0, np.nan])


def test_p_log_p_at_zero_has_an_infinite_slope() -> None:
    assert slope("sum(p*log(p))", {"p": [0.0, 0.5]}, "p")[0] == -np.inf


INNER = LISTS["infinite slopes"]
OUTER = LISTS["stationary points"]


@pytest.mark.ci
@pytest.mark.parametrize(("inner", "x"), INNER, ids=[row[0] for row in INNER])
def test_no_pair_of_an_infinite_slope_and_a_stationary_point_agrees_unless_zero_is_the_limit(
    inner: str, x: float
) -> None:
    for outer in OUTER:
        text = outer.format(inner)
        record = gradcli.evaluate(text, x=x, formula=False)
        if record.check is None or record.check.variables["x"].verdict.word != "agree":
            continue
        beside = [slope(text, {"x": x + step}, "x") for step in (1e-12, -1e-12)]
        limits = [value for value in beside if np.isfinite(value)]
        assert limits, (
            f"{text} at {x}: agrees with {record.grad['x']}, but has no derivative beside it"
        )
        assert all(abs(value - record.grad["x"]) < 1e-2 for value in limits), (
            f"{text} at {x}: {record.grad['x']} beside {limits}"
        )


def test_large_arrays_know_branches_that_were_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.maximum(np.random.default_rng(1).standard_normal(200_000), 0)
    record = gradcli.evaluate(
        "sum(where(x > 0, sqrt(x), 0)) + sum(sqrt(relu(x - 1)))", x=x, formula=False
    )
    assert record.check.verdict.word == "kink"  # as of a single 0: the slope is inf on the right
    assert record.check.variables["x"].decided_by == "double"
    np.testing.assert_array_equal(record.grad["x"][x == 0], 0.0)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("sum(abs(x)**1.01)", "agree"),
        ("sum(relu(x)**1.001)", "agree"),
        ("sum(abs(x))", "kink"),
        ("sum(abs(x) + abs(x)**1.5)", "kink"),
    ],
)
def test_large_arrays_know_kinks_from_slopes_that_vanish_slowly(text: str, word: str) -> None:
    x = np.random.default_rng(1).standard_normal(20_000)
    x[7] = 0
    assert gradcli.evaluate(text, x=x, formula=False).check.verdict.word == word


# -- arrays: no right gradient is called wrong, and a wrong one is
# ---------------------------------------------------

UNARY = LISTS["array programs: of one"]
BINARY = LISTS["array programs: of two"]
REDUCED = LISTS["array programs: reduced"]


def program(random: np.random.Generator, depth: int = 3) -> str:
    if not depth or random.random() < 0.1:
        return str(random.choice(["x", "y", "0.5"]))
    if random.random() < 0.5:
        return str(random.choice(UNARY)).format(program(random, depth - 1))
    return str(random.choice(BINARY)).format(program(random, depth - 1), program(random, depth - 1))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("number", "size"),
    [*itertools.product(range(4), [300]), *itertools.product(range(100, 103), [20_000])],
)
def test_random_array_programs(number: int, size: int) -> None:
    random = np.random.default_rng([7, number])
    text = next(
        t
        for t in iter(lambda: str(random.choice(REDUCED)).format(program(random)), "")
        if "x" in t and "y" in t
    )
    values = {
        "x": random.standard_normal(size) * random.choice([0.1, 1, 3]),
        "y": random.standard_normal(size),
    }
    right = gradcli.evaluate(text, at=values, formula=False)
    verdicts = {
        part.verdict.word
        for part in (right.check.value, *right.check.variables.values())
        if part is not None
    }
    assert "mismatch" not in verdicts, f"{text}: {said(right.check)}"
    for name, gradient in right.grad.items():
        place = int(np.argmax(np.abs(gradient)))
        part = right.check.variables[name]
        if part.verdict.word == "undetermined" or part.bound is not None or not gradient[place]:
            continue

        def plant(gradients: dict[str, Any], name: str = name, place: int = place) -> None:
            gradients[name][place] *= 1 + 1e-6

        found, _ = rejudged(text, values, plant)
        assert found.variables[name].verdict.word == "mismatch", (
            f"{text} by {name}[{place}] off by 1e-6: {said(found)}"
        )


def limited(monkeypatch: pytest.MonkeyPatch, work: int) -> list[Budget]:
    """Every judgement from now on may take this many scalar operations; the list fills with their
    budgets.
    """
    made: list[Budget] = []

    def budget() -> Budget:
        made.append(Budget(work))
        return made[-1]

    monkeypatch.setattr(judge, "Budget", budget)
    return made


@pytest.fixture
def without_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has no FLINT."""
    monkeypatch.setattr(judge.Judge, "_by_balls", lambda *_: None)


def wrong_sine(way: str) -> Any:
    """The verdict on sum(sin(x)) with a slope off by 1e-3: everywhere by the rule, or in one number
    that was computed.
    """
    x = np.linspace(0.1, 2, 20)
    if way == "rule":
        with planted("sin", **partial(0, times(1.001))):
            return judged("sum(sin(x))", {"x": x})
    return rejudged("sum(sin(x))", {"x": x}, lambda found: found["x"].put(3, 1.001 * np.cos(x[3])))[
        0
    ]


@pytest.mark.usefixtures("without_balls")
@pytest.mark.parametrize("way", ["rule", "number"])
def test_a_difference_at_two_precisions_is_a_mismatch_though_the_limit_is_reached(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The work that is allowed does for 50 and for 100 digits, and not for 400, where differences
    are settled.
    """
    unlimited = limited(monkeypatch, 10**9)
    assert wrong_sine(way).verdict.word == "mismatch"
    passes = 10**9 - unlimited[0].left  # of 50, 100 and 400 digits
    one = passes // 3
    assert passes == 3 * one, "three precisions are looked at where nothing limits them"
    made = limited(monkeypatch, 2 * one)
    check = wrong_sine(way)
    assert made[0].left == 0, "both passes that are allowed were made"
    assert check.verdict.word == "mismatch", said(check)
    assert check.variables["x"].wrong == (20 if way == "rule" else 1)


@pytest.mark.usefixtures("without_balls")
@pytest.mark.parametrize("way", ["rule", "number"])
def test_a_difference_at_one_precision_is_undetermined_where_the_limit_is_reached(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    unlimited = limited(monkeypatch, 10**9)
    wrong_sine(way)
    limited(monkeypatch, (10**9 - unlimited[0].left) // 3)
    check = wrong_sine(way)
    assert check.variables["x"].verdict.word == "undetermined", said(check)
    assert (
        check.variables["x"].reason
        == "a difference that was seen at 50 digits only: the limit of the cross-check"
    )


@pytest.mark.parametrize("way", ["rule", "number"])
def test_enclosures_prove_a_mismatch_at_the_first_precision(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    made = limited(monkeypatch, 10**9)
    check = wrong_sine(way).variables["x"]
    assert check.verdict.word == "mismatch", check
    assert check.certified
    spent = 10**9 - made[0].left
    assert spent < 1000, "one pass"
    x = np.linspace(0.1, 2, 20)[check.worst.index[0]]
    with mpmath.workdps(60):
        low, high = map(mpmath.mpf, check.enclosure)
        assert low <= mpmath.cos(mpmath.mpf(float(x))) <= high


def test_the_symbolic_reference_is_limited_by_work() -> None:
    """sympy's polynomials have as many terms as the exponent has units: this took for ever."""
    assert judged("cosh(exp(0.1*log(x)))", {"x": 0.3}).verdict.word == "agree"
    assert judge.DIGITS[0] == 50


def test_a_remembered_verdict_does_not_hide_what_was_computed_anew() -> None:
    assert (wrong := remembered_differs()) is None, wrong
