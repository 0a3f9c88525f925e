"""Reports in JSON: the records themselves, each with its outcome, in one array or in lines; and GitLab's issues."""

from __future__ import annotations

from typing import Any, TextIO

from gradcli.inert import clipped, one_line, well_formed
from gradcli.report.data import Data, encoded
from gradcli.report.describing import id_of
from gradcli.report.outcomes import Outcome, Report, Summary
from gradcli.report.places import Fingerprints, place_of
from gradcli.report.rules import rule_of


def outcome_dict(outcome: Outcome) -> dict[str, Any]:
    """The record as ``gradcli eval`` prints it, and what became of it."""
    decided = {"name": outcome.name, "status": outcome.status, "reason": outcome.reason, "details": outcome.details}
    further = {"repeat": outcome.repeat, "drawn": outcome.drawn, "reached": None if outcome.reached else False}
    known = {key: value for key, value in further.items() if value is not None}
    return {**outcome.record.to_dict(), "outcome": decided | known}


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


class GitLabReport(Report):
    """GitLab's Code Quality: an issue for each case that is not as it should be, for the widget of a merge request.

    GitLab shows only the first of issues with equal fingerprints, and wants paths from the root of the repository.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.array = JsonArray(stream)
        self.fingerprints = Fingerprints()
        self.last: Outcome | None = None

    def add(self, outcome: Outcome) -> None:
        self.last = outcome
        if outcome.bad:
            expr = one_line(outcome.record.expr, 200)
            description = one_line(outcome.headline, 500) + (f", in {expr}" if expr else "") + id_of(outcome.record)
            self._issue(outcome, description, outcome.rule, self.fingerprints.of(outcome), rule_of(outcome.rule).severity)

    def close(self, summary: Summary) -> None:
        if summary.interrupted and self.last is not None:
            self._issue(self.last, f"The check was interrupted here: {summary.line()}", "interrupted", "gradcli-interrupted", "info")
        self.array.close()

    def _issue(self, outcome: Outcome, description: str, rule: str, fingerprint: str, severity: str) -> None:
        place = place_of(outcome)
        self.array.add(
            {
                "description": clipped(description, 1000),
                "check_name": f"gradcli/{rule}",
                "fingerprint": fingerprint,
                "severity": severity,
                "location": {"path": well_formed(place.path or outcome.suite), "lines": {"begin": place.line}},
            }
        )
