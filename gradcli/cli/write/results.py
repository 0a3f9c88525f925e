"""The two streams of the command line, and the results on them.

Results have the form that is asked for, or go to a file, whole.

Results go to standard output as they come, and messages to standard error. Nothing else of the
command line writes to these. Text goes through `shown` on its way, so that no line of it has an
effect on a terminal, or on a CI system that reads along. Formats for other programs are made by
functions of `gradcli.inert` of their own.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gradcli.errors import UsageError, as_gradcli_error
from gradcli.inert import LACKING
from gradcli.texts import clip_text, inert_lines

if TYPE_CHECKING:
    from gradcli.options import Request
    from gradcli.report.explanation import Explanation
    from gradcli.report.outcomes import Outcome, Report
    from gradcli.report.records import Record


def prepare(kind: str = "text") -> None:
    """Let standard output take every text of a format.

    Characters that its encoding lacks are escaped in a way that readers of the format undo.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
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
    put(inert_lines(text))


def say(text: str) -> None:
    """Lines beside the output: errors, notes, warnings."""
    if sys.stderr is not None:  # given None, print would use standard output
        print(inert_lines(text), file=sys.stderr, flush=True)


def say_last(text: str) -> None:
    """Lines beside the output that may have no reader any more, as the program ends."""
    try:
        say(text)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EBADF) and not is_closed_pipe(
            error
        ):
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
        put_text(text + "\n")
        return
    from gradcli.cli.write.terminal import console, plain_text, put_lines

    put_lines(console(sys.stdout, forced=False), plain_text(text))


