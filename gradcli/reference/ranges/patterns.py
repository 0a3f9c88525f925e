"""Which branches are taken where: a function with choices is one without, for each pattern of signs of what is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gradcli.reference.ranges.cells import UNIT, Cell, Choice, Compared, Leaf, Number, Step, Sum, behind
from gradcli.reference.ranges.evaluation import Evaluation
from gradcli.reference.ranges.identities import rebuilt
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.nullsets import fills_no_space
from gradcli.reference.ranges.values import Table

_MOST = 64  # patterns of a box
Signs = Mapping[Cell, int]


class Open(NamedTuple):
    """A difference whose sign decides about a branch."""

    off: Cell


class Patterns:
    """A cell, and what is compared in it."""

    def __init__(self, cells: Cells, root: Cell) -> None:
        self.cells, self.root = cells, root
        self.order = behind([root])
        self._known: dict[tuple[tuple[Cell, int], ...], Cell | Open | None] = {}

    def over(self, at: Evaluation, kinks: bool) -> list[Cell | None] | None:
        """The cell for each pattern that is possible in a box, None for what is not known; None if there are too many.

        ``kinks``: points at which something is compared with what it is equal to are left out, where they fill no space.
        """
        pending: list[dict[Cell, int]] = [{}]
        found: list[Cell | None] = []
        while pending:
            signs = pending.pop()
            key = tuple(signs.items())
            if key not in self._known:
                self._known[key] = self._made(signs)
            made = self._known[key]
            if isinstance(made, Open):
                pending += [{**signs, made.off: sign} for sign in self._possible(made.off, at, kinks)]
            else:
                found.append(made)
            if len(found) + len(pending) > _MOST:
                return None
        return found

    def _possible(self, off: Cell, at: Evaluation, kinks: bool) -> list[int]:
        """The signs that a difference may have in a box."""
        x = at.value(off).interval
        if x is None:
            return [-1, 0, 1]
        both = [s for s in (-1, 1) if (x[1] > 0 if s > 0 else x[0] < 0)]
        thin = bool(both) and kinks and fills_no_space(self.cells, off)
        return [*both, 0] if x[0] <= 0 <= x[1] and not thin else both

    def is_settled(self, at: Evaluation) -> bool:
        """Tell whether all that is compared is decided in a box."""
        table = at.run(self.order)
        return all(self._is_decided(cell, table) for cell in self.order)

    @staticmethod
    def _is_decided(cell: Cell, table: Table) -> bool:
        if not isinstance(cell, Compared) and not (isinstance(cell, Step) and cell.name == "sign"):
            return True
        x = table[cell].interval
        return x is not None and bool(x[0] == x[1])

    def _made(self, signs: Signs) -> Cell | Open | None:
        """The cell where differences have some signs; a further difference whose sign it takes."""
        cells = self.cells
        found: dict[Cell, Cell | None] = {}
        for off, sign in signs.items():
            if sign == 0:
                found |= _solved(cells, off)
        for cell in self.order:
            if cell in found:
                continue
            parts = {a: part for a in cell.args if (part := found[a]) is not None}
            if isinstance(cell, Choice):
                ways = [p for p in cell.paths if all(_holds(found[t]) is holds for t, holds in p.truths)]
                found[cell] = found[ways[0].result] if len(ways) == 1 else None
            elif len(parts) < len(dict.fromkeys(cell.args)):
                found[cell] = None
            elif isinstance(cell, Compared) or (isinstance(cell, Step) and cell.name == "sign"):
                x, y = (parts[cell.args[0]], parts[cell.args[1]] if isinstance(cell, Compared) else cells.zero)
                value = self._sign_of(x, y, signs)
                if isinstance(value, Open):
                    return value
                is_true = value == 0 if isinstance(cell, Compared) and cell.equality else value < 0
                found[cell] = cells.of(value if isinstance(cell, Step) else int(is_true))
            else:
                found[cell] = rebuilt(cells, cell, parts)
        return found[self.root]

    def _sign_of(self, x: Cell, y: Cell, signs: Signs) -> int | Open:
        """The sign of a difference, which is the same cell for both orders of its sides."""
        off = self.cells.sum([(UNIT, x), (-UNIT, y)])
        if isinstance(off, Number):
            return _sign(off)
        scale = off.terms[0][0] if isinstance(off, Sum) and off.terms[0][0] != 0 else UNIT
        off = self.cells.sum([(1 / scale, off)])
        return Open(off) if off not in signs else signs[off] if scale > 0 else -signs[off]


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
