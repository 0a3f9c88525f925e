"""Scripts written for PyTorch print what they print there: each .out is PyTorch's output of the .py
beside it.

The scripts import gradcli where PyTorch's users write torch; with that line changed back PyTorch
runs them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_prints_what_pytorch_prints(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout == script.with_suffix(".out").read_text(encoding="utf-8")


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 6
