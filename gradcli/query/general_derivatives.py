"""Derivatives of a program's queries as formulas, without values: what `gradcli diff` and `gradcli.differentiate` give.

Names without values are variables; if there are none, those with values are. A program without a query has the functions that it
defines, or the last name that it binds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.sampling import Point
from gradcli.containment import contained
from gradcli.errors import AmbiguousError, GradcliError, ShapeError, UnknownNameError, suggestion
from gradcli.files.jsonl import ClaimInput
from gradcli.formulas.printing import formula
from gradcli.graph.nodes import Expr, reachable
from gradcli.inert import shell_word
from gradcli.language.calls import is_function
from gradcli.language.reading import expressions_of, mentioned, words_of
from gradcli.language.rewritten import as_read
from gradcli.language.run import Lowered, Program, statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Assertion, Binding, DataBinding, Definition, Expression, Query, Several, Statement
from gradcli.notation import GREEK
from gradcli.ops.constants import NAMED
from gradcli.plots.columns import Columns
from gradcli.query.cases import details_of
from gradcli.query.evaluate import locate, run_statement
from gradcli.query.free_variables import Needs, SampledPoints, anywhere, deferred, keep_in_order, needs_of
from gradcli.query.general_formulas import General, general
from gradcli.query.options import POINTS, Options
from gradcli.query.uncertainty import left_out
from gradcli.query.unused_names import refuse_glued
from gradcli.query.wrt import variables
from gradcli.report.derivative_record import DerivativeRecord, Path
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Claim, OneSided, Verdict

# -- Places of the kinks of an expression, in its own names: those that records of operations name,
# solved where that is possible. A place is told where the derivative was seen to jump across it, in
# floats: `relu(x)**2` has none.


_PLACE = re.compile(r"(\w+) = (-?\w+)")
_LIMIT = 40  # nodes of a condition that is written
_MOST = 8  # places of one condition
_GRID = np.linspace(-9.7, 9.9, 99)
_HALVINGS = 80
_STEPS = 1e-5, 1e-7  # to both sides of a place, relative
_POLE = 50  # times a value or a derivative grows, where a step becomes a hundredth: as 1/x does, and log(x) in its slope
_LASTING, _SEEN = 0.5, 1e-6  # what is left of a jump of the derivative at the smaller of the steps, and what counts as one

Where = Mapping[str, Any]  # numbers by names


class Condition(NamedTuple):
    """Place of a kink of an operation, or of one that may be: two sides of an equation."""

    left: Expr
    right: Expr

    @property
    def text(self) -> str | None:
        parts = [formula(side, limit=_LIMIT) for side in self]
        return None if None in parts else " = ".join(map(str, parts))


def kinks_of(scope: Scope, root: Expr, names: Sequence[str]) -> str | None:
    """The places of the kinks of a scalar expression, in words; None where none was seen."""
    leaves = {node.payload.name: node for node in reachable([root]) if node.is_leaf and node.payload.name in names}
    function = Columns(scope, root, leaves, leaves)
    base = {name: 0.71 + 0.37 * i for i, name in enumerate(leaves)}  # of which nothing is special
    places: dict[str, None] = {}
    for condition in _conditions(root):
        nodes = reachable([*condition])
        free = [name for name, leaf in leaves.items() if leaf in nodes]
        text = condition.text
        if not free or text is None or any(node.shape for node in nodes):
            continue
        solved = (_solved(condition, free[0]) if len(free) == 1 else None) or {}
        seen = [_jumps(function, {**base, free[0]: at}) for at in solved.values()]
        if solved and all(seen):
            places |= dict.fromkeys(f"at {free[0]} = {place}" for place in solved)
        elif any(seen) or any(_jumps(function, point) for point in _crossings(scope, condition, leaves, base, free)):
            places[f"where {text}"] = None
    if not places:
        return None
    listed = list(places)
    for before, after in pairwise(list(places)):  # "at x = 0 and x = 2"
        if before[:2] == after[:2] == "at":
            listed[listed.index(after)] = after.removeprefix("at ")
    return " and ".join(listed)


def _conditions(root: Expr) -> Iterator[Condition]:
    for node in reachable([root]):
        op = node.op
        if op is None or not op.elementwise:
            continue
        operands = dict(zip(op.operands, node.operands, strict=False))
        more = ["x = y"] if op.algebra == "comparison" else ["x = 0"] if op.undoes and len(operands) == 1 else []
        for place in [*(kink.place for kink in op.kinks), *more]:
            for left, right in _PLACE.findall(place):
                side = operands.get(right)
                if side is None and re.fullmatch(r"-?\d+", right):
                    side = root.graph.constant(int(right))
                operand = operands.get(left)
                if operand is not None and side is not None:
                    yield Condition(operand, side)


def _crossings(
    scope: Scope, condition: Condition, leaves: Mapping[str, Expr], base: Where, free: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Points at which the sides of a condition cross along a name, as nearly as floats can."""
    apart = Columns(scope, condition.left - condition.right, leaves, {})
    for name in free:

        def sides(xs: Any, name: str = name) -> Any:
            return np.sign(apart(*(xs if other == name else np.full(len(xs), base[other]) for other in leaves)).values)

        signs = sides(_GRID)
        for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
            low, high = _GRID[i], _GRID[i + 1]
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if sides(np.array([middle]))[0] == signs[i] else (low, middle)
            yield {**base, name: (low + high) / 2}


