"""The report of a check on a terminal: that for people, in colour, and broken between words."""

from __future__ import annotations

import re
from typing import TextIO

from gradcli.cli.write.terminal import COLOURS, console, plain_text, put_lines, show_error
from gradcli.report.describing import REPEAT
from gradcli.report.outcomes import ERROR, FAILED, PASSED, SKIPPED, XFAILED, XPASSED, Summary
from gradcli.report.pages import TextReport

_STYLES = {
    PASSED: "green",
    FAILED: "bold red",
    XPASSED: "bold red",
    ERROR: "bold red",
    SKIPPED: "yellow",
    XFAILED: "yellow",
}
_FINDING = re.compile(r"(assert is false|expected to fail|[a-z-]+)(?=[:, ])")


class TerminalReport(TextReport):
    """`TextReport` with styles; expressions and carets keep their lines."""

    def __init__(self, stream: TextIO, verbose: bool, quiet: bool, forced: bool) -> None:
        super().__init__(stream, verbose, quiet)
        self.console = console(stream, forced)

    def put_case(self, status: str, parts: list[str]) -> None:
        line = plain_text("  ".join([f"{status:<7}", *parts]))
        line.stylize(_STYLES[status], 0, len(status))
        put_lines(self.console, line)

    def put_block(self, text: str) -> None:
        head, *rest = text.split("\n")
        if head.startswith("error["):
            show_error(self.console, text + "\n")
            return
        line = plain_text(head)
        if (found := _FINDING.match(head)) is not None:
            line.stylize(COLOURS.get(found[0], "bold red"), 0, found.end())
        put_lines(self.console, line)
        for text_line in rest:
            said = text_line.lstrip()
            if said.startswith("= ") and not said.startswith(f"= {REPEAT}"):
                put_lines(self.console, plain_text(text_line))
            else:  # excerpts, and a command, which is copied as it stands
                self.console.print(
                    plain_text(text_line, style="dim" if said.startswith("-->") else ""),
                    soft_wrap=True,
                )
        self.console.print()

    def put_note(self, text: str) -> None:
        put_lines(self.console, plain_text(text, style="dim"))

    def put_summary(self, summary: Summary) -> None:
        style = (
            "bold red"
            if summary.bad or summary.interrupted
            else "bold green"
            if summary.total
            else ""
        )
        put_lines(self.console, plain_text(summary.line(), style=style))
        self.console.file.flush()
