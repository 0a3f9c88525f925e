"""JSON Lines records, each to its result: what `eval` and `check` share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from gradcli.containment import contained
from gradcli.errors import GradcliError, InputError, ParseError, Source, UnknownFieldError, UsageError, suggestion, text_lines
from gradcli.files.jsonl import InputRecord, parse_record
from gradcli.files.opening import folder_of
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query, Statement
from gradcli.query.evaluate import run_statement
from gradcli.query.options import Options
from gradcli.query.policy import Policy
from gradcli.query.programs import Programs
from gradcli.query.unused_names import UsedNames, names_among
from gradcli.report.records import Record


class Treatment(Protocol):
    """What is made of a record that is read."""

    def options(self, given: InputRecord, options: Options) -> Options:
        """What is computed, where a record says more than names and a seed."""

    def digest(self, given: Any) -> str | None:
        """What identifies a case beside its text, for those who compare runs."""

    def result(self, program: Program, given: InputRecord, policy: Policy, where: str) -> Record:
        """The result of the record's program, which has not begun; ``where`` names the text in messages."""


class RecordLines:
    """Lines of JSON Lines files to results."""

    kind: ClassVar[type[Any]] = Record

    def __init__(self, programs: Programs, names: UsedNames, treatment: Treatment) -> None:
        self.programs, self.names, self.treatment = programs, names, treatment

    def results(self, lines: Iterable[str], path: str, policy: Policy) -> Iterator[Any]:
        """The results of a file."""
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield self.result(line, path, number, policy)

    def result(self, line: str, path: str, number: int, policy: Policy, folder: Path | None = None) -> Record:
        """The result of one record, whose data files are in a ``folder``: that of the file, unless another one is given."""
        folder = folder_of(path) if folder is None else folder
        given: InputRecord | None = None
        try:
            given = parse_record(line, self.programs.limits, folder)
            record = self.of_given(given, policy, f"{'<stdin>' if path == '-' else path}:{number}", folder)
            record.meta, record.given = given.meta, self.treatment.digest(given.given)
        except Exception as unforeseen:
            error = contained(unforeseen)
            known = error.record if given is None else said_of(given)
            record = self.kind.of_error(error, id=known.get("id"), expr=known.get("expr") or "")
            record.meta, record.given = known.get("meta"), self.treatment.digest(known.get("given"))
        return _placed(record, path, number)

    def unreached(self, line: str, path: str, number: int, reason: str) -> Record:
        """What a record says of itself, for which no time is left."""
        from gradcli.query.outcome import left_undecided

        try:
            given = parse_record(line, self.programs.limits, folder_of(path))
            record = Record(given.expr, given.id, skip=given.skip)
            record.meta, record.given = given.meta, self.treatment.digest(given.given)
            record = record if given.skip is not None else left_undecided(record, reason)
        except Exception as unforeseen:
            error = contained(unforeseen)
            record = Record.of_error(error, id=error.record.get("id"), expr=error.record.get("expr") or "")
        return _placed(record, path, number)

    def of_given(self, given: InputRecord, policy: Policy, where: str, folder: Path) -> Record:
        """Return the result of a record that is read; ``where`` names its text in messages."""
        deviations: dict[str, Any] = {}
        values = {**self.values(given, policy.state, deviations), **self.programs.values}
        deviations = {name: found for name, found in deviations.items() if name not in self.programs.values} | self.programs.deviations
        options = self.treatment.options(given, _options_of(given, policy.options))
        record, mentioned = self._computed(given, values, deviations, options, policy, where, folder)
        self._note_names(record, given, options, mentioned)
        return record

    def _computed(
        self,
        given: InputRecord,
        values: dict[str, Any],
        deviations: dict[str, Any],
        options: Options,
        policy: Policy,
        where: str,
        folder: Path,
    ) -> tuple[Record, set[str]]:
        """The result of a record, and the names that its program mentions."""
        programs = self.programs
        if options.bare and not deviations and all(claim.of in values or claim.of == "value" for claim in given.expect):
            compiled = programs.cache.in_record(values, Source(given.expr, where), options, given.id)
            if compiled is not None:
                compiled.expr = given.expr
                return compiled, programs.cache.mentioned
        program = programs.fresh(policy.state, programs.loader(folder), values, given.dialect, policy.dialect, deviations)
        program.scope.needed = given.wrt is not None and options.wrt is given.wrt
        record = self.treatment.result(program, given, replace(policy, options=options), where)
        self.names.had |= program.scope.leaves.keys()
        program.end()
        return record, program.scope.mentioned

    def _note_names(self, record: Record, given: InputRecord, options: Options, mentioned: set[str]) -> None:
        """Warn of the record's own names that it does not mention; those of the command line are another record's, perhaps."""
        if self.programs.values:
            self.names.mentioned |= mentioned
        if options.freeze:
            self.names.had |= given.at.keys()
        if record.error is None and not given.at.keys() <= mentioned:
            record.warnings += UsedNames(mentioned=mentioned).unmentioned(given.at, options)

    def values(self, given: InputRecord, state: int, deviations: dict[str, Any]) -> dict[str, Any]:
        """The values of a record, texts as constant expressions; their standard deviations are put among others. Raises InputError."""
        values: dict[str, Any] = {}
        calculator: Program | None = None
        for name, value in given.at.items():
            values[name] = value
            if isinstance(value, str):
                calculator = calculator or self.programs.fresh(state, values={})
                try:
                    values[name], deviation = calculator.uncertain(value, name)
                    if deviation is not None:
                        deviations[name] = deviation
                except GradcliError as error:
                    help = error.help if error.code == "ambiguous" else "write a number, or an expression of numbers"
                    raise InputError(f"the value of '{name}' is no number: {error.message}", help=help) from None
        return values


