"""The command ``gradcli check``, with its outcomes and reports.

It checks files and expressions, a Python function, or the functions of the settings in addition to
files and expressions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import closing

from gradcli.cli import process
from gradcli.cli.commands import CheckRequest
from gradcli.cli.decide.cases import Cases, Repeating, Work
from gradcli.cli.decide.running import Inputs, say_remarks
from gradcli.cli.decide.subjects import OF_FUNCTIONS, expression_apart
from gradcli.cli.process import BAD_INPUT, FINE, FOUND, INTERNAL, INTERRUPTED, code_of, say
from gradcli.cli.write.reports import Progress, Reports
from gradcli.errors import GradcliError, UsageError
from gradcli.query.baseline import Baseline, Identities
from gradcli.report.outcomes import ERROR, Outcome, Summary
from gradcli.storage import path_text
from gradcli.texts import printable


def check(request: CheckRequest) -> int:
    """Check everything that was asked for, and write the reports."""
    request = expression_apart(
        request.but(output_format=request.output_format or "text", format_given=request.output_format is not None)
    )  # fmt: skip
    work = work_of(request)
    settings = work.file_options.settings()
    known = settings.baseline if request.line is None else None
    _refuse_update(request, known, work.inputs)
    baseline = Baseline.load(known, request.update, request.words)
    if request.update and known is None and isinstance(work, Cases):
        from gradcli.cli.write.expectations import update

        update(work.inputs.record_files(), work.result)
    reports = Reports(request, settings, work.inputs.files)
    _say_who_is_lenient(work)
    results = Results(baseline, Repeating(request, work.inputs))
    results.summary.unchanged, results.summary.since = work.unchanged, request.changed_since
    try:
        with (
            closing(_outcomes(work, request)) as outcomes,
            Progress(_shows_progress(request, reports.shown)) as progress,
        ):
            for outcome in outcomes:
                process.raise_interrupt()
                counted = results.add(outcome)
                progress.add(counted)
                reports.add(counted)
                if request.fail_fast and results.code:
                    break
            else:
                results.meet(say_remarks(work.remarks))
    except KeyboardInterrupt:
        results.summary.interrupted, results.code = True, INTERRUPTED
    results.end(partial=work.unchanged > 0 or (request.fail_fast and results.code != FINE))
    results.meet(INTERNAL if reports.unwritten else FINE)
    reports.close(results.summary)
    if results.is_empty and not request.allow_empty and not work.unchanged:
        if request.line is not None:
            raise UsageError(
                f"there is nothing to check in line {request.line} of '{work.inputs.files[0]}'"
            )
        raise UsageError("nothing to check; --allow-empty makes that fine")
    return results.code


def _outcomes(work: Work, request: CheckRequest) -> Generator[Outcome, None, None]:
    if work.processes > 1:
        from gradcli.cli.decide.parallel import in_parallel

        return in_parallel(work, request.but(changed_since=None), work_of)
    return (outcome for piece in work.pieces() for outcome in work.outcomes(piece))


def _refuse_update(request: CheckRequest, baseline: str | None, inputs: Inputs) -> None:
    if not request.update:
        return
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError(
            "--update is refused under CI: expectations are recorded by people, for review"
        )
    if baseline is None and not inputs.record_files():
        raise UsageError(
            "--update records expectations in JSON Lines files, or failures in --baseline: there "
            "is neither"
        )


def _say_who_is_lenient(work: Work) -> None:
    files, expression = work.inputs.files, work.inputs.expression
    for who in work.file_options.lenient(
        [*files, *([] if files and expression is None else [None])]
    ):
        say(
            f"note: {printable(who)} is empty: no verdict fails here, only errors and false "
            "asserts do"
        )


def _shows_progress(request: CheckRequest, kinds: list[str]) -> bool:
    """Tell whether to show progress.

    Standard error has to be a terminal that can show it, and no report may be written to the same
    screen.
    """
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return not sys.stdout.isatty() or (kinds == ["text"] and not request.verbose)


def work_of(request: CheckRequest) -> Work:
    """Return what there is to decide. Raises GradcliError for what is wrong with the request."""
    if any(request.given_options(OF_FUNCTIONS)):
        from gradcli.cli.decide.functions import OneFunction

        return OneFunction(request)
    if not request.functions:
        cases = Cases(request)
        _say_what_is_left_out(request, cases)
        return cases
    from gradcli.cli.decide.functions import ListedFunctions

    functions = ListedFunctions(request)
    if not _names_inputs(request) and not functions.file_options.settings().files:
        return functions
    return Cases(request, functions)


def _names_inputs(request: CheckRequest) -> bool:
    return bool(request.arguments or request.files or request.expression is not None)


def _say_what_is_left_out(request: CheckRequest, cases: Work) -> None:
    """Functions that the settings list are code, which runs where somebody says so."""
    settings = cases.file_options.settings()
    if settings.functions and settings.path is not None and not _names_inputs(request):
        count = f"{len(settings.functions):,} function{'s' * (len(settings.functions) != 1)}"
        say(
            f"note: {count} of {printable(path_text(settings.path))} left out: --functions checks "
            "them, too, and so runs them"
        )


# -- What has come of a check so far: each outcome identified, excused if it is a known failure,
# and counted.


class Results:
    """Outcomes as they count, with their summary and the exit code that follows."""

    def __init__(self, baseline: Baseline, repeating: Repeating) -> None:
        self.summary = Summary()
        self.code = FINE
        self._baseline, self._identities, self._repeating = (
            baseline,
            Identities(baseline.path),
            repeating,
        )
        self._started = time.perf_counter()

    def add(self, outcome: Outcome) -> Outcome:
        """Add an outcome, and return it as it counts."""
        outcome.identity = self._identities.of(outcome)
        counted = self._baseline.apply(outcome)
        self.summary.add(counted)
        if counted.bad:
            counted.repeat = counted.repeat or self._repeating.command(counted.record)
            self.meet(
                FOUND
                if counted.record.error is None or counted.status != ERROR
                else code_of(counted.record.error)
            )
        return counted

    def meet(self, code: int) -> None:
        """Something that has an exit code: the largest one is the run's."""
        self.code = max(self.code, code)

    def end(self, partial: bool) -> None:
        """End the work, all of it or ``partial``.

        A recording is saved, and entries of the baseline that were in vain are reported.
        """
        self.summary.seconds = time.perf_counter() - self._started
        if self.summary.interrupted:
            return
        try:
            for line in self._baseline.close(
                set(self._identities.roots.values()), partial or self.summary.unreached > 0
            ):
                say(line)
        except GradcliError as error:
            say(error.render())
            self.code = BAD_INPUT

    @property
    def is_empty(self) -> bool:
        """Return whether the work is done, and there was none."""
        return not self.summary.total and not self.summary.interrupted
