"""Standard deviations of results: against hands and Monte Carlo, in every form, and what is
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from subprocess import CompletedProcess

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError
from gradcli.report.lines import round_to_deviation

CASES = {  # by hand: the root of the sum of squared partial derivatives times deviations
    "product": ("m*v", {"m": "2±0.1", "v": "3+/-0.2"}, math.hypot(3 * 0.1, 2 * 0.2)),
    "energy": ("m*v**2/2", {"m": "1.0±0.1", "v": "3±0.2"}, math.hypot(4.5 * 0.1, 3 * 0.2)),
    "itself": ("x - x", {"x": "1±0.5"}, 0.0),
    "square": ("x*x", {"x": "3±0.1"}, 0.6),
    "exact": ("a*b", {"a": "2±0", "b": "5±0.1"}, 0.2),
    "sum": ("sum(x)", {"x": "1,2,3±0.1"}, 0.1 * math.sqrt(3)),
    "each": ("sum(x)", {"x": "[1, 2] ± [0.3, 0.4]"}, 0.5),
    "entries": (
        "m*x",
        {"m": "1±0.1", "x": "[1, 2] ± [0.1, 0.2]"},
        [math.hypot(0.1, 0.1), math.hypot(0.2, 0.2)],
    ),
    "exponential": (
        "exp(-t/tau)",
        {"t": "1±0.1", "tau": "2±0.05"},
        math.exp(-0.5) * math.hypot(0.5 * 0.1, 0.25 * 0.05),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_first_order(name: str) -> None:
    text, at, wanted = CASES[name]
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
        ("log(x)", "0.05±0.1", "not finite"),
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


def test_objects_of_other_libraries() -> None:
    class Number:
        nominal_value, std_dev = 2.0, 0.1

    record = gradcli.evaluate("3*x", x=Number())
    assert record.value == 6
    assert record.uncertainty is not None
    assert record.uncertainty.std == pytest.approx(0.3)


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


def test_command_line(call_cli: Callable[..., CompletedProcess[str]]) -> None:
    told = call_cli("eval", "m*v", "m=2±0.1", "v=3±0.2")
    assert "6.0 ± 0.5  (float64)" in told.stdout
    assert "the variance comes from v 64 %, m 36 %" in told.stdout
    found = json.loads(call_cli("eval", "m*v", "m=2±0.1", "v=3+/-0.2", "--format", "jsonl").stdout)[
        "uncertainty"
    ]
    assert found["std"] == pytest.approx(0.5)
    assert found["contributions"]["v"] == {
        "variance": pytest.approx(0.16),
        "share": pytest.approx(0.64),
    }
    assert (
        "6.0 \\pm 0.5" in call_cli("eval", "m*v", "m=2±0.1", "v=3±0.2", "--format", "latex").stdout
    )
    for form in ("csv", "value"):
        refused = call_cli("eval", "m", "m=2±0.1", "--format", form)
        assert refused.returncode == 2
        assert f"--format {form} has no place for standard deviations" in refused.stderr


def test_programs_and_records(call_cli: Callable[..., CompletedProcess[str]]) -> None:
    line = json.dumps({"expr": "m*2", "at": {"m": "1.0±0.1"}})
    assert json.loads(
        call_cli("eval", "-", "--input", "jsonl", "--format", "jsonl", stdin=line).stdout
    )["uncertainty"]["std"] == pytest.approx(0.2)
    told = call_cli(
        "eval", "-", "--no-check", stdin="s = 0.1\nm = 1.0 +/- s\n2*m\nm = 3\n2*m\n"
    ).stdout
    assert "2.00 ± 0.20" in told
    assert told.count("±") == 1


ROUNDED = [  # the first three of the Particle Data Group's Review, section 5.3
    (0.827, 0.119, "0.83 ± 0.12"),
    (0.827, 0.367, "0.8 ± 0.4"),
    (0.827, 0.969, "0.8 ± 1.0"),
    (9.80123, 0.04, "9.80 ± 0.04"),
    (9.8, 0.0354, "9.800 ± 0.035"),
    (9.8, 0.0356, "9.80 ± 0.04"),
    (99.97, 0.9996, "100.0 ± 1.0"),
    (1234.0, 56.0, "1230 ± 60"),
    (999999.7, 0.4, "999999.7 ± 0.4"),
    (-1.234e-7, 0.021e-7, "(-1.234 ± 0.021)e-7"),
    (6.02214076e23, 4e17, "(6.022141 ± 0.000004)e23"),
    (0.0, 0.1, "0.00 ± 0.10"),
    (1.0, 1e-20, "1.0 ± 1e-20"),  # its digits end before
    (2.5, 0.0, "2.5 ± 0"),
    (math.nan, 1.0, "nan ± 1"),
]


@pytest.mark.parametrize(("value", "std", "text"), ROUNDED, ids=[row[2] for row in ROUNDED])
def test_numbers_are_rounded_to_their_standard_deviations(
    value: float, std: float, text: str
) -> None:
    assert str(round_to_deviation(value, std)) == text
    if value == value:
        record = gradcli.evaluate("x", x=f"{value!r}±{std!r}", check=False)
        assert f"{text}  (float64)" in record.lines()[1].text
        assert record.to_dict()["value"] == value
        assert record.uncertainty.std == std


def test_digits_that_are_asked_for(call_cli: Callable[..., CompletedProcess[str]]) -> None:
    words = ["eval", "m*g", "m=2.01±5%", "g=9.80665", "--no-check"]
    assert "value    19.7 ± 1.0  (float64)" in call_cli(*words).stdout
    assert "value    19.71137 ± 0.9855683  (float64)" in call_cli(*words, "--digits", "7").stdout
    pair = call_cli("eval", "[m, 100*m]", "m=2.01+-5%", "--no-check").stdout
    assert "value    [2.01 ± 0.10, 201 ± 10]" in pair
    small = call_cli("eval", "m", "m=2e-9±2%", "--format", "latex").stdout
    assert "(2.00 \\pm 0.04) \\cdot 10^{-9}" in small


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


def test_results_of_one_program_have_a_covariance(
    call_cli: Callable[..., CompletedProcess[str]],
) -> None:
    program = ["eval", "y = m*g; z = m*h; y; z; [y - z, 2*y]", "m=2±0.1", "g=9.81±0.02", "h=3±0.15"]
    slopes = np.array([[9.81, 2, 0], [3, 0, 2], [6.81, 2, -2], [19.62, 4, 0]])
    wanted = slopes @ np.diag([0.01, 0.0004, 0.0225]) @ slopes.T
    lines = call_cli(*program, "--no-check", "--format", "jsonl").stdout.splitlines()
    first, second, third = (json.loads(line)["uncertainty"] for line in lines)
    assert "results" not in first
    np.testing.assert_allclose(second["results"]["covariance"], wanted[:2, :2], rtol=1e-13)
    np.testing.assert_allclose(third["results"]["covariance"], wanted, rtol=1e-13)
    stds = np.sqrt(np.diag(wanted))
    np.testing.assert_allclose(
        third["results"]["correlation"], wanted / np.outer(stds, stds), rtol=1e-13
    )
    assert third["results"]["of"] == ["y", "z", "[y - z, 2*y][0]", "[y - z, 2*y][1]"]
    told = call_cli(*program, "--no-check").stdout
    assert "  z  0.29 (0.71)      0.18 (1.00)\n" in told


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


@pytest.mark.parametrize(
    ("cov", "message"),
    [
        ("m,v=0.05", "the covariances cannot be: their matrix has a negative eigenvalue"),
        ("m,c=0.01", "the covariances cannot be: their matrix has a negative eigenvalue"),
        ("m,z=0.01", "--cov names 'z', which has no value"),
        ("m,m=0.01", "--cov m,m: one number is the covariance of two names that are numbers"),
        ("m,v=[[0.01,0.02],[0.01,0.04]]", "--cov m,v is not symmetric"),
        ("m,v=[[0.02,0],[0,0.04]]", "--cov m,v has other variances than the ± of its names"),
        ("m,v=[[0.01]]", "--cov m,v has the shape (1, 1), and the names 2 entries"),
        (
            "c,m=[[1,0.2],[0.2,0.01]]",
            "the covariances cannot be: their matrix has a negative eigenvalue",
        ),
        ("m,v", "--cov takes NAME=VALUE, not 'm,v'"),
    ],
)
def test_what_is_no_covariance(call_cli, cov, message):
    done = call_cli("eval", "m*v*c", "m=2±0.1", "v=3±0.2", "c=1", "--cov", cov)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diff", "c*x", "c=2±0.1"], "the standard deviation of c has no part in a formula"),
        (
            ["bound", "x*c", "x=0..1", "c=2±0.1"],
            "the standard deviation of c has no part in a range",
        ),
        (
            ["plot", "x*c", "x=0..1", "c=2±0.1", "--format", "json"],
            "the standard deviation of c has no part in a plot",
        ),
        (
            ["export", "x*c", "x=1", "c=2±0.1"],
            "the standard deviation of c has no part in this function",
        ),
        (
            ["check", "-e", "x*c", "x=1", "c=2±0.1", "--format", "json"],
            "the standard deviation of c has no part in a verdict",
        ),
        (["explain", "x*c", "x=1", "c=2±0.1", "--no-check"], "value    2.00 ± 0.10"),
    ],
)
def test_nothing_is_left_out_in_silence(call_cli, arguments, said):
    done = call_cli(*arguments)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
