"""The program's process: its beginning, its streams, its exit codes, and the signals that end it.

Results go to standard output as they come, and messages to standard error. Nothing else of the
command line writes to these, but for the framework, of which a page of help and the version come.
Text goes through `inert_lines` on its way, so that no line of it has an effect on a terminal, or on
a CI system that reads along. Formats for other programs are made by functions of `gradcli.inert` of
their own.

Signals end it at any moment, with an exit code of their own, without a traceback, and with nothing
half done. They are handled before anything else is imported, so nothing is imported here at once.

While a command runs, the first signal raises KeyboardInterrupt, so that everything on the way is
tidied up and reported. Before and after a command there is nothing to tidy up, and the program ends
at once. More signals in the next second are taken for the same one: a terminal sends it to a whole
group of processes, and the process that started us may pass it on. Later signals end the program at
once, too.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from gradcli.errors import GradcliError, UsageError

FINE, FOUND, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_PATIENCE = 1.0  # seconds for an orderly end


def code_of(error: GradcliError) -> int:
    """Return the exit code that an error stands for."""
    return INTERNAL if error.code == "internal" else BAD_INPUT


def run() -> None:
    """Run the program. Every way in which it can end has its exit code."""
    # NumPy's BLAS starts threads that spin while they wait for work; this timeout makes them sleep
    # at once.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    take_over()
    from gradcli.cli.main import app

    _fill_standard_streams()
    if sys.argv[1:] == [] and somebody_types():
        sys.argv.append("repl")
    # Millions of tokens and nodes are made, none of them garbage: at the usual thresholds, looking
    # for garbage takes half the time.
    gc.set_threshold(500_000, 20, 20)
    code = run_guarded(app)
    # Otherwise the interpreter looks through all objects once more as it ends: a fifth of a short
    # run.
    gc.freeze()
    sys.exit(code)


def _fill_standard_streams() -> None:
    """Fill standard streams that are closed, so that no file gets their numbers.

    Such a file would take messages for people. They go nowhere instead.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end


def run_guarded(app: Callable[..., Any]) -> int:
    """Run the application and give its exit code; nothing escapes as a traceback.

    The application reads the arguments and gives the command that they ask for, which is run here,
    or an exit code.
    """
    from gradcli.errors import GradcliError, as_gradcli_error

    if sys.stdout is None:
        say_last("error[output]: cannot write the output: standard output is closed")
        return BAD_INPUT
    prepare()
    try:
        command = command_of(app)
        with Unwinding():
            code = command if isinstance(command, int) else command()
            sys.stdout.flush()
        return _end_by_interrupt() if code == INTERRUPTED else code
    except GradcliError as error:
        say_last(error.render())
        return code_of(error)
    except KeyboardInterrupt:
        return _end_by_interrupt()
    except OSError as error:
        _silence(sys.stdout)
        if is_closed_pipe(error):
            return FINE  # the reader has seen enough
        say_last(f"error[output]: cannot write the output: {error.strerror or error}")
        return BAD_INPUT
    except Exception as error:
        say_last(as_gradcli_error(error).render())
        return INTERNAL
    finally:
        abandon_files()


def command_of(app: Callable[..., Any]) -> Callable[[], int] | int:
    """Return the command that the arguments ask for, or an exit code.

    The exit code is returned where nothing is left to do, after a page of help. Raises UsageError.
    """
    try:
        command = app(standalone_mode=False, prog_name="gradcli")
    except SystemExit as end:
        # The framework exits with 1 where nobody reads the pipe any more.
        command = 0 if end.code == 1 else end.code
    except Exception as raised:
        error: Any = raised
        if not hasattr(error, "format_message"):
            if type(error).__name__ == "Abort":
                raise KeyboardInterrupt from None
            raise
        if type(error).__name__ != "NoArgsIsHelpError":
            raise _wrong_usage(error) from None
        say_last(error.format_message())
        command = error.exit_code
    return command if callable(command) or isinstance(command, int) else 0


def _wrong_usage(error: Any) -> UsageError:
    """Return what the framework says of wrong usage as an error of ours."""
    from gradcli.errors import UsageError
    from gradcli.texts import suggestion

    said = error.format_message().removesuffix(".")
    listed = f"{error.ctx.command_path} --help lists what there is" if error.ctx else None
    is_unknown = type(error).__name__ == "NoSuchOption"
    if is_unknown:
        options = (
            name for param in error.ctx.command.params for name in param.opts + param.secondary_opts
        )
        close = suggestion(error.option_name, options)
        said = f"no such option: {error.option_name}"
        listed = (
            f"did you mean {close}?" if close else f"{listed}; write the expression --x as -(-x)"
        )
        group = error.ctx.find_root().command
        having = [
            name
            for name in group.list_commands(error.ctx)
            for param in group.get_command(error.ctx, name).params
            if error.option_name in param.opts
        ]
        if having:
            listed = f"it is an option of {' and '.join(having)}"
    return UsageError(f"{said[:1].lower()}{said[1:]}", help=listed)


def _end_by_interrupt() -> int:
    if not announce_once():
        say_last("interrupted")
    return code_of_signal()


