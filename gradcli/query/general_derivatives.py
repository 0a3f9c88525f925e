"""Derivatives of a program's queries as formulas, without values: what `gradcli diff` and `gradcli.differentiate` give.

Names without values are variables; if there are none, those with values are. A program without a query has the functions that it
defines, or the last name that it binds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.sampling import anywhere
from gradcli.containment import contained
from gradcli.errors import AmbiguousError, GradcliError, ShapeError, UnknownNameError, suggestion
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import reachable
from gradcli.inert import shell_word
from gradcli.language.callables import is_function
from gradcli.language.mentions import expressions_of, mentioned, words_of
from gradcli.language.rereading import as_read
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Assertion, Binding, DataBinding, Definition, Query, Several, Statement
from gradcli.notation import GREEK
from gradcli.ops.constants import NAMED
from gradcli.query.evaluate import locate, run_statement
from gradcli.query.formula_verdicts import verified
from gradcli.query.free_variables import Needs, SampledPoints, deferred, keep_in_order, needs_of
from gradcli.query.general_formulas import General, general
from gradcli.query.glued_names import refuse_glued
from gradcli.query.options import Options
from gradcli.query.policy import POINTS
from gradcli.query.uncertainty import left_out
from gradcli.query.wrt import variables
from gradcli.report.derivative_record import DerivativeRecord, Path

_TRIALS = 12  # points at which forms of a formula are compared
_MORE = 96  # of them where the domain is small
_ENOUGH = 3  # of them with a finite value
_LISTED = 20  # names in a help
_SHORT = 60  # characters of one that is repeated in a help
_LONGEST = 2_000  # characters of an expression that an error is about


@dataclass(frozen=True, eq=False)
class Asked:
    """What is wanted of every query."""

    names: Path | None = None  # to differentiate by, in this order
    order: int = 1
    latex: bool = False
    check: bool = True
    points: int = POINTS
    state: int = 0  # of random numbers
    timeout: float | None = None
    observer: Callable[[General, DerivativeRecord], None] | None = None  # is shown each expression whose formulas a record has

    @property
    def options(self) -> Options:
        return Options(formula=False, check=False, timeout=self.timeout)


class Subject(NamedTuple):
    """An expression to differentiate: a query, and what is said to be differentiated if that is a function or a binding."""

    query: Query
    said: Statement
    names: Path | None


def derivatives(
    program: Program, lines: Iterable[str], name: str | None, asked: Asked, id: Any = None, *, stream: bool = False
) -> Iterator[DerivativeRecord]:
    """A record for each query of a program as its lines come, and for each error."""
    definitions: list[Definition] = []
    bindings: list[Binding] = []
    found = False
    for statement in program.statements(lines, name, stream=stream):
        record = None
        if isinstance(statement, Query):
            record = derivative(program, Subject(statement, statement, asked.names), asked, id)
        elif not isinstance(statement, Assertion):
            definitions += [statement] if isinstance(statement, Definition) else []
            bindings += [statement] if isinstance(statement, Binding) else statement.bindings if isinstance(statement, Several) else []
            record = _made_ready(program, statement, asked, id)
        if record is not None:
            found = True
            yield record
    if not found:
        for subject in _without_query(definitions, bindings, asked):
            yield derivative(program, subject, asked, id)


def _made_ready(program: Program, statement: Statement | GradcliError, asked: Asked, id: Any) -> DerivativeRecord | None:
    """Run a statement that others build on; the record of its error."""
    record, names = run_statement(program, statement, asked.options), asked.names or ()
    if record is not None and isinstance(statement, (Binding, Several)) and (needs := needs_of(statement, program.scope, names)):
        record = deferred(program, statement, needs, asked.options)
    elif record is None and isinstance(statement, (Binding, DataBinding, Several)):
        keep_in_order(program.scope, statement)
    if record is None:
        return None
    assert record.error is not None
    return DerivativeRecord.of_error(record.error.error, id=id, expr=record.expr)


def _without_query(definitions: Sequence[Definition], bindings: Sequence[Binding], asked: Asked) -> Iterator[Subject]:
    """What a program is about that asks for nothing: the functions that it defines, or else the last name that it binds."""
    for definition in definitions:
        names = tuple(definition.parameters) if asked.names is None else asked.names
        yield Subject(_query(f"{definition.name}({', '.join(definition.parameters)})"), definition, names)
    if bindings and not definitions:
        yield Subject(_query(bindings[-1].name), bindings[-1], asked.names)


def _query(text: str) -> Query:
    (query,) = statements([text])
    assert isinstance(query, Query)
    return query


def derivative(program: Program, subject: Subject, asked: Asked, id: Any = None) -> DerivativeRecord:
    """The derivatives of one expression, and the verdict on them; the error, if there are none."""
    said = subject.said
    line, column = said.source.position(said.span.start)
    record = DerivativeRecord(said.text, id, said.source.name, line, column, order=asked.order)
    try:
        needs = _needs(program, subject)
        _differentiated(program, subject, needs, asked, record)
        if asked.check and record.formulas:
            verified(program, subject.query, record, asked.options, asked.points, asked.state, subject.names or ())
    except Exception as unforeseen:
        error = contained(unforeseen)
        if isinstance(error, ShapeError) and error.help is None and len(said.text) <= _SHORT and "\n" not in said.text:
            error.help = f"gradcli diff {shell_word(f'sum({said.text})')}, or one entry: {shell_word(f'({said.text})[0]')}"
        return record.fail(locate(error, program.scope, subject.query))
    return record


def _needs(program: Program, subject: Subject) -> Needs:
    """What an expression lacks. Raises what is wrong with it whatever values its names have: two readings, functions without arguments."""
    scope, query, listed = program.scope, subject.query, subject.names or ()
    needs = needs_of(query, scope, listed)
    expressions = [query.expression, *(e for deferral in needs.bindings for e in expressions_of(deferral.binding))]
    bound = {*scope.names, *scope.functions, *(name for deferral in needs.bindings for name in deferral.names)}
    given = {*bound, *NAMED, *listed}
    free = [name for name in mentioned(expressions, scope.functions, given) if name not in given]
    statements = [query, *(deferral.binding for deferral in needs.bindings)]
    refuse_glued(statements, scope, free, listed, can_list=True)
    functions = [name for name in free if is_function(name) and len(name) > 1 and name not in GREEK]
    if functions or not listed:
        _refuse_two_readings(program, query, bool(functions))
    called = [name for name in listed if name in words_of(query) and name not in bound.union(needs.names)]
    return Needs([*needs.names, *called], needs.bindings)


def _refuse_two_readings(program: Program, query: Query, whatever: bool) -> None:
    """Raise what is wrong with an expression of names without values: that it has two readings, or ``whatever`` it is."""
    try:
        program.execute(query)
    except AmbiguousError:
        raise
    except GradcliError:
        if whatever:
            raise


def _differentiated(program: Program, subject: Subject, needs: Needs, asked: Asked, record: DerivativeRecord) -> None:
    """Put the formulas into a record."""
    sampled = SampledPoints(program, subject.query, needs, asked.options)
    points = [dict(zip(needs.names, point.values(), strict=True)) for point in anywhere(sampled.keys, _TRIALS, asked.state)]
    made = _made(sampled, points, subject, asked, record)
    if needs.names and made is not None and _defined(made) < _ENOUGH:
        inside = [*anywhere(sampled.keys, _MORE, asked.state), *sampled.points_in_domains(asked.points, asked.state)]
        points += [dict(zip(needs.names, point.values(), strict=True)) for point in inside]
        made = _made(sampled, points, subject, asked, record)
    if made is None:
        record.warnings.append("there is no name to differentiate by: the expression is a constant")
        return
    record.formulas = made.derivatives(record.names, asked.order, asked.latex)
    if asked.observer is not None:
        asked.observer(made, record)
    if asked.latex:
        record.picture = made.picture()


def _made(
    sampled: SampledPoints, points: Sequence[Mapping[str, Any]], subject: Subject, asked: Asked, record: DerivativeRecord
) -> General | None:
    """The expression for all values of its names; None without a name. What is said of them stands in the record."""
    program = sampled.program
    scope = program.scope
    with sampled.bound(points[0] if points else {}):
        for waiting in sampled.needs.bindings:
            program.execute(waiting.binding)
        lowered = program.execute(subject.query)
        assert lowered is not None
        present = _present(program, subject, sampled.needs, lowered)
        asked_for = None if subject.names is None else tuple(name for name in subject.names if name in present)
        options = replace(asked.options, wrt=asked_for, everywhere=True)
        record.dialect, record.read_as = program.lowering.dialect, lowered.read_as or _reading(subject, scope)
        found = variables(scope, reachable([lowered.value]), options, lowered.static_uses)
        names = list(found.nodes)
        if subject.names is None and sampled.needs.names:
            names = [name for name in sampled.needs.names if name in found.nodes]
        record.names = tuple(names) if subject.names is None else tuple(dict.fromkeys(subject.names))
        record.known = tuple(sorted({*found.nodes, *(node.payload.name for node in reachable([lowered.value]) if node.is_leaf)}))
        record.absent = tuple(name for name in record.names if name not in present)
        said = [f"'{name}' does not stand here: the derivative by it is 0" for name in record.absent]
        record.warnings = [*lowered.notes, *found.warnings, *said, *left_out(scope, [lowered.value], "a formula")]
        if not record.names:
            return None
        return general(scope, lowered.value, {name: found.nodes[name] for name in names}, points, asked.order)


def _reading(subject: Subject, scope: Scope) -> str | None:
    """How the right side of a definition or a binding was read, if not as it stands there."""
    said = subject.said
    if not isinstance(said, (Definition, Binding)):
        return None
    own = said.parameters if isinstance(said, Definition) else ()
    read = as_read(said.expression, scope, own)
    if not read.implied:
        return None
    from gradcli.language.rewritten import rewritten

    left = f"{said.name}({', '.join(own)})" if own else said.name
    return f"{left} = {rewritten(read, scope.functions)}"


def _present(program: Program, subject: Subject, needs: Needs, lowered: Lowered) -> set[str]:
    """The names that an expression mentions, itself or by what it mentions."""
    functions = program.scope.functions
    expressions = [*expressions_of(subject.query)]
    for deferral in needs.bindings:
        expressions += expressions_of(deferral.binding)
    leaves = {node.payload.name for node in reachable([lowered.value]) if node.is_leaf}
    return {*mentioned(expressions, functions), *needs.names, *leaves}


def _defined(made: General) -> int:
    """At how many trial points the expression has a finite value."""
    with np.errstate(all="ignore"):
        values = [forward([made.root], point)[made.root] for point in made.points]
    return sum(bool(np.isfinite(np.asarray(value, float)).all()) for value in values)


def refuse_absent(names: Path | None, records: Sequence[DerivativeRecord]) -> None:
    """Raise UnknownNameError for a name to differentiate by that none of the expressions of a run mentions."""
    if any(record.error is not None for record in records):
        return
    for name in names or ():
        if records and all(name in record.absent for record in records):
            known = sorted({other for record in records for other in record.known})
            close = suggestion(name, known)
            help = f"did you mean '{close}'?" if close else f"the names are {', '.join(known[:_LISTED])}" if known else None
            raise UnknownNameError(f"the expression has no name '{name}' to differentiate by", help=help)
