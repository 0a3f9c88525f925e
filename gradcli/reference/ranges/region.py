"""Maker of cells, and a program read over a box as cells, by its operations' references.

Each cell is made once, with like terms and like factors gathered. Where there are branches, all are
taken.

Expressions that are equal as polynomials of cells are mostly one cell, with which intervals lose
least: x - x is 0, and x*x never negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from operator import attrgetter
from typing import Any, cast

import numpy as np
from flint import arb, fmpq

from gradcli.graph.nodes import Expr
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import (
    ANY,
    EQUAL,
    Call,
    Cell,
    Choice,
    Evaluation,
    Factor,
    Leaf,
    Named,
    Product,
    Signs,
    Sum,
)
from gradcli.reference.ranges.intervals import Box, Interval, precise
from gradcli.reference.tape import NO_ZEROS, Array, ReferenceTape, exact_array

Ends = tuple[float, float]
_SHARE = 0.3819  # relative place of a sample point along the sides of the box
_MOST_RESULTS = 64  # most results that the branches of one operation have
_MOST_CHOICES = 5  # most choices of a function, each of which doubles the number of branches

_SERIAL = attrgetter("serial")


class Parting(Unsupported):
    """The sign of a cell that varies, and that has to be decided."""

    def __init__(self, off: Cell, *sides: Signs) -> None:
        super().__init__("a branch outside of any operation")
        self.off, self.sides = off, sides


class Cells(Algebra):
    """Context of references whose scalars are cells over a box; it counts the cells evaluated."""

    overflows = False

    def __init__(self, box: Box) -> None:
        self.precision, self.m, self.inf, self.nan = "float64", self, math.inf, math.nan
        self._once: Callable[..., Cell] = cache(lambda make, *parts: make(self, *parts))
        self.all: list[Cell] = []
        self.zero, self.one = self.number(fmpq(0)), self.number(fmpq(1))
        self.work, self.whole = 0, Evaluation(self, box)
        point = (x.low + (x.high - x.low) * arb(_SHARE) / (k + 1) for k, x in enumerate(box))
        self.somewhere = Evaluation(self, Box.at(p.mid() for p in point))
        self._slopes: dict[Cell, dict[Cell, Cell]] = {}
        self._signs: dict[Cell, Signs] = {}  # signs that are decided in a branch
        self.pi, self.euler = self.call("pi", None), self.call("euler", None)
        self._infinite = {self.of(math.inf): 1, self.of(-math.inf): -1}

    def of(self, x: Any) -> Cell:
        """Convert a number exactly to a cell; return a cell unchanged."""
        value = x.item() if hasattr(x, "item") else x
        if isinstance(value, Cell):
            return value
        exact = value if hasattr(value, "as_integer_ratio") else float(value)
        if isinstance(exact, float) and not math.isfinite(exact):
            return self.call(str(exact), None)
        return self.number(fmpq(*exact.as_integer_ratio()))

    mpf = of

    def number(self, value: fmpq) -> Cell:
        return self._once(Sum, value)

    def leaf(self, place: int) -> Cell:
        return self._once(Leaf, place)

    def call(self, name: str, function: Any, *args: Cell) -> Cell:
        return self._once(Call, name, function, *args)

    def choice(self, off: Cell, *sides: tuple[Signs, Cell]) -> Cell:
        """Return a choice between two results, or the result itself if it is the only one."""
        (_, x), (_, y) = sides
        return x if x is y else self._once(Choice, off, *sides)

    def sum(self, parts: Iterable[tuple[fmpq | int, Cell]]) -> Cell:
        """Add multiples of cells; sums among them are opened, and like terms gathered."""
        constant = fmpq(0)
        terms: dict[Cell, fmpq] = {}
        for coefficient, cell in parts:
            constant += coefficient * cell.constant
            for inner, term in cell.terms:
                terms[term] = terms.get(term, 0) + coefficient * inner
        left = [(terms[c], c) for c in sorted(terms, key=_SERIAL) if terms[c] != 0 or c.partial]
        if constant == 0 and len(left) == 1 and left[0][0] == 1:
            return left[0][1]
        return self._once(Sum, constant, *left)

    def monic(self, cell: Cell) -> tuple[fmpq, Cell]:
        """Return a number and a cell whose product is ``cell``: the same for all multiples of it."""
        leading = next((q for q, _ in cell.terms if q != 0), fmpq(1))
        return leading, cell if leading == 1 else self.sum([(1 / leading, cell)])

    def product(self, parts: Iterable[tuple[Cell, fmpq | int]]) -> Cell:
        """Return the product of powers, opened and gathered likewise; numbers become coefficients."""
        scale = fmpq(1)
        known: dict[Cell, Factor] = {}
        pending = [(cell, fmpq(exponent)) for cell, exponent in parts][::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            leading, rest = self.monic(cell) if whole else (fmpq(1), cell)
            if cell.known is not None and whole and (cell.known != 0 or exponent > 0):
                scale *= cell.known ** int(exponent.p)
            elif leading != 1:
                scale *= leading ** int(exponent.p)
                pending.append((rest, exponent))
            else:
                plain = cell.known is not None and cell.known > 0
                inner = cell.factors if whole else (Factor(cell, fmpq(1), root=not plain),)
                for f in inner:
                    _, power, divides, root = known.get(f.base, Factor(f.base, fmpq(0)))
                    power += f.exponent * exponent
                    divides = divides or f.divides or (exponent < 0 and not plain)
                    known[f.base] = Factor(f.base, power, divides, root or f.root)
        factors = [f for f in known.values() if f.matters]
        if scale == 0:
            factors = [f for f in factors if f.divides or f.root or f.base.partial]
        return self.sum([(scale, self.of_factors(factors))])

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        if len(factors) == 1 and factors[0] == Factor(factors[0].base, fmpq(1)):
            return factors[0].base
        ordered = sorted(factors, key=attrgetter("base.serial"))
        return self._once(Product, *ordered) if factors else self.one

    def floor(self, x: Any) -> Cell:
        x = self.of(x)
        return self.call("floor", None, x) if x.known is None else self.of(int(x.known.floor()))

    def replace(self, root: Cell, known: Mapping[Cell, Cell], beside: bool = False) -> Cell:
        """Return a cell with others in place of some; ``beside``: without sides that fill no space."""
        found = dict(known)
        for cell in [c for c in root.order if c not in found]:
            if beside and isinstance(cell, Choice) and len(cell.thick) < 2:
                found[cell] = found[(*cell.thick, cell.sides[0][1])[0]]
            elif (beside and isinstance(cell, Named)) or all(found[a] is a for a in cell.args):
                found[cell] = cell
            else:
                found[cell] = cell.rebuilt(found)
        return found[root]

    # -- derivatives, which are known but for points that fill no space, such as the zeros of an
    # analytic function that is not zero everywhere

    def slope(self, y: Cell, x: Cell) -> Cell:
        """Return the derivative of one cell by another: a variable, or a named value."""
        y = self.replace(y, {}, beside=True)
        found = self._slopes.setdefault(x, {x: self.one})
        for cell in y.order:
            if cell not in found:
                moves = any(found[a] is not self.zero for a in cell.args)
                found[cell] = cell.slope(found) if moves else self.zero
        return found[y]

    # -- branches

    def compare(self, x: Cell, y: Cell, signs: Signs) -> Cell:
        """1 where the sign of x - y is one of some, and else 0."""
        a, b = (self._infinite.get(c, 0) for c in (x, y))
        off = self.number(fmpq(a - b)) if a or b else x - y
        return self.branching(lambda: self.holds(off, signs))

    def branching(self, run: Callable[[], Any]) -> Cell:
        """Return what a reference gives, with a choice wherever it branches."""
        return self.of(self.branch(run))

    def branch(self, run: Callable[[], Any]) -> Any:
        """Return what something gives, an array or several, with choices where it branches."""
        count = 0

        def grow(known: dict[Cell, Signs]) -> Any:
            nonlocal count
            before, self._signs = self._signs, known
            try:
                found = run()
            except Parting as parting:
                results = [grow({**known, parting.off: signs}) for signs in parting.sides]
                return self._join(parting.off, parting.sides, results)
            finally:
                self._signs = before
            count += 1
            if count > _MOST_RESULTS:
                raise Unsupported("so many branches")
            return found

        return grow({})

    def _join(self, off: Cell, signs: Sequence[Signs], results: Sequence[Any]) -> Any:
        """Join the results of two branches entry by entry."""
        if isinstance(results[0], tuple):
            return tuple(self._join(off, signs, parts) for parts in zip(*results, strict=True))
        x, y = (np.asarray(part, dtype=object) for part in results)
        if x.shape != y.shape:
            raise Unsupported("a result whose shape depends on the variables")

        def choose(*entries: Any) -> Cell:
            return self.choice(off, *zip(signs, map(self.of, entries), strict=True))

        return np.asarray(cast(Any, np.frompyfunc)(choose, 2, 1)(x, y), dtype=object)

    def holds(self, off: Cell, signs: Signs) -> bool:
        """Return whether the sign of a cell is one of some; if it varies, it is in one branch."""
        scale, off = self.monic(off)  # all multiples of a cell share one condition
        if all(q == 0 for q, _ in off.terms):
            return (off.constant > 0) - (off.constant < 0) in signs
        signs = signs if scale > 0 else frozenset(-s for s in signs)
        # On a face any sign is possible, which says nothing about derivatives.
        on_face = any(self.whole.box[k].is_point for k in off.leaves)
        fits = (s for s in self._signs.get(off, ANY) if on_face or self.whole.narrow(off, {s}))
        possible = frozenset(fits)
        sides = possible & signs, possible - signs
        if not all(sides):
            return bool(sides[0])
        # A cell with branches may be 0 on a whole region, where it is then known.
        if EQUAL in sides and (piece := self.take_choices(off)) is not off:
            return self.holds(piece, signs)
        raise Parting(off, *sides)

    def on_path(self, x: Cell) -> Cell:
        """Return the result of a choice on one of its sides, and later on the other."""
        while isinstance(x, Choice):
            (signs, yes), (_, no) = x.sides
            x = yes if self.holds(x.off, signs) else no
        return x

    def take_choices(self, root: Cell) -> Cell:
        """Make a cell's choices, each in a branch of its own, or leave it if they are many."""
        while choices := [c for c in root.order if isinstance(c, Choice)]:
            if len({c.off for c in choices}) > _MOST_CHOICES:
                break
            root = self.replace(root, {choices[-1]: self.on_path(choices[-1])})
        for off in [off for off, signs in self._signs.items() if signs == EQUAL]:
            if off.is_linear:  # a variable known in this branch
                leaf = off.terms[0][1]
                root = self.replace(root, {leaf: leaf - off})
        return root

    # -- what references ask of a context

    def isfinite(self, x: Any) -> bool:
        return True

    def isnan(self, x: Any) -> bool:
        return False

    def fsum(self, terms: Any) -> Cell:
        return self.sum([(1, self.of(x)) for x in terms])

    def sign(self, x: Any) -> Any:
        return self.branching(lambda: 1 if x > 0 else -1 if x < 0 else 0)

    def extreme(self, which: str, row: list[Any]) -> Any:
        return reduce(getattr(self, f"{which}imum"), row)

    def __getattr__(self, name: str) -> Any:
        """Any function of the catalogue, as references call it."""
        try:
            find(name)
        except KeyError:
            raise AttributeError(name) from None
        return partial(self.function, name)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.of(a) for a in arguments]
        if op.kind == "smooth":
            from gradcli.reference.symbolic.cells import of_operation  # late, as it imports sympy

            return of_operation(self, op, static, given)
        try:
            return self.branching(lambda: op.reference(self, *given, **static))
        except AttributeError as error:
            raise Unsupported(f"{op.name}: {error}") from None

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """Apply an operation to arrays of cells, in all its branches."""
        return self.branch(lambda: super(Cells, self).apply(op, static, arrays))


