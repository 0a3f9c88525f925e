"""Results of every kind in the form that is asked for: on standard output as they come, or in a file, whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gradcli.cli.write.streams import prepare, put, say
from gradcli.containment import contained
from gradcli.errors import UsageError
from gradcli.inert import clipped, shown

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.report.explanation import Explanation
    from gradcli.report.outcomes import Outcome, Report
    from gradcli.report.records import Record

Put = Callable[[str], None]


class Form(Protocol):
    """Takes results as they come."""

    def write(self, result: Any) -> None: ...

    def close(self) -> None:
        """The end of the output."""


def is_styled(color: str) -> bool:
    """Tell whether standard output takes styles: a capable terminal, unless the user says otherwise."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Writer:
    """Takes results, saves what is to be saved of them, and shows all or, if it is quiet, those that need attention.

    What the encoding of standard output lacks is escaped. A result that cannot be written is written as an error.

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
        self.quiet, self.save, self.out = quiet, save, out
        self.texts: list[str] = []  # of the file
        write = put if out is None else self.texts.append
        self.form: Form
        self.complains = out is not None or form not in ("json", "jsonl")
        if form in ("json", "jsonl"):
            self.form = Json(write, form, one_alone)
        elif form == "csv":
            self.form = Csv(write, digits)
        elif form in ("svg", "html", "mermaid"):
            self.form = Picture(write, form, digits, in_markdown=out is not None)
        elif form == "text" and out is None and is_styled(color):
            from gradcli.cli.write.terminal import Terminal

            self.form, self.complains = Terminal(digits, forced=color == "always"), False
        else:
            self.form = Documents(write, form, digits)

    def write(self, result: Any) -> None:
        if self.save is not None:
            try:
                self.save(result)
            except Exception as error:
                result.fail(contained(error))
        if not self.quiet or result.error is not None or result.failed:
            written(self._show, result)

    def _show(self, result: Any) -> None:
        self.form.write(result)
        if self.complains and result.error is not None:
            say(result.error_text())

    def close(self) -> None:
        """The end of the output."""
        self.form.close()
        if self.texts and self.out is not None:
            from gradcli.storage.whole_files import write_whole

            write_whole(Path(self.out), "".join(self.texts).encode())


class Documents:
    """Texts one after the other, unstyled and unwrapped, or parts of a document in LaTeX."""

    def __init__(self, put: Put, form: str, digits: int | None) -> None:
        self.put, self.form, self.digits = put, form, digits
        self.between = ""

    def write(self, result: Any) -> None:
        if result.error is not None:
            return
        if self.form == "latex":
            self.put(shown(result.to_latex(self.digits)))
            return
        from gradcli.report.lines import text_of

        self.put(self.between + text_of(result.lines(self.digits)))
        self.between = "\n"

    def close(self) -> None:
        """Everything has been put."""


class Json:
    """A result a line; or all as an array, one alone as an object, where that is the form of a command."""

    def __init__(self, put: Put, form: str, one_alone: bool) -> None:
        from gradcli.report.data import encoded

        self.put, self.in_lines, self.one_alone, self.encoded = put, form == "jsonl", one_alone, encoded
        self.texts: list[str] = []

    def write(self, result: Any) -> None:
        if self.in_lines:
            self.put(self.encoded(result.to_dict()) + "\n")
        else:
            self.texts.append(self.encoded(result.to_dict(), 2))

    def close(self) -> None:
        if self.in_lines:
            return
        if self.one_alone and len(self.texts) == 1:
            self.put(self.texts[0] + "\n")
            return
        items = ",\n  ".join(text.replace("\n", "\n  ") for text in self.texts)
        self.put(f"[\n  {items}\n]\n" if items else "[]\n")


class Csv:
    """Rows of entries below one heading."""

    def __init__(self, put: Put, digits: int | None) -> None:
        self.put, self.digits, self.heading = put, digits, ""

    def write(self, record: Record) -> None:
        from gradcli.report.table import HEADER, csv_rows

        rows = csv_rows(record, self.digits)
        self.put(rows if self.heading else HEADER + rows)
        self.heading = HEADER

    def close(self) -> None:
        """Everything has been put."""


class Picture:
    """One document of all explanations; a picture is of one."""

    def __init__(self, put: Put, form: str, digits: int | None, *, in_markdown: bool) -> None:
        self.put, self.form, self.digits, self.in_markdown = put, form, digits, in_markdown
        self.found: list[Explanation] = []

    def write(self, explanation: Explanation) -> None:
        if self.form != "html" and explanation.error is not None:
            return
        if self.form != "html" and self.found:
            raise UsageError(
                f"--format {self.form} has one picture, and that is of line {self.found[0].record.line}",
                help="explain one expression, or write --format html",
            )
        self.found.append(explanation)

    def close(self) -> None:
        if self.found:
            self.put(self._document())

    def _document(self) -> str:
        if self.form == "html":
            from gradcli.report.page.assembly import page

            return page(self.found, self.digits)
        if self.form == "svg":
            from gradcli.report.pictures.svg import svg

            return svg(self.found[0])
        from gradcli.report.pictures.mermaid import mermaid

        text = mermaid(self.found[0])
        return f"```mermaid\n{text}```\n" if self.in_markdown else text


def writer_for(request: Request, **how: Any) -> Writer:
    """Return what writes the results of a command."""
    return Writer(request.output_format, request.color, request.digits, out=request.out, quiet=request.quiet, **how)


# -- What takes the place of a result that cannot be written: an error that says so, so that neither it
# nor another one is lost.


_LONGEST = 2000  # characters of a text that is told again


def written(write: Callable[[Any], None], record: Any) -> None:
    """Write a record. If that fails it becomes its own error, as which it is written: with its id and text, or without them."""
    try:
        write(record)
    except OSError:  # the output takes nothing any more
        raise
    except Exception as error:
        record.fail(contained(error))
        try:
            write(record)
        except OSError:
            raise
        except Exception:
            _strip(record)
            write(record)


def _strip(result: Any) -> None:
    record = getattr(result, "record", result)  # of an explanation
    record.expr = clipped(record.expr, _LONGEST) if isinstance(record.expr, str) else ""
    record.read_as = record.id = record.meta = None
    record.warnings = []


def reported(report: Report, outcome: Outcome) -> bool:
    """Give a report an outcome, or an error in its place; whether it was the outcome itself."""
    try:
        report.add(outcome)
    except OSError:
        raise
    except Exception as error:
        from gradcli.report.outcomes import ERROR

        record = replace(outcome.record, relations=[], refuted=[], warnings=[]).fail(contained(error))
        _strip(record)
        report.add(replace(outcome, record=record, name=f"line {record.line}", status=ERROR, reason=None, details=[], identity=None))
        return False
    return True
