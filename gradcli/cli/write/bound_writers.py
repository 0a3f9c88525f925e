"""Ranges over a box in the form that is asked for, as they come, on standard output."""

from __future__ import annotations

import sys
from typing import Protocol

from gradcli.cli.write.writers import is_styled, put
from gradcli.report.bound_record import BoundRecord, as_dict


class BoundWriter(Protocol):
    """Takes records as they come."""

    def show(self, record: BoundRecord) -> None: ...

    def end(self) -> None:
        """The end of the output."""


def bound_writer(kind: str, color: str) -> BoundWriter:
    """The writer of a format; what the encoding of standard output lacks is escaped. rich is imported for a terminal only."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    if kind == "json":
        return JsonArray()
    if kind == "jsonl":
        return JsonLines()
    if is_styled(color):
        from gradcli.cli.write.terminal import BoundTerminal

        return BoundTerminal(forced=color == "always")
    return PlainText()


class JsonArray:
    """One record as an object, several as an array, at the end."""

    def __init__(self) -> None:
        self.records: list[BoundRecord] = []

    def show(self, record: BoundRecord) -> None:
        self.records.append(record)

    def end(self) -> None:
        from gradcli.report.dictionaries import encoded

        found = [as_dict(record) for record in self.records]
        put(encoded(found[0] if len(found) == 1 else found, 2) + "\n")


class JsonLines:
    """A record a line."""

    def show(self, record: BoundRecord) -> None:
        from gradcli.report.dictionaries import encoded

        put(encoded(as_dict(record)) + "\n")

    def end(self) -> None:
        pass


class PlainText:
    """Text for pipes and files: unstyled and unwrapped, a blank line between records."""

    def __init__(self) -> None:
        self.first = True

    def show(self, record: BoundRecord) -> None:
        from gradcli.report.bound_sheet import text_of
        from gradcli.report.text import error_text

        if record.error is not None:
            print(error_text(record), file=sys.stderr, flush=True)
            return
        put(("" if self.first else "\n") + text_of(record))
        self.first = False

    def end(self) -> None:
        sys.stdout.flush()
