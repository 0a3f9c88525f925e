"""Results of `gradcli eval` in the form that is asked for, as they come, on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from gradcli.cli.request import EvalRequest
from gradcli.cli.write.record_writers import Documents, JsonArray, JsonLines, Lossless, RecordWriter, complain
from gradcli.cli.write.streams import prepare, put
from gradcli.containment import contained
from gradcli.report.records import Record

Save = Callable[[Record], None]  # and leaves out of the record what it saves


class Writer:
    """Takes records as they come, saves what is to be saved of them, and shows all or, if it is quiet, those that need attention."""

    def __init__(self, shown: RecordWriter, quiet: bool, save: Save | None = None) -> None:
        self.shown, self.quiet, self.save = shown, quiet, save

    def write(self, record: Record) -> None:
        if self.save is not None:
            try:
                self.save(record)
            except Exception as error:
                record.fail(contained(error))
        if not self.quiet or record.error is not None or record.failed:
            self.shown.show(record)

    def close(self) -> None:
        """The end of the output."""
        self.shown.end()


def writer_of(request: EvalRequest, save: Save | None = None) -> Writer:
    """The writer that is asked for; what the encoding of standard output lacks is escaped."""
    prepare(request.output_format)
    return Writer(Lossless(shown_by(request.output_format, request.digits, request.color)), request.quiet, save)


def shown_by(kind: str, digits: int | None, color: str) -> RecordWriter:
    """rich is imported for a terminal only."""
    if kind in ("json", "jsonl"):
        from gradcli.report.dictionaries import as_dict

        return JsonLines(as_dict) if kind == "jsonl" else JsonArray(as_dict, one_alone=False)
    if kind == "csv":
        return Csv(digits)
    if kind == "latex":
        from gradcli.report.latex_report import latex_record

        return Documents(partial(latex_record, digits=digits))
    if is_styled(color):
        from gradcli.cli.write.terminal import Terminal

        return Terminal(digits, forced=color == "always")
    from gradcli.report.text import text_record

    return Documents(partial(text_record, digits=digits), between="\n")


def is_styled(color: str) -> bool:
    """Whether standard output takes styles: a capable terminal, unless the user says otherwise."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Csv:
    """Rows of entries below one heading."""

    def __init__(self, digits: int | None) -> None:
        self.digits = digits
        self.started = False

    def show(self, record: Record) -> None:
        from gradcli.report.table import HEADER, csv_rows

        rows = csv_rows(record, self.digits)
        if not self.started:
            put(HEADER)
            self.started = True
        if record.error is not None:
            complain(record)
        put(rows)

    def end(self) -> None:
        sys.stdout.flush()
