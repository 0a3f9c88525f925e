"""Choices over a box: the paths that may be taken there, each evaluated where its truths can hold."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.reference.ranges.cells import UNIT, Cell, Choice, Compared, Leaf, Number, Path, Sum, behind
from gradcli.reference.ranges.intervals import ONE, ZERO, Interval, add, multiply, rational
from gradcli.reference.ranges.shape import DOMAIN, JUMP, KINK, POLE
from gradcli.reference.ranges.values import NONE, At, Event, Events, Value, join

_MOST = 48  # truths of paths that are taken apart


def chosen(cell: Choice, at: At) -> Value:
    """The range of a choice: that of the only path, or of all that are possible."""
    possible = [path for path in cell.paths if _possible(path, at)]
    truths = [at.table[t].events for path in possible[:1] for t, _ in path.truths]
    events: Events = NONE.union(*truths)
    if not possible or any(at.table[t].interval is None for path in possible for t, _ in path.truths):
        return Value(None, events)
    if len(possible) == 1:
        found = at.table[possible[0].result]
        return Value(found.interval, found.events | events)
    values = [_narrowed(path, cell, at) for path in possible]
    found = join([v for v in values if v is not None])
    kind = JUMP if cell.open_ or not _continuous(possible, cell, at) else KINK
    return Value(found.interval, found.events | events | {Event(kind, cell)})


def _possible(path: Path, at: At) -> bool:
    for truth, holds in path.truths:
        x = at.table[truth].interval
        if x is not None and (x[1] < ONE if holds else x[0] > ZERO):
            return False
    return True


def _facts(path: Path) -> list[tuple[Compared, bool]]:
    """The comparisons that hold on a path, also those within truths that are choices of one path only."""
    found: list[tuple[Compared, bool]] = []
    pending = list(path.truths)
    while pending and len(found) < _MOST:
        truth, holds = pending.pop()
        if isinstance(truth, Compared):
            found.append((truth, holds))
        elif isinstance(truth, Choice):
            wanted = [p for p in truth.paths if isinstance(p.result, Number) and (p.result.value != 0) is holds]
            if len(wanted) == 1 and all(isinstance(p.result, Number) for p in truth.paths):
                pending += wanted[0].truths
    return found


def _narrowed(path: Path, cell: Choice, at: At) -> Value | None:
    """The result of a path over the part of the box where its comparisons can hold; None if that is empty."""
    known: dict[Cell, Interval] = {}
    for truth, holds in _facts(path):
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
    if not isinstance(turn, Compared):
        return False
    x, y = turn.args
    cells = cell.cells
    off, apart = (cells.sum([(UNIT, a), (-UNIT, b)]) for a, b in ((p.result, q.result), (x, y)))
    if isinstance(off, Number):
        return bool(off.value == 0)
    if _multiple(off, apart):
        return True
    known: dict[Cell, Interval] = {}
    if not _limit(known, at, x, y, True, True):
        return True
    ends = [_again(r, known, ("turn", x, y, r), cell, at).interval for r in (p.result, q.result)]
    return ends[0] is not None and ends[0] == ends[1] and bool(ends[0][0] == ends[0][1])


def _multiple(x: Cell, y: Cell) -> bool:
    """Whether one sum is a multiple of another."""
    (a, first), (b, second) = ((c.constant, c.terms) if isinstance(c, Sum) else (UNIT * 0, ((UNIT, c),)) for c in (x, y))
    if len(first) != len(second) or any(c is not d for (_, c), (_, d) in zip(first, second, strict=True)) or second[0][0] == 0:
        return False
    ratio = first[0][0] / second[0][0]
    return a == ratio * b and all(p == ratio * q for (p, _), (q, _) in zip(first, second, strict=True))
