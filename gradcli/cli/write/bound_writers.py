"""Ranges over a box in the form that is asked for."""

from __future__ import annotations

from gradcli.cli.write.record_writers import Documents, JsonArray, JsonLines, Lossless, RecordWriter
from gradcli.cli.write.streams import prepare
from gradcli.cli.write.writers import is_styled
from gradcli.report.bound_record import as_dict


def bound_writer(kind: str, color: str) -> RecordWriter:
    """The writer of a format; what the encoding of standard output lacks is escaped. rich is imported for a terminal only."""
    prepare(kind)
    return Lossless(_writer(kind, color))


def _writer(kind: str, color: str) -> RecordWriter:
    if kind == "json":
        return JsonArray(as_dict)
    if kind == "jsonl":
        return JsonLines(as_dict)
    if is_styled(color):
        from gradcli.cli.write.terminal import BoundTerminal

        return BoundTerminal(forced=color == "always")
    from gradcli.report.bound_sheet import text_of

    return Documents(text_of, between="\n")
