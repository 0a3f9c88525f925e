"""Derivatives of a program's queries as formulas, without values.

They are the results of `gradcli diff` and `gradcli.differentiate`.

Names without values are variables; if there are none, names with values are. If a program has no
query, its functions are differentiated, or else the last name that it binds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from gradcli.check.verdicts import Check, Claim, Verdict
from gradcli.data import group_pairs
from gradcli.errors import GradcliError, UnknownNameError, as_gradcli_error, did_you_mean
from gradcli.formulas.derivatives import general
from gradcli.formulas.printing import formula
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.lowering import as_read
from gradcli.language.reading import mentioned_names
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.language.syntax import Assertion, Binding, Definition, Query, Several, Statement
from gradcli.notation import Path
from gradcli.ops.axes import repeated_axes
from gradcli.options import ClaimInput, Options
from gradcli.plots.columns import Columns
from gradcli.plots.places import locate_places
from gradcli.query.cases import details_of
from gradcli.query.free_variables import (
    Point,
    SampledPoints,
    anywhere,
    in_one_statement,
    lower_freely,
)
from gradcli.query.programs import Script, answer, locate, record_of, variables
from gradcli.query.uncertainty import left_out
from gradcli.report.derivative_record import DerivativeRecord
from gradcli.report.records import Record

# -- Places of the kinks of an expression, by the equations that records of operations have for
# them. A place is told where the curve along a name was seen to have a kink or a jump: `relu(x)**2`
# has none.


_PLACE = re.compile(r"(\w+) = (-?\w+)")
_LIMIT = 40  # most nodes of a side that is printed
_GRID = np.sort(
    np.concatenate([np.linspace(-9.7, 9.9, 96), *np.outer((-1, 1), np.geomspace(11, 3e6, 40))])
)
_MOST = 4  # most places listed for one equation
_HOLDS = 1e-9  # largest distance between the sides of an equation at its place


def kinks_of(scope: Scope, root: Expr, names: Collection[str]) -> str | None:
    """Return in words the places of the kinks of a scalar expression, or their equations.

    It is None where no kink was seen.
    """
    leaves = {node.name: node for node in reachable([root]) if node.is_leaf and node.name in names}
    function = Columns(scope, root, leaves, leaves)
    conditions = list(_conditions(root))
    base = {name: 0.71 + 0.37 * i for i, name in enumerate(leaves)}  # generic values, none special
    intervals = _GRID[:-1], _GRID[1:], np.zeros(len(_GRID) - 1, int)
    places: dict[str, None] = {}
    equations: dict[str, None] = {}
    for name in leaves if conditions else ():
        found = locate_places(function.along(name, base), _GRID[0], _GRID[-1], *intervals)
        seen = np.array([place.at for _, place in found if place.kind in ("kink", "jump")])
        for left, right in conditions if seen.size else ():
            apart = np.abs(
                Columns(scope, left - right, leaves, {}).along(name, base)(seen)[0][:, 0]
            )
            near = seen[apart <= _HOLDS]
            alone = sum(leaf in reachable([left, right]) for leaf in leaves.values()) == 1
            if alone and len(near) <= _MOST and not apart[apart <= _HOLDS].any():
                places |= dict.fromkeys(f"{name} = {at:g}" for at in near)
            elif near.size:
                equations[f"{formula(left)} = {formula(right)}"] = None
    return (
        " and ".join(
            f"{word} {' and '.join(found)}"
            for word, found in (("at", places), ("where", equations))
            if found
        )
        or None
    )


def _conditions(root: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield both sides of each equation that holds at kinks of operations, or may hold there."""
    for node in reachable([root]):
        op = node.op
        if op is None or not op.elementwise or node.shape:
            continue
        operands = dict(zip(op.operands, node.operands, strict=False))
        more = (
            ["x = y"]
            if op.algebra == "comparison"
            else ["x = 0"]
            if op.undoes and len(operands) == 1
            else []
        )
        for place in [*(kink.place for kink in op.kinks), *more]:
            for left, right in _PLACE.findall(place):
                side = operands.get(right)
                if side is None and re.fullmatch(r"-?\d+", right):
                    side = root.graph.constant(int(right))
                operand = operands.get(left)
                if operand is None or side is None:
                    continue
                if formula(operand, limit=_LIMIT) and formula(side, limit=_LIMIT):
                    yield operand, side


