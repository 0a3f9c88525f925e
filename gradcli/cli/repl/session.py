"""A session: a program that is fed line by line, without a terminal in it.

A line that fails leaves the program as it was before: the program is then made again of the lines that have run.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli.exit_codes import FINE, FOUND, INTERRUPTED, code_of
from gradcli.cli.inputs.option_values import limits_of
from gradcli.cli.request import ReplRequest
from gradcli.containment import contained
from gradcli.errors import GradcliError, Source, UsageError, text_lines
from gradcli.language.python_hints import Output
from gradcli.language.run import Program, sources
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Query, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.query.bindings import Programs
from gradcli.query.evaluate import only_follows, run_statement
from gradcli.query.options import Options, names_of
from gradcli.report.records import Record

# -- Standard streams for a block: what is printed is kept, in the colours of a terminal or
# without.


class _Stream(io.TextIOWrapper):
    """Keeps what is written to it, and says that it is a terminal, if it stands for one."""

    def __init__(self, styled: bool, content: bytes = b"") -> None:
        self.kept = io.BytesIO(content)
        self.styled = styled
        super().__init__(self.kept, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)

    def isatty(self) -> bool:
        return self.styled


class Captured:
    """What is printed in the block, results and what is said beside them in their order."""

    def __init__(self, styled: bool, columns: int) -> None:
        self._output = _Stream(styled)
        self._columns = str(max(20, columns))
        self._before: tuple[Any, Any, str | None] = (None, None, None)

    @property
    def text(self) -> str:
        return self._output.kept.getvalue().decode("utf-8", "replace")

    def __enter__(self) -> Captured:
        self._before = sys.stdout, sys.stderr, os.environ.get("COLUMNS")
        sys.stdout, sys.stderr = self._output, self._output
        os.environ["COLUMNS"] = self._columns  # which rich and textwrap ask
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        sys.stdout, sys.stderr, columns = self._before
        if columns is None:
            os.environ.pop("COLUMNS", None)
        else:
            os.environ["COLUMNS"] = columns


@contextmanager
def typed(text: str) -> Iterator[None]:
    """Let standard input hold a text in the block."""
    before, sys.stdin = sys.stdin, _Stream(False, text.encode("utf-8", "surrogateescape"))
    try:
        yield
    finally:
        sys.stdin = before


# -- What has been typed and is in force: plain data, of which a program is made again, in a
# session or as a file.
#
# ``_`` is not a name of the language: it is text, which stands for the last query, in brackets,
# or for its value.


_LAST = re.compile(r"""(?<![\w.])_(?!\w)|'[^'\n]*'|"[^"\n]*"|\#.*""")
_WORD = re.compile(r"[^\W\d]\w*")
_DRAWS = re.compile(r"rand|choice|normal|dropout|seed|shuffle|permutation")
_LONGEST = 2_000  # characters of an expression that "_" stands for; beyond, it is a value


@dataclass(frozen=True)
class Entry:
    """A logical line that has run without an error.

    text   with what "_" stood for in its place
    binds  whether others build on it: a binding, a definition, an import
    """

    text: str
    binds: bool

    @property
    def counts(self) -> bool:
        """Return whether a program that is made again needs it: random numbers are drawn in the order of the program, by queries, too."""
        return self.binds or _DRAWS.search(self.text) is not None


@dataclass
class Settings:
    """What `:set` changes, and what holds from the beginning."""

    check: bool = True
    formula: bool = True
    digits: int | None = None
    wrt: str | None = None
    dialect: str | None = None
    dtype: str = "float64"
    color: str = "auto"
    limit: list[str] = field(default_factory=list)  # raised ones, as of --limit


@dataclass
class Transcript:
    """The entries of a session in order, the last result, and the settings."""

    settings: Settings = field(default_factory=Settings)
    entries: list[Entry] = field(default_factory=list)
    last: str | None = None  # what "_" stands for: text of the language
    query: str | None = None  # the last query, as `:explain` takes it
    line: int = 0  # that was typed last

    def copy(self) -> Transcript:
        return Transcript(self.settings, [*self.entries], self.last, self.query, self.line)

    def program(self) -> str:
        """A program that does what the session has done."""
        return "".join(f"{entry.text}\n" for entry in self.entries)

    def bindings(self) -> str:
        """Only what names stand for."""
        return "".join(f"{entry.text}\n" for entry in self.entries if entry.counts and entry.binds)


def mentions_last(text: str) -> bool:
    """Return whether a text speaks of the last result."""
    return any(found[0] == "_" for found in _LAST.finditer(text))


def without_last(text: str, last: str) -> str:
    """A text with the last result in the place of "_"."""
    value = last if _WORD.fullmatch(last) or re.fullmatch(r"[\d.]+", last) else f"({last})"
    return _LAST.sub(lambda found: value if found[0] == "_" else found[0], text)


def is_expression(text: str) -> bool:
    """Return whether a query may be written again in the place of its result: it draws nothing, and is not too long."""
    return len(text) <= _LONGEST and "\n" not in text and ";" not in text and "#" not in text and not _DRAWS.search(text)


