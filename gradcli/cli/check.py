"""``gradcli check``: cases to outcomes to reports, and the exit code."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gradcli.checking import FAIL_ON, checked, name_of, outcome_of
from gradcli.cli.arguments import split_binding
from gradcli.cli.endings import BAD_INPUT, FINE, FOUND, INTERRUPTED
from gradcli.cli.job import Job, Request, assignment, choice, folder_of, format_of
from gradcli.cli.settings import settings
from gradcli.errors import GradcliError, ParseError, Source, UsageError
from gradcli.evaluation import ClaimInput, Options, failed
from gradcli.language.program import Program, statements
from gradcli.report.outcomes import ERROR, Outcome, Report, Summary
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict

if TYPE_CHECKING:
    from gradcli.files.jsonl import InputRecord

KINDS = ("text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown")
_BATCH = 16  # records that a process takes at once
_VERDICTS = tuple(v.word for v in Verdict)


@dataclass(eq=False)
class CheckRequest(Request):
    """The options of ``gradcli check`` beside those that it shares with ``eval``."""

    expression: str | None = None
    grad: tuple[str, ...] = ()
    grad_formula: tuple[str, ...] = ()
    fail_on: str | None = None
    rtol: float | None = None
    atol: float | None = None
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


_DEFAULTS = {"atol": 0.0, "points": 16, "jobs": 1, "random_state": 0}


def settled(request: CheckRequest) -> CheckRequest:
    """The request with its settings from pyproject.toml and the defaults. Raises UsageError."""
    found = settings()
    names = ("fail_on", "rtol", "atol", "points", "random_state", "jobs", "timeout")
    given = {name: getattr(request, name) for name in names}
    return replace(request, **{n: found.get(n.replace("_", "-"), _DEFAULTS.get(n)) if v is None else v for n, v in given.items()})


class CheckJob(Job):
    """A checked request: its cases, one after the other."""

    request: CheckRequest
    formats = KINDS

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request)
        self.fail_on = FAIL_ON if request.fail_on is None else tuple(w.strip() for w in request.fail_on.split(",") if w.strip())
        for word in self.fail_on:
            choice("--fail-on", word, _VERDICTS)

    def _positionals(self) -> tuple[str | None, dict[str, str], list[str]]:
        bindings: dict[str, str] = {}
        files: list[str] = list(self.request.files)
        for argument in [unicodedata.normalize("NFC", argument) for argument in self.request.arguments]:
            binding = None if argument == "-" or os.path.exists(argument) else split_binding(argument)
            if binding is None:
                files.append(argument)
            elif binding[0] in bindings:
                raise UsageError(f"the name '{binding[0]}' is bound twice")
            else:
                bindings[binding[0]] = binding[1]
        if self.request.expression is None and not files:
            raise UsageError("nothing to check", help="name files, or give an expression: gradcli check -e 'x**2*sin(x)'")
        if files.count("-") > 1:
            raise UsageError("standard input is named twice")
        return self.request.expression, bindings, files

    def _options(self) -> Options:
        request = self.request
        claims = [self._claim(*assignment("--grad", text), formula=False) for text in request.grad]
        claims += [self._claim(*assignment("--grad-formula", text), formula=True) for text in request.grad_formula]
        if claims and request.expression is None:
            raise UsageError("--grad is about an expression", help="give it with -e")
        options = super()._options()
        return replace(
            options, formula=False, check=True, decide_asserts=True, rtol=request.rtol, atol=request.atol, claims=tuple(claims), remembering=request.cache,
        )  # fmt: skip

    def _claim(self, name: str, text: str, formula: bool) -> ClaimInput:
        if text.startswith("@"):
            from gradcli.files.arrays import load_array

            return ClaimInput(name, numbers=load_array(text[1:], self.limits))
        return ClaimInput(name, text, formula=formula)

    # -- cases -------------------------------------------------------------------------------------------------------

    def tasks(self) -> Iterator[Any]:
        """Pieces of work that are independent of each other, in order."""
        for path in self.files:
            if (self.request.input_format or format_of(path)) == "jsonl":
                yield from self._batches(path)
            else:
                yield "text", path
        if self.expression is not None:
            yield "expression", self.files[-1] if len(self.files) == 1 and format_of(self.files[-1]) == "text" else None

    def _batches(self, path: str) -> Iterator[Any]:
        batch: list[tuple[int, str]] = []
        try:
            for number, line in enumerate(self._lines(path), 1):
                if line.strip():
                    batch.append((number, line))
                if len(batch) == _BATCH:
                    yield "records", path, batch
                    batch = []
        except GradcliError as error:
            yield "failed", path, error
        if batch:
            yield "records", path, batch

    def outcomes(self, task: Any) -> Iterator[Outcome]:
        """The outcomes of one piece of work."""
        kind, path = task[0], task[1]
        if kind == "records":
            records = (self._record(line, folder_of(path), None if path == "-" else path, number) for number, line in task[2])
        elif kind == "text":
            records = self._statements(self._program(self.scope_values, folder_of(path)), self._lines(path), None if path == "-" else path)
        elif kind == "failed":
            records = iter([failed(task[2])])
        else:
            program = self._program(self.scope_values)
            if path is not None and path != "-":
                program = self._program(self.scope_values, folder_of(path))
                for _ in self._statements(program, self._lines(path), path, only_bindings=True):
                    pass
            text = (self.expression or "").removeprefix(" ")
            records = self._statements(program, text.splitlines(keepends=True) or [""], None)
        started = time.perf_counter()
        for record in records:
            now = time.perf_counter()
            yield outcome_of(record, name_of(record), now - started, self.fail_on)
            started = now

    def _statements(self, program: Program, lines: Iterable[str], name: str | None, only_bindings: bool = False) -> Iterator[Record]:
        options = self.options if name is None and not only_bindings else replace(self.options, claims=())
        try:
            for statement in statements(lines, name, self.limits):
                if only_bindings:
                    if not isinstance(statement, GradcliError) and type(statement).__name__ not in ("Query", "Assertion"):
                        program.execute(statement)
                    continue
                record = checked(program, statement, options, self.request.points, self.request.random_state)
                if record is not None:
                    yield record
        except GradcliError as error:
            yield failed(error)

    def _options_of(self, given: InputRecord) -> Options:
        options = super()._options_of(given)
        claims = claims_of(given.raw.get("expect"))
        return replace(options, claims=claims) if claims else options

    def result_of(self, program: Program, given: InputRecord, options: Options, where: str) -> Record:
        skip, xfail = given.raw.get("skip"), given.raw.get("xfail")
        if skip is not None:
            return Record(given.expr, given.id, skip=str(skip))
        parsed = list(statements(given.expr.splitlines(keepends=True), where, self.limits))
        if not parsed:
            return failed(ParseError("the record's 'expr' is empty", span=None), id=given.id, expr=given.expr)
        result: Record | None = None
        for i, statement in enumerate(parsed):
            own = options if i == len(parsed) - 1 else replace(options, claims=())
            record = checked(program, statement, own, self.request.points, self.request.random_state, id=given.id)
            result = record or result
            if record is not None and record.error is not None:
                break
        if result is None:
            return failed(ParseError("the program has no query", source=Source(given.expr)), id=given.id, expr=given.expr)
        result.expr = given.expr
        result.xfail = None if xfail is None else str(xfail)
        return result


class FunctionJob(CheckJob):
    """One Python function and its gradient."""

    def _positionals(self) -> tuple[str | None, dict[str, str], list[str]]:
        if self.request.arguments or self.request.expression or self.request.files:
            raise UsageError("--function is checked alone, without files or expressions")
        return None, {}, []

    def tasks(self) -> Iterator[Any]:
        yield "function", None

    def outcomes(self, task: Any) -> Iterator[Outcome]:
        from gradcli.cli.functions_check import function_outcome

        yield function_outcome(self.request, self.fail_on)


def claims_of(expect: Any) -> tuple[ClaimInput, ...]:
    """What a record expects of its value and gradients. Raises InputError for what cannot be read."""
    from gradcli.errors import InputError
    from gradcli.files.arrays import array_of

    if expect is None:
        return ()
    if not isinstance(expect, dict):
        raise InputError("'expect' must be an object with 'value' or 'grad'")
    found = []
    items = [("value", expect["value"])] if expect.get("value") is not None else []
    for name, claim in [*items, *(expect.get("grad") or {}).items()]:
        if isinstance(claim, dict):
            if not isinstance(claim.get("formula"), str):
                raise InputError(f"'expect': the claim of {name!r} has no 'formula'")
            found.append(ClaimInput(name, claim["formula"], formula=True))
        elif isinstance(claim, str) and not _is_number(claim):
            found.append(ClaimInput(name, claim, formula=True))
        elif claim is not None:
            found.append(ClaimInput(name, numbers=array_of(claim, f"the claim of '{name}'")))
    return tuple(found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- running -------------------------------------------------------------------------------------------------------


def run_check(request: CheckRequest) -> int:
    """Check everything that was asked for, write the reports, and give the exit code."""
    from gradcli.cli.known import Baseline

    try:
        request = settled(request)
        job: CheckJob = FunctionJob(request) if request.function or request.gradient else CheckJob(request)
        reports = _reports(request)
        baseline = Baseline.load(request.baseline)
        if request.update and os.environ.get("CI"):
            raise UsageError("--update is refused under CI: expectations are recorded by people, for review")
    except GradcliError as error:
        print(error.render(), file=sys.stderr)
        return BAD_INPUT
    summary = Summary()
    started = time.perf_counter()
    code = FINE
    try:
        for outcome in _outcomes(job, request):
            known = baseline.applied(outcome)
            summary.add(known)
            for report in reports:
                report.add(known)
            if known.bad:
                code = max(code, BAD_INPUT if known.status == ERROR else FOUND)
                if request.fail_fast:
                    break
    except KeyboardInterrupt:
        summary.interrupted = True
        code = INTERRUPTED
    summary.seconds = time.perf_counter() - started
    for report in reports:
        report.close(summary)
    if request.update:
        from gradcli.cli.known import update

        update(job, request, baseline)
    if not summary.total and not summary.interrupted and not request.allow_empty:
        print("error[usage]: nothing to check; --allow-empty makes that fine", file=sys.stderr)
        return BAD_INPUT
    return code


def _reports(request: CheckRequest) -> list[Report]:
    """The reports that were asked for: one on standard output, and those of ``--report``."""
    from gradcli.report.kinds import make

    wanted = [("-", request.output_format), *((path, kind) for kind, path in (assignment("--report", text) for text in request.reports))]
    for _, kind in wanted:
        choice("--report", kind, KINDS)
    taken = [path for path, _ in wanted if path == "-"]
    if len(taken) > 1:
        wanted = wanted[1:]  # --report KIND=- takes the place of the standard output's own
    found = []
    for path, kind in wanted:
        try:
            stream = sys.stdout if path == "-" else open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"cannot write '{path}': {error.strerror or error}") from None
        found.append(make(kind, stream, verbose=request.verbose))
    return found


def _outcomes(job: CheckJob, request: CheckRequest) -> Iterator[Outcome]:
    if request.jobs <= 1:
        for task in job.tasks():
            yield from job.outcomes(task)
        return
    from gradcli.cli.parallel import in_parallel

    yield from in_parallel(job, request)