# -- The verdict on derivatives as formulas: each, as it is printed, is held as a claim at points
# of the function's domain.
#
# A formula of higher order is held to be the derivative of the one below it, which is held in
# turn.


_TRIES = 8  # points tried for each one wanted inside the domain


@dataclass(eq=False)
class Judging:
    """The verdicts on a record's formulas, gathered."""

    program: Program
    record: DerivativeRecord
    asked: Options
    check: Check = field(default_factory=lambda: Check(Verdict.AGREE))
    least: int = 0  # fewest points at which a formula was held
    shape: tuple[int, ...] = ()  # shape of the expression
    kinks: str | None = None  # where the expression has kinks, in words

    def judge(self, query: Query) -> None:
        """Put the verdict on the formulas of a query into the record."""
        derived = group_pairs((path[:-1], path[-1]) for path in self.record.formulas)
        for path, names in derived.items():
            below = self.read(path) if path else query
            if below is not None:
                self.hold(path, names, below)
        self.record.check = self.check
        self.record.points = self.least

    def read(self, path: Path) -> Query | None:
        """Return a formula as a query of the expression's shape, or None if there is none."""
        text = self.record.formulas[path].text
        if text is None:
            self._leave_open(path, "it has no short formula")
            return None
        spread = f"ones({self.shape})*({text})" if self.shape else text
        return query_of(spread, self.program)

    def hold(self, path: Path, names: Sequence[str], below: Query) -> None:
        """Hold the derivatives of what stands at a path by some names."""
        present = mentioned_names(below, self.program.scope)
        texts = {
            name: self.record.formulas[(*path, name)].text
            for name in names
            if name not in self.record.absent and (not path or name in present)
        }
        claimed = {name: text for name, text in texts.items() if text is not None}
        for name in texts.keys() - claimed.keys():
            self._leave_open((*path, name), "it has no short formula")
        if claimed:
            self._take(path, self._judge(below, claimed))

    def _judge(self, query: Query, texts: dict[str, str]) -> Record:
        """Return the record of a query's claims about its derivatives.

        It is the gravest record over some points.
        """
        scope, asked = self.program.scope, self.asked
        lowered = self.program.execute(query)
        assert lowered is not None
        self.shape = lowered.value.shape
        claims = []
        for name, text in texts.items():
            subject = scope.subject(name)
            summed = _sum_formula(text, self.shape, () if subject is None else subject.shape)
            claims.append(ClaimInput(name, summed, formula=True))
        options = Options(
            wrt=tuple(texts), formula=False, claims=tuple(claims),
            timeout=asked.timeout, points=asked.points, state=asked.state,
        )  # fmt: skip
        sampled = SampledPoints(self.program, lowered, options, of_formulas=True)
        if not sampled.leaves:
            return sampled.at({}, around=0)
        if not (self.least or self.kinks or self.shape):  # kinks of the expression itself
            with suppress(GradcliError):
                self.kinks = kinks_of(scope, lowered.value, sampled.leaves)
        points = asked.trials
        tried = [*anywhere(sampled.leaves, _TRIES * points, asked.state)]
        inside = [tried[i] for i in np.flatnonzero(sampled.inside(tried))[:points]]
        found, count = sampled.gravest_of(inside)
        if found is None:
            return sampled.gravest()
        found.points = count
        return found

    def _take(self, path: Path, found: Record) -> None:
        """Take the verdicts of one record."""
        check = found.check
        if found.error is not None or check is None:
            reason = (
                "there is nothing to hold it to" if found.error is None else found.error.message
            )
            self._leave_open(path, reason)
            return
        kinks = [kink for part in check.variables.values() for kink in part.kinks]
        for claim in check.claims if kinks and not found.point else ():
            # a value that was given may be there for its shape only
            claim.verdict = min(claim.verdict, Verdict.KINK)
        self.check.take(check, lambda name: ",".join((*path, name)))
        # The accuracy of floats does not matter to the formula.
        verdicts = [claim.verdict for claim in check.claims] or [check.verdict]
        verdicts += [
            part.verdict for part in check.variables.values() if part.verdict is Verdict.MISMATCH
        ]
        worst = max(verdicts)
        why = check.reason
        if worst is Verdict.KINK:
            why = f"not differentiable {self.kinks}" if self.kinks else why
            at = found.point_text() or "the given values"
            self.record.warnings += dict.fromkeys(
                f"at {at}: {kink.sides}; chosen is {kink.chosen:g}" for kink in kinks
            )
        elif worst > Verdict.AGREE:
            self.record.warnings += [
                line.removeprefix("claim of ")
                for line in details_of(found, check)
                if line != check.reason
            ]
        if self.kinks and worst is not Verdict.KINK and not path:
            self.record.warnings.append(f"kinks {self.kinks}")
        if worst > self.check.verdict:
            self.check.verdict = worst
            self.check.reason = why
        self.least = min(self.least or found.points, found.points)

    def _leave_open(self, path: Path, reason: str) -> None:
        key = ",".join(path)
        self.check.claims.append(Claim(key, "formula", Verdict.UNDETERMINED, reason=reason))
        if self.check.verdict < Verdict.UNDETERMINED:
            self.check.verdict = Verdict.UNDETERMINED
            self.check.reason = reason


