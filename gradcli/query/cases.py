"""Cases as `gradcli check` and the pytest plugin decide them.

They are records with claims about them, and cases one at a time, in any order. Each case gives the
same result alone as after the others, as pytest's items must.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from gradcli.check.verdicts import Check, Claim, VariableCheck, Verdict, Worst
from gradcli.data import id_text
from gradcli.errors import (
    GradcliError,
    InputError,
    ParseError,
    UnknownFieldError,
    UsageError,
    as_gradcli_error,
    did_you_mean,
)
from gradcli.files.jsonl import InputRecord, parse_record
from gradcli.files.npy import folder_of
from gradcli.language.reading import names_among
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import quantify
from gradcli.language.syntax import Asked, Query, Statement
from gradcli.options import Options
from gradcli.query.programs import (
    Programs,
    UsedNames,
    fill_statement,
    join_records,
    only_follows,
    record_of,
    run_statement,
)
from gradcli.report.outcomes import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    XFAILED,
    XPASSED,
    Outcome,
    given_of,
)
from gradcli.report.records import Record
from gradcli.texts import Source, Span, entry_text, one_line, text_lines

# -- From a case to its outcome: what `gradcli check`, the pytest plugin and the reports have in
# common.


LONGEST_NAME = 80  # most characters in a case's name
_MARK = re.compile(r"#\s*+(skip|xfail)\s*+(?::(.*))?$")


def outcome_of(
    record: Record, name: str, fail_on: tuple[str, ...], seconds: float = 0.0
) -> Outcome:
    """Return the outcome of a case: whether it passed, and the message if not."""
    if record.skip is not None:
        return Outcome(record, name, SKIPPED, record.skip or "no reason given", seconds)
    check = record.check
    details = [] if check is None else details_of(record, check)
    fails = check is not None and check.worst.word in fail_on
    if record.unreached and check is not None:  # undecided, whatever is expected of the case
        status = FAILED if fails else SKIPPED
        return Outcome(record, name, status, check.reason, seconds, details)
    status = ERROR if record.error is not None else FAILED if record.is_refuted or fails else PASSED
    outcome = Outcome(record, name, status, record.xfail, seconds, details)
    if record.xfail is not None and not outcome.is_internal:
        outcome.status = XPASSED if status == PASSED else XFAILED
    return outcome


def details_of(record: Record, check: Check) -> list[str]:
    """Lines that explain a verdict, gravest first."""
    lines = [
        (claim.verdict, _claim_line(claim))
        for claim in check.claims
        if claim.verdict > Verdict.AGREE
    ]
    lines += [
        (part.verdict, _variable_line(name, part))
        for name, part in check.named_parts.items()
        if part.verdict > Verdict.AGREE
    ]
    if not lines and check.reason:
        lines = [(check.verdict, check.reason)]
    point = record.point_text()
    said = [text for _, text in sorted(lines, key=itemgetter(0), reverse=True)]
    return [*said, *check.advice, *([f"at {point}"] if point else [])]


def _claim_line(claim: Claim) -> str:
    if claim.kind == "assert":
        what = f"{claim.text}: " if claim.text else ""
    else:
        what = "claim of the value: " if claim.kind == "value" else f"claim of d/d{claim.of}: "
    said, right = ("right", "left") if claim.kind == "assert" else ("claimed", "true")
    both = (
        ""
        if claim.worst is None
        else _both(claim.worst, said, right, apart=claim.relation in (None, "=="))
    )
    count = (
        f"{claim.wrong[0]} of {claim.wrong[1]} entries"
        if both and claim.wrong is not None and claim.wrong[1] > 1
        else ""
    )
    return what + _join_reasons(
        claim.verdict,
        both,
        count,
        claim.reason,
        claim.difference and f"difference: {claim.difference}",
    )


def _variable_line(name: str, part: VariableCheck) -> str:
    what = {"the value": name, "jvp": "the JVP"}.get(name, f"d/d{name}")
    both = (
        _both(part.worst, "computed")
        if part.worst is not None and part.verdict is Verdict.MISMATCH
        else ""
    )
    count = (
        f"{part.wrong} of {part.entries[1]} entries" if both and part.wrong and part.entries else ""
    )
    kink = part.kinks[0].sides if part.verdict is Verdict.KINK and part.kinks else ""
    return f"{what}: {_join_reasons(part.verdict, both, count, part.reason, kink)}"


def _join_reasons(verdict: Verdict, *parts: str | None) -> str:
    return ", ".join(
        part for part in ("" if verdict is Verdict.MISMATCH else verdict.word, *parts) if part
    )


def _both(worst: Worst, word: str, other: str = "true", apart: bool = True) -> str:
    text = f"{word} {worst.engine!r}"
    if other != "true" or math.isfinite(worst.reference):
        text += f", {other} {worst.reference!r}"
    text = f"{entry_text('', worst.index)} {text}".lstrip()
    if worst.at is not None:
        return f"{text}, at " + " ".join(f"{name}={value!r}" for name, value in worst.at.items())
    off = abs(worst.engine - worst.reference)
    if apart and math.isfinite(off) and worst.reference:
        ulps = off / math.ulp(worst.reference)
        return (
            f"{text} (off by {off:.3g}, relative {off / abs(worst.reference):.3g}, {ulps:.3g} ulp)"
        )
    return text


def marks_of(statement: Statement | GradcliError) -> tuple[str | None, str | None]:
    """Return the mark in a comment at the end of a statement.

    It is ``# skip: reason`` or ``# xfail: reason``; just ``# skip`` gives no reason.
    """
    source, span = statement.source, statement.span
    if source is None or span is None:
        return None, None
    return (
        _marks_in(source, source.line_at(span.end))
        or _marks_in(source, source.line_at(span.start))
        or (None, None)
    )


@lru_cache(4)
def _marks_in(source: Source, line: Span) -> tuple[str | None, str | None] | None:
    """Return the mark of a line, which is searched once for all statements on it."""
    found = _MARK.search(source.text, line.start, line.end)
    if found is None:
        return None
    reason = (found[2] or "").strip()
    return (reason, None) if found[1] == "skip" else (None, reason)


def line_of(statement: Statement | GradcliError) -> int:
    """Return the line on which a statement begins, or an error stands."""
    source, span = statement.source, statement.span
    return 1 if source is None or span is None else source.position(span.start)[0]


def check_statement(
    program: Program, statement: Statement | GradcliError, options: Options, *, id: Any = None
) -> Record | None:
    """Return the record of one statement.

    A statement with names without values is checked at points of its domain.
    """
    skip, xfail = marks_of(statement)
    if skip is not None and isinstance(statement, Asked | GradcliError):
        skipped = unrun(statement, id)
        skipped.skip = skip
        return skipped
    scope = program.scope
    if options.over and isinstance(statement, Asked):
        from gradcli.query.claims import with_ranges

        with quantify(scope, options.over if isinstance(statement, Query) else {}):
            record = _judge(program, with_ranges(statement, options.over), options, id)
    else:
        record = _judge(program, statement, options, id)
    if record is None or only_follows(statement, record):
        return None
    record.xfail = xfail
    return record


def _judge(
    program: Program, statement: Statement | GradcliError, options: Options, id: Any
) -> Record | None:
    """Return the record of a statement at the values of its names, or at points of its domain."""
    from gradcli.query.free_variables import SampledPoints, in_one_statement, lower_freely

    sampled: SampledPoints | None = None

    def fill(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
        nonlocal sampled
        found = SampledPoints(program, lowered, options, id)
        if found.leaves:
            sampled = found
        else:
            fill_statement(program, lowered, record, options)

    with in_one_statement(program.scope) if isinstance(statement, Asked) else nullcontext():
        lower = partial(lower_freely, program, listed=options.wrt or ())
        record = run_statement(program, statement, options, id=id, lower=lower, fill=fill)
        return record if sampled is None else sampled.gravest()


def left_undecided(record: Record, reason: str) -> Record:
    """Mark a record as undecided, with the reason why it was not reached.

    Nothing else is known of it.
    """
    record.unreached = True
    record.check = Check(Verdict.UNDETERMINED, reason=reason)
    return record


def unrun(statement: Statement | GradcliError, id: Any) -> Record:
    """Return the record of a case that is not decided."""
    if isinstance(statement, GradcliError):
        record = Record.of_error(statement, id=id)
        record.error = None
        return record
    return record_of(Record, statement, id)


def name_of(record: Record) -> str:
    """Return the name of a case: its id, else its expression, as pytest shows it."""
    id = id_text(record.id)
    if id.strip():
        return id
    return one_line(record.expr, LONGEST_NAME) or f"line {record.line}"


# -- JSON Lines records, each to its result: what `eval` and `check` share -----------------------


@dataclass(eq=False)
class RecordLines:
    """Lines of JSON Lines files to results, as `eval` takes them.

    Nothing is claimed, and the result is that of the last query.
    """

    skips: ClassVar[bool] = False  # whether records may be skipped and are identified by claims
    programs: Programs
    names: UsedNames
    folder: Path | None = None  # folder of data files; None for that of each file

    def options(self, given: InputRecord, options: Options) -> Options:
        """Return the options of a record that has names and a seed of its own.

        Those of the command line win. Raises UsageError.
        """
        if given.wrt is None and given.seed is None:
            return options
        if given.seed is not None and options.mode != "grad":
            raise UsageError(f"the record has a seed, and --{options.mode} takes none")
        seed = given.seed if options.seed is None and options.mode == "grad" else options.seed
        return options.but(wrt=options.wrt or given.wrt, seed=seed)

    def decide(
        self,
        program: Program,
        given: InputRecord,
        parsed: list[Statement | GradcliError],
        options: Options,
    ) -> Any:
        """Return the result of the record's program, which has not begun."""
        records = (run_statement(program, s, options, id=given.id) for s in parsed)
        return join_records(record for record in records if record) or self._without_query(given)

    def _without_query(self, given: InputRecord) -> Record:
        return Record.of_error(
            ParseError("the program has no query", source=Source(given.expr)), id=given.id
        )

    def results(
        self,
        lines: Iterable[str],
        path: str,
        options: Options,
        first: int = 1,
    ) -> Iterator[Record]:
        """Yield the results of a file's lines, from the ``first`` on."""
        for number, line in enumerate(lines, first):
            if line.strip():
                yield self.result(line, path, number, options)

    def result(
        self,
        line: str,
        path: str,
        number: int,
        options: Options,
        unreached: str | None = None,
    ) -> Record:
        """Return the result of one record.

        If no time is left for a record, its result is its own content, with the reason why it was
        ``unreached``.
        """
        folder = self.folder or folder_of(path)
        known: dict[str, Any] = {}
        try:
            given = parse_record(line, self.programs.limits, folder)
            known = vars(given)
            if self.skips and given.skip is not None:
                record = Record(given.expr, given.id, skip=given.skip)
                self.names.had |= given.at.keys()
            elif unreached is not None:
                record = left_undecided(Record(given.expr, given.id), unreached)
            else:
                record = self._of_given(
                    given, options, f"{'<stdin>' if path == '-' else path}:{number}", folder
                )
                record.expr = given.expr
        except Exception as unforeseen:
            error = as_gradcli_error(unforeseen)
            known = known or error.record
            record = Record.of_error(error, id=known.get("id"), expr=known.get("expr") or "")
        record.meta = known.get("meta")
        record.given = given_of(known.get("given")) if self.skips else None
        record.file = None if path == "-" else path
        record.line = number
        record.column = 1
        record.record_line = True
        return record

    def _of_given(self, given: InputRecord, options: Options, where: str, folder: Path) -> Any:
        """Return the result of a record that is read; ``where`` names its text in messages."""
        programs = self.programs
        deviations: dict[str, Any] = {}
        values = {**self._values(given, options.state, deviations), **programs.values}
        deviations |= programs.deviations
        options = self.options(given, options)
        record: Any = None
        if (
            options.bare
            and not deviations
            and all(claim.of in {*values, "value"} for claim in given.expect)
        ):
            record = programs.cache.in_record(values, Source(given.expr, where), options, given.id)
            mentioned = programs.cache.mentioned
        if record is None:
            program = programs.fresh(
                options.state,
                programs.loader(folder),
                values,
                given.dialect,
                options.dialect,
                deviations,
            )
            program.scope.needed = given.wrt is not None and options.wrt is given.wrt
            lines = text_lines(given.expr)
            read = lines if program.text is None else program.text.keep(lines)
            parsed = list(statements(read, where, program.scope.limits))
            program.foresee(lines)
            if not parsed:
                raise ParseError("the record's 'expr' is empty", span=None)
            _refuse_claims_of_nothing(given, parsed, program)
            record = self.decide(program, given, parsed, options)
            self.names.had |= program.scope.leaves.keys()
            program.end()
            mentioned = program.scope.mentioned
        if programs.values or options.over:
            self.names.mentioned |= mentioned
        if options.freeze:
            self.names.had |= given.at.keys()
        # Names on the command line may be meant for other records.
        if record.error is None and not given.at.keys() <= mentioned:
            record.warnings += UsedNames(mentioned=mentioned).warn_unmentioned(given.at, options)
        return record

    def _values(self, given: InputRecord, state: int, deviations: dict[str, Any]) -> dict[str, Any]:
        """Return the values of a record that the command line does not replace.

        Their standard deviations are added to ``deviations``. Texts are constant expressions.
        Raises InputError.
        """
        values: dict[str, Any] = {
            name: value for name, value in given.at.items() if name not in self.programs.values
        }
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        calculator = self.programs.fresh(state, values={}) if texts else None
        for name, value in texts.items():
            assert calculator is not None
            try:
                values[name], deviation = calculator.uncertain(value, name)
            except GradcliError as error:
                help = (
                    error.help
                    if error.code == "ambiguous"
                    else "write a number, or an expression of numbers"
                )
                raise InputError(
                    f"the value of '{name}' is no number: {error.message}", help=help
                ) from None
            if deviation is not None:
                deviations[name] = deviation
        return values


