"""How a session begins: the settings that are asked for, and whether somebody types."""

from __future__ import annotations

import os
import sys

from gradcli.cli.repl.transcript import Settings, Transcript
from gradcli.cli.request import ReplRequest
from gradcli.errors import UsageError, one_of
from gradcli.limits import DEFAULT
from gradcli.ops.calling.prefixes import DIALECTS


def transcript_of(request: ReplRequest) -> Transcript:
    """An empty transcript with its settings. Raises UsageError."""
    if request.dialect is not None:
        one_of("--dialect", request.dialect, DIALECTS)
    one_of("--dtype", request.dtype, ("float64", "float32"))
    one_of("--color", request.color, ("auto", "always", "never"))
    DEFAULT.raised(request.limit)
    if request.file is not None and not os.path.exists(request.file):
        raise UsageError(f"there is no file '{request.file}'", help=f"gradcli eval '{request.file}' evaluates an expression")
    return Transcript(Settings(check=request.check, dialect=request.dialect, dtype=request.dtype, color=request.color, limit=request.limit))


def is_terminal() -> bool:
    """Whether somebody types and reads."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and sys.stdout.isatty()


def first_line() -> str:
    """What a session says of itself."""
    from importlib.metadata import version

    return f"gradcli {version('gradcli')}   :help lists commands, Ctrl-D leaves\n"
