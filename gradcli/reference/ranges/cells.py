"""Functions of a few variables as cells: sums, products, calls and choices, each made once, each of cells made before it.

Sums gather like terms, products gather like factors, and numbers are folded. So what is equal as a polynomial of cells is mostly one cell,
and that is where intervals lose least: x - x is 0, and x*x never negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from flint import fmpq

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.functions import is_point, rational

NOUGHT, UNIT = fmpq(0), fmpq(1)
Signs = frozenset[int]
LESS, EQUAL, ANY = frozenset((-1,)), frozenset((0,)), frozenset((-1, 0, 1))
_MOST_CELLS = 20_000
_INFINITE = {"inf": 1, "-inf": -1}
TOTAL = frozenset(
    ("exp", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "erfc", "erfi", "pi", "e", "euler", "floor")
)  # defined everywhere
_MOST_PATHS = 64
_MOST_MASKS = 5  # of a function, for each of which it has twice as many branches


def _combination(combine: Callable[[Any, Cell, Cell], Any]) -> Callable[[Any, Any], Any]:
    """An operator of a cell and another, or a number, or an array of such."""

    def combined(x: Cell, y: Any) -> Any:
        if getattr(y, "ndim", 0):
            return Algebra.map(lambda entry: combined(x, entry), y)
        return combine(x.cells, x, x.cells.of(y))

    return combined


def _comparison(signs: Signs) -> Callable[[Any, Any], Any]:
    return _combination(lambda cells, x, y: cells.compared(x, y, signs))


class Cell:
    """A number that depends on the variables. Comparisons make choices between 1 and 0, which are decided branch by branch."""

    __array_ufunc__ = None

    def __init__(self, cells: Any, args: tuple[Cell, ...], partial: bool = False, smooth: bool = True) -> None:
        self.cells, self.args = cells, args
        self.leaves: frozenset[int] = frozenset().union(*[a.leaves for a in args])
        self.partial: bool = partial or any(a.partial for a in args)  # whether it may be undefined somewhere
        self.smooth: bool = smooth and all(a.smooth for a in args)  # whether no choice is in it
        self.serial = len(cells.all)
        cells.all.append(self)
        if self.serial >= _MOST_CELLS:
            raise Unsupported(f"more than {_MOST_CELLS:,} operations")

    __add__ = __radd__ = _combination(lambda cells, x, y: cells.sum([(UNIT, x), (UNIT, y)]))
    __sub__ = _combination(lambda cells, x, y: cells.sum([(UNIT, x), (-UNIT, y)]))
    __rsub__ = _combination(lambda cells, x, y: cells.sum([(UNIT, y), (-UNIT, x)]))
    __mul__ = __rmul__ = _combination(lambda cells, x, y: cells.product([(x, UNIT), (y, UNIT)]))
    __truediv__ = _combination(lambda cells, x, y: cells.product([(x, UNIT), (y, -UNIT)]))
    __rtruediv__ = _combination(lambda cells, x, y: cells.product([(y, UNIT), (x, -UNIT)]))
    __lt__, __le__ = _comparison(LESS), _comparison(LESS | EQUAL)
    __gt__, __ge__ = _comparison(ANY - LESS - EQUAL), _comparison(ANY - LESS)
    __eq__, __ne__ = _comparison(EQUAL), _comparison(ANY - EQUAL)
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return self.cells.sum([(-UNIT, self)])

    def __pos__(self) -> Cell:
        return self

    def __abs__(self) -> Any:
        return self.cells.magnitude(self)

    def __bool__(self) -> bool:
        return bool(self.cells.decide(self))

    def __int__(self) -> int:
        return int(self.cells.place(self))

    __index__ = __int__


class Number(Cell):
    """A rational number."""

    def __init__(self, cells: Cells, value: fmpq) -> None:
        super().__init__(cells, ())
        self.value, self.interval = value, rational(value)


class Leaf(Cell):
    """A variable of the box."""

    def __init__(self, cells: Cells, place: int) -> None:
        super().__init__(cells, ())
        self.place, self.leaves = place, frozenset((place,))


class Named(Cell):
    """A value under an identity of its own, by which something may be differentiated."""


class Filled(Named):
    """A function that is its limit where its formula has none: the cell of an operation that is defined everywhere."""


class Sum(Cell):
    """A constant and multiples of cells. A coefficient of 0 stands where a term that may be undefined has cancelled."""

    def __init__(self, cells: Cells, constant: fmpq, *terms: tuple[fmpq, Cell]) -> None:
        super().__init__(cells, tuple(c for _, c in terms))
        self.constant, self.terms = constant, terms
        self.weights = rational(constant), [rational(q) for q, _ in terms]


class Factor(NamedTuple):
    """A base with its exponent, all told; whether it was divided by, and whether a root was taken of it."""

    base: Cell
    exponent: fmpq
    divides: bool
    root: bool

    @property
    def matters(self) -> bool:
        return bool(self.exponent != 0 or self.divides or self.root or self.base.partial)


class Product(Cell):
    """Powers of cells."""

    def __init__(self, cells: Cells, *factors: Factor) -> None:
        super().__init__(cells, tuple(f.base for f in factors), any(f.divides or f.root for f in factors))
        self.factors = factors


class Ratio(NamedTuple):
    """A factor base**k*total**(-k/p) of a product, where total is q*base**p + rest."""

    base: Cell
    total: Cell
    k: fmpq
    p: fmpq
    q: fmpq
    rest: Cell


class Call(Cell):
    """A function by its name, which is sympy's."""

    def __init__(self, cells: Cells, name: str, function: Any, *args: Cell) -> None:
        super().__init__(cells, args, name not in TOTAL, name != "floor")
        self.name, self.function = name, function