def _sum_formula(text: str, shape: tuple[int, ...], to: tuple[int, ...]) -> str:
    """Turn a formula of a result's entries into one of the gradient of their sum.

    The gradient is by a name of another shape.
    """
    if shape == to:
        return text
    spread = f"ones({shape})*({text})"
    axes = repeated_axes(shape, to)
    return f"reshape(sum({spread}, axis={axes}), {to})" if axes else spread


_TRIALS = 12  # points at which forms of a formula are compared
_ENOUGH = 3  # of these points, how many need a finite value
_LISTED = 20  # names listed in a help


def derivatives(script: Script, asked: Options) -> Iterator[DerivativeRecord]:
    """Yield a record for each query among the statements of a program, and for each error."""
    program = script.opened
    found = False
    said: list[Binding | Definition] = []

    def derive(query: Query, said: Statement, names: Path | None) -> DerivativeRecord:
        if asked.related is None:
            return derivative(program, query, said, names, asked)
        record: DerivativeRecord = asked.related(program, query, asked)
        return record

    lower = partial(lower_freely, program, listed=asked.wrt or (), can_list=True)
    for statement in script.statements():
        record = None
        if isinstance(statement, Query):
            body, by = statement.expression.derived or (statement, [])
            is_asked = asked.wrt is None or set(asked.wrt) == set(by)
            if by and is_asked and asked.order == 1 and asked.related is None:  # d/dx x^2
                once = asked.but(order=len(by))
                record = derivative(program, body, body, tuple(dict.fromkeys(by)), once)
            else:
                record = derive(statement, statement, asked.wrt)
        elif not isinstance(statement, Assertion):
            several = statement.bindings if isinstance(statement, Several) else [statement]
            said += [part for part in several if isinstance(part, (Binding, Definition))]
            record = answer(
                DerivativeRecord, lambda *_: None, program, statement, asked, lower=lower
            )
        if record is not None:
            found = True
            yield record
    if not found:  # no query: derive the functions it defines, or else the last name it binds
        definitions = [part for part in said if isinstance(part, Definition)]
        for part in definitions or said[-1:]:
            text = part.name
            names = None
            if isinstance(part, Definition):
                text = f"{part.name}({', '.join(part.parameters)})"
                names = tuple(part.parameters)
            names = names if asked.wrt is None else asked.wrt
            record = derive(query_of(text, program), part, names)
            if asked.related is not None:
                record.expr = "; ".join(each.text for each in said)
            yield record


def query_of(text: str, program: Program) -> Query:
    """Parse a text that is one query."""
    (query,) = statements([text], None, program.scope.limits)
    assert isinstance(query, Query)
    return query


