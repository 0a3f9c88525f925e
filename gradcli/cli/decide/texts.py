"""The programs and records of a run in order, whatever is done with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Generic, NamedTuple, TypeVar

from gradcli.cli.inputs.positionals import Inputs, is_stream
from gradcli.containment import contained
from gradcli.errors import GradcliError, UsageError, text_lines
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.query.bindings import Programs
from gradcli.query.unused_names import UsedNames
from gradcli.report.records import Answer

Kind = TypeVar("Kind")


class Text(NamedTuple):
    """The lines of a program, or of records, which have none of their own."""

    program: Program | None
    lines: Iterable[str]
    path: str | None  # of a file; None for the expression of the command line
    stream: bool = False  # whether lines are answered as they come

    @property
    def name(self) -> str | None:
        """Return what messages call it."""
        return None if self.path == "-" else self.path


def texts(inputs: Inputs, programs: Programs, state: int) -> Iterator[Text]:
    """Every file, and then the expression; beside one file it sees that file's names. Raises InputError as the lines are read."""
    program: Program | None = None
    for path in inputs.files:
        lines = inputs.lines(path, programs.limits)
        if inputs.holds_records(path):
            yield Text(None, lines, path)
        else:
            program = programs.fresh(state, programs.loader(folder_of(path)))
            yield Text(program, lines, path, is_stream(path))
    if inputs.expression is None:
        return
    if program is None or len(inputs.files) > 1:
        program = programs.fresh(state, programs.loader())
    text = inputs.expression
    yield Text(program, text_lines(text.removeprefix(" ") if text.startswith(" -") else text) or [""], None)


class Answers(Generic[Kind]):
    """The answers of a command to all inputs, in order, each as soon as it is there."""

    kind: ClassVar[type[Answer]]
    command: ClassVar[str] = ""

    def __init__(self, inputs: Inputs, programs: Programs, state: int) -> None:
        self.inputs, self.programs, self.state = inputs, programs, state
        self.names = UsedNames()

    def records(self) -> Iterator[Kind]:
        """The answers. Raises GradcliError for names that an expression alone does not have, and for records where there are none."""
        for text in texts(self.inputs, self.programs, self.state):
            found = self._guarded(text)
            yield from self.of_expression(found, text) if text.path is None else found

    def _guarded(self, text: Text) -> Iterator[Kind]:
        if text.program is None and self.command:
            raise UsageError(f"'gradcli {self.command}' reads programs, not records")
        try:
            yield from self.of_records(text) if text.program is None else self.of_program(text, text.program)
        except Exception as error:
            self.names.unread = True
            yield self.failed(contained(error))
        if text.program is not None:
            self.names.add(text.program.scope)

    def failed(self, error: GradcliError) -> Kind:
        """Return the answer that says an error."""
        return self.kind.of_error(error)  # type: ignore[return-value]  # a class variable cannot be declared of type[Kind]

    def of_program(self, text: Text, program: Program) -> Iterator[Kind]:
        """The answers to a program."""
        raise NotImplementedError

    def of_records(self, text: Text) -> Iterator[Kind]:
        """The answers to JSON Lines records."""
        raise NotImplementedError

    def of_expression(self, found: Iterator[Kind], text: Text) -> Iterator[Kind]:
        """The answers to the expression of the command line, with what is known then."""
        return found
