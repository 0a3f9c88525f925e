"""A session: a program that is fed line by line, without a terminal in it.

A line that fails leaves the program as it was before: the program is then made again of the lines
that have run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli.exit_codes import FINE, FOUND, INTERRUPTED, code_of
from gradcli.cli.write.results import Writer, put_text, say
from gradcli.containment import as_gradcli_error
from gradcli.errors import GradcliError, Source, UsageError, text_lines
from gradcli.language.python_hints import Output
from gradcli.language.run import Program, sources
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Query
from gradcli.limits import DEFAULT, Limits
from gradcli.query.bindings import Programs
from gradcli.query.evaluate import only_follows, run_statement
from gradcli.query.options import Options, names_of

# -- What has been typed and is in force: plain data, of which a program is made again, in a
# session or as a file.
#
# ``_`` is text, which stands for the last query, in brackets, or for its value.


_LAST = re.compile(r"""(?<![\w.])_(?!\w)|'[^'\n]*'|"[^"\n]*"|\#.*""")
_WORD = re.compile(r"[^\W\d]\w*")
_DRAWS = re.compile(r"rand|choice|normal|dropout|seed|shuffle|permutation")
_LONGEST = 2_000  # characters of an expression that "_" stands for; beyond, it is a value
_MOST = 10_000  # entries of a value that "_" stands for


class Entry(NamedTuple):
    """A logical line that has run without an error.

    text   with what "_" stood for in its place
    binds  whether others build on it: a binding, a definition, an import
    """

    text: str
    binds: bool

    @property
    def counts(self) -> bool:
        """Return whether a program that is made again needs it: random numbers are drawn in the
        order of the program, by queries, too.
        """
        return self.binds or _DRAWS.search(self.text) is not None


class State(NamedTuple):
    """Entries in order, what "_" stands for, its value as text, the last query, as `:explain` takes
    it, and the state before the last entry.
    """

    entries: tuple[Entry, ...] = ()
    last: str | None = None
    value: str | None = None
    query: str | None = None
    before: State | None = None

    def program(self, of: Callable[[Entry], bool] = lambda entry: True) -> str:
        """Return a program that does what the session has done."""
        return "".join(f"{entry.text}\n" for entry in self.entries if of(entry))

    def without_last(self, text: str) -> str:
        """Return a text with what "_" stands for in its place.

        Raises UsageError where there is nothing.
        """
        if not mentions_last(text):
            return text
        if self.last is None:
            raise UsageError(
                "there is no last result, which '_' stands for", help="type an expression first"
            )
        last = (
            self.last
            if _WORD.fullmatch(self.last) or re.fullmatch(r"[\d.]+", self.last)
            else f"({self.last})"
        )
        return _LAST.sub(lambda found: last if found[0] == "_" else found[0], text)


def mentions_last(text: str) -> bool:
    """Return whether a text speaks of the last result."""
    return any(found[0] == "_" for found in _LAST.finditer(text))


def is_expression(text: str) -> bool:
    """Return whether a query may be written again in the place of its result: it draws nothing, and
    is not too long.
    """
    return (
        len(text) <= _LONGEST
        and not any(sign in text for sign in "\n;#")
        and not _DRAWS.search(text)
    )


def text_of_value(value: Any) -> str | None:
    """Return a value as text of the language; None for one that would be too long."""
    data = np.asarray(value)
    if data.size > _MOST or data.dtype.kind not in "fiub" or (data.size == 0 and data.ndim > 1):
        return None
    return repr(data.tolist())


@dataclass
class Settings:
    """The settings of a session: those that `:set` changes, and those that hold from the
    beginning.
    """

    check: bool = True
    formula: bool = True
    digits: int | None = None
    wrt: str | None = None
    dialect: str | None = None
    dtype: str = "float64"
    color: str = "auto"
    limit: list[str] = field(default_factory=list)  # raised ones, as of --limit


Command = Callable[["Session", str], int | None]  # runs a line that begins with ":"


