"""What ``gradcli check`` decides: statements, records and expressions, each with its claims, one outcome after the other."""

from __future__ import annotations

import math
import os
import time
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcli.checking import FAIL_ON, POINTS, Names, checked, name_of, outcome_of
from gradcli.cli.arguments import split_binding
from gradcli.cli.job import Job, assignment, choice, folder_of, format_of
from gradcli.errors import GradcliError, InputError, ParseError, Source, UsageError
from gradcli.evaluation import failed
from gradcli.language.program import Program, sources, statements
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.options import ClaimInput, Options
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest
    from gradcli.files.jsonl import InputRecord

KINDS = ("text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown")
CONVENTIONS = ("torch", "jax", "min-norm")
_WORTH_SHARING = 32  # lines of a program
_SHARES = 10  # of a program for each process: the last one to be done keeps others waiting
_BATCH = 16  # records that a process takes at once
_VERDICTS = tuple(v.word for v in Verdict)


class CheckJob(Job):
    """A checked request: its cases, one after the other."""

    request: CheckRequest
    formats = KINDS
    unbound = True

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request)
        self.fail_on = FAIL_ON if request.fail_on is None else tuple(w.strip() for w in request.fail_on.split(",") if w.strip())
        for word in self.fail_on:
            choice("--fail-on", word, _VERDICTS)
        choice("--convention", request.convention or "torch", CONVENTIONS)
        claims = [self._claim(*assignment("--grad", text), formula=False) for text in request.grad]
        claims += [self._claim(*assignment("--grad-formula", text), formula=True) for text in request.grad_formula]
        if claims and request.expression is None:
            raise UsageError("--grad is about an expression", help="give it with -e")
        self.claims = tuple(claims)
        if self.targets and request.expression is None:
            raise UsageError("--save is about an expression", help="give it with -e")

    def _positionals(self) -> tuple[str | None, dict[str, str], list[str]]:
        bindings: dict[str, str] = {}
        files: list[str] = list(self.request.files)
        for argument in self.request.arguments:
            binding = None if argument == "-" or os.path.exists(argument) else split_binding(unicodedata.normalize("NFC", argument))
            if binding is None:
                files.append(argument)
            elif binding[0] in bindings:
                raise UsageError(f"the name '{binding[0]}' is bound twice")
            else:
                bindings[binding[0]] = binding[1]
        if self.request.at:
            raise UsageError("--at is about a --function", help="after -e, bindings follow as they are: x=1,2")
        if self.request.expression is None and not files:
            raise UsageError("nothing to check", help="name files, or give an expression: gradcli check -e 'x**2*sin(x)'")
        if files.count("-") > 1:
            raise UsageError("standard input is named twice")
        return self.request.expression, bindings, files

    def _options(self) -> Options:
        request = self.request
        for name, tolerance in (("rtol", request.rtol), ("atol", request.atol)):
            if tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance)):
                raise UsageError(f"--{name} must be a number from 0, not {tolerance}")
        return replace(
            super()._options(), formula=False, check=True, decide_asserts=True, rtol=request.rtol, atol=request.atol or 0.0,
            remembering=request.cache and not request.save, convention=request.convention, place=None,
        )  # fmt: skip

    def _claim(self, name: str, text: str, formula: bool) -> ClaimInput:
        if text.startswith("@") and not formula:
            from gradcli.files.arrays import load_array

            return ClaimInput(name, numbers=load_array(text[1:], self.limits))
        return ClaimInput(name, text, formula=formula)

    def remarks(self) -> list[str]:
        self.options = replace(self.options, claims=self.claims)
        return super().remarks()

    # -- pieces of work ----------------------------------------------------------------------------------------------

    def tasks(self) -> Iterator[Any]:
        """Pieces of work that are independent of each other, in order."""
        together = self.expression is not None and len(self.files) == 1 and not self.holds_records(self.files[0])
        for path in self.files:
            if self.holds_records(path):
                yield from self._batches(path)
            elif together or path == "-" or (self.request.jobs or 1) == 1:
                yield "text", path, together
            else:
                yield from self._shares(path)
        if self.expression is not None and not together:
            yield "expression", None

    def holds_records(self, path: str) -> bool:
        return (self.request.input_format or format_of(path)) == "jsonl"

    def _shares(self, path: str) -> Iterator[Any]:
        """A program in stretches of lines, whose queries are decided apart; each process runs the bindings before them itself."""
        try:
            lines = list(self._lines(path))
        except GradcliError:
            lines = []  # what is wrong is said once, by the one who reads it as a whole
        if len(lines) < _WORTH_SHARING or any("rand" in line for line in lines):  # numbers are drawn in the order of the program
            yield "text", path
            return
        size = -(-len(lines) // (_SHARES * (self.request.jobs or 1)))
        for start in range(1, len(lines) + 1, size):
            yield "lines", path, range(start, start + size)

    def _batches(self, path: str) -> Iterator[Any]:
        size = _BATCH if (self.request.jobs or 1) > 1 else 1  # one process answers a slow pipe line by line
        batch: list[tuple[int, str]] = []
        error: GradcliError | None = None
        try:
            for number, line in enumerate(self._lines(path), 1):
                if line.strip():
                    batch.append((number, line))
                if len(batch) == size:
                    yield "records", path, batch
                    batch = []
        except GradcliError as unreadable:
            error = unreadable
        if batch:
            yield "records", path, batch
        if error is not None:
            yield "failed", path, error

    def outcomes(self, task: Any) -> Iterator[Outcome]:
        """The outcomes of one piece of work."""
        name = Names()
        started = time.perf_counter()
        for record in self._decided(*task):
            title = name_of(record)
            yield outcome_of(record, title if record.record_line else name(title), time.perf_counter() - started, self.fail_on)
            started = time.perf_counter()

    def _decided(self, kind: str, path: str, given: Any = None) -> Iterator[Record]:
        name = None if path == "-" else path
        if kind == "records":
            for number, line in given:
                yield self._record(line, folder_of(path), name, number)
        elif kind == "failed":
            self.unread = True
            yield _unreadable(given, name)
        elif kind == "text":
            program = self._program(self.scope_values, folder_of(path))
            yield from self._text(program, self._lines(path), name)
            if given:
                yield from self._about_expression(program)
        elif kind == "lines":
            yield from self._text(self._program(self.scope_values, folder_of(path)), self._lines(path), name, given)
        else:
            yield from self._about_expression(self._program(self.scope_values))

    # -- records -----------------------------------------------------------------------------------------------------

    def _text(self, program: Program, lines: Iterable[str], name: str | None, share: range | None = None) -> Iterator[Record]:
        """The records of a program, or of the statements that begin in a share of its lines."""
        try:
            for source in sources(lines, name, self.limits):
                if share is not None and source.first_line >= share.stop:
                    break
                before = share is not None and source.first_line + source.text.count("\n") < share.start
                if before and "=" not in source.text:
                    continue  # nothing that others build on
                for statement in parse_statements(source, self.limits.length):
                    ours = share is None or _line_of(statement) in share
                    if not ours and isinstance(statement, (Query, Assertion, GradcliError)):
                        continue
                    record = self._checked(program, statement, self.options)
                    if record is not None and ours:
                        yield record
        except GradcliError as error:
            self.unread = True
            if share is None or _line_of(error) in share:
                yield _unreadable(error, name)
        self.seen.add(program.scope)

    def _about_expression(self, program: Program) -> Iterator[Record]:
        text = self.expression or ""
        parsed = list(statements(text.splitlines(keepends=True) or [""], None, self.limits))
        yield from self._claimed(program, parsed, text, replace(self.options, claims=self.claims), targets=self.targets)
        self.seen.add(program.scope)

    def _claimed(
        self, program: Program, parsed: list[Statement | GradcliError], text: str, options: Options, id: Any = None,
        targets: dict[str, str] | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """The records of a program, the claims being about its last query, and the masks to save, too."""
        last = max((i for i, statement in enumerate(parsed) if isinstance(statement, Query)), default=None)
        for i, statement in enumerate(parsed):
            record = self._checked(program, statement, options if i == last else replace(options, claims=()), id)
            if record is not None and targets and i == last:
                from gradcli.cli.saving import save_masks

                save_masks(record, targets)
            if record is not None:
                yield record
        if options.claims and last is None:
            yield failed(ParseError("the program has no query that the claims could be about", source=Source(text)), id=id, expr=text)

    def _checked(self, program: Program, statement: Statement | GradcliError, options: Options, id: Any = None) -> Record | None:
        return checked(program, statement, options, self.request.points or POINTS, self.request.random_state or 0, id=id)

    def _options_of(self, given: InputRecord) -> Options:
        return replace(super()._options_of(given), claims=claims_of(given.raw.get("expect")))

    def result_of(self, program: Program, given: InputRecord, options: Options, where: str) -> Record:
        """The first that is wrong in a record's program, else its last query, else its last assert."""
        skip = _reason(given.raw.get("skip"))
        if skip is not None:
            return Record(given.expr, given.id, skip=skip)
        result: Record | None = None
        parsed = list(statements(given.expr.splitlines(keepends=True), where, self.limits))
        for record in self._claimed(program, parsed, given.expr, options, given.id):
            if result is None or record.mode != "assert":
                result = record
            if outcome_of(record, "", fail_on=self.fail_on).bad:
                result = record
                break
        if result is None:
            reason = "the program has no query" if parsed else "the record's 'expr' is empty"
            result = failed(ParseError(reason, source=Source(given.expr)), id=given.id)
        result.expr = given.expr
        result.xfail = _reason(given.raw.get("xfail"), result.xfail)
        return result


def _unreadable(error: GradcliError, name: str | None) -> Record:
    record = failed(error)
    record.file = record.file or name
    return record


def _reason(given: Any, otherwise: str | None = None) -> str | None:
    """Why a record is skipped, or known to fail: text, or just ``true``."""
    return otherwise if given is None or given is False else "" if given is True else str(given)


def claims_of(expect: Any) -> tuple[ClaimInput, ...]:
    """What a record expects of its value and gradients. Raises InputError for what cannot be read."""
    from gradcli.files.arrays import array_of

    if expect is None:
        return ()
    if not isinstance(expect, dict) or not isinstance(expect.get("grad") or {}, dict):
        raise InputError("'expect' must be an object with 'value', or 'grad' by names")
    found = []
    for name, claim in [("value", expect.get("value")), *(expect.get("grad") or {}).items()]:
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


def _line_of(statement: Statement | GradcliError) -> int:
    source, span = statement.source, statement.span
    return 1 if source is None or span is None else source.position(span.start)[0]
