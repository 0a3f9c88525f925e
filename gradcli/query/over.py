"""Queries over a box, whose names are variables while all others keep their values: their ranges,
which `gradcli bound` gives, and with ``check --over x=0..1`` what is claimed of a query, or the
rules' derivative; asserts get its ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import (
    EvaluationError,
    GradcliError,
    ShapeError,
    Source,
    TypeMismatchError,
    UsageError,
)
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order, grad
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression
from gradcli.language.tree import Assertion, Quantified, Statement
from gradcli.limits import DEFAULT
from gradcli.ops.reductions.sums import sum_
from gradcli.query.evaluate import Script, answers
from gradcli.query.options import Options
from gradcli.query.uncertainty import left_out
from gradcli.query.warnings import text_of
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.report.ranges import Bound, BoundNote, BoundRecord, Ends
from gradcli.report.records import box_text
from gradcli.report.verdicts import Check, Claim, VariableCheck, Verdict, Worst

if TYPE_CHECKING:
    from gradcli.check.claims import Given
    from gradcli.query.bindings import Programs
    from gradcli.reference.ranges.making import Region
    from gradcli.reference.ranges.search import Function, Place, Range

_APART = 1e-9  # relative: what floats of one derivative may differ by, and a wrong one does not
_VERDICTS = {True: Verdict.AGREE, False: Verdict.MISMATCH, None: Verdict.UNDETERMINED}


def with_ranges(statement: Statement, over: Mapping[str, Ends]) -> Statement:
    """An assert without ranges of its own with those of the box; anything else as it is."""
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
    over: Mapping[str, Ends],
    timeout: float | None = None,
) -> Check | None:
    """The verdicts over a box on a query's claims, or without claims on the derivatives of
    the engine's rules.

    None for a query that has nothing to do with the box.
    """
    root = lowered.value
    leaves = {scope.names[name]: ends for name, ends in over.items()}
    if not any(node in leaves for node in definition_order(root)) or root.kind != "float":
        return None
    if any(x.shape for x in wrt.values()):
        raise ShapeError(
            "--over holds derivatives by numbers; a name is an array", help="list numbers: --wrt x"
        )
    from gradcli.reference.ranges.making import Region

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
    with deadline(timeout):
        for claim in claims:
            said = claim.formula
            if said is None:  # a number, at every point
                said = scope.graph.constant(claim.numbers)
            found = subjects.decide(said, None if claim.of == "value" else wrt[claim.of])
            check.claims.append(Claim(claim.of, claim.kind, *found))
        if not check.claims:
            for name, x in wrt.items():
                if x in everything:
                    verdict, worst, reason = subjects.decide(grad(total, x), x)
                    check.variables[name] = VariableCheck(
                        verdict, "ranges", worst=worst, reason=reason
                    )
            check.verdict = max(
                (part.verdict for part in check.variables.values()), default=Verdict.SKIPPED
            )
    return check


@dataclass(frozen=True, eq=False)
class Subjects:
    """Functions that are held over a box: a function, and its derivatives by the reference."""

    scope: Scope
    root: Expr
    variables: Mapping[Expr, Ends]
    over: Mapping[str, Ends]
    region: Region

    def decide(self, left: Expr, subject: Expr | None) -> tuple[Verdict, Worst | None, str | None]:
        """Decide whether a node equals the function, or the reference's derivative of it by a name,
        all over the box but for kinks.
        """
        from gradcli.reference.algebra import Unsupported
        from gradcli.reference.ranges.intervals import thin
        from gradcli.reference.ranges.proofs import Proof
        from gradcli.reference.ranges.search import value_near

        region = self.region

        def refutes(point: Sequence[float]) -> bool:
            """Tell whether the computed number is off the reference by more than rounding."""
            reference, computed = value_near(truth, thin(point), region.box), self._at(left, point)
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
        names = {leaf.payload.name: i for i, leaf in enumerate(self.variables)}
        moving = {name: i for name, i in names.items() if name in self.over}
        worst, point, box = None, found.point, found.box
        if point is not None:
            right = self.root if subject is None else grad(self.root, subject)
            at = {name: point[i] for name, i in moving.items()}
            worst = Worst((), self._at(left, point), self._at(right, point), at)
        if box is None or found.holds is not None:
            return _VERDICTS[found.holds], worst, found.reason
        reasons = [] if found.reason is None else self._holes()
        if not reasons:
            equal = "equal as far as is known, but not by algebra: " if found.reason is None else ""
            open_ = box_text({name: box[i] for name, i in moving.items()})
            reasons = [f"{equal}open for {open_}", *([found.reason] if found.reason else [])]
        return Verdict.UNDETERMINED, worst, "; ".join(reasons)

    def _holes(self) -> list[str]:
        """The places of the box at which the function has no value, in words."""
        from gradcli.reference.ranges.search import Function

        scope, names = self.scope, [leaf.payload.name for leaf in self.variables]
        function = Function(self.root, self.variables, scope.values, scope.precision)
        notes = place_notes(scope, function, function.find_places(), names)
        moving = [
            note._replace(where={name: note.where[name] for name in self.over}) for note in notes
        ]
        return [note.text_with_place for note in moving if note.kind in ("domain", "pole")]

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
    """Notes on what is the matter in the box, in the user's words."""
    several = [
        place
        for place in found
        if place.kind not in ("pole", "domain") or not _has_value(scope, function, place)
    ]
    for place in several[:_MOST_NOTES]:
        node = function.origins.get(place.cell)
        text = "the expression" if node is None else text_of(scope, node)
        said = "has no value, but a limit" if place.removable else _SAID[place.kind]
        kind = "domain" if place.removable else place.kind
        domain = (
            ""
            if node is None or node.op is None or kind != "domain" or not node.op.domain
            else f" ({node.op.name} needs {node.op.domain})"
        )
        where = {name: x.floats for name, x in zip(names, place.where, strict=True)}
        yield BoundNote(kind, where, f"{text} {said}{domain}")
    if len(several) > _MOST_NOTES:
        yield BoundNote("limit", {}, f"{len(several) - _MOST_NOTES} more places are not listed")


