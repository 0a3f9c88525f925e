"""GitLab's Code Quality report: an array of issues for the widget of a merge request.

GitLab shows only the first of issues with equal fingerprints, and wants paths from the root of the repository.
"""

from __future__ import annotations

from typing import TextIO

from gradcli.inert import clipped, one_line, well_formed
from gradcli.report.describing import id_of
from gradcli.report.json_report import JsonArray
from gradcli.report.outcomes import Outcome, Report, Summary
from gradcli.report.places import Fingerprints, place_of
from gradcli.report.rules import rule_of


class GitLabReport(Report):
    """An issue for each case that is not as it should be."""

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