def _silence(stream: Any) -> None:
    """Let the interpreter's own flush at exit go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- Streams


def prepare(kind: str = "text") -> None:
    """Let standard output take every text of a format.

    Characters that its encoding lacks are escaped in a way that readers of the format undo.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
    from gradcli.inert import LACKING

    if kind not in LACKING:
        reconfigure(errors="backslashreplace")
    elif (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf8sig"):
        # ASCII, which every encoding contains: readers of these formats expect UTF-8
        reconfigure(encoding="ascii", errors=LACKING[kind])


def somebody_types() -> bool:
    """Return whether somebody types and reads: a session begins then."""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def put(text: str) -> None:
    """One piece of a format, flushed, so that a pipe sees each result as it comes."""
    sys.stdout.write(text)
    sys.stdout.flush()


def put_text(text: str) -> None:
    """Lines of text for people, without styles."""
    from gradcli.texts import inert_lines

    put(inert_lines(text))


def say(text: str) -> None:
    """Lines beside the output: errors, notes, warnings."""
    from gradcli.texts import inert_lines

    if sys.stderr is not None:  # given None, print would use standard output
        print(inert_lines(text), file=sys.stderr, flush=True)


def say_last(text: str) -> None:
    """Lines beside the output that may have no reader any more, as the program ends."""
    try:
        say(text)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EBADF) and not is_closed_pipe(error):
            raise


def is_closed_pipe(error: OSError) -> bool:
    """Return whether nobody reads the output any more.

    Windows then reports that the argument is invalid.
    """
    return isinstance(error, BrokenPipeError) or (
        sys.platform == "win32" and error.errno == errno.EINVAL
    )


def hint(text: str) -> None:
    """Text beside the output that keeps to its line: how far the work is."""
    sys.stderr.write(text)
    sys.stderr.flush()


def put_rows(text: str) -> None:
    """Rows, whose lines are broken between words on a terminal, or for who asks for columns."""
    if not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        put_text(f"{text}\n")
        return
    from gradcli.cli.write.terminal import console, plain_text, put_lines

    put_lines(console(sys.stdout), plain_text(text))


def is_styled(color: str) -> bool:
    """Tell whether standard output takes tables: a capable terminal does."""
    return color == "always" or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def is_coloured(color: str) -> bool:
    """Tell whether it takes colours: NO_COLOR and ``--color never`` switch off these alone."""
    unwanted = color == "never" or (color == "auto" and os.environ.get("NO_COLOR"))
    return is_styled(color) and not unwanted


# -- Signals


class _State:
    """Signals that have come so far; of the process, for signals are."""

    unwinds = False  # whether a command is running, which signals unwind
    received: int | None = None  # the first signal
    since = 0.0  # when it came, by the monotonic clock
    said = False


_state = _State()


def take_over() -> None:
    """Handle the signals in the main thread, from now on to the end.

    Signals that were ignored by whoever started us stay ignored.
    """
    for number in ENDING:
        with suppress(ValueError):  # outside the main thread
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, _handle)
    atexit.register(_ignore)  # registered first, so that it is called last


class Unwinding:
    """Signals raise in the block.

    One that was lost there, in a destructor or by a library, raises at its end.
    """

    def __enter__(self) -> None:
        _state.unwinds, _state.said = True, False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _state.unwinds = False
        if _state.received is not None and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise KeyboardInterrupt from None


@contextmanager
def staying() -> Iterator[None]:
    """Let an interrupt in the block raise KeyboardInterrupt, each time anew.

    It ends nothing by itself, so that a session goes on after it.
    """
    before: Any = None
    with suppress(ValueError):  # outside the main thread
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def raise_interrupt() -> None:
    """Raise once more for a signal that somebody has swallowed.

    Loops call it before they show the result of a step.
    """
    if _state.received is not None:
        raise KeyboardInterrupt


def _handle(number: int, frame: Any) -> None:
    now = time.monotonic()
    first = _state.received is None
    if not _state.unwinds if first else now > _state.since + _PATIENCE:
        _end_at_once(number)
    if first:
        _state.received, _state.since = number, now
        sys.unraisablehook = _say_unless_ours
        raise KeyboardInterrupt


def _say_unless_ours(unraisable: Any) -> None:
    """Report an exception that was lost in a destructor, unless it is ours.

    Ours is raised once more at the next step.
    """
    if not isinstance(unraisable.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(unraisable)


def code_of_signal() -> int:
    """Return the exit code of a run that a signal has ended."""
    return 128 + (_state.received or signal.SIGINT)


def _end_at_once(number: int) -> NoReturn:
    abandon_files()
    if number == signal.SIGINT and not announce_once():
        with suppress(OSError):
            os.write(2, b"interrupted\n")
    os._exit(128 + number)


def abandon_files() -> None:
    """Remove files that were begun and will not be finished any more."""
    # The module may be half imported, or not at all.
    abandon = getattr(sys.modules.get("gradcli.storage"), "abandon", None)
    if abandon is not None:
        abandon()


def announce_once() -> bool:
    """Return whether the last word is said, that all was interrupted; whoever asks says it."""
    before, _state.said = _state.said, True
    return before


def _ignore() -> None:
    """Ignore all signals from now on, because the work is done.

    They change nothing any more while the interpreter puts its things away.
    """
    for number in ENDING:
        with suppress(ValueError):
            if signal.getsignal(number) is _handle:
                signal.signal(number, signal.SIG_IGN)