def _refuse_claims_of_nothing(
    given: InputRecord, parsed: Iterable[Statement | GradcliError], program: Program
) -> None:
    """Raise UnknownFieldError for a record that expects the gradient of an unknown name."""
    claimed = [claim.of for claim in given.expect if claim.of != "value"]
    if not claimed:
        return
    bound, mentioned = names_among(parsed)
    names = sorted(bound.union(program.scope.names, mentioned))
    for name in claimed:
        if name not in names:
            raise UnknownFieldError(
                f"'expect' has the gradient of '{name}', which the record does not have",
                help=did_you_mean(
                    name, names, f"the names are {', '.join(names[:20])}" if names else None
                ),
            )


@dataclass(eq=False)
class CheckedLines(RecordLines):
    """Records as `check` takes them, with their expectations.

    Their own tolerances hold unless the command line has some.
    """

    skips = True
    rtol: float | None = None
    atol: float | None = None

    def options(self, given: InputRecord, options: Options) -> Options:
        options = super().options(given, options)
        if not given.expect and given.rtol is None and given.atol is None:
            return options
        return options.but(
            claims=given.expect,
            rtol=given.rtol if self.rtol is None and given.rtol is not None else options.rtol,
            atol=given.atol if self.atol is None and given.atol is not None else options.atol,
        )

    def decide(
        self,
        program: Program,
        given: InputRecord,
        parsed: list[Statement | GradcliError],
        options: Options,
    ) -> Record:
        """Return the first wrong record of a program, else its last query, else its last assert."""
        result: Record | None = None
        for record in records_with_claims(program, parsed, given.expr, options, given.id):
            if result is None or record.mode != "assert":
                result = record
            if outcome_of(record, "", options.fail_on).bad:
                result = record
                break
        result = result or self._without_query(given)
        result.xfail = result.xfail if given.xfail is None else given.xfail
        return result


