"""What `gradcli export` decides: the queries of expressions and programs, one function after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.decide.texts import texts
from gradcli.cli.inputs.positionals import Inputs
from gradcli.containment import contained
from gradcli.errors import GradcliError, UsageError
from gradcli.exports.subject import Subject
from gradcli.query.bindings import Programs
from gradcli.query.exporting import subjects
from gradcli.query.options import Options
from gradcli.query.unused_names import UsedNames, refuse_unknown_in


class Exporting:
    """What is exported of all inputs, in order."""

    def __init__(self, inputs: Inputs, programs: Programs, options: Options, state: int) -> None:
        self.inputs, self.programs, self.options, self.state = inputs, programs, options, state
        self.names = UsedNames()
        if inputs.expression is not None and not inputs.files:
            refuse_unknown_in(inputs.expression, options, programs.values, programs.limits, free=True)

    def subjects(self) -> Iterator[tuple[Subject | None, GradcliError | None]]:
        """What is exported, or an error in its place. Raises UsageError for records."""
        for text in texts(self.inputs, self.programs, self.state):
            if text.program is None:
                raise UsageError("'gradcli export' reads programs, not records")
            try:
                for found in subjects(text.program, text.lines, text.name, self.options):
                    yield (None, found) if isinstance(found, GradcliError) else (found, None)
            except Exception as error:
                yield None, contained(error)
            self.names.add(text.program.scope)

    def remarks(self) -> list[str]:
        """Warnings when all is done: of names that were given values and stand nowhere."""
        return self.names.unmentioned(self.programs.values, self.options)