def _has_value(scope: Scope, function: Function, place: Place) -> bool:
    """Tell whether an operation has a value at a place where its formula has none, as xlogy(x, x)
    at 0.
    """
    node = function.origins.get(place.cell)
    if node is None or not all(place.where[k].is_point for k in place.cell.leaves):
        return False
    point = {leaf: np.float64(float(place.where[k].middle)) for leaf, k in function.places.items()}
    found = forward([node], {**scope.values, **point}, scope.precision)[node]
    return bool(np.isfinite(found).all())


# -- Ranges of a program's queries: what `gradcli bound` gives.


def bounds(script: Script, options: Options) -> Iterator[BoundRecord]:
    """A record for each query of a program as its lines come, and for each error."""
    return answers(BoundRecord, _ranges, script, options, box=dict(options.over))


def _ranges(program: Program, lowered: Lowered, record: BoundRecord, options: Options) -> None:
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.search import Function

    scope, root, box = program.scope, lowered.value, options.over
    record.warnings += left_out(scope, [root], "a range")
    if root.shape:
        raise ShapeError(
            f"a range is that of a number; the result has the shape {root.shape}",
            help="take one entry, or a sum",
        )
    if root.kind != "float":
        raise TypeMismatchError("a range is that of a number; the result is a truth or an index")
    variables = variables_of(program, lowered, box)
    try:
        function = Function(
            root,
            {leaf: box[name] for name, leaf in variables.items()},
            scope.values,
            scope.precision,
        )
        found = function.ranges(options.width, options.lipschitz)
    except Unsupported as error:
        raise EvaluationError(f"its range is not known: {error}") from None
    if found.value is None:
        raise EvaluationError(f"the expression is defined nowhere in the box {box_text(box)}")
    names = list(variables)
    record.value = _bound_of(found.value, names)
    grads = dict(zip(names, found.grad, strict=True))
    for name in box:
        slope = grads.get(name)
        none = math.nan if name in grads else 0.0
        record.grad[name] = Bound(none, none) if slope is None else _bound_of(slope, names)
    record.notes = [*place_notes(scope, function, found.places, names)]
    if (
        options.lipschitz
    ):  # a function that jumps has no such constant, however flat it is elsewhere
        jumps = any(note.kind == "jump" for note in record.notes)
        record.lipschitz = dict.fromkeys(found.norms) if jumps else dict(found.norms)
    for name, part in zip(
        ["the value", *(f"d/d{n}" for n in names)], [found.value, *found.grad], strict=True
    ):
        if part is not None:
            record.notes += _of_range(name, part, names, record.notes)


