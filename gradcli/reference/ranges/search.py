"""The range of a cell over a box by branch and bound.

The box whose bound is furthest out is halved until the bound is tight. One look at a box bounds the
cell by its natural extension, by monotonicity, and by the mean value theorem; the excess is over
what was computed at points.

Relations over a box are proved where there is room to spare, refuted by a point, or left open in a
small box; equalities by algebra, where what is zero is zero wherever it has a value.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

from flint import arb

from gradcli.graph.nodes import Expr
from gradcli.reference.algebra import Unsupported
from gradcli.reference.deadline import still_in_time
from gradcli.reference.fields.element import Element, Generator, fraction
from gradcli.reference.fields.functions import Functions, decide_in_field
from gradcli.reference.ranges.cells import BROKEN, GAPS, Call, Cell, Evaluation, Named, Product, Sum
from gradcli.reference.ranges.intervals import EVERYTHING, KINDS, Box, Interval, precise
from gradcli.reference.ranges.region import Ends, Region

_HALVINGS = 60  # of each side of a box
_HOPELESS = 40  # the same where the bound is infinite
_POLISH, _POLISHED = 150, 2.0**-58  # boxes for ends that are those of the true range
_PATIENCE = 1_000  # most boxes that are halved without improving the bound
_ATTAINED = 1e-9  # relative: a bound this close to a value counts as attained
_SMALL = 1e-6  # relative to the other end of a range: the scale by which an end at 0 is measured
_WORK = 240_000  # most cells that are evaluated for one range


@dataclass(eq=False)
class Node:
    """A box of the tree: what a cell may be there, the kinds of events, and its halves if cut."""

    depth: int
    box: Box
    interval: Interval | None
    kinds: set[str]
    halves: list[Node] | None = None


def value_at(cell: Cell, point: Box) -> Interval | None:
    """Return the value at a point, if the cell has one there and does not jump."""
    value = Evaluation(cell.cells, point).value(cell)
    return None if value.kinds & BROKEN else value.interval


class Side(NamedTuple):
    """One end of a range: a float that no value exceeds, and whether it is as close as was asked for.

    ``point`` is where it is attained, if that was found; ``box``, where the furthest value may be.
    """

    end: float
    tight: bool
    point: list[float] | None
    box: Sequence[Ends]


class Search:
    """The range of one cell."""

    def __init__(self, cell: Cell, box: Box) -> None:
        self.cell, self.cells, self.begun = cell, cell.cells, cell.cells.work
        self.moving = [k for k in sorted(cell.leaves) if not box[k].is_point]
        self.slopes: dict[int, Cell] = {}
        with suppress(Unsupported):
            self.slopes = {k: self.cells.slope(cell, self.cells.leaf(k)) for k in self.moving}
        self.best: dict[int, tuple[arb, Box]] = {}
        self.root = self.look(box)
        for corner in box.corners:
            self._attain(corner)

    def worst(self, sign: int, whole: bool = False) -> Iterator[tuple[arb, Node]]:
        """Yield the bound in one direction, and its box, as boxes are halved: none of gaps if whole."""
        heap: list[tuple[arb, int, Node]] = []
        new, serial = [self.root], 0
        while True:
            for node in new:
                unknown = whole and (node.interval is None or node.kinds & GAPS)
                x = EVERYTHING if unknown else node.interval
                if x is not None:
                    serial += 1
                    bound = x.high if sign > 0 else -x.low
                    heapq.heappush(heap, (-bound, serial if bound.is_finite() else -serial, node))
            if not heap:
                return
            still_in_time()
            yield -sign * heap[0][0], heap[0][2]
            node = heapq.heappop(heap)[2]
            if node.halves is None:
                side = self.moving[node.depth % len(self.moving)]
                node.halves = [self.look(half, node) for half in node.box.halves(side)]
            new = node.halves

    def is_spent(self, work: int, node: Node, halvings: int = _HALVINGS) -> bool:
        """Tell whether no box is to be halved any more."""
        return node.depth >= halvings * len(self.moving) or self.cells.work - self.begun > work

    def side(self, sign: int, width: float, work: int = _WORK) -> Side | None:
        """One end: the upper one for 1, the lower one for -1. ``width`` is a share of the range."""
        polishing, most = 0, _POLISH // max(1, len(self.moving)) ** 2
        stuck, before = 0, None
        for bound, node in self.worst(sign):
            stuck, before = stuck + 1 if bound == before else 0, bound
            polishing += self._is_tight(bound, sign, width / 2)
            done = polishing > most or self._is_tight(bound, sign, _POLISHED, 1e-3)
            halvings = _HALVINGS if bound.is_finite() else _HOPELESS
            if done or stuck > _PATIENCE or self.is_spent(work, node, halvings):
                point = self._attained(bound, sign, node.box)  # a value may show that it is tight
                tight = self._is_tight(bound, sign, width / 2)
                end = Interval(bound, bound).floats[sign > 0]
                return Side(end, tight, point, [x.floats for x in node.box])
        return None

    def _attained(self, bound: arb, sign: int, box: Box) -> list[float] | None:
        """Return the point of a bound, to many digits: one looked at, or the roundest in its box."""
        self._attain(box.roundest)
        if not self.best:
            return None
        value, point = self.best[sign]
        found = bool(sign * bound - value <= max(abs(value), arb(_SMALL)) * arb(_ATTAINED))
        return [float(x.low) + 0.0 for x in point] if found else None

    def _is_tight(self, bound: arb, sign: int, width: float, least: float = 1e-12) -> bool:
        """Tell whether the excess of a bound is a small share of the range, or of the values."""
        if not self.best or not bound.is_finite():
            return False
        here, there = self.best[sign][0], self.best[-sign][0]
        span = max(here + there, max(abs(here), abs(there)) * arb(least))
        return bool(sign * bound - here <= span * arb(width))

    def _attain(self, point: Box) -> Interval | None:
        """Take the value at a point, which may be further out than others."""
        value = value_at(self.cell, point)
        if value is not None and value.is_finite:
            for sign, end in ((1, value.low), (-1, -value.high)):
                if sign not in self.best or end > self.best[sign][0]:
                    self.best[sign] = end, point
        return value

    def look(self, box: Box, parent: Node | None = None) -> Node:
        """Return a box with the range over it, as tight as one look gives it, within its parent's."""
        depth, outer = (parent.depth + 1, parent.interval) if parent else (0, None)
        here = Evaluation(self.cells, box)
        x, _ = value = here.value(self.cell)
        kinds, middle = value.kinds, box.middle
        if x is None:
            return Node(depth, box, None, kinds)
        inside = self._attain(middle)
        if self.slopes and not kinds & BROKEN:
            moving = {k: slope for k, slope in self.slopes.items() if not box[k].is_point}
            slopes = {k: here.value(slope).interval or EVERYTHING for k, slope in moving.items()}
            x &= self._monotone(box, slopes)
            if inside is not None:
                x &= sum((slope * (box[k] - middle[k]) for k, slope in slopes.items()), inside)
        if outer is not None:
            x = None if kinds & GAPS and not x.overlaps(outer) else x & outer
        return Node(depth, box, x, kinds)

    def _monotone(self, box: Box, slopes: dict[int, Interval]) -> Interval:
        """Return where the cell rises or falls with a variable, its ends are on the faces."""
        faces = [box, box]
        for k, slope in slopes.items():
            if slope.low >= 0 or slope.high <= 0:
                ends = Box.at(box[k].ends if slope.low >= 0 else box[k].ends[::-1])
                faces = [face.with_side(k, end) for face, end in zip(faces, ends, strict=True)]
        if faces[0] is box:
            return EVERYTHING
        # The slopes on a face may have a definite sign where those on the box have none.
        found = [(not x.kinds & BROKEN and x.interval) or EVERYTHING for x in map(self.look, faces)]
        return Interval(found[0].low, found[1].high)


