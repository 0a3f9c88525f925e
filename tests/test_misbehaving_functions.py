"""Functions that raise, exit, die, recurse, loop, print, mutate, move or return nonsense: each is
told, and harms nobody.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from battery.code import misbehaving

pytestmark = pytest.mark.ci


@pytest.mark.parametrize(
    "case", misbehaving.CASES, ids=lambda case: f"{case.function}-{case.gradient}"
)
def test_what_is_told(
    run_cli: Any, call_cli: Any, tmp_path: Path, case: misbehaving.Misbehaviour
) -> None:
    shutil.copy(misbehaving.__file__, tmp_path)
    aloud = (
        "print" in case.function + case.gradient
    )  # of what is printed by another process, only a process hears
    call = run_cli if aloud else call_cli
    names = f"misbehaving:{case.function}", f"misbehaving:{case.gradient}"
    done = call(
        "check", "--function", names[0], "--gradient", names[1], "--at", "x=1.5,2", *case.more
    )
    assert (done.returncode, case.told in done.stdout + done.stderr) == (case.code, True), (
        done.stdout + done.stderr
    )
    assert "hello" not in done.stdout, "what a function prints is no part of the report"


def test_errors_travel_without_their_frames(call_cli: Any, tmp_path: Path) -> None:
    """Though a library teaches pickle to take frames along, as Dask does: those of a recursion are
    too deep for it.
    """
    support = pytest.importorskip("tblib.pickling_support", reason="tblib is not installed here")
    import gradcli.functions.arguments

    support.install(gradcli.functions.arguments.NoValue("first of its kind"))
    (tmp_path / "deep.py").write_text(
        "def recurses(x):\n    return recurses(x)\n\n\ndef double(x):\n    return 2*x\n"
    )
    done = call_cli(
        "check", "--function", "deep:recurses", "--gradient", "deep:double", "--at", "x=1.5"
    )
    assert done.returncode == 2
    assert "calls itself without end" in done.stdout
