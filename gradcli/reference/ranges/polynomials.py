"""Cells as quotients of polynomials in what is no sum, product or power: what is equal for all values of these is equal.

FLINT's polynomials have one form each. Squares of sines and cosines of one argument add up to 1.
"""

from __future__ import annotations

from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.cells import UNIT, Call, Cell, Named, Number, Product, Sum, behind
from gradcli.reference.ranges.identities import canonical
from gradcli.reference.ranges.making import Cells

_MOST_TERMS = 4_000
_MOST_ATOMS = 24
_HIGHEST = 64

Fraction = tuple[Any, Any]


class TooLarge(Exception):
    """A polynomial of so many terms."""


class Polynomials:
    """The polynomials that a cell is made of."""

    def __init__(self, root: Cell) -> None:
        self.atoms: dict[Any, int] = {}
        order = behind([root])
        for cell in order:
            self._note(cell)
        if len(self.atoms) > _MOST_ATOMS:
            raise TooLarge
        self.context = fmpq_mpoly_ctx.get([f"v{i}" for i in range(max(1, len(self.atoms)))], Ordering.lex)
        self.one = self.context.constant(1)
        found: dict[Cell, Fraction] = {}
        for cell in order:
            above, below = found[cell] = self._fraction(cell, found)
            if max(len(above), len(below)) > _MOST_TERMS:
                raise TooLarge
        self.above, self.below = found[root]

    def _note(self, cell: Cell) -> None:
        if isinstance(cell, Product):
            for f in cell.factors:
                if f.exponent.q != 1:
                    self.atoms.setdefault((f.base, f.exponent - f.exponent.floor()), len(self.atoms))
        elif not isinstance(cell, (Number, Sum, Named)):
            self.atoms.setdefault((cell, UNIT), len(self.atoms))

    def _atom(self, cell: Cell, exponent: fmpq) -> Any:
        return self.context.gen(self.atoms[cell, exponent])

    def _fraction(self, cell: Cell, found: dict[Cell, Fraction]) -> Fraction:
        if isinstance(cell, Number):
            return self.one * cell.value, self.one
        if isinstance(cell, Named):
            return found[cell.args[0]]
        if isinstance(cell, Sum):
            above, below = self.one * cell.constant, self.one
            for q, term in cell.terms:
                a, b = found[term]
                above, below = (above + a * q, below) if b == below else (above * b + a * below * q, below * b)
            return above, below
        if isinstance(cell, Product):
            above, below = self.one, self.one
            for f in cell.factors:
                whole = int(f.exponent.floor())
                if abs(whole) > _HIGHEST:
                    raise TooLarge
                a, b = found[f.base] if whole >= 0 else found[f.base][::-1]
                above, below = above * a ** abs(whole), below * b ** abs(whole)
                if f.exponent != whole:
                    above = above * self._atom(f.base, f.exponent - whole)
            return above, below
        return self._atom(cell, UNIT), self.one

    def reduced(self) -> Any:
        """The numerator, with one of the squares of sine and cosine in it replaced."""
        above = self.above
        for (cell, exponent), place in self.atoms.items():
            if exponent == 1 and isinstance(cell, Call) and cell.name == "sin":
                for (other, _), second in self.atoms.items():
                    if isinstance(other, Call) and other.name == "cos" and other.args[0] is cell.args[0]:
                        sine, cosine = self.context.gen(place), self.context.gen(second)
                        above = divmod(above, sine * sine + cosine * cosine - 1)[1]
        return above


def vanishes(cells: Cells, cell: Cell) -> bool:
    """Whether a cell is zero wherever it is defined, as algebra tells."""
    try:
        return bool(Polynomials(cell).reduced() == 0) or bool(Polynomials(canonical(cells, cell)).reduced() == 0)
    except (TooLarge, Unsupported):
        return False


def without_squares(cell: Cell) -> Cell | None:
    """A cell of the same sign, but for zeros, without the squares that are factors of it; None where there are none."""
    try:
        parts = Polynomials(cell)
        if any(exponent != 1 for _, exponent in parts.atoms):
            return None
        whole = parts.above * parts.below  # the sign of a quotient is that of the product
        constant, factors = whole.factor()
    except (TooLarge, ValueError, RuntimeError):
        return None
    if not any(power > 1 for _, power in factors):
        return None
    cells = cell.cells
    atoms = [a for a, _ in parts.atoms]
    total: Cell = cells.number(UNIT if constant > 0 else -UNIT)
    for factor, power in factors:
        if power % 2:
            total = total * _as_cell(cells, factor, atoms)
    return total


def _as_cell(cells: Any, polynomial: Any, atoms: list[Cell]) -> Cell:
    terms = []
    for powers, coefficient in polynomial.terms():
        factors = [(atom, fmpq(int(n))) for atom, n in zip(atoms, powers, strict=False) if n]
        terms.append((fmpq(coefficient), cells.product(factors)))
    found: Cell = cells.sum(terms)
    return found
