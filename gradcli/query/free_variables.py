"""Names without values: what mentions them is decided at points of its domain, and a point that fails is shown as simply as can be.

A binding that mentions such a name is deferred: it stays in the scope until a query or an assert needs it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gradcli.check.claims import smaller_domain
from gradcli.check.sampling import anything
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.language.calls import glued, is_function
from gradcli.language.reading import expressions_of, mentioned, names_bound_by, names_quantified_by
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Deferred, Scope
from gradcli.language.tree import Binding, DataBinding, Query, Several, Statement
from gradcli.ops.constants import NAMED
from gradcli.ops.facts import ranges
from gradcli.plots.columns import Columns
from gradcli.query.evaluate import run_statement
from gradcli.query.options import Options
from gradcli.report.records import Record
from gradcli.report.verdicts import POINTS, Check, Verdict

# -- Points for names without values: some of all signs and sizes, some within the domains of
# operations, and simpler ones that fail, too. The same state gives the same points.


Point = dict[str, Any]  # numbers by names


def anywhere(names: Sequence[str], count: int, state: int = 0) -> Iterator[Point]:
    """Points of all signs and sizes, for names without values: some simple, most moderate, a few tiny or large."""
    for coordinates in _coordinates(len(names), count, state):
        yield dict(zip(names, coordinates, strict=True))


@lru_cache(64)
def _coordinates(names: int, count: int, state: int) -> list[list[np.float64]]:
    random = np.random.default_rng(state)
    points = [[np.float64(simple + 0.25 * i) for i in range(names)] for simple in (0.5, 2.0, -1.5)]
    for i in range(count):
        if i % 2:
            points.append([np.float64(random.uniform(-4, 4)) for _ in range(names)])
        elif i % 4:
            points.append([np.float64(random.uniform(0.05, 6)) for _ in range(names)])
        else:
            points.append([np.float64(anything((), random)) for _ in range(names)])
    return points


def in_domains(order: Sequence[Expr], leaves: Sequence[Expr], count: int, state: int = 0) -> Iterator[dict[Expr, Any]]:
    """Points at which each name is in the domains of all operations that it is an operand of."""
    random = np.random.default_rng(state)
    nodes = [(dict(zip(node.op.operands, node.operands, strict=False)), ranges(node.op.domain)) for node in order if node.op is not None]
    for _ in range(count):
        within = dict.fromkeys(leaves, (-math.inf, math.inf))
        for operands, choices in nodes:
            for name, (low, high) in choices[random.integers(len(choices))].items() if choices else ():
                if (leaf := operands.get(name)) in within:
                    within[leaf] = max(low, within[leaf][0]), min(high, within[leaf][1])
        yield {leaf: np.float64(_within(low, high, random)) for leaf, (low, high) in within.items()}


def _within(low: float, high: float, random: np.random.Generator) -> float:
    """A number between two others, of moderate size if one is not finite."""
    if math.isfinite(low) and math.isfinite(high):
        return float(random.uniform(low, high)) if low <= high else low
    size = float(np.exp(random.uniform(-2, 2)))
    return low + size if math.isfinite(low) else high - size if math.isfinite(high) else float(random.uniform(-4, 4))


def simpler(point: Point) -> Iterator[Point]:
    """The same point with one number made rounder, for finding the simplest that still fails."""
    for name, number in point.items():
        value = float(number)
        for rounder in (float(round(value)), float(f"{value:.1g}"), float(f"{value:.2g}"), 1.0, 2.0, -1.0, 0.5):
            if len(repr(rounder)) < len(repr(value)):
                yield {**point, name: np.float64(rounder)}


# -- What a statement lacks, and what it is at points ----------------------------------------------


_LETTER = re.compile(r"[^\W\d_]\d?|beta|gamma|zeta|psi")  # also with an index, such as y1
_AROUND = 3  # points of the domain around which formulas are tried, too
_WORTH_SHRINKING = 30  # further points that are tried to simplify one that fails


@dataclass(frozen=True, eq=False)
class Needs:
    """Dependencies of a statement that are not there: names without values, and deferred bindings in the order of the program."""

    names: list[str]
    bindings: list[Deferred]

    def __bool__(self) -> bool:
        # a function's name is a mistake here; a letter is a quantity of a formula, whatever SciPy and PyTorch call so
        mistaken = any(is_function(name) for name in self.names if not _LETTER.fullmatch(name))
        return bool(self.names or self.bindings) and not mistaken


def needs_of(statement: Statement, scope: Scope, also: Collection[str] = ()) -> Needs:
    """The names and bindings that a query, an assert or a binding lacks, also through functions and deferred bindings.

    also   names that are meant as variables: those of constants, and those before brackets
    """
    values = {*scope.names, *also, *(name for deferral in scope.deferred for name in deferral.names)}
    wanted = dict.fromkeys(mentioned(expressions_of(statement), scope.functions, values))
    for name in names_quantified_by(statement):
        wanted.pop(name, None)
    own = names_bound_by(statement)
    for name in own:
        if name in scope.lost:
            wanted.pop(name, None)  # what it meant before will do
    bindings: list[Deferred] = []
    for deferral in reversed(scope.deferred):
        binding = deferral.binding
        if wanted.keys().isdisjoint(deferral.names):
            continue
        bindings.append(deferral)
        more = dict.fromkeys(mentioned(expressions_of(binding), scope.functions, values))
        for name in deferral.names:
            wanted.pop(name, None)
            if name in deferral.before:
                more.pop(name, None)
        wanted = {**wanted, **more}
    given = {*scope.names, *scope.failed, *scope.imported, *(name for name in NAMED if name not in also)}
    line = statement.source.position(statement.span.start)[0]
    given.difference_update([name for name in own if scope.failed.get(name) == line])  # it is this binding that has failed
    return Needs(_apart([name for name in wanted if name not in given], values), bindings[::-1])


def _apart(names: list[str], values: Collection[str]) -> list[str]:
    """Names without values; where one is written of others that stand alone or are listed (``xy``), these others: it has two readings."""
    known = {*names, *values}
    apart: dict[str, None] = {}
    for name in names:
        parts = None if name in values else glued(name, known - {name})
        apart.update(dict.fromkeys([name] if parts is None else [part for part in parts if part in known]))
    return list(apart)


@dataclass(eq=False)
class SampledPoints:
    """A statement at points of its domain."""

    program: Program
    statement: Statement
    needs: Needs
    options: Options
    id: Any = None
    of_formulas: bool = False  # whether only claims count, of which it is no matter how well floats do

    def at(self, point: Point, around: int | None = None) -> Record | None:
        """The record at one point, and what formulas are at those ``around`` it; of a binding, only the error that it makes."""
        claims = tuple(replace(claim, around=around) for claim in self.options.claims)
        options = replace(self.options, everywhere=True, claims=claims)
        values = {name: np.float64(number) for name, number in point.items()}
        with self.bound(values):
            for statement in (*(deferral.binding for deferral in self.needs.bindings), self.statement):
                record = run_statement(self.program, statement, options, id=self.id)
                if record is not None:
                    break
        if record is not None:
            record.point = values
            _explain(record)
        return record

    @contextmanager
    def bound(self, values: Mapping[str, Any]) -> Iterator[None]:
        """The names with these values; afterwards they are what they were."""
        scope = self.program.scope
        tables: list[dict[str, Any]] = [scope.names, scope.leaves, scope.failed, scope.static_uses, scope.lost]
        names = {*values, *(name for deferral in self.needs.bindings for name in deferral.names)}
        before = [{name: table[name] for name in names if name in table} for table in tables]
        replaced = set(scope.replaced)
        try:
            for name in names:
                scope.unbind(name)
            for deferral in reversed(self.needs.bindings):
                scope.names.update(deferral.before)
                scope.leaves.update(deferral.leaves)
            for name, value in values.items():
                scope.bind_value(name, value)
            yield
        finally:
            for table, old in zip(tables, before, strict=True):
                for name in names:
                    table.pop(name, None)
                table.update(old)
            scope.replaced = replaced

    @contextmanager
    def in_passing(self) -> Iterator[None]:
        """The same function once more: sympy's derivative of it has been seen, and repairs are sought for what is told only."""
        self.program.scope.in_passing = True
        try:
            yield
        finally:
            self.program.scope.in_passing = False

    def gravest(self, points: int, state: int) -> Record:
        """The gravest record of those where the function has a finite value; a mismatch at the simplest point found."""
        best, inside = self.gravest_of(list(anywhere(self.needs.names, points, state)))
        if best is None:
            candidates: list[Point] = []
            with suppress(GradcliError), self.lowered() as lowered:
                candidates = self.points_in_domains(lowered, points, state)
            best, inside = self.gravest_of(candidates)
        if best is None:
            best = self._asked(next(anywhere(self.needs.names, 0, state)))
            if best.error is None:
                names = ", ".join(self.needs.names)
                best.check = Check(Verdict.UNDETERMINED, reason=f"none of {points} points has a finite value: give values to {names}")
                best.asserted, best.relations, best.point = None, [], {}
        best.points = inside
        return best

    def gravest_of(self, candidates: Sequence[Point]) -> tuple[Record | None, int]:
        """The gravest record of those with a finite value, and how many there are; none of what is wrong at every point."""
        best: Record | None = None
        without: dict[int, str] = {}  # claims, and what is said of where they have no value
        held: Counter[int] = Counter()  # claims, and the points at which they were held
        inside = 0
        gravest: Point | None = None  # of a record made in passing, which has to be made anew
        outside, agreeing = self._together(candidates)
        for place, point in enumerate(candidates):
            if place in outside:
                continue
            if best is not None and place in agreeing:
                inside += 1
                continue
            around = place if inside < _AROUND and place < 2 * _AROUND else None
            with nullcontext() if place in agreeing else self.in_passing():
                record = self._asked(point, around)
            if record.error is not None and record.error.code != "evaluation":
                return record, 0
            without = {**what_claims_lack(record), **without}
            check = record.check
            if not inside_domain(record) or check is None:
                continue
            if check.overflows and not any(claim.verdict is Verdict.MISMATCH for claim in check.claims):
                continue  # at points of our choice, overflow says nothing of a formula
            inside += 1
            held.update({i: claim.points for i, claim in enumerate(check.claims)})
            if check.worst is Verdict.MISMATCH:
                return self._simplest(point, record), inside
            if best is None or best.check is None or self._counts_for(check) > self._counts_for(best.check):
                best, gravest = record, None if place in agreeing else point
        if gravest is not None:
            best = self._asked(gravest)
        held.update(dict.fromkeys(held, max(0, len(agreeing) - 1)))
        for i, claim in enumerate(best.check.claims if best is not None and best.check is not None else ()):
            if claim.decided_by == POINTS:
                claim.points = held[i]
            if claim.verdict is Verdict.AGREE and claim.reason is None:
                claim.reason = without.get(i)
        return best, inside

    def _counts_for(self, check: Check) -> tuple[Verdict, int]:
        """The gravity of a verdict at a point of our choice, of which underflow says nothing; of those that are alike the better."""
        verdict = check.worst
        if self.of_formulas:
            parts = [part.verdict for part in check.variables.values() if part.verdict is Verdict.MISMATCH]
            verdict = max([*parts, *(claim.verdict for claim in check.claims)], default=verdict)
        elif check.only_underflows:
            verdict = Verdict.AGREE
        return verdict, -check.worst.gravity

    @contextmanager
    def lowered(self, apart: float = 0.0) -> Iterator[Lowered]:
        """The statement lowered, while its names have numbers from 0.5 on, so far apart. Raises GradcliError."""
        with self.bound({name: np.float64(0.5 + apart * i) for i, name in enumerate(self.needs.names)}):
            for deferral in self.needs.bindings:
                self.program.execute(deferral.binding)
            found = self.program.execute(self.statement)
            assert found is not None
            yield found

    def function(self, lowered: Lowered) -> Columns:
        """A lowered query as a function of the names without values, while these have some."""
        leaves = self.program.scope.leaves
        return Columns(self.program.scope, lowered.value, {name: leaves[name] for name in self.needs.names}, {})

    def inside(self, lowered: Lowered, points: Sequence[Point]) -> Any:
        """Return at which of some points a lowered query has a finite value."""
        found = self.function(lowered)(*np.array([[*point.values()] for point in points]).T)
        return found.inside.reshape(len(points), -1).all(axis=1)

    def points_in_domains(self, lowered: Lowered, points: int, state: int) -> list[Point]:
        """Points in the domains of the operations of a query, where names of many operations are hardly met by chance."""
        leaves = [self.program.scope.leaves[name] for name in self.needs.names]
        found = in_domains(definition_order(lowered.value), leaves, points, state)
        return [dict(zip(self.needs.names, point.values(), strict=True)) for point in found]

    def _together(self, points: Sequence[Point]) -> tuple[set[int], set[int]]:
        """The places of points where a query that works entry by entry has no finite value, and of those that agree judged at once."""
        query, options = self.statement, self.options
        outside, agreeing = set[int](), set[int]()
        if not isinstance(query, Query) or self.needs.bindings or options.mode != "grad" or not points:
            return outside, agreeing
        try:
            with self.lowered() as lowered:
                if not self.function(lowered).entrywise or lowered.static_uses or lowered.value.kind != "float" or lowered.value.shape:
                    return outside, agreeing
                inside = self.inside(lowered, points)
        except GradcliError:
            return outside, agreeing
        outside.update(np.flatnonzero(~inside).tolist())
        claims = tuple(replace(claim, around=None) for claim in options.claims)  # they are tried around single points
        quick = replace(options, everywhere=True, formula=False, check=True, precision=None, claims=claims)
        places = np.flatnonzero(inside)
        for _ in range(2 if all(claim.formula for claim in claims) else 0):
            if places.size < 2:
                break
            with self.in_passing(), self.bound({name: np.array([points[i][name] for i in places.tolist()]) for name in self.needs.names}):
                record = run_statement(self.program, query, quick, id=self.id)
            finite = _finite_slopes(record, places.size)
            if finite.all():
                if record is not None and record.check is not None and record.check.worst is Verdict.AGREE:
                    agreeing.update(places.tolist())
                break
            places = places[finite]
        return outside, agreeing

    def _asked(self, point: Point, around: int | None = None) -> Record:
        record = self.at(point, around)
        assert record is not None
        return record

    def _simplest(self, point: Point, record: Record) -> Record:
        """The same mismatch at rounder numbers; one that was found around the point is told as it is."""
        if (again := self._asked(point)).check is None or again.check.worst is not Verdict.MISMATCH:
            return record
        for _ in range(_WORTH_SHRINKING):
            for candidate in simpler(point):
                found = self._asked(candidate)
                if found.check is not None and found.check.worst is Verdict.MISMATCH:
                    point, record = candidate, found
                    break
            else:
                break
        return record


