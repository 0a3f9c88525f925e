"""Claims on a query, and asserts: read in its program's scope, and decided, also over a box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.check.verdicts import OF_HOLDING, Check, Claim, VariableCheck, Verdict, Worst, box_text
from gradcli.errors import ShapeError
from gradcli.graph.nodes import Expr, definition_order, forward
from gradcli.graph.sweep import grad
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression
from gradcli.language.syntax import Assertion, Quantified, Statement
from gradcli.limits import DEFAULT
from gradcli.ops.reductions.sums import sum_
from gradcli.options import Options
from gradcli.query.derivatives import text_of
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.report.ranges import BoundNote, Ends
from gradcli.report.records import Record
from gradcli.texts import Source

if TYPE_CHECKING:
    from gradcli.check.claims import Given
    from gradcli.reference.ranges.region import Region
    from gradcli.reference.ranges.search import Function, Place

_APART = 1e-9  # relative difference that floats of one derivative may have, and a wrong one exceeds


def claims_of(
    program: Program, record: Record, options: Options
) -> tuple[list[Given], Expr | None]:
    """Return the claims on a query, read in its scope, where ``seed`` is the seed."""
    from gradcli.check.claims import Given

    scope = program.scope
    seed = None
    found = []
    with scope.temporary_names():
        scope.names.update(scope.leaves)  # names in claims mean the values bound to them
        if "seed" not in scope.names:
            seed = scope.bind_value("seed", record.seed)
        for claim in options.claims:
            formula, numbers = None, claim.numbers
            if claim.text is not None:
                node = program.read(claim.text, f"<claim of {claim.of}>")
                if claim.formula or program.lowering.mentions:
                    formula = node
                else:
                    numbers = program.bindings.raw(node)
            found.append(
                Given(claim.of, formula, numbers, options.rtol, options.atol, around=claim.around)
            )
    return found, seed


def fill_assert(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Decide an assert.

    Its relations are compared in floats, entry by entry, and by the reference.
    """
    scope = program.scope
    if scope.deviations:
        from gradcli.query.uncertainty import left_out

        sides = [side for relation in lowered.relations for side in relation[1:]]
        record.warnings += left_out(scope, sides, "an assert: it is about the values")
    from gradcli.check.asserts import compare_relations, decide_assert, decide_over

    if lowered.ranges:
        relations, check = decide_over(scope, lowered, options)
        record.check = check if options.check else None
        record.take_outcome(relations)
        return
    relations = compare_relations(scope, lowered)
    if options.decide_asserts and options.check:
        record.check = decide_assert(scope, lowered, relations, options)
    record.take_outcome(relations)


# -- Over a box: ``gradcli check --over x=0..1``. The claims of a query are held, or without claims
# the rules' derivative. Asserts get the ranges of the box.


def with_ranges(statement: Statement, over: Mapping[str, Ends]) -> Statement:
    """Give the ranges of the box to an assert without ranges of its own.

    Anything else is returned unchanged.
    """
    if not isinstance(statement, Assertion) or statement.ranges or not over:
        return statement

    def number(x: float) -> Any:
        return parse_expression(Source(f"({x!r})"), DEFAULT.length)

    ranges = tuple(
        Quantified(name, number(low), number(high), statement.span)
        for name, (low, high) in over.items()
    )
    return Assertion(
        statement.source, statement.span, statement.relations, statement.within, ranges
    )


def hold_over(
    scope: Scope,
    lowered: Lowered,
    wrt: Mapping[str, Expr],
    claims: Sequence[Given],
    options: Options,
) -> Check | None:
    """Judge a query's claims over a box, or without claims the derivatives of the engine's rules.

    Returns None for a query that has nothing to do with the box.
    """
    root, over = lowered.value, options.over
    leaves = {scope.names[name]: ends for name, ends in over.items()}
    if not any(node in leaves for node in definition_order(root)) or root.kind != "float":
        return None
    if any(x.shape for x in wrt.values()):
        raise ShapeError(
            "--over holds derivatives by numbers; a name is an array", help="list numbers: --wrt x"
        )
    from gradcli.reference.ranges.region import Region

    total = sum_(root) if root.shape else root
    points = {
        x: (float(scope.values[x]),) * 2
        for x in wrt.values()
        if x not in leaves and x in scope.values
    }
    everything: dict[Expr, Ends] = {**leaves, **points}
    region = Region(everything, scope.values, scope.precision)
    subjects = Subjects(scope, total, everything, over, region)
    check = Check(Verdict.SKIPPED, over=dict(over))
    with deadline(options.timeout):
        for claim in claims:
            said = claim.formula
            if said is None:  # a number, claimed at every point
                said = scope.graph.constant(claim.numbers)
            found = subjects.decide(said, None if claim.of == "value" else wrt[claim.of])
            check.claims.append(Claim(claim.of, claim.kind, *found))
        if not check.claims:
            check.variables = {
                name: subjects.hold_rules(x) for name, x in wrt.items() if x in everything
            }
            verdicts = [part.verdict for part in check.variables.values()]
            check.verdict = max(verdicts, default=Verdict.SKIPPED)
    return check


