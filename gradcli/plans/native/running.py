"""Starting compilers: without a shell, with an end, and so that nothing of them stays, neither processes nor files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gradcli.errors import text_lines


class UnusableError(Exception):
    """What is wrong with a compiler, or with what it made."""


def told(command: list[str], text: str = "", *, patience: int, files: Path | None = None) -> str:
    """What a compiler says, given a text to read. Its own files go into a folder, if one is given. Raises UnusableError.

    patience  seconds, after which it hangs
    """
    own = {"LC_ALL": "C"} if files is None else {"LC_ALL": "C", "TMPDIR": str(files)}
    try:
        started = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
            env={**os.environ, **own}, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise UnusableError(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None
    with started:  # one that an interrupt met before this line has nothing to read, and ends by itself
        try:
            said, _ = started.communicate(text, timeout=patience)
        except subprocess.TimeoutExpired:
            raise UnusableError(f"it did not end within {patience} seconds") from None
        finally:
            if started.poll() is None:
                _end(started)
    if started.returncode:
        raise UnusableError(_complaint(said) or f"it ends with code {started.returncode} and says nothing")
    return said


@contextmanager
def folder_for_a_while(*elsewhere: Path) -> Iterator[Path]:
    """A private folder that is removed in any case: among the system's temporary ones, or else in one of these. Raises UnusableError."""
    made = None
    for where in (None, *elsewhere):
        try:
            made = tempfile.mkdtemp(prefix=".gradcli.", dir=where)
            break
        except OSError as error:
            problem = error.strerror or str(error)
    if made is None:
        raise UnusableError(f"no temporary folder can be made: {problem}")
    try:  # by hand: what tempfile has for this would also remove it at the end of a process that was forked meanwhile
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _complaint(said: str) -> str:
    """The lines that tell what is wrong, of all that a compiler says."""
    lines = [line.strip() for line in text_lines(said) if line.strip()]
    return "; ".join(([line for line in lines if "error" in line.lower()] or lines)[:5])[:2000]


def _end(started: subprocess.Popen[str]) -> None:
    """End a compiler and all that it has started: they are a session of their own."""
    with suppress(OSError):
        os.killpg(started.pid, signal.SIGKILL)
    started.kill()