# -- A function of the program, and boxes around its poles, kinks, jumps and gaps


_POINT = 2.0**-144  # relative to them: a round number this close is taken for the place
_MOST_BOXES = 64  # most boxes that are halved again; more of them mean places along a line
_MOST_WORK = 60_000  # for cells of the same variables that one operation was made of
_ALL_WORK = 1_440_000  # for all such

Range = tuple[Side, Side]  # lower end, upper end


class Place(NamedTuple):
    """Place where something is the matter with a cell."""

    kind: str
    cell: Cell
    where: Box


@dataclass(eq=False)
class Ranges:
    """The range of a function, if it is defined somewhere, and those of its derivatives."""

    value: Range | None
    grad: list[Range | None]
    places: list[Place]


class Function(Region):
    """A function of the program over a box."""

    def __init__(self, root: Expr, *program: Any) -> None:
        super().__init__(*program)
        self.root, self.cell = root, self.number(root)

    @precise()
    def ranges(self, width: float) -> Ranges:
        """All that is asked for. Raises Unsupported where derivatives are not known."""
        found = Ranges(self._range(self.cell, width), [], self.find_places())
        for k in range(len(self.box)) if found.value else ():
            parts = (1, self.slope(self.cell, k)), (0, self.cell)  # where it has a value
            found.grad.append(self._range(self.cells.sum(parts), width))
        return found

    def _range(self, cell: Cell, width: float) -> Range | None:
        search = Search(cell, self.box)
        low, high = search.side(-1, width, _WORK // 2), search.side(1, width)
        return (low, high) if low and high else None

    @precise()
    def find_places(self) -> list[Place]:
        """Return what is the matter with the function, and where, as finely as is cheap."""
        groups: dict[Any, set[Cell]] = {}
        events = Evaluation(self.cells, self.box).value(self.cell).events
        for cell in sorted({cell for _, cell in events}, key=attrgetter("serial")):
            groups.setdefault((cell.leaves, self.origins.get(cell)), set()).add(cell)
        work = min(_MOST_WORK, _ALL_WORK // max(1, len(groups)))
        found = [place for group in groups.values() for place in self._places_of(group, work)]
        return sorted(
            found,
            key=lambda p: (KINDS.index(p.kind), [float(x.low.mid()) for x in p.where]),
        )

    def _places_of(self, cells: set[Cell], work: int) -> Iterator[Place]:
        """Yield places of cells of some variables: boxes are halved across these only."""
        found: dict[str, list[Box]] = {}
        begun, first, active = self.cells.work, min(cells, key=attrgetter("serial")), [self.box]
        moving = [k for k in sorted(first.leaves) if not self.box[k].is_point]
        finest = _HALVINGS * len(moving)
        for depth in range(finest + 1):
            is_spent = len(active) > _MOST_BOXES or self.cells.work - begun > work
            halves: list[Box] = []
            for part in active:
                kinds, nowhere = self._kinds(cells, part)
                if nowhere or is_spent or depth == finest:
                    for kind in kinds:
                        found.setdefault(kind, []).append(part)
                elif kinds:
                    halves += part.halves(moving[depth % len(moving)])
            active = halves
        for kind, boxes in found.items():
            for hull in _join_boxes(boxes):
                box = hull
                for k in moving:
                    box = box.with_side(k, self._sharp_side(box, k, cells))
                yield Place(kind, first, box)

    def _kinds(self, cells: set[Cell], box: Box) -> tuple[set[str], bool]:
        """Return the events in some cells that matter in a box, and whether it leaves the domain."""
        value, events = Evaluation(self.cells, box).value(self.cell)
        kinds = {kind for kind, cell in events if cell in cells}
        return kinds if value is not None else kinds & GAPS, value is None

    def _sharp_side(self, box: Box, k: int, cells: set[Cell]) -> Interval:
        """Return a side that ends at the roundest numbers beyond which nothing is the matter."""
        a, b = box[k].ends
        width = self.box[k].high - self.box[k].low
        room, near = width * 2.0 ** (2 - _HALVINGS), width * _POINT

        def is_clear(first: arb, last: arb) -> bool:
            part = box.with_side(k, Interval.around(first, last))
            return bool(first > last) or not self._kinds(cells, part)[0]

        lows = map(arb, Interval(a, min(b, a + room).mid()).round_numbers)
        highs = map(arb, Interval(max(a, b - room).mid(), b).round_numbers)
        low = next((p for p in lows if is_clear(a, p - near)), a)
        return Interval(low, next((p for p in highs if is_clear(p + near, b)), b))


def _join_boxes(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that touch each other as one hull."""
    hulls: list[Box] = []
    for box in boxes:
        touching = [found for found in hulls if all(map(Interval.overlaps, found, box))]
        hulls = [found for found in hulls if found not in touching]
        sides = zip(box, *touching, strict=True)
        hulls.append(Box(Interval.around(*[end for x in side for end in x.ends]) for side in sides))
    return hulls


# -- Relations


_WORK_OF_PROOF = 100_000  # most cells that are evaluated for one relation


@dataclass(eq=False)
class Outcome:
    """Outcome of a relation: None where it is open."""

    holds: bool | None
    point: list[float] | None = None
    box: list[Ends] | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Proof:
    """A relation over a region; confirmed points refute it, and those on kinks may be left out."""

    region: Region
    confirmed: Callable[[list[float]], bool]
    kinks: bool = False

    @precise()
    def of(self, left: Any, symbol: str, right: Any, within: float = 0.0) -> Outcome:
        """Return what becomes of a relation between two numbers, with a tolerance."""
        cells = self.region.cells
        off = cells.of(left) - cells.of(right)
        if symbol == "==" and not within:
            defined = cells.sum([(0, off), (-1, abs(self._reduce(off)))])
            return self._positive(defined, defined=True)
        size = abs(off) if symbol in ("==", "!=") else off
        if symbol == "!=":
            return self._positive(size - within, strictly=True)
        room = within - size if symbol in ("<", "<=", "==") else size + within
        return self._positive(room, strictly=len(symbol) == 1)

    def _positive(self, cell: Cell, strictly: bool = False, defined: bool = False) -> Outcome:
        """Prove that a cell is positive, or not negative, in boxes, where it may be least first.

        Points at which it is not positive refute it: the middles of boxes, the corners of the whole
        one, and a round number of the last. ``defined``: points without a value refute nothing.
        """
        search, points = Search(cell, self.region.box), self.region.box.corners
        for bottom, node in search.worst(-1, whole=True):
            if bottom > 0 or (bottom == 0 and not strictly):
                return Outcome(True)
            spent = search.is_spent(_WORK_OF_PROOF, node)
            for point in [node.box.middle, *points, *[node.box.roundest] * spent]:
                x, at = value_at(cell, point), [float(side.middle) for side in point]
                refuted = not (defined or self.kinks)
                if x is not None:
                    refuted = bool(x.high < 0 or (strictly and x.high <= 0))
                if refuted and self.confirmed(at):
                    return Outcome(False, at)
            if spent:
                is_gap = defined and node.kinds & GAPS
                reason = "it has no value there" if is_gap else None
                return Outcome(None, None, [x.floats for x in node.box], reason)
            points = []
        return Outcome(True)

    def _reduce(self, cell: Cell) -> Cell:
        """Return a cell with the same zeros where it is defined: 0 in branches that algebra proves."""
        cells = self.region.cells

        def in_a_branch() -> Cell:
            piece = cells.take_choices(cell)
            is_zero = decide_in_field(lambda functions: _element(functions, piece).is_zero)
            return cells.zero if is_zero else piece

        with suppress(Unsupported):
            cell = cells.branching(in_a_branch)
        return cells.replace(cell, {}, beside=True) if self.kinks else cell


def _element(functions: Functions, root: Cell) -> Element:
    """Convert a cell to an element of a field."""
    found: dict[Cell, Any] = {}
    for cell in root.order:
        if isinstance(cell, Named):
            found[cell] = found[cell.args[0]]
        elif isinstance(cell, Sum):
            parts = (found[c] * fraction(q) for q, c in cell.terms)
            found[cell] = sum(parts, functions.of(fraction(cell.constant)))
        elif isinstance(cell, Product):
            powers = (functions.root(found[f.base], fraction(f.exponent)) for f in cell.factors)
            found[cell] = prod(powers, start=functions.one)
        elif isinstance(cell, Call) and cell.function is not None:
            found[cell] = functions.call(cell.function, *[found[a] for a in cell.args])
        elif isinstance(cell, Call) and cell.name != "floor":
            found[cell] = functions.exp(1) if cell.name == "e" else getattr(functions, cell.name)
        else:
            found[cell] = functions.field.symbol(cell, partial(Generator, "variable"))
    return functions.of(found[root])
