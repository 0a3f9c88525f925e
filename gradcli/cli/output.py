"""Writers: one for each output format, all fed with the same records. The only module that owns the consoles."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.cli.request import Request


class Writer:
    """Takes records as they come; ``close`` ends the output."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def write(self, record: Record) -> None:
        if not self.quiet or record.error is not None or record.failed:
            self.emit(record)

    def emit(self, record: Record) -> None:
        raise NotImplementedError

    def close(self) -> None:
        sys.stdout.flush()

    @staticmethod
    def put(text: str) -> None:
        """One piece of output, flushed, so that a pipe sees each result as it comes."""
        sys.stdout.write(text)
        sys.stdout.flush()


def error_text(record: Record) -> str:
    """An error as text; one of a whole record says which record it is."""
    assert record.error is not None
    text = record.error.error.render()
    if record.error.error.source is None and record.record_line:
        text += f"\n  --> {record.file or '<stdin>'}:{record.line}"
    return text


class JsonLines(Writer):
    def emit(self, record: Record) -> None:
        from gradcli.report.dictionaries import dumps

        self.put(dumps(record) + "\n")


class Json(Writer):
    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self.records: list[dict[str, Any]] = []

    def emit(self, record: Record) -> None:
        from gradcli.report.dictionaries import as_dict

        self.records.append(as_dict(record))

    def close(self) -> None:
        import json

        self.put(json.dumps(self.records, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")


class Csv(Writer):
    def __init__(self, quiet: bool, digits: int | None) -> None:
        super().__init__(quiet)
        self.digits = digits
        self.started = False

    def emit(self, record: Record) -> None:
        from gradcli.report.table import HEADER, csv_rows

        if not self.started:
            self.put(HEADER)
            self.started = True
        if record.error is not None:
            print(error_text(record), file=sys.stderr, flush=True)
        else:
            self.put(csv_rows(record, self.digits))


class Latex(Writer):
    def __init__(self, quiet: bool, digits: int | None) -> None:
        super().__init__(quiet)
        self.digits = digits

    def emit(self, record: Record) -> None:
        from gradcli.report.latex_report import latex_record

        if record.error is not None:
            print(error_text(record), file=sys.stderr, flush=True)
        else:
            self.put(latex_record(record, self.digits))


class PlainText(Writer):
    """Text for pipes and files: unstyled and unwrapped."""

    def __init__(self, quiet: bool, digits: int | None) -> None:
        super().__init__(quiet)
        self.digits = digits
        self.first = True

    def emit(self, record: Record) -> None:
        from gradcli.report.text import text_record

        if record.error is not None:
            print(error_text(record), file=sys.stderr, flush=True)
            return
        self.put(("" if self.first else "\n") + text_record(record, self.digits))
        self.first = False


def make_writer(request: Request) -> Writer:
    """The writer for a request; rich is imported for a terminal only."""
    kind, digits = request.output_format, request.digits
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    if kind == "jsonl":
        return JsonLines(request.quiet)
    if kind == "json":
        return Json(request.quiet)
    if kind == "csv":
        return Csv(request.quiet, digits)
    if kind == "latex":
        return Latex(request.quiet, digits)
    if _styled(request.color):
        from gradcli.cli.terminal import Terminal

        return Terminal(request.quiet, digits, forced=request.color == "always")
    return PlainText(request.quiet, digits)


def _styled(color: str) -> bool:
    """Whether standard output takes styles: a capable terminal, unless the user says otherwise."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
