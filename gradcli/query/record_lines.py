"""JSON Lines records, each to its result: what `eval` and `check` share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradcli.containment import contained
from gradcli.errors import GradcliError, InputError, ParseError, Source, UnknownFieldError, UsageError, suggestion, text_lines
from gradcli.files.jsonl import InputRecord, parse_record
from gradcli.files.npy import folder_of
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query, Statement
from gradcli.query.evaluate import failed, run_statement
from gradcli.query.options import Options, Policy
from gradcli.query.programs import Programs
from gradcli.query.unused_names import UsedNames, names_among
from gradcli.report.records import Record


class RecordLines:
    """Lines of JSON Lines files to results, as `eval` takes them: nothing is claimed, and the result is that of the last query."""

    skips = False  # whether a record may be left out

    def __init__(self, programs: Programs, names: UsedNames) -> None:
        self.programs, self.names = programs, names

    def options(self, given: InputRecord, options: Options) -> Options:
        """The options of a record that says more than names and a seed."""
        return options

    def digest(self, given: Any) -> str | None:
        """The digest that tells a case apart beside its text, for those who compare runs."""
        return None

    def decide(self, program: Program, given: InputRecord, parsed: list[Statement | GradcliError], policy: Policy) -> Record:
        """The result of the record's program, which has not begun."""
        text, id = given.expr, given.id
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
            return failed(ParseError("the program has no query", source=Source(text)), id=id, expr=text)
        result.expr = text
        return result

    def results(self, lines: Iterable[str], path: str, policy: Policy) -> Iterator[Record]:
        """The results of a file; one that cannot be read to its end ends with the error."""
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield self.result(line, path, number, policy)
        except Exception as error:
            self.names.unread = True
            yield failed(contained(error))

    def result(self, line: str, path: str, number: int, policy: Policy, folder: Path | None = None, unreached: str | None = None) -> Record:
        """The result of one record, whose data files are in a ``folder``: that of the file, unless another one is given.

        Of one for which no time is left it is what the record says of itself, with the reason why it was ``unreached``.
        """
        from gradcli.query.outcome import left_undecided

        folder = folder_of(path) if folder is None else folder
        known: dict[str, Any] = {}
        try:
            given = parse_record(line, self.programs.limits, folder)
            known = said_of(given)
            if unreached is None:
                record = self._of(given, policy, f"{'<stdin>' if path == '-' else path}:{number}", folder)
            else:
                record = Record(given.expr, given.id, skip=given.skip)
                if given.skip is None:
                    left_undecided(record, unreached)
        except Exception as unforeseen:
            error = contained(unforeseen)
            known = known or error.record
            record = failed(error, id=known.get("id"), expr=known.get("expr") or "")
        record.meta, record.given = known.get("meta"), self.digest(known.get("given"))
        record.file, record.line, record.column, record.record_line = None if path == "-" else path, number, 1, True
        return record

    def _of(self, given: InputRecord, policy: Policy, where: str, folder: Path) -> Record:
        programs = self.programs
        deviations: dict[str, Any] = {}
        values = {**self.values(given, policy.state, deviations), **programs.values}
        deviations = {name: found for name, found in deviations.items() if name not in programs.values} | programs.deviations
        options = self.options(given, _options_of(given, policy.options))
        record = None
        if options.bare and not deviations and all(claim.of in values or claim.of == "value" for claim in given.expect):
            record = programs.cache.in_record(values, Source(given.expr, where), options, given.id)
        if record is not None:
            record.expr, mentioned = given.expr, programs.cache.mentioned
        else:
            program = programs.fresh(policy.state, programs.loader(folder), values, given.dialect, policy.dialect, deviations)
            program.scope.needed = given.wrt is not None and options.wrt is given.wrt
            record = self._run(program, given, replace(policy, options=options), where)
            self.names.had |= program.scope.leaves.keys()
            program.end()
            mentioned = program.scope.mentioned
        if programs.values:
            self.names.mentioned |= mentioned
        if options.freeze:
            self.names.had |= given.at.keys()
        if record.error is None and not given.at.keys() <= mentioned:  # names of the command line are another record's, perhaps
            record.warnings += UsedNames(mentioned=mentioned).unmentioned(given.at, options)
        return record

    def _run(self, program: Program, given: InputRecord, policy: Policy, where: str) -> Record:
        """The result of the record's program; ``where`` names the text in messages."""
        text, id = given.expr, given.id
        if self.skips and given.skip is not None:
            return Record(text, id, skip=given.skip)
        lines = text_lines(text)
        parsed = list(statements(lines if program.text is None else program.text.kept(lines), where, program.scope.limits))
        program.foresee(lines)
        if not parsed:
            return failed(ParseError("the record's 'expr' is empty", span=None), id=id, expr=text)
        stray = _claim_of_nothing(given, parsed, program)
        if stray is not None:
            return failed(stray, id=id, expr=text)
        return self.decide(program, given, parsed, policy)

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


def said_of(given: InputRecord) -> dict[str, Any]:
    """The fields that a record says of itself, whatever comes of it."""
    return {"id": given.id, "expr": given.expr, "meta": given.meta, "given": given.given}


def _claim_of_nothing(given: InputRecord, parsed: Iterable[Statement | GradcliError], program: Program) -> GradcliError | None:
    """The error of a record that expects the gradient of a name that it does not have."""
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
    """The options of a record with names and a seed of its own; options of the command line win."""
    if given.wrt is None and given.seed is None:
        return options
    if given.seed is not None and options.mode != "grad":
        raise UsageError(f"the record has a seed, and --{options.mode} takes none")
    seed = given.seed if options.seed is None and options.mode == "grad" else options.seed
    return replace(options, wrt=options.wrt or given.wrt, seed=seed)
