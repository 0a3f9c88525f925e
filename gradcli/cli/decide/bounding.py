"""What `gradcli bound` decides: expressions and programs over a box, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.ranges import BoundInputs
from gradcli.language.run import Program
from gradcli.query.bounds import AskedBounds, bounds, refuse_unknown
from gradcli.report.bound_record import BoundRecord


class Bounding(Answers[BoundRecord]):
    """The results of all inputs, in order."""

    kind, command = BoundRecord, "bound"

    def __init__(self, given: BoundInputs, asked: AskedBounds) -> None:
        super().__init__(given.inputs, given.programs, 0)
        self.asked = asked

    def of_program(self, text: Text, program: Program) -> Iterator[BoundRecord]:
        return bounds(program, text.lines, text.name, self.asked, stream=text.stream)

    def of_expression(self, found: Iterator[BoundRecord], text: Text) -> Iterator[BoundRecord]:
        """The ranges, unless the expression lacks a name of the box."""
        records = [*found]
        if text.program is not None and all(record.error is None for record in records):
            refuse_unknown(text.program, self.asked.box)
        return iter(records)
