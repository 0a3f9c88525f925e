"""Functions of a few variables as cells: sums, products, calls and choices, each made once, each of cells made before it.

What is equal as a polynomial of cells is mostly one cell: sums gather like terms, products gather like factors. That is where intervals
lose least: x - x is 0, and x*x never negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flint import fmpq

from gradcli.reference.algebra import Unsupported

NOUGHT, UNIT = fmpq(0), fmpq(1)
MOST_CELLS = 20_000


class Cell:
    """A number that depends on the variables. Operators make cells; comparisons make truths, which the recorder decides."""

    __slots__ = ("args", "cells", "leaves", "partial", "serial", "smooth")
    __array_ufunc__ = None

    def __init__(self, cells: Cells, args: tuple[Cell, ...], partial: bool = False, smooth: bool = True) -> None:
        self.cells, self.args = cells, args
        self.leaves: frozenset[int] = frozenset().union(*[a.leaves for a in args])
        self.partial = partial or any(a.partial for a in args)  # whether it may be undefined somewhere
        self.smooth = smooth and all(a.smooth for a in args)  # whether no choice is in it
        self.serial = cells.next_serial()

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.sum([(UNIT, x), (UNIT, y)]))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.sum([(UNIT, x), (-UNIT, y)]))

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.sum([(UNIT, y), (-UNIT, x)]))

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.product([(x, UNIT), (y, UNIT)]))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.product([(x, UNIT), (y, -UNIT)]))

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda c, x, y: c.product([(y, UNIT), (x, -UNIT)]))

    def __neg__(self) -> Cell:
        return self.cells.sum([(-UNIT, self)])

    def __pos__(self) -> Cell:
        return self

    def __abs__(self) -> Cell:
        return self.cells.recorder.magnitude(self)

    def __lt__(self, other: Any) -> Any:
        return other > 0 if _is_infinite(other) else self._with(other, lambda c, x, y: c.less(x, y))

    def __gt__(self, other: Any) -> Any:
        return other < 0 if _is_infinite(other) else self._with(other, lambda c, x, y: c.less(y, x))

    def __le__(self, other: Any) -> Any:
        return other > 0 if _is_infinite(other) else self._with(other, lambda c, x, y: c.less(y, x, False))

    def __ge__(self, other: Any) -> Any:
        return other < 0 if _is_infinite(other) else self._with(other, lambda c, x, y: c.less(x, y, False))

    def __eq__(self, other: object) -> Any:
        return False if _is_infinite(other) else self._with(other, lambda c, x, y: c.equal(x, y))

    def __ne__(self, other: object) -> Any:
        return True if _is_infinite(other) else self._with(other, lambda c, x, y: c.equal(x, y, False))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return self.cells.recorder.decide(self)

    def __int__(self) -> int:
        return self.cells.recorder.whole(self)

    __index__ = __int__

    def _with(self, other: Any, make: Any) -> Any:
        if getattr(other, "ndim", 0):
            return NotImplemented
        return make(self.cells, self, self.cells.of(other))


def _is_infinite(x: Any) -> bool:
    """Whether something is an infinite float, or none: what no cell is."""
    return isinstance(x, float) and not math.isfinite(x)


class Number(Cell):
    """A rational number."""

    __slots__ = ("value",)

    def __init__(self, cells: Cells, value: fmpq) -> None:
        super().__init__(cells, ())
        self.value = value


class Leaf(Cell):
    """A variable of the box."""

    __slots__ = ("place",)

    def __init__(self, cells: Cells, place: int) -> None:
        super().__init__(cells, ())
        self.place, self.leaves = place, frozenset((place,))


class Named(Cell):
    """A value under an identity of its own, by which something may be differentiated."""

    __slots__ = ()


class Sum(Cell):
    """A constant and multiples of cells. A coefficient of 0 stands where a term that may be undefined has cancelled."""

    __slots__ = ("constant", "terms")

    def __init__(self, cells: Cells, constant: fmpq, terms: tuple[tuple[fmpq, Cell], ...]) -> None:
        super().__init__(cells, tuple(c for _, c in terms))
        self.constant, self.terms = constant, terms


class Factor(NamedTuple):
    """A base with its exponent, all told; whether it was divided by, and whether a root was taken of it."""

    base: Cell
    exponent: fmpq
    divides: bool
    root: bool


class Product(Cell):
    """Powers of cells."""

    __slots__ = ("factors",)

    def __init__(self, cells: Cells, factors: tuple[Factor, ...]) -> None:
        partial = any(f.divides or f.root for f in factors)
        super().__init__(cells, tuple(f.base for f in factors), partial)
        self.factors = factors


class Call(Cell):
    """A function by its name, which is sympy's."""

    __slots__ = ("function", "name")

    def __init__(self, cells: Cells, name: str, function: Any, args: tuple[Cell, ...]) -> None:
        super().__init__(cells, args, True)
        self.name, self.function = name, function


