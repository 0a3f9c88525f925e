"""What `gradcli check` decides: statements, records and expressions, each with its claims, one outcome after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gradcli.cli.decide.budget import Budget
from gradcli.cli.decide.file_policies import FilePolicies
from gradcli.cli.decide.pieces import (
    OF_EXPRESSION,
    Alone,
    Batch,
    Piece,
    Stretch,
    Unread,
    Whole,
    most_processes,
    nobody,
    piece_of_line,
    pieces,
)
from gradcli.cli.inputs.option_values import assignment, check_options, limits_of
from gradcli.cli.inputs.positionals import Inputs, check_inputs, is_stream, programs_of
from gradcli.cli.request import REPORTS, CheckRequest
from gradcli.cli.write.reports import wanted_kinds
from gradcli.cli.write.saving import save_masks, targets_of
from gradcli.containment import contained
from gradcli.errors import GradcliError, Source, UsageError, text_lines
from gradcli.files.opening import folder_of
from gradcli.files.settings import Configuration
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.query.checked_records import CheckedRecords, claimed
from gradcli.query.options import ClaimInput
from gradcli.query.outcome import checked, line_of, marks_of, name_of, outcome_of, unreached
from gradcli.query.policy import CHECKING, Policy
from gradcli.query.programs import Programs
from gradcli.query.record_lines import RecordLines
from gradcli.query.unused_names import UsedNames, refuse_unknown_in
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict
from gradcli.storage.current_folder import here


@dataclass(frozen=True, eq=False, repr=False)
class Claims:
    """What is said of the command line's expression, and what is done with the record that it is said of."""

    claims: tuple[ClaimInput, ...] = ()
    given: str | None = None  # a digest of them
    save: Callable[[Record], None] | None = None


def cases_of(request: CheckRequest) -> Cases:
    """What a request is about. Raises GradcliError for what is wrong with it."""
    limits = limits_of(request, REPORTS)
    configuration = Configuration(request.config)
    inputs = check_inputs(request, configuration.of())
    targets = targets_of(request.save)
    checking = check_options(request, CHECKING)
    if request.over:
        from gradcli.cli.inputs.box import box_of

        checking = replace(checking, over=box_of(request.over, limits))
    if "html" in wanted_kinds(request, configuration.of()):
        checking = replace(checking, observer=_explain_what_is_wrong)
    policies = FilePolicies(request, checking, configuration)
    policy = policies.of(None)
    for path in inputs.files:
        policies.of(path)  # what is wrong in a project's settings is said before anything is done
    unchanged = 0
    if request.changed_since is not None:
        from gradcli.cli.decide.changes import Changes, Left

        left = Left(Changes(request.changed_since, here())).files(inputs, policies.settings)
        unchanged, inputs = len(inputs.files) - len(left), replace(inputs, files=left)
    programs = programs_of(inputs, limits, request.dtype, policy.state, request.dialect)
    if inputs.expression is not None and not inputs.files:
        refuse_unknown_in(inputs.expression, policy.options, programs.values, programs.limits, free=True)
    processes = min(policies.settings().jobs or 1, most_processes()) if request.line is None else 1
    budget = Budget(None if request.update else policies.settings().budget)
    records = CheckedRecords(request.rtol, request.atol)
    cases = Cases(inputs, programs, policies, processes, _claims_of(request, programs, targets), records, budget, request.line)
    cases.unchanged = unchanged
    return cases


def _explain_what_is_wrong(program: Program, lowered: Lowered, wrt: Mapping[str, Expr], record: Record) -> None:
    """Add the explanation of the right gradient to a record whose verdict is another."""
    if record.check is not None and record.check.worst is not Verdict.AGREE:
        from gradcli.explanations.explaining import AskedExplanation, explained

        with suppress(Exception):  # the verdict is told without it
            record.explanation = explained(program, lowered, wrt, record, AskedExplanation(steps=True))


def _claims_of(request: CheckRequest, programs: Programs, targets: dict[str, str]) -> Claims:
    said = [("--grad", text) for text in request.grad] + [("--grad-formula", text) for text in request.grad_formula]
    claims: list[ClaimInput] = []
    for option, text in said:
        name, claim = assignment(option, text)
        if any(name == other.of for other in claims):
            raise UsageError(f"two claims of the gradient by '{name}'", help=f"{option} {text} is the second: leave one out")
        claims.append(_claim(name, claim, option == "--grad-formula", programs))
    for option, given in (("--grad", claims), ("--save", targets)):
        if given and request.expression is None:
            raise UsageError(f"{option} is about an expression", help="give it with -e")
    digest = given_of([*request.grad, *request.grad_formula])
    return Claims(tuple(claims), digest, partial(save_masks, targets=targets) if targets else None)


def _claim(name: str, text: str, formula: bool, programs: Programs) -> ClaimInput:
    if text.startswith("@") and not formula:
        return ClaimInput(name, numbers=programs.loader()(text[1:]))
    return ClaimInput(name, text, formula=formula)


