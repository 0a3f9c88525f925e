"""``gradcli repl``: a session on a terminal, or lines of standard input that are answered when they
are complete.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from gradcli.cli import interrupts
from gradcli.cli.exit_codes import FINE
from gradcli.cli.inputs import limits_of
from gradcli.cli.repl.commands import is_complete, run_command
from gradcli.cli.repl.session import Session, Settings
from gradcli.cli.request import ReplRequest
from gradcli.cli.write.results import put, somebody_types
from gradcli.errors import UsageError
from gradcli.files.stores import lines_of
from gradcli.limits import DEFAULT


def converse(request: ReplRequest) -> int:
    """Converse on a terminal; else answer lines of standard input as they come, with the highest
    exit code of them. Raises UsageError.
    """
    limits_of(request)
    if request.file is not None and not os.path.exists(request.file):
        raise UsageError(
            f"there is no file '{request.file}'",
            help=f"gradcli eval '{request.file}' evaluates an expression",
        )
    settings = Settings(
        request.check,
        dialect=request.dialect,
        dtype=request.dtype,
        color=request.color,
        limit=[*request.limit],
    )
    session = Session(run_command, settings)
    first = [] if request.file is None else [f":load {shlex.quote(request.file)}"]
    if somebody_types():
        from importlib.metadata import version

        put(f"gradcli {version('gradcli')}   :help lists commands, Ctrl-D leaves\n")
        with interrupts.staying():
            from gradcli.cli.repl.prompt import history_file, talk

            for text in first:
                session.feed(text)
            return talk(session, history_file() if request.history else None)
    code = FINE
    for texts in (first, inputs()):
        for text in texts:
            code = max(code, session.feed(text))
            if session.ends:
                return code
    return code


def inputs() -> Iterator[str]:
    """Return what is typed, piece by piece: lines that go on are one."""
    pending = ""
    for line in lines_of("-", DEFAULT.length):
        pending += line
        if not pending.strip():
            pending = ""
        elif is_complete(pending.removesuffix("\n")):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
