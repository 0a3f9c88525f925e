"""Markdown for summaries of CI jobs and comments: a summary line and a table of what is wrong."""

from __future__ import annotations

import re
from typing import TextIO

from gradcli.report.describing import id_of, location, one_line
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
    cells = (code(location(outcome) + id_of(outcome.record), 300), code(outcome.record.expr, 200), code(outcome.headline, 300))
    return f"| {outcome.rule} | {' | '.join(cells)} |\n"


def code(text: str, limit: int) -> str:
    """Text as code in a cell of a table: on one line, and none of it read as Markdown (nor as a mention of somebody)."""
    text = one_line(text, limit)
    if not text:
        return ""
    if "\\|" in text:  # a code span in a table cannot hold this: the backslash would be taken for the escape
        return f"<code>{''.join(c if c.isalnum() or c == ' ' else f'&#{ord(c)};' for c in text)}</code>"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    escaped = text.replace("|", "\\|")
    return f"{fence}{padding}{escaped}{padding}{fence}"
