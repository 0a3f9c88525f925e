"""Records in the form that is asked for, as they come, on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from gradcli.cli.request import EvalRequest
from gradcli.report.records import Record

Show = Callable[[Record], None]
Save = Callable[[Record], None]  # and leaves out of the record what it saves


class Writer:
    """Takes records as they come, saves what is to be saved of them, and shows all or, if it is quiet, those that need attention."""

    def __init__(self, show: Show, quiet: bool, save: Save | None = None, end: Callable[[], None] | None = None) -> None:
        self.show, self.quiet, self.save, self.end = show, quiet, save, end

    def write(self, record: Record) -> None:
        if self.save is not None:
            self.save(record)
        if not self.quiet or record.error is not None or record.failed:
            self.show(record)

    def close(self) -> None:
        """The end of the output."""
        if self.end is not None:
            self.end()
        sys.stdout.flush()


def writer_of(request: EvalRequest, save: Save | None = None) -> Writer:
    """The writer that is asked for; what the encoding of standard output lacks is escaped."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    if request.output_format == "json":
        array = JsonArray()
        return Writer(array.show, request.quiet, save, array.end)
    return Writer(_show(request.output_format, request.digits, request.color), request.quiet, save)


def _show(kind: str, digits: int | None, color: str) -> Show:
    """rich is imported for a terminal only."""
    if kind == "jsonl":
        return show_json_line
    if kind == "csv":
        return Csv(digits).show
    if kind == "latex":
        return Latex(digits).show
    if is_styled(color):
        from gradcli.cli.write.terminal import Terminal

        return Terminal(digits, forced=color == "always").show
    return PlainText(digits).show


def is_styled(color: str) -> bool:
    """Whether standard output takes styles: a capable terminal, unless the user says otherwise."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def put(text: str) -> None:
    """One piece of output, flushed, so that a pipe sees each result as it comes."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _complain(record: Record) -> None:
    """What is wrong, beside the output."""
    from gradcli.report.text import error_text

    say(error_text(record))


def show_json_line(record: Record) -> None:
    from gradcli.report.dictionaries import dumps

    put(dumps(record) + "\n")


class JsonArray:
    """All records as one array, at the end."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def show(self, record: Record) -> None:
        from gradcli.report.dictionaries import as_dict

        self.records.append(as_dict(record))

    def end(self) -> None:
        import json

        put(json.dumps(self.records, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")


class Csv:
    """Rows of entries below one heading."""

    def __init__(self, digits: int | None) -> None:
        self.digits = digits
        self.started = False

    def show(self, record: Record) -> None:
        from gradcli.report.table import HEADER, csv_rows

        if not self.started:
            put(HEADER)
            self.started = True
        if record.error is not None:
            _complain(record)
        put(csv_rows(record, self.digits))


class Latex:
    """Formulas and numbers for a document."""

    def __init__(self, digits: int | None) -> None:
        self.digits = digits

    def show(self, record: Record) -> None:
        from gradcli.report.latex_report import latex_record

        if record.error is not None:
            _complain(record)
        else:
            put(latex_record(record, self.digits))


class PlainText:
    """Text for pipes and files: unstyled and unwrapped, a blank line between records."""

    def __init__(self, digits: int | None) -> None:
        self.digits = digits
        self.first = True

    def show(self, record: Record) -> None:
        from gradcli.report.text import text_record

        if record.error is not None:
            _complain(record)
            return
        put(("" if self.first else "\n") + text_record(record, self.digits))
        self.first = False
