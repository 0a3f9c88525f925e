"""``gradcli diff``: expressions, programs and records, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.option_values import limits_of, options_of
from gradcli.cli.inputs.positionals import DIFF_EXAMPLE, Inputs, diff_inputs, programs_of
from gradcli.cli.request import DiffRequest
from gradcli.cli.write.results import write_all, writer_for
from gradcli.errors import ParseError, Source, UsageError, text_lines
from gradcli.files.jsonl import InputRecord
from gradcli.language.run import Program
from gradcli.query.bindings import Programs
from gradcli.query.cases import RecordLines
from gradcli.query.general_derivatives import Asked, derivatives, refuse_absent
from gradcli.query.options import Policy
from gradcli.query.unused_names import UsedNames
from gradcli.report.derivative_record import DerivativeRecord


def differentiate(request: DiffRequest, *, only_last: bool = False) -> int:
    """Differentiate everything that was asked for.

    only_last  whether bindings are no equations to differentiate, but what the last expression is made of
    """
    limits = limits_of(request)
    if request.latex and request.output_format == "text":
        request = request.but(output_format="latex")
    options_of(request)
    inputs, names = diff_inputs(request)
    asked = Asked(
        names, request.order, request.latex or request.output_format == "latex", request.check, request.points,
        request.random_state, request.timeout,
    )  # fmt: skip
    differentiation = Differentiation(inputs, programs_of(request, inputs, limits), asked)
    records = differentiation.records()
    nothing = UsageError("nothing to differentiate", help=DIFF_EXAMPLE)
    remarks = list if only_last else differentiation.remarks
    return write_all([*records][-1:] if only_last else records, writer_for(request), nothing, request, inputs, "diff", remarks)


class Differentiation(Answers[DerivativeRecord]):
    """The results of all inputs, in order."""

    kind = DerivativeRecord

    def __init__(self, inputs: Inputs, programs: Programs, asked: Asked) -> None:
        super().__init__(inputs, programs, asked.state)
        self.asked = asked
        self.done: list[DerivativeRecord] = []

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done. Raises UnknownNameError for a name to differentiate by that nothing has."""
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
        reader = FormulaRecords(self.programs, self.names, self.asked)
        for record in reader.results(text.lines, text.path or "", Policy(self.asked.options, self.state)):
            self.done.append(record)
            yield record


class FormulaRecords(RecordLines):
    """JSON Lines records to formulas: what they expect is for `gradcli check` to judge."""

    kind = DerivativeRecord

    def __init__(self, programs: Programs, names: UsedNames, asked: Asked) -> None:
        super().__init__(programs, names)
        self.asked = asked

    def of_given(  # type: ignore[override]  # formulas have records of a kind of their own
        self, given: InputRecord, policy: Policy, where: str, folder: Path
    ) -> DerivativeRecord:
        if given.seed is not None:
            raise UsageError("the record has a seed, and formulas take none")
        values = {**self.values(given, policy.state, {}), **self.programs.values}
        program = self.programs.fresh(policy.state, self.programs.loader(folder), values, given.dialect)
        asked = replace(self.asked, names=self.asked.names or given.wrt)
        found = list(derivatives(program, text_lines(given.expr), where, asked, given.id))
        self.names.mentioned |= program.scope.mentioned
        empty = ParseError("the record's 'expr' has nothing to differentiate", source=Source(given.expr))
        record = found[-1] if found else DerivativeRecord.of_error(empty, id=given.id)
        record = next((each for each in found if each.error is not None), record)
        record.expr = given.expr
        return record
