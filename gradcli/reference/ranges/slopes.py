"""Derivatives of cells as cells: sums and products by their rules, functions by sympy's derivative of each single one.

They are known but for points that fill no space, such as the zeros of an analytic function that is not zero everywhere. With them,
quotients whose parts vanish together have ranges, as sin(x)/x at 0: by Cauchy's mean value theorem within that of the quotient of the
derivatives, of whatever order it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    Floor,
    Leaf,
    Named,
    Path,
    Product,
    Sum,
    is_linear,
)
from gradcli.reference.ranges.evaluation import Evaluation, Value
from gradcli.reference.ranges.functions import ZERO, Box, Interval, is_finite, is_point, rational, thin

_SHARES = (0.3819, 0.7113, 0.1237)  # of the sides of the box, for points in it
_MOST_ORDERS = 6  # of derivatives
_MOST_INNER = 4  # functions that are taken for variables
_MOST_CELLS = 2_000  # of a derivative: beyond, it is not worth the while
_ON_INTERVALS = ("log", "asin", "acos", "acosh", "atanh")  # analytic within an interval


class Slopes:
    """Forward mode: each derivative is made once."""

    def __init__(self, cells: Cells, box: Box) -> None:
        self.cells = cells
        self._known: dict[Cell, dict[Cell, Cell]] = {}
        self._thin: dict[Cell, bool] = {}
        self._points = [thin((a + (b - a) * arb(share) / (k + 1)).mid() for k, (a, b) in enumerate(box)) for share in _SHARES]

    def of(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        y = self._without_thin_paths(y)
        found = self._known.setdefault(x, {x: self.cells.one})
        for cell in self.cells.order(y):
            if cell not in found:
                found[cell] = self._slope(cell, found)
        return found[y]

    def _slope(self, cell: Cell, found: dict[Cell, Cell]) -> Cell:
        cells = self.cells
        if isinstance(cell, Floor) or all(found[a] is cells.zero for a in cell.args):
            return cells.zero
        if isinstance(cell, Sum):
            return cells.sum([(q, found[c]) for q, c in cell.terms])
        if isinstance(cell, Product):
            return self._of_product(cell, found)
        if isinstance(cell, Named):
            slope = found[cell.args[0]]
            return cells.filled(slope) if isinstance(cell, Filled) else slope
        if isinstance(cell, Choice):
            return cells.choice([Path(p.conditions, found[p.result]) for p in cell.paths], open_=True)
        assert isinstance(cell, Call)
        from gradcli.reference.symbolic.cells import partial

        moving = [i for i, a in enumerate(cell.args) if found[a] is not cells.zero]
        return cells.sum([(UNIT, partial(cells, cell, i) * found[cell.args[i]]) for i in moving])

    def _of_product(self, cell: Product, found: dict[Cell, Cell]) -> Cell:
        """Each factor's derivative times the others. A factor that was divided by, or a root, stays one."""
        terms = []
        for i, factor in enumerate(cell.factors):
            slope = found[factor.base]
            if slope is not self.cells.zero and factor.exponent != 0:
                less = factor._replace(exponent=factor.exponent - 1, divides=factor.divides or factor.exponent < 1)
                rest = self.cells.of_factors([f for f in (*cell.factors[:i], less, *cell.factors[i + 1 :]) if f.matters])
                terms.append((factor.exponent, self.cells.product([(rest, UNIT), (slope, UNIT)])))
        return self.cells.sum(terms)

    def _without_thin_paths(self, root: Cell) -> Cell:
        """The same function but for points that fill no space, which have no part in a derivative."""
        found: dict[Cell, Cell] = {}
        for cell in self.cells.order(root):
            if isinstance(cell, Choice):
                paths = [Path(p.conditions, found[p.result]) for p in cell.paths if not self.is_thin_path(p)]
                found[cell] = self.cells.choice(paths, cell.open_)
            else:
                found[cell] = cell if isinstance(cell, Named) else self.cells.rebuilt(cell, found)
        return found[root]

    # -- sets that fill no space

    def is_thin_path(self, path: Path) -> bool:
        """Tell whether a path of a choice is taken on a set that fills no space."""
        return any(signs == EQUAL and self.is_thin(off) for off, signs in path.conditions)

    def is_thin(self, off: Cell) -> bool:
        """Tell whether the zeros of a cell fill no space; False where that is not known."""
        if off not in self._thin:
            try:
                branches = [piece for _, piece in self.cells.recorder.pieces(off)]
            except Unsupported:
                branches = []
            self._thin[off] = bool(branches) and all(self._is_analytic(b) and self._is_somewhere_else(b) for b in branches)
        return self._thin[off]

    def _is_analytic(self, off: Cell) -> bool:
        """Tell whether a cell is a quotient of functions that are analytic on one convex set, so that it is 0 on all of it or thinly."""
        order = self.cells.order(off)
        inner = {b for c in order if isinstance(c, Call) for a in c.args for b in self.cells.order(a)}
        divided = any(isinstance(b, Product) and any(f.divides for f in b.factors) for b in inner)
        return not divided and all(map(_is_regular, order))

    def _is_somewhere_else(self, off: Cell) -> bool:
        """Tell whether a cell is not 0 at one of a few points."""
        for point in self._points:
            interval, events = Evaluation(self.cells, point, limits=False).value(off)
            if interval is not None and not events and (interval[0] > 0 or interval[1] < 0):
                return True
        return False


