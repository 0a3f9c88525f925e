"""The end of the program: exit codes and the errors that lead to them.

These are mistakes of the user, broken pipes, full disks, interrupts, and errors of our own.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gradcli.cli import interrupts
from gradcli.cli.write.results import prepare, say
from gradcli.errors import GradcliError, InternalError, UsageError, as_gradcli_error
from gradcli.storage import abandon
from gradcli.texts import suggestion

FINE, FOUND, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


def run_guarded(app: Callable[..., Any]) -> int:
    """Run the application and give its exit code; nothing escapes as a traceback.

    The application reads the arguments and gives the command that they ask for, which is run here,
    or an exit code.
    """
    if sys.stdout is None:
        _say("error[output]: cannot write the output: standard output is closed")
        return BAD_INPUT
    prepare()
    try:
        command = command_of(app)
        with interrupts.Unwinding():
            code = command if isinstance(command, int) else command()
            sys.stdout.flush()
        return _end_by_interrupt() if code == INTERRUPTED else code
    except GradcliError as error:
        _say(error.render())
        return code_of(error)
    except KeyboardInterrupt:
        return _end_by_interrupt()
    except OSError as error:
        _silence(sys.stdout)
        if is_closed_pipe(error):
            return FINE  # the reader has seen enough
        _say(f"error[output]: cannot write the output: {error.strerror or error}")
        return BAD_INPUT
    except Exception as error:
        _say(as_gradcli_error(error).render())
        return INTERNAL
    finally:
        abandon()


def _end_by_interrupt() -> int:
    if not interrupts.announce_once():
        _say("interrupted")
    return INTERRUPTED


def code_of(error: GradcliError) -> int:
    """Return the exit code that an error stands for."""
    return INTERNAL if isinstance(error, InternalError) else BAD_INPUT


def is_closed_pipe(error: OSError) -> bool:
    """Return whether nobody reads the output any more.

    Windows then reports that the argument is invalid.
    """
    return isinstance(error, BrokenPipeError) or (
        sys.platform == "win32" and error.errno == errno.EINVAL
    )


def say_remarks(remarks: Callable[[], list[str]]) -> int:
    """Print what is known of names when a run is over, and give the exit code that follows."""
    try:
        for remark in remarks():
            say(f"warning: {remark}")
    except GradcliError as error:
        say(error.render())
        return BAD_INPUT
    return FINE


def command_of(app: Callable[..., Any]) -> Callable[[], int] | int:
    """Return the command that the arguments ask for, or an exit code.

    The exit code is returned where nothing is left to do, after a page of help or a wrong option.
    """
    try:
        command = app(standalone_mode=False, prog_name="gradcli")
    except SystemExit as end:
        # The framework exits with 1 where nobody reads the pipe any more.
        command = FINE if end.code == 1 else end.code
    except Exception as error:
        if not hasattr(error, "format_message"):
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        is_help = type(error).__name__ == "NoArgsIsHelpError"
        _say(error.format_message() if is_help else _wrong_usage(error).render())
        return BAD_INPUT
    return command if callable(command) or isinstance(command, int) else FINE


def _wrong_usage(error: Any) -> UsageError:
    """Return what the framework says of wrong usage as an error of ours."""
    said = error.format_message().removesuffix(".")
    listed = f"{error.ctx.command_path} --help lists what there is" if error.ctx else None
    is_unknown = type(error).__name__ == "NoSuchOption"
    if is_unknown:
        options = (
            name for param in error.ctx.command.params for name in param.opts + param.secondary_opts
        )
        close = suggestion(error.option_name, options)
        said = f"no such option: {error.option_name}"
        listed = f"did you mean {close}?" if close else f"{listed}; of an expression write -(-x)"
    return UsageError(f"{said[:1].lower()}{said[1:]}", help=listed)


def _silence(stream: Any) -> None:
    """Let the interpreter's own flush at exit go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(text: str) -> None:
    try:
        say(text)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EBADF) and not is_closed_pipe(
            error
        ):
            raise
