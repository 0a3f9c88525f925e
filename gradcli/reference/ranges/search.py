"""The range of a cell over a box by branch and bound: the box whose bound is furthest out is halved, until the bound is tight.

What is known from below is what was computed at points; the difference is the excess over the true range.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from flint import arb, ctx

from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.ranges.boxes import Box, Sides
from gradcli.reference.ranges.intervals import Interval, high, low, overlap
from gradcli.reference.ranges.shape import DOMAIN, POLE
from gradcli.reference.ranges.target import Bounds, Target

BITS = 128
_MOST_BITS = 2048
_FINEST = 2.0**-60  # of the sides of the box: no box is halved further
_HOPELESS = 2.0**-40  # where it is unbounded
_POLISH = 150  # further boxes, that ends be those of the true range where this is cheap
_POLISHED = 2.0**-58


class Imprecise(Exception):
    """Rounding alone is more than the width that is asked for."""


class Side(NamedTuple):
    """One end of a range.

    bound     no value is beyond it; None where nothing is defined
    reached   the furthest value that was found, and where
    tight     whether the bound is as close to that as was asked for
    box       where the furthest value may be
    """

    bound: arb | None
    reached: arb | None
    point: Box | None
    tight: bool
    box: Box | None


class Node:
    """A box of the tree, halved when it is looked into."""

    __slots__ = ("bounds", "box", "depth", "halves")

    def __init__(self, box: Box, bounds: Bounds, depth: int) -> None:
        self.box, self.bounds, self.depth = box, bounds, depth
        self.halves: list[Node] | None = None


class Search:
    """The range of one cell. Both ends share the boxes that were looked into."""

    def __init__(self, target: Target, box: Box, width: float, work: int) -> None:
        self.target, self.box, self.width = target, box, arb(width)
        self.begun, self.work = target.ledger.work, work
        self.sides = Sides(box, target.cell.leaves)
        self.best: dict[int, tuple[arb, Box] | None] = {1: None, -1: None}
        self.root = self._look(box, None)

    def both(self) -> tuple[Side, Side]:
        """The lower end and the upper one."""
        lower = self.side(-1, self.work // 2)
        return lower, self.side(1, self.work)

    def side(self, sign: int, work: int | None = None) -> Side:
        """One end: the upper one for 1, the lower one for -1."""
        heap: list[tuple[arb, int, int, Node]] = []
        self._push(heap, self.root, sign)
        serial, polishing = 1, 0
        limit = self.work if work is None else work
        tight = False
        while heap:
            still_in_time()
            bound, _, _, node = heap[0]
            bound = -bound
            tight, done = self._is_tight(bound, sign)
            hopeless = not bound.is_finite() and self.sides.is_below(node.box, _HOPELESS)
            polishing += tight
            if (
                done
                or hopeless
                or polishing > _POLISH
                or self.target.ledger.work - self.begun > limit
                or self.sides.is_below(node.box, _FINEST)
            ):
                break
            heapq.heappop(heap)
            for half in self._halves(node):
                self._push(heap, half, sign, serial)
                serial += 1
        best = self.best[sign]
        if not heap:
            return Side(None, None, None, True, None)
        node = heap[0][3]
        bound = -heap[0][0]
        tight = self._is_tight(bound, sign)[0]
        return Side(sign * bound, None if best is None else sign * best[0], None if best is None else best[1], tight, node.box)

    def _push(self, heap: list[tuple[arb, int, int, Node]], node: Node, sign: int, serial: int = 0) -> None:
        found = node.bounds.interval
        if found is not None:
            bound = found[1] if sign > 0 else -found[0]
            heapq.heappush(heap, (-bound, node.depth if bound.is_finite() else -node.depth, serial, node))

    def _is_tight(self, bound: arb, sign: int) -> tuple[bool, bool]:
        """Whether a bound is as tight as was asked for, and whether it can hardly be tighter."""
        here, there = self.best[sign], self.best[-sign]
        if here is None or there is None or not bound.is_finite():
            return False, False
        excess = high(bound - here[0])
        span = max(low(here[0] + there[0]), arb(0))
        size = max(abs(here[0]), abs(there[0]))
        scale = max(span, size * arb(1e-12))
        return bool(excess <= scale * self.width / 2), bool(excess <= max(span, size * arb(1e-3)) * _POLISHED)

    def _halves(self, node: Node) -> list[Node]:
        if node.halves is None:
            node.halves = [self._look(half, node) for half in self.sides.halves(node.box, self._across(node))]
        return node.halves

    def _across(self, node: Node) -> int:
        """The variable that moves the cell most, or that of the widest side."""
        box, smear, widest = node.box, node.bounds.smear, self.sides.widest(node.box)
        if not smear or not all(s.is_finite() for s in smear):
            return widest
        best = max(self.sides.places, key=lambda k: float((smear[k] * (box[k][1] - box[k][0])).mid()))
        return best if self.sides.share(box, best) > self.sides.share(box, widest) * 2.0**-12 and smear[best] > 0 else widest

    def _look(self, box: Box, parent: Node | None) -> Node:
        found = self.target.bounds(box)
        if found.point is not None:
            inside = self.target.near(found.point, box) if found.inside is None else found.inside
            if inside is not None:
                self._reach(inside, found.point)
        if found.interval is not None and parent is not None and parent.bounds.interval is not None:
            outer = parent.bounds.interval
            nowhere = not overlap(outer, found.interval) and any(e.kind in (DOMAIN, POLE) for e in found.events)
            found = found._replace(interval=None if nowhere else self.target.meet(found.interval, outer))
        node = Node(box, found, 0 if parent is None else parent.depth + 1)
        if parent is None:
            for end in (0, 1):
                corner = tuple((x[end], x[end]) for x in box)
                value = self.target.at(corner)
                if value is not None:
                    self._reach(value, corner)
        return node

    def _reach(self, value: Interval, point: Box) -> None:
        a, b = value
        if not (a.is_finite() and b.is_finite()):
            return
        for sign, end in ((1, a), (-1, -b)):
            best = self.best[sign]
            if best is None or end > best[0]:
                self.best[sign] = end, point
        here, there = self.best[1], self.best[-1]
        assert here is not None
        assert there is not None
        span = max(low(here[0] + there[0]), max(abs(here[0]), abs(there[0])) * arb(1e-12))
        if b - a > span * self.width / 16 and b > a and ctx.prec < _MOST_BITS:
            raise Imprecise