class Session:
    """A program, and the state that it can be made of again."""

    def __init__(self, command: Command, settings: Settings) -> None:
        self.command, self.settings = command, settings
        self.state = State()
        self.program: Program | None = None  # None: to be made again
        self.line = 0  # that was typed last
        self.ends = False

    def feed(self, text: str) -> int:
        """Run what was typed: statements, one after the other, or commands; the highest exit code.

        An interrupt between two steps ends it, and leaves the session as it was before.
        """
        before, code = self.state, FINE
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
                self.take(before)
                put_text("interrupted; all names are as they were before\n")
                return INTERRUPTED
            except Exception as error:
                found = as_gradcli_error(error)
                say(found.render())
                code = max(code, code_of(found))
            if self.ends:
                break
        self.line += text.rstrip("\n").count("\n") + 1
        return code

    @property
    def limits(self) -> Limits:
        return DEFAULT.raise_to(self.settings.limit)

    # -- statements
    # ------------------------------------------------------------------------------------------------------

    def make_program(self) -> Program:
        """Return the program, made again if a line has failed in it."""
        if self.program is None:
            programs = Programs(self.limits, self.settings.dtype, dialect=self.settings.dialect)
            self.program = program = programs.fresh(0, programs.loader(Path()))
            for statement in program.statements(
                text_lines(self.state.program(lambda entry: entry.counts)), stream=True
            ):
                if not isinstance(statement, GradcliError):
                    program.execute(statement)
        return self.program

    def run_lines(self, text: str, before: int = 0) -> int:
        """Run statements of lines that follow so many others; the exit code that they would
        have.
        """
        lines = [*["\n"] * before, *text_lines(text)]
        found = [
            source for source in sources(lines, None, self.limits) if not isinstance(source, Output)
        ]
        self.make_program().scope.dialect.foresee(lambda: iter(found))
        writer = Writer("text", self.settings.color, self.settings.digits)
        return max((self._run_source(source, writer) for source in found), default=FINE)

    def _run_source(self, source: Source, writer: Writer) -> int:
        """Run the statements of a logical line: all of them come into force, or none."""
        program, state, settings = self.make_program(), self.state, self.settings
        program.scope.dialect.note(source, program.scope.names)
        text = state.without_last(
            source.text.strip() if source.text[:1].isspace() else source.text.rstrip()
        )
        if mentions_last(source.text):
            for statement in parse_statements(Source(f"_ = {state.last}"), self.limits.length):
                if not isinstance(statement, GradcliError):
                    program.execute(statement)
        options = Options(
            wrt=names_of(settings.wrt), check=settings.check, formula=settings.formula
        )
        bound: set[str] = set()
        code, binds, failed = FINE, False, False
        for statement in parse_statements(source, self.limits.length):
            record = run_statement(program, statement, options)
            if record is not None and not only_follows(statement, record):
                writer.write(record)
            if record is not None and record.error is not None:
                failed, code = True, max(code, code_of(record.error.error))
            elif isinstance(statement, Query) and record is not None:
                query, value = self.state.without_last(statement.text), text_of_value(record.value)
                last = query if is_expression(query) else value
                state = state._replace(last=last, value=value, query=query)
            elif not isinstance(statement, (GradcliError, Assertion)):
                binds = True
                bound.update(_WORD.findall(statement.text.split("\n")[0].partition("=")[0]))
            if record is not None and record.error is None and record.failed:
                code = max(code, FOUND)
        if failed:
            self.program = None
            return code
        if (
            state.last is not None
            and state.value is not None
            and bound.intersection(_WORD.findall(state.last))
        ):
            state = state._replace(last=state.value)  # what it was, whatever its names mean now
        entries = (*state.entries, Entry(text, binds))
        self.state = state._replace(entries=entries, before=self.state)
        return code

    # -- what commands do
    # --------------------------------------------------------------------------------------------------

    def take(self, state: State) -> None:
        """Go on from another state."""
        self.state, self.program = state, None

    def undo(self) -> str:
        """Take back the last line that has run. Raises UsageError."""
        if self.state.before is None:
            raise UsageError("there is nothing to take back")
        gone = self.state.entries[-1]
        self.take(self.state.before)
        return gone.text

    def names(self) -> dict[str, Any]:
        """Return the names that have values, and these; of those that wait for others, None."""
        scope = self.make_program().scope
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
        if self.program is None:
            return sorted({*_WORD.findall(self.state.program(lambda entry: entry.binds))})
        scope = self.program.scope
        return sorted(
            {
                *scope.names,
                *scope.functions,
                *scope.objects,
                *scope.imported,
                *scope.dialect.seen.roots,
            }
            - {"_"}
        )


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Statements and commands, each with the number of lines before it: a line of a paste that
    begins with ":" is a command.
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
