"""Functions of a few variables as cells: sums, products, calls and choices, each made once, each of cells made before it.

What is equal as a polynomial of cells is mostly one cell: sums gather like terms, products gather like factors. That is where intervals
lose least: x - x is 0, and x*x never negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from flint import fmpq

from gradcli.reference.ranges.intervals import Rational

TOTAL = frozenset(
    ("exp", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "erfc", "erfi", "pi", "e", "euler")
)  # defined everywhere
NOUGHT, UNIT = fmpq(0), fmpq(1)


class Maker(Protocol):
    """What makes cells."""

    recorder: Any

    def next_serial(self) -> int: ...
    def of(self, x: Any) -> Cell: ...
    def sum(self, parts: Iterable[tuple[fmpq, Cell]]) -> Cell: ...
    def product(self, parts: Iterable[tuple[Cell, fmpq]]) -> Cell: ...
    def power(self, x: Cell, exponent: fmpq) -> Cell: ...
    def number(self, value: fmpq) -> Cell: ...
    def call(self, name: str, function: Any, args: Sequence[Cell]) -> Cell: ...
    def less(self, x: Cell, y: Cell, holds: bool = True) -> Any: ...
    def equal(self, x: Cell, y: Cell, holds: bool = True) -> Any: ...


class Cell:
    """A number that depends on the variables. Operators make cells; comparisons make truths, which the recorder decides."""

    __slots__ = ("args", "cells", "leaves", "partial", "serial", "smooth")
    __array_ufunc__ = None

    def __init__(self, cells: Maker, args: tuple[Cell, ...], partial: bool = False, smooth: bool = True) -> None:
        self.cells, self.args = cells, args
        self.leaves: frozenset[int] = frozenset().union(*[a.leaves for a in args])
        self.partial: bool = partial or any(a.partial for a in args)  # whether it may be undefined somewhere
        self.smooth: bool = smooth and all(a.smooth for a in args)  # whether no choice is in it
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
        found: Cell = self.cells.recorder.magnitude(self)
        return found

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
        return bool(self.cells.recorder.decide(self))

    def __int__(self) -> int:
        return int(self.cells.recorder.place(self))

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

    __slots__ = ("known", "value")

    def __init__(self, cells: Maker, value: fmpq) -> None:
        super().__init__(cells, ())
        self.value, self.known = value, Rational(value)


class Leaf(Cell):
    """A variable of the box."""

    __slots__ = ("place",)

    def __init__(self, cells: Maker, place: int) -> None:
        super().__init__(cells, ())
        self.place, self.leaves = place, frozenset((place,))


class Named(Cell):
    """A value under an identity of its own, by which something may be differentiated."""

    __slots__ = ()


class Filled(Named):
    """A function that is its limit where its formula has none: the cell of an operation that is defined everywhere."""

    __slots__ = ()


class Sum(Cell):
    """A constant and multiples of cells. A coefficient of 0 stands where a term that may be undefined has cancelled."""

    __slots__ = ("constant", "known", "terms")

    def __init__(self, cells: Maker, constant: fmpq, terms: tuple[tuple[fmpq, Cell], ...]) -> None:
        super().__init__(cells, tuple(c for _, c in terms))
        self.constant, self.terms = constant, terms
        signs = {UNIT: 1, -UNIT: -1, NOUGHT: 0}  # of coefficients that need no product
        self.known = Rational(constant), [(Rational(q) if q not in signs else signs[q], c) for q, c in terms]


class Factor(NamedTuple):
    """A base with its exponent, all told; whether it was divided by, and whether a root was taken of it."""

    base: Cell
    exponent: fmpq
    divides: bool
    root: bool


class Product(Cell):
    """Powers of cells."""

    __slots__ = ("factors",)

    def __init__(self, cells: Maker, factors: tuple[Factor, ...]) -> None:
        partial = any(f.divides or f.root for f in factors)
        super().__init__(cells, tuple(f.base for f in factors), partial)
        self.factors = factors


class Call(Cell):
    """A function by its name, which is sympy's."""

    __slots__ = ("function", "name")

    def __init__(self, cells: Maker, name: str, function: Any, args: tuple[Cell, ...]) -> None:
        super().__init__(cells, args, name not in TOTAL)
        self.name, self.function = name, function


class Step(Cell):
    """A whole number beside a number, or its sign: "floor", "ceil" or "sign"."""

    __slots__ = ("name",)

    def __init__(self, cells: Maker, name: str, x: Cell) -> None:
        super().__init__(cells, (x,), smooth=False)
        self.name = name


class Compared(Cell):
    """Whether x is less than y, or equal to it. ``open_``: but for points that fill no space."""

    __slots__ = ("equality", "open_")

    def __init__(self, cells: Maker, x: Cell, y: Cell, equality: bool, open_: bool) -> None:
        super().__init__(cells, (x, y), smooth=False)
        self.equality, self.open_ = equality, open_


class Path(NamedTuple):
    """The comparisons that lead to a result."""

    truths: tuple[tuple[Compared, bool], ...]
    result: Cell


class Choice(Cell):
    """The result of the path whose truths hold. ``open_``: a derivative, which is asked for beside kinks and not on them."""

    __slots__ = ("open_", "order", "paths")

    def __init__(self, cells: Maker, paths: tuple[Path, ...], open_: bool) -> None:
        self.paths, self.open_ = paths, open_
        self.order: dict[Any, list[Cell]] = {}
        found = dict.fromkeys([cell for path in paths for cell in (*(t for t, _ in path.truths), path.result)])
        super().__init__(cells, tuple(found), smooth=False)


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