def _finite_slopes(record: Record | None, count: int) -> Any:
    """At which points all slopes are finite; at none, if there are none, or that of an array that is no point's."""
    if record is None or record.error is not None or not record.grad:
        return np.zeros(count, bool)
    if any(np.shape(slope) not in ((), (count,)) for slope in [record.value, *record.grad.values()]):
        return np.zeros(count, bool)
    return np.all([np.isfinite(slope) & np.ones(count, bool) for slope in record.grad.values()], axis=0)


def inside_domain(record: Record) -> bool:
    """Return True for a point in the domain of what was asked."""
    if record.error is not None or record.check is None or record.check.worst in (Verdict.UNDEFINED, Verdict.SKIPPED):
        return False
    if any(part.verdict is Verdict.UNDEFINED for part in record.check.variables.values()):
        return False  # an infinity on the way, as of 1/(1/x) at 0
    wrong = [claim.worst for claim in record.check.claims if claim.verdict is Verdict.MISMATCH and claim.worst is not None]
    if any(math.isnan(worst.engine) for worst in wrong):
        return False  # outside of the claim's own domain, at a point that nobody asked for
    told = [record.value] if record.asserted is None else [side for part in record.relations for side in (part.left, part.right)]
    return all(bool(np.all(np.isfinite(np.asarray(value, float)))) for value in told)


