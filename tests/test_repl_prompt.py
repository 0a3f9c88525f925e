"""The prompt: keys, history, completion and colours; and a session on a real terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gradcli.cli.repl.prompt import history_file, offers


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("\\alpha", "α"),
        ("2*\\Omega", "2*Ω"),
        ("\\lambda", "λ"),
        ("x\\^2", "x²"),
        ("massi", "massive"),
        ("2*massi", "2*massive"),
        ("torch.logsumex", "torch.logsumexp"),
        (":expl", ":explain"),
        (":set che", ":set check "),
        (":set check of", ":set check off"),
        (" ", "     "),
    ],
    ids=repr,
)
def test_what_a_tab_completes(before: str, wanted: str) -> None:
    count, found = offers(before, ["alphabet", "massive"])
    assert [before[: len(before) - count] + text for text in found] == [wanted]


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
        return offers(text, ["weights"])[1]

    assert offered("x = @") == ["data.npy", "data.txt", "folder/"]
    assert offered(":load ") == ["folder/", "run.grad"]
    assert offered("2*wei") == ["weights"]
    assert "relu" in offered("F.rel")
    assert "sin" in offered("np.si")
    assert "softmax" in offered("sof")
    assert offered("x.") == []
    assert "ill-conditioned" in offered(":help ill")
    assert offered("\\eps") == ["ε"]
    assert offered("\\ph") == ["φ"]
    assert {"\\epsilon", "\\eta", "\\ell"} == {*offered("\\e")}


# -- a real terminal -----------------------------------------------------------------------------------------------------


class Terminal:
    """A session in a pseudo-terminal."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid, self.handle, self.shown = pid, handle, ""

    def type(self, keys: str) -> None:
        os.write(self.handle, keys.encode())

    def wait(self, pattern: str, seconds: float = 60) -> None:
        """Wait for text that has not been waited for."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self.shown)) is None:
            assert time.monotonic() < end, f"{pattern!r} is not in {self.shown!r}"
            if select.select([self.handle], [], [], 0.2)[0]:
                new = os.read(self.handle, 1 << 16).decode("utf-8", "replace")
                self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", new)
        self.shown = self.shown[found.end() :]

    def ended(self) -> int:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with suppress(OSError):
                if select.select([self.handle], [], [], 0)[0]:
                    os.read(self.handle, 1 << 16)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        raise AssertionError("it has not ended")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    pty = pytest.importorskip("pty")
    pid, handle = pty.fork()
    if not pid:  # in the new process
        os.chdir(tmp_path)
        os.environ |= {
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "TERM": "xterm",
            "GRADCLI_CACHE_DIR": str(tmp_path / "cache"),
        }
        os.execv(sys.executable, [sys.executable, "-m", "gradcli"])
    own = Terminal(pid, handle)
    yield own
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(handle)


@pytest.mark.skipif(os.name != "posix", reason="there are pseudo-terminals on POSIX systems only")
def test_a_session_on_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    """It starts without a command, answers, survives Ctrl-C during a long computation, knows its names then, and ends."""
    terminal.wait(":help lists commands")
    terminal.wait("1> ")
    terminal.type("x = 3\r")
    terminal.wait("2> ")
    terminal.type("x^2\r")
    terminal.wait("= 9.0")
    terminal.wait("3> ")
    terminal.type("A = rand(1200, 1200)\r")
    terminal.wait("4> ")
    terminal.type("sum(svd(A@A).S)\r")
    time.sleep(1.0)
    began = time.monotonic()
    terminal.type("\x03")
    terminal.wait("interrupted; all names are as they were")
    assert time.monotonic() - began < 10
    terminal.wait("4> ")
    terminal.type("x^3 + 0*A[0, 0]\r")
    terminal.wait("= 27.0")
    terminal.wait("5> ")
    terminal.type("f(t,\r")  # a bracket is open
    terminal.wait("[.][.][.]")
    terminal.type("u) = t*u\r")
    terminal.wait("7> ")
    terminal.type("dropped\x03")
    terminal.wait("7> ")
    terminal.type("\\alph\t = 2\r")
    terminal.wait("α = 2")
    terminal.wait("8> ")
    terminal.type("f(\x10")  # Ctrl-P: what was typed before
    terminal.wait("α = 2")
    terminal.type("\x15exit\r")
    assert terminal.ended() == 0
    history = next((tmp_path / "cache").rglob("history"))
    assert "x^2" in history.read_text().split("\n")
    assert (stat.S_IMODE(history.stat().st_mode), stat.S_IMODE(history.parent.stat().st_mode)) == (0o600, 0o700)


@pytest.mark.skipif(os.name != "posix", reason="there are pseudo-terminals on POSIX systems only")
def test_the_end_of_input_ends_a_session(terminal: Terminal) -> None:
    terminal.wait("1> ")
    terminal.type("\x04")
    assert terminal.ended() == 0
