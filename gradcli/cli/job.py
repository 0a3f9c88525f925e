"""From arguments to records, one result at a time: what `eval` and `check` share."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcli.cli.arguments import split_binding
from gradcli.errors import GradcliError, ParseError, Source, UsageError, suggestion
from gradcli.evaluation import failed, records, run_statement
from gradcli.language.program import Program, statements
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits
from gradcli.options import Options, names_of
from gradcli.report.records import Record
from gradcli.unused import Names, names_in, refuse_unknown

if TYPE_CHECKING:
    from gradcli.alike import Alike
    from gradcli.files.jsonl import InputRecord

OPTIONS = (
    "file", "input", "wrt", "freeze", "seed", "jacobian", "hessian", "jvp", "save", "check", "no-check", "formula", "no-formula",
    "timeout", "format", "dtype", "digits", "precision", "random-state", "fail-fast", "limit", "quiet", "color", "help", "version",
)  # fmt: skip
FORMATS = ("text", "json", "jsonl", "csv", "latex")


@dataclass(eq=False, repr=False)
class Request:
    """The options of ``gradcli eval``."""

    arguments: list[str]
    files: list[str]
    input_format: str | None
    wrt: str | None
    freeze: list[str]
    seed: str | None
    jacobian: bool
    hessian: bool
    jvp: list[str]
    save: list[str]
    check: bool
    formula: bool | None
    timeout: float | None
    output_format: str
    dtype: str
    digits: int | None
    random_state: int | None
    fail_fast: bool
    limit: list[str]
    quiet: bool
    color: str
    precision: int | None = None


class Job:
    """A checked request: what to read, with which bindings and options."""

    formats: tuple[str, ...] = FORMATS
    unbound = False  # whether names may do without values

    def __init__(self, request: Request) -> None:
        self.request = request
        self.limits: Limits = DEFAULT.raised(request.limit)
        choice("--format", request.output_format, self.formats)
        choice("--input", request.input_format or "text", ("text", "jsonl"))
        choice("--dtype", request.dtype, ("float64", "float32"))
        choice("--color", request.color, ("auto", "always", "never"))
        self.expression, self.bindings, self.files = self._positionals()
        self.targets = dict(assignment("--save", text) for text in request.save)
        self.scope_values = self._values()
        self.options = self._options()
        self.seen = Names()  # of the programs so far
        self.unread = False  # whether a file could not be read to its end
        self._refuse_unknown_names()

    def _positionals(self) -> tuple[str | None, dict[str, str], list[str]]:
        expression: str | None = None
        bindings: dict[str, str] = {}
        files = list(self.request.files)
        for argument in [unicodedata.normalize("NFC", argument) for argument in self.request.arguments]:
            if argument == "-":
                files.append("-")
                continue
            binding = split_binding(argument)
            if binding is not None:
                if binding[0] in bindings:
                    raise UsageError(f"the name '{binding[0]}' is bound twice")
                bindings[binding[0]] = binding[1]
            elif expression is None:
                _refuse_misspelled_option(argument)
                expression = argument
            else:
                raise UsageError(
                    f"two expressions: '{expression.strip()}' and '{argument.strip()}'",
                    help="quote the expression as a whole; write a binding without spaces around '='",
                )
        if expression is None and not files:
            if sys.stdin is None or sys.stdin.closed:
                raise UsageError("nothing to evaluate", help="gradcli eval '3*a**3 - b**2' a=2,3 b=6,4")
            if sys.stdin.isatty():
                print("reading expressions from the terminal; end with Ctrl-D", file=sys.stderr)
            files.append("-")
        if files.count("-") > 1:
            raise UsageError("standard input is named twice")
        return expression, bindings, files

    def _values(self) -> dict[str, Any]:
        """The values of the command line's bindings, each a constant expression or a data file."""
        values: dict[str, Any] = {}
        program = Program(self._scope())
        for name, text in self.bindings.items():
            if text.startswith("@"):
                from gradcli.files.arrays import load_array

                values[name] = array = load_array(text[1:], self.limits)
                self.limits = self.limits.with_room_for(array.size)
                continue
            if not text.strip():
                raise UsageError(f"'{name}=' has no value", help=f"write {name}=2, {name}=2,3 or {name}=@data.npy")
            try:
                values[name] = program.constant(text, f"<{name}>")
            except GradcliError as error:
                unbound = error.code in ("missing-value", "ambiguous")
                if unbound and self.expression is None:
                    raise UsageError(
                        f"'{name}={text}' was read as a binding whose value mentions another name: {error.message}",
                        help=f"to evaluate the right side, write '{text}'; to bind in a program, put spaces: '{name} = {text}'",
                    ) from None
                if unbound:
                    error.note = f"'{name}={text}' was read as a binding; its value must be a constant expression"
                raise
        return values

    def _options(self) -> Options:
        request = self.request
        modes = [
            name for name, on in (("jacobian", request.jacobian), ("hessian", request.hessian), ("jvp", bool(request.jvp))) if on
        ]
        if len(modes) > 1:
            raise UsageError(f"--{modes[0]} and --{modes[1]} exclude each other")
        if modes and request.seed is not None:
            raise UsageError(f"--{modes[0]} takes no --seed")
        if request.timeout is not None and not request.timeout > 0:
            raise UsageError(f"--timeout must be more than 0 seconds, not {request.timeout}")
        formula = request.output_format in ("text", "json", "latex") if request.formula is None else request.formula
        return Options(
            wrt=names_of(request.wrt), freeze=tuple(n for text in request.freeze for n in names_of(text) or ()), seed=request.seed,
            mode=modes[0] if modes else "grad", tangents=dict(assignment("--jvp", text) for text in request.jvp),
            check=request.check, formula=formula, latex=request.output_format == "latex", timeout=request.timeout,
            digits=request.precision, place=self._place(),
        )  # fmt: skip

    def _refuse_unknown_names(self) -> None:
        """Raise the error at once where the names of the whole run are known: those of one expression."""
        options = self.options
        if self.files or self.expression is None or not (options.wrt or options.freeze):
            return
        names = names_in(self.expression, self.limits)
        if names is not None:
            refuse_unknown(options, names[0].union(self.scope_values, names[1] if self.unbound else ()))

    def remarks(self) -> list[str]:
        """What is to be said when all is done: of names that are mentioned nowhere. Raises an error for those that nobody has."""
        if self.unread:
            return []
        if self.files:
            refuse_unknown(self.options, self.seen.had.union(self.scope_values, self.seen.mentioned if self.unbound else ()))
        return self.seen.unmentioned(self.scope_values, self.options)

    def _place(self) -> Any:
        if not self.targets:
            return None
        from gradcli.cli.saving import Places

        return Places(self.targets)

    def _scope(self) -> Scope:
        return Scope(self.limits, self.request.dtype, self.request.random_state or 0)

    def _program(self, values: dict[str, Any], folder: Path | None = None) -> Program:
        """A fresh program with these values; the data files that it names lie in or below the folder, if there is one."""
        scope = self._scope()
        scope.load = partial(self._load, folder)
        for name, value in values.items():
            scope.bind_value(name, value)
        scope.outside = values
        return Program(scope)

    def _load(self, folder: Path | None, reference: str) -> Any:
        from gradcli.files.arrays import load_array

        return load_array(reference, self.limits, folder)

    # -- records ----------------------------------------------------------------------------------------------

    def records(self) -> Iterator[Record]:
        """The results in order, each as soon as it is there."""
        program: Program | None = None
        for path in self.files:
            if (self.request.input_format or format_of(path)) == "jsonl":
                yield from self._jsonl(path)
            else:
                program = self._program(self.scope_values, folder_of(path))
                yield from self._text(program, self._lines(path), None if path == "-" else path)
        if self.expression is not None:
            if program is None or len(self.files) > 1:
                program = self._program(self.scope_values)
            text = self.expression.removeprefix(" ") if self.expression.startswith(" -") else self.expression
            found = self._text(program, text.splitlines(keepends=True) or [""], None)
            yield from found if self.files else self._with_remarks(found)

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

    @cached_property
    def _alike(self) -> Alike:
        from gradcli.alike import Alike

        return Alike(self.limits, self.request.dtype)

    def _lines(self, path: str) -> Iterable[str]:
        from gradcli.files.sources import lines_of

        return lines_of(path, self.limits.length)

    def _text(self, program: Program, lines: Iterable[str], name: str | None) -> Iterator[Record]:
        alike = self._alike if self.files and self.options.bare else None  # one expression is not worth its imports
        try:
            yield from records(program, lines, name, self.options, alike)
        except GradcliError as error:
            self.unread = True
            yield failed(error)
        self.seen.add(program.scope)

    def _jsonl(self, path: str) -> Iterator[Record]:
        folder = folder_of(path)
        name = None if path == "-" else path
        number = 0
        try:
            for line in self._lines(path):
                number += 1
                if line.strip():
                    yield self._record(line, folder, name, number)
        except GradcliError as error:
            self.unread = True
            yield failed(error)

    def _record(self, line: str, folder: Path, name: str | None, number: int) -> Record:
        """The result of one record: that of the last query of its program."""
        from gradcli.files.jsonl import parse_record

        try:
            given = parse_record(line, self.limits, folder)
            options = self._options_of(given)
        except GradcliError as error:
            record = failed(error, id=error.record.get("id"), expr=error.record.get("expr"))
        else:
            values = {**given.at, **self.scope_values}
            where = f"{name or '<stdin>'}:{number}"
            known = self._alike.in_record(values, Source(given.expr, where), options, given.id) if options.bare else None
            if known is not None:
                record = known
                record.expr = given.expr
                mentioned = self._alike.mentioned
            else:
                program = self._program(values, folder)
                program.scope.needed = options.wrt is not self.options.wrt
                record = self.result_of(program, given, options, where)
                mentioned = program.scope.mentioned
                self.seen.had |= program.scope.leaves.keys()
                program.end()
            self._note_names(record, given, options, mentioned)
        record.file, record.line, record.column, record.record_line = name, number, 1, True
        return record

    def _note_names(self, record: Record, given: InputRecord, options: Options, mentioned: set[str]) -> None:
        """Warn of the record's own names that it does not mention; those of the command line are another record's, perhaps."""
        if self.scope_values:
            self.seen.mentioned |= mentioned
        if options.freeze:
            self.seen.had |= given.at.keys()
        if record.error is None and not given.at.keys() <= mentioned:
            names = Names(mentioned=mentioned)
            record.warnings += names.unmentioned(given.at, options)

    def _options_of(self, given: InputRecord) -> Options:
        from dataclasses import replace

        if given.wrt is None and given.seed is None:
            return self.options
        return replace(
            self.options,
            wrt=self.options.wrt or given.wrt,
            seed=given.seed if self.options.seed is None and self.options.mode == "grad" else self.options.seed,
        )

    def result_of(self, program: Program, given: InputRecord, options: Options, where: str) -> Record:
        text, id = given.expr, given.id
        parsed = list(statements(text.splitlines(keepends=True), where, self.limits))
        if not parsed:
            return failed(ParseError("the record's 'expr' is empty", span=None), id=id, expr=text)
        result: Record | None = None
        for statement in parsed:
            record = run_statement(program, statement, options, id=id)
            result = record or result
            if record is not None and record.error is not None:
                break
        if result is None:
            source = Source(text)
            return failed(ParseError("the program has no query", source=source), id=id, expr=text)
        result.expr = text
        return result


def _refuse_misspelled_option(argument: str) -> None:
    """``--formt`` is an expression by the rules, but surely not meant as one."""
    word = argument.strip()
    close = suggestion(word[2:], list(OPTIONS)) if word.startswith("--") and word[2:].replace("-", "").isalpha() else None
    if close is not None:
        raise UsageError(f"no such option: {word}", help=f"did you mean --{close}?")


def choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{option} must be one of {', '.join(allowed)}, not '{value}'")


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return name.strip(), value


def folder_of(path: str) -> Path:
    """The folder of a file; for standard input, the current one."""
    return Path() if path == "-" else Path(path).parent


def format_of(path: str) -> str:
    return "jsonl" if path.endswith((".jsonl", ".ndjson")) else "text"