def what_claims_lack(record: Record) -> dict[int, str]:
    """The claims, by their places, that have no value at or around a point where the function has, and what is to be said of them."""
    if record.check is None:
        return {}
    found = {}
    for i, claim in enumerate(record.check.claims):
        if claim.verdict is Verdict.AGREE and claim.reason is not None:
            found[i] = claim.reason
        if claim.verdict is Verdict.MISMATCH and claim.worst is not None and math.isnan(claim.worst.engine):
            place = ", ".join(f"{name}={float(value)!r}" for name, value in record.point.items())
            found[i] = smaller_domain(place, "value" if claim.of == "value" else "derivative")
    return found


def _explain(record: Record) -> None:
    """Say of an error that it may be due to the number that stood for a name."""
    if record.error is not None and record.error.code not in ("evaluation", "missing-value"):
        names = ", ".join(record.point)
        error = record.error.error
        error.note = error.note or f"no value is given for {names}: numbers were tried"


def deferred(program: Program, binding: Binding | Several, needs: Needs, options: Options) -> Record | None:
    """Defer a binding until the names that it needs have values; the record of its error if no number will do."""
    scope = program.scope
    names = names_bound_by(binding)
    before = {name: scope.lost.pop(name) for name in names if name in scope.lost}
    leaves = {name: scope.leaves[name] for name in before if name in scope.leaves}
    for name in names:
        scope.failed.pop(name, None)
    scope.names.update(before)
    sampled = SampledPoints(program, binding, needs, options)
    record = sampled.at(next(anywhere(needs.names, 0)))
    for name in names:
        scope.names.pop(name, None)
        scope.lost.pop(name, None)
    if record is None or (record.error is not None and record.error.code == "evaluation"):
        for name in names:
            scope.failed.pop(name, None)
        scope.deferred.append(Deferred(binding, names, before, leaves))
        return None
    return record


def keep_in_order(scope: Scope, binding: Binding | DataBinding | Several) -> None:
    """Defer a binding that could be run, too, if others of its names are deferred: it has its place among them."""
    names = names_bound_by(binding)
    if any(not set(names).isdisjoint(deferral.names) for deferral in scope.deferred):
        scope.deferred.append(Deferred(binding, names, {}, {}))
