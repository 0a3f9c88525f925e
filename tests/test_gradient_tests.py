"""Tests of gradients in pytest: made of functions, by the fixture, of what the settings list, and
at points that hypothesis draws.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import plain_environment
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from gradcli.errors import GradcliError
from gradcli.testing.strategies import arrays_like, points

MADE = """
import numpy as np
from gradcli.testing import gradient_test

@gradient_test(lambda x: 2*x, at={"x": "randn(4)"}, points=2, random_state=7)
def test_right(x):
    return np.sum(x**2)

@gradient_test(lambda x: np.where(x > 1, x, 2*x), at={"x": "3*randn(4)"}, points=3)
def test_wrong(x):
    return np.sum(x**2)

def loss(x):
    return np.sum(x**2)

def test_twice(check_gradient):
    for _ in range(2):
        check_gradient(loss, lambda x: 2*x, at={"x": [1.0, 2.0]})

def test_fixture(check_gradient):
    check_gradient(loss, lambda x: x, at={"x": [1.0, 2.0]})
"""
SETTINGS = """
[[tool.gradcli.functions]]
function = "mine:loss"
gradient = "mine:slope"
at = { x = "randn(3)" }
points = 2

[[tool.gradcli.functions]]
id = "half"
function = "mine:loss"
gradient = "mine:half"
at = { x = "@x.npy" }
random-state = 5

[[tool.gradcli.functions]]
id = "known"
function = "mine:loss"
gradient = "mine:half"
at = { x = 2.0 }
xfail = "the factor 2"

[[tool.gradcli.functions]]
id = "later"
function = "mine:loss"
gradient = "mine:half"
at = { x = 2.0 }
skip = "slow"