def _jumps(function: Columns, point: Where) -> bool:
    """Tell whether a derivative, or the value, is another on both sides of a point, along some name; not at a pole."""
    moved = [
        {**point, name: x + sign * step * (1 + abs(x))} for name, x in point.items() for step in _STEPS for sign in (-1, 1)
    ]  # fmt: skip
    found = function(*(np.array([each[name] for each in moved]) for name in point))
    heights = np.abs(numbers := np.stack([found.values, *found.slopes.values()], axis=-1).reshape(len(point), len(_STEPS), 2, -1))
    with np.errstate(all="ignore"):
        sizes = heights.sum(axis=2)
        jumps = np.abs(numbers[:, :, 1] - numbers[:, :, 0]) / (1 + sizes)
        poles = (sizes[:, 1] > _POLE * sizes[:, 0]).any(axis=-1)
        seen = ((jumps[:, 1] > _SEEN) & (jumps[:, 1] > _LASTING * jumps[:, 0])).any(axis=-1)
    return bool((seen & ~poles).any())


def _solved(condition: Condition, name: str) -> dict[str, float] | None:
    """The solutions of a condition for a name, by how they are written; None where they are not known in short form."""
    from gradcli.reference.symbolic.zeros import zeros

    found = zeros([*condition], name)
    return None if found is None or len(found) > _MOST else {text: float(at) for text, at in found}


# -- The verdict on derivatives as formulas: each, as it is printed, is held as a claim at points
# of the function's domain.
#
# A formula of higher order is held to be the derivative of the one below it, which is held in
# turn.


Shape = tuple[int, ...]
_TRIES = 8  # points that are tried for each one that is wanted inside of the domain


