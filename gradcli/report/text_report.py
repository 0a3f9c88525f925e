"""The report for people and logs: what is wrong, the worst first, and one line of summary."""

from __future__ import annotations

from typing import TextIO

from gradcli.report.describing import block, location, notes, one_line
from gradcli.report.outcomes import Outcome, Report, Summary
from gradcli.report.ranking import Worst

_MOST = 1000  # failures that are shown in full
_MOST_NOTES = 100  # of claims that are right


class TextReport(Report):
    """Failures at the end, where they are seen; ``verbose`` adds a line for every case as it comes."""

    def __init__(self, stream: TextIO, verbose: bool = False) -> None:
        super().__init__(stream)
        self.verbose = verbose
        self.worst: Worst[str] = Worst(_MOST)
        self.notes: list[str] = []

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            self.worst.add(outcome, block)
        elif len(self.notes) < _MOST_NOTES:
            self.notes += notes(outcome)
        if self.verbose:
            remark = outcome.reason or (outcome.verdict.word if outcome.verdict is not None else "")
            parts = (f"{outcome.status:<7}", location(outcome), one_line(outcome.record.expr, 100), one_line(remark, 100))
            self.stream.write("  ".join(part for part in parts if part) + "\n")
            self.stream.flush()

    def close(self, summary: Summary) -> None:
        if self.verbose and summary.total:
            self.stream.write("\n")
        for text in self.worst:
            self.stream.write(text + "\n\n")
        if self.worst.left_out:
            self.stream.write(f"and {self.worst.left_out:,} more, none of them graver\n\n")
        for note in self.notes:
            self.stream.write(note + "\n")
        self.stream.write(summary.line() + "\n")
        self.stream.flush()
