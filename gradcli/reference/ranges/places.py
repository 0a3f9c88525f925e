"""Where something is the matter with a function: boxes around its poles, kinks and jumps, and those where it is not defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import arb

from gradcli.reference.ranges.boxes import Box, Sides, with_side
from gradcli.reference.ranges.cells import Call, Cell, Choice, Compared, Product, Step, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.intervals import middle
from gradcli.reference.ranges.shapes import DOMAIN, JUMP, KINK, POLE
from gradcli.reference.ranges.target import Target
from gradcli.reference.ranges.values import Event

_FINEST = 2.0**-46  # of the sides of the box
_MOST_BOXES = 64  # that are halved once more; where there are more, it is along a line
_MOST_WORK = 60_000
_GRAVITY = (DOMAIN, POLE, JUMP, KINK)


class Place(NamedTuple):
    """What is the matter, with which cell, and where."""

    kind: str
    cell: Cell
    where: Box
    removable: bool = False


def places(target: Target, box: Box) -> list[Place]:
    """What is the matter with a cell in a box, and where, as finely as is cheap."""
    found: dict[tuple[str, Cell, bool], list[Box]] = {}
    begun = target.ledger.work
    active, sides = [box], Sides(box, target.cell.leaves)
    while active:
        fine = len(active) > _MOST_BOXES or target.ledger.work - begun > _MOST_WORK
        halves: list[Box] = []
        for part in active:
            value, events = target.natural(part).table[target.cell]
            if not events:
                continue
            if value is None or fine or sides.is_below(part, _FINEST):
                for event in _first(events, value is None):
                    found.setdefault((event.kind, event.cell, event.removable), []).append(part)
            else:
                halves += sides.halves(part)
        active = halves
    out = []
    for (kind, cell, removable), boxes in found.items():
        for hull in _joined(boxes):
            out.append(Place(kind, cell, _sharpened(target, hull, box, kind, cell), removable))
    return sorted(out, key=lambda p: (_GRAVITY.index(p.kind), [float(x[0].mid()) for x in p.where]))


def _first(events: frozenset[Event], nowhere: bool) -> list[Event]:
    """The events of a box, each cell's gravest; of one outside of the domain, what takes it out."""
    best: dict[Cell, Event] = {}
    for event in events:
        if nowhere and event.kind not in (DOMAIN, POLE):
            continue
        known = best.get(event.cell)
        if known is None or _GRAVITY.index(event.kind) < _GRAVITY.index(known.kind):
            best[event.cell] = event
    return list(best.values())


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
    """A tiny box as the round number in it where the cell turns exactly, if there is one."""
    out = list(hull)
    for k, (x, whole) in enumerate(zip(hull, box, strict=True)):
        if not x[0] < x[1] or x[1] - x[0] > (whole[1] - whole[0]) * _FINEST * 4:
            continue
        for point in _round_numbers(x):
            thin = with_side(hull, k, (point, point))
            if _turns(cell, Evaluation(thin, target.ledger)):
                out[k] = (point, point)
                break
    return tuple(out)


def _round_numbers(x: tuple[arb, arb]) -> list[arb]:
    """The roundest floats in a tiny interval."""
    m = float(middle(x).mid())
    found = []
    for digits in range(13):
        point = arb(round(m, digits))
        if x[0] <= point <= x[1]:
            found.append(point)
    return found[:1] + found[-1:]


def _turns(cell: Cell, at: Evaluation) -> bool:
    """Whether a cell is exactly at its pole, kink, jump or edge."""
    at.run(behind([cell]))
    if isinstance(cell, Product):
        return any(x is not None and x[0] == 0 and x[1] == 0 for x in (at.table[f.base].interval for f in cell.factors))
    if isinstance(cell, Step):
        x = at.table[cell.args[0]].interval
        return x is not None and bool(x[0] == x[1]) and bool(x[0].is_integer())
    if isinstance(cell, Choice):
        return any(_level(truth, at) for path in cell.paths for truth, _ in path.truths)
    if isinstance(cell, Call):
        found = at.table[cell]
        return found.interval is None or any(e.cell is cell for e in found.events)
    return False


def _level(truth: Cell, at: Evaluation) -> bool:
    if not isinstance(truth, Compared):
        return False
    x, y = (at.table[a].interval for a in truth.args)
    return x is not None and y is not None and bool(x[0] == x[1] == y[0] == y[1])
