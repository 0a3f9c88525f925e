"""Relations over a box: proved, refuted by a point, or left open in a box that is as small as it could be made.

An enclosure proves an inequality with room to spare, box by box. Equalities, and bounds that are touched, are proved by algebra.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.ranges.boxes import Box, Sides, round_numbers, thin
from gradcli.reference.ranges.cells import UNIT, Cell, Number
from gradcli.reference.ranges.intervals import Interval, middle
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.patterns import Patterns
from gradcli.reference.ranges.polynomials import vanishes, without_squares
from gradcli.reference.ranges.shape import DOMAIN, JUMP, POLE
from gradcli.reference.ranges.target import Target

WORK = 600_000  # cells that are evaluated for one relation
_FINEST = 2.0**-52  # of the sides of the box
_MOST_PARTS = 60_000  # cells that are evaluated to find the parts of a box in which algebra proves an equality,
_FEW_PARTS = 4_000  # and points at which it does not hold
_MOST_DOUBTS = 40  # points that the enclosure refutes and floats do not

Point = list[float]


@dataclass(eq=False)
class Outcome:
    """What became of a relation: None where it is open."""

    holds: bool | None
    point: Point | None = None
    box: Box | None = None
    reason: str | None = None


class Proof:
    """One relation ``cell SYMBOL 0``, with a tolerance, over a box.

    confirmed  whether floats refute the relation at a point
    """

    def __init__(
        self,
        cells: Cells,
        target: Callable[[Cell], Target],
        box: Box,
        symbol: str,
        within: fmpq,
        confirmed: Callable[[Point], bool],
        kinks: bool = False,
    ) -> None:
        self.cells = cells
        self.target_of, self.box, self.symbol, self.within, self.confirmed = target, box, symbol, within, confirmed
        self.kinks = kinks  # whether points on kinks are left out
        self.doubts = 0

    def of(self, cell: Cell) -> Outcome:
        if isinstance(cell, Number) and not cell.partial:
            return self._of_number(cell.value)
        room = self._with_room(cell)
        if self.symbol == "==" and self.within == 0:
            return self._defined(cell) if vanishes(self.cells, cell) else self._equal(cell)
        simpler = without_squares(room) if self.symbol in ("<=", ">=") else None
        if simpler is not None and self._search(simpler).holds and self._defined(cell).holds:
            return Outcome(True)
        return self._search(room)

    def _with_room(self, cell: Cell) -> Cell:
        """The difference with the tolerance of an inequality taken in."""
        shift = {"<": -self.within, "<=": -self.within, ">": self.within, ">=": self.within}.get(self.symbol, self.within * 0)
        return cell.cells.sum([(UNIT, cell), (UNIT, cell.cells.number(shift))])

    def _of_number(self, value: fmpq) -> Outcome:
        shifted = self._with_room_of(value)
        low = high = (arb(shifted).lower(), arb(shifted).upper())
        holds = self._proved((low[0], high[1]))
        point = [float(middle(x).mid()) for x in self.box]
        if not holds and not self.confirmed(point):
            return Outcome(None, box=self.box, reason="the sides differ by less than rounding")
        return Outcome(holds, None if holds else point)

    def _with_room_of(self, value: fmpq) -> fmpq:
        return value + {"<": -self.within, "<=": -self.within, ">": self.within, ">=": self.within}.get(self.symbol, self.within * 0)

    def _proved(self, x: Interval) -> bool:
        a, b = x
        w = arb(self.within)
        match self.symbol:
            case ">":
                return bool(a > 0)
            case ">=":
                return bool(a >= 0)
            case "<":
                return bool(b < 0)
            case "<=":
                return bool(b <= 0)
            case "==":
                return bool(a >= -w and b <= w)
            case _:
                return bool(a > w or b < -w)

    def _refuted(self, x: Interval) -> bool:
        a, b = x
        w = arb(self.within)
        match self.symbol:
            case ">":
                return bool(b <= 0)
            case ">=":
                return bool(b < 0)
            case "<":
                return bool(a >= 0)
            case "<=":
                return bool(a > 0)
            case "==":
                return bool(a > w or b < -w)
            case _:
                return bool(a >= -w and b <= w)

    def _urgency(self, x: Interval) -> arb:
        """How far a relation may be from holding: the furthest box comes first."""
        a, b = x
        match self.symbol:
            case ">" | ">=":
                return a
            case "<" | "<=":
                return -b
            case "==":
                return min(a, -b)
            case _:
                return max(a, -b)

    def _search(self, cell: Cell) -> Outcome:
        target, sides = self.target_of(cell), Sides(self.box, cell.leaves)
        begun = target.ledger.work
        heap: list[tuple[arb, int, int, Box]] = []
        serial = 0
        refuted: Point | None = None
        pending = [(self.box, 0)]
        while pending or heap:
            still_in_time()
            if not pending:
                _, depth, _, box = heapq.heappop(heap)
                if target.ledger.work - begun > WORK or sides.is_below(box, _FINEST):
                    return self._touched(target, box, refuted)
                pending = [(half, depth + 1) for half in sides.halves(box)]
            box, depth = pending.pop(0)
            found = target.bounds(box)
            bad = any(e.kind in (DOMAIN, POLE) for e in found.events)
            turns = self.kinks and any(e.kind == JUMP for e in found.events)
            if found.interval is not None and not bad and self._proved(found.interval):
                continue
            if turns and sides.is_below(box, 2.0**-40):
                continue
            for point in self._points(box):
                value = target.near(thin(point), self.box)
                refutes = self._refuted(value) if value is not None else not self.kinks
                if refutes and self.confirmed(point):
                    return Outcome(False, point)
                if value is not None and refutes:
                    refuted, self.doubts = point, self.doubts + 1
            if self.doubts > _MOST_DOUBTS:
                return Outcome(None, None, box, "the sides differ there by less than rounding")
            urgency = arb.neg_inf() if found.interval is None else self._urgency(found.interval)
            heapq.heappush(heap, (urgency, depth if urgency.is_finite() else -depth, serial, box))
            serial += 1
        return Outcome(True)

    def _touched(self, target: Target, box: Box, refuted: Point | None) -> Outcome:
        """A box in which a relation is open: perhaps it does not hold at the round numbers in it."""
        point = [round_numbers(x)[0] for x in box]
        value = target.near(thin(point), self.box)
        if value is not None and self._refuted(value) and self.confirmed(point):
            return Outcome(False, point)
        return Outcome(None, None, box, None if refuted is None else "the sides differ there by less than rounding")

    def _equal(self, cell: Cell) -> Outcome:
        """An equality, by algebra for each pattern of branches that may be taken in a part of the box."""
        target, sides, patterns = self.target_of(cell), Sides(self.box, cell.leaves), Patterns(self.cells, cell)
        begun = target.ledger.work
        known: dict[Cell, bool] = {}
        pending = [self.box]
        while pending:
            still_in_time()
            box = pending.pop(0)
            here = target.natural(box)
            value, events = here.table[cell]
            defined = not any(e.kind in (DOMAIN, POLE) and not e.removable for e in events)
            if value is not None and value[0] == 0 and value[1] == 0 and defined:
                continue
            for point in self._points(box):
                found = target.near(thin(point), self.box)
                if (self._refuted(found) if found is not None else not self.kinks) and self.confirmed(point):
                    return Outcome(False, point)
            forms = patterns.over(here, self.kinks)
            proved = forms is not None
            for form in forms or ():
                if form is not None and form not in known:
                    known[form] = vanishes(self.cells, form)
                proved = form is not None and known[form]
                if not proved:
                    break
            if proved and defined:
                continue
            spent = target.ledger.work - begun > (_FEW_PARTS if patterns.is_settled(here) and defined else _MOST_PARTS)
            if spent or not sides.places or sides.is_below(box, _FINEST):
                return Outcome(None, None, box)
            pending += sides.halves(box)
        return Outcome(True)

    def _defined(self, cell: Cell) -> Outcome:
        """Whether a cell that is zero wherever it is defined is defined all over the box."""
        target, sides = self.target_of(cell), Sides(self.box, cell.leaves)
        events = target.natural(self.box).table[cell].events
        pending, work = [self.box], target.ledger.work
        while pending:
            still_in_time()
            box = pending.pop()
            events = target.natural(box).table[cell].events
            if not any(e.kind in (DOMAIN, POLE) for e in events):
                continue
            if sides.is_below(box, 2.0**-30) or target.ledger.work - work > WORK // 8:
                return Outcome(None, None, box, "the sides have no value there")
            pending += sides.halves(box)
        return Outcome(True)

    def _points(self, box: Box) -> list[Point]:
        """Floats in a box: its middle, and its corners where it is one of the first boxes."""
        inner = [float(middle(x).mid()) if x[0] < x[1] else float(x[0]) for x in box]
        found = [[_within(p, x) for p, x in zip(inner, box, strict=True)]]
        if box == self.box:
            found += [[float(x[0]) for x in box], [float(x[1]) for x in box]]
        return found


def _within(p: float, x: Interval) -> float:
    return float(x[0]) if p < x[0] else float(x[1]) if p > x[1] else p
