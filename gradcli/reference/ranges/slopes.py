"""Derivatives of cells as cells: sums and products by their rules, functions by sympy's derivative of each single one.

They are known but for points that fill no space, such as the zeros of an analytic function that is not zero everywhere. With them,
quotients whose parts vanish together have ranges, as sin(x)/x at 0: by Cauchy's mean value theorem within that of the quotient of the
derivatives, of whatever order it takes.
"""

from __future__ import annotations

from flint import arb, fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.cells import (
    EQUAL,
    NOUGHT,
    TOTAL,
    UNIT,
    Call,
    Cell,
    Cells,
    Choice,
    Filled,
    Leaf,
    Named,
    Path,
    Product,
    Sum,
    is_linear,
)
from gradcli.reference.ranges.evaluation import Evaluation, Value
from gradcli.reference.ranges.functions import Box, Interval, is_finite, is_point, rational, thin

_SHARES = (0.3819, 0.7113, 0.1237)  # of the sides of the box, for points in it
_MOST_ORDERS = 6  # of derivatives
_MOST_INNER = 4  # functions that are taken for variables
_MOST_CELLS = 2_000  # of a derivative: beyond, it is not worth the while
_ON_INTERVALS = ("log", "asin", "acos", "acosh", "atanh")  # analytic within an interval