def _is_regular(cell: Cell) -> bool:
    if isinstance(cell, Product):
        return all(not f.root or is_linear(f.base) for f in cell.factors)
    if isinstance(cell, Call):
        return cell.name in TOTAL or (cell.name in _ON_INTERVALS and is_linear(cell.args[0]))
    return cell.smooth


class Quotients:
    """The quotients of a function, each with its parts and their derivatives."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._parts: dict[Cell, tuple[Cell, Cell] | None] = {}

    def range_of(self, cell: Cell, at: Evaluation) -> Interval | None:
        """The range of a quotient over a box; None if its parts do not vanish together at a place that is known."""
        if cell not in self._parts:
            self._parts[cell] = self._fraction(cell)
        parts = self._parts[cell]
        return None if parts is None else self._range(*parts, at)

    def _range(self, above: Cell, below: Cell, at: Evaluation) -> Interval | None:
        if not (above.smooth and below.smooth):
            return None
        for variable, point in self._candidates(below, at):
            zeros = Evaluation(self.cells, at.box, limits=False)
            zeros.table[variable] = Value((point, point))
            found = self._limit(above, below, variable, zeros, at)
            if found is not None:
                return found
        return None

    def _candidates(self, below: Cell, at: Evaluation) -> Iterator[tuple[Cell, arb]]:
        """Where a denominator may vanish: along a variable at 0 and at roots of linear parts; or where a function u is 0, as in sin(u)/u.

        The theorem is about what lies between that number and any other, so that it has to be in the box.
        """
        order = self.cells.order(below)
        found: list[tuple[Cell, arb]] = [(leaf, ZERO) for leaf in order if isinstance(leaf, Leaf)]
        for cell in order:
            if isinstance(cell, Sum) and len(cell.terms) == 1 and isinstance(cell.args[0], Leaf) and cell.terms[0][0] != 0:
                root = rational(-cell.constant / cell.terms[0][0])
                found += [(cell.args[0], root[0])] if is_point(root) else []
        found += [(c, ZERO) for c in order if c.args and c.leaves][:_MOST_INNER]
        for variable, point in found:
            x = at.value(variable).interval
            if x is not None and x[0] <= point <= x[1]:
                yield variable, point

    def _limit(self, above: Cell, below: Cell, variable: Cell, zeros: Evaluation, at: Evaluation) -> Interval | None:
        """The range of a quotient whose parts vanish together at one value of a variable, which it has in ``zeros``."""
        try:
            for _ in range(_MOST_ORDERS):
                if not all(x is not None and is_point(x, 0) for x in (zeros.value(part).interval for part in (above, below))):
                    return None
                above, below = self.cells.slopes.of(above, variable), self.cells.slopes.of(below, variable)
                if len(self.cells.order(above)) > _MOST_CELLS:
                    return None
                there = Evaluation(self.cells, at.box, limits=False)
                (x, of_above), (y, of_below) = there.value(above), there.value(below)
                if x is None or y is None or not is_finite(x):
                    return None
                if any(not event.soft for event in of_above | of_below):
                    return None  # the theorem is about an interval on which both are smooth
                if y[0] > 0 or y[1] < 0:
                    return there.value(self.cells.product([(above, UNIT), (below, -UNIT)])).interval
        except Unsupported:
            pass
        return None

    def are_only_where(self, cell: Cell, off: Cell, at: Evaluation) -> bool:
        """Tell whether what a product divides by, or what a logarithm is of, is 0 in a box only where another cell is."""
        bases = [f.base for f in cell.factors if f.divides] if isinstance(cell, Product) else list(cell.args)
        there = Evaluation(self.cells, at.box, limits=False)
        return all(self._is_only_where(base, off, at) for base in bases if there.may_vanish(base))

    def _is_only_where(self, base: Cell, off: Cell, at: Evaluation) -> bool:
        """Tell whether a cell over a power of another, with its limits, is 0 nowhere."""
        ranges = (self._range(base, self.cells.power(off, fmpq(order)), at) for order in range(1, _MOST_ORDERS))
        return any(x is not None and (x[0] > 0 or x[1] < 0) for x in ranges)

    def _fraction(self, cell: Cell) -> tuple[Cell, Cell] | None:
        """A product, or a sum of such, as one quotient."""
        terms = [(q, c) for q, c in cell.terms if q != 0] if isinstance(cell, Sum) else [(UNIT, cell)]
        below: dict[Cell, fmpq] = {}
        for factor in [f for _, c in terms if isinstance(c, Product) for f in c.factors if f.exponent < 0]:
            below[factor.base] = max(below.get(factor.base, NOUGHT), -factor.exponent)
        if not below:
            return None
        denominator = self.cells.product(below.items())
        constant = cell.constant if isinstance(cell, Sum) else NOUGHT
        raised = [(q, self.cells.product([(c, UNIT), (denominator, UNIT)])) for q, c in [*terms, (constant, self.cells.one)]]
        return self.cells.sum([(q, self.cells.without_holes(c)) for q, c in raised]), denominator
