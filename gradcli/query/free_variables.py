"""Names without values.

Statements that mention them are decided at points of their domain, simple points first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gradcli.check.formula_claims import anything, smaller_domain
from gradcli.check.verdicts import POINTS, Check, Claim, Verdict
from gradcli.errors import (
    AmbiguousError,
    EvaluationError,
    GradcliError,
    MissingValueError,
    ShapeError,
    UnknownNameError,
)
from gradcli.graph.nodes import Expr, reachable, rebuild
from gradcli.graph.sweep import varied_nodes
from gradcli.language.calls import is_function
from gradcli.language.reading import (
    mentioned_names,
    names_bound_by,
    words_of,
)
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.syntax import Definition, Query, Statement
from gradcli.ops.constants import NAMED
from gradcli.ops.structure import alias
from gradcli.options import Options
from gradcli.plots.columns import Columns
from gradcli.query.glued_names import refuse_glued
from gradcli.query.programs import run_statement
from gradcli.report.records import Record

# -- Points for names without values: some of all signs and sizes, some within the domains of
# operations. The same state gives the same points.


Point = dict[str, Any]  # numbers by name


def anywhere(names: Collection[str], count: int, state: int) -> Iterator[Point]:
    """Yield points of all signs and sizes, for names without values.

    Some are simple, most moderate, and a few tiny or large.
    """
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


# -- Names without values in a program: leaves that stand for numbers


_LETTER = re.compile(r"[^\W\d_]\d?|beta|gamma|zeta|psi")  # a letter, perhaps with an index, as y1
_TRIED = 4_096  # points tried where hardly any lies in the domain
_AROUND = 3  # points of the domain around which formulas are tried as well
_SHAPES = "3", "(3, 3)"  # that a help shows
_APART = 0.25  # spacing of the numbers for names, so that none are equal by chance


def names_needed(statement: Statement, scope: Scope) -> list[str]:
    """Return the names without values that a statement mentions, also through functions."""
    own = names_bound_by(statement)
    line = statement.place[0]
    # Except failures of this statement itself.
    failed = {name for name, place in scope.failed.items() if name not in own or place != line}
    given = {
        *scope.names,
        *failed,
        *scope.imported,
        *NAMED,
        *(each.name for each in getattr(statement, "ranges", ())),  # quantified
        *scope.lost.keys() & own,
    }
    return [name for name in mentioned_names(statement, scope) if name not in given]


def names_left(program: Program, texts: Iterable[str]) -> list[str]:
    """Return the names for which texts have no value, in order.

    Texts that cannot be read are left out.
    """
    names: dict[str, None] = {}
    bound: set[str] = set()
    for statement in program.statements([f"{text}\n" for text in texts]):
        if isinstance(statement, GradcliError):
            continue  # reported where it is evaluated
        lacking = (
            () if isinstance(statement, Definition) else names_needed(statement, program.scope)
        )
        names.update(dict.fromkeys(name for name in lacking if name not in bound))
        bound.update(names_bound_by(statement))
        if not isinstance(statement, Query) and not lacking:
            program.execute(statement)
    return [*names]


def lower_freely(
    program: Program, statement: Statement, listed: Collection[str] = (), *, can_list: bool = False
) -> Lowered | None:
    """Execute a statement whose names may do without values.

    Such names become leaves of numbers, which are free to move.

    - ``listed``: names that are meant as variables: those of constants, and those before brackets
    - ``can_list``: whether the user can list some

    Raises GradcliError, also for names with two readings, and for names whose value decides the
    computation.
    """
    scope = program.scope
    scope.decisive = set()
    words = words_of(statement) if listed else ()
    _free(
        scope,
        [
            name
            for name in listed
            if name in words and name not in scope.names and name not in scope.functions
        ],
    )
    try:
        return _decide(scope, program.execute(statement))
    except AmbiguousError:
        raise
    except GradcliError:
        # A function's name is a mistake here, which is refused below. A letter is a quantity in a
        # formula, even if SciPy or PyTorch has a function of that name.
        needed = names_needed(statement, scope)
        names = [name for name in needed if _LETTER.fullmatch(name) or not is_function(name)]
        if not names:
            raise
        before = scope.bindings.values() if scope.free else ()
        refuse_glued([statement, *before], scope, names, listed, can_list=can_list)
    for name in names_bound_by(statement):
        if name in scope.lost:  # its earlier meaning will do
            scope.names[name] = scope.lost.pop(name)
    _free(scope, names)
    try:
        return _decide(scope, program.execute(statement))
    except GradcliError as error:
        _note_numbers(error, names)
        raise


def _decide(scope: Scope, lowered: Lowered | None) -> Lowered | None:
    for name in sorted(scope.decisive):
        raise MissingValueError(
            f"no value for '{name}', which decides what is computed", help=f"give it one: {name}=1"
        )
    return lowered


def _free(scope: Scope, names: Iterable[str]) -> None:
    for name in names:
        scope.free[name] = scope.bind_value(name, np.float64(0.5 + _APART * len(scope.free)))


def _note_numbers(error: GradcliError, names: Iterable[str]) -> None:
    """Say of an error that it may be due to the numbers that stand for names."""
    if not isinstance(
        error, (AmbiguousError, EvaluationError, MissingValueError, UnknownNameError)
    ):
        error.note = error.note or f"no value is given for {', '.join(names)}: numbers were tried"
        if isinstance(error, ShapeError) and names:
            shapes = (f"{name}=zeros({shape})" for name, shape in zip(names, _SHAPES, strict=False))
            error.help = error.help or f"arrays need shapes, such as {' '.join(shapes)}"


@contextmanager
def in_one_statement(scope: Scope) -> Iterator[None]:
    """Remove the values of names that become free here at the end of the context.

    Queries thus leave no trace.
    """
    before = dict(scope.free)
    try:
        yield
    finally:
        for name in scope.free.keys() - before.keys():
            scope.unbind(name)
        scope.free = before


@dataclass(eq=False)
class SampledPoints:
    """A lowered statement at points of its domain."""

    program: Program
    lowered: Lowered
    options: Options
    id: Any = None
    # Whether only claims count: the accuracy of floats does not matter to a formula.
    of_formulas: bool = False

    @cached_property
    def leaves(self) -> dict[str, Expr]:
        """Free names on which the statement depends, in the order of the text.

        Names that have a range are left out.
        """
        scope, lowered = self.program.scope, self.lowered
        if not scope.free:
            return {}
        nodes = set(
            reachable([lowered.value, *(side for sides in lowered.relations for side in sides[1:])])
        )
        nodes -= {quantity.leaf for quantity in lowered.ranges.values()}
        names = dict.fromkeys(
            [
                *mentioned_names(lowered.statement, scope),
                *scope.free,
            ]
        )
        return {
            name: scope.free[name]
            for name in names
            if scope.free.get(name) in nodes and name not in self.options.over
        }

    def at(self, point: Point, around: int | None = None) -> Record:
        """Return the record at one point.

        Claims that are formulas are evaluated at points ``around`` it, too.
        """
        claims = tuple(claim.but(around=around) for claim in self.options.claims)
        options = self.options.but(everywhere=True, claims=claims)
        values = self.program.scope.values
        before = {leaf: values[leaf] for leaf in self.leaves.values()}
        values.update(
            {leaf: before[leaf].dtype.type(point[name]) for name, leaf in self.leaves.items()}
        )
        try:
            record = self._run(self.lowered, options)
        finally:
            values.update(before)
        record.point = {name: np.float64(number) for name, number in point.items()}
        if record.error is not None:
            _note_numbers(record.error, point)
        return record

    def _run(self, lowered: Lowered, options: Options) -> Record:
        record = run_statement(
            self.program, lowered.statement, options, id=self.id, lower=lambda _: lowered
        )
        assert record is not None
        return record

    @contextmanager
    def in_passing(self) -> Iterator[None]:
        """Mark further evaluations of the same function.

        sympy's derivative of the function has been seen, and repairs are sought only for reported
        results.
        """
        self.program.scope.in_passing = True
        try:
            yield
        finally:
            self.program.scope.in_passing = False

    def gravest(self) -> Record:
        """Return the gravest record of those at which the function has a finite value.

        A mismatch is reported at the simplest point found.
        """
        points = self.options.trials
        best, inside = self.gravest_of(list(anywhere(self.leaves, points, self.options.state)))
        if best is None:
            best, inside = self.gravest_of(self.points_in_domains())
        if best is None:
            best = self.at(next(anywhere(self.leaves, 0, self.options.state)))
            if best.error is None:
                names = ", ".join(self.leaves)
                best.check = Check(
                    Verdict.UNDETERMINED,
                    reason=f"none of {points} points has a finite value: give values to {names}",
                )
                best.asserted = None
                best.relations = []
                best.point = {}
        best.points = inside
        return best

    def gravest_of(self, candidates: Sequence[Point]) -> tuple[Record | None, int]:
        """Return the gravest record of those with a finite value, and how many there are.

        For an error that occurs at every point, it is the error's record and the count 0.
        """
        best: Record | None = None
        gravity: tuple[Verdict, int] | None = None
        without: dict[int, str] = {}  # place of a claim → note on where it has no value
        held: Counter[int] = Counter()  # place of a claim → number of points where it was held
        inside = 0
        gravest: Point | None = None  # point of a record made in passing, which must be redone
        outside, agreeing = self._together(candidates)
        for place, point in enumerate(candidates):
            if place in outside:
                continue
            if best is not None and place in agreeing:
                inside += 1
                continue
            around = place if inside < _AROUND and place < 2 * _AROUND else None
            with nullcontext() if place in agreeing else self.in_passing():
                record = self.at(point, around)
            if record.error is not None and record.error.code != "evaluation":
                return record, 0
            without = {**what_claims_lack(record), **without}
            check = record.check
            if not inside_domain(record) or check is None:
                continue
            if check.overflows and not any(
                claim.verdict is Verdict.MISMATCH for claim in check.claims
            ):
                continue  # at points of our choice, overflow says nothing about a formula
            inside += 1
            held.update({i: claim.points for i, claim in enumerate(check.claims)})
            if check.worst is Verdict.MISMATCH:
                # Made again, with repairs; a mismatch only around the point is reported as found.
                again = self.at(point)
                is_again = again.check is not None and again.check.worst is Verdict.MISMATCH
                return again if is_again else record, inside
            counted = self._counts_for(check)
            if gravity is None or counted > gravity:
                gravity = counted
                best = record
                gravest = None if place in agreeing else point
        if gravest is not None:
            best = self.at(gravest)
        held.update(dict.fromkeys(held, max(0, len(agreeing) - 1)))
        for i, claim in enumerate(
            best.check.claims if best is not None and best.check is not None else ()
        ):
            if claim.decided_by == POINTS:
                claim.points = held[i]
            if claim.verdict is Verdict.AGREE and claim.reason is None:
                claim.reason = without.get(i)
        return best, inside

    def _counts_for(self, check: Check) -> tuple[Verdict, int]:
        """Return the gravity of a verdict at a point that gradcli chose, to compare records.

        Underflow does not count at such a point. Of equal verdicts the better one is preferred.
        """
        verdict = check.worst
        if self.of_formulas:
            parts = [
                part.verdict
                for part in check.variables.values()
                if part.verdict is Verdict.MISMATCH
            ]
            verdict = max([*parts, *(claim.verdict for claim in check.claims)], default=verdict)
        elif check.only_underflows:
            verdict = Verdict.AGREE
        return verdict, -check.worst.gravity

    def inside(self, points: Sequence[Point]) -> Any:
        """Return at which of some points a query has a finite value."""
        found = self._function(*self._coordinates(points))
        return found.inside.reshape(len(points), -1).all(axis=1)

    def _coordinates(self, points: Sequence[Point]) -> Any:
        """Return the numbers of each name at points."""
        return np.array([[point[name] for name in self.leaves] for point in points]).T

    @cached_property
    def _function(self) -> Columns:
        """A query as a function of its free names."""
        return Columns(self.program.scope, self.lowered.value, self.leaves, {})

    def points_in_domains(self) -> list[Point]:
        """Return points at which a query has a value, among many around 0.

        Domains with many operations on a name are hardly met by chance.
        """
        random = np.random.default_rng(self.options.state)
        shape = (_TRIED, len(self.leaves))
        numbers = random.uniform(-1, 1, shape) * 10.0 ** random.integers(-1, 2, shape)
        points = [dict(zip(self.leaves, row, strict=True)) for row in numbers]
        return [points[i] for i in np.flatnonzero(self.inside(points))[: self.options.trials]]

    def _together(self, points: Sequence[Point]) -> tuple[set[int], set[int]]:
        """Return the places of points without a finite value, and of those that agree.

        The query works entry by entry, and all points are judged at once.
        """
        lowered = self.lowered
        options = self.options
        function = self._function
        if (
            not (isinstance(lowered.statement, Query) and points and self.leaves)
            or options.mode != "grad"
            or lowered.static_uses
            or lowered.value.kind != "float"
            or lowered.value.shape
            or not function.entrywise
            or any(node.is_leaf and node.shape for node in function.order)
            # Claims may also be about named intermediates, which vary with the names.
            or any(node.op is alias for node in varied_nodes(function.order, self.leaves.values()))
        ):
            return set(), set()
        found = Columns(function.scope, function.root, self.leaves, self.leaves)(
            *self._coordinates(points)
        )
        finite = found.inside & np.isfinite([*found.slopes.values()]).all(axis=0)
        places = np.flatnonzero(finite).tolist()
        agreeing: set[int] = set()
        if len(places) > 1 and all(claim.formula for claim in options.claims):
            # Claims are tried around single points only, not around columns of points.
            claims = tuple(claim.but(around=None) for claim in options.claims)
            quick = options.but(
                everywhere=True, formula=False, check=True, precision=None, claims=claims
            )
            with self.in_passing(), self._columns([points[i] for i in places]) as wide:
                check = self._run(wide, quick).check
            if check is not None and check.worst is Verdict.AGREE:
                agreeing.update(places)
        return set(np.flatnonzero(~found.inside).tolist()), agreeing

    @contextmanager
    def _columns(self, points: Sequence[Point]) -> Iterator[Lowered]:
        """Yield the statement while its free names are columns of numbers."""
        scope = self.program.scope
        with scope.temporary_names():
            wide = {
                leaf: scope.bind_value(name, column)
                for (name, leaf), column in zip(
                    self.leaves.items(), self._coordinates(points), strict=True
                )
            }
            (root,) = rebuild([self.lowered.value], wide)
            yield replace(self.lowered, value=root)


def inside_domain(record: Record) -> bool:
    """Return True for a point in the domain of what was asked."""
    check = record.check
    if record.error is not None or check is None or check.worst is Verdict.UNDEFINED:
        return False
    if any(part.verdict is Verdict.UNDEFINED for part in check.variables.values()):
        return False  # an infinite intermediate, as in 1/(1/x) at 0
    if any(map(_has_no_value, check.claims)):
        return False  # outside the claim's own domain, at a point nobody asked for
    told = (
        [record.value]
        if record.asserted is None
        else [side for part in record.relations for side in (part.left, part.right)]
    )  # of what is proved over a range there are no numbers
    return all(
        bool(np.all(np.isfinite(np.asarray(value, float)))) for value in told if value is not None
    )


def _has_no_value(claim: Claim) -> bool:
    """Return True for a claim without a value where the function has one."""
    return (
        claim.verdict is Verdict.MISMATCH
        and claim.worst is not None
        and math.isnan(claim.worst.engine)
    )


def what_claims_lack(record: Record) -> dict[int, str]:
    """Return the claims that have no value at or around a point where the function has one.

    They are given by their places, with the text to report.
    """
    if record.check is None:
        return {}
    found = {}
    for i, claim in enumerate(record.check.claims):
        if claim.verdict is Verdict.AGREE and claim.reason is not None:
            found[i] = claim.reason
        if _has_no_value(claim):
            of = "value" if claim.of == "value" else "derivative"
            found[i] = smaller_domain(record.point_text(", "), of)
    return found
