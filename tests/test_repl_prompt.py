"""The prompt: keys, history, completion and colours; and a session on a real terminal."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from recorded import over

pytest.importorskip("prompt_toolkit")
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gradcli.cli.commands import ReplRequest
from gradcli.cli.repl.commands import COMMANDS, run_command
from gradcli.cli.repl.prompt import Completing, history_file, talk
from gradcli.cli.repl.session import Session


class Recording(Session):
    """Takes what is typed, and runs nothing; some lines are interrupted."""

    def __init__(self) -> None:
        super().__init__(run_command, ReplRequest(check=False, color="always"))
        self.typed: list[str] = []

    def feed(self, text: str) -> int:
        self.typed.append(text)
        self.ends = text == ":quit"
        return 0

    def known_names(self) -> list[str]:
        return ["alphabet", "massive"]


def typed(keys: str, history: Path | None = None) -> list[str]:
    """What keys submit, to the end."""
    recording = Recording()
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        assert talk(recording, history, COMMANDS, input=pipe, output=DummyOutput()) == 0
    return recording.typed


END = "\x04"


@over("repl", "keys", "keys", "wanted")
def test_keys(keys: str, wanted: list[str]) -> None:
    assert typed(keys) == wanted


def test_history_is_kept_for_the_next_session_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    path = history_file()
    assert path is not None
    assert typed("secret = 2\r" + END, path) == ["secret = 2"]
    assert [*FileHistory(str(path)).load_history_strings()] == ["secret = 2"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_folder_is_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert history_file() is None


def test_what_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("data.npy", "data.txt", "notes.md", "run.grad"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()

    def offered(text: str) -> list[str]:
        found = Completing(Recording(), COMMANDS).get_completions(Document(text), CompleteEvent())
        return [offer.text for offer in found]

    assert offered("x = @da") == ["ta.npy", "ta.txt"]
    assert offered(":load r") == ["un.grad"]
    assert offered("2*mass") == ["massive"]
    assert "relu" in offered("F.rel")
    assert "softmax" in offered("sof")
    assert offered(":expl") == [":explain"]
    assert offered("x.") == []
    assert offered("") == []
    assert offered("2*\\eps") == ["ε"]


# -- a real terminal
# -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="there are pseudo-terminals on POSIX systems only")
def test_a_session_on_a_terminal(terminal: Any, tmp_path: Path) -> None:
    """It starts without a command, answers, survives Ctrl-C during a long computation, knows its
    names then, and ends.
    """
    terminal = terminal(GRADCLI_CACHE_DIR=str(tmp_path / "cache"))
    terminal.wait(":help lists commands")
    terminal.wait("1>")
    terminal.type("x = 3\r")
    terminal.wait("2>")
    terminal.type("x^2\r")
    terminal.wait("= 9.0")
    terminal.wait("3>")
    terminal.type("A = rand(1200, 1200)\r")
    terminal.wait("4>")
    terminal.type("sum(svd(A@A).S)\r")
    time.sleep(1.0)
    began = time.monotonic()
    terminal.type("\x03")
    terminal.wait("interrupted; all names are as they were")
    assert time.monotonic() - began < 10
    terminal.wait("4>")
    terminal.type("x^3 + 0*A[0, 0]\r")
    terminal.wait("= 27.0")
    terminal.wait("5>")
    terminal.type("\x04")
    assert terminal.ended()[1] == 0
