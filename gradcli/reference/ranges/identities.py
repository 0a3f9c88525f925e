"""Cells rewritten by identities that hold wherever they are defined, so that what is equal becomes the same polynomial.

Exponentials of sums are products, hyperbolic functions are exponentials, sines and cosines of sums and multiples are polynomials in
those of their terms, and powers with whole numbers in their exponents are products.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any

from flint import fmpq

from gradcli.reference.ranges.cells import NOUGHT, UNIT, Call, Cell, Leaf, Named, Number, Product, Sum, behind
from gradcli.reference.ranges.making import Cells

_MOST_MULTIPLES = 12
Pair = tuple[Cell, Cell]


def rebuilt(cells: Cells, cell: Cell, found: dict[Cell, Cell]) -> Cell:
    """The same of other cells."""
    if all(found[a] is a for a in cell.args):
        return cell
    if isinstance(cell, Sum):
        return cells.sum([(UNIT, cells.number(cell.constant)), *((q, found[c]) for q, c in cell.terms)])
    if isinstance(cell, Product):
        return cells.product([(found[f.base], f.exponent) for f in cell.factors])
    if isinstance(cell, Call):
        return cells.call(cell.name, cell.function, [found[a] for a in cell.args])
    if isinstance(cell, Named):
        return found[cell.args[0]]
    return cell


def canonical(cells: Cells, root: Cell) -> Cell:
    """A cell in which what has several forms has one."""
    order = behind([root])
    units = _units(order)
    found: dict[Cell, Cell] = {}
    for cell in order:
        if isinstance(cell, Named):
            found[cell] = found[cell.args[0]]
            continue
        if isinstance(cell, (Number, Leaf)) or not cell.args:
            found[cell] = cell
            continue
        made = rebuilt(cells, cell, found)
        found[cell] = _RULES[made.name](cells, made, units) if isinstance(made, Call) and made.name in _RULES else made
    return found[root]


def _units(order: list[Cell]) -> dict[Cell, int]:
    """For the terms of angles, the common denominator of their coefficients."""
    units: dict[Cell, int] = {}
    for cell in order:
        if isinstance(cell, Call) and cell.name in ("sin", "cos", "tan", "cot"):
            for q, term in _terms(cell.args[0]):
                units[term] = lcm(units.get(term, 1), int(q.q))
    return units


def _terms(x: Cell) -> list[tuple[fmpq, Cell]]:
    return list(x.terms) if isinstance(x, Sum) else [] if isinstance(x, Number) else [(UNIT, x)]


def _function(cells: Cells, name: str, x: Cell) -> Cell:
    import sympy

    found: Cell = cells.call(name, getattr(sympy, name), (x,))
    return found


def _exponential(cells: Cells, cell: Call, units: Any) -> Cell:
    return _exp(cells, cell.args[0])


def _exp(cells: Cells, x: Cell) -> Cell:
    constant = x.constant if isinstance(x, Sum) else x.value if isinstance(x, Number) else NOUGHT
    factors = [(_function(cells, "exp", term), q) for q, term in _terms(x)]
    if constant != 0:
        factors.append((cells.call("e", None, ()), constant))
    return cells.product(factors)


def _hyperbolic(above: int, below: int | None) -> Callable[[Cells, Call, Any], Cell]:
    """(e**x + above*e**-x)/2, or that over (e**x + below*e**-x)/2."""

    def made(cells: Cells, cell: Call, units: Any) -> Cell:
        rise, fall = _exp(cells, cell.args[0]), _exp(cells, -cell.args[0])
        first = cells.sum([(UNIT, rise), (UNIT * above, fall)])
        second = cells.of(2) if below is None else cells.sum([(UNIT, rise), (UNIT * below, fall)])
        return cells.product([(first, UNIT), (second, -UNIT)])

    return made


def _angles(cells: Cells, x: Cell, units: dict[Cell, int]) -> Pair | None:
    """The cosine and the sine of a sum, of those of its terms; None for multiples that are too high."""
    constant = x.constant if isinstance(x, Sum) else NOUGHT
    parts = [(q, term) for q, term in _terms(x)]
    if constant != 0:
        parts.append((constant, cells.one))
    cosine: Cell = cells.one
    sine: Cell = cells.zero
    for q, term in parts:
        unit = 1 if term is cells.one else units.get(term, int(q.q))
        multiple = q * unit
        if term is cells.one:
            multiple = UNIT
        angle: Cell = cells.number(q)
        if term is not cells.one:
            angle = cells.sum([(UNIT / unit, term)])
        n = int(multiple.p)
        if multiple.q != 1 or abs(n) > _MOST_MULTIPLES:
            return None
        c, s = _function(cells, "cos", angle), _function(cells, "sin", angle)
        for _ in range(abs(n)):
            step = s if n > 0 else -s
            cosine, sine = cosine * c - sine * step, sine * c + cosine * step
    return cosine, sine


def _angular(make: Callable[[Cell, Cell], Cell]) -> Callable[[Cells, Call, Any], Cell]:
    def made(cells: Cells, cell: Call, units: Any) -> Cell:
        found = _angles(cells, cell.args[0], units)
        return cell if found is None else make(*found)

    return made


def _power(cells: Cells, cell: Call, units: Any) -> Cell:
    """x**(y + n) as x**y * x**n."""
    base, exponent = cell.args
    constant = exponent.constant if isinstance(exponent, Sum) else NOUGHT
    whole = constant.floor()
    if whole == 0:
        return cell
    rest = cells.sum([(UNIT, exponent), (UNIT, cells.number(fmpq(-int(whole))))])
    return cells.product([(cells.call(cell.name, cell.function, (base, rest)), UNIT), (base, fmpq(int(whole)))])


_RULES: dict[str, Callable[[Cells, Call, Any], Cell]] = {
    "exp": _exponential,
    "sinh": _hyperbolic(-1, None),
    "cosh": _hyperbolic(1, None),
    "tanh": _hyperbolic(-1, 1),
    "sin": _angular(lambda c, s: s),
    "cos": _angular(lambda c, s: c),
    "tan": _angular(lambda c, s: s / c),
    "cot": _angular(lambda c, s: c / s),
    "pow": _power,
}