class Judging:
    """The verdicts on a record's formulas, gathered.

    listed   names that are variables even where they are constants of the language
    """

    def __init__(self, program: Program, record: DerivativeRecord, asked: Asked, listed: Collection[str]) -> None:
        self.program, self.record, self.asked, self.listed = program, record, asked, listed
        self.options = replace(asked.options, check=True, everywhere=True)
        self.check = Check(Verdict.AGREE)
        self.least = 0  # the fewest points at which one was held
        self.shape: Shape = ()  # of the expression
        self.kinks: str | None = None  # where the expression has some

    def judge(self, query: Query) -> None:
        """Put the verdict on the formulas of a query into the record."""
        for length in range(self.record.order):
            for path in combinations_with_replacement(self.record.names, length):
                below = self.read(path) if path else query
                if below is not None:
                    self.hold(path, below)
        self.record.check, self.record.points = self.check, self.least

    def read(self, path: Path) -> Query | None:
        """A formula as a query, of the shape of the expression; None where there is none."""
        text = self.record.formulas[path].text
        if text is None:
            self._undetermined(path, "it has no short formula")
            return None
        (query,) = statements([text if not self.shape else f"ones({self.shape})*({text})"], None, self.program.scope.limits)
        assert isinstance(query, Query)
        return query

    def hold(self, path: Path, below: Query) -> None:
        """Hold the derivatives of what stands at a path, by all names from its last one on."""
        names = self.record.names
        present = mentioned(expressions_of(below), self.program.scope.functions)
        later = [name for name in names[names.index(path[-1]) if path else 0 :] if not path or name in present]
        texts = {name: self.record.formulas[(*path, name)].text for name in later if name not in self.record.absent}
        claimed = {name: text for name, text in texts.items() if text is not None}
        for name in texts.keys() - claimed.keys():
            self._undetermined((*path, name), "it has no short formula")
        if claimed:
            self._take(path, self._judged(below, claimed))

    def _judged(self, query: Query, texts: dict[str, str]) -> Record:
        """The record of a query with claims about its derivatives, at the gravest of some points."""
        program = self.program
        needs = needs_of(query, program.scope, self.listed)
        sampled = SampledPoints(program, query, needs, self.options)
        sampled.of_formulas = True
        inside: list[Point] = []
        with sampled.lowered() as lowered:
            self.shape = lowered.value.shape
            subjects = {name: program.scope.subject(name) for name in texts}
            shapes = {name: () if node is None else node.shape for name, node in subjects.items()}
            if needs.names:
                inside = self._inside(sampled.function(lowered), sampled)
            if needs.names and not (self.least or self.kinks or self.shape or needs.bindings):  # of the expression itself
                with suppress(GradcliError):
                    self.kinks = kinks_of(program.scope, lowered.value, needs.names)
        summed = {name: _summed(text, self.shape, shapes[name]) for name, text in texts.items()}
        claims = [ClaimInput(name, text, formula=True, around=None if needs.names else 0) for name, text in summed.items()]
        options = replace(self.options, wrt=tuple(texts), claims=tuple(claims))
        if not needs.names and not needs.bindings:
            record = run_statement(program, query, options)
            assert record is not None
            return record
        sampled.options = options
        found, count = sampled.gravest_of(inside)
        if found is None:
            return sampled.gravest(self.asked.points, self.asked.state)
        found.points = count
        return found

    def _inside(self, function: Columns, sampled: SampledPoints) -> list[Point]:
        """Points at which an expression has a finite value, the first of many that are tried."""
        tried = [*anywhere(sampled.keys, _TRIES * self.asked.points, self.asked.state)]
        inside = function(*np.array([[*point.values()] for point in tried]).T).inside
        return [tried[i] for i in np.flatnonzero(inside.reshape(len(tried), -1).all(axis=1))[: self.asked.points]]

    def _take(self, path: Path, found: Record) -> None:
        """Take the verdicts of one record."""
        check = found.check
        if found.error is not None or check is None:
            reason = "there is nothing to hold it to" if found.error is None else found.error.message
            self._undetermined(path, reason)
            return
        for name, part in check.variables.items():
            self.check.variables[",".join((*path, name))] = part
        for claim in check.claims:
            claim.of = ",".join((*path, claim.of))
        self.check.claims += check.claims
        verdicts = [claim.verdict for claim in check.claims] or [check.verdict]  # how well floats do is no matter of the formula
        verdicts += [part.verdict for part in check.variables.values() if part.verdict is Verdict.MISMATCH]
        worst = max(verdicts)
        why = check.reason
        if worst is Verdict.KINK:
            why = f"not differentiable {self.kinks}" if self.kinks else why
            self.record.warnings += [f"{_at(found.point)}: {part.sides}; chosen is {part.chosen:g}" for part in _kinks(check)]
        elif worst > Verdict.AGREE:
            self.record.warnings += [line.removeprefix("claim of ") for line in details_of(found, check) if line != check.reason]
        if self.kinks and worst is not Verdict.KINK and not path:
            self.record.warnings.append(f"kinks {self.kinks}")
        if worst > self.check.verdict:
            self.check.verdict, self.check.reason = worst, why
        self.least = min(self.least or found.points, found.points)

    def _undetermined(self, path: Path, reason: str) -> None:
        key = ",".join(path)
        self.check.claims.append(Claim(key, "formula", Verdict.UNDETERMINED, reason=reason))
        if self.check.verdict < Verdict.UNDETERMINED:
            self.check.verdict, self.check.reason = Verdict.UNDETERMINED, reason


def _kinks(check: Check) -> list[OneSided]:
    return [kink for part in check.variables.values() for kink in part.kinks]


def _at(point: Mapping[str, Any] | None) -> str:
    return "at " + " ".join(f"{name}={float(value)!r}" for name, value in (point or {}).items()) if point else "here"


