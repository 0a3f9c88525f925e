"""A cell and its slopes over boxes: bounds by its natural extension, by monotonicity, and by the mean value theorem."""

from __future__ import annotations

from typing import NamedTuple

from flint import arb

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.boxes import Box
from gradcli.reference.ranges.cells import Call, Cell, Leaf, Product, Sum, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.intervals import EVERYTHING, Interval, high, low, meet, middle, multiply, overlap
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.shape import DOMAIN, JUMP, POLE
from gradcli.reference.ranges.slopes import Slopes
from gradcli.reference.ranges.values import NONE, Event, Events, Ledger, Limits

_CLOSE = 2.0**-52  # of the sides of a box


class Bounds(NamedTuple):
    """What a cell may be over a box; None where it is defined nowhere. The number at its middle is attained, if there is one."""

    interval: Interval | None
    events: Events = NONE
    point: Box | None = None
    inside: Interval | None = None
    smear: tuple[arb, ...] = ()  # how much each variable moves it


class Target:
    """A cell that is bounded over boxes."""

    def __init__(self, cell: Cell, cells: Cells, slopes: Slopes, limits: Limits, ledger: Ledger, dimensions: int) -> None:
        self.cell, self.limits, self.ledger, self.dimensions = cell, limits, ledger, dimensions
        self.order = behind([cell])
        self.slopes: dict[int, Cell] = {}
        try:
            self.slopes = {place: slopes.of(cell, cells.leaf(place)) for place in sorted(cell.leaves)}
        except Unsupported:
            self.slopes = {}
        self.known = len(self.slopes) == len(cell.leaves)
        self.slope_order = behind([cell, *self.slopes.values()])

    def natural(self, box: Box) -> Evaluation:
        found = Evaluation(box, self.ledger, self.limits)
        found.run(self.order)
        return found

    def at(self, point: Box) -> Interval | None:
        """The value at a point, if it has one there, within rounding."""
        found = self.natural(point).table[self.cell]
        return None if found.interval is None or any(e.kind in (DOMAIN, POLE, JUMP) for e in found.events) else found.interval

    def near(self, point: Box, box: Box) -> Interval | None:
        """The value at a point of a box, or those close to it: a derivative may be known all around a point only."""
        found = self.at(point)
        if found is not None:
            return found
        rooms = [(x[1] - x[0]) * arb(_CLOSE) for x in box]
        near = tuple((low(x[0] - room), high(x[1] + room)) for x, room in zip(point, rooms, strict=True))
        return self.at(tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(near, box, strict=True)))

    def bounds(self, box: Box) -> Bounds:
        """The range over a box, as tight as one look at it gives."""
        here = self.natural(box)
        value, events = here.table[self.cell]
        if value is None:
            return Bounds(None, events)
        center = tuple((m, m) for m in map(_inner, box))
        inside = self.at(center)
        if inside is None:
            center, inside = self._beside(box)
        moving = [k for k in self.slopes if box[k][0] < box[k][1]]
        if not self.known or not moving or any(self._hinders(e, here) for e in events):
            return Bounds(value, events, center, inside)
        table = here.run(self.slope_order)
        slopes = {k: table[self.slopes[k]].interval or EVERYTHING for k in moving}
        value = self._monotone(box, value, slopes)
        value = self._by_mean_values(box, center, inside, value, slopes)
        smear = tuple(_size(slopes[k]) if k in slopes else arb(0) for k in range(self.dimensions))
        return Bounds(value, events, center, inside, smear)

    def _beside(self, box: Box) -> tuple[Box, Interval | None]:
        """A point beside the middle, which lies on a kink or a pole."""
        point = tuple((m, m) for m in (_aside(x, k) for k, x in enumerate(box)))
        return point, self.at(point)

    def _monotone(self, box: Box, value: Interval, slopes: dict[int, Interval]) -> Interval:
        """Where the cell rises or falls with a variable, its ends are on the faces."""
        least, most = list(box), list(box)
        for k, (a, b) in slopes.items():
            if a >= 0:
                least[k], most[k] = _face(box[k], 0), _face(box[k], 1)
            elif b <= 0:
                least[k], most[k] = _face(box[k], 1), _face(box[k], 0)
        if all(least[k] == box[k] for k in slopes):
            return value
        ends = [self._on_face(tuple(face)) for face in (least, most)]
        bottom = value[0] if ends[0] is None else ends[0][0]
        top = value[1] if ends[1] is None else ends[1][1]
        return self.meet(value, (bottom, top))

    def meet(self, x: Interval, y: Interval) -> Interval:
        """The numbers in two enclosures; the first one where some were sampled, which proves nothing. Raises Disjoint."""
        return x if self.ledger.uncertified and not overlap(x, y) else meet(x, y)

    def _on_face(self, box: Box) -> Interval | None:
        """The range on a face, whose own slopes may have a sign where those of the box have none."""
        if any(box[k][0] < box[k][1] for k in self.slopes):
            found = self.bounds(box)
            hindered = any(e.kind in (DOMAIN, POLE, JUMP) and not e.removable for e in found.events)
            return None if hindered else found.interval
        return self.at(box)

    def _by_mean_values(self, box: Box, center: Box, inside: Interval | None, value: Interval, slopes: dict[int, Interval]) -> Interval:
        finite = all(s[0].is_finite() and s[1].is_finite() for s in slopes.values())
        if inside is not None and finite:
            bottom, top = inside
            for k, slope in slopes.items():
                step = multiply(slope, (low(box[k][0] - center[k][0]), high(box[k][1] - center[k][0])))
                bottom, top = low(bottom + step[0]), high(top + step[1])
            value = self.meet(value, (bottom, top))
        elif not finite:
            top_, bottom_ = self._from_corner(box, slopes, 1), self._from_corner(box, slopes, -1)
            value = self.meet(value, (value[0] if bottom_ is None else bottom_, value[1] if top_ is None else top_))
        return value

    def _from_corner(self, box: Box, slopes: dict[int, Interval], sign: int) -> arb | None:
        """A bound on one side from a corner where slopes that are infinite on one side do no harm."""
        corner = [(m, m) for m in map(_inner, box)]
        room = arb(0)
        for k, (a, b) in slopes.items():
            rise, fall = (b, -a) if sign > 0 else (-a, b)  # away from the low end, away from the high end
            end, most = (0, rise) if rise <= fall else (1, fall)
            if not most.is_finite() and most > 0:
                return None
            corner[k] = _face(box[k], end)
            if most > 0:
                room += high(most * high(box[k][1] - box[k][0]))
        found = self.at(tuple(corner))
        if found is None:
            return None
        return high(found[1] + room) if sign > 0 else low(found[0] - room)

    def _hinders(self, event: Event, at: Evaluation) -> bool:
        """Whether the mean value theorem does not hold in the box for what is the matter there."""
        if event.kind not in (DOMAIN, POLE, JUMP) or event.removable:
            return False
        if not event.soft:
            return True
        return not all(_is_edge(cell, at) for cell in self._edges(event.cell, at))

    @staticmethod
    def _edges(cell: Cell, at: Evaluation) -> list[Cell]:
        """The arguments at whose end something is the matter."""
        if isinstance(cell, Call):
            return [a for a in cell.args if a.leaves]
        assert isinstance(cell, Product)
        found = []
        for f in cell.factors:
            x = at.table[f.base].interval
            if f.divides and x is not None and x[0] <= 0 <= x[1]:
                found.append(f.base)
        return found


def _is_edge(cell: Cell, at: Evaluation) -> bool:
    """Whether a cell has its least and its largest value on the boundary of the box only."""
    if isinstance(cell, Leaf):
        return True
    if isinstance(cell, Sum):
        return all(isinstance(c, Leaf) and q != 0 for q, c in cell.terms)
    if isinstance(cell, Product):
        sides = [at.box[f.base.place] for f in cell.factors if isinstance(f.base, Leaf) and f.exponent > 0]
        return len(sides) == len(cell.factors) and not any(a < 0 < b for a, b in sides)
    return False


def _inner(x: Interval) -> arb:
    return x[0] if x[0] == x[1] else middle(x)


def _aside(x: Interval, place: int) -> arb:
    """A number beside the middle, on another side for every other variable."""
    if x[0] == x[1]:
        return x[0]
    m = middle(x)
    return (m + (x[1] - m) / 4 if place % 2 else m - (m - x[0]) * 3 / 8).mid()


def _face(x: Interval, end: int) -> Interval:
    return x[end], x[end]


def _size(x: Interval) -> arb:
    return max(abs(x[0]), abs(x[1]))
