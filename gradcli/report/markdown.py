"""Markdown for summaries of CI jobs and comments: a summary line and a table of what is wrong."""

from __future__ import annotations

from typing import TextIO

from gradcli.inert import markdown_code
from gradcli.report.describing import id_of, location
from gradcli.report.outcomes import Outcome, Report, Summary
from gradcli.report.ranking import Worst

_MOST = 50  # rows
_HEADER = "| finding | place | expression | what |\n| --- | --- | --- | --- |\n"


class Table:
    """The table of one run, and its line of summary."""

    def __init__(self) -> None:
        self.rows: Worst[str] = Worst(_MOST)

    def add(self, outcome: Outcome) -> None:
        if outcome.bad:
            self.rows.add(outcome, _row)

    def text(self, summary: Summary, rows: bool = True) -> str:
        """The whole, or its beginning without rows."""
        text = f"### gradcli check\n\n{summary.line()}\n"
        if len(self.rows) and rows:
            text += "\n" + _HEADER + "".join(self.rows)
        more = self.rows.left_out if rows else self.rows.seen
        return text + (f"\nand {more:,} more\n" if more else "")


class MarkdownReport(Report):
    """The table, at the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.table = Table()

    def add(self, outcome: Outcome) -> None:
        self.table.add(outcome)

    def close(self, summary: Summary) -> None:
        self.stream.write(self.table.text(summary))
        self.stream.flush()


def _row(outcome: Outcome) -> str:
    record = outcome.record
    texts = ((location(outcome) + id_of(record), 300), (record.expr, 200), (outcome.headline, 300))
    return f"| {outcome.rule} | {' | '.join(markdown_code(text, limit) for text, limit in texts)} |\n"
