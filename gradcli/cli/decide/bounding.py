"""``gradcli bound``: expressions and programs over a box, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.option_values import limits_of, options_of
from gradcli.cli.inputs.positionals import Inputs
from gradcli.cli.inputs.ranges import BOUND_EXAMPLE, bound_inputs
from gradcli.cli.request import BoundRequest
from gradcli.cli.write.results import write_all, writer_for
from gradcli.errors import UsageError
from gradcli.language.run import Program
from gradcli.query.bindings import Programs
from gradcli.query.bounds import AskedBounds, bounds, refuse_unknown
from gradcli.report.bound_record import BoundRecord


def bound(request: BoundRequest) -> int:
    """Bound everything that was asked for."""
    limits = limits_of(request)
    options_of(request)
    inputs, programs, box = bound_inputs(request, limits)
    asked = AskedBounds(box, request.width, request.lipschitz)
    nothing = UsageError("nothing to bound", help=BOUND_EXAMPLE)
    return write_all(Bounding(inputs, programs, asked).records(), writer_for(request), nothing, request)


class Bounding(Answers[BoundRecord]):
    """The results of all inputs, in order."""

    kind, command = BoundRecord, "bound"

    def __init__(self, inputs: Inputs, programs: Programs, asked: AskedBounds) -> None:
        super().__init__(inputs, programs, 0)
        self.asked = asked

    def of_program(self, text: Text, program: Program) -> Iterator[BoundRecord]:
        return bounds(program, text.lines, text.name, self.asked, stream=text.stream)

    def of_expression(self, found: Iterator[BoundRecord], text: Text) -> Iterator[BoundRecord]:
        """The ranges, unless the expression lacks a name of the box."""
        records = [*found]
        if text.program is not None and all(record.error is None for record in records):
            refuse_unknown(text.program, self.asked.box)
        return iter(records)
