"""What `gradcli bound` decides: expressions and programs over a box, one result after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.decide.texts import texts
from gradcli.cli.inputs.box import BoundInputs
from gradcli.containment import contained
from gradcli.errors import UsageError
from gradcli.limits import Limits
from gradcli.query.bounds import AskedBounds, bounds, refuse_unknown
from gradcli.report.bound_record import BoundRecord


class Bounding:
    """The results of all inputs, in order."""

    def __init__(self, given: BoundInputs, limits: Limits, asked: AskedBounds, dialect: str | None) -> None:
        self.inputs, self.programs, self.asked, self.limits = given.inputs, given.programs, asked, limits

    def records(self) -> Iterator[BoundRecord]:
        """The results in order. Raises UnknownNameError for a name of the box that an expression alone does not have."""
        for text in texts(self.inputs, self.programs, 0):
            if text.program is None:
                raise UsageError("'gradcli bound' reads programs, not records")
            found = []
            try:
                for record in bounds(text.program, text.lines, text.name, self.asked, stream=text.stream):
                    found.append(record)
                    if text.path is not None:
                        yield record
            except Exception as error:
                yield BoundRecord.of_error(contained(error))
                continue
            if text.path is None:
                if all(record.error is None for record in found):
                    refuse_unknown(text.program, self.asked.box)
                yield from found
