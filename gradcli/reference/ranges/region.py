"""A function of the program over a box: its range and those of its gradient, with ends that are floats rounded outwards.

And where something is the matter with it: boxes around its poles, kinks and jumps, and those where it is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from gradcli.graph.nodes import Expr
from gradcli.reference.ranges.cells import NOUGHT, UNIT, Cell, Cells, Choice, Floor, Product
from gradcli.reference.ranges.evaluation import Evaluation, Event
from gradcli.reference.ranges.functions import DOMAIN, JUMP, KINK, POLE
from gradcli.reference.ranges.intervals import (
    Box,
    Interval,
    Sides,
    hull,
    is_point,
    overlap,
    precise,
    round_numbers,
    with_side,
)
from gradcli.reference.ranges.recording import Recorder, Tracing
from gradcli.reference.ranges.search import Search, Side, Target
from gradcli.reference.ranges.slopes import Quotients, Slopes

_WORK = 400_000  # cells that are evaluated for one range
_FINEST = 2.0**-46  # of the sides of the box
_MOST_BOXES = 64  # that are halved once more; where there are more, it is along a line
_MOST_WORK = 20_000
_MOST_CELLS = 24  # with which something is the matter
_GRAVITY = (DOMAIN, POLE, JUMP, KINK)

Ends = tuple[float, float]


Range = tuple[Side, Side]  # the lower end and the upper one


class Place(NamedTuple):
    """What is the matter, with which cell, and where."""

    kind: str
    cell: Cell
    where: Box
    removable: bool = False


@dataclass(eq=False)
class Found:
    """The ranges of a function and of its derivatives by the variables of a box; no value where it is defined nowhere in it."""

    value: Range | None
    grad: list[Range | None]
    places: list[Place]
    uncertified: list[str]
    norms: dict[str, float | None] = field(default_factory=dict)


class Region:
    """A box, and what is read of the program over it."""

    def __init__(self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        with precise():
            self.box: Box = tuple((arb(low), arb(high)) for low, high in variables.values())
            cells = self.cells = Cells()
            cells.recorder, cells.slopes, cells.quotients = Recorder(cells), Slopes(cells, self.box), Quotients(cells)
            cells.whole = Evaluation(cells, self.box, limits=False)
        self.tracing = Tracing(cells, {leaf: i for i, leaf in enumerate(variables)}, values, precision)

    def read(self, *roots: Expr) -> list[Any]:
        """Arrays of cells. Raises Unsupported."""
        with precise():
            return self.tracing.run(*roots)

    def number(self, root: Expr) -> Cell:
        """A result, or the sum of the entries of one, as a cell. Raises Unsupported."""
        (found,) = self.read(root)
        with precise():
            total: Cell = self.cells.recorder.lifted(self.cells.recorder.fsum(np.ravel(found)))
            return total

    def slope(self, cell: Cell, place: int) -> Cell:
        """The derivative of a cell by a variable."""
        with precise():
            found: Cell = self.cells.slopes.of(cell, self.cells.leaf(place))
            return found


class Function(Region):
    """A function of the program over a box."""

    def __init__(self, root: Expr, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        super().__init__(variables, values, precision)
        self.cell = self.number(root)

    def places(self) -> list[Place]:
        """Where something is the matter."""
        with precise():
            return _all_places(Target(self.cells, self.cell), self.box)

    def ranges(self, width: float, norms: bool) -> Found:
        """All that is asked for. Raises Unsupported for a function whose derivatives are not known."""
        with precise():
            value = self._range(self.cell, width)
            slopes = [] if value is None else [self._where_defined(self.slope(self.cell, k)) for k in range(len(self.box))]
            grad = [self._range(slope, width) for slope in slopes]
            found = Found(value, grad, self.places(), [])
            if norms and value is not None:
                found.norms = {name: self._most(cell, width) for name, cell in self._norms(slopes).items()}
        found.uncertified = sorted(self.cells.uncertified)
        return found

    def _where_defined(self, slope: Cell) -> Cell:
        return self.cells.sum([(UNIT, slope), (NOUGHT, self.cell)])

    def _norms(self, slopes: list[Cell]) -> dict[str, Cell]:
        recorder, cells = self.cells.recorder, self.cells
        sizes = [recorder.magnitude(s) for s in slopes]
        squares = recorder.fsum(s * s for s in slopes)
        return {"1": recorder.fsum(sizes), "2": cells.power(squares, UNIT / 2), "inf": recorder.extreme("max", sizes)}

    def _range(self, cell: Cell, width: float) -> Range | None:
        search = Search(Target(self.cells, cell), self.box)
        low, high = search.side(-1, width, _WORK // 2), search.side(1, width, _WORK)
        return None if low.end is None or high.end is None else (low, high)

    def _most(self, cell: Cell, width: float) -> float | None:
        most = Search(Target(self.cells, cell), self.box).side(1, width, _WORK).end or 0.0
        return None if math.isinf(most) else most


# -- where something is the matter


def _all_places(target: Target, box: Box) -> list[Place]:
    """What is the matter with a cell in a box, and where, as finely as is cheap."""
    events = target.natural(box).table[target.cell].events
    cells = sorted({event.cell for event in events}, key=lambda cell: cell.serial)[:_MOST_CELLS]
    found = [place for cell in cells for place in _places_of(cell, target, box)]
    return sorted(found, key=lambda p: (_GRAVITY.index(p.kind), [float(x[0].mid()) for x in p.where]))


def _places_of(cell: Cell, target: Target, box: Box) -> list[Place]:
    """Where something is the matter with one of the cells that the target is made of: boxes are halved across its variables only."""
    found: dict[tuple[str, bool], list[Box]] = {}
    begun = target.cells.work
    active, sides = [box], Sides(box, cell.leaves)
    while active:
        fine = len(active) > _MOST_BOXES or target.cells.work - begun > _MOST_WORK
        halves: list[Box] = []
        for part in active:
            event, nowhere = _gravest(cell, target, part)
            if event is not None and (nowhere or fine or sides.is_below(part, _FINEST)):
                found.setdefault((event.kind, event.removable), []).append(part)
            elif event is not None:
                halves += sides.halves(part)
        active = halves
    joined = [(kind, removable, hull) for (kind, removable), boxes in found.items() for hull in _joined(boxes)]
    return [Place(kind, cell, _sharpened(target, hull, box, cell), removable) for kind, removable, hull in joined]


def _gravest(cell: Cell, target: Target, box: Box) -> tuple[Event | None, bool]:
    """The gravest event of a cell, and whether the target has no value in the box: then one that takes it out of its domain."""
    value, events = target.natural(box).table[target.cell]
    grave = [e for e in events if e.cell is cell and (value is not None or e.kind in (DOMAIN, POLE))]
    return min(grave, key=lambda e: _GRAVITY.index(e.kind), default=None), value is None


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that touch each other as one hull."""
    hulls: list[Box] = []
    for box in boxes:
        touching = [hull for hull in hulls if all(map(overlap, hull, box))]
        hulls = [hull for hull in hulls if hull not in touching]
        hulls.append(tuple(hull(end for side in sides for end in side) for sides in zip(box, *touching, strict=True)))
    return hulls


