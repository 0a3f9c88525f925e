"""``gradcli check``: cases to outcomes to reports, and the exit code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

from gradcli.cli.cases import KINDS, CheckJob
from gradcli.cli.eval import say_remarks
from gradcli.cli.exit_codes import BAD_INPUT, FINE, FOUND, INTERRUPTED, is_closed_pipe
from gradcli.cli.request import Request
from gradcli.cli.words import assignment, choice
from gradcli.errors import GradcliError, OutputError, UsageError
from gradcli.report.outcomes import ERROR, Outcome, Report, Summary


@dataclass(eq=False, repr=False)
class CheckRequest(Request):
    """The options of ``gradcli check`` beside those that it shares with ``eval``."""

    expression: str | None = None
    grad: tuple[str, ...] = ()
    grad_formula: tuple[str, ...] = ()
    fail_on: str | None = None
    rtol: float | None = None
    atol: float | None = None
    convention: str | None = None
    points: int | None = None
    jobs: int | None = None
    reports: tuple[str, ...] = ()
    update: bool = False
    baseline: str | None = None
    allow_empty: bool = False
    verbose: bool = False
    cache: bool = True
    function: str | None = None
    gradient: str | None = None
    at: tuple[str, ...] = ()
    config: str | None = None
    format_given: bool = False  # rather than the default
    words: tuple[str, ...] = ()  # the arguments as they were typed


def run_check(request: CheckRequest) -> int:
    """Check everything that was asked for, write the reports, and give the exit code."""
    from gradcli.cli.baseline import Baseline, Identities
    from gradcli.cli.expectations import update
    from gradcli.cli.progress import Progress

    try:
        job = _job(request)
        _refuse_update(request, job)
        baseline = Baseline.load(request)
        if request.update and baseline.path is None:
            update(job)
        reports = Reports(request, job)
    except GradcliError as error:
        print(error.render(), file=sys.stderr)
        return BAD_INPUT
    for who in job.judgements.lenient([*job.files, *([] if job.files and job.expression is None else [None])]):
        print(f"note: {who} is empty: no verdict fails here, only errors and false asserts do", file=sys.stderr)
    identities = Identities(baseline.path)
    summary = Summary()
    started = time.perf_counter()
    code = FINE
    try:
        with closing(_outcomes(job, request)) as outcomes, Progress(_wants_progress(request)) as progress:
            for outcome in outcomes:
                outcome.identity = identities.of(outcome)
                known = baseline.applied(outcome)
                summary.add(known)
                progress.add(known)
                reports.add(known)
                if known.bad:
                    code = max(code, BAD_INPUT if known.status == ERROR else FOUND)
                    if request.fail_fast:
                        break
            else:
                code = max(code, say_remarks(job))
    except KeyboardInterrupt:
        summary.interrupted = True
        code = INTERRUPTED
    summary.seconds = time.perf_counter() - started
    try:
        if not summary.interrupted:
            for line in baseline.closed(set(identities.roots.values()), partial=request.fail_fast and code != FINE):
                print(line, file=sys.stderr)
    except GradcliError as error:
        print(error.render(), file=sys.stderr)
        code = BAD_INPUT
    reports.close(summary)
    if not summary.total and not summary.interrupted and not request.allow_empty:
        print("error[usage]: nothing to check; --allow-empty makes that fine", file=sys.stderr)
        return BAD_INPUT
    return code


def _job(request: CheckRequest) -> CheckJob:
    if request.function or request.gradient:
        from gradcli.cli.functions_check import FunctionJob

        return FunctionJob(request)
    return CheckJob(request)


def _refuse_update(request: CheckRequest, job: CheckJob) -> None:
    if not request.update:
        return
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError("--update is refused under CI: expectations are recorded by people, for review")
    if request.fail_fast:
        raise UsageError("--update and --fail-fast exclude each other")
    if request.baseline is None and not any(path != "-" and job.holds_records(path) for path in job.files):
        raise UsageError("--update records expectations in JSON Lines files, or failures in --baseline: there is neither")


def _outcomes(job: CheckJob, request: CheckRequest) -> Generator[Outcome, None, None]:
    if job.jobs > 1 and not request.function:
        from gradcli.cli.parallel import in_parallel

        return in_parallel(job, request)
    return (outcome for task in job.tasks() for outcome in job.outcomes(task))


def _wants_progress(request: CheckRequest) -> bool:
    """Whether standard error is a terminal that can show it, and no report is being written to the same screen."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    kinds = [kind for kind, path in (assignment("--report", text) for text in request.reports) if path == "-"] or [request.output_format]
    return not sys.stdout.isatty() or (kinds == ["text"] and not request.verbose)


class Reports:
    """The reports that were asked for: one on standard output, unless ``--report KIND=-`` takes its place, and those in files."""

    def __init__(self, request: CheckRequest, job: CheckJob) -> None:
        from gradcli.report.kinds import make

        settings = job.judgements.configuration.of()
        wanted = [assignment("--report", text) for text in request.reports or settings.report or ()]
        if request.format_given:  # which wins against a setting, and is refused beside a --report on standard output
            wanted = [(kind, path) for kind, path in wanted if path != "-"]
        for kind, _ in wanted:
            choice("--report" if request.reports else f"report of {settings.path}", kind, KINDS)
        if not any(path == "-" for _, path in wanted):
            wanted.append((request.output_format, "-"))
        paths = [os.path.realpath(path) for _, path in wanted if path != "-"]
        for path in paths:
            if paths.count(path) > 1 or (os.path.isfile(path) and path in map(os.path.realpath, job.files)):
                raise UsageError(f"a report would overwrite '{path}', which is {'another' if paths.count(path) > 1 else 'being checked'}")
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
        self.shown: list[Report] = [make(kind, sys.stdout, verbose=request.verbose) for kind, path in wanted if path == "-"]
        self.filed: list[Report] = []
        self.broken: OSError | None = None
        for kind, path in wanted:
            if path != "-":
                self.filed.append(_opened(kind, path, request.verbose))

    def add(self, outcome: Outcome) -> None:
        for report in self.filed:
            report.add(outcome)
        try:
            for report in self.shown:
                report.add(outcome)
        except OSError as error:  # nobody reads on: that ends the run, unless files are still to be written
            if not self.filed or not is_closed_pipe(error):
                raise
            self.shown, self.broken = [], error

    def close(self, summary: Summary) -> None:
        for report in self.filed:
            report.close(summary)
            report.stream.close()
        for report in self.shown:
            report.close(summary)
        if self.broken is not None:
            raise self.broken


def _opened(kind: str, path: str, verbose: bool) -> Report:
    from gradcli.report.kinds import make

    try:
        stream = open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror or error}") from None
    return make(kind, stream, verbose=verbose)