Conditions = tuple[tuple[Cell, Signs], ...]


class Path(NamedTuple):
    """The signs that lead to a result."""

    conditions: Conditions
    result: Cell


class Choice(Cell):
    """The result of the path whose conditions hold. ``open_``: a derivative, which is asked for beside kinks and not on them."""

    def __init__(self, cells: Cells, open_: bool, *paths: Path) -> None:
        self.paths, self.open_ = paths, open_
        found = dict.fromkeys([cell for path in paths for cell in (*(off for off, _ in path.conditions), path.result)])
        super().__init__(cells, tuple(found), smooth=False)


def is_linear(cell: Cell) -> bool:
    """Tell whether a cell has its least and its largest value on the boundary of any box."""
    return isinstance(cell, Leaf) or (isinstance(cell, Sum) and all(isinstance(c, Leaf) for c in cell.args))


def _is_mask(cell: Cell) -> bool:
    """Tell whether a cell is 1 where something holds, and else 0."""
    return isinstance(cell, Choice) and all(isinstance(p.result, Number) and p.result.value in (0, 1) for p in cell.paths)


Made = TypeVar("Made", bound=Cell)


class Cells:
    """Makes cells, each once, takes all branches where one is met, and counts what is done.

    whole  an evaluation over the box
    work   how many cells were evaluated
    """

    whole: Any

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        self.all: list[Cell] = []
        self._orders: dict[Cell, list[Cell]] = {}
        self._ratios: dict[Cell, tuple[list[Ratio], Cell]] = {}
        self.zero, self.one = self.number(NOUGHT), self.number(UNIT)
        self.work = 0
        self._signs: dict[Cell, Signs] | None = None  # what was decided since the branch began
        self._taken: list[bool] = []
        self._planned: list[bool] = []

    def order(self, cell: Cell) -> list[Cell]:
        """All cells that one is made of, each after its own."""
        if cell not in self._orders:
            seen, stack = {cell}, [cell]
            while stack:
                new = [a for a in stack.pop().args if a not in seen]
                seen.update(new)
                stack += new
            self._orders[cell] = sorted(seen, key=lambda c: c.serial)
        return self._orders[cell]

    def _once(self, make: type[Made], *parts: Any) -> Made:
        key = (make, *parts)
        if key not in self._made:
            self._made[key] = make(self, *parts)
        found: Made = self._made[key]
        return found

    def of(self, x: Any) -> Cell:
        """A cell as it is, a number exactly."""
        if isinstance(x, Cell):
            return x
        value = x.item() if hasattr(x, "item") else x
        exact = value if hasattr(value, "as_integer_ratio") else float(value)
        if isinstance(exact, float) and not math.isfinite(exact):
            return self.call(str(exact), None, ())
        return self.number(fmpq(*exact.as_integer_ratio()))

    def number(self, value: fmpq) -> Number:
        return self._once(Number, value)

    def leaf(self, place: int) -> Leaf:
        return self._once(Leaf, place)

    def named(self, x: Cell) -> Cell:
        return x if isinstance(x, (Number, Leaf)) else Named(self, (x,))

    def filled(self, x: Cell) -> Cell:
        """A cell without its holes, where it has any: where what it divides by may be 0 in the box."""
        divided = [f.base for c in self.order(x) if isinstance(c, Product) for f in c.factors if f.divides]
        return self._once(Filled, (x,)) if any(map(self.whole.may_vanish, divided)) else x

    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell:
        """The sum of multiples: sums in it are opened, and like terms gathered."""
        constant = NOUGHT
        terms: dict[Cell, fmpq] = {}
        for coefficient, cell in parts:
            if isinstance(cell, Number):
                constant += coefficient * cell.value
            elif isinstance(cell, Sum):
                constant += coefficient * cell.constant
                for inner, term in cell.terms:
                    terms[term] = terms.get(term, NOUGHT) + coefficient * inner
            else:
                terms[cell] = terms.get(cell, NOUGHT) + coefficient
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
        known: dict[Cell, tuple[fmpq, bool, bool]] = {}
        pending = list(parts)[::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            leading, rest = self.monic(cell) if whole else (UNIT, cell)
            if isinstance(cell, Number) and whole and (cell.value != 0 or exponent > 0):
                scale *= cell.value ** int(exponent.p)
            elif leading != 1:
                scale *= leading ** int(exponent.p)
                pending.append((rest, exponent))
            else:
                plain = isinstance(cell, Number) and cell.value > 0
                inner = cell.factors if isinstance(cell, Product) and whole else [Factor(cell, UNIT, False, not whole and not plain)]
                for f in inner:
                    e, divides, root = known.get(f.base, (NOUGHT, False, False))
                    divides = divides or f.divides or (exponent < 0 and not plain)
                    known[f.base] = e + f.exponent * exponent, divides, root or f.root
        factors = [f for f in (Factor(base, *how) for base, how in known.items()) if f.matters]
        if scale == 0:
            factors = [f for f in factors if f.divides or f.root or f.base.partial]
        return self.sum([(scale, self.of_factors(factors))])

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        if not factors:
            return self.one
        if len(factors) == 1 and factors[0].exponent == 1 and not factors[0].divides and not factors[0].root:
            return factors[0].base
        return self._once(Product, *sorted(factors, key=lambda f: f.base.serial))

    def ratios(self, cell: Product) -> tuple[list[Ratio], Cell]:
        """The factors of a product over sums of which they are a part, and the rest of it."""
        if cell not in self._ratios:
            found: list[Ratio] = []
            left = {f.base: f.exponent for f in cell.factors}
            for total in [f.base for f in cell.factors if f.exponent < 0]:
                terms = {c: q for q, c in total.terms} if isinstance(total, Sum) else {total: UNIT}
                for base, p in [(b, UNIT * n) for b, e in left.items() if e > 0 and e.q == 1 for n in (1, 2)]:
                    power = self.raised(base, p)
                    q = terms.get(power, NOUGHT)
                    k = min(left[base], (-p * left[total]).floor() * UNIT)
                    if q > 0 and k >= 1:
                        found.append(Ratio(base, total, k, p, q, self.sum([(UNIT, total), (-q, power)])))
                        left[base] -= k
                        left[total] += k / p
            self._ratios[cell] = found, self.product([(b, e) for b, e in left.items() if e != 0]) if found else cell
        return self._ratios[cell]

    def raised(self, x: Cell, exponent: fmpq) -> Cell:
        return self.product([(x, exponent)])

    def call(self, name: str, function: Any, args: Sequence[Cell]) -> Cell:
        return self._once(Call, name, function, *args)

    def floor(self, x: Any) -> Cell:
        x = self.of(x)
        return self.number(fmpq(x.value.floor())) if isinstance(x, Number) else self.call("floor", None, (x,))

    def relation(self, off: Cell, signs: Signs) -> bool | tuple[Cell, Signs]:
        """Tell whether the sign of a cell is one of some; if it varies, as a condition on a cell that all multiples share."""
        scale, off = self.monic(off)
        if isinstance(off, Number) or (isinstance(off, Sum) and all(q == 0 for q, _ in off.terms)):
            known = off.value if isinstance(off, Number) else off.constant
            return (known > 0) - (known < 0) in signs
        return off, signs if scale > 0 else frozenset(-s for s in signs)

    def compared(self, x: Cell, y: Cell, signs: Signs) -> bool | Cell:
        """Tell whether the sign of x - y is one of some: decided, or 1 where it is, and else 0."""
        a, b = (_INFINITE.get(c.name, 0) if isinstance(c, Call) else 0 for c in (x, y))
        known = self.relation(self.of(a - b) if a or b else self.sum([(UNIT, x), (-UNIT, y)]), signs)
        if isinstance(known, bool):
            return known
        off, signs = known
        return self.choice([Path(((off, signs),), self.one), Path(((off, ANY - signs),), self.zero)])

    def choice(self, paths: Sequence[Path], open_: bool = False) -> Cell:
        if all(path.result is paths[0].result for path in paths):
            return paths[0].result
        return self._once(Choice, open_, *paths)

    def rebuilt(self, cell: Cell, found: Mapping[Cell, Cell]) -> Cell:
        """The same of other cells; what a choice depends on stays."""
        if all(found[a] is a for a in cell.args):
            return cell
        if isinstance(cell, Sum):
            return self.sum([(UNIT, self.number(cell.constant)), *((q, found[c]) for q, c in cell.terms)])
        if isinstance(cell, Product):
            return self.product([(found[f.base], f.exponent) for f in cell.factors])
        if isinstance(cell, Call):
            return self.call(cell.name, cell.function, [found[a] for a in cell.args])
        if isinstance(cell, Choice):
            return self.choice([Path(p.conditions, found[p.result]) for p in cell.paths], cell.open_)
        (x,) = cell.args
        return self.filled(found[x]) if isinstance(cell, Filled) else found[x]

    def replaced(self, root: Cell, known: Mapping[Cell, Cell]) -> Cell:
        """A cell with others in the places of some that it is made of."""
        found = dict(known)
        for cell in self.order(root):
            if cell not in found:
                found[cell] = self.rebuilt(cell, found)
        return found[root]

    # -- branches

    def branching(self, run: Callable[[], Any]) -> Cell:
        """Return what a reference gives, with a path for each of its branches."""
        return self.choice([Path(conditions, self.of(found)) for conditions, found in self.ways(run)])

    def ways(self, run: Callable[[], Any]) -> list[tuple[Conditions, Any]]:
        """The results of all branches, each with the signs that lead to it."""
        before = self._signs, self._taken, self._planned
        found: list[tuple[Conditions, Any]] = []
        planned: list[bool] | None = []
        try:
            while planned is not None:
                self._signs, self._taken, self._planned = {}, [], planned
                result = run()
                found.append((tuple(self._signs.items()), result))
                if len(found) > _MOST_PATHS:
                    raise Unsupported("so many branches")
                taken = self._taken
                while taken and not taken[-1]:
                    taken.pop()
                planned = [*taken[:-1], False] if taken else None
        finally:
            self._signs, self._taken, self._planned = before
        return found

    def decide(self, truth: Any) -> bool:
        """One branch of a truth, and later the other. A number is true where it is not 0."""
        return not self._holds(self._on_path(truth), EQUAL)

    def _holds(self, off: Cell, signs: Signs) -> bool:
        """Decide about the sign of a cell."""
        condition = self.relation(off, signs)
        if isinstance(condition, bool):
            return condition
        if self._signs is None:
            raise Unsupported("a branch outside of any operation")
        off, signs = condition
        whole = self.whole  # but on a face any sign is possible, which tells nothing of derivatives
        known = self._signs.get(off) or (ANY if any(is_point(whole.box[k]) for k in off.leaves) else whole.signs(off))
        if known <= signs or not known & signs:
            return bool(known <= signs)
        place = len(self._taken)
        holds = self._planned[place] if place < len(self._planned) else True
        self._taken.append(holds)
        self._signs[off] = known & signs if holds else known - signs
        return holds

    def _on_path(self, x: Cell) -> Cell:
        """The result of a choice on one of its paths, and later on the others."""
        while isinstance(x, Choice):
            x = self._result(x, {})
        return x

    def _result(self, choice: Choice, known: Mapping[Cell, Cell]) -> Cell:
        """The result of one path of a choice. ``known``: what stands for the cells that it depends on."""
        *others, last = choice.paths  # one of them is taken
        path = next((p for p in others if all(self._holds(known.get(off, off), signs) for off, signs in p.conditions)), last)
        return path.result

    def place(self, x: Cell) -> int:
        """A whole number by which entries are addressed: one of those that a choice has, each in a branch of its own."""
        x = self._on_path(x)
        if not isinstance(x, Number) or x.value.q != 1:
            raise Unsupported("an index that depends on the variables")
        return int(x.value.p)

    def pieces(self, root: Cell) -> list[tuple[Conditions, Cell]]:
        """The cells without choices that a cell is one of everywhere, and where it is: a variable that is known there is replaced."""

        def run() -> Cell:
            found: dict[Cell, Cell] = {}
            for cell in self.order(root):
                found[cell] = found[self._result(cell, found)] if isinstance(cell, Choice) else self.rebuilt(cell, found)
            return found[root]

        return [(conditions, self.replaced(piece, self._solved(conditions))) for conditions, piece in self.ways(run)]

    def _solved(self, conditions: Conditions) -> dict[Cell, Cell]:
        """The variables that are sums of others where some conditions hold."""
        found: dict[Cell, Cell] = {}
        for off, signs in conditions:
            if signs == EQUAL and is_linear(off):
                leaf = off if isinstance(off, Leaf) else off.args[0]
                found[leaf] = leaf - off
        return found

    def lifted(self, root: Cell) -> Cell:
        """A function in which truths are numbers, as x*(x < 1) + (x >= 1), as a choice between functions of which none has such."""
        order = self.order(root)
        used = {a for c in order if not isinstance(c, (Choice, Named)) for a in c.args}
        masks = [c for c in order if c in used and _is_mask(c)]
        if not masks or len(masks) > _MOST_MASKS:
            return root
        return self.branching(lambda: self.replaced(root, {m: self.of(int(self.decide(m))) for m in masks}))
