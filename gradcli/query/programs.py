"""Programs of a run, with the values and names that they have, and the answers to their statements.

The record of a query is filled in by `query/evaluate.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gradcli.errors import GradcliError, UnknownNameError, as_gradcli_error, did_you_mean
from gradcli.language.reading import names_bound_by, words_of
from gradcli.language.run import Lowered, Program, ProgramText, statements
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_statements, without_bad_help
from gradcli.language.syntax import Asked, Assertion, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.options import Options
from gradcli.query.bindings import value_of
from gradcli.query.evaluate import fill_statement, missing
from gradcli.report.records import Answer, Record
from gradcli.texts import Source, text_lines

if TYPE_CHECKING:
    from gradcli.query.templates import CompilationCache

_MEANT = 100  # most unmentioned names for which a suggestion is sought


@dataclass(eq=False)
class Programs:
    """Makes the programs of a run."""

    limits: Limits = DEFAULT
    precision: str = "float64"
    # they replace what programs bind to the same names
    values: dict[str, Any] = field(default_factory=dict)
    # the standard deviations of those that are not exact
    deviations: dict[str, Any] = field(default_factory=dict)
    dialect: str | None = None  # of programs that show none
    piped: Callable[[], bytes] | None = None  # what standard input holds, where it is data
    keeps_text: bool = False  # whether programs keep the text that they read

    def fresh(
        self,
        state: int = 0,
        load: Callable[[str], Any] | None = None,
        values: Mapping[str, Any] | None = None,
        dialect: str | None = None,
        usual: str | None = None,
        deviations: Mapping[str, Any] | None = None,
    ) -> Program:
        """Return a program that nothing has run in.

        state   the seed of its random numbers
        load    reads the data files that it names; without one, it may name none
        values  those of this program, if they are not those of all
        dialect what is asked for where it does not show one, if nothing is asked for all
        usual   what holds where nobody asks
        """
        scope = Scope(self.limits, self.precision, state)
        scope.load = load
        scope.dialect.asked, scope.dialect.usual = self.dialect or dialect, usual
        scope.outside = dict(self.values if values is None else values)
        for name, value in scope.outside.items():
            leaf = scope.bind_value(name, value)
            deviation = (self.deviations if deviations is None else deviations).get(name)
            if deviation is not None:
                scope.deviations[leaf] = deviation
        program = Program(scope)
        program.text = ProgramText() if self.keeps_text else None
        return program

    def loader(self, folder: Path | None = None) -> Callable[[str], Any]:
        """Return a reader of data files: of those in or below a folder, or of any."""

        def load(reference: str) -> Any:
            from gradcli.files.arrays import load_array

            return load_array(
                reference, self.limits, folder, self.piped if folder is None else None
            )

        return load

    @cached_property
    def cache(self) -> CompilationCache:
        """Queries of one form, which are compiled once for all programs."""
        from gradcli.query.templates import CompilationCache

        return CompilationCache(self.limits, self.precision)


def programs_with(
    values: Mapping[str, Any], limits: Limits, dtype: str = "float64", dialect: str | None = None
) -> Programs:
    """Return what makes programs with these values: arrays, or text with a ``±``."""
    programs = Programs(limits, dtype, dialect=dialect)
    for name, value in values.items():
        exact, deviation = value, None
        if isinstance(value, str) and any(
            sign in value for sign in ("±", "+/-", "\\pm", "+-", "(")
        ):
            found, deviation = programs.fresh().uncertain(value, name)
            exact = value if deviation is None else found
        programs.values[name] = array = value_of(name, exact)
        limits.check_shape(array.shape)
        if deviation is not None:
            programs.deviations[name] = deviation
    return programs


# -- Names that are bound or mentioned ------------------------------------------------------------


@dataclass(eq=False)
class UsedNames:
    """The names of a run, gathered from its programs."""

    # Each name with the place of its binding, in words.
    bound: dict[str, str] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)  # names that had a value in some program
    # Whether some text was not read to its end, and so may have mentioned any name.
    unread: bool = False

    def add(self, scope: Scope) -> None:
        """Add the names of a program that has ended."""
        self.mentioned |= scope.mentioned
        self.had.update(scope.names, scope.leaves, scope.failed)
        for binding in scope.bindings.values():
            # Not a part of an unpacking, bound with the others whether it is wanted or not.
            if (
                binding.name not in self.mentioned
                and binding.name not in self.bound
                and getattr(binding, "part", None) is None
            ):
                line, _ = binding.place
                file = binding.source.name
                self.bound[binding.name] = f" (bound on line {line}{f' of {file}' if file else ''})"

    def merge(self, other: UsedNames) -> None:
        """Add what another process has gathered."""
        self.mentioned |= other.mentioned
        self.had |= other.had
        self.unread |= other.unread
        self.bound = {**other.bound, **self.bound}

    def take(self) -> UsedNames:
        """Return what is gathered so far; from now on it is gathered anew."""
        taken = replace(self)
        self.bound, self.mentioned, self.had, self.unread = {}, set(), set(), False
        return taken

    def remarks(
        self, given: Collection[str], options: Options, *, several: bool, free: bool = False
    ) -> list[str]:
        """Return what is to be said when a run is over.

        given    names that are bound for all programs
        several  whether there were more programs than one, whose names are known only now:
                 MissingValueError for those that none has
        free     whether names may do without values
        """
        if self.unread:
            return []
        if several:
            had = self.had.union(given)
            refuse_unknown(options, had | self.mentioned if free else had, self.mentioned)
        return self.warn_unmentioned(given, options)

    def warn_unmentioned(self, given: Iterable[str], options: Options) -> list[str]:
        """Warnings about names that are bound, or given from outside, and stand nowhere.

        A leading underscore says that it is meant so.
        """
        asked = options.names_asked
        places = {**self.bound, **dict.fromkeys(given, "")}
        lost = [
            name
            for name in places
            if name not in self.mentioned and name not in asked and not name.startswith("_")
        ]
        others = sorted(self.mentioned) if lost else []
        remarks = []
        for place, name in enumerate(lost):
            meant = did_you_mean(name, others) if place < _MEANT else None
            remarks.append(
                f"'{name}' is mentioned nowhere{places[name]}" + (f": {meant}" if meant else "")
            )
        return remarks


def refuse_unknown(options: Options, known: Iterable[str], words: Collection[str] = ()) -> None:
    """Raise an error for a name that no query of a run has.

    It is MissingValueError for a name in ``wrt``, ``freeze`` or a claim, and UnknownNameError for
    one in a box. ``words`` are all words of the text, whatever they are.
    """
    known = {*known}
    claimed = [claim.of for claim in options.claims if claim.of != "value"]
    for what, names in (
        ("differentiated", [*(options.wrt or ()), *claimed]),
        ("held constant", options.freeze),
    ):
        for name in names:
            if name not in known:
                raise missing(name, known, words, what)
    for name in options.over:
        if name not in words:
            raise UnknownNameError(
                f"the expression has no name '{name}'", help=did_you_mean(name, sorted(words))
            )


def names_among(parsed: Iterable[Statement | GradcliError]) -> tuple[set[str], set[str]]:
    """Return the names that a program binds, and the names that it mentions."""
    bound: set[str] = set()
    words: set[str] = set()
    for statement in parsed:
        if isinstance(statement, GradcliError):
            continue
        words |= words_of(statement)
        bound.update(names_bound_by(statement))
    return bound, words


def refuse_unknown_in(
    text: str, options: Options, given: Iterable[str], limits: Limits, free: bool = False
) -> None:
    """Apply `refuse_unknown` before the only program of a run is run.

    It is not applied if some of the program cannot be read. If ``free``, names may do without
    values.
    """
    if not (options.wrt or options.freeze or options.claims or options.over):
        return
    parsed = list(statements(text_lines(text) or [""], None, limits))
    if not any(isinstance(statement, GradcliError) for statement in parsed):
        bound, mentioned = names_among(parsed)
        refuse_unknown(options, bound.union(given, mentioned if free else ()), mentioned)


# -- The answers to statements, in order


Kind = TypeVar("Kind", bound=Answer)


_WORD = re.compile(r"[^\W\d]\w*")


class Script(NamedTuple):
    """The lines of a program, or of records, which have none of their own."""

    program: Program | None
    lines: Iterable[str]
    path: str | None = None  # path of the program's file; None for an expression
    stream: bool = False  # whether each line is answered as it arrives

    @property
    def opened(self) -> Program:
        """Return the program, of what is one."""
        assert self.program is not None
        return self.program

    def sources(self) -> Iterator[Source]:
        """Yield the logical lines of the program as its lines come."""
        name = None if self.path == "-" else self.path
        return self.opened.sources(self.lines, name, stream=self.stream)

    def statements(self) -> Iterator[Statement | GradcliError]:
        """Yield the statements of the program as its lines come."""
        for source in self.sources():
            yield from parse_statements(source, self.opened.scope.limits.length)


def records(
    script: Script, options: Options, cache: CompilationCache | None = None
) -> Iterator[Record]:
    """Yield the results of a program as its lines come.

    With a cache, queries of one template are compiled once.
    """
    program = script.opened
    scope = program.scope
    for source in script.sources():
        if cache is not None and program.bind_number(source):
            continue
        record = None
        if cache is not None and not scope.deviations:
            record = cache.in_scope(scope, source, options)
        if record is not None:
            yield record
            continue
        for statement in parse_statements(source, scope.limits.length):
            record = run_statement(program, statement, options)
            if record is not None and not only_follows(statement, record):
                yield record


def join_records(found: Iterable[Record]) -> Record | None:
    """Return the result of a program with these records, up to the first that has an error."""
    result: Record | None = None
    queries = 0
    for record in found:
        queries += record.mode != "assert"
        result = record if result is None else result.join(record)
        if record.error is not None:
            return result
    return result and result.last_of(queries)


Fill = Callable[[Program, Lowered, Kind, Options], object]  # fills in the record of a statement


def run_statement(
    program: Program, statement: Statement | GradcliError, options: Options, *, id: Any = None,
    lower: Callable[[Any], Lowered | None] | None = None, fill: Fill[Record] | None = None,
) -> Record | None:  # fmt: skip
    """Execute one statement; a query, an assert or an error gives a record."""
    mode = "assert" if isinstance(statement, Assertion) else options.mode
    fill = fill or fill_statement
    return answer(Record, fill, program, statement, options, lower=lower, id=id, mode=mode)


def record_of(kind: type[Kind], statement: Statement, id: Any = None, **known: Any) -> Kind:
    """Return an answer to a statement, of which nothing is known yet but where it stands."""
    line, column = statement.place
    return kind(statement.text, id, statement.source.name, line, column, **known)


def answer(
    kind: type[Kind], fill: Fill[Kind], program: Program, statement: Statement | GradcliError, options: Options, *,
    lower: Callable[[Any], Lowered | None] | None = None, id: Any = None, **known: Any,
) -> Kind | None:  # fmt: skip
    """Execute one statement, and return an answer of a kind.

    There is no answer to a statement that others build on, except for its error.

    - ``fill``: completes an answer
    - ``lower``: runs the statement, if the program does not
    - ``known``: fields of the answer that are known before
    """
    scope = program.scope
    if isinstance(statement, GradcliError):
        if statement.source is not None:
            scope.mentioned.update(_WORD.findall(statement.source.text))
        return kind.of_error(without_bad_help(statement, scope), id=id)
    record = record_of(kind, statement, id, **known)
    try:
        lowered = (lower or program.execute)(statement)
        if lowered is None:
            return None
        record.read_as, record.dialect = lowered.read_as, program.lowering.dialect
        record.warnings += lowered.notes
        fill(program, lowered, record, options)
    except Exception as error:
        return record.fail(locate(as_gradcli_error(error), scope, statement))
    finally:
        record.dialect = program.lowering.dialect
    return record


def answers(
    kind: type[Kind], fill: Fill[Kind], script: Script, options: Options, **known: Any
) -> Iterator[Kind]:
    """Yield the answers to all statements of a text except asserts, as `answer` gives them."""
    for statement in script.statements():
        record = (
            None
            if isinstance(statement, Assertion)
            else answer(kind, fill, script.opened, statement, options, **known)
        )
        if record is not None and not only_follows(statement, record):
            yield record


def only_follows(statement: Statement | GradcliError, record: Answer) -> bool:
    """Return whether a record has nothing new to report.

    It is that of a binding that fails because one before it has failed; the error of that one is
    reported.
    """
    is_case = isinstance(statement, Asked | GradcliError)
    return not is_case and record.error is not None and record.error.follows is not None


def locate(error: GradcliError, scope: Scope, statement: Statement) -> GradcliError:
    """Point at the node where evaluation failed, or else at the statement."""
    places = scope.spans(error.node) if error.node is not None else []
    if places:
        error.at(places[-1][1], places[-1][0])
    return error.at(statement.span, statement.source)