def words(text: str) -> set[str]:
    return set(_WORD.findall(text))


_MOST = 10_000  # entries of a value that "_" stands for

Show = Callable[[Record], None]
Command = Callable[["Session", str], int | None]  # runs a line that begins with ":"


class Answer(NamedTuple):
    """What has come of something typed."""

    text: str  # shown, with colours if they were asked for
    code: int = FINE  # of several lines, the highest
    ends: bool = False  # whether the session is over


class Session:
    """A program, and the transcript that it can be made of again."""

    def __init__(self, command: Command, transcript: Transcript | None = None, *, styled: bool = False) -> None:
        self.command = command
        self.transcript = transcript or Transcript()
        self.styled = styled
        self.program: Program | None = None  # None: to be made again
        self.ends = False
        self.code = FINE

    def feed(self, text: str, columns: int = 80) -> Answer:
        """Run what was typed: statements, one after the other, or a command. Nothing is raised."""
        self.code = FINE
        with Captured(self.styled, columns) as output:
            for line, part in _parts(text):
                self.guard(partial(self._run, part, line))
                if self.ends:
                    break
        self.transcript.line += text.rstrip("\n").count("\n") + 1
        return Answer(output.text, self.code, self.ends)

    def answer(self, text: str, columns: int) -> Answer:
        """Run what was typed; an interrupt between two steps ends it, and leaves the session as it was before."""
        before = self.transcript.copy()
        try:
            return self.feed(text, columns)
        except KeyboardInterrupt:
            self.take(before)
            return Answer("interrupted; all names are as they were before\n", INTERRUPTED)

    @property
    def limits(self) -> Limits:
        return DEFAULT.raised(self.transcript.settings.limit)

    def guard(self, act: Callable[[], int | None]) -> None:
        """Do something; whatever is wrong with it is said."""
        from gradcli.cli.write.streams import say

        try:
            self.code = max(self.code, act() or FINE)
        except GradcliError as error:
            say(error.render())
            self.code = max(self.code, code_of(error))
        except Exception as error:
            unforeseen = contained(error)
            say(unforeseen.render())
            self.code = max(self.code, code_of(unforeseen))

    def _run(self, text: str, line: int) -> int | None:
        if text.lstrip().startswith(":"):
            return self.command(self, text.strip())
        return self.run_lines(text, self.transcript.line + line)

    # -- statements ------------------------------------------------------------------------------------------------------

    def made(self) -> Program:
        """The program, made again if a line has failed in it."""
        if self.program is None:
            settings = self.transcript.settings
            programs = Programs(self.limits, settings.dtype, dialect=settings.dialect)
            self.program = program = programs.fresh(0, programs.loader(Path()))
            for entry in self.transcript.entries:
                if entry.counts:
                    for source in sources(text_lines(entry.text), None, self.limits):
                        program.scope.dialect.note(source, program.scope.names)
                        for statement in parse_statements(source, self.limits.length):
                            if not isinstance(statement, GradcliError):
                                program.execute(statement)
            self._bind_last()
        return self.program

    def run_lines(self, text: str, before: int = 0, show: Show | None = None) -> int:
        """Run statements of lines that follow so many others; the exit code that they would have."""
        program = self.made()
        found = [replaced(source, source.first_line + before) for source in sources(text_lines(text), None, self.limits)]
        program.scope.dialect.foresee(lambda: iter(found))
        show = show or self._shown()
        code = FINE
        for source in found:
            if not isinstance(source, Output):
                code = max(code, self._run_source(source, show))
        return code

    def _run_source(self, source: Source, show: Show) -> int:
        """Run the statements of a logical line: all of them come into force, or none."""
        program, transcript, options = self.made(), self.transcript, self._options()
        program.scope.dialect.note(source, program.scope.names)
        if mentions_last(source.text) and transcript.last is None:
            raise UsageError("there is no last result, which '_' stands for", help="type an expression first")
        results: list[tuple[Statement | GradcliError, Record | None]] = []
        for statement in parse_statements(source, self.limits.length):
            record = run_statement(program, statement, options)
            results.append((statement, record))
            if record is not None and not only_follows(statement, record):
                show(record)
        bad = [record for _, record in results if record is not None and record.error is not None]
        if bad:
            self.program = None
            return max(code_of(record.error.error) for record in bad if record.error is not None)
        binds = any(not isinstance(statement, (Query, Assertion)) for statement, _ in results)
        text = source.text.strip() if source.text[:1].isspace() else source.text.rstrip()
        text = without_last(text, transcript.last) if transcript.last is not None and mentions_last(text) else text
        if results:
            transcript.entries.append(Entry(text, binds))
        for statement, record in results:
            if isinstance(statement, Query) and record is not None:
                self._take_last(program, statement, record)
        if binds and transcript.last is not None and self._value is not None and words(transcript.last) & self._bound(results):
            transcript.last = self._value  # what it was, whatever its names mean now
            self._bind_last()
        return max((FOUND for _, record in results if record is not None and record.failed), default=FINE)

    _value: str | None = None  # the last result as numbers

    @staticmethod
    def _bound(results: list[tuple[Statement | GradcliError, Record | None]]) -> set[str]:
        """All that lines may have given another meaning: the words before their equals signs, and all of a block."""
        return {word for statement, _ in results for word in words(getattr(statement, "text", "").split("\n")[0].partition("=")[0])}

    def _take_last(self, program: Program, statement: Query, record: Record) -> None:
        """Let "_" stand for a result."""
        transcript = self.transcript
        text = statement.text
        if transcript.last is not None and mentions_last(text):
            text = without_last(text, transcript.last)
        transcript.query = text
        self._value = written(record.value)
        transcript.last = text if is_expression(text) else self._value
        self._bind_last()

    def _bind_last(self) -> None:
        program, last = self.program, self.transcript.last
        if program is None or last is None:
            return
        text = last
        for attempt in (text, self._value):
            if attempt is None:
                continue
            try:
                for statement in parse_statements(Source(f"_ = {attempt}"), self.limits.length):
                    if isinstance(statement, GradcliError):
                        raise statement
                    program.execute(statement)
            except GradcliError:
                continue
            self.transcript.last = attempt
            return
        self.transcript.last = None
        program.scope.unbind("_")

    def _options(self) -> Options:
        settings = self.transcript.settings
        return Options(wrt=names_of(settings.wrt), check=settings.check, formula=settings.formula)

    def _shown(self) -> Show:
        from gradcli.cli.write.results import Writer

        return Writer("text", self.transcript.settings.color, self.transcript.settings.digits).write

    # -- what commands do --------------------------------------------------------------------------------------------------

    def take(self, transcript: Transcript) -> None:
        """Go on from another transcript."""
        self.transcript, self.program, self._value = transcript, None, None

    def undo(self) -> str:
        """Take back the last line that has run. Raises UsageError."""
        entries = self.transcript.entries
        if not entries:
            raise UsageError("there is nothing to take back")
        gone = entries.pop()
        changed = self.transcript.copy()
        last = next((entry.text for entry in reversed(entries) if not entry.binds and is_expression(entry.text)), None)
        changed.last = changed.query = last if not gone.binds else self.transcript.last
        self.take(changed)
        return gone.text

    def load(self, path: str) -> int:
        """Run a file's lines as if they were typed, with data files from its folder shown as they are. Raises GradcliError."""
        from gradcli.files.stores import lines_of

        if path.endswith((".jsonl", ".ndjson")):
            raise UsageError(f"'{path}' holds records, which are no program", help=f"gradcli eval -f {path}")
        return self.run_lines("".join(lines_of(path, self.limits.length)), 0)

    def names(self) -> dict[str, Any]:
        """The names that have values, and these; of those that wait for others, None."""
        program = self.made()
        scope = program.scope
        found: dict[str, Any] = {}
        for name in [*scope.names]:
            if name == "_" or name.startswith("_ "):
                continue
            try:
                found[name] = scope.evaluate(scope.names[name])
            except GradcliError:
                found[name] = None
        return found

    def known(self) -> list[str]:
        """Names for completion, without computing anything."""
        if self.program is None:
            return sorted(set().union(*(words(entry.text) for entry in self.transcript.entries if entry.binds)))
        scope = self.program.scope
        return sorted({*scope.names, *scope.functions, *scope.objects, *scope.imported, *scope.dialect.seen.roots} - {"_"})


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Statements and commands, each with the number of lines before it: a line of a paste that begins with ":" is a command."""
    lines = text.split("\n")
    begin = 0
    for number, line in enumerate(lines):
        if line.lstrip().startswith(":"):
            if any(before.strip() for before in lines[begin:number]):
                yield begin, "\n".join(lines[begin:number]) + "\n"
            yield number, line
            begin = number + 1
    if any(rest.strip() for rest in lines[begin:]):
        yield begin, "\n".join(lines[begin:])


def replaced(source: Source, line: int) -> Source:
    """A logical line with another number."""
    return type(source)(source.text, source.name, line)


def written(value: Any) -> str | None:
    """A value as text of the language; None for one that would be too long."""
    data = np.asarray(value)
    if data.size > _MOST or data.dtype.kind not in "fiub" or (data.size == 0 and data.ndim > 1):
        return None
    return repr(data.tolist())


# -- How a session begins: the settings that are asked for, and whether somebody types -------------


def transcript_of(request: ReplRequest) -> Transcript:
    """An empty transcript with its settings. Raises UsageError."""
    limits_of(request)
    if request.file is not None and not os.path.exists(request.file):
        raise UsageError(f"there is no file '{request.file}'", help=f"gradcli eval '{request.file}' evaluates an expression")
    return Transcript(Settings(request.check, dialect=request.dialect, dtype=request.dtype, color=request.color, limit=[*request.limit]))


def is_terminal() -> bool:
    """Return whether somebody types and reads."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty() and sys.stdout.isatty()


def first_line() -> str:
    """Return what a session says of itself."""
    from importlib.metadata import version

    return f"gradcli {version('gradcli')}   :help lists commands, Ctrl-D leaves\n"