def records_with_claims(
    program: Program, parsed: list[Statement | GradcliError], text: str, options: Options, id: Any = None,
    decide: Callable[..., Record | None] = check_statement,
) -> Iterator[Record]:  # fmt: skip
    """Yield the records of a program; the claims of its options are about its last query."""
    last = max(
        (i for i, statement in enumerate(parsed) if isinstance(statement, Query)), default=None
    )
    unclaimed = options.but(claims=()) if options.claims else options
    for i, statement in enumerate(parsed):
        record = decide(program, statement, options if i == last else unclaimed, id=id)
        if record is not None:
            yield record
    if options.claims and last is None:
        yield Record.of_error(
            ParseError(
                "the program has no query that the claims could be about", source=Source(text)
            ),
            id=id,
            expr=text,
        )


@dataclass(frozen=True, eq=False)
class Case:
    """Case that an item decides.

    It is a record in its file, or a query of a program with the statements about it that are no
    queries.
    """

    file: str  # name of the file as shown
    line: int
    records: Callable[[], Iterable[Record]]  # records of its statements; only errors of non-queries
    options: Options

    def outcome(self, name: str) -> Outcome:
        """Return the first outcome that is wrong, else that of the query."""
        found: Outcome | None = None
        for record in self.records():
            record.xfail = None  # pytest handles expected failures itself
            found = outcome_of(record, name, self.options.fail_on)
            if found.bad:
                break
        assert found is not None
        return found


