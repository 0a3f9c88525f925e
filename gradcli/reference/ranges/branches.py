"""Choices over a box: the paths that may be taken there, each evaluated where its truths can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from gradcli.reference.ranges.cells import UNIT, Cell, Choice, Leaf, Number, Path, Sum, behind
from gradcli.reference.ranges.intervals import ONE, ZERO, Interval, add, multiply, rational
from gradcli.reference.ranges.nullsets import is_multiple, is_thin
from gradcli.reference.ranges.shape import DOMAIN, JUMP, KINK, POLE
from gradcli.reference.ranges.values import NONE, At, Event, Events, Value, join

if TYPE_CHECKING:
    from gradcli.reference.ranges.making import Cells


def chosen(cell: Choice, at: At) -> Value:
    """The range of a choice: that of the only path, or of all that are possible."""
    possible = [path for path in cell.paths if is_possible(path, at)]
    truths = [at.table[t].events - {Event(JUMP, t)} for path in possible for t, _ in path.truths]
    events: Events = NONE.union(*truths)
    if not possible:
        return Value(None, events)
    if len(possible) == 1:
        found = at.table[possible[0].result]
        return Value(found.interval, found.events | events)
    values = [(path, _narrowed(path, cell, at)) for path in possible]
    found = join([_without_holes(v, path, at) for path, v in values if v is not None])
    if cell.open_ or not _continuous(possible, cell, at):
        events |= {Event(JUMP, cell)}
    elif len([path for path in possible if not is_thin(cast("Cells", cell.cells), path)]) > 1:
        events |= {Event(KINK, cell)}
    return Value(found.interval, found.events | events)


def _without_holes(value: Value, path: Path, at: At) -> Value:
    """The result of a path, which need have no value at points that belong to others: sin(x)/x where x is not 0."""
    if not any(e.removable for e in value.events) or at.limits is None:
        return value
    apart = [t for t, holds in path.truths if t.equality is not holds]
    offs = [t.cells.sum([(UNIT, t.args[0]), (-UNIT, t.args[1])]) for t in apart]
    closed = at.limits.are_only_where
    return Value(value.interval, frozenset(e for e in value.events if not (e.removable and any(closed(e.cell, off, at) for off in offs))))


def is_possible(path: Path, at: At) -> bool:
    for truth, holds in path.truths:
        x = at.table[truth].interval
        if x is not None and (x[1] < ONE if holds else x[0] > ZERO):
            return False
    return True


def _narrowed(path: Path, cell: Choice, at: At) -> Value | None:
    """The result of a path over the part of the box where its comparisons can hold; None if that is empty."""
    known: dict[Cell, Interval] = {}
    for truth, holds in path.truths:
        x, y = truth.args
        if any(e.kind in (DOMAIN, POLE) for e in at.table[truth].events):
            continue  # where a side is no number, nothing follows for the others
        if truth.equality:
            if holds and not (_limit(known, at, x, y, True, True)):
                return None
            continue
        lower, upper = (x, y) if holds else (y, x)
        if not _limit(known, at, lower, upper, True, False):
            return None
    return _again(path.result, known, ("path", path), cell, at)


def _limit(known: dict[Cell, Interval], at: At, lower: Cell, upper: Cell, below: bool, equal: bool) -> bool:
    """Take it that one cell is not above another (or equal to it). False if that cannot be."""
    a, b = (known.get(c) or at.table[c].interval for c in (lower, upper))
    if a is None or b is None:
        return False
    if equal:
        both = max(a[0], b[0]), min(a[1], b[1])
        return both[0] <= both[1] and _put(known, at, lower, both) and _put(known, at, upper, both)
    return _put(known, at, lower, (a[0], min(a[1], b[1]))) and _put(known, at, upper, (max(b[0], a[0]), b[1]))


def _put(known: dict[Cell, Interval], at: At, cell: Cell, x: Interval) -> bool:
    """Narrow a cell, and a variable that it is a multiple of, but for a constant."""
    if x[0] > x[1]:
        return False
    if isinstance(cell, Number):
        return True
    known[cell] = x
    if isinstance(cell, Sum) and len(cell.terms) == 1 and cell.terms[0][0] != 0:
        ((q, inner),) = cell.terms
        shifted = multiply(rational(1 / q), add(x, rational(-cell.constant)))
        before = known.get(inner) or at.table[inner].interval
        if before is not None and isinstance(inner, (Leaf, Sum)):
            return _put(known, at, inner, (max(before[0], shifted[0]), min(before[1], shifted[1])))
    return True


def _again(result: Cell, known: dict[Cell, Interval], key: object, cell: Choice, at: At) -> Value:
    """A result evaluated anew with some cells narrowed."""
    known = {c: x for c, x in known.items() if x != at.table[c].interval}
    if not known:
        return at.table[result]
    changed: set[Cell] = set(known)
    order = cell.order.get(key)
    if order is None:
        order = cell.order[key] = behind([result])
    box = list(at.box)
    for c, x in known.items():
        if isinstance(c, Leaf):
            box[c.place] = x
    other: At = at.elsewhere(tuple(box))
    for c in order:
        if c in changed:
            other.table[c] = Value(known[c], at.table[c].events) if c in known else Value(None)
        elif any(a in changed for a in c.args):
            changed.add(c)
        elif c in at.table:
            other.table[c] = at.table[c]
    return other.run(order)[result]


def _continuous(paths: Sequence[Path], cell: Choice, at: At) -> bool:
    """Whether the results of any two paths agree where one turns into the other."""
    return all(_agree(p, q, cell, at) for i, p in enumerate(paths) for q in paths[:i])


def _agree(p: Path, q: Path, cell: Choice, at: At) -> bool:
    turn = next((t for (t, a), (s, b) in zip(p.truths, q.truths, strict=False) if t is s and a is not b), None)
    if turn is None:
        return False
    x, y = turn.args
    cells = cell.cells
    off, apart = (cells.sum([(UNIT, a), (-UNIT, b)]) for a, b in ((p.result, q.result), (x, y)))
    if isinstance(off, Number):
        return bool(off.value == 0)
    if is_multiple(off, apart):
        return True
    known: dict[Cell, Interval] = {}
    if not _limit(known, at, x, y, True, True):
        return True
    ends = [_again(r, known, ("turn", x, y, r), cell, at).interval for r in (p.result, q.result)]
    return ends[0] is not None and ends[0] == ends[1] and bool(ends[0][0] == ends[0][1])
