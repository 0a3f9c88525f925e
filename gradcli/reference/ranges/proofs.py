"""Relations over a box: proved, refuted by a point, or left open in a box that is as small as it
could be made.

An enclosure proves an inequality with room to spare, box by box. Equalities, and bounds that are
touched, are proved by algebra: in the field of the functions that a cell is made of, where what is
zero is zero wherever it has a value.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from flint import fmpq

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.element import Element, Field, Generator, TooSmall, fraction
from gradcli.reference.fields.functions import Functions, Known, Refined, decide_in_field
from gradcli.reference.ranges.cells import (
    GAPS,
    NOUGHT,
    UNIT,
    Call,
    Cell,
    Named,
    Product,
    Sum,
)
from gradcli.reference.ranges.functions import HOLE
from gradcli.reference.ranges.intervals import Box, Interval, corners, precise, thin
from gradcli.reference.ranges.making import Region
from gradcli.reference.ranges.search import Search, value_near

_WORK = 600_000  # cells that are evaluated for one relation
_WORK_ALONG_LINE = 100_000  # along one variable, where a touch takes any number of boxes
_FINEST = 2.0**-52  # of the sides of the box
# to find the parts of a box in which algebra proves an equality, and points at which it does not
# hold: of smooth functions and of others
_WORK_FOR_PARTS, _WORK_FOR_BRANCHES = 4_000, 60_000
_SMALL = 2.0**-30  # of the sides of these parts
_MOST_DOUBTS = 40  # points that the enclosure refutes and floats do not
_ATOMS = 32  # of a cell: variables, and functions of them

Point = list[float]


@dataclass(eq=False)
class Outcome:
    """Outcome of a relation: None where it is open."""

    holds: bool | None
    point: Point | None = None
    box: list[tuple[float, float]] | None = None
    reason: str | None = None


class Proof:
    """A relation over the box of a region.

    confirmed  whether floats refute the relation at a point
    kinks      whether points on kinks are left out
    """

    def __init__(
        self, region: Region, confirmed: Callable[[Point], bool], kinks: bool = False
    ) -> None:
        self.cells, self.box, self.confirmed, self.kinks = (
            region.cells,
            region.box,
            confirmed,
            kinks,
        )
        self.doubts = 0

    def of(self, left: Any, symbol: str, right: Any, within: float = 0.0) -> Outcome:
        """Return what becomes of a relation between two numbers, with a tolerance."""
        with precise():
            return self._decide(
                self.cells.lift(self.cells.of(left) - self.cells.of(right)), symbol, within
            )

    def _decide(self, off: Cell, symbol: str, within: float) -> Outcome:
        if symbol == "==" and not within:
            return self._zero(off, self._reduce(off))
        size = abs(off) if symbol in ("==", "!=") else off
        positive = (
            within - size
            if symbol in ("<", "<=", "==")
            else size - within
            if symbol == "!="
            else size + within
        )
        if symbol in ("<", ">", "!="):
            return self._positive(positive, strictly=True)
        simpler = without_squares(positive)
        if (
            simpler is not None
            and self._positive(simpler).holds
            and self._zero(positive, self.cells.zero).holds
        ):
            return Outcome(True)
        return self._positive(positive)

    def _positive(
        self, cell: Cell, strictly: bool = False, holes: bool = False, work: int = _WORK
    ) -> Outcome:
        """Prove that a cell is positive, or not negative, box by box: the one in which it may be
        least comes first.

        holes  whether it has to have a value where it has a limit only
        """
        search = Search(cell, self.box, natural=holes)
        if len(search.sides.whole) < 2:
            work = min(work, _WORK_ALONG_LINE)
        gaps, finest = (GAPS, _SMALL) if holes else (GAPS - {HOLE}, _FINEST)

        def refutes(x: Interval | None) -> bool:
            if x is None:
                return not (holes or self.kinks)
            return bool(x.high < 0 or (strictly and x.high <= 0))

        for bottom, node in search.worst(-1, gaps):
            if bottom > 0 or (bottom == 0 and not strictly):
                return Outcome(True)
            point = self._counterexample(cell, node.box, refutes)
            if point is None and (
                self.doubts > _MOST_DOUBTS or search.is_spent(work, node, finest)
            ):
                if holes and node.kinds & gaps:
                    return self._open(node.box, "the sides have no value there")
                point = self._confirm(cell, [x.round_numbers[0] for x in node.box], refutes)
                if point is None:
                    return self._open(
                        node.box,
                        "the sides differ there by less than rounding" if self.doubts else None,
                    )
            if point is not None:
                return Outcome(False, point)
        return Outcome(True)

    def _open(self, box: Box, reason: str | None = None) -> Outcome:
        return Outcome(None, None, [x.floats for x in box], reason)

    def _counterexample(
        self, cell: Cell, box: Box, refutes: Callable[[Interval | None], bool]
    ) -> Point | None:
        """A point of a box at which the relation does not hold: its middle, and the corners where
        it is the whole box.
        """
        points = [[float(x.middle) for x in box]]
        if box == self.box:
            points += [[float(x.low) for x in corner] for corner in corners(box)]
        return next((point for point in points if self._confirm(cell, point, refutes)), None)

    def _confirm(
        self, cell: Cell, point: Point, refutes: Callable[[Interval | None], bool]
    ) -> Point | None:
        """A point, if the relation does not hold there, neither for enclosures nor for floats."""
        value = value_near(cell, thin(point), self.box)
        refuted = refutes(value)
        if refuted and self.confirmed(point):
            return point
        self.doubts += refuted and value is not None
        return None

    def _reduce(self, cell: Cell) -> Cell:
        """A cell of the same zeros, as far as it is defined: 0 where algebra proves that it is, in
        all branches or in some.
        """
        if vanishes(cell):
            return self.cells.zero

        def in_a_branch() -> Cell:
            piece = self.cells.take_choices(cell)
            return self.cells.zero if vanishes(piece) else piece

        with suppress(Unsupported):
            cell = self.cells.branching(in_a_branch)
        return self.cells.without_thin_paths(cell) if self.kinks else cell

    def _zero(self, cell: Cell, reduced: Cell) -> Outcome:
        """Prove that a cell is defined all over the box, and zero."""
        off = self.cells.sum([(NOUGHT, cell), (-UNIT, abs(reduced))])
        return self._positive(
            off, holes=True, work=_WORK_FOR_PARTS if reduced.is_smooth else _WORK_FOR_BRANCHES
        )


# -- algebra


def vanishes(cell: Cell) -> bool:
    """Tell whether a cell is zero wherever it is defined, as algebra tells."""
    return bool(decide_in_field(lambda functions: _element(functions, cell).is_zero))


def _element(functions: Functions, root: Cell, opaque: list[Cell] | None = None) -> Element:
    """A cell as an element of a field.

    ``opaque``: the cells taken for variables, to which functions are added, too.
    """
    field = functions.field
    found: dict[Cell, Any] = {}
    for cell in root.order:
        if isinstance(cell, Named):
            found[cell] = found[cell.args[0]]
        elif isinstance(cell, Sum):
            found[cell] = sum(
                (found[c] * fraction(q) for q, c in cell.terms),
                functions.of(fraction(cell.constant)),
            )
        elif isinstance(cell, Product):
            found[cell] = prod(
                (functions.root(found[f.base], fraction(f.exponent)) for f in cell.factors),
                start=functions.one,
            )
        elif isinstance(cell, Call) and cell.name != "floor" and opaque is None:
            if cell.function is None:
                found[cell] = (
                    functions.exp(1) if cell.name == "e" else getattr(functions, cell.name)
                )
            else:
                found[cell] = functions.call(cell.function, *[found[a] for a in cell.args])
        else:
            found[cell] = field.symbol(cell, partial(Generator, "variable"))
            if opaque is not None:
                opaque.append(cell)
    return functions.of(found[root])


def without_squares(cell: Cell) -> Cell | None:
    """A cell of the same sign, but for zeros, without the squares that are factors of it; None
    where there are none.
    """
    functions, atoms = Functions(Field(_ATOMS), Known()), list[Cell]()
    field = functions.field
    known = len(field.generators)
    try:
        found = _element(functions, cell, atoms).lowest()
        parts = [
            field.factor(p) for p in (found.p, found.q)
        ]  # the sign of a quotient is that of the product
    except (Unsupported, TooSmall, Refined, ValueError, ArithmeticError):
        return None
    factors = [factor for _, some in parts for factor in some]
    if len(field.generators) > known + len(atoms) or not any(power > 1 for _, power in factors):
        return None
    total: Cell = cell.cells.number(
        prod((UNIT if constant > 0 else -UNIT for constant, _ in parts), start=UNIT)
    )
    for factor in [polynomial for polynomial, power in factors if power % 2]:
        terms = [
            (fmpq(q), [(x, fmpq(int(n))) for x, n in zip(atoms, powers[known:], strict=False) if n])
            for powers, q in factor.terms()
        ]
        total = total * cell.cells.sum([(q, cell.cells.product(powers)) for q, powers in terms])
    return total