class Slopes(Cells):
    """Cells and their derivatives, each of which is made once, in forward mode."""

    def __init__(self, box: Box) -> None:
        super().__init__()
        self._slopes: dict[Cell, dict[Cell, Cell]] = {}
        self._thin: dict[Cell, bool] = {}
        self._fractions: dict[Cell, tuple[Cell, Cell] | None] = {}
        self._points = [thin((a + (b - a) * arb(share) / (k + 1)).mid() for k, (a, b) in enumerate(box)) for share in _SHARES]

    def slope(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        y = self._without_thin_paths(y)
        found = self._slopes.setdefault(x, {x: self.one})
        for cell in self.order(y):
            if cell not in found:
                found[cell] = self._slope(cell, found)
        return found[y]

    def _slope(self, cell: Cell, found: dict[Cell, Cell]) -> Cell:
        moving = [i for i, a in enumerate(cell.args) if found[a] is not self.zero]
        if not moving or (isinstance(cell, Call) and cell.name == "floor"):
            return self.zero
        if isinstance(cell, Sum):
            return self.sum([(q, found[c]) for q, c in cell.terms])
        if isinstance(cell, Product):
            return self.sum([self._of_factor(cell, i, found[cell.args[i]]) for i in moving if cell.factors[i].exponent != 0])
        if isinstance(cell, Named):
            slope = found[cell.args[0]]
            return self.filled(slope) if isinstance(cell, Filled) else slope
        if isinstance(cell, Choice):
            return self.choice([Path(p.conditions, found[p.result]) for p in cell.paths], open_=True)
        assert isinstance(cell, Call)
        from gradcli.reference.symbolic.cells import partial

        return self.sum([(UNIT, partial(self, cell, i) * found[cell.args[i]]) for i in moving])

    def _of_factor(self, cell: Product, i: int, slope: Cell) -> tuple[fmpq, Cell]:
        """The derivative of a factor times the others. One that was divided by, or a root, stays one."""
        factor = cell.factors[i]
        less = factor._replace(exponent=factor.exponent - 1, divides=factor.divides or factor.exponent < 1)
        rest = self.of_factors([f for f in (*cell.factors[:i], less, *cell.factors[i + 1 :]) if f.matters])
        return factor.exponent, self.product([(rest, UNIT), (slope, UNIT)])

    def _without_thin_paths(self, root: Cell) -> Cell:
        """The same function but for points that fill no space, which have no part in a derivative."""
        found: dict[Cell, Cell] = {}
        for cell in self.order(root):
            if isinstance(cell, Choice):
                paths = [Path(p.conditions, found[p.result]) for p in cell.paths if not self.is_thin_path(p)]
                found[cell] = self.choice(paths, cell.open_)
            else:
                found[cell] = cell if isinstance(cell, Named) else self.rebuilt(cell, found)
        return found[root]

    # -- sets that fill no space

    def is_thin_path(self, path: Path) -> bool:
        """Tell whether a path of a choice is taken on a set that fills no space."""
        return any(signs == EQUAL and self.is_thin(off) for off, signs in path.conditions)

    def is_thin(self, off: Cell) -> bool:
        """Tell whether the zeros of a cell fill no space; False where that is not known."""
        if off not in self._thin:
            try:
                branches = [piece for _, piece in self.pieces(off)]
            except Unsupported:
                branches = []
            self._thin[off] = bool(branches) and all(map(self._is_thin_piece, branches))
        return self._thin[off]

    def _is_thin_piece(self, off: Cell) -> bool:
        """Tell whether a cell is a quotient of functions that are analytic on one convex set, and not 0 on all of it."""
        order = self.order(off)
        inner = {b for c in order if isinstance(c, Call) for a in c.args for b in self.order(a)}
        if not all(map(_is_regular, order)) or any(isinstance(b, Product) and any(f.divides for f in b.factors) for b in inner):
            return False
        values = (Evaluation(self, point, limits=False).value(off) for point in self._points)
        return any(x is not None and not events and not x[0] <= 0 <= x[1] for x, events in values)

    # -- quotients whose parts vanish together

    def limit_of(self, cell: Cell, at: Evaluation) -> Interval | None:
        """The range of a quotient over a box; None if its parts do not vanish together at a place that is known."""
        if cell not in self._fractions:
            self._fractions[cell] = self._fraction(cell)
        parts = self._fractions[cell]
        return None if parts is None else self._quotient(*parts, at)

    def _fraction(self, cell: Cell) -> tuple[Cell, Cell] | None:
        """A product, or a sum of such, as one quotient."""
        terms = [(q, c) for q, c in cell.terms if q != 0] if isinstance(cell, Sum) else [(UNIT, cell)]
        below: dict[Cell, fmpq] = {}
        for factor in [f for _, c in terms if isinstance(c, Product) for f in c.factors if f.exponent < 0]:
            below[factor.base] = max(below.get(factor.base, NOUGHT), -factor.exponent)
        if not below:
            return None
        denominator = self.product(below.items())
        constant = cell.constant if isinstance(cell, Sum) else NOUGHT
        raised = [(q, self.product([(c, UNIT), (denominator, UNIT)])) for q, c in [*terms, (constant, self.one)]]
        return self.sum([(q, self._without_holes(c)) for q, c in raised]), denominator

    def _without_holes(self, cell: Cell) -> Cell:
        """A product without what has cancelled, which may be undefined."""
        return self.product([(f.base, f.exponent) for f in cell.factors if f.exponent != 0]) if isinstance(cell, Product) else cell

    def _quotient(self, above: Cell, below: Cell, at: Evaluation) -> Interval | None:
        """The range of a quotient whose parts vanish together: along a variable at 0 or at the root of a linear part, or where a function
        u is 0, as in sin(u)/u. The theorem is about what lies between that number and any other, so that it has to be in the box.
        """
        if not (above.smooth and below.smooth):
            return None
        order, nought = self.order(below), rational(NOUGHT)
        linear = [c for c in order if isinstance(c, Sum) and is_linear(c) and len(c.args) == 1]
        places: list[tuple[Cell, Interval]] = [(c, nought) for c in order if isinstance(c, Leaf)]
        places += [(c.args[0], rational(-c.constant / c.terms[0][0])) for c in linear]
        places += [(c, nought) for c in order if c.args and c.leaves][:_MOST_INNER]
        for variable, point in places:
            x = at.value(variable).interval
            if x is not None and is_point(point) and x[0] <= point[0] <= x[1]:
                found = self._limit(above, below, variable, point, at)
                if found is not None:
                    return found
        return None

    def _limit(self, above: Cell, below: Cell, variable: Cell, point: Interval, at: Evaluation) -> Interval | None:
        """The range of a quotient whose parts vanish together at one value of a variable."""
        zeros, there = Evaluation(self, at.box, limits=False), Evaluation(self, at.box, limits=False)
        zeros.table[variable] = Value(point)
        try:
            for _ in range(_MOST_ORDERS):
                if not all(x is not None and is_point(x, 0) for x in (zeros.value(part).interval for part in (above, below))):
                    return None
                above, below = self.slope(above, variable), self.slope(below, variable)
                if len(self.order(above)) > _MOST_CELLS:
                    return None
                (x, of_above), (y, of_below) = there.value(above), there.value(below)
                if x is None or y is None or not is_finite(x) or any(not event.soft for event in of_above | of_below):
                    return None  # the theorem is about an interval on which both are smooth
                if not y[0] <= 0 <= y[1]:
                    return there.value(self.product([(above, UNIT), (below, -UNIT)])).interval
        except Unsupported:
            pass
        return None

    def are_only_where(self, cell: Cell, off: Cell, at: Evaluation) -> bool:
        """Tell whether what a product divides by, or what a logarithm is of, is 0 in a box only where another cell is."""
        there = Evaluation(self, at.box, limits=False)
        bases = [f.base for f in cell.factors if f.divides] if isinstance(cell, Product) else list(cell.args)
        powers = [self.raised(off, fmpq(order)) for order in range(1, _MOST_ORDERS)]
        for base in filter(there.may_vanish, bases):
            ranges = (self._quotient(base, power, at) for power in powers)
            if all(x is None or x[0] <= 0 <= x[1] for x in ranges):
                return False
        return True


def _is_regular(cell: Cell) -> bool:
    if isinstance(cell, Product):
        return all(not f.root or is_linear(f.base) for f in cell.factors)
    if isinstance(cell, Call) and cell.smooth:
        return cell.name in TOTAL or (cell.name in _ON_INTERVALS and is_linear(cell.args[0]))
    return cell.smooth
