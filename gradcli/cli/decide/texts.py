"""The programs and records of a run in order, whatever is done with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradcli.cli.inputs.positionals import Inputs, is_stream
from gradcli.errors import text_lines
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.query.bindings import Programs


class Text(NamedTuple):
    """The lines of a program, or of records, which have none of their own."""

    program: Program | None
    lines: Iterable[str]
    path: str | None  # of a file; None for the expression of the command line
    stream: bool = False  # whether lines are answered as they come

    @property
    def name(self) -> str | None:
        """What messages call it."""
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
