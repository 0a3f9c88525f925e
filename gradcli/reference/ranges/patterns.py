"""Which branches are taken where: a function with choices is one without, for each pattern of signs of what is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from gradcli.reference.ranges.cells import UNIT, Cell, Choice, Compared, Leaf, Number, Step, Sum, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.identities import rebuilt
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.nullsets import fills_no_space

MOST_SIGNS = 5
Signs = Mapping[Cell, int]


class Patterns:
    """A cell, and what is compared in it."""

    def __init__(self, cells: Cells, root: Cell) -> None:
        self.cells, self.root = cells, root
        self.order = behind([root])
        self.compared: dict[Cell, tuple[Cell, int]] = {}  # truths and signs, each with a difference and whether it is turned
        for cell in self.order:
            if isinstance(cell, Compared):
                self.compared[cell] = self._difference(cell.args[0], cell.args[1])
            elif isinstance(cell, Step) and cell.name == "sign":
                self.compared[cell] = self._difference(cell.args[0], cells.zero)
        self.differences = list(dict.fromkeys(off for off, _ in self.compared.values() if not isinstance(off, Number)))
        self._known: dict[tuple[tuple[Cell, int], ...], Cell | None] = {}

    def _difference(self, x: Cell, y: Cell) -> tuple[Cell, int]:
        """A difference, the same one for both orders of its sides."""
        off = self.cells.sum([(UNIT, x), (-UNIT, y)])
        scale = off.terms[0][0] if isinstance(off, Sum) and off.terms[0][0] != 0 else UNIT
        return self.cells.sum([(1 / scale, off)]), 1 if scale > 0 else -1

    def over(self, at: Evaluation, kinks: bool) -> Iterator[Cell | None] | None:
        """The cell for each pattern that is possible in a box, None for what is not known; None if there are too many.

        ``kinks``: where something is compared with what it is equal to is left out.
        """
        signs: list[tuple[int, ...]] = []
        for off in self.differences:
            x = at.value(off).interval
            both = (-1, 1) if kinks and fills_no_space(self.cells, off) else (-1, 0, 1)
            signs.append(
                both
                if x is None
                else tuple(s for s in both if (s > 0 and x[1] > 0) or (s < 0 and x[0] < 0) or (s == 0 and x[0] <= 0 <= x[1]))
            )
            if not signs[-1]:
                signs[-1] = (0,)
        if sum(len(each) > 1 for each in signs) > MOST_SIGNS:
            return None
        return (self._resolved(dict(zip(self.differences, pattern, strict=True))) for pattern in product(*signs))

    def is_settled(self, at: Evaluation) -> bool:
        """Whether one pattern alone is possible in a box."""
        ends = [at.value(off).interval for off in self.differences]
        return all(x is not None and (x[0] > 0 or x[1] < 0) for x in ends)

    def _resolved(self, signs: Signs) -> Cell | None:
        key = tuple(signs.items())
        if key not in self._known:
            self._known[key] = self._made(signs)
        return self._known[key]

    def _made(self, signs: Signs) -> Cell | None:
        cells = self.cells
        found: dict[Cell, Cell | None] = {}
        for off, sign in signs.items():
            if sign == 0:
                found |= _solved(cells, off)
        for cell in self.order:
            if cell in found:
                continue
            if cell in self.compared:
                off, turned = self.compared[cell]
                value = _sign(off) if isinstance(off, Number) else signs[off]
                value *= turned
                truth = (
                    value if isinstance(cell, Step) else int(value == 0) if isinstance(cell, Compared) and cell.equality else int(value < 0)
                )
                found[cell] = cells.of(truth)
            elif isinstance(cell, Choice):
                ways = [p for p in cell.paths if all(_holds(found[t]) is holds for t, holds in p.truths)]
                found[cell] = found[ways[0].result] if len(ways) == 1 else None
            elif any(found[a] is None for a in cell.args):
                found[cell] = None
            else:
                found[cell] = rebuilt(cells, cell, {a: part for a in cell.args if (part := found[a]) is not None})
        return found[self.root]


def _sign(x: Number) -> int:
    return int(x.value > 0) - int(x.value < 0)


def _holds(truth: Cell | None) -> bool | None:
    return truth.value != 0 if isinstance(truth, Number) else None


def _solved(cells: Cells, off: Cell) -> dict[Cell, Cell | None]:
    """The variable that is a number where a difference is 0."""
    if isinstance(off, Leaf):
        return {off: cells.zero}
    if isinstance(off, Sum) and len(off.terms) == 1 and isinstance(off.terms[0][1], Leaf):
        return {off.terms[0][1]: cells.number(-off.constant / off.terms[0][0])}
    return {}
