"""What `gradcli eval` decides: expressions, programs and records, one result after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradcli.cli.decide.texts import texts
from gradcli.cli.inputs.positionals import Inputs
from gradcli.containment import contained
from gradcli.language.run import Program
from gradcli.query.evaluate import records
from gradcli.query.options import Options
from gradcli.query.programs import Programs
from gradcli.query.unused_names import UsedNames, refuse_unknown_in
from gradcli.report.records import Record


class Evaluation:
    """The results of all inputs, in order.

    free  whether names that are asked for may do without values
    """

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int, free: bool = False) -> None:
        self.inputs, self.programs, self.options, self.state = inputs, programs, options, state
        self.names = UsedNames()
        if inputs.expression is not None and not inputs.files:  # the names of the whole run are known at once
            refuse_unknown_in(inputs.expression, options, programs.values, programs.limits, free)

    def records(self) -> Iterator[Record]:
        """The results in order, each as soon as it is there."""
        for text in texts(self.inputs, self.programs, self.state):
            if text.program is None:
                assert text.path is not None
                yield from self._of_records(text.lines, text.path)
                continue
            found = self._of_program(text.program, text.lines, text.name, text.stream)
            yield from found if self.inputs.files else self._with_remarks(found)

    def remarks(self) -> list[str]:
        """What is to be said when all is done. Raises an error for names in wrt and freeze that nobody has."""
        return self.names.remarks(self.programs.values, self.options, several=bool(self.inputs.files))

    def _of_program(self, program: Program, lines: Iterable[str], name: str | None, stream: bool) -> Iterator[Record]:
        cache = self.programs.cache if self.inputs.files and self.options.bare else None  # one expression is not worth its imports
        try:
            yield from records(program, lines, name, self.options, cache, stream)
        except Exception as error:
            self.names.unread = True
            yield Record.of_error(contained(error))
        self.names.add(program.scope)

    def _with_remarks(self, found: Iterator[Record]) -> Iterator[Record]:
        """The records of the only program, the last one with what is known then."""
        last: Record | None = None
        for record in found:
            if last is not None:
                yield last
            last = record
        if last is not None:
            if last.error is None:
                last.warnings += self.remarks()
            yield last

    def _of_records(self, lines: Iterable[str], path: str) -> Iterator[Record]:
        from gradcli.query.policy import Policy
        from gradcli.query.record_lines import EvaluatedRecords, RecordLines

        record_lines = RecordLines(self.programs, self.names, EvaluatedRecords(self.programs))
        return record_lines.results(lines, path, Policy(self.options, self.state))