@dataclass(eq=False)
class Runner:
    """One program for a file.

    Queries leave no trace in it, so that each gives the same alone as after the others.
    """

    folder: Path
    statements: list[Statement | GradcliError]
    options: Options
    done: int = 0  # statements that the program has passed
    program: Program | None = None

    def records(self, first: int, last: int) -> Iterator[Record]:
        """Yield the records of the statements from one to another.

        They know the names of the statements before.
        """
        if self.program is None or self.done > first:
            self.program = self._fresh()
            self.done = 0
        for i in range(self.done, last + 1):
            if i >= first or not isinstance(self.statements[i], Asked):
                record = self._run(i)
                if record is not None and i >= first:
                    yield record

    def _run(self, place: int) -> Record | None:
        assert self.program is not None
        self.done = max(self.done, place + 1)
        statement = self.statements[place]
        random = self.program.scope.random.bit_generator
        before = random.state
        try:
            return check_statement(self.program, statement, self.options)
        finally:
            if isinstance(statement, Asked):
                random.state = before

    def _fresh(self) -> Program:
        programs = Programs()
        program = programs.fresh(
            self.options.state, programs.loader(self.folder), usual=self.options.dialect
        )
        program.scope.dialect.to_come = lambda: dict.fromkeys(
            s.source for s in self.statements if s.source is not None
        )
        return program
