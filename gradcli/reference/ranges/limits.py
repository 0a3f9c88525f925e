"""Quotients whose parts vanish together, as sin(x)/x at 0: by Cauchy's mean value theorem their range is within that of the quotient of
the derivatives, of whatever order it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.boxes import Box, with_side
from gradcli.reference.ranges.cells import NOUGHT, UNIT, Cell, Leaf, Product, Sum, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.intervals import ZERO, Interval, rational
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.nullsets import is_multiple
from gradcli.reference.ranges.slopes import Slopes
from gradcli.reference.ranges.values import At, Value

MOST_ORDERS = 6
_MOST_INNER = 4  # functions that are taken for variables
_MOST_CELLS = 2_000  # of a derivative: beyond, it is not worth the while


class Quotients:
    """The quotients of a function, each with its parts and their derivatives."""

    def __init__(self, cells: Cells, slopes: Slopes) -> None:
        self.cells, self.slopes = cells, slopes
        self._parts: dict[Cell, tuple[Cell, Cell] | None] = {}

    def __call__(self, cell: Cell, at: At) -> Interval | None:
        """The range of a quotient over a box; None if its parts do not vanish together at a place that is known."""
        if cell not in self._parts:
            self._parts[cell] = self._fraction(cell)
        parts = self._parts[cell]
        if parts is None:
            return None
        above, below = parts
        if not (above.smooth and below.smooth):
            return None
        for place in sorted(below.leaves):
            a, b = at.box[place]
            for point in _places(below, place):
                if a <= point <= b:
                    thin = Evaluation(with_side(at.box, place, (point, point)), at.ledger)
                    found = self._limit(above, below, self.cells.leaf(place), thin, at)
                    if found is not None:
                        return found
        ends = {c: at.value(c).interval for c in behind([below]) if c.args and c.leaves}
        inner = [c for c, x in ends.items() if x is not None and x[0] <= 0 <= x[1]]  # the theorem is about what lies between 0 and u
        for inside in inner[:_MOST_INNER]:  # sin(u)/u of any function u, which is taken for a variable
            zeros = Evaluation(at.box, at.ledger, known={inside: Value((ZERO, ZERO))})
            found = self._limit(above, below, inside, zeros, at)
            if found is not None:
                return found
        return None

    def _limit(self, above: Cell, below: Cell, variable: Cell, zeros: Evaluation, at: At) -> Interval | None:
        """The range of a quotient whose parts vanish together at one value of a variable, which it has in ``zeros``."""
        try:
            for _ in range(MOST_ORDERS):
                if not (_is_zero(above, zeros) and _is_zero(below, zeros)):
                    return None
                above, below = self.slopes.of(above, variable), self.slopes.of(below, variable)
                if len(behind([above])) > _MOST_CELLS:
                    return None
                there = Evaluation(at.box, at.ledger)
                (x, of_above), (y, of_below) = there.value(above), there.value(below)
                if x is None or y is None or not (x[0].is_finite() and x[1].is_finite()):
                    return None
                if any(not event.soft for event in of_above | of_below):
                    return None  # the theorem is about an interval on which both are smooth
                if y[0] > 0 or y[1] < 0:
                    return there.value(self.cells.product([(above, UNIT), (below, -UNIT)])).interval
        except Unsupported:
            pass
        return None

    def are_only_where(self, cell: Cell, off: Cell, at: At) -> bool:
        """Tell whether what a product divides by, or what a logarithm is of, is 0 in a box only where another cell is."""
        bases = [f.base for f in cell.factors if f.divides] if isinstance(cell, Product) else list(cell.args)
        return all(self._is_only_where(base, off, at) for base in bases if Evaluation(at.box, at.ledger).may_vanish(base))

    def _is_only_where(self, base: Cell, off: Cell, at: At) -> bool:
        if is_multiple(base, off):
            return True
        if len(off.leaves) != 1:
            return False
        (place,) = off.leaves
        leaf = self.cells.leaf(place)
        try:
            return any(
                self._is_sole(base, leaf, p, at) for p in _places(off, place) if _vanishes(off, with_side(at.box, place, (p, p)), at)
            )
        except Unsupported:
            return False

    def _is_sole(self, base: Cell, leaf: Leaf, point: arb, at: At) -> bool:
        """Whether a cell is 0 in a box at one number of a variable only: there with its first derivatives, of which the next has a sign."""
        thin = with_side(at.box, leaf.place, (point, point))
        for _ in range(MOST_ORDERS):
            if not _vanishes(base, thin, at):
                return False
            base = self.slopes.of(base, leaf)
            found, events = Evaluation(at.box, at.ledger).value(base)
            if found is None or events:
                return False
            if found[0] > 0 or found[1] < 0:
                return True
        return False

    def _fraction(self, cell: Cell) -> tuple[Cell, Cell] | None:
        """A product, or a sum of such, as one quotient."""
        terms = [(q, c) for q, c in cell.terms if q != 0] if isinstance(cell, Sum) else [(UNIT, cell)]
        below: dict[Cell, fmpq] = {}
        for _, term in terms:
            for f in term.factors if isinstance(term, Product) else ():
                if f.exponent < 0:
                    below[f.base] = max(below.get(f.base, NOUGHT), -f.exponent)
        if not below:
            return None
        denominator = list(below.items())
        constant = cell.constant if isinstance(cell, Sum) else NOUGHT
        parts = [(constant, self.cells.product(denominator))] if constant != 0 else []
        for q, term in terms:
            factors = dict(below)
            for f in term.factors if isinstance(term, Product) else ():
                factors[f.base] = factors.get(f.base, NOUGHT) + f.exponent
            rest = [] if isinstance(term, Product) else [(term, UNIT)]
            parts.append((q, self.cells.product([*((base, e) for base, e in factors.items() if e != 0), *rest])))
        return self.cells.sum(parts), self.cells.product(denominator)


def _vanishes(cell: Cell, box: Box, at: At) -> bool:
    """Whether a cell is exactly 0 all over a box."""
    return _is_zero(cell, Evaluation(box, at.ledger))


def _is_zero(cell: Cell, at: Evaluation) -> bool:
    found = at.value(cell).interval
    return found is not None and bool(found[0] == 0) and bool(found[1] == 0)


def _places(below: Cell, place: int) -> Iterator[arb]:
    """Where a denominator may vanish, along one variable: at 0, and at the roots of linear parts."""
    yield arb(0)
    for cell in behind([below]):
        if isinstance(cell, Sum) and len(cell.terms) == 1 and isinstance(cell.terms[0][1], Leaf) and cell.terms[0][1].place == place:
            root = rational(-cell.constant / cell.terms[0][0]) if cell.terms[0][0] != 0 else (arb(0), arb(1))
            if root[0] == root[1]:
                yield root[0]
