"""The maker of cells: each once, with like terms and like factors gathered, and all branches taken where there are some.

So what is equal as a polynomial of cells is mostly one cell, and that is where intervals lose least: x - x is 0, and x*x never negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from flint import arb, fmpq

from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import (
    ANY,
    EQUAL,
    NOUGHT,
    UNIT,
    Branch,
    Call,
    Cell,
    Choice,
    Conditions,
    Evaluation,
    Factor,
    Filled,
    Leaf,
    Named,
    Number,
    Product,
    Signs,
    Sum,
)
from gradcli.reference.ranges.intervals import Box, thin

_SHARES = (0.3819, 0.7113, 0.1237)  # of the sides of the box, for points in it
_INFINITE = {"inf": 1, "-inf": -1}
_MOST_RESULTS = 64  # of the branches of one operation
_MOST_MASKS = 5  # of a function, for each of which it has twice as many branches

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
        self._points = [thin((x.low + (x.high - x.low) * arb(share) / (k + 1)).mid() for k, x in enumerate(box)) for share in _SHARES]
        self._signs: dict[Cell, Signs] = {}  # what is decided in a branch
        self.pi, self.euler = self.call("pi", None), self.call("euler", None)

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

    def number(self, value: fmpq) -> Number:
        return self._once(Number, value)

    def leaf(self, place: int) -> Leaf:
        return self._once(Leaf, place)

    def call(self, name: str, function: Any, *args: Cell) -> Cell:
        return self._once(Call, name, function, *args)

    def named(self, x: Cell) -> Cell:
        return x if isinstance(x, (Number, Leaf)) else Named(self, (x,))

    def filled(self, x: Cell) -> Cell:
        """A cell without its holes, where it has any: where what it divides by may be 0 in the box."""
        return self._once(Filled, (x,)) if any(self.whole.may_vanish(base) for c in x.order for base in c.divided) else x

    def choice(self, off: Cell, *sides: Branch, open_: bool = False) -> Cell:
        return sides[0].result if sides[0].result is sides[1].result else self._once(Choice, open_, off, *sides)

    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell:
        """The sum of multiples: sums in it are opened, and like terms gathered."""
        constant = NOUGHT
        terms: dict[Cell, fmpq] = {}
        for coefficient, cell in parts:
            if isinstance(cell, Number):
                constant += coefficient * cell.number
                continue
            opened = cell.terms if isinstance(cell, Sum) else [(UNIT, cell)]
            constant += coefficient * cell.constant if isinstance(cell, Sum) else NOUGHT
            for inner, term in opened:
                terms[term] = terms.get(term, NOUGHT) + coefficient * inner
        left = sorted(((q, c) for c, q in terms.items() if q != 0 or c.partial), key=lambda term: term[1].serial)
        if not left:
            return self.number(constant)
        if constant == 0 and len(left) == 1 and left[0][0] == 1:
            return left[0][1]
        return self._once(Sum, constant, *left)

    def monic(self, cell: Cell) -> tuple[fmpq, Cell]:
        """A number and a cell whose product is this one: the same cell for all multiples of it."""
        leading = next((q for q, _ in cell.terms if q != 0), UNIT) if isinstance(cell, Sum) else UNIT
        return leading, cell if leading == 1 else self.sum([(1 / leading, cell)])

    def product(self, parts: Iterable[tuple[Cell, fmpq]]) -> Cell:
        """The product of powers: products in it are opened, and like factors gathered; numbers become coefficients."""
        scale = UNIT
        known: dict[Cell, Factor] = {}
        pending = list(parts)[::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            leading, rest = self.monic(cell) if whole else (UNIT, cell)
            if isinstance(cell, Number) and whole and (cell.number != 0 or exponent > 0):
                scale *= cell.number ** int(exponent.p)
            elif leading != 1:
                scale *= leading ** int(exponent.p)
                pending.append((rest, exponent))
            else:
                plain = isinstance(cell, Number) and cell.number > 0
                inner = cell.factors if isinstance(cell, Product) and whole else [Factor(cell, UNIT, root=not whole and not plain)]
                for f in inner:
                    before = known.get(f.base, Factor(f.base, NOUGHT))
                    divides = before.divides or f.divides or (exponent < 0 and not plain)
                    known[f.base] = Factor(f.base, before.exponent + f.exponent * exponent, divides, before.root or f.root)
        factors = [f for f in known.values() if f.matters]
        if scale == 0:
            factors = [f for f in factors if f.divides or f.root or f.base.partial]
        return self.sum([(scale, self.of_factors(factors))])

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        if not factors:
            return self.one
        if len(factors) == 1 and factors[0] == Factor(factors[0].base, UNIT):
            return factors[0].base
        return self._once(Product, *sorted(factors, key=lambda f: f.base.serial))

    def raised(self, x: Cell, exponent: fmpq) -> Cell:
        return self.product([(x, exponent)])

    def floor(self, x: Any) -> Cell:
        x = self.of(x)
        return self.number(fmpq(x.number.floor())) if isinstance(x, Number) else self.call("floor", None, x)

    def mapped(self, root: Cell, known: Mapping[Cell, Cell], rule: Rule = lambda cell, found: None) -> Cell:
        """A cell made anew, with others in the places of those that are known, or that a rule gives."""
        found = dict(known)
        for cell in root.order:
            if cell not in found:
                other = rule(cell, found)
                is_same = other is None and all(found[a] is a for a in cell.args)
                found[cell] = cell if is_same else cell.rebuilt(found) if other is None else other
        return found[root]

    # -- derivatives, which are known but for points that fill no space, such as the zeros of an
    # analytic function that is not zero everywhere

    def slope(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        y = self.mapped(y, {}, self._without_thin_paths)
        found = self._slopes.setdefault(x, {x: self.one})
        for cell in y.order:
            if cell not in found:
                found[cell] = self.zero if all(found[a] is self.zero for a in cell.args) else cell.slope(found)
        return found[y]

    def _without_thin_paths(self, cell: Cell, found: dict[Cell, Cell]) -> Cell | None:
        """The same function but for points that fill no space, which have no part in a derivative."""
        if isinstance(cell, Choice) and len(cell.thick) < 2:
            return found[(cell.thick or cell.sides)[0].result]
        return cell if isinstance(cell, Named) else None

    def is_thin_piece(self, off: Cell) -> bool:
        """Tell whether a cell is a quotient of functions that are analytic on one convex set, and not 0 on all of it."""
        inner = {b for c in off.order if isinstance(c, Call) for a in c.args for b in a.order}
        if not all(c.regular for c in off.order) or any(b.divided for b in inner):
            return False
        values = (Evaluation(self, point, limits=False).value(off) for point in self._points)
        return any(x is not None and not events and 0 not in x for x, events in values)

    # -- relations and branches

    def relation(self, off: Cell, signs: Signs) -> bool | tuple[Cell, Signs]:
        """Tell whether the sign of a cell is one of some; if it varies, as a condition on a cell that all multiples share."""
        scale, off = self.monic(off)
        if isinstance(off, Number) or (isinstance(off, Sum) and all(q == 0 for q, _ in off.terms)):
            known = off.number if isinstance(off, Number) else off.constant
            return (known > 0) - (known < 0) in signs
        return off, signs if scale > 0 else frozenset(-s for s in signs)

    def compared(self, x: Cell, y: Cell, signs: Signs) -> bool | Cell:
        """Tell whether the sign of x - y is one of some: decided, or 1 where it is, and else 0."""
        a, b = (_INFINITE.get(c.name, 0) if isinstance(c, Call) else 0 for c in (x, y))
        known = self.relation(self.of(a - b) if a or b else self.sum([(UNIT, x), (-UNIT, y)]), signs)
        if isinstance(known, bool):
            return known
        off, signs = known
        return self.choice(off, Branch(signs, self.one), Branch(ANY - signs, self.zero))

    def branching(self, run: Callable[[], Any]) -> Cell:
        """Return what a reference gives, with a choice wherever it branches."""
        found: Cell = self.branched(lambda: self.of(run()), self.choice)
        return found

    def branched(self, run: Callable[[], Any], join: Callable[..., Any]) -> Any:
        """Return what something gives, joined of what both branches give wherever it branches."""
        results = 0

        def grown(known: dict[Cell, Signs]) -> Any:
            nonlocal results
            before, self._signs = self._signs, known
            try:
                found = run()
            except Parting as parting:
                return join(parting.off, *[Branch(signs, grown({**known, parting.off: signs})) for signs in parting.sides])
            finally:
                self._signs = before
            results += 1
            if results > _MOST_RESULTS:
                raise Unsupported("so many branches")
            return found

        return grown({})

    def decide(self, truth: Any) -> bool:
        """One branch of a truth, and later the other. A number is true where it is not 0."""
        return not self._holds(self._on_path(truth), EQUAL)

    def _holds(self, off: Cell, signs: Signs) -> bool:
        """Decide about the sign of a cell."""
        condition = self.relation(off, signs)
        if isinstance(condition, bool):
            return condition
        off, signs = condition
        whole = self.whole  # but on a face any sign is possible, which tells nothing of derivatives
        known = self._signs.get(off) or (ANY if any(whole.box[k].is_point for k in off.leaves) else whole.signs(off))
        if known <= signs or not known & signs:
            return bool(known <= signs)
        raise Parting(off, known & signs, known - signs)

    def _on_path(self, x: Cell) -> Cell:
        """The result of a choice on one of its sides, and later on the other."""
        while isinstance(x, Choice):
            x = x.sides[not self._holds(x.off, x.sides[0].signs)].result
        return x

    def place(self, x: Cell) -> int:
        """A whole number by which entries are addressed: one of those that a choice has, each in a branch of its own."""
        x = self._on_path(x)
        if not isinstance(x, Number) or x.number.q != 1:
            raise Unsupported("an index that depends on the variables")
        return int(x.number.p)

    def pieces(self, root: Cell) -> list[tuple[Conditions, Cell]]:
        """The cells without choices that a cell is one of everywhere, and where it is: a variable that is known there is replaced."""

        def rule(cell: Cell, found: dict[Cell, Cell]) -> Cell | None:
            if not isinstance(cell, Choice):
                return None
            return found[cell.sides[not self._holds(found[cell.off], cell.sides[0].signs)].result]

        def join(off: Cell, *sides: Any) -> list[tuple[Conditions, Cell]]:
            leaf = (off.args or (off,))[0]
            by = {leaf: leaf - off} if off.is_linear else {}
            found = [(((off, signs), *conditions), signs, piece) for signs, pieces in sides for conditions, piece in pieces]
            return [(conditions, self.mapped(piece, by) if signs == EQUAL else piece) for conditions, signs, piece in found]

        found: list[tuple[Conditions, Cell]] = self.branched(lambda: [((), self.mapped(root, {}, rule))], join)
        return found

    def lifted(self, root: Cell) -> Cell:
        """A function in which truths are numbers, as x*(x < 1) + (x >= 1), as a choice between functions of which none has such."""
        used = {a for c in root.order if not isinstance(c, (Choice, Named)) for a in c.args}
        masks = [c for c in root.order if c in used and isinstance(c, Choice) and c.is_mask]
        if not masks or len(masks) > _MOST_MASKS:
            return root
        return self.branching(lambda: self.mapped(root, {m: self.of(int(self.decide(m))) for m in masks}))

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
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            find(name)
        except KeyError:
            raise Unsupported(name) from None
        return partial(self.function, name)

    def partial(self, call: Call, place: int) -> Cell:
        """The derivative of a function by one of its arguments, which sympy knows."""
        from gradcli.reference.symbolic.cells import partial

        return partial(self, call, place)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.of(a) for a in arguments]
        if op.kind != "smooth":
            return self.branching(lambda: op.reference(self, *given, **static))
        from gradcli.reference.symbolic.cells import of_operation  # sympy, which arithmetic needs not

        return of_operation(self, op, static, given)

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """An operation on arrays of cells: where it is not elementwise, entry by entry of all its branches."""
        if op.elementwise:
            return self.elementwise(op, static, arrays)

        def join(off: Cell, *sides: Any) -> tuple[np.ndarray, ...]:
            signs, results = zip(*sides, strict=True)
            if any(x.shape != y.shape for x, y in zip(*results, strict=True)):
                raise Unsupported(f"{op.name}, whose result's shape depends on its operands")
            chosen = cast(Any, np.frompyfunc)(lambda *entries: self.choice(off, *map(Branch, signs, map(self.of, entries))), 2, 1)
            return tuple(np.asarray(chosen(x, y), dtype=object) for x, y in zip(*results, strict=True))

        apply = partial(super().apply, op, static, arrays)
        return self.branched(apply, join) if op.outputs > 1 else self.branched(lambda: (apply(),), join)[0]