def derivative(
    program: Program,
    query: Query,
    said: Statement,
    names: Path | None,
    asked: Options,
) -> DerivativeRecord:
    """Return the derivatives of one expression and the verdict on them, or the error.

    said  the function or the binding that the query stands for, or else the query itself
    """
    record = record_of(DerivativeRecord, said, order=asked.order)
    try:
        with in_one_statement(program.scope):
            _differentiate(program, query, said, names, asked, record)
            if asked.check and record.formulas:
                Judging(program, record, asked).judge(query)
    except Exception as unforeseen:
        return record.fail(locate(as_gradcli_error(unforeseen), program.scope, query))
    return record


def _differentiate(
    program: Program,
    query: Query,
    said: Statement,
    wanted: Path | None,
    asked: Options,
    record: DerivativeRecord,
) -> None:
    """Put the formulas into a record, and what is to be said of the names."""
    scope = program.scope
    lowered = lower_freely(program, query, wanted or (), can_list=True)
    assert lowered is not None
    sampled = SampledPoints(program, lowered, asked)
    order = reachable([lowered.value])
    here = {node.name for node in order if node.is_leaf}
    present = here.union(mentioned_names(query, scope))
    asked_for = None if wanted is None else tuple(name for name in wanted if name in present)
    record.dialect = program.lowering.dialect
    record.read_as = lowered.read_as or _reading(said, scope)
    nodes, warnings = variables(scope, order, Options(wrt=asked_for), lowered.static_uses)
    names = list(nodes)
    if wanted is None and sampled.leaves:
        names = [name for name in sampled.leaves if name in nodes]
    record.names = tuple(names if wanted is None else dict.fromkeys(wanted))
    record.known = tuple(sorted({*nodes, *here}))
    record.absent = tuple(name for name in record.names if name not in present)
    record.warnings = [
        *lowered.notes,
        *warnings,
        *(f"'{name}' does not occur here: the derivative by it is 0" for name in record.absent),
        *left_out(scope, [lowered.value], "a formula"),
    ]
    if not record.names:
        record.warnings.append("there is no name to differentiate by: the expression is a constant")
        return
    trials = [
        {leaf: point[name] for name, leaf in sampled.leaves.items()}
        for point in _trials(sampled, asked)
    ]
    made = general(scope, lowered.value, {name: nodes[name] for name in names}, trials, asked.order)
    record.formulas = made.derivatives(record.names, asked.order, asked.latex)
    if asked.observer is not None:
        asked.observer(made, record)
    if asked.latex:
        record.picture = made.picture()


def _trials(sampled: SampledPoints, asked: Options) -> list[Point]:
    """Return points at which forms of a formula are compared.

    There are more of them where hardly any is in the domain.
    """
    points = [*anywhere(sampled.leaves, _TRIALS, asked.state)]
    if (
        sampled.leaves
        and sampled.lowered.value.kind == "float"
        and sampled.inside(points).sum() < _ENOUGH
    ):
        points += sampled.points_in_domains()
    return points


def _reading(said: Statement, scope: Scope) -> str | None:
    """Return how the right side of a definition or a binding was read, or None if literally."""
    if not isinstance(said, (Definition, Binding)):
        return None
    own = said.parameters if isinstance(said, Definition) else ()
    read = as_read(said.expression, scope, own)
    if not read.implied:
        return None
    from gradcli.language.spelling import rewritten

    left = f"{said.name}({', '.join(own)})" if own else said.name
    return f"{left} = {rewritten(read, scope.functions)}"


def refuse_absent(names: Path | None, records: Sequence[DerivativeRecord]) -> None:
    """Raise UnknownNameError for a name to differentiate by that no expression mentions.

    The expressions are those of a run.
    """
    if any(record.error is not None for record in records):
        return
    for name in names or ():
        if records and all(name in record.absent for record in records):
            known = sorted({other for record in records for other in record.known})
            raise UnknownNameError(
                f"the expression has no name '{name}' to differentiate by",
                help=did_you_mean(
                    name, known, f"the names are {', '.join(known[:_LISTED])}" if known else None
                ),
            )
