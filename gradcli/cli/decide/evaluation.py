"""``gradcli eval``: expressions, programs and records, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.option_values import covariances_of, eval_options, limits_of
from gradcli.cli.inputs.positionals import Inputs, eval_inputs, programs_of
from gradcli.cli.request import EvalRequest
from gradcli.cli.write.results import write_all, writer_for
from gradcli.errors import UsageError
from gradcli.language.run import Program
from gradcli.limits import Limits
from gradcli.query.bindings import Programs
from gradcli.query.evaluate import records
from gradcli.query.options import Options
from gradcli.query.unused_names import refuse_unknown_in
from gradcli.report.records import Record


def evaluate(request: EvalRequest) -> int:
    """Evaluate everything that was asked for."""
    limits = limits_of(request)
    inputs = eval_inputs(request)
    if request.on is not None:
        return _chunk_by_chunk(request, request.on, inputs, limits)
    arrays = None
    if request.save:
        from gradcli.cli.write.saving import SavedArrays, targets_of

        arrays = SavedArrays(targets_of(request.save))
    options = eval_options(request, None if arrays is None else arrays.place)
    programs = programs_of(request, inputs, limits)
    if request.cov:
        options = covariances_of(request, programs, options)
    evaluation = Evaluation(inputs, programs, options, request.random_state)
    writer = writer_for(request, one_alone=False, save=None if arrays is None else arrays.save)
    return write_all(evaluation.records(), writer, UsageError("nothing to evaluate"), request, inputs, "eval", evaluation.remarks)


def _chunk_by_chunk(request: EvalRequest, place: str, inputs: Inputs, limits: Limits) -> int:
    """Evaluate what is past memory, or past this machine."""
    from gradcli.cli.decide.chunked import chunked_record
    from gradcli.cli.write.saving import SavedArrays, targets_of

    eval_options(request)
    targets = targets_of(request.save)
    record = chunked_record(request, place, inputs, targets, limits)
    whole = {name: path for name, path in targets.items() if name == "value" or name in (record.grad or {})}
    writer = writer_for(request, one_alone=False, save=SavedArrays(whole).save if whole else None)
    return write_all([record], writer, UsageError("nothing to evaluate"), request)


class Evaluation(Answers[Record]):
    """The results of all inputs, in order.

    free  whether names that are asked for may do without values
    """

    kind = Record

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int, free: bool = False) -> None:
        super().__init__(inputs, programs, state)
        self.options = options
        if inputs.expression is not None and not inputs.files:  # the names of the whole run are known at once
            refuse_unknown_in(inputs.expression, options, programs.values, programs.limits, free)

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done. Raises an error for names in wrt and freeze that nobody has."""
        return self.names.remarks(self.programs.values, self.options, several=bool(self.inputs.files))

    def of_program(self, text: Text, program: Program) -> Iterator[Record]:
        cache = self.programs.cache if self.inputs.files and self.options.bare else None  # one expression is not worth its imports
        return records(program, text.lines, text.name, self.options, cache, text.stream)

    def of_expression(self, found: Iterator[Record], text: Text) -> Iterator[Record]:
        """The results of a program, the last one of the only program with what is known then."""
        last: Record | None = None
        for record in found:
            if last is not None:
                yield last
            last = record
        if last is not None:
            if last.error is None and not self.inputs.files:
                last.warnings += self.remarks()
            yield last

    def of_records(self, text: Text) -> Iterator[Record]:
        from gradcli.query.cases import RecordLines
        from gradcli.query.options import Policy

        record_lines = RecordLines(self.programs, self.names)
        return record_lines.results(text.lines, text.path or "", Policy(self.options, self.state))