class Cases:
    """The cases of all inputs, and their outcomes."""

    def __init__(
        self, inputs: Inputs, programs: Programs, policies: FilePolicies, processes: int, claims: Claims, records: CheckedRecords,
        budget: Budget, line: int | None = None,
    ) -> None:  # fmt: skip
        self.inputs, self.programs, self.policies, self.processes, self.claims = inputs, programs, policies, processes, claims
        self.budget = budget
        self.line = line  # of the one file, if all else is left out
        self.names, self.unchanged = UsedNames(), 0
        self.begin: Callable[[int], object] = nobody
        self.record_lines = RecordLines(programs, self.names, records)

    def pieces(self) -> Iterator[Piece]:
        """The work, cut for so many processes, in order."""
        if self.line is not None:
            self.names.unread = True
            return iter([piece_of_line(self.inputs, self.programs.limits, self.line)])
        return pieces(self.inputs, self.programs.limits, self.processes)

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        """The outcomes of one piece of work, but for what stands in some of its lines."""
        policy = self.policies.of(piece.path)
        started = time.perf_counter()
        try:
            for record in self._records(piece, policy, without):
                seconds = time.perf_counter() - started
                yield outcome_of(record, name_of(record), seconds, policy.fail_on)
                started = time.perf_counter()
        except Exception as error:  # around a record: in reading, in naming it
            record = Record.of_error(contained(error))
            record.file = piece.path
            yield outcome_of(record, name_of(record), time.perf_counter() - started, policy.fail_on)

    def remarks(self) -> list[str]:
        """What is to be said when all is done. Raises an error for names in wrt and freeze that nobody has."""
        options = replace(self.policies.of(None).options, claims=self.claims.claims)
        return self.names.remarks(self.programs.values, options, several=bool(self.inputs.files), free=True)

    def result(self, line: str, path: str, number: int) -> Record:
        """The result of one record of a file."""
        return self.record_lines.result(line, path, number, self.policies.of(path))

    def _records(self, piece: Piece, policy: Policy, without: Collection[int | None]) -> Iterator[Record]:
        match piece:
            case Batch(path, lines):
                for number, line in lines:
                    if number not in without:
                        self.begin(number)
                        yield self.budget.within(
                            partial(self.result, line, path, number), partial(self.record_lines.unreached, line, path, number)
                        )
            case Unread(path, error):
                self.names.unread = True
                yield _unreadable(error, path)
            case Whole(path, with_expression):
                program = self._program(policy, path)
                yield from self._of_program(program, piece, policy, without)
                if with_expression and OF_EXPRESSION not in without:
                    yield from self._of_expression(program, self.policies.of(None))
            case Stretch(path):
                yield from self._of_program(self._program(policy, path), piece, policy, without)
            case Alone() if OF_EXPRESSION not in without:
                yield from self._of_expression(self.programs.fresh(policy.state, self.programs.loader(), usual=policy.dialect), policy)

    def _program(self, policy: Policy, path: str) -> Program:
        return self.programs.fresh(policy.state, self.programs.loader(folder_of(path)), usual=policy.dialect)

    def _of_program(self, program: Program, piece: Whole | Stretch, policy: Policy, without: Collection[int | None]) -> Iterator[Record]:
        """The records of a program, or of the statements in a stretch of its lines."""
        limits, path = self.programs.limits, piece.path
        stretch = piece if isinstance(piece, Stretch) else None
        try:
            lines = self.inputs.lines(path, limits)
            for source in program.sources(lines, None if path == "-" else path, stream=is_stream(path)):
                if stretch is not None and source.first_line >= stretch.lines.stop:
                    break
                if stretch is not None and not stretch.drawing and _is_idle_before(source, stretch.lines):
                    continue
                for statement in parse_statements(source, limits.length):
                    line = line_of(statement)
                    ours = stretch is None or line in stretch.lines or (stretch.touch and _touches(statement, stretch.lines))
                    asked = isinstance(statement, (Query, Assertion, GradcliError))
                    if line in without or (asked and not ours and stretch is not None and not stretch.drawing):
                        continue
                    self.begin(line)
                    record = self._checked(program, statement, policy)
                    if record is not None and ours:
                        yield record
        except Exception as unforeseen:
            error = contained(unforeseen)
            self.names.unread = True
            if stretch is None or line_of(error) in stretch.lines:
                yield _unreadable(error, path)
        self.names.add(program.scope)

    def _checked(self, program: Program, statement: Statement | GradcliError, policy: Policy, *, id: Any = None) -> Record | None:
        """The record of one statement, in the time that is left of the run."""
        decide = partial(checked, program, statement, policy, id=id)
        if isinstance(statement, GradcliError) or marks_of(statement)[0] is not None:
            return decide()
        asked = statement if isinstance(statement, (Query, Assertion)) else None
        return self.budget.within(decide, lambda reason: None if asked is None else unreached(asked, reason, id))

    def _of_expression(self, program: Program, policy: Policy) -> Iterator[Record]:
        text = self.inputs.expression or ""
        self.begin(OF_EXPRESSION)
        parsed = list(statements(text_lines(text) or [""], None, self.programs.limits))
        program.foresee(text_lines(text))
        policy = replace(policy, options=replace(policy.options, claims=self.claims.claims))
        for record in claimed(program, parsed, text, policy, save=self.claims.save, decide=self._checked):
            record.given = self.claims.given
            yield record
        self.names.add(program.scope)


def _is_idle_before(source: Source, lines: range) -> bool:
    """Whether a logical line stands before these lines, and holds nothing that others build on."""
    return source.first_line + source.text.count("\n") < lines.start and "=" not in source.text and "import" not in source.text


def _touches(statement: Statement | GradcliError, lines: range) -> bool:
    """Whether a statement stands in one of these lines, though it may begin above them."""
    source, span = statement.source, statement.span
    if source is None or span is None:
        return False
    return source.position(span.start)[0] < lines.stop and lines.start <= source.position(span.end)[0]


def _unreadable(error: GradcliError, path: str) -> Record:
    record = Record.of_error(error)
    record.file = record.file or (None if path == "-" else path)
    return record
