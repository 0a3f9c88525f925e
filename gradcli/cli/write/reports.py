"""The reports and the progress of a check.

One report goes to standard output, unless ``--report KIND=-`` takes its place; others go to files.
"""

from __future__ import annotations

import io
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from shutil import get_terminal_size
from typing import Self

from gradcli.cli.commands import CheckRequest
from gradcli.cli.process import hint, is_styled, prepare
from gradcli.errors import UsageError, one_of
from gradcli.files.settings import Settings
from gradcli.options import assignment
from gradcli.report.outcomes import ERROR, KINDS, Outcome, Report, Summary, make
from gradcli.report.records import as_error
from gradcli.storage import Replacement, cannot_write, real
from gradcli.texts import one_line


class Reports:
    """All that are asked for, by options or by settings.

    Raises UsageError and OutputError for what cannot be written.
    """

    def __init__(self, request: CheckRequest, settings: Settings, checked: Iterable[str]) -> None:
        wanted = sorted(wanted_reports(request, settings), key=lambda pair: pair[1] == "-")
        _refuse_overwriting([real(path) for _, path in wanted if path != "-"], checked)
        self.all = [WrittenReport(kind, path, request) for kind, path in wanted]
        self.shown = [kind for kind, path in wanted if path == "-"]
        self.unwritten = 0  # outcomes that a report has replaced with an error

    def add(self, outcome: Outcome) -> None:
        """Say an outcome in all reports. Raises what none of them can be written for any more."""
        for each in self.all:
            self.unwritten += not each.attempt(partial(report_outcome, each.report, outcome))
        if all(each.broken for each in self.all) and self.all[0].broken:
            raise self.all[0].broken

    def close(self, summary: Summary) -> None:
        """Write what stands at the end. Raises what could not be written, after all that could."""
        for each in self.all:
            each.close(summary)
        for each in self.all:
            if each.broken is not None:
                raise each.broken


def report_outcome(report: Report, outcome: Outcome) -> bool:
    """Give a report an outcome, or an error in its place; whether it was the outcome itself."""
    try:
        report.add(outcome)
    except OSError:
        raise
    except Exception as error:
        record = as_error(replace(outcome.record, relations=[], refuted=[]), error)
        report.add(
            replace(
                outcome,
                record=record,
                name=f"line {record.line}",
                status=ERROR,
                reason=None,
                details=[],
                identity=None,
            )
        )
        return False
    return True


class WrittenReport:
    """A report on standard output, or one that takes the place of a file when it is complete.

    Raises OutputError at first.

    broken  why it cannot be written any more, whatever becomes of the others
    """

    def __init__(self, kind: str, path: str, request: CheckRequest) -> None:
        self.path = path
        self.broken: Exception | None = None
        self.new: Replacement | None = None
        if path == "-":
            prepare(kind)
            self.report = _standard_report(kind, request)
            return
        try:
            self.new = Replacement(path)
        except OSError as error:
            raise cannot_write(path, error) from None
        stream = io.TextIOWrapper(
            self.new.file, encoding="utf-8", errors="backslashreplace", newline="\n"
        )
        self.report = make(kind, stream, verbose=request.verbose)

    def close(self, summary: Summary) -> None:
        self.attempt(partial(self.report.close, summary))
        if self.new is not None:
            self.attempt(self.report.stream.flush)
            self.attempt(self.new.finish)

    def attempt(self, act: Callable[[], object]) -> bool:
        """Act, unless that has failed before.

        Return whether an outcome could be reported, rather than an error in its place.
        """
        if self.broken is None:
            try:
                return act() is not False
            except OSError as error:
                self.broken = error if self.new is None else cannot_write(self.path, error)
                if self.new is not None:
                    self.new.leave()
        return True


def _standard_report(kind: str, request: CheckRequest) -> Report:
    """Return a report on standard output, in colour for people where it takes colours."""
    if kind == "text" and is_styled(request.color):
        from gradcli.cli.write.terminal_report import TerminalReport

        return TerminalReport(sys.stdout, request.verbose, request.quiet, request.color)
    return make(kind, sys.stdout, verbose=request.verbose, quiet=request.quiet)


def wanted_reports(request: CheckRequest, settings: Settings) -> list[tuple[str, str]]:
    """Kinds and files of all reports; a ``--format`` wins against a setting.

    Raises UsageError, also for options that are about none.
    """
    wanted = [assignment("--report", text) for text in request.reports or settings.report or ()]
    for kind, _ in wanted:
        one_of("--report" if request.reports else f"report of {settings.path}", kind, KINDS)
    shown = [kind for kind, path in wanted if path == "-"]
    if request.format_given or not shown:
        one_of("--format", request.output_format, KINDS)
        if shown and request.reports:
            raise UsageError(
                f"--format {request.output_format} and --report {shown[0]}=- are both about "
                "standard output",
                help=f"write --report {request.output_format}=- for both",
            )
        wanted, shown = (
            [*((kind, path) for kind, path in wanted if path != "-"), (request.output_format, "-")],
            [request.output_format],
        )
    for kinds, word in (
        (shown, "quiet"),
        (shown, "color=always"),
        ([kind for kind, _ in wanted], "verbose"),
    ):
        if "text" not in kinds and (option := request.as_typed(word)):
            raise UsageError(
                f"{option} is about the text report, which is not asked for",
                help=f"add --report text=-, or leave {option} out",
            )
    return wanted


def _refuse_overwriting(paths: list[str], checked: Iterable[str]) -> None:
    sources = {real(path) for path in checked}
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(
                f"two reports are about the same file, '{path}'",
                help="write each to a file of its own",
            )
        if os.path.isfile(path) and path in sources:
            raise UsageError(f"a report would overwrite '{path}', which is being checked")


# -- How far a check or a computation is: a line on standard error while it takes long, which goes
# away at the end.


_PATIENCE = 0.5  # seconds before anything is shown


class Progress:
    """Counter of outcomes, which shows the counts if that is wanted.

    It shows them if the work goes on for more than half a second.
    """

    def __init__(self, wanted: bool) -> None:
        self.checked = self.bad = 0
        self.started = time.monotonic()
        self.next = self.started + _PATIENCE if wanted else math.inf  # when it is shown next
        self.shown = ""

    def add(self, outcome: Outcome) -> None:
        self.checked += 1
        self.bad += outcome.bad
        self.show()
        if outcome.bad:  # a report of the failure takes its place
            self.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def line(self) -> str:
        parts = [
            f"{self.checked:,} checked",
            f"{self.bad:,} failed" if self.bad else "",
            f"{time.monotonic() - self.started:.0f} s",
        ]
        return ", ".join(part for part in parts if part)

    def show(self) -> None:
        if time.monotonic() >= self.next:
            self.clear()
            self.shown = one_line(self.line(), get_terminal_size().columns - 1)
            self.next = time.monotonic() + 1 / 8
            hint(self.shown)

    def clear(self) -> None:
        if self.shown:
            hint(f"\r{' ' * len(self.shown)}\r")
            self.shown = ""


class ChunkProgress(Progress):
    """Number of chunks that are done, and how long the others will take."""

    def __init__(self, wanted: bool, chunks: int) -> None:
        super().__init__(wanted)
        self.chunks = chunks

    def finish(self) -> None:
        self.checked += 1
        self.show()

    def line(self) -> str:
        left = (time.monotonic() - self.started) / self.checked * (self.chunks - self.checked)
        minutes, seconds = divmod(round(left), 60)
        return f"{self.checked:,} of {self.chunks:,} chunks, {minutes}:{seconds:02} left"
