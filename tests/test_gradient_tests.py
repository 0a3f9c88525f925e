"""Tests of gradients in pytest: made of functions, by the fixture, and of what the settings list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import plain_environment

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
