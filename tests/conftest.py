"""Fixtures: the command line as a subprocess, and programs evaluated in this process."""

from __future__ import annotations

import gc
import io
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.cli.main import app
from gradcli.cli.process import run_guarded
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.options import Options
from gradcli.query.programs import run_statement
from gradcli.report.records import Record

COMMAND = [sys.executable, "-m", "gradcli"]

# Where gradcli behaves otherwise: tests that want it set it.
for place in ("CI", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "CI_PROJECT_DIR"):
    os.environ.pop(place, None)

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as shells do for what they start in the background: programs under test inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """How workers share tests and cores: each begins with a part of its own, in order, so that what
    a file's tests share is made once.
    """
    if not config.getoption("numprocesses", None):
        return
    if config.option.dist == "load":  # what -n is without --dist
        config.option.dist = "worksteal"
    # Threads of OpenBLAS's wait for one another, busily: where workers take their cores, a system
    # of two equations takes 10 ms, not 20 µs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Leave the thousands of collected tests out of every later collection of garbage."""
    gc.freeze()


def plain_environment() -> dict[str, str]:
    """The environment of a pipe that wants no colour, whatever terminal or CI the tests run in."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("GITHUB_ACTIONS", "FORCE_COLOR", "CLICOLOR_FORCE", "GRADCLI_TRACEBACK")
    }
    return {**kept, "NO_COLOR": "1", "TERMINAL_WIDTH": "80", "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def cli_environment() -> dict[str, str]:
    return plain_environment()


@pytest.fixture
def run_cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run gradcli with these arguments, in an empty folder unless ``cwd`` names another; stdin may
    be text or bytes.
    """

    def run(
        *arguments: str, stdin: str | bytes = "", cwd: Path | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        options = {"env": plain_environment(), "timeout": 600, **options}
        if "stdin" not in options:
            options["input"] = given
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run(
            [*COMMAND, *arguments],
            stderr=subprocess.PIPE,
            cwd=cwd or tmp_path,
            check=False,
            **options,
        )
        out, err = (None if b is None else b.decode() for b in (done.stdout, done.stderr))
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    return run


@pytest.fixture
def call_cli(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same in this process, with its own standard streams, or with one for both: many times
    faster.
    """

    def call(
        *arguments: str, stdin: str | bytes = "", cwd: Path | None = None, together: bool = False
    ) -> subprocess.CompletedProcess[str]:
        given = io.TextIOWrapper(
            io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode()), "utf-8"
        )
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with monkeypatch.context() as patched:
            patched.chdir(cwd or tmp_path)
            patched.setenv("NO_COLOR", "1")
            patched.delenv("FORCE_COLOR", raising=False)
            patched.setattr("sys.argv", ["gradcli", *arguments])
            for name, stream in (
                ("stdin", given),
                ("stdout", out),
                ("stderr", out if together else err),
            ):
                patched.setattr(f"sys.{name}", stream)
            code = run_guarded(app)
        printed, shown = (stream.buffer.getvalue().decode() for stream in (out, err))
        assert "Traceback" not in shown, shown
        return subprocess.CompletedProcess(["gradcli", *arguments], code, printed, shown)

    return call


@pytest.fixture
def evaluate_all() -> Callable[..., list[Record]]:
    """The records of every query, assert and error of a program, without formulas and
    cross-checks.
    """

    def run(
        text: str,
        file: str | None = None,
        options: Options | None = None,
        dtype: str = "float64",
        **bindings: Any,
    ) -> list[Record]:
        scope = Scope(precision=dtype)
        for name, value in bindings.items():
            scope.bind_value(name, np.asarray(value))
            scope.outside[name] = np.asarray(value)
        program = Program(scope)
        options = options or Options(check=False, formula=False)
        found = (
            run_statement(program, s, options)
            for s in statements(text.splitlines(keepends=True), file)
        )
        return [record for record in found if record is not None]

    return run


@pytest.fixture
def evaluate_last(evaluate_all: Callable[..., list[Record]]) -> Callable[..., Record]:
    """The record of the last query; every query before it must succeed."""

    def run(text: str, **given: Any) -> Record:
        records = evaluate_all(text, **given)
        for record in records:
            assert record.error is None, record.error.render()
        return records[-1]

    return run


@pytest.fixture
def fails(evaluate_all: Callable[..., list[Record]]) -> Callable[..., Any]:
    """The error of the last statement, which must have one."""

    def run(text: str, **given: Any) -> Any:
        record = evaluate_all(text, **given)[-1]
        assert record.error is not None, f"{text!r} gave {record.value!r}"
        return record.error

    return run


CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A command on a pseudo-terminal: what is typed, what it shows, and how it ends."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid, self.handle, self.shown, self.met = pid, handle, "", 0

    def type(self, keys: str) -> None:
        os.write(self.handle, keys.encode())

    def read(self) -> bool:
        """Take what is shown meanwhile; False once the other end is closed."""
        if select.select([self.handle], [], [], 0.1)[0]:
            try:
                new = os.read(self.handle, 1 << 16).decode("utf-8", "replace")
            except OSError:
                return False
            if "\x1b[6n" in new:
                self.type("\x1b[1;1R")  # where the cursor is
            self.shown += new.replace("\r\n", "\n")
        return True

    def wait(self, pattern: str) -> None:
        """Wait for text, without its colours, that has not been waited for."""
        end = time.monotonic() + 60
        while not (found := re.search(pattern, CONTROL.sub("", self.shown)[self.met :])):
            assert time.monotonic() < end, f"{pattern!r} is not in {self.shown[-2000:]!r}"
            self.read()
        self.met += found.end()

    def ended(self) -> tuple[str, int]:
        """All that was shown, and the exit code."""
        end = time.monotonic() + 60
        while self.read():
            assert time.monotonic() < end, "it has not ended"
        return self.shown, os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Run gradcli with these arguments on a terminal, in an empty folder."""
    pty = pytest.importorskip("pty", reason="terminals of POSIX systems")
    import fcntl
    import struct
    import termios

    begun: list[Terminal] = []

    def run(*arguments: str, columns: int = 80, **variables: str) -> Terminal:
        dropped = (
            "NO_COLOR",
            "FORCE_COLOR",
            "GITHUB_ACTIONS",
            "COLUMNS",
            "LINES",
            "TERMINAL_WIDTH",
        )
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        environment |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **variables}
        pid, handle = pty.fork()
        if not pid:
            os.chdir(tmp_path)
            os.execvpe(COMMAND[0], [*COMMAND, *arguments], environment)
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        begun.append(Terminal(pid, handle))
        return begun[-1]

    yield run
    for each in begun:
        with suppress(OSError):
            os.kill(each.pid, signal.SIGKILL)
            os.waitpid(each.pid, 0)
        os.close(each.handle)
