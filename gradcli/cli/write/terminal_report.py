"""The report of a check on a terminal: that for people, in colour, and broken between words."""

from __future__ import annotations

from typing import TextIO

from gradcli.cli.write.terminal import console, plain_text, put_lines, show_error
from gradcli.report.outcomes import BAD, PASSED, Summary
from gradcli.report.pages import TextReport

_WRONG = "bold red"


class TerminalReport(TextReport):
    """`TextReport` with styles; expressions and carets keep their lines."""

    def __init__(self, stream: TextIO, verbose: bool, quiet: bool, color: str) -> None:
        super().__init__(stream, verbose, quiet)
        self.console = console(stream, color)

    def put_case(self, status: str, parts: list[str]) -> None:
        style = _WRONG if status in BAD else "green" if status == PASSED else "yellow"
        line = plain_text("  ".join([f"{status:<7}", *parts]))
        line.stylize(style, 0, len(status))
        put_lines(self.console, line)

    def put_block(self, text: str) -> None:
        show_error(self.console, f"{text}\n")

    def put_note(self, text: str) -> None:
        put_lines(self.console, plain_text(text, style="dim"))

    def put_summary(self, summary: Summary) -> None:
        style = _WRONG if summary.bad or summary.interrupted else "bold green"
        put_lines(self.console, plain_text(summary.line(), style=style))
        self.console.file.flush()
