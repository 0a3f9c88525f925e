"""A session: a program that is fed line by line, without a terminal in it.

A line that fails leaves the program as it was before: the program is then made again of the lines
that have run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli.commands import ReplRequest
from gradcli.cli.decide.running import Writer
from gradcli.cli.process import FINE, FOUND, INTERRUPTED, code_of, put_text, raise_interrupt, say
from gradcli.errors import GradcliError, as_gradcli_error
from gradcli.language.python_hints import DRAWS, Output, is_head
from gradcli.language.run import Program, sources
from gradcli.language.statements import parse_statements
from gradcli.language.syntax import Assertion, Query
from gradcli.limits import DEFAULT
from gradcli.options import Options, limits_of
from gradcli.query.programs import Programs, only_follows, run_statement
from gradcli.texts import Source, open_brackets, text_lines

_WORD = re.compile(r"[^\W\d]\w*")
_OF_SESSION = "  # the last result"  # marks lines that only a session writes


class Entry(NamedTuple):
    """A logical line that has run without an error.

    binds  whether others build on it: a binding, a definition, an import
    """

    text: str
    binds: bool


Command = Callable[["Session", str], int | None]  # runs a line that begins with ":"


@dataclass
class Session:
    """A program, and the lines that it can be made of again."""

    command: Command
    request: ReplRequest

    def __post_init__(self) -> None:
        self.limits = limits_of(self.request)
        self.entries: tuple[Entry, ...] = ()
        self.query: str | None = None  # the last query
        self.last: Entry | None = None  # the entry that binds "_" to it
        self.made: Program | None = None  # None: must be made again
        self.line = 0  # number of the last line typed
        self.ends = False

    def feed(self, text: str) -> int:
        """Run what was typed: statements, one after the other, or commands; the highest exit code.

        An interrupt between two steps ends it, and leaves the session as it was before.
        """
        before, code = (self.entries, self.query), FINE
        for line, part in _parts(text):
            try:
                is_command = part.lstrip().startswith(":")
                code = max(
                    code,
                    (
                        self.command(self, part.strip())
                        if is_command
                        else self.run_lines(part, self.line + line)
                    )
                    or FINE,
                )
            except KeyboardInterrupt:
                raise_interrupt()  # a signal to end, not a key
                self.reset(*before)
                put_text("interrupted; all names are as they were before\n")
                return INTERRUPTED
            except OSError:
                raise  # nobody can read the answer
            except Exception as error:
                found = as_gradcli_error(error)
                say(found.render())
                code = max(code, code_of(found))
            if self.ends:
                break
        self.line += text.rstrip("\n").count("\n") + 1
        return code

    def reset(self, entries: tuple[Entry, ...] = (), query: str | None = None) -> None:
        """Go on from other lines."""
        self.entries, self.query, self.made = entries, query, None

    def text(self, of: Callable[[Entry], object] = lambda entry: True) -> str:
        """Return a program that does what the session has done."""
        return "".join(f"{entry.text}\n" for entry in self.entries if of(entry))

    def program(self) -> Program:
        """Return the program, made again if a line has failed in it."""
        if self.made is None:
            programs = Programs(self.limits, self.request.dtype, dialect=self.request.dialect)
            self.made = program = programs.fresh(0, programs.loader(Path()))
            # Random numbers are drawn in the order of the program, so queries that draw run, too.
            lines = self.text(lambda entry: entry.binds or DRAWS.search(entry.text))
            for statement in program.statements(text_lines(lines), stream=True):
                if not isinstance(statement, GradcliError):
                    program.execute(statement)
        return self.made

    def run_lines(self, text: str, before: int = 0) -> int:
        """Run the statements of lines that follow ``before`` others, and return their exit code."""
        lines = [*["\n"] * before, *text_lines(text)]
        found = [
            source for source in sources(lines, None, self.limits) if not isinstance(source, Output)
        ]
        self.program().scope.dialect.to_come = lambda: iter(found)
        writer = Writer("text", self.request.color)
        return max((self._run_source(source, writer) for source in found), default=FINE)

    def _run_source(self, source: Source, writer: Writer) -> int:
        """Run the statements of a logical line: all of them come into force, or none."""
        if source.text.rstrip().endswith(_OF_SESSION):  # from a saved session: already in force
            return FINE
        program = self.program()
        program.scope.dialect.note(source, program.scope.names)
        options = Options(check=self.request.check)
        code, binds, failed, last = FINE, False, False, None
        for statement in parse_statements(source, self.limits.length):
            record = run_statement(program, statement, options)
            if record is None:
                binds = binds or not isinstance(statement, (GradcliError, Assertion))
                continue
            if not only_follows(statement, record):
                writer.write(record)
            if record.error is not None:
                failed, code = True, max(code, code_of(record.error))
            elif record.failed:
                code = max(code, FOUND)
            if isinstance(statement, Query):
                last = statement.text, record.read_as or statement.text, record.value
        if failed:
            self.made = None
            return code
        text = source.text.strip() if source.text[:1].isspace() else source.text.rstrip()
        self.entries += (Entry(text, binds),)
        if last is not None:
            self.query = last[0]
            self._keep(*last[1:])
        return code

    def _keep(self, query: str, value: Any) -> None:
        """Let "_" stand for a query; for its value, where that was drawn at random."""
        drawn = f"const _ = {np.asarray(value).tolist()}"
        text = (drawn if DRAWS.search(query) else f"_ = {query}") + _OF_SESSION
        for statement in parse_statements(Source(text), self.limits.length):
            if isinstance(statement, GradcliError):
                raise statement
            self.program().execute(statement)
        self.last = Entry(text, True)
        self.entries += (self.last,)

    def names(self) -> dict[str, Any]:
        """Return the names that have values, and these; of those that wait for others, None."""
        scope = self.program().scope
        found: dict[str, Any] = {}
        for name in [*scope.names]:
            if name == "_" or name.startswith("_ "):
                continue
            try:
                found[name] = scope.evaluate(scope.names[name])
            except GradcliError:
                found[name] = None
        return found

    def known_names(self) -> list[str]:
        """Return names for completion, without computing anything."""
        return sorted({*_WORD.findall(self.text(lambda entry: entry.binds))} - {"_"})


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield statements and commands, each with the number of lines before it.

    A line of a paste that begins with ":" is a command.
    """
    begin, lines = 0, text.split("\n")
    for number, line in enumerate([*lines, ":"]):
        if line.lstrip().startswith(":"):
            part = "\n".join(lines[begin:number])
            if part.strip():
                yield begin, part + "\n" * (number < len(lines))
            if number < len(lines):
                yield number, line
            begin = number + 1


def is_complete(text: str) -> bool:
    """Return whether Enter submits a text.

    It does when no bracket is open, no block has begun, and no line ends with a backslash.

    A block of Python ends at an empty line. A text with too many closing brackets is complete: its
    error is reported.
    """
    lines = text.split("\n")
    if text.lstrip().startswith(":"):
        return True
    if lines[-1].endswith("\\") and "#" not in lines[-1]:
        return False
    if open_brackets(text) > 0 and len(text) < DEFAULT.length:
        # Two empty lines submit even with a bracket open.
        return not lines[-1].strip() and len(lines) > 2 and not lines[-2].strip()
    heads = [number for number, line in enumerate(lines) if is_head(line.removeprefix(">>> "))]
    return (
        not heads
        or not lines[-1].strip()
        or (heads[-1] < len(lines) - 1 and not lines[-1][:1].isspace() and len(lines) > 1)
    )