def _summed(text: str, shape: Shape, to: Shape) -> str:
    """A formula of the entries of a result as that of the gradient of their sum by a name of another shape."""
    if shape == to:
        return text
    spread = f"ones({shape})*({text})"
    if not to:
        return f"sum({spread})"
    lead = len(shape) - len(to)
    axes: Any = (*range(lead), *(i + lead for i, n in enumerate(to) if n == 1 != shape[i + lead]))
    return f"reshape(sum({spread}, axis={axes}), {to})" if axes else spread


_TRIALS = 12  # points at which forms of a formula are compared
_MORE = 96  # of them where the domain is small
_ENOUGH = 3  # of them with a finite value
_LISTED = 20  # names in a help
_SHORT = 60  # characters of one that is repeated in a help


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


def derivatives(program: Program, parsed: Iterable[Statement | GradcliError], asked: Asked, id: Any = None) -> Iterator[DerivativeRecord]:
    """A record for each query among the statements of a program, and for each error."""
    definitions: list[Definition] = []
    bindings: list[Binding] = []
    found = False
    for statement in parsed:
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
            Judging(program, record, asked, subject.names or ()).judge(subject.query)
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
    bound = {*scope.names, *scope.functions, *(name for deferral in needs.bindings for name in deferral.names)}
    given = {*bound, *NAMED, *listed}
    free = [name for name in mentioned(_expressions(query, needs), scope.functions, given) if name not in given]
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
    """Put the formulas into a record, and what is to be said of the names."""
    scope = program.scope
    sampled = SampledPoints(program, subject.query, needs, asked.options)
    with sampled.lowered(apart=0.25) as lowered:
        order = reachable([lowered.value])
        present = {*mentioned(_expressions(subject.query, needs), scope.functions), *needs.names}
        present |= {node.payload.name for node in order if node.is_leaf}
        asked_for = None if subject.names is None else tuple(name for name in subject.names if name in present)
        options = replace(asked.options, wrt=asked_for, everywhere=True)
        record.dialect, record.read_as = program.lowering.dialect, lowered.read_as or _reading(subject, scope)
        nodes, warnings = variables(scope, order, options, lowered.static_uses)
        names = list(nodes)
        if subject.names is None and needs.names:
            names = [name for name in needs.names if name in nodes]
        record.names = tuple(names) if subject.names is None else tuple(dict.fromkeys(subject.names))
        record.known = tuple(sorted({*nodes, *(node.payload.name for node in order if node.is_leaf)}))
        record.absent = tuple(name for name in record.names if name not in present)
        said = [f"'{name}' does not stand here: the derivative by it is 0" for name in record.absent]
        record.warnings = [*lowered.notes, *warnings, *said, *left_out(scope, [lowered.value], "a formula")]
        if not record.names:
            record.warnings.append("there is no name to differentiate by: the expression is a constant")
            return
        points = [[*point.values()] for point in _trials(sampled, lowered, asked)]
        trials = [dict(zip(needs.names, point, strict=True)) for point in points]
        made = general(scope, lowered.value, {name: nodes[name] for name in names}, trials, asked.order)
    record.formulas = made.derivatives(record.names, asked.order, asked.latex)
    if asked.observer is not None:
        asked.observer(made, record)
    if asked.latex:
        record.picture = made.picture()


def _trials(sampled: SampledPoints, lowered: Lowered, asked: Asked) -> list[Mapping[Any, Any]]:
    """Points at which forms of a formula are compared: more of them where hardly one is in the domain."""
    points: list[Mapping[Any, Any]] = [*anywhere(sampled.keys, _TRIALS, asked.state)]
    if sampled.needs.names and lowered.value.kind == "float":
        values = sampled.function(lowered)(*np.array([[*point.values()] for point in points]).T).values
        if np.isfinite(values.reshape(len(points), -1)).all(axis=1).sum() < _ENOUGH:
            points += [*anywhere(sampled.keys, _MORE, asked.state), *sampled.points_in_domains(lowered, asked.points, asked.state)]
    return points


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


def _expressions(query: Query, needs: Needs) -> list[Expression]:
    """The expressions of a query, and of what it depends on."""
    statements = [query, *(deferral.binding for deferral in needs.bindings)]
    return [expression for statement in statements for expression in expressions_of(statement)]


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
