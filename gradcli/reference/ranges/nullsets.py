"""Sets of points that fill no space: the zeros of an analytic function that is not zero everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.reference.ranges.cells import TOTAL, UNIT, Call, Cell, Choice, Leaf, Named, Number, Path, Product, Sum, behind
from gradcli.reference.ranges.identities import rebuilt
from gradcli.reference.ranges.making import Cells

_MOST_BRANCHES = 32  # of a function with choices, each a function of its own
_ON_INTERVALS = ("log", "asin", "acos", "acosh", "atanh")  # analytic within an interval


def fills_no_space(cells: Cells, off: Cell) -> bool:
    """Return whether the zeros of a cell fill no space; False where that is not known."""
    if off not in cells.null:
        branches = _branches(cells, off)
        cells.null[off] = all(_is_analytic(b) and _is_somewhere_else(cells, b) for b in branches) and bool(branches)
    return cells.null[off]


def is_multiple(x: Cell, y: Cell) -> bool:
    """Return whether one sum is a multiple of another."""
    (a, first), (b, second) = ((c.constant, c.terms) if isinstance(c, Sum) else (UNIT * 0, ((UNIT, c),)) for c in (x, y))
    if len(first) != len(second) or any(c is not d for (_, c), (_, d) in zip(first, second, strict=True)) or second[0][0] == 0:
        return False
    ratio = first[0][0] / second[0][0]
    return a == ratio * b and all(p == ratio * q for (p, _), (q, _) in zip(first, second, strict=True))


def is_thin(cells: Cells, path: Path) -> bool:
    """Return whether a path of a choice is taken on a set that fills no space."""
    differences = [(t, holds, cells.sum([(UNIT, t.args[0]), (-UNIT, t.args[1])])) for t, holds in path.truths]
    if any(t.equality and holds and fills_no_space(cells, off) for t, holds, off in differences):
        return True
    bounded = [off for t, holds, off in differences if not t.equality and not holds]  # x >= y
    return any(-x is y and fills_no_space(cells, x) for x in bounded for y in bounded)


def _branches(cells: Cells, off: Cell) -> Sequence[Cell]:
    """The cells without choices that a cell is one of everywhere; none where there are too many."""
    pending, found = [off], []
    while pending:
        cell = pending.pop()
        order = behind([cell])
        choice = next((c for c in order if isinstance(c, Choice)), None)
        if choice is None:
            found.append(cell)
            continue
        for path in choice.paths:
            known: dict[Cell, Cell] = {choice: path.result}
            for other in order:
                if other not in known:
                    known[other] = rebuilt(cells, other, known)
            pending.append(known[cell])
        if len(pending) + len(found) > _MOST_BRANCHES:
            return []
    return found


def _is_analytic(off: Cell) -> bool:
    """Return whether a cell is a quotient of functions that are analytic on one convex set, so that it is 0 on all of it or thinly."""
    divided = {b for c in behind([off]) if isinstance(c, Call) for b in behind(c.args) if isinstance(b, Product) and _divides(b)}
    return not divided and all(map(_is_regular, behind([off])))


def _divides(cell: Product) -> bool:
    return any(f.divides for f in cell.factors)


def _is_regular(cell: Cell) -> bool:
    if isinstance(cell, Product):
        return all(not f.root or _is_linear(f.base) for f in cell.factors)
    if isinstance(cell, Call):
        return cell.name in TOTAL or (cell.name in _ON_INTERVALS and _is_linear(cell.args[0]))
    return isinstance(cell, (Leaf, Named, Number, Sum))


def _is_linear(cell: Cell) -> bool:
    return isinstance(cell, Leaf) or (isinstance(cell, Sum) and all(isinstance(c, Leaf) for _, c in cell.terms))


def _is_somewhere_else(cells: Cells, off: Cell) -> bool:
    """Return whether a cell is not 0 at one of a few points."""
    for point in cells.points:
        interval, events = point.value(off)
        if interval is not None and not events and (interval[0] > 0 or interval[1] < 0):
            return True
    return False
