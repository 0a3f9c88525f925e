"""What ``gradcli check`` decides: statements, records and expressions, each with its claims, one outcome after the other."""

from __future__ import annotations

import math
import os
import time
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcli.cli.arguments import split_binding
from gradcli.cli.folders import found_in
from gradcli.cli.idle import refuse_idle_in_check
from gradcli.cli.job import Job, Way
from gradcli.cli.judgements import Judgement, Judgements
from gradcli.cli.naming import claim_of_nothing
from gradcli.cli.words import assignment, folder_of, format_of, most_processes
from gradcli.errors import GradcliError, ParseError, Source, UsageError, text_lines
from gradcli.language.run import Program, sources, statements
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.query.evaluate import failed
from gradcli.query.options import ClaimInput, Options
from gradcli.query.outcome import Names, checked, name_of, outcome_of
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest
    from gradcli.files.jsonl import InputRecord

KINDS = ("text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown")
_WORTH_SHARING = 32  # lines of a program
_SHARES = 10  # of a program for each process: the last one to be done keeps others waiting
_BATCH = 16  # records that a process takes at once


class CheckJob(Job):
    """A checked request: its cases, one after the other."""

    request: CheckRequest
    formats = KINDS
    unbound = True

    def __init__(self, request: CheckRequest) -> None:
        super().__init__(request)
        claims = [self._claim(*assignment("--grad", text), formula=False) for text in request.grad]
        claims += [self._claim(*assignment("--grad-formula", text), formula=True) for text in request.grad_formula]
        if claims and request.expression is None:
            raise UsageError("--grad is about an expression", help="give it with -e")
        self.claims = tuple(claims)
        if self.targets and request.expression is None:
            raise UsageError("--save is about an expression", help="give it with -e")

    def _prepare(self) -> None:
        refuse_idle_in_check(self.request)
        self.judgements = Judgements(self.request, self._options())
        self.way: Judgement = self.way_of(None)
        for path in self.files:
            self.way_of(path)  # what is wrong in a project's settings is said before anything is done

    def way_of(self, path: str | None) -> Judgement:
        return self.judgements.of(path)

    @property
    def jobs(self) -> int:
        """How many processes share the work."""
        return min(self.request.jobs or self.judgements.configuration.of().jobs or 1, most_processes())

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
        return self.request.expression, bindings, found_in(files, self.request.allow_empty)

    def _options(self) -> Options:
        request = self.request
        for name, tolerance in (("rtol", request.rtol), ("atol", request.atol)):
            if tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance)):
                raise UsageError(f"--{name} must be a number from 0, not {tolerance}")
        return replace(
            super()._options(), formula=False, check=True, decide_asserts=True, remembering=request.cache and not request.save, place=None,
        )  # fmt: skip

    def _claim(self, name: str, text: str, formula: bool) -> ClaimInput:
        if text.startswith("@") and not formula:
            from gradcli.files.arrays import load_array

            return ClaimInput(name, numbers=load_array(text[1:], self.limits))
        return ClaimInput(name, text, formula=formula)

    # -- pieces of work ----------------------------------------------------------------------------------------------

    def tasks(self) -> Iterator[Any]:
        """Pieces of work that are independent of each other, in order."""
        together = self.expression is not None and len(self.files) == 1 and not self.holds_records(self.files[0])
        for path in self.files:
            if self.holds_records(path):
                yield from self._batches(path)
            elif together or path == "-" or self.jobs == 1:
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
        size = -(-len(lines) // (_SHARES * self.jobs))
        for start in range(1, len(lines) + 1, size):
            yield "lines", path, range(start, start + size)

    def _batches(self, path: str) -> Iterator[Any]:
        size = _BATCH if self.jobs > 1 else 1  # one process answers a slow pipe line by line
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
        fail_on = self.way_of(task[1]).fail_on
        for record in self._decided(*task):
            title = name_of(record)
            yield outcome_of(record, title if record.record_line else name(title), time.perf_counter() - started, fail_on)
            started = time.perf_counter()

    def _decided(self, kind: str, path: str | None, given: Any = None) -> Iterator[Record]:
        way = self.way_of(path)
        if path is None:
            yield from self._about_expression(self._program(self.scope_values, way), way)
            return
        name = None if path == "-" else path
        if kind == "records":
            for number, line in given:
                yield self.record_of(line, path, number)
        elif kind == "failed":
            self.unread = True
            yield _unreadable(given, name)
        elif kind == "text":
            program = self._program(self.scope_values, way, folder_of(path))
            yield from self._cases(program, self._lines(path), name, way)
            if given:
                yield from self._about_expression(program, self.way)
        else:
            yield from self._cases(self._program(self.scope_values, way, folder_of(path)), self._lines(path), name, way, given)

    # -- records -----------------------------------------------------------------------------------------------------

    def _cases(
        self, program: Program, lines: Iterable[str], name: str | None, way: Judgement, share: range | None = None
    ) -> Iterator[Record]:
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
                    record = _checked(program, statement, way, way.options)
                    if record is not None and ours:
                        yield record
        except GradcliError as error:
            self.unread = True
            if share is None or _line_of(error) in share:
                yield _unreadable(error, name)
        self.seen.add(program.scope)

    def _about_expression(self, program: Program, way: Judgement) -> Iterator[Record]:
        text = self.expression or ""
        parsed = list(statements(text_lines(text) or [""], None, self.limits))
        given = self.digest([*self.request.grad, *self.request.grad_formula])
        for record in self._claimed(program, parsed, text, way, replace(way.options, claims=self.claims), targets=self.targets):
            record.given = given
            yield record
        self.seen.add(program.scope)

    def _claimed(
        self, program: Program, parsed: list[Statement | GradcliError], text: str, way: Judgement, options: Options, id: Any = None,
        targets: dict[str, str] | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """The records of a program, the claims being about its last query, and the masks to save, too."""
        last = max((i for i, statement in enumerate(parsed) if isinstance(statement, Query)), default=None)
        for i, statement in enumerate(parsed):
            record = _checked(program, statement, way, options if i == last else replace(options, claims=()), id)
            if record is not None and targets and i == last:
                from gradcli.cli.saving import save_masks

                save_masks(record, targets)
            if record is not None:
                yield record
        if options.claims and last is None:
            yield failed(ParseError("the program has no query that the claims could be about", source=Source(text)), id=id, expr=text)

    def digest(self, given: Any) -> str | None:
        return given_of(given)

    def _options_of(self, given: InputRecord, way: Way) -> Options:
        options = super()._options_of(given, way)
        return replace(
            options,
            claims=tuple(ClaimInput(claim.of, claim.text, claim.numbers, claim.formula) for claim in given.expect),
            rtol=given.rtol if self.request.rtol is None and given.rtol is not None else options.rtol,
            atol=given.atol if self.request.atol is None and given.atol is not None else options.atol,
        )

    def result_of(self, program: Program, given: InputRecord, way: Way, options: Options, where: str) -> Record:
        """The first that is wrong in a record's program, else its last query, else its last assert."""
        assert isinstance(way, Judgement)
        if given.skip is not None:
            return Record(given.expr, given.id, skip=given.skip)
        result: Record | None = None
        parsed = list(statements(text_lines(given.expr), where, self.limits))
        stray = claim_of_nothing(given, parsed, program)
        if stray is not None:
            return failed(stray, id=given.id, expr=given.expr)
        for record in self._claimed(program, parsed, given.expr, way, options, given.id):
            if result is None or record.mode != "assert":
                result = record
            if outcome_of(record, "", fail_on=way.fail_on).bad:
                result = record
                break
        if result is None:
            reason = "the program has no query" if parsed else "the record's 'expr' is empty"
            result = failed(ParseError(reason, source=Source(given.expr)), id=given.id)
        result.expr = given.expr
        result.xfail = result.xfail if given.xfail is None else given.xfail
        return result


def _checked(program: Program, statement: Statement | GradcliError, way: Judgement, options: Options, id: Any = None) -> Record | None:
    return checked(program, statement, options, way.points, way.state, id=id)


def _unreadable(error: GradcliError, name: str | None) -> Record:
    record = failed(error)
    record.file = record.file or name
    return record


def _line_of(statement: Statement | GradcliError) -> int:
    source, span = statement.source, statement.span
    return 1 if source is None or span is None else source.position(span.start)[0]