def _sharpened(target: Target, hull: Box, box: Box, cell: Cell) -> Box:
    """A box whose sides end at round numbers where the cell turns exactly, if there are such: a tiny side is one of them."""
    out = list(hull)
    for k in sorted(cell.leaves):
        a, b = hull[k]
        room = (box[k][1] - box[k][0]) * _FINEST * 4
        if not a < b or not a < a + room:
            continue
        first, last = (_turn(target, hull, k, part, cell) for part in ((a, min(b, a + room)), (max(a, b - room), b)))
        out[k] = (a if first is None else first), (b if last is None else last)
    return tuple(out)


def _turn(target: Target, hull: Box, k: int, part: Interval, cell: Cell) -> arb | None:
    """A round number in a tiny interval at which a cell turns exactly."""
    for point in map(arb, round_numbers(part)):
        if _turns(cell, Evaluation(target.cells, with_side(hull, k, (point, point)), limits=False)):
            return point
    return None


def _turns(cell: Cell, at: Evaluation) -> bool:
    """Tell whether a cell is exactly at its pole, kink, jump or edge."""
    value, events = at.value(cell)
    if isinstance(cell, Floor):
        x = at.table[cell.args[0]].interval
        return x is not None and is_point(x) and bool(x[0].is_integer())
    offs: Sequence[Cell] = cell.args if isinstance(cell, Product) else ()
    if isinstance(cell, Choice):
        offs = [off for path in cell.paths for off, _ in path.conditions]
    if offs:
        return any(x is not None and is_point(x, 0) for x in (at.table[off].interval for off in offs))
    return value is None or any(e.cell is cell for e in events)
