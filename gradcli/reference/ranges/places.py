"""Where something is the matter with a function: boxes around its poles, kinks and jumps, and those where it is not defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import arb

from gradcli.reference.ranges.boxes import Box, Sides, round_numbers, with_side
from gradcli.reference.ranges.cells import Call, Cell, Choice, Compared, Product, Step, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.intervals import Interval
from gradcli.reference.ranges.shape import DOMAIN, JUMP, KINK, POLE
from gradcli.reference.ranges.target import Target
from gradcli.reference.ranges.values import Event

_FINEST = 2.0**-46  # of the sides of the box
_MOST_BOXES = 64  # that are halved once more; where there are more, it is along a line
_MOST_WORK = 20_000
_MOST_CELLS = 24  # with which something is the matter
_GRAVITY = (DOMAIN, POLE, JUMP, KINK)


class Place(NamedTuple):
    """What is the matter, with which cell, and where."""

    kind: str
    cell: Cell
    where: Box
    removable: bool = False


def places(target: Target, box: Box) -> list[Place]:
    """What is the matter with a cell in a box, and where, as finely as is cheap."""
    events = target.natural(box).table[target.cell].events
    cells = sorted({event.cell for event in events}, key=lambda cell: cell.serial)[:_MOST_CELLS]
    found = [place for cell in cells for place in _places_of(cell, target, box)]
    return sorted(found, key=lambda p: (_GRAVITY.index(p.kind), [float(x[0].mid()) for x in p.where]))


def _places_of(cell: Cell, target: Target, box: Box) -> list[Place]:
    """Where something is the matter with one of the cells that the target is made of: boxes are halved across its variables only."""
    found: dict[tuple[str, bool], list[Box]] = {}
    begun = target.ledger.work
    active, sides = [box], Sides(box, cell.leaves)
    while active:
        fine = len(active) > _MOST_BOXES or target.ledger.work - begun > _MOST_WORK
        halves: list[Box] = []
        for part in active:
            value, events = target.natural(part).table[target.cell]
            event = _gravest([e for e in events if e.cell is cell], value is None)
            if event is None:
                continue
            if value is None or fine or sides.is_below(part, _FINEST):
                found.setdefault((event.kind, event.removable), []).append(part)
            else:
                halves += sides.halves(part)
        active = halves
    joined = [(kind, removable, hull) for (kind, removable), boxes in found.items() for hull in _joined(boxes)]
    return [Place(kind, cell, _sharpened(target, hull, box, kind, cell), removable) for kind, removable, hull in joined]


def _gravest(events: Sequence[Event], nowhere: bool) -> Event | None:
    """The gravest event; of a box outside of the domain, what takes it out."""
    grave = [e for e in events if not nowhere or e.kind in (DOMAIN, POLE)]
    return min(grave, key=lambda e: _GRAVITY.index(e.kind), default=None)


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that touch each other as one hull."""
    hulls: list[Box] = []
    for box in boxes:
        new = box
        apart = []
        for hull in hulls:
            if all(x[0] <= y[1] and y[0] <= x[1] for x, y in zip(hull, new, strict=True)):
                new = tuple((min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(hull, new, strict=True))
            else:
                apart.append(hull)
        hulls = [*apart, new]
    return hulls


def _sharpened(target: Target, hull: Box, box: Box, kind: str, cell: Cell) -> Box:
    """A box whose sides end at round numbers where the cell turns exactly, if there are such: a tiny side is one of them."""
    out = list(hull)
    for k in sorted(cell.leaves):
        x = hull[k]
        room = (box[k][1] - box[k][0]) * _FINEST * 4
        ends = [(x[0], min(x[1], x[0] + room)), (max(x[0], x[1] - room), x[1])]
        if not x[0] < x[1] or not x[0] < ends[0][1]:
            continue
        turns = [_turn(target, hull, k, part, cell) for part in ends]
        if x[1] - x[0] <= room:
            out[k] = x if turns[0] is None else (turns[0], turns[0])
            continue
        first, last = turns
        low = x[0] if first is None or _matters(target, hull, k, (x[0], first), cell) else first
        high = x[1] if last is None or _matters(target, hull, k, (last, x[1]), cell) else last
        out[k] = low, high
    return tuple(out)


def _turn(target: Target, hull: Box, k: int, part: Interval, cell: Cell) -> arb | None:
    """A round number in a tiny interval at which a cell turns exactly."""
    for number in round_numbers(part):
        point = arb(number)
        if _turns(cell, Evaluation(with_side(hull, k, (point, point)), target.ledger)):
            return point
    return None


def _matters(target: Target, hull: Box, k: int, part: Interval, cell: Cell) -> bool:
    """Whether something is the matter with a cell in a part of a side."""
    value, events = target.natural(with_side(hull, k, part)).table[target.cell]
    return value is None or any(e.cell is cell for e in events)


def _turns(cell: Cell, at: Evaluation) -> bool:
    """Whether a cell is exactly at its pole, kink, jump or edge."""
    at.run(behind([cell]))
    if isinstance(cell, Product):
        return any(x is not None and x[0] == 0 and x[1] == 0 for x in (at.table[f.base].interval for f in cell.factors))
    if isinstance(cell, Step):
        x = at.table[cell.args[0]].interval
        return x is not None and bool(x[0] == x[1]) and bool(x[0].is_integer())
    if isinstance(cell, Compared):
        return _level(cell, at)
    if isinstance(cell, Choice):
        return any(_level(truth, at) for path in cell.paths for truth, _ in path.truths)
    if isinstance(cell, Call):
        found = at.table[cell]
        return found.interval is None or any(e.cell is cell for e in found.events)
    return False


def _level(truth: Compared, at: Evaluation) -> bool:
    x, y = (at.table[a].interval for a in truth.args)
    return x is not None and y is not None and bool(x[0] == x[1] == y[0] == y[1])