def variables_of(program: Program, lowered: Lowered, box: Mapping[str, Ends]) -> dict[str, Expr]:
    """The leaves that the names of a box stand for in a query.

    Raises for names whose values were taken beforehand, or lost.
    """
    scope = program.scope
    taken = {use.leaf for use in lowered.static_uses}
    for name in box:
        if scope.leaves.get(name) in taken:
            raise UsageError(
                f"'{name}' is used as a whole number that the program needs beforehand: it has no "
                "range"
            )
    others = [side for sides in lowered.relations for side in sides[1:]]
    nodes = {*definition_order(lowered.value, others)}
    leaves = {name: scope.leaves[name] for name in box if name in scope.leaves}
    return {name: leaf for name, leaf in leaves.items() if leaf in nodes}


def within(texts: Mapping[str, str], programs: Programs) -> dict[str, Ends]:
    """The box of ranges, whose names have a value inside of it in programs. Raises UsageError."""
    box = {name: _ends(name, text, programs) for name, text in texts.items()}
    programs.values.update(
        {name: np.float64(low + (high - low) / 2) for name, (low, high) in box.items()}
    )
    return box


def _ends(name: str, text: str, programs: Programs) -> Ends:
    """The ends of a range, each a constant expression. Raises UsageError."""
    begin, _, end = text.partition("..")
    if not begin.strip() or not end.strip() or ".." in end:
        raise UsageError(f"'{name}={text}' is no range", help=f"write {name}=0..1")
    calculator = programs.fresh()
    low, high = (_number(name, part, calculator) for part in (begin, end))
    if not low <= high:
        raise UsageError(
            f"the range '{name}={text}' ends before it begins",
            help=f"write {name}={end.strip()}..{begin.strip()}",
        )
    return low, high


def _number(name: str, text: str, calculator: Any) -> float:
    try:
        found = calculator.constant(text, f"<{name}>")
    except GradcliError as error:
        error.note = error.note or f"it is an end of the range of {name}"
        raise
    if np.ndim(found) or not math.isfinite(float(found)):
        raise UsageError(f"an end of the range of '{name}' is no finite number: {text.strip()}")
    return float(found)


def _bound_of(found: Range, names: list[str]) -> Bound:
    points = [
        None if side.point is None else dict(zip(names, side.point, strict=True)) for side in found
    ]
    low, high = (math.nan if side.end is None else side.end for side in found)
    return Bound(low, high, *points)


def _of_range(
    what: str, found: Range, names: list[str], known: list[BoundNote]
) -> Iterator[BoundNote]:
    """Infinite ends, but at poles that are told already, and ends that are not as close as was
    asked for.
    """
    open_: dict[str, list[Ends]] = {}
    for side, (word, way) in zip(found, (("lower", "below"), ("upper", "above")), strict=True):
        if side.beyond is not None:
            yield BoundNote(
                "limit", {}, f"the {word} end of {what} is too large for floats: {side.beyond}"
            )
        elif side.end is not None and math.isinf(side.end):
            if not any(
                note.kind == "pole" and _overlap(note.where, names, side.box) for note in known
            ):
                open_[way] = list(side.box)
        elif not side.tight:
            yield BoundNote(
                "limit", {}, f"the {word} end of {what} may be further out than was asked for"
            )
    if open_:
        box = next(iter(open_.values()))
        yield BoundNote(
            "pole",
            dict(zip(names, box, strict=True)),
            f"no bound of {what} from {' or '.join(open_)} is known",
        )


def _overlap(where: Mapping[str, Ends], names: list[str], box: Sequence[Ends]) -> bool:
    return all(
        where[n][0] <= high and low <= where[n][1]
        for n, (low, high) in zip(names, box, strict=True)
    )
