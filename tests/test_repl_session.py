"""A session without a terminal: what is typed, what is shown, what is saved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checking import planted
from recorded import over

from gradcli.cli.commands import ReplRequest
from gradcli.cli.repl.commands import run_command, split
from gradcli.cli.repl.session import Session, is_complete


class Typed:
    """A session, and what its lines show."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.session, self._capsys = (
            Session(run_command, ReplRequest(check=False)),
            capsys,
        )

    def feed(self, text: str) -> str:
        self.session.feed(text)
        said = self._capsys.readouterr()
        return said.out + said.err


# what is typed, and what the last line shows


@over("repl", "shown", "lines", "wanted")
def test_what_is_shown(
    lines: list[str], wanted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    own = Typed(capsys)
    shown = [own.feed(line) for line in lines][-1]
    for text in wanted:
        assert text in shown
    assert "Traceback" not in shown


def test_a_failed_line_is_not_kept() -> None:
    own = Session(run_command, ReplRequest(check=False))
    for line in ("x = 2", "y = x*zz", "y", "x*3"):
        own.feed(line)
    assert own.text() == "x = 2\nx*3\n_ = x*3  # the last result\n"


@over("repl", "saved", "lines")
def test_a_saved_session_runs_and_gives_the_same_results(
    lines: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    own = Typed(capsys)
    shown = [own.feed(line) for line in lines]
    own.feed(":save s.grad")
    again = Typed(capsys).feed(":load s.grad")

    def results(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("  value")]

    assert results(again) == [
        line for text in shown if "error[" not in text for line in results(text)
    ]
    if len(lines) == 7:  # by the command itself, in a process of its own
        command = [
            sys.executable,
            "-m",
            "gradcli",
            "eval",
            "-f",
            "s.grad",
            "--no-check",
            "--no-formula",
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=_environment(),
        )
        assert results(done.stdout) == results(again), done.stderr


def test_an_interrupt_leaves_the_session_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle of the last line of a paste: random numbers, functions and the last result are
    as they were.
    """
    own, other = Typed(capsys), Typed(capsys)
    for line in ("x = 2", "f(t) = sum(t*x)", "y = rand(2)", "sum(y)*x"):
        assert own.feed(line) == other.feed(line)

    def interrupted(right: Any) -> Any:
        def forward(*given: Any, **how: Any) -> Any:
            raise KeyboardInterrupt

        return forward

    with planted("tanh", forward=interrupted):
        assert (
            own.feed("x = 3\ntanh(sum([x, 1]))")
            == "interrupted; all names are as they were before\n"
        )
    for line in ("_ + 1", "x", "rand(1)", "f(y)", ":vars"):
        assert own.feed(line) == other.feed(line)


@over("repl", "complete", "text", "complete")  # fmt: skip
def test_what_goes_on(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


@over("repl", "arguments", "name", "text", "wanted")
def test_arguments_of_commands(name: str, text: str, wanted: list[str]) -> None:
    assert split(name, text) == wanted


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}


def test_piped_lines_are_answered_without_prompts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gradcli", "repl", "--no-check"], input="x = 2\nsum([x,\n  x])\n_ "
        "* zz\n:quit\nx\n", capture_output=True,
        text=True, encoding="utf-8", check=False, env=_environment(),
    )  # fmt: skip
    assert "value    4.0" in done.stdout
    assert "no value for 'zz'" in done.stderr
    assert "> " not in done.stdout.replace("--> ", "")
    assert done.returncode == 2
