"""From arguments to records, one result at a time: what `eval` and `check` share."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcli.cli.arguments import split_binding
from gradcli.cli.idle import refuse_idle
from gradcli.cli.naming import claim_of_nothing
from gradcli.cli.request import FORMATS, OPTIONS, Request
from gradcli.cli.words import assignments, choice, folder_of, format_of
from gradcli.errors import GradcliError, InputError, ParseError, Source, UsageError, suggestion, text_lines
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits
from gradcli.query.evaluate import failed, records, run_statement
from gradcli.query.options import ClaimInput, Options, names_of
from gradcli.query.unused_names import Names, names_in, refuse_unknown
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.batch.compilation_cache import CompilationCache
    from gradcli.files.jsonl import InputRecord


@dataclass(frozen=True, eq=False)
class Way:
    """How the cases of a file are calculated."""

    options: Options
    state: int = 0  # of random numbers


class Job:
    """A checked request: what to read, with which bindings and options."""

    formats: tuple[str, ...] = FORMATS
    unbound = False  # whether names may do without values
    claims: tuple[ClaimInput, ...] = ()  # about the expression

    def __init__(self, request: Request) -> None:
        self.request = request
        self.limits: Limits = DEFAULT.raised(request.limit)
        choice("--format", request.output_format, self.formats)
        choice("--input", request.input_format or "text", ("text", "jsonl"))
        choice("--dtype", request.dtype, ("float64", "float32"))
        choice("--color", request.color, ("auto", "always", "never"))
        self.expression, self.bindings, self.files = self._positionals()
        if request.input_format is not None and not self.files:
            raise UsageError("--input is about files and standard input, of which there are none")
        self.targets = assignments("--save", request.save)
        if self.targets:
            from gradcli.cli.saving import refuse_other_formats

            refuse_other_formats(self.targets)
        self._prepare()
        self.scope_values = self._values()
        self.seen = Names()  # of the programs so far
        self.unread = False  # whether a file could not be read to its end
        self._refuse_unknown_names()

    def _prepare(self) -> None:
        """What the bindings of the command line are calculated with."""
        refuse_idle(self.request)
        self.way = Way(self._options(), self.request.random_state or 0)

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
        program = Program(self._scope(self.way))
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
        modes = [name for name, on in (("jacobian", request.jacobian), ("hessian", request.hessian), ("jvp", bool(request.jvp))) if on]
        if len(modes) > 1:
            raise UsageError(f"--{modes[0]} and --{modes[1]} exclude each other")
        if modes and request.seed is not None:
            raise UsageError(f"--{modes[0]} takes no --seed")
        if request.timeout is not None and not request.timeout > 0:
            raise UsageError(f"--timeout must be more than 0 seconds, not {request.timeout}")
        formula = request.output_format in ("text", "json", "latex") if request.formula is None else request.formula
        return Options(
            wrt=names_of(request.wrt), freeze=tuple(n for text in request.freeze for n in names_of(text) or ()), seed=request.seed,
            mode=modes[0] if modes else "grad", tangents=assignments("--jvp", request.jvp),
            check=request.check, formula=formula, latex=request.output_format == "latex", timeout=request.timeout,
            digits=request.precision, place=self._place(),
        )  # fmt: skip

    def _refuse_unknown_names(self) -> None:
        """Raise the error at once where the names of the whole run are known: those of one expression."""
        options = self.way.options
        if self.files or self.expression is None or not (options.wrt or options.freeze):
            return
        names = names_in(self.expression, self.limits)
        if names is not None:
            refuse_unknown(options, names[0].union(self.scope_values, names[1] if self.unbound else ()), names[1])

    def remarks(self) -> list[str]:
        """What is to be said when all is done: of names that are mentioned nowhere. Raises an error for those that nobody has."""
        if self.unread:
            return []
        if self.files:
            had, mentioned = self.seen.had.union(self.scope_values), self.seen.mentioned
            refuse_unknown(self.way.options, had | mentioned if self.unbound else had, mentioned)
        return self.seen.unmentioned(self.scope_values, replace(self.way.options, claims=self.claims))

    def _place(self) -> Any:
        if not self.targets:
            return None
        from gradcli.cli.saving import Places

        return Places(self.targets)

    def way_of(self, path: str | None) -> Way:
        """How the cases of a file are calculated; None and "-" are the command line and standard input."""
        return self.way

    def _scope(self, way: Way) -> Scope:
        return Scope(self.limits, self.request.dtype, way.state)

    def _program(self, values: dict[str, Any], way: Way, folder: Path | None = None) -> Program:
        """A fresh program with these values; the data files that it names lie in or below the folder, if there is one."""
        scope = self._scope(way)
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
                program = self._program(self.scope_values, self.way, folder_of(path))
                yield from self._text(program, self._lines(path), None if path == "-" else path)
        if self.expression is not None:
            if program is None or len(self.files) > 1:
                program = self._program(self.scope_values, self.way)
            text = self.expression.removeprefix(" ") if self.expression.startswith(" -") else self.expression
            found = self._text(program, text_lines(text) or [""], None)
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
    def _compilation_cache(self) -> CompilationCache:
        from gradcli.batch.compilation_cache import CompilationCache

        return CompilationCache(self.limits, self.request.dtype)

    def _lines(self, path: str) -> Iterable[str]:
        from gradcli.files.sources import lines_of

        return lines_of(path, self.limits.length)

    def _text(self, program: Program, lines: Iterable[str], name: str | None) -> Iterator[Record]:
        cache = self._compilation_cache if self.files and self.way.options.bare else None  # one expression is not worth its imports
        try:
            yield from records(program, lines, name, self.way.options, cache)
        except GradcliError as error:
            self.unread = True
            yield failed(error)
        self.seen.add(program.scope)

    def _jsonl(self, path: str) -> Iterator[Record]:
        number = 0
        try:
            for line in self._lines(path):
                number += 1
                if line.strip():
                    yield self.record_of(line, path, number)
        except GradcliError as error:
            self.unread = True
            yield failed(error)

    def record_of(self, line: str, path: str, number: int) -> Record:
        """The result of one record: that of the last query of its program."""
        from gradcli.files.jsonl import parse_record

        folder, name, way = folder_of(path), None if path == "-" else path, self.way_of(path)
        try:
            given = parse_record(line, self.limits, folder)
            values = {**self._values_of(given, way), **self.scope_values}
            options = self._options_of(given, way)
        except GradcliError as error:
            record = failed(error, id=error.record.get("id"), expr=error.record.get("expr") or "")
            record.meta, record.given = error.record.get("meta"), self.digest(error.record.get("given"))
        else:
            where = f"{name or '<stdin>'}:{number}"
            known = None
            if options.bare and all(claim.of in values or claim.of == "value" for claim in given.expect):
                known = self._compilation_cache.in_record(values, Source(given.expr, where), options, given.id)
            if known is not None:
                record = known
                record.expr = given.expr
                mentioned = self._compilation_cache.mentioned
            else:
                program = self._program(values, way, folder)
                program.scope.needed = options.wrt is not way.options.wrt
                record = self.result_of(program, given, way, options, where)
                mentioned = program.scope.mentioned
                self.seen.had |= program.scope.leaves.keys()
                program.end()
            self._note_names(record, given, options, mentioned)
            record.meta, record.given = given.meta, self.digest(given.given)
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

    def digest(self, given: Any) -> str | None:
        """What identifies a case beside its text, for those who compare runs."""
        return None

    def _values_of(self, given: InputRecord, way: Way) -> dict[str, Any]:
        """The values of a record, texts as constant expressions."""
        values: dict[str, Any] = {}
        program: Program | None = None
        for name, value in given.at.items():
            values[name] = value
            if isinstance(value, str):
                program = program or Program(self._scope(way))
                try:
                    values[name] = program.constant(value, f"<{name}>")
                except GradcliError as error:
                    help = "write a number, or an expression of numbers"
                    reason = InputError(f"the value of '{name}' is no number: {error.message}", help=help)
                    reason.record = {"id": given.id, "expr": given.expr, "meta": given.meta, "given": given.given}
                    raise reason from None
        return values

    def _options_of(self, given: InputRecord, way: Way) -> Options:
        options = way.options
        if given.wrt is None and given.seed is None:
            return options
        if given.seed is not None and options.mode != "grad":
            raise UsageError(f"the record has a seed, and --{options.mode} takes none")
        return replace(
            options,
            wrt=options.wrt or given.wrt,
            seed=given.seed if options.seed is None and options.mode == "grad" else options.seed,
        )

    def result_of(self, program: Program, given: InputRecord, way: Way, options: Options, where: str) -> Record:
        text, id = given.expr, given.id
        parsed = list(statements(text_lines(text), where, self.limits))
        if not parsed:
            return failed(ParseError("the record's 'expr' is empty", span=None), id=id, expr=text)
        stray = claim_of_nothing(given, parsed, program)
        if stray is not None:
            return failed(stray, id=id, expr=text)
        result: Record | None = None
        for statement in parsed:
            record = run_statement(program, statement, options, id=id)
            if record is not None:
                result = record if result is None else result.joined(record)
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