def in_columns(rows: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    """Return a line for each row: its first text, and its second in a column beside it."""
    rows = list(rows)
    width = max((len(first) for first, _ in rows), default=0)
    return [f"{indent}{first:<{width}}  {second}" for first, second in rows]


_PICTURES = ("svg", "html", "mermaid")


class Form(Protocol):
    """Takes results as they come."""

    def write(self, result: Any) -> None: ...

    def close(self) -> None:
        """End the output."""


def is_styled(color: str) -> bool:
    """Tell whether standard output takes styles.

    A capable terminal does, unless the user says otherwise.
    """
    if color != "auto":
        return color == "always"
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


class Writer:
    """Writer of results.

    It takes results, saves what is to be saved of them, and shows all, or, if it is quiet, those
    that need attention.

    Characters that the encoding of standard output lacks are escaped. A result that cannot be
    written is written as an error.

    form       such as "text", "json" or "svg"
    one_alone  whether a single result is no array in JSON
    out        a file
    save       leaves out of a record what it saves
    """

    def __init__(
        self,
        form: str,
        color: str = "never",
        digits: int | None = None,
        *,
        one_alone: bool = True,
        out: str | None = None,
        quiet: bool = False,
        save: Callable[[Record], None] | None = None,
    ) -> None:
        prepare(form)
        self.form, self.digits, self.one_alone, self.out, self.quiet, self.save = (
            form,
            digits,
            one_alone,
            out,
            quiet,
            save,
        )
        self.texts: list[str] = []  # parts of the file's text
        self.put = put if out is None else self.texts.append
        self.found: list[Any] = []  # what is written at the end
        self.between = ""
        self.complains = out is not None or form not in ("json", "jsonl")
        self._put: Callable[[Any], None] = self._write_plainly
        if form == "text" and out is None and is_styled(color):
            from gradcli.cli.write.terminal import Terminal

            self._put, self.complains = Terminal(digits, forced=color == "always").write, False

    def write(self, result: Any) -> None:
        if self.save is not None:
            try:
                self.save(result)
            except Exception as error:
                result.fail(as_gradcli_error(error))
        if not self.quiet or result.error is not None or result.failed:
            write_result(self._show, result)

    def _show(self, result: Any) -> None:
        self._put(result)
        if self.complains and result.error is not None:
            say(result.error_text())

    def _write_plainly(self, result: Any) -> None:
        if (
            self.form in ("csv", "value")
            and result.error is None
            and result.uncertainty is not None
        ):
            raise UsageError(
                f"--format {self.form} has no place for standard deviations",
                help="write --format json, or text",
            )
        if self.form == "jsonl":
            self.put(result.to_json() + "\n")
        elif self.form == "json":
            self.found.append(_encode(result.to_dict(), 2))
        elif self.form == "csv":
            from gradcli.report.table import HEADER, csv_rows

            rows = csv_rows(result, self.digits)
            self.put(rows if self.between else HEADER + rows)
            self.between = HEADER
        elif self.form in _PICTURES:
            if self.form == "html" or result.error is None:
                self._take_picture(result)
        elif result.error is None and self.form in ("value", "grad"):
            self.put(_alone(result, self.form))
            if result.failed:
                say("the cross-check does not agree, or an assert is false: see --format text")
        elif result.error is None and self.form == "latex":
            self.put(inert_lines(result.to_latex(self.digits)))
        elif result.error is None:
            from gradcli.report.records import text_of

            self.put(self.between + text_of(result.lines(self.digits)))
            self.between = "\n"

    def _take_picture(self, explanation: Explanation) -> None:
        if self.form != "html" and self.found:
            raise UsageError(
                f"--format {self.form} holds one picture, which is that of "
                f"line {self.found[0].record.line}",
                help="explain one expression, or write --format html",
            )
        self.found.append(explanation)

    def close(self) -> None:
        """End the output."""
        if self.form == "json" and self.one_alone and len(self.found) == 1:
            self.put(self.found[0] + "\n")
        elif self.form == "json":
            items = ",\n  ".join(text.replace("\n", "\n  ") for text in self.found)
            self.put(f"[\n  {items}\n]\n" if items else "[]\n")
        elif self.found:
            self.put(self._picture())
        if self.texts and self.out is not None:
            from gradcli.storage import write_whole

            write_whole(self.out, "".join(self.texts).encode())

    def _picture(self) -> str:
        """One document of all explanations; a picture is of one."""
        if self.form == "html":
            from gradcli.report.page.assembly import page

            return page(self.found, self.digits)
        from gradcli.report.pictures import mermaid, svg

        if self.form == "svg":
            return svg(self.found[0])
        text = mermaid(self.found[0])
        return text if self.out is None else f"```mermaid\n{text}```\n"


def _encode(data: Any, indent: int | None = None) -> str:
    from gradcli.data import encode

    return encode(data, indent)


def _alone(record: Record, field: str) -> str:
    """Return the value alone, or the only gradient, as a line of JSON.

    A number is written as it is.

    Raises UsageError for several gradients.
    """
    found = record.to_dict().get(field)
    if field == "grad" and isinstance(found, dict):
        if len(found) != 1:
            names = ", ".join(found)
            raise UsageError(
                f"--format grad prints one gradient, not those by {names}"
                if found
                else "there is no gradient",
                help="write --wrt NAME" if found else None,
            )
        (found,) = found.values()
    return _encode(found).strip('"') + "\n"


def writer_for(request: Request, **how: Any) -> Writer:
    """Return what writes the results of a command."""
    return Writer(
        request.output_format,
        request.color,
        request.digits,
        out=request.out,
        quiet=request.quiet,
        **how,
    )


# -- What takes the place of a result that cannot be written: an error that says so, so that neither
# it nor another one is lost.


_LONGEST = 2000  # most characters of an expression that an error repeats


def write_result(write: Callable[[Any], None], result: Any) -> None:
    """Write a result.

    If that fails it becomes its own error, as which it is written: with its id and text.
    """
    try:
        write(result)
    except OSError:  # the output takes nothing more
        raise
    except Exception as error:
        write(_as_error(result, error))


def _as_error(result: Any, error: Exception) -> Any:
    """Return a result as an error, without anything else that may prevent writing it."""
    result.fail(as_gradcli_error(error))
    record = getattr(result, "record", result)  # an explanation has its own record
    record.expr, record.read_as, record.meta, record.warnings = (
        clip_text(record.expr, _LONGEST),
        None,
        None,
        [],
    )
    return result


def report_outcome(report: Report, outcome: Outcome) -> bool:
    """Give a report an outcome, or an error in its place; whether it was the outcome itself."""
    try:
        report.add(outcome)
    except OSError:
        raise
    except Exception as error:
        from gradcli.report.outcomes import ERROR

        record = _as_error(replace(outcome.record, relations=[], refuted=[]), error)
        report.add(
            replace(
                outcome,
                record=record,
                name=f"line {record.line}",
                status=ERROR,
                reason=None,
                details=[],
                identity=None,
            )
        )
        return False
    return True