@dataclass(frozen=True, eq=False)
class Subjects:
    """Functions that are held over a box: a function, and its derivatives by the reference."""

    scope: Scope
    root: Expr
    variables: Mapping[Expr, Ends]
    over: Mapping[str, Ends]
    region: Region

    def hold_rules(self, x: Expr) -> VariableCheck:
        """Return the verdict on the derivative by a name that the engine's rules give."""
        verdict, worst, reason = self.decide(grad(self.root, x), x)
        if verdict is Verdict.AGREE:
            reason = "of the rules: floats are not held over a box"
        return VariableCheck(verdict, "ranges", worst=worst, reason=reason)

    def decide(self, left: Expr, subject: Expr | None) -> tuple[Verdict, Worst | None, str | None]:
        """Decide whether a node equals the function, or the reference's derivative of it by a name.

        It must do so all over the box, except at kinks.
        """
        from gradcli.reference.algebra import Unsupported
        from gradcli.reference.ranges.intervals import Box
        from gradcli.reference.ranges.search import Proof, value_at

        region = self.region

        def refutes(point: Sequence[float]) -> bool:
            """Tell whether the computed number is off the reference by more than rounding."""
            reference = value_at(truth, Box.at(point))
            computed = self._at(left, point)
            if reference is None or not np.isfinite(computed):
                return False
            low, high = map(float, reference.ends)
            off = max(low - computed, computed - high)
            return off > _APART * max(abs(low), abs(high), abs(computed))

        try:
            said, truth = region.number(left), region.number(self.root)
            if subject is not None:
                truth = region.slope(truth, [*self.variables].index(subject))
            found = Proof(region, refutes, kinks=True).of(said, "==", truth)
        except Unsupported as error:
            return Verdict.UNDETERMINED, None, f"no bounds are known: {error}"
        except OutOfTime:
            return Verdict.UNDETERMINED, None, REACHED
        names = {leaf.name: i for i, leaf in enumerate(self.variables)}
        moving = {name: i for name, i in names.items() if name in self.over}
        worst = None
        point = found.point
        box = found.box
        if point is not None:
            right = self.root if subject is None else grad(self.root, subject)
            at = {name: point[i] for name, i in moving.items()}
            worst = Worst((), self._at(left, point), self._at(right, point), at)
        if box is None or found.holds is not None:
            return OF_HOLDING[found.holds], worst, found.reason
        equal = "equal as far as is known, but not by algebra: " if found.reason is None else ""
        open_ = box_text({name: box[i] for name, i in moving.items()})
        reasons = [f"{equal}open for {open_}", *filter(None, [found.reason])]
        return Verdict.UNDETERMINED, worst, "; ".join(reasons)

    def _at(self, node: Expr, point: Sequence[float]) -> float:
        given = {leaf: np.float64(p) for leaf, p in zip(self.variables, point, strict=True)}
        found = forward([node], {**self.scope.values, **given}, self.scope.precision)[node]
        return float(np.sum(found))


# -- Places of a box where something is the matter, in the user's words


_MOST_NOTES = 12
_SAID = {
    "pole": "has a pole",
    "domain": "has no value",
    "kink": "has a kink: its derivatives from both sides differ",
    "jump": "jumps",
}


def place_notes(
    scope: Scope, function: Function, found: Iterable[Place], names: list[str]
) -> Iterator[BoundNote]:
    """Yield notes on the irregular places in the box, in the user's words."""
    several = [
        place
        for place in found
        if place.kind not in ("pole", "domain") or not _has_value(scope, function, place)
    ]
    for place in several[:_MOST_NOTES]:
        node = function.origins.get(place.cell)
        text = "the expression" if node is None else text_of(scope, node)
        domain = (
            ""
            if node is None or node.op is None or place.kind != "domain" or not node.op.domain
            else f" ({node.op.name} needs {node.op.domain})"
        )
        where = {name: x.floats for name, x in zip(names, place.where, strict=True)}
        yield BoundNote(place.kind, where, f"{text} {_SAID[place.kind]}{domain}")
    if len(several) > _MOST_NOTES:
        yield BoundNote("limit", {}, f"{len(several) - _MOST_NOTES} more places are not listed")


def _has_value(scope: Scope, function: Function, place: Place) -> bool:
    """Tell whether there is a value at a place where a formula has none.

    The place is in an operation that is defined there, as xlogy(x, x) at 0, or in a branch that is
    not taken.
    """
    node = function.origins.get(place.cell)
    if node is None or node.op is None:
        return False
    if place.kind == "domain" and not node.op.domain:
        return True
    if not all(place.where[k].is_point for k in place.cell.leaves):
        return False
    point = {leaf: np.float64(float(place.where[k].middle)) for leaf, k in function.places.items()}
    node = function.root if place.kind == "domain" else node
    found = forward([node], {**scope.values, **point}, scope.precision)[node]
    return bool(np.isfinite(found).all())
