"""The records themselves, each with its outcome, as one JSON array or as JSON Lines."""

from __future__ import annotations

from typing import Any, TextIO

from gradcli.report.data import Data, encoded
from gradcli.report.outcomes import Outcome, Report, Summary


def outcome_dict(outcome: Outcome) -> dict[str, Any]:
    """The record as ``gradcli eval`` prints it, and what became of it."""
    decided: dict[str, Any] = {"name": outcome.name, "status": outcome.status, "reason": outcome.reason, "details": outcome.details}
    if outcome.repeat is not None:
        decided["repeat"] = outcome.repeat
    if outcome.drawn is not None:
        decided["drawn"] = outcome.drawn
    if outcome.memory is not None:
        decided["memory"] = outcome.memory
    if not outcome.reached:
        decided["reached"] = False
    return {**outcome.record.to_dict(), "outcome": decided}


def interruption(summary: Summary) -> dict[str, Any]:
    """Return what takes the place of the records that an interrupted run owes."""
    error = {"code": "interrupted", "message": f"the run was interrupted after {summary.total} cases"}
    return {"schema": Data.schema, "error": error}


class JsonLinesReport(Report):
    """A record a line, as it comes."""

    def add(self, outcome: Outcome) -> None:
        self._put(outcome_dict(outcome))

    def close(self, summary: Summary) -> None:
        if summary.interrupted:
            self._put(interruption(summary))
        self.stream.flush()

    def _put(self, record: dict[str, Any]) -> None:
        self.stream.write(encoded(record) + "\n")
        self.stream.flush()


class JsonReport(Report):
    """One indented array of all records."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.array = JsonArray(stream)

    def add(self, outcome: Outcome) -> None:
        self.array.add(outcome_dict(outcome))

    def close(self, summary: Summary) -> None:
        if summary.interrupted:
            self.array.add(interruption(summary))
        self.array.close()


class JsonArray:
    """An indented JSON array that is written item by item."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.empty = True

    def add(self, item: dict[str, Any]) -> None:
        text = encoded(item, indent=2).replace("\n", "\n  ")
        self.stream.write(("[\n  " if self.empty else ",\n  ") + text)
        self.empty = False

    def close(self) -> None:
        self.stream.write("[]\n" if self.empty else "\n]\n")
        self.stream.flush()
