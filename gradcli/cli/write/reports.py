"""The reports of a check: one on standard output, unless ``--report KIND=-`` takes its place, and those in files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial

from gradcli.cli.inputs.option_values import assignment
from gradcli.cli.request import CheckRequest
from gradcli.cli.write.results import is_styled, reported
from gradcli.cli.write.streams import prepare
from gradcli.errors import OutputError, UsageError, one_of
from gradcli.files.option_table import REPORTS
from gradcli.files.settings import Settings
from gradcli.report.outcomes import Outcome, Report, Summary, make
from gradcli.storage.whole_files import Replacement, cannot_write, real


class Reports:
    """All that are asked for, by options or by settings. Raises UsageError and OutputError for what cannot be written."""

    def __init__(self, request: CheckRequest, settings: Settings, checked: Iterable[str]) -> None:
        wanted = _wanted(request, settings)
        _refuse_overwriting([real(path) for _, path in wanted if path != "-"], checked)
        for kind, path in wanted:
            if path == "-":
                prepare(kind)
        self.shown: list[Report] = [_shown(kind, request) for kind, path in wanted if path == "-"]
        self.filed = [FiledReport(kind, path, request.verbose) for kind, path in wanted if path != "-"]
        self.broken: OSError | None = None
        self.unwritten = 0  # outcomes in whose place a report has an error

    def add(self, outcome: Outcome) -> None:
        for filed in self.filed:
            self.unwritten += not filed.add(outcome)
        try:
            for report in self.shown:
                self.unwritten += not reported(report, outcome)
        except OSError as error:  # nobody reads on: that ends the run, unless files are still to be written
            if not self.filed:
                raise
            self.shown, self.broken = [], error

    def close(self, summary: Summary) -> None:
        """Write what stands at the end. Raises what could not be written, after all that could."""
        for filed in self.filed:
            filed.close(summary)
        for shown in self.shown:
            shown.close(summary)
        for filed in self.filed:
            if filed.broken is not None:
                raise filed.broken
        if self.broken is not None:
            raise self.broken


class FiledReport:
    """A report that takes the place of a file when it is complete; if it cannot be written, the others are. Raises OutputError at first."""

    def __init__(self, kind: str, path: str, verbose: bool) -> None:
        self.path = path
        self.broken: OutputError | None = None
        try:
            self.new = Replacement(path)
        except OSError as error:
            raise cannot_write(path, error) from None
        stream = io.TextIOWrapper(self.new.file, encoding="utf-8", errors="backslashreplace", newline="\n")
        self.report = make(kind, stream, verbose=verbose)

    def add(self, outcome: Outcome) -> bool:
        """Return whether it could be said; else an error stands in its place."""
        return self._done(partial(reported, self.report, outcome))

    def close(self, summary: Summary) -> None:
        for act in (partial(self.report.close, summary), self.report.stream.flush, self.new.finish):
            self._done(act)

    def _done(self, act: Callable[[], object]) -> bool:
        """Act, unless that has failed before; whether an outcome could be said."""
        if self.broken is None:
            try:
                return act() is not False
            except OSError as error:
                self.broken = cannot_write(self.path, error)
                self.new.leave()
        return True


def _shown(kind: str, request: CheckRequest) -> Report:
    """A report on standard output: that for people in colour, where it takes colours."""
    if kind == "text" and is_styled(request.color):
        from gradcli.cli.write.terminal_report import TerminalReport

        return TerminalReport(sys.stdout, request.verbose, request.quiet, forced=request.color == "always")
    return make(kind, sys.stdout, verbose=request.verbose, quiet=request.quiet)


def wanted_kinds(request: CheckRequest, settings: Settings) -> set[str]:
    """The kinds of all reports. Raises UsageError for one that there is not."""
    return {kind for kind, _ in _wanted(request, settings)}


def _wanted(request: CheckRequest, settings: Settings) -> list[tuple[str, str]]:
    """Kinds and files; a ``--format`` wins against a setting, and is refused elsewhere beside a --report on standard output."""
    wanted = [assignment("--report", text) for text in request.reports or settings.report or ()]
    if request.format_given:
        wanted = [(kind, path) for kind, path in wanted if path != "-"]
    for kind, _ in wanted:
        one_of("--report" if request.reports else f"report of {settings.path}", kind, REPORTS)
    if not any(path == "-" for _, path in wanted):
        wanted.append((request.output_format, "-"))
    return wanted


def _refuse_overwriting(paths: list[str], checked: Iterable[str]) -> None:
    sources = {real(path) for path in checked}
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"two reports are about the same file, '{path}'", help="write each to a file of its own")
        if os.path.isfile(path) and path in sources:
            raise UsageError(f"a report would overwrite '{path}', which is being checked")
