"""The report for people and logs: what is wrong, the worst first, and one line of summary."""

from __future__ import annotations

from typing import TextIO

from gradcli.inert import one_line, shown
from gradcli.report.describing import block, id_of, location, notes, remark
from gradcli.report.outcomes import Outcome, Report, Summary

_MOST_NOTES = 100  # of claims that are right
_MOST_UNREACHED = 10  # cases that are named


class TextReport(Report):
    """Failures at the end, where they are seen.

    ``verbose`` adds a line for every case as it comes, and with ``quiet`` a run without failures has nothing to say.
    What a report is made of is put by methods of their own, which a terminal has in colour.
    """

    MOST = 1000  # failures that are shown in full

    def __init__(self, stream: TextIO, verbose: bool = False, quiet: bool = False) -> None:
        super().__init__(stream)
        self.verbose, self.quiet = verbose, quiet
        self.notes: list[str] = []
        self.unreached: list[str] = []  # the first of them, each on a line

    def add(self, outcome: Outcome) -> None:
        if not outcome.reached:
            if len(self.unreached) < _MOST_UNREACHED:
                self.unreached.append("  ".join(part for part in (location(outcome), one_line(outcome.record.expr, 100)) if part))
        elif outcome.bad:
            self.worst.add(outcome, block)
        elif len(self.notes) < _MOST_NOTES:
            self.notes += notes(outcome)
        if self.verbose:
            parts = (location(outcome) + id_of(outcome.record), one_line(outcome.record.expr, 100), one_line(remark(outcome), 100))
            self.put_case(outcome.status, [part for part in parts if part])
            self.stream.flush()

    def close(self, summary: Summary) -> None:
        if self.quiet and not summary.bad and not summary.unreached and not summary.interrupted and summary.total:
            return
        if self.verbose and summary.total:
            self.stream.write("\n")
        for text in self.worst:
            self.put_block(text)
        if self.worst.left_out:
            self.put_note(f"and {self.worst.left_out:,} more, none of them graver\n")
        for note in self.notes:
            self.put_note(note)
        if summary.unreached:
            self.put_note(f"not reached, as the time of the run (--budget) was spent: {summary.unreached:,}")
            more = summary.unreached - len(self.unreached)
            for line in [*self.unreached, *([f"and {more:,} more"] if more else [])]:
                self.put_note(f"  {line}")
            self._put("")
        self.put_summary(summary)
        self.stream.flush()

    def put_case(self, status: str, parts: list[str]) -> None:
        """A case as it comes: what became of it, where it is, what it says, and a remark."""
        self._put("  ".join([f"{status:<7}", *parts]))

    def put_block(self, text: str) -> None:
        """What is wrong with a case."""
        self._put(text + "\n")

    def put_note(self, text: str) -> None:
        self._put(text)

    def put_summary(self, summary: Summary) -> None:
        self._put(summary.line())

    def _put(self, text: str) -> None:
        self.stream.write(shown(text) + "\n")