[[tool.gradcli.functions]]
function = "absent:loss"
gradient = "mine:half"
at = { x = 2.0 }
"""
MINE = (
    "import numpy as np\n\ndef loss(x): return np.sum(x**2)\ndef slope(x): return 2*x\ndef "
    "half(x): return x\n"
)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "--junit-xml=out.xml",
        *words,
    ]
    return subprocess.run(
        command,
        cwd=folder,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def cases(folder: Path) -> dict[str, Any]:
    return {
        case.get("name"): case for case in ElementTree.parse(folder / "out.xml").iter("testcase")
    }


@pytest.mark.ci
def test_functions_made_tests(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(MADE, "utf-8")
    done = run(tmp_path, "test_mine.py")
    found = cases(tmp_path)
    assert list(found) == [
        "test_right[seed 7]",
        "test_wrong[seed 0]",
        "test_twice",
        "test_fixture",
    ], done.stdout
    wrong = (
        "mismatch: d/dx: [2] computed 2.0, true 4.0 (off by 2, relative 0.5, 2.25e+15 ulp), 1 of "
        "4 entries, it is half the derivative\n"
        "  --> test_mine.py:9:1 (test_wrong)\n"
        "9 | test_wrong with the gradient <lambda>\n"
        "  = at x=[0.0, 0.0, 2.0, 0.0]"
    )
    failure = found["test_wrong[seed 0]"].find("failure")
    assert failure is not None
    for told in (done.stdout, failure.text or ""):
        assert all(line.strip() in told for line in wrong.split("\n"))
    shown = (
        '>       check_gradient(loss, lambda x: x, at={"x": [1.0, 2.0]})\n'
        "E       gradcli.functions.testing.GradientError: mismatch: d/dx: [0] computed 1.0, true "
        "2.0 "
        "(off by 1, relative 0.5, 2.25e+15 ulp), 2 of 2 entries, it is half the derivative\n"
        "E          --> test_mine.py:13:1 (loss)\n"
        "E       13 | loss with the gradient <lambda>\n"
        "E          = at x=[1.0, 2.0]\n"
        "\n"
        "test_mine.py:21: GradientError\n"
    )
    assert shown in done.stdout, "the line that asks, and the report"


@pytest.mark.ci
def test_functions_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS, "utf-8")
    (tmp_path / "mine.py").write_text(MINE, "utf-8")
    np.save(tmp_path / "x.npy", np.array([1.5, 2.0]))
    done = run(tmp_path, "pyproject.toml")
    found = {name: [part.tag for part in case] for name, case in cases(tmp_path).items()}
    assert found == {
        "mine:loss[seed 0]": [], "half[seed 5]": ["failure"], "known[seed 0]": ["skipped"], "later[seed 0]": ["skipped"],
        "absent:loss[seed 0]": ["failure"],
    }, done.stdout  # fmt: skip
    wrong = (
        "mismatch: d/dx: [0] computed 1.5, true 3.0 (off by 1.5, relative 0.5, 3.38e+15 ulp), 2 "
        "of 2 entries, it is half the derivative\n"
        "  --> mine.py:3 (half)\n"
        "1 | mine:loss with the gradient mine:half\n"
        "  = at x=[1.5, 2.0]\n"
    )
    assert wrong in done.stdout
    assert "error[unknown-name]: there is no module 'absent'" in done.stdout
    assert "2 failed, 1 passed, 1 skipped, 1 xfailed" in done.stdout


def test_settings_without_functions_are_no_tests(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nrtol = 1e-3\n", "utf-8")
    assert run(tmp_path).returncode == 5


# -- hypothesis
# --------------------------------------------------------------------------------------------------------------

QUICK = settings(deadline=None, max_examples=50, database=None, derandomize=True)


@QUICK
@given(arrays_like(np.zeros((2, 3), np.float32), 0.5, 2.0))
def test_arrays_like_another(x: Any) -> None:
    assert (x.shape, x.dtype) == ((2, 3), np.float32)
    assert ((x >= 0.5) & (x <= 2.0)).all()


def of_domain(x: Any, y: Any) -> Any:
    return np.sum(np.log(x)) + np.sqrt(1 - y**2)


@QUICK
@given(points(of_domain, x=np.zeros(4), y=1.0))
def test_points_are_of_the_domain(at: dict[str, Any]) -> None:
    assert list(at) == ["x", "y"]
    assert isinstance(at["y"], float)
    assert (at["x"] > 0).all()
    assert abs(at["y"]) < 1


def of_lengths(a: Any, x: Any, labels: Any, name: str) -> Any:
    assert name == "kept"
    return np.sum((a @ x)[labels] ** 2)


@QUICK
@given(points(of_lengths, a=np.zeros((3, 3)), x=np.zeros(3), labels=np.array([0, 0]), name="kept"))
def test_arrays_keep_the_lengths_that_they_have_in_common(at: dict[str, Any]) -> None:
    n = len(at["x"])
    assert (at["a"].shape, at["name"]) == ((n, n), "kept")
    assert at["labels"].dtype.kind == "i"


SMALLEST: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[dict[str, Any]], bool], dict[str, Any]]] = {
    "one entry, round": (lambda x: np.sum(x**2), {"x": np.zeros((3, 2))}, lambda at: bool((at["x"] > 1.5).any()), {"x": [[2.0]]}),
    "a tenth": (lambda x: np.sum(x**2), {"x": 1.0}, lambda at: 0.15 < at["x"] < 0.45, {"x": 0.2}),
    "both arrays": (
        lambda x, y: np.sum(x * y), {"x": np.zeros(4), "y": np.zeros(4)}, lambda at: len(at["x"]) > 1, {"x": [0.0] * 2, "y": [0.0] * 2},
    ),
    "a length that the function wants": (lambda x: x[3], {"x": np.zeros(4)}, lambda at: at["x"][3] > 0.5, {"x": [0.0, 0.0, 0.0, 1.0]}),
    "a strategy of one's own": (lambda x, n: x * n, {"x": 1.0, "n": st.integers(1, 9)}, lambda at: at["n"] > 4, {"x": 0.0, "n": 5}),
}  # fmt: skip


@pytest.mark.parametrize(("function", "like", "fails", "smallest"), SMALLEST.values(), ids=SMALLEST)
def test_what_fails_shrinks(function: Any, like: Any, fails: Any, smallest: dict[str, Any]) -> None:
    quick = settings(
        deadline=None,
        max_examples=500,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
    )
    found = find(points(function, **like), fails, settings=quick)
    assert {name: np.asarray(value).tolist() for name, value in found.items()} == smallest


REFUSED = {
    "no arguments": (lambda: points(np.sum), "points: the function needs its arguments"),
    "an argument too much": (lambda: points(lambda x: x, x=1.0, y=2.0), "the function cannot be "
    "called with x, y: too many positional "
                             "arguments"),
    "another order": (lambda: points(lambda x, y: x, y=1.0, z=2.0), "the argument 'y' stands "
    "where the function takes 'x'"),
    "no floats": (lambda: arrays_like(np.array([1, 2])), "arrays_like takes a float or an array "
    "of floats, not ndarray"),
    "no range": (lambda: arrays_like(1.0, 2.0, 2.0), "arrays_like: low must be below high, not "
    "2.0 and 2.0"),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "message"), REFUSED.values(), ids=REFUSED)
def test_what_strategies_refuse(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        ask()
    assert caught.value.message == message
