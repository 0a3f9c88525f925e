"""Asserts over a box: proved, refuted by a point at which floats refute them, too, or open in a box that is as small as could be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.language.quantities import Quantity
from gradcli.language.run import Lowered, Sides
from gradcli.language.scope import Scope
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.report.records import Asserted
from gradcli.report.verdicts import Check, Claim, Verdict, Worst

if TYPE_CHECKING:
    from gradcli.reference.ranges.proofs import Outcome

_MOST_ENTRIES = 64  # of arrays, each with a proof of its own


def decide_over(scope: Scope, lowered: Lowered, proving: bool, timeout: float | None = None) -> tuple[list[Asserted], Check]:
    """What becomes of each relation of an assert over its box. Without ``proving``, a few points are tried and nothing else."""
    several = len(lowered.relations) > 1
    with deadline(timeout):
        relations = [_decided(scope, lowered, sides, several, proving) for sides in lowered.relations]
    claims = [_claim(told) for told in relations]
    return relations, Check(max(claim.verdict for claim in claims), claims=claims)


def _claim(told: Asserted) -> Claim:
    verdict = {True: Verdict.AGREE, False: Verdict.MISMATCH, None: Verdict.UNDETERMINED}[told.holds]
    worst = None if told.worst is None else Worst(told.worst.index, told.worst.reference, told.worst.engine, told.worst.at)
    return Claim("assert", "assert", verdict, worst, told.open_box or None, relation=told.relation, text=told.text or None)


def _decided(scope: Scope, lowered: Lowered, sides: Sides, several: bool, proving: bool) -> Asserted:
    source, span = lowered.statement.source, sides.relation.span
    ranges = {name: q for name, q in lowered.ranges.items() if q.leaf in set(definition_order(sides.left, [sides.right]))}
    over = {name: (q.low, q.high) for name, q in lowered.ranges.items()}
    told = Asserted(
        None, None, None, float(lowered.within or 0.0), None, sides.relation.symbol, source.text[span.start : span.end] if several else "",
        over,
    )  # fmt: skip
    try:
        shape = np.broadcast_shapes(sides.left.shape, sides.right.shape)
    except ValueError:
        error = ShapeError(f"an assert of shapes {sides.left.shape} and {sides.right.shape}, which do not broadcast")
        raise error.at(span, source) from None
    floats = Floats(scope, lowered, sides, ranges, shape)
    if not ranges or not proving:
        _by_points(told, floats, bool(ranges))
        return told
    _prove(scope, told, sides, floats)
    return told


class Floats:
    """The sides of a relation as floats, at points of the box."""

    def __init__(self, scope: Scope, lowered: Lowered, sides: Sides, ranges: dict[str, Quantity], shape: tuple[int, ...]) -> None:
        self.scope, self.within, self.sides, self.ranges, self.shape = scope, lowered.within, sides, ranges, shape

    def at(self, point: Sequence[float]) -> tuple[Any, Any]:
        given = {q.leaf: np.float64(x) for q, x in zip(self.ranges.values(), point, strict=True)}
        found = forward([self.sides.left, self.sides.right], {**self.scope.values, **given}, self.scope.precision)
        left, right = (np.broadcast_to(np.asarray(found[side], float), self.shape) for side in (self.sides.left, self.sides.right))
        return left, right

    def refute(self, point: Sequence[float], place: tuple[int, ...] | None = None) -> bool:
        """Whether the relation does not hold at a point, of all entries or of one."""
        from gradcli.check.relations import holds, rounding_of

        left, right = self.at(point)
        fine, _ = holds(self.sides.relation.symbol, left, right, self.within, rounding_of(self.scope))
        return not (fine.all() if place is None else fine[place])

    def first(self, point: Sequence[float]) -> Worst:
        """The sides at a point that refutes the relation, of the entry that is furthest from it."""
        from gradcli.check.relations import holds, rounding_of

        left, right = self.at(point)
        fine, off = holds(self.sides.relation.symbol, left, right, self.within, rounding_of(self.scope))
        place = np.unravel_index(int(np.argmax(np.where(fine, -1.0, np.where(np.isnan(off), np.inf, off)))), off.shape)
        at = dict(zip(self.ranges, map(float, point), strict=True))
        return Worst(tuple(int(i) for i in place), float(left[place]), float(right[place]), at)


def _by_points(told: Asserted, floats: Floats, ranged: bool) -> None:
    """Points alone refute a relation and never prove it, but for one that depends on nothing that has a range."""
    ends = [(q.low, q.high) for q in floats.ranges.values()]
    for share in (0.5, 0.0, 1.0, 0.25, 0.75) if ranged else (0.5,):
        point = [low + (high - low) * share for low, high in ends]
        if floats.refute(point):
            _refuted(told, floats, point)
            return
    told.holds = None if ranged else True
    told.reason = "it is not proved without the cross-check" if ranged else None


def _refuted(told: Asserted, floats: Floats, point: Sequence[float]) -> None:
    told.holds, told.worst = False, floats.first(point)
    told.left, told.right = (side[()] if side.ndim else float(side) for side in map(np.asarray, floats.at(point)))


def _prove(scope: Scope, told: Asserted, sides: Sides, floats: Floats) -> None:
    from gradcli.reference.algebra import Unsupported

    told.holds = True
    try:
        for outcome in _outcomes(scope, sides, floats):
            if outcome.holds is False and outcome.point is not None:
                _refuted(told, floats, outcome.point)
                return
            if outcome.holds is None and told.holds:
                told.holds, told.reason = None, outcome.reason
                told.left_open = None if outcome.box is None else dict(zip(floats.ranges, outcome.box, strict=True))
    except Unsupported as error:
        told.holds, told.reason = None, f"no bounds are known: {error}"
    except OutOfTime:
        told.holds, told.reason = None, REACHED


def _outcomes(scope: Scope, sides: Sides, floats: Floats) -> Iterator[Outcome]:
    """The outcome of each entry."""
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.proofs import Proof
    from gradcli.reference.ranges.region import Region

    variables: dict[Expr, tuple[float, float]] = {q.leaf: (q.low, q.high) for q in floats.ranges.values()}
    region = Region(variables, scope.values, scope.precision)
    left, right = (np.broadcast_to(side, floats.shape) for side in region.read(sides.left, sides.right))
    if left.size > _MOST_ENTRIES:
        raise Unsupported(f"an array of {left.size} entries")
    for place in np.ndindex(left.shape):
        proof = Proof(region, partial(floats.refute, place=place))
        yield proof.of(left[place], sides.relation.symbol, right[place], float(floats.within or 0.0))
