"""The range of a cell over a box by branch and bound: the box whose bound is furthest out is halved, until the bound is tight.

One look at a box bounds the cell by its natural extension, by monotonicity, and by the mean value theorem. What is known from below is what
was computed at points; the difference is the excess over the true range.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flint import arb

from gradcli.reference.algebra import Unsupported
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.ranges.cells import Cell, Cells
from gradcli.reference.ranges.evaluation import NONE, Evaluation, Events
from gradcli.reference.ranges.functions import (
    DOMAIN,
    EVERYTHING,
    JUMP,
    POLE,
    ZERO,
    Box,
    Interval,
    Sides,
    above,
    below,
    corners,
    high,
    is_finite,
    low,
    meet,
    middle,
    multiply,
    overlap,
    thin,
    with_side,
)

_CLOSE = 2.0**-52  # of the sides of a box
_FINEST = 2.0**-60  # of the sides of the box: no box is halved further
_HOPELESS = 2.0**-40  # where it is unbounded
_POLISH = 150  # further boxes along one variable, that ends be those of the true range where this is cheap
_POLISHED = 2.0**-58
_PATIENCE = 1_000  # boxes that are halved while the bound stays what it is


class Bounds(NamedTuple):
    """What a cell may be over a box; None where it is defined nowhere. The number at a point is attained, if there is one."""

    interval: Interval | None
    events: Events = NONE
    point: Box = ()
    inside: Interval | None = None


def has_gaps(events: Events) -> bool:
    """Tell whether something has no value somewhere."""
    return any(e.kind in (DOMAIN, POLE) and not e.removable for e in events)


def _is_broken(events: Events) -> bool:
    return any(e.kind in (DOMAIN, POLE, JUMP) and not (e.removable or e.edge) for e in events)


class Target:
    """A cell that is bounded over boxes."""

    def __init__(self, cells: Cells, cell: Cell) -> None:
        self.cells, self.cell = cells, cell
        self.slopes: dict[int, Cell] = {}
        try:
            self.slopes = {place: cells.slopes.of(cell, cells.leaf(place)) for place in sorted(cell.leaves)}
        except Unsupported:
            self.slopes = {}

    def natural(self, box: Box) -> Evaluation:
        found = Evaluation(self.cells, box)
        found.value(self.cell)
        return found

    def at(self, point: Box) -> Interval | None:
        """The value at a point, if it has one there, within rounding."""
        found = self.natural(point).table[self.cell]
        return None if any(e.kind in (DOMAIN, POLE, JUMP) for e in found.events) else found.interval

    def near(self, point: Box, box: Box) -> Interval | None:
        """The value at a point of a box, or those close to it: a derivative may be known all around a point only."""
        found = self.at(point)
        if found is not None:
            return found
        rooms = [((x[1] - x[0]) * arb(_CLOSE), x) for x in box]
        return self.at(tuple((max(low(p - r), x[0]), min(high(p + r), x[1])) for (p, _), (r, x) in zip(point, rooms, strict=True)))

    def bounds(self, box: Box) -> Bounds:
        """The range over a box, as tight as one look at it gives."""
        here = self.natural(box)
        value, events = here.table[self.cell]
        if value is None:
            return Bounds(None, events)
        center = thin(map(middle, box))
        inside = self.at(center)
        if inside is None:  # it lies on a kink or a pole
            center = thin(map(_aside, box, range(len(box))))
            inside = self.near(center, box)
        moving = [k for k in self.slopes if box[k][0] < box[k][1]]
        if moving and not _is_broken(events):
            slopes = {k: here.value(self.slopes[k]).interval or EVERYTHING for k in moving}
            value = self._monotone(box, value, slopes)
            known = [(center, inside)]
            if not all(map(is_finite, slopes.values())):  # on one side, perhaps: then from the other end of the box
                known = [(corner, self.at(corner)) for corner in corners(box)]
            for point, there in known:
                value = value if there is None else meet(value, _mean_values(box, point, there, slopes))
        return Bounds(value, events, center, inside)

    def _monotone(self, box: Box, value: Interval, slopes: dict[int, Interval]) -> Interval:
        """Return where the cell rises or falls with a variable, its ends are on the faces."""
        least, most = box, box
        for k, (a, b) in slopes.items():
            first, last = ((end, end) for end in box[k])
            if a >= 0:
                least, most = with_side(least, k, first), with_side(most, k, last)
            elif b <= 0:
                least, most = with_side(least, k, last), with_side(most, k, first)
        if least == box:
            return value
        bottom, top = self._on_face(least), self._on_face(most)
        return meet(value, (value[0] if bottom is None else bottom[0], value[1] if top is None else top[1]))

    def _on_face(self, box: Box) -> Interval | None:
        """The range on a face, whose own slopes may have a sign where those of the box have none."""
        found = self.bounds(box)
        return None if _is_broken(found.events) else found.interval


def _mean_values(box: Box, center: Box, inside: Interval, slopes: dict[int, Interval]) -> Interval:
    bottom, top = inside
    for k, slope in slopes.items():
        step = multiply(slope, (low(box[k][0] - center[k][0]), high(box[k][1] - center[k][0])))
        bottom, top = low(bottom + step[0]), high(top + step[1])
    return bottom, top


def _aside(x: Interval, place: int) -> arb:
    """A number beside the middle, on another side for every other variable."""
    m = middle(x)
    return (m + (x[1] - m) / 4 if place % 2 else m - (m - x[0]) * 3 / 8).mid()


class Side(NamedTuple):
    """One end of a range.

    end    a float that no value is beyond; None where nothing is defined
    tight  whether it is as close to the true one as was asked for
    point  where the furthest value was found
    box    where the furthest value may be
    """

    end: float | None
    tight: bool = True
    point: list[float] | None = None
    box: Sequence[tuple[float, float]] = ()


class Node:
    """A box of the tree, halved when it is looked into."""

    __slots__ = ("bounds", "box", "depth", "halves")

    def __init__(self, box: Box, bounds: Bounds) -> None:
        self.box, self.bounds = box, bounds
        self.halves: list[Node] | None = None


class Search:
    """The range of one cell. Both ends share the boxes that were looked into."""

    def __init__(self, target: Target, box: Box) -> None:
        self.target, self.begun = target, target.cells.work
        self.sides = Sides(box, target.cell.leaves)
        self.best: dict[int, tuple[arb, Box]] = {}
        self.root = self._look(box)
        for corner in corners(box):
            self._reach(target.at(corner), corner)

    def worst(self, sign: int, gaps: bool = False) -> Iterator[tuple[arb, Node]]:
        """The bound in one direction and the box it is that of, again and again as that box is halved.

        gaps  whether a box with points that have no value has no bound
        """
        heap: list[tuple[arb, int, Node]] = []
        new, serial = [self.root], 0
        while True:
            for node in new:
                x, events, *_ = node.bounds
                if gaps and (x is None or has_gaps(events)):
                    x = EVERYTHING
                if x is not None:
                    serial += 1
                    bound = x[1] if sign > 0 else -x[0]
                    heapq.heappush(heap, (-bound, serial if bound.is_finite() else -serial, node))
            if not heap:
                return
            still_in_time()
            yield -sign * heap[0][0], heap[0][2]
            node = heapq.heappop(heap)[2]
            if node.halves is None:
                node.halves = [self._look(half, node.bounds.interval) for half in self.sides.halves(node.box)]
            new = node.halves

    def spent(self, work: int, node: Node, finest: float) -> bool:
        """Tell whether no box is to be halved any more."""
        return self.target.cells.work - self.begun > work or self.sides.is_below(node.box, finest)

    def side(self, sign: int, width: float, work: int, of_size: bool = False) -> Side:
        """One end: the upper one for 1, the lower one for -1. ``width`` is a share of the range, or of the size of its ends."""
        polishing, most = 0, _POLISH // max(1, len(self.sides.places)) ** 2
        stuck, before = 0, None
        for bound, node in self.worst(sign):
            stuck, before = stuck + 1 if bound == before else 0, bound
            tight, done = self._is_tight(bound, sign, arb(width), of_size)
            polishing += tight
            if done or polishing > most or stuck > _PATIENCE or self.spent(work, node, _FINEST if bound.is_finite() else _HOPELESS):
                end = above(bound) if sign > 0 else below(bound)
                point = [float(x[0]) + 0.0 for x in self.best[sign][1]] if self.best else None
                return Side(end, tight, point, [(below(x[0]), above(x[1])) for x in node.box])
        return Side(None)

    def _is_tight(self, bound: arb, sign: int, width: arb, of_size: bool) -> tuple[bool, bool]:
        """Tell whether a bound is as tight as was asked for, and whether it can hardly be tighter."""
        if not self.best or not bound.is_finite():
            return False, False
        here, there = self.best[sign][0], self.best[-sign][0]
        excess = high(sign * bound - here)
        size = max(abs(here), abs(there))
        span = size if of_size else max(low(here + there), ZERO)
        is_tight = excess <= max(span, size * arb(1e-12)) * width / 2
        return bool(is_tight), bool(excess <= max(span, size * arb(1e-3)) * _POLISHED)

    def _look(self, box: Box, outer: Interval | None = None) -> Node:
        """A box, whose bounds are within those of the box that it is half of."""
        found = self.target.bounds(box)
        self._reach(found.inside, found.point)
        x = found.interval
        if x is not None and outer is not None:
            nowhere = not overlap(x, outer) and any(e.kind in (DOMAIN, POLE) for e in found.events)
            found = found._replace(interval=None if nowhere else meet(x, outer))
        return Node(box, found)

    def _reach(self, value: Interval | None, point: Box) -> None:
        if value is not None and is_finite(value):
            for sign, end in ((1, value[0]), (-1, -value[1])):
                if sign not in self.best or end > self.best[sign][0]:
                    self.best[sign] = end, point
