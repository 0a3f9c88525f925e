"""What `gradcli diff` decides: expressions, programs and records, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.expression_and_names import DiffInputs
from gradcli.containment import contained
from gradcli.errors import ParseError, Source, UsageError, text_lines
from gradcli.files.jsonl import InputRecord, parse_record
from gradcli.files.opening import folder_of
from gradcli.language.run import Program
from gradcli.query.general_derivatives import Asked, derivatives, refuse_absent
from gradcli.query.programs import Programs
from gradcli.query.record_lines import EvaluatedRecords, RecordLines, said_of
from gradcli.report.derivative_record import DerivativeRecord


class Differentiation(Answers[DerivativeRecord]):
    """The results of all inputs, in order."""

    kind = DerivativeRecord

    def __init__(self, given: DiffInputs, programs: Programs, asked: Asked) -> None:
        super().__init__(given.inputs, programs, asked.state)
        self.asked = replace(asked, names=given.names)
        self.done: list[DerivativeRecord] = []

    def remarks(self) -> list[str]:
        """What is to be said when all is done. Raises UnknownNameError for a name to differentiate by that nothing has."""
        refuse_absent(self.asked.names, self.done)
        if self.names.unread or any(record.error is not None for record in self.done):
            return []
        return self.names.unmentioned(self.programs.values, replace(self.asked.options, wrt=self.asked.names))

    def of_expression(self, found: Iterator[DerivativeRecord], text: Text) -> Iterator[DerivativeRecord]:
        """The results of a program; of the only one, the names of the whole run are known before anything is shown."""
        if self.inputs.files:
            return found
        alone = [*found]
        remarks = self.remarks()
        if alone and alone[-1].error is None:
            alone[-1].warnings += remarks
        return iter(alone)

    def of_program(self, text: Text, program: Program) -> Iterator[DerivativeRecord]:
        for record in derivatives(program, text.lines, text.name, self.asked, stream=text.stream):
            self.done.append(record)
            yield record

    def of_records(self, text: Text) -> Iterator[DerivativeRecord]:
        """The results of JSON Lines records: what they expect is for `gradcli check` to judge."""
        reader = RecordLines(self.programs, self.names, EvaluatedRecords(self.programs))
        for number, line in enumerate(text.lines, 1):
            if line.strip():
                record = self._of_record(reader, line, text.path or "", f"{text.name or '<stdin>'}:{number}")
                record.file, record.line, record.column, record.record_line = text.name, number, 1, True
                self.done.append(record)
                yield record

    def _of_record(self, reader: RecordLines, line: str, path: str, where: str) -> DerivativeRecord:
        given: InputRecord | None = None
        try:
            given = parse_record(line, self.programs.limits, folder_of(path))
            return self._of_given(reader, given, folder_of(path), where)
        except Exception as unforeseen:
            error = contained(unforeseen)
            known = error.record if given is None else said_of(given)
            record = DerivativeRecord.of_error(error, id=known.get("id"), expr=known.get("expr") or "")
            record.meta = known.get("meta")
            return record

    def _of_given(self, reader: RecordLines, given: InputRecord, folder: Path, where: str) -> DerivativeRecord:
        if given.seed is not None:
            raise UsageError("the record has a seed, and formulas take none")
        values = {**reader.values(given, self.asked.state, {}), **self.programs.values}
        program = self.programs.fresh(self.asked.state, self.programs.loader(folder), values, given.dialect)
        asked = replace(self.asked, names=self.asked.names or given.wrt)
        found = list(derivatives(program, text_lines(given.expr), where, asked, given.id))
        self.names.mentioned |= program.scope.mentioned
        empty = ParseError("the record's 'expr' has nothing to differentiate", source=Source(given.expr))
        record = found[-1] if found else DerivativeRecord.of_error(empty, id=given.id)
        record = next((each for each in found if each.error is not None), record)
        record.expr, record.meta = given.expr, given.meta
        return record