class EvaluatedRecords:
    """Records as `eval` takes them: nothing is claimed, and the result is that of the last query."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs

    def options(self, given: InputRecord, options: Options) -> Options:
        return options

    def digest(self, given: Any) -> str | None:
        return None

    def result(self, program: Program, given: InputRecord, policy: Policy, where: str) -> Record:
        text, id = given.expr, given.id
        lines = text_lines(text) if program.text is None else program.text.kept(text_lines(text))
        parsed = list(statements(lines, where, program.scope.limits))
        program.foresee(text_lines(text))
        if not parsed:
            return Record.of_error(ParseError("the record's 'expr' is empty", span=None), id=id, expr=text)
        stray = claim_of_nothing(given, parsed, program)
        if stray is not None:
            return Record.of_error(stray, id=id, expr=text)
        result: Record | None = None
        for statement in parsed:
            record = None
            if policy.options.bare and len(parsed) == 1 and isinstance(statement, Query):
                record = self.programs.cache.of_tree(program.scope, statement, policy.options, id)
            record = record or run_statement(program, statement, policy.options, id=id)
            if record is not None:
                result = record if result is None else result.joined(record)
            if record is not None and record.error is not None:
                break
        if result is None:
            return Record.of_error(ParseError("the program has no query", source=Source(text)), id=id, expr=text)
        result.expr = text
        return result


def _placed(record: Record, path: str, number: int) -> Record:
    """The record with its place in a file."""
    record.file, record.line, record.column, record.record_line = None if path == "-" else path, number, 1, True
    return record


def said_of(given: InputRecord) -> dict[str, Any]:
    """What a record says of itself, whatever comes of it."""
    return {"id": given.id, "expr": given.expr, "meta": given.meta, "given": given.given}


def claim_of_nothing(given: InputRecord, parsed: Iterable[Statement | GradcliError], program: Program) -> GradcliError | None:
    """What is wrong with a record that expects the gradient of a name that it does not have."""
    claimed = [claim.of for claim in given.expect if claim.of != "value"]
    if not claimed:
        return None
    bound, mentioned = names_among(parsed)
    names = bound.union(program.scope.names, mentioned)
    for name in claimed:
        if name not in names:
            close = suggestion(name, sorted(names))
            listed = ", ".join(sorted(names)[:20])
            help = f"did you mean '{close}'?" if close else f"the names are {listed}" if listed else None
            return UnknownFieldError(f"'expect' has the gradient of '{name}', which the record does not have", help=help)
    return None


def _options_of(given: InputRecord, options: Options) -> Options:
    """What is computed of a record with names and a seed of its own; options of the command line win."""
    if given.wrt is None and given.seed is None:
        return options
    if given.seed is not None and options.mode != "grad":
        raise UsageError(f"the record has a seed, and --{options.mode} takes none")
    seed = given.seed if options.seed is None and options.mode == "grad" else options.seed
    return replace(options, wrt=options.wrt or given.wrt, seed=seed)
