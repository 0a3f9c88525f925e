"""Derivatives of cells as cells: sums and products by their rules, functions by sympy's derivative of each single one."""

from __future__ import annotations

from gradcli.reference.ranges.cells import UNIT, Call, Cell, Choice, Compared, Filled, Named, Path, Product, Step, Sum, behind
from gradcli.reference.ranges.identities import rebuilt
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.nullsets import is_thin


class Slopes:
    """Forward mode: each derivative is made once."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._known: dict[Cell, dict[Cell, Cell]] = {}
        self._thick: dict[Cell, Cell] = {}

    def of(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        if y not in self._thick:
            self._thick[y] = self._without_thin_paths(y)
        y = self._thick[y]
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
            paths = [Path(tuple((self.cells.opened(t), holds) for t, holds in p.truths), found[p.result]) for p in cell.paths]
            return self.cells.choice(paths, open_=True)
        return self.cells.zero

    def _without_thin_paths(self, root: Cell) -> Cell:
        """The same function but for points that fill no space, which have no part in a derivative."""
        order = behind([root])
        found: dict[Cell, Cell] = {}
        for cell in order:
            if isinstance(cell, Compared):
                found[cell] = self.cells.zero if is_thin(self.cells, Path(((cell, True),), cell)) else cell
            elif isinstance(cell, Choice):
                paths = [
                    Path(tuple((t, holds) for t, holds in p.truths if found[t] is t), found[p.result])
                    for p in cell.paths
                    if not is_thin(self.cells, p)
                ]
                found[cell] = self.cells.choice(paths, cell.open_)
            elif isinstance(cell, (Named, Step)) or not cell.args:
                found[cell] = cell
            else:
                found[cell] = rebuilt(self.cells, cell, found)
        return found[root]

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