class Step(Cell):
    """A whole number beside a number, or its sign: "floor", "ceil" or "sign"."""

    __slots__ = ("name",)

    def __init__(self, cells: Cells, name: str, x: Cell) -> None:
        super().__init__(cells, (x,), smooth=False)
        self.name = name


class Compared(Cell):
    """Whether x is less than y, or equal to it. ``open_``: but for points that fill no space."""

    __slots__ = ("equality", "open_")

    def __init__(self, cells: Cells, x: Cell, y: Cell, equality: bool, open_: bool) -> None:
        super().__init__(cells, (x, y), smooth=False)
        self.equality, self.open_ = equality, open_


class Path(NamedTuple):
    """What truths lead to a result."""

    truths: tuple[tuple[Cell, bool], ...]
    result: Cell


class Choice(Cell):
    """The result of the path whose truths hold. ``open_``: a derivative, which is asked for beside kinks and not on them."""

    __slots__ = ("open_", "order", "paths")

    def __init__(self, cells: Cells, paths: tuple[Path, ...], open_: bool) -> None:
        self.paths, self.open_ = paths, open_
        self.order: dict[Any, list[Cell]] = {}
        found = dict.fromkeys([cell for path in paths for cell in (*(t for t, _ in path.truths), path.result)])
        super().__init__(cells, tuple(found), smooth=False)