class Region(ReferenceTape):
    """A box, and what is read of the program over it, with the nodes that cells were made for."""

    @precise()
    def __init__(
        self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str
    ) -> None:
        self.places = {leaf: place for place, leaf in enumerate(variables)}
        self.box = Box(Interval(arb(low), arb(high)) for low, high in variables.values())
        self.cells = Cells(self.box)
        self.table = {x: Algebra.map(self.cells.leaf, k) for x, k in self.places.items()}
        self.m = self.scalars = cast(Any, self.cells)
        self.values, self.precision, self.zeros = values, precision, NO_ZEROS
        self.origins: dict[Cell, Expr] = {}

    @precise()
    def read(self, *roots: Expr) -> list[Array]:
        """Arrays of cells. Raises Unsupported."""
        return [Algebra.map(self.cells.of, self.run(root)) for root in roots]

    @precise()
    def number(self, root: Expr) -> Cell:
        """Return a result, or the sum of its entries, as a cell, or raise Unsupported."""
        return self.cells.fsum(np.ravel(self.run(root)))

    @precise()
    def slope(self, cell: Cell, place: int) -> Cell:
        """Return the derivative of a cell by a variable."""
        return self.cells.slope(cell, self.cells.leaf(place))

    def leaf(self, node: Expr) -> Array:
        return exact_array(self.cells, self.values[node], node.kind)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        before = len(self.cells.all)
        found = self.cells.apply(op, node.static, operands)
        self.origins |= dict.fromkeys(self.cells.all[before:], node)
        return found

    def alias(self, node: Expr, x: Array) -> Array:
        """Give values an identity of their own, which numbers and variables have already."""

        def name_value(v: Any) -> Cell:
            v = self.cells.of(v)
            return v if isinstance(v, Leaf) or v.known is not None else Named(self.cells, (v,))

        return Algebra.map(name_value, x)

    def detach(self, node: Expr, x: Array) -> Array:
        if any(isinstance(v, Cell) and v.leaves for v in np.ravel(x)):
            raise Unsupported("a detached value, whose slopes are not those of its values")
        return x

    def gradient(self, y: Array, seed: Array, x: Array, traced: bool = False) -> Array:
        pairs = zip(np.ravel(y), np.ravel(seed), strict=True)
        total = self.cells.fsum(self.cells.of(v) * w for v, w in pairs)
        return Algebra.map(lambda v: self.cells.slope(total, self.cells.of(v)), x)
