"""Cases as `gradcli check` and the pytest plugin decide them: records with what is claimed of them, and cases one at a time, in any order,
where each gives the same alone as after the others, as pytest's items are to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gradcli.errors import GradcliError, ParseError, Source
from gradcli.files.jsonl import InputRecord
from gradcli.language.run import Program
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.query.baseline import Baseline, Identities
from gradcli.query.evaluate import failed
from gradcli.query.options import ClaimInput, Options, Policy
from gradcli.query.outcome import checked, line_of, outcome_of
from gradcli.query.programs import Programs
from gradcli.query.record_lines import RecordLines
from gradcli.query.unused_names import UsedNames
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record


class CheckedLines(RecordLines):
    """Records as `check` takes them: with what they expect, within their own tolerances unless the command line has some."""

    skips = True

    def __init__(self, programs: Programs, names: UsedNames, rtol: float | None, atol: float | None) -> None:
        super().__init__(programs, names)
        self.rtol, self.atol = rtol, atol

    def options(self, given: InputRecord, options: Options) -> Options:
        if not given.expect and given.rtol is None and given.atol is None:
            return options
        return replace(
            options,
            claims=tuple(ClaimInput(claim.of, claim.text, claim.numbers, claim.formula) for claim in given.expect),
            rtol=given.rtol if self.rtol is None and given.rtol is not None else options.rtol,
            atol=given.atol if self.atol is None and given.atol is not None else options.atol,
        )

    def digest(self, given: Any) -> str | None:
        return given_of(given)

    def decide(self, program: Program, given: InputRecord, parsed: list[Statement | GradcliError], policy: Policy) -> Record:
        """The first that is wrong in a record's program, else its last query, else its last assert."""
        result: Record | None = None
        for record in claimed(program, parsed, given.expr, policy, given.id):
            if result is None or record.mode != "assert":
                result = record
            if outcome_of(record, "", fail_on=policy.fail_on).bad:
                result = record
                break
        if result is None:
            result = failed(ParseError("the program has no query", source=Source(given.expr)), id=given.id)
        result.expr = given.expr
        result.xfail = result.xfail if given.xfail is None else given.xfail
        return result


def claimed(
    program: Program, parsed: list[Statement | GradcliError], text: str, policy: Policy, id: Any = None,
    save: Callable[[Record], None] | None = None, decide: Callable[..., Record | None] = checked,
) -> Iterator[Record]:  # fmt: skip
    """The records of a program, the policy's claims being about its last query, whose record may be saved, too."""
    last = max((i for i, statement in enumerate(parsed) if isinstance(statement, Query)), default=None)
    unclaimed = replace(policy, options=replace(policy.options, claims=())) if policy.options.claims else policy
    for i, statement in enumerate(parsed):
        record = decide(program, statement, policy if i == last else unclaimed, id=id)
        if record is not None and save is not None and i == last and not record.unreached:
            save(record)
        if record is not None:
            yield record
    if policy.options.claims and last is None:
        yield failed(ParseError("the program has no query that the claims could be about", source=Source(text)), id=id, expr=text)


class Case(Protocol):
    """A case that an item decides."""

    @property
    def file(self) -> str:
        """The file it stands in, as it is shown."""

    @property
    def line(self) -> int:
        """The line there."""

    def outcome(self, name: str) -> Outcome:
        """The outcome of the case, under a name."""


class Known(NamedTuple):
    """A baseline's knowledge of a case, which is the ``number``-th of those that are equal to it."""

    baseline: Baseline
    number: int

    def applied(self, outcome: Outcome) -> Outcome:
        """The outcome, excused if it is a known failure."""
        if self.baseline.path is None or not outcome.bad:
            return outcome
        outcome.identity = replace(Identities(self.baseline.path).of(outcome), number=self.number)
        return self.baseline.applied(outcome)


@dataclass(frozen=True, eq=False)
class RecordCase:
    """A record in its file."""

    reader: RecordLines
    path: Path
    file: str  # the path as it is shown
    line: int
    text: str
    policy: Policy

    def outcome(self, name: str) -> Outcome:
        record = self.reader.result(self.text, self.file, self.line, self.policy, self.path.parent)
        record.xfail = None  # which is pytest's affair
        return outcome_of(record, name, fail_on=self.policy.fail_on)


@dataclass(frozen=True, eq=False)
class Statements:
    """The place of an item in its program: the statements from ``first`` to ``last`` are its own, ``asked`` the one in question."""

    runner: Runner
    file: str  # the path as it is shown
    first: int
    asked: int
    last: int

    @property
    def line(self) -> int:
        return line_of(self.runner.statements[self.asked])

    def outcome(self, name: str) -> Outcome:
        """The first that is wrong of what the item's own statements give."""
        found: Outcome | None = None
        self.runner.advance(self.first)
        for i in range(self.first, self.last + 1):
            record = self.runner.run(i)
            if record is not None:
                record.xfail = None  # which is pytest's affair
                outcome = outcome_of(record, name, fail_on=self.runner.policy.fail_on)
                if outcome.bad:
                    return outcome
                found = outcome if i == self.asked else found
        assert found is not None
        return found


class Runner:
    """One program for a file. Queries leave no trace in it, so that each gives the same alone as after the others."""

    def __init__(self, folder: Path, statements: list[Statement | GradcliError], policy: Policy) -> None:
        self.folder = folder
        self.statements = statements
        self.policy = policy
        self.done = 0  # statements that the program has been through
        self.program: Program | None = None

    def advance(self, place: int) -> None:
        """Make the names those before the statement at a place."""
        if self.program is None or self.done > place:
            self.program, self.done = self._fresh(), 0
        for i in range(self.done, place):
            if not isinstance(self.statements[i], (Query, Assertion)):
                self.run(i)
        self.done = place

    def run(self, place: int) -> Record | None:
        assert self.program is not None
        self.done = max(self.done, place + 1)
        statement = self.statements[place]
        random = self.program.scope.random.bit_generator
        before = random.state
        try:
            return checked(self.program, statement, self.policy)
        finally:
            if isinstance(statement, (Query, Assertion)):
                random.state = before

    def _fresh(self) -> Program:
        programs = Programs()
        program = programs.fresh(self.policy.state, programs.loader(self.folder), usual=self.policy.dialect)
        program.scope.dialect.foresee(lambda: dict.fromkeys(s.source for s in self.statements if s.source is not None))
        return program