class Cells:
    """Makes cells, each once."""

    def __init__(self) -> None:
        from gradcli.reference.ranges.recording import Recorder

        self._made: dict[Any, Any] = {}
        self._all: list[Cell] = []
        self._last = 0
        self.zero, self.one = self.number(NOUGHT), self.number(UNIT)
        self.recorder = Recorder(self)

    def next_serial(self) -> int:
        self._last += 1
        if self._last > MOST_CELLS:
            raise Unsupported(f"more than {MOST_CELLS:,} operations")
        return self._last

    @property
    def last(self) -> int:
        """How many cells there are."""
        return len(self._all)

    def since(self, count: int) -> list[Cell]:
        """The cells made after so many."""
        return self._all[count:]

    def _once(self, key: Any, make: Any, *parts: Any) -> Any:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(self, *parts)
            self._all.append(found)
        return found

    def of(self, x: Any) -> Cell:
        """A cell as it is, a number exactly."""
        if isinstance(x, Cell):
            return x
        item = getattr(x, "item", None)
        return self.number(exactly(x if item is None else item()))

    def number(self, value: fmpq) -> Number:
        found: Number = self._once((Number, value), Number, value)
        return found

    def leaf(self, place: int) -> Leaf:
        found: Leaf = self._once((Leaf, place), Leaf, place)
        return found

    def named(self, x: Cell) -> Cell:
        return x if isinstance(x, (Number, Leaf)) else Named(self, (x,))

    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell:
        """The sum of multiples: sums in it are opened, and like terms gathered."""
        constant, terms = NOUGHT, {}
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
        found: Cell = self._once((Sum, constant, *left), Sum, constant, tuple(left))
        return found

    def product(self, parts: Iterable[tuple[Cell, fmpq]]) -> Cell:
        """The product of powers: products in it are opened, and like factors gathered; numbers become coefficients."""
        scale = UNIT
        known: dict[Cell, list[Any]] = {}
        pending = [(cell, exponent) for cell, exponent in parts][::-1]
        while pending:
            cell, exponent = pending.pop()
            whole = exponent.q == 1
            if isinstance(cell, Number) and whole and (cell.value != 0 or exponent > 0):
                scale *= cell.value ** int(exponent.p)
            elif isinstance(cell, Sum) and whole and len(cell.terms) == 1 and cell.constant == 0 and cell.terms[0][0] != 0:
                scale *= cell.terms[0][0] ** int(exponent.p)
                pending.append((cell.terms[0][1], exponent))
            elif isinstance(cell, Product) and whole:
                for f in cell.factors:
                    self._gather(known, f.base, f.exponent * exponent, f.divides or exponent < 0, f.root)
            else:
                self._gather(known, cell, exponent, exponent < 0, not whole)
        if scale == 0:
            left = [Factor(base, e, d, r) for base, (e, d, r) in known.items() if d or r or base.partial]
            return self.sum([(NOUGHT, self._product(left))]) if left else self.zero
        factors = [Factor(base, e, d, r) for base, (e, d, r) in known.items() if e != 0 or d or r or base.partial]
        return self.sum([(scale, self._product(factors))]) if factors else self.number(scale)

    @staticmethod
    def _gather(known: dict[Cell, list[Any]], base: Cell, exponent: fmpq, divides: bool, root: bool) -> None:
        if base in known:
            before = known[base]
            known[base] = [before[0] + exponent, before[1] or divides, before[2] or root]
        else:
            known[base] = [exponent, divides, root]

    def of_factors(self, factors: Sequence[Factor]) -> Cell:
        return self._product(factors) if factors else self.one

    def _product(self, factors: Sequence[Factor]) -> Cell:
        if len(factors) == 1 and factors[0].exponent == 1 and not factors[0].divides and not factors[0].root:
            return factors[0].base
        ordered = tuple(sorted(factors, key=lambda f: f.base.serial))
        found: Cell = self._once((Product, *ordered), Product, ordered)
        return found

    def power(self, x: Cell, exponent: fmpq) -> Cell:
        return self.product([(x, exponent)])

    def call(self, name: str, function: Any, args: Sequence[Cell]) -> Cell:
        found: Cell = self._once((Call, name, function, *args), Call, name, function, tuple(args))
        return found

    def step(self, name: str, x: Cell) -> Cell:
        found: Cell = self._once((Step, name, x), Step, name, x)
        return found

    def less(self, x: Cell, y: Cell, holds: bool = True) -> Any:
        """Whether x < y, or whether not; decided where both are numbers."""
        known = self._difference(x, y)
        if known is not None:
            return (known < 0) is holds
        truth = self._once((Compared, x, y, False, False), Compared, x, y, False, False)
        return truth if holds else self.negated(truth)

    def equal(self, x: Cell, y: Cell, holds: bool = True) -> Any:
        known = self._difference(x, y)
        if known is not None:
            return (known == 0) is holds
        truth = self._once((Compared, x, y, True, False), Compared, x, y, True, False)
        return truth if holds else self.negated(truth)

    def _difference(self, x: Cell, y: Cell) -> fmpq | None:
        off = self.sum([(UNIT, x), (-UNIT, y)])
        if isinstance(off, Number):
            return off.value
        return off.constant if isinstance(off, Sum) and all(q == 0 for q, _ in off.terms) else None

    def negated(self, truth: Cell) -> Cell:
        return self.choice([Path(((truth, True),), self.zero), Path(((truth, False),), self.one)])

    def choice(self, paths: Sequence[Path], open_: bool = False) -> Cell:
        if all(path.result is paths[0].result for path in paths):
            return paths[0].result
        found: Cell = self._once((Choice, tuple(paths), open_), Choice, tuple(paths), open_)
        return found

    def opened(self, truth: Cell, table: Mapping[Cell, Cell] | None = None) -> Cell:
        """A truth but for points that fill no space."""
        found: dict[Cell, Cell] = {}
        for cell in behind([truth]):
            if isinstance(cell, Compared):
                x, y = cell.args
                found[cell] = self._once((Compared, x, y, cell.equality, True), Compared, x, y, cell.equality, True)
            elif isinstance(cell, Choice) and any(t in found for path in cell.paths for t, _ in path.truths):
                paths = [Path(tuple((found.get(t, t), holds) for t, holds in p.truths), found.get(p.result, p.result)) for p in cell.paths]
                found[cell] = self.choice(paths)
        return found.get(truth, truth)


def behind(roots: Iterable[Cell]) -> list[Cell]:
    """All cells that some are made of, each after its own."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for cell in stack.pop().args:
            if cell not in seen:
                seen.add(cell)
                stack.append(cell)
    return sorted(seen, key=lambda cell: cell.serial)


def exactly(x: Any) -> fmpq:
    """A Python number, or one of mpmath's, as a rational number. Raises Unsupported for what is not finite."""
    parts = getattr(x, "_mpf_", None)
    if parts is not None:
        sign, mantissa, exponent, _ = parts
        if not mantissa and exponent:
            raise Unsupported("a number that is not finite")
        value = fmpq(int(mantissa)) * fmpq(2) ** exponent if abs(exponent) < 1 << 20 else None
        if value is None:
            raise Unsupported("a number of so many digits")
        return -value if sign else value
    if isinstance(x, (bool, int)):
        return fmpq(int(x))
    try:
        return fmpq(*float(x).as_integer_ratio())
    except (OverflowError, ValueError):
        raise Unsupported("a number that is not finite") from None
