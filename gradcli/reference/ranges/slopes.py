"""Derivatives of cells as cells: sums and products by their rules, functions by sympy's derivative of each single one."""

from __future__ import annotations

from gradcli.reference.ranges.cells import UNIT, Call, Cell, Choice, Filled, Named, Path, Product, Sum, behind
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.nullsets import fills_no_space, is_thin


class Slopes:
    """Forward mode: each derivative is made once."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._known: dict[Cell, dict[Cell, Cell]] = {}

    def of(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        found = self._known.setdefault(x, {x: self.cells.one})
        if y in found:
            return found[y]
        for cell in behind([y]):
            if cell not in found:
                found[cell] = self._slope(cell, found)
        return found[y]

    def _slope(self, cell: Cell, found: dict[Cell, Cell]) -> Cell:
        if all(found[a] is self.cells.zero for a in cell.args):
            return self.cells.zero
        if isinstance(cell, Sum):
            return self.cells.sum([(q, found[c]) for q, c in cell.terms])
        if isinstance(cell, Product):
            return self._of_product(cell, found)
        if isinstance(cell, Filled):
            return self.cells.filled(found[cell.args[0]])
        if isinstance(cell, Named):
            return found[cell.args[0]]
        if isinstance(cell, Call):
            from gradcli.reference.symbolic.cells import partial

            moving = [i for i, a in enumerate(cell.args) if found[a] is not self.cells.zero]
            return self.cells.sum([(UNIT, partial(self.cells, cell, i) * found[cell.args[i]]) for i in moving])
        if isinstance(cell, Choice):
            paths = [self._opened(p, found[p.result]) for p in cell.paths if not is_thin(self.cells, p)]
            return self.cells.choice(paths, open_=True)
        return self.cells.zero

    def _opened(self, path: Path, slope: Cell) -> Path:
        """A path but for points that fill no space, which have no part in a derivative."""
        truths = [
            (self.cells.opened(t), holds)
            for t, holds in path.truths
            if not (t.equality and fills_no_space(self.cells, self.cells.sum([(UNIT, t.args[0]), (-UNIT, t.args[1])])))
        ]
        return Path(tuple(truths), slope)

    def _of_product(self, cell: Product, found: dict[Cell, Cell]) -> Cell:
        """Each factor's derivative times the others. A factor that was divided by, or a root, stays one."""
        terms = []
        for i, factor in enumerate(cell.factors):
            slope = found[factor.base]
            if slope is self.cells.zero or factor.exponent == 0:
                continue
            less = factor._replace(exponent=factor.exponent - 1, divides=factor.divides or factor.exponent < 1)
            rest = [less if j == i else f for j, f in enumerate(cell.factors)]
            kept = [f for f in rest if f.exponent != 0 or f.divides or f.root or f.base.partial]
            inner = self.cells.product([(self.cells.of_factors(kept), UNIT), (slope, UNIT)])
            terms.append((factor.exponent, inner))
        return self.cells.sum(terms)
