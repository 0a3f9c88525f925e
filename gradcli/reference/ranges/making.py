"""The maker of cells: each once, with like terms and like factors gathered, and all branches taken
where there are some.

So what is equal as a polynomial of cells is mostly one cell, and that is where intervals lose
least: x - x is 0, and x*x never negative. A `Region` reads a program over a box as cells, by the
references of its operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from flint import arb, fmpq

from gradcli.graph.nodes import Expr
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges import cells as kinds
from gradcli.reference.ranges.cells import (
    ANY,
    EQUAL,
    NOUGHT,
    UNIT,
    Branch,
    Cell,
    Choice,
    Evaluation,
    Factor,
    Product,
    Signs,
    Sum,
)
from gradcli.reference.ranges.intervals import Box, Interval, precise, thin
from gradcli.reference.tape import NO_ZEROS, Array, ReferenceTape, exact_array

Ends = tuple[float, float]
_SHARES = (0.3819, 0.7113, 0.1237)  # of the sides of the box, for points in it
_MOST_RESULTS = 64  # of the branches of one operation
_MOST_CHOICES = 5  # of a function, for each of which it has twice as many branches

Made = TypeVar("Made", bound=Cell)
Rule = Callable[[Cell, dict[Cell, Cell]], Cell | None]


class Parting(Unsupported):
    """The sign of a cell that varies, and that has to be decided."""

    def __init__(self, off: Cell, *sides: Signs) -> None:
        super().__init__("a branch outside of any operation")
        self.off, self.sides = off, sides


class Cells(Algebra):
    """Context that a record's reference receives where scalars are cells over a box.

    whole  an evaluation over the box
    work   how many cells were evaluated
    """

    overflows = False
    zero: Cell
    one: Cell

    def __init__(self, box: Box) -> None:
        self.precision, self.m, self.inf, self.nan = "float64", self, math.inf, math.nan
        self._made: dict[Any, Any] = {}
        self.all: list[Cell] = []
        self.zero, self.one = self.number(NOUGHT), self.number(UNIT)
        self.work = 0
        self.whole = Evaluation(self, box, limits=False)
        self._slopes: dict[Cell, dict[Cell, Cell]] = {}
        self.points = [
            thin((x.low + (x.high - x.low) * arb(share) / (k + 1)).mid() for k, x in enumerate(box))
            for share in _SHARES
        ]
        self._signs: dict[Cell, Signs] = {}  # what is decided in a branch
        self.pi, self.euler = self.call("pi", None), self.call("euler", None)
        self._infinite = {self.of(math.inf): 1, self.of(-math.inf): -1}

    def _once(self, make: type[Made], *parts: Any) -> Made:
        if (make, *parts) not in self._made:
            self._made[make, *parts] = make(self, *parts)
        found: Made = self._made[make, *parts]
        return found

    def of(self, x: Any) -> Cell:
        """A cell as it is, a number exactly."""
        if isinstance(x, Cell):
            return x
        value = x.item() if hasattr(x, "item") else x
        exact = value if hasattr(value, "as_integer_ratio") else float(value)
        if isinstance(exact, float) and not math.isfinite(exact):
            return self.call(str(exact), None)
        return self.number(fmpq(*exact.as_integer_ratio()))

    mpf = of

    def number(self, value: fmpq) -> Cell:
        return self._once(Sum, value)

    def leaf(self, place: int) -> kinds.Leaf:
        return self._once(kinds.Leaf, place)

    def call(self, name: str, function: Any, *args: Cell) -> Cell:
        return self._once(kinds.Call, name, function, *args)

    def name_cell(self, x: Cell) -> Cell:
        return x if x.known is not None or isinstance(x, kinds.Leaf) else kinds.Named(self, (x,))

    def fill(self, x: Cell) -> Cell:
        """A cell without its holes, where it has any: where what it divides by may be 0 in
        the box.
        """
        return (
            self._once(kinds.Filled, (x,))
            if any(self.whole.may_vanish(base) for c in x.order for base in c.divided)
            else x
        )

    def choice(self, off: Cell, *sides: Branch) -> Cell:
        first, second = sides
        return first.result if first.result is second.result else self._once(Choice, off, *sides)

    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell:
        """The sum of multiples: sums in it are opened, and like terms gathered."""
        constant = NOUGHT
        terms: dict[Cell, fmpq] = {}
        for coefficient, cell in parts:
            constant += coefficient * cell.constant
            for inner, term in cell.terms:
                terms[term] = terms.get(term, NOUGHT) + coefficient * inner
        left = sorted(
            ((q, c) for c, q in terms.items() if q != 0 or c.partial),
            key=lambda term: term[1].serial,
        )
        if constant == 0 and len(left) == 1 and left[0][0] == 1:
            return left[0][1]
        return self._once(Sum, constant, *left)

    def monic(self, cell: Cell) -> tuple[fmpq, Cell]:
        """A number and a cell whose product is this one: the same cell for all multiples of it."""
        leading = next((q for q, _ in cell.terms if q != 0), UNIT)
        return leading, cell if leading == 1 else self.sum([(1 / leading, cell)])

    def product(self, parts: Iterable[tuple[Cell, fmpq]]) -> Cell:
        """The product of powers: products in it are opened, and like factors gathered; numbers
        become coefficients.
        """
        scale = UNIT
        known: dict[Cell, Factor] = {}
        pending = list(parts)[::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            leading, rest = self.monic(cell) if whole else (UNIT, cell)
            if cell.known is not None and whole and (cell.known != 0 or exponent > 0):
                scale *= cell.known ** int(exponent.p)
            elif leading != 1:
                scale *= leading ** int(exponent.p)
                pending.append((rest, exponent))
            else:
                plain = cell.known is not None and cell.known > 0
                inner = cell.factors if whole else (Factor(cell, UNIT, root=not plain),)
                for f in inner:
                    before = known.get(f.base, Factor(f.base, NOUGHT))
                    divides = before.divides or f.divides or (exponent < 0 and not plain)
                    known[f.base] = Factor(
                        f.base,
                        before.exponent + f.exponent * exponent,
                        divides,
                        before.root or f.root,
                    )
        factors = [f for f in known.values() if f.matters]
        if scale == 0:
            factors = [f for f in factors if f.divides or f.root or f.base.partial]
        return self.sum([(scale, self.of_factors(factors))])

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        if len(factors) == 1 and factors[0] == Factor(factors[0].base, UNIT):
            return factors[0].base
        ordered = sorted(factors, key=lambda f: f.base.serial)
        return self._once(Product, *ordered) if factors else self.one

    def raise_to(self, x: Cell, exponent: fmpq) -> Cell:
        return self.product([(x, exponent)])

    def floor(self, x: Any) -> Cell:
        x = self.of(x)
        return (
            self.call("floor", None, x) if x.known is None else self.number(fmpq(x.known.floor()))
        )

    def map_cells(
        self, root: Cell, known: Mapping[Cell, Cell], rule: Rule = lambda cell, found: None
    ) -> Cell:
        """A cell made anew, with others in the places of those that are known, or that a rule
        gives.
        """
        found = dict(known)
        for cell in root.order:
            if cell not in found:
                other = rule(cell, found)
                if other is None:
                    same = all(found[a] is a for a in cell.args)
                    other = cell if same else cell.rebuilt(found)
                found[cell] = other
        return found[root]

    # -- derivatives, which are known but for points that fill no space, such as the zeros of an
    # analytic function that is not zero everywhere

    def slope(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        y = self.without_thin_paths(y)
        found = self._slopes.setdefault(x, {x: self.one})
        for cell in y.order:
            if cell not in found:
                found[cell] = (
                    self.zero
                    if all(found[a] is self.zero for a in cell.args)
                    else cell.slope(found)
                )
        return found[y]

    # -- branches

    def compare(self, x: Cell, y: Cell, signs: Signs) -> Cell:
        """1 where the sign of x - y is one of some, and else 0."""
        a, b = (self._infinite.get(c, 0) for c in (x, y))
        off = self.number(fmpq(a - b)) if a or b else x - y
        return self.branching(lambda: self._holds(off, signs))

    def branching(self, run: Callable[[], Any]) -> Cell:
        """Return what a reference gives, with a choice wherever it branches."""
        found = self.branch(run)
        return self.of(found[()] if isinstance(found, np.ndarray) else found)

    def branch(self, run: Callable[[], Any]) -> Any:
        """Return what something gives, an array or several, joined of what both branches give
        wherever it branches.
        """
        results = 0

        def grow(known: dict[Cell, Signs]) -> Any:
            nonlocal results
            before, self._signs = self._signs, known
            try:
                found = run()
            except Parting as parting:
                off = parting.off
                return self._join(
                    off, parting.sides, [grow({**known, off: signs}) for signs in parting.sides]
                )
            finally:
                self._signs = before
            results += 1
            if results > _MOST_RESULTS:
                raise Unsupported("so many branches")
            return found

        return grow({})

    def _join(self, off: Cell, signs: Sequence[Signs], results: Sequence[Any]) -> Any:
        """The results of two branches as one, entry by entry."""
        if isinstance(results[0], tuple):
            return tuple(self._join(off, signs, parts) for parts in zip(*results, strict=True))
        x, y = (np.asarray(part, dtype=object) for part in results)
        if x.shape != y.shape:
            raise Unsupported("a result whose shape depends on the variables")

        def choose(*entries: Any) -> Cell:
            return self.choice(off, *map(Branch, signs, map(self.of, entries)))

        return np.asarray(cast(Any, np.frompyfunc)(choose, 2, 1)(x, y), dtype=object)

    def decide(self, truth: Any) -> bool:
        """One branch of a truth, and later the other. A number is true where it is not 0."""
        return not self._holds(self._on_path(truth), EQUAL)

    def _holds(self, off: Cell, signs: Signs) -> bool:
        """Tell whether the sign of a cell is one of some; if it varies, in one branch, and later in
        the other.
        """
        scale, off = self.monic(off)  # all multiples of a cell are one condition
        if all(q == 0 for q, _ in off.terms):
            return (off.constant > 0) - (off.constant < 0) in signs
        signs = signs if scale > 0 else frozenset(-s for s in signs)
        # on a face any sign is possible, which tells nothing of derivatives
        on_face = any(self.whole.box[k].is_point for k in off.leaves)
        possible = self._signs.get(off) or (ANY if on_face else self.whole.signs(off))
        sides = possible & signs, possible - signs
        if not all(sides):
            return bool(sides[0])
        # what has branches may be 0 on a region, which then is known
        if EQUAL in sides and (piece := self.take_choices(off)) is not off:
            return self._holds(piece, signs)
        raise Parting(off, *sides)

    def _on_path(self, x: Cell) -> Cell:
        """The result of a choice on one of its sides, and later on the other."""
        while isinstance(x, Choice):
            x = x.sides[not self._holds(x.off, x.sides[0].signs)].result
        return x

    def place(self, x: Cell) -> int:
        """A whole number by which entries are addressed: one of those that a choice has, each in a
        branch of its own.
        """
        x = self._on_path(x)
        if x.known is None or x.known.q != 1:
            raise Unsupported("an index that depends on the variables")
        return int(x.known.p)

    def take_choices(self, root: Cell) -> Cell:
        """A cell with its choices made, each in a branch of its own; if they are many, as it is.

        A variable that is known in a branch is replaced there.
        """
        while (choices := [c for c in root.order if isinstance(c, Choice)]) and len(
            {c.off for c in choices}
        ) <= _MOST_CHOICES:
            root = self.map_cells(root, {choices[-1]: self._on_path(choices[-1])})
        for off in [off for off, signs in self._signs.items() if signs == EQUAL and off.is_linear]:
            leaf = off.terms[0][1]
            root = self.map_cells(root, {leaf: leaf - off})
        return root

    def without_thin_paths(self, root: Cell) -> Cell:
        """The same function but for points that fill no space, which have no part in a
        derivative.
        """

        def rule(cell: Cell, found: dict[Cell, Cell]) -> Cell | None:
            if isinstance(cell, Choice) and len(cell.thick) < 2:
                return found[(cell.thick or cell.sides)[0].result]
            return cell if isinstance(cell, kinds.Named) else None

        return self.map_cells(root, {}, rule)

    def lift(self, root: Cell) -> Cell:
        """A function in which truths are numbers, as x*(x < 1) + (x >= 1), as a choice between
        functions of which none has such.
        """
        used = {a for c in root.order if not isinstance(c, (Choice, kinds.Named)) for a in c.args}
        masks = [c for c in root.order if isinstance(c, Choice) and c.is_mask and c in used]
        if len(masks) > _MOST_CHOICES:
            return root
        return self.branching(lambda: self.map_cells(root, {m: self._on_path(m) for m in masks}))

    # -- what references ask of a context

    def isfinite(self, x: Any) -> bool:
        return True

    def isnan(self, x: Any) -> bool:
        return False

    def fsum(self, terms: Any) -> Cell:
        return self.sum([(UNIT, self.of(x)) for x in terms])

    def ceil(self, x: Any) -> Any:
        return -self.floor(-self.of(x))

    def sign(self, x: Any) -> Any:
        return self.branching(lambda: 1 if x > 0 else -1 if x < 0 else 0)

    def extreme(self, which: str, row: list[Any]) -> Any:
        best = row[0]
        for x in row[1:]:
            best = self.function(f"{which}imum", best, x)
        return best

    def __getattr__(self, name: str) -> Any:
        """Any function of the catalogue, as references call it."""
        try:
            find(name)
        except KeyError:
            raise AttributeError(name) from None
        return partial(self.function, name)

    def partial(self, call: kinds.Call, place: int) -> Cell:
        """The derivative of a function by one of its arguments, which sympy knows."""
        from gradcli.reference.symbolic.cells import partial

        return partial(self, call, place)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.of(a) for a in arguments]
        if op.kind == "smooth":
            from gradcli.reference.symbolic.cells import of_operation  # sympy

            return of_operation(self, op, static, given)
        try:
            return self.branching(lambda: op.reference(self, *given, **static))
        except AttributeError as error:
            raise Unsupported(f"{op.name}: {error}") from None

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """An operation on arrays of cells: where it is not elementwise, entry by entry of all its
        branches.
        """
        if op.elementwise:
            return self.elementwise(op, static, arrays)
        return self.branch(lambda: super(Cells, self).apply(op, static, arrays))


class Region(ReferenceTape):
    """A box, and what is read of the program over it.

    places   the nodes that are variables
    origins  the nodes that cells were first made for
    """

    def __init__(
        self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str
    ) -> None:
        with precise():
            self.box: Box = tuple(Interval(arb(low), arb(high)) for low, high in variables.values())
            self.cells = Cells(self.box)
            self.table = {
                leaf: Algebra.map(self.cells.leaf, place) for place, leaf in enumerate(variables)
            }
        self.m = self.scalars = cast(Any, self.cells)
        self.values, self.precision, self.zeros = values, precision, NO_ZEROS
        self.places = {leaf: place for place, leaf in enumerate(variables)}
        self.origins: dict[Cell, Expr] = {}

    def read(self, *roots: Expr) -> list[Array]:
        """Arrays of cells. Raises Unsupported."""
        with precise():
            return [Algebra.map(self.cells.of, self.run(root)) for root in roots]

    def number(self, root: Expr) -> Cell:
        """A result, or the sum of the entries of one, as a cell. Raises Unsupported."""
        (found,) = self.read(root)
        with precise():
            return self.cells.lift(self.cells.fsum(np.ravel(found)))

    def slope(self, cell: Cell, place: int) -> Cell:
        """The derivative of a cell by a variable."""
        with precise():
            return self.cells.slope(cell, self.cells.leaf(place))

    def leaf(self, node: Expr) -> Array:
        return exact_array(self.cells, self.values[node], node.kind)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        before = len(self.cells.all)
        found = self.cells.apply(op, node.static, operands)
        self.origins |= dict.fromkeys(self.cells.all[before:], node)
        return found

    def alias(self, node: Expr, x: Array) -> Array:
        return Algebra.map(lambda v: self.cells.name_cell(self.cells.of(v)), x)

    def detach(self, node: Expr, x: Array) -> Array:
        if any(isinstance(v, Cell) and v.leaves for v in np.ravel(x)):
            raise Unsupported("a detached value, whose slopes are not those of its values")
        return x

    def gradient(self, y: Array, seed: Array, x: Array, traced: bool = False) -> Array:
        total = self.cells.fsum(
            self.cells.of(v) * w for v, w in zip(np.ravel(y), np.ravel(seed), strict=True)
        )
        return Algebra.map(lambda v: self.cells.slope(total, self.cells.of(v)), x)
