"""The report of a check on a terminal: that for people, in colour, and broken between words."""

from __future__ import annotations

import re
from typing import TextIO

from gradcli.cli.write.terminal import COLOURS, console, plain, show_error, wrapped
from gradcli.report.describing import REPEAT
from gradcli.report.outcomes import ERROR, FAILED, PASSED, SKIPPED, XFAILED, XPASSED, Summary
from gradcli.report.text_report import TextReport

_STYLES = {PASSED: "green", FAILED: "bold red", XPASSED: "bold red", ERROR: "bold red", SKIPPED: "yellow", XFAILED: "yellow"}
_VERDICTS = {verdict.word: style for verdict, style in COLOURS.items()}
_FINDING = re.compile(r"(assert is false|expected to fail|[a-z-]+)(?=[:, ])")
_MARGIN = re.compile(r"( *)= ")


class TerminalReport(TextReport):
    """`TextReport` with styles; expressions and carets keep their lines."""

    def __init__(self, stream: TextIO, verbose: bool, quiet: bool, forced: bool) -> None:
        super().__init__(stream, verbose, quiet)
        self.console = console(stream, forced)

    def put_case(self, status: str, parts: list[str]) -> None:
        line = plain("  ".join([f"{status:<7}", *parts]))
        line.stylize(_STYLES[status], 0, len(status))
        self.console.print(line, soft_wrap=True)

    def put_block(self, text: str) -> None:
        head, *rest = text.split("\n")
        if head.startswith("error["):
            show_error(self.console, text + "\n")
            return
        first, *others = wrapped(head, self.console.width, 2)
        line = plain(first)
        found = _FINDING.match(first)
        if found is not None:
            line.stylize(_VERDICTS.get(found[0], "bold red"), 0, found.end())
        self.console.print(line, soft_wrap=True)
        for other in others:
            self.console.print(plain("  " + other), soft_wrap=True)
        for line_text in rest:
            margin = _MARGIN.match(line_text)
            blank = margin[1] if margin is not None else ""
            whole = margin is None or line_text.startswith(REPEAT, margin.end())  # a command is copied as it stands
            lines = [line_text[len(blank) :]] if whole else wrapped(line_text, self.console.width, 4)
            for number, part in enumerate(lines):
                style = "dim" if margin is None and line_text.lstrip().startswith("-->") else ""
                self.console.print(plain((blank if margin else "") + ("  " if number else "") + part, style=style), soft_wrap=True)
        self.console.print()

    def put_note(self, text: str) -> None:
        self.console.print(plain(text, style="dim"), soft_wrap=True)

    def put_summary(self, summary: Summary) -> None:
        style = "bold red" if summary.bad or summary.interrupted else "bold green" if summary.total else ""
        self.console.print(plain(summary.line(), style=style), soft_wrap=True)
        self.console.file.flush()
