"""``gradcli diff``: expressions, programs and records, one result after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradcli.cli.decide.running import Run, Text, write_all
from gradcli.cli.inputs.option_values import limits_of, options_of
from gradcli.cli.inputs.positionals import DIFF_EXAMPLE, Inputs, diff_inputs, programs_of
from gradcli.cli.request import DiffRequest
from gradcli.cli.write.results import writer_for
from gradcli.errors import GradcliError, ParseError, Source, UsageError
from gradcli.files.jsonl import InputRecord
from gradcli.language.run import Program
from gradcli.language.tree import Statement
from gradcli.query.bindings import Programs
from gradcli.query.cases import RecordLines
from gradcli.query.general_derivatives import Asked, derivatives, refuse_absent
from gradcli.query.names import UsedNames
from gradcli.query.options import Options, Policy
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
    writer, nothing = writer_for(request), UsageError("nothing to differentiate", help=DIFF_EXAMPLE)
    if only_last:
        return write_all([*differentiation.answers()][-1:], writer, nothing)
    return differentiation.write(writer, nothing, request.fail_fast)


class Differentiation(Run):
    """The results of `diff`."""

    kind, command = DerivativeRecord, "diff"

    def __init__(self, inputs: Inputs, programs: Programs, asked: Asked) -> None:
        super().__init__(inputs, programs, asked.options, asked.state)
        self.asked = asked
        self.done: list[DerivativeRecord] = []

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done. Raises UnknownNameError for a name to differentiate by that nothing has."""
        refuse_absent(self.asked.names, self.done)
        if self.names.unread or any(record.error is not None for record in self.done):
            return []
        return self.names.unmentioned(self.programs.values, replace(self.asked.options, wrt=self.asked.names))

    def of_program(self, text: Text, program: Program) -> Iterator[DerivativeRecord]:
        return self._noted(derivatives(program, program.statements(text.lines, text.name, stream=text.stream), self.asked))

    def of_records(self, text: Text) -> Iterator[DerivativeRecord]:
        reader = FormulaRecords(self.programs, self.names, self.asked)
        return self._noted(reader.results(text.lines, text.path or "", Policy(self.options, self.state)))

    def _noted(self, found: Iterable[DerivativeRecord]) -> Iterator[DerivativeRecord]:
        for record in found:
            self.done.append(record)
            yield record


class FormulaRecords(RecordLines):
    """JSON Lines records to formulas: what they expect is for `gradcli check` to judge."""

    kind = DerivativeRecord

    def __init__(self, programs: Programs, names: UsedNames, asked: Asked) -> None:
        super().__init__(programs, names)
        self.asked = asked

    def options(self, given: InputRecord, options: Options) -> Options:
        if given.seed is not None:
            raise UsageError("the record has a seed, and formulas take none")
        return options

    def decide(self, program: Program, given: InputRecord, parsed: list[Statement | GradcliError], policy: Policy) -> DerivativeRecord:
        asked = replace(self.asked, names=self.asked.names or given.wrt)
        found = list(derivatives(program, parsed, asked, given.id))
        empty = ParseError("the record's 'expr' has nothing to differentiate", source=Source(given.expr))
        found.append(found[-1] if found else DerivativeRecord.of_error(empty, id=given.id))
        record = next((each for each in found if each.error is not None), found[-1])
        record.expr = given.expr
        return record
