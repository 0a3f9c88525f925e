"""How the program ends: exit codes, broken pipes, full disks, interrupts, and errors of our own."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

FINE, FOUND, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


def guarded(app: Callable[..., Any]) -> int:
    """Run the application and give its exit code; nothing escapes as a traceback."""
    if sys.stdout is None or sys.stderr is None:
        return BAD_INPUT  # a closed stream: there is nowhere to write
    try:
        code = _run(app)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except OSError as error:
        _silence(sys.stdout)
        if is_closed_pipe(error):
            return FINE
        _say(f"error[output]: cannot write the output: {error.strerror or error}")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get("GRADCLI_TRACEBACK"):
            raise
        _say(f"internal error: {type(error).__name__}: {error}")
        _say("this is a bug in gradcli: please report the command, and what GRADCLI_TRACEBACK=1 adds to it")
        return INTERNAL


def until_pipe_closes(command: Callable[..., int], *arguments: Any) -> int:
    """Run a command; whoever reads its output may close the pipe, which is a quiet and good end."""
    try:
        return command(*arguments)
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        _silence(sys.stdout)
        return FINE


def is_closed_pipe(error: OSError) -> bool:
    """Whether nobody reads what is written any more; Windows says then that the argument is invalid."""
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL)


def _run(app: Callable[..., Any]) -> int:
    try:
        code = app(standalone_mode=False, prog_name="gradcli")
    except SystemExit as end:
        code = end.code
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        show()
        return BAD_INPUT
    return code if isinstance(code, int) else FINE


def _silence(stream: Any) -> None:
    """Let the interpreter's own flush at exit go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EBADF) and not is_closed_pipe(error):
            raise
