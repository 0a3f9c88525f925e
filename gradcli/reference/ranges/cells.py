"""Functions of a few variables as cells: numbers, variables, sums, products, calls and choices,
each of cells made before it, and the maker of them: each once, with like terms and like factors
gathered, and all branches taken where there are some.

A kind of cell knows its range over a box, with what is the matter with it there (poles, edges of
its domain, kinks, jumps), its derivative, and how it is made anew of other cells. What is equal as
a polynomial of cells is mostly one cell, and that is where intervals lose least: x - x is 0, and
x*x never negative. A `Region` reads a program over a box as cells, by the references of its
operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from flint import arb, fmpq

from gradcli.graph.nodes import Expr
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.intervals import (
    DOMAIN,
    EVERYTHING,
    JUMP,
    KINK,
    ONE,
    POLE,
    ZERO,
    Box,
    Interval,
    precise,
    range_of,
    thin,
    with_side,
    x_log_x,
)
from gradcli.reference.tape import NO_ZEROS, Array, ReferenceTape, exact_array

NOUGHT, UNIT = fmpq(0), fmpq(1)
Signs = frozenset[int]
LESS, EQUAL, ANY = frozenset((-1,)), frozenset((0,)), frozenset((-1, 0, 1))
_MOST_CELLS = 20_000
# defined everywhere
_TOTAL = "exp sin cos sinh cosh tanh asinh atan erf erfc erfi pi e euler floor"
_ON_INTERVALS = ("log", "asin", "acos", "acosh", "atanh")  # analytic within an interval
_ORDERS = (1, 2, 3, 4)  # of derivatives, for quotients whose parts vanish together
GAPS = {DOMAIN, POLE}


class Event(NamedTuple):
    """A pole, an edge of the domain, a kink or a jump of a cell somewhere in a box."""

    kind: str
    cell: Cell


Events = frozenset[Event]
NONE: Events = frozenset()


class Value(NamedTuple):
    """The range of a cell; None where it is defined nowhere in the box."""

    interval: Interval | None
    events: Events = NONE

    @property
    def kinds(self) -> set[str]:
        """The kinds of what is the matter."""
        return {e.kind for e in self.events}


def _combination(combine: Callable[[Any, Cell, Cell], Any]) -> Callable[[Any, Any], Any]:
    """An operator of a cell and another, or a number, or an array of such."""

    def on_cells(x: Cell, y: Any) -> Any:
        if getattr(y, "ndim", 0):
            return Algebra.map(lambda entry: on_cells(x, entry), y)
        return combine(x.cells, x, x.cells.of(y))

    return on_cells


class Cell:
    """A number that depends on the variables.

    Each is a sum, if of itself alone, and a product. Comparisons make choices between 1 and 0,
    which are decided branch by branch.

    known    its value, of a number
    partial  whether it may be undefined somewhere
    smooth   whether it has no kinks and jumps, if what it is made of has none
    regular  whether it is analytic on a convex set, if what it is made of is
    """

    __array_ufunc__ = None
    known: fmpq | None = None
    constant = NOUGHT
    smooth = regular = True

    def __init__(self, cells: Cells, args: tuple[Cell, ...], partial: bool = False) -> None:
        self.cells, self.args = cells, args
        self.terms: tuple[tuple[fmpq, Cell], ...] = ((UNIT, self),)
        self.factors: tuple[Factor, ...] = (Factor(self, UNIT),)
        self.leaves: frozenset[int] = frozenset().union(*[a.leaves for a in args])
        self.partial: bool = partial or any(a.partial for a in args)
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
    __lt__ = _combination(lambda cells, x, y: cells.compare(x, y, LESS))
    __le__ = _combination(lambda cells, x, y: cells.compare(x, y, LESS | EQUAL))
    __gt__ = _combination(lambda cells, x, y: cells.compare(y, x, LESS))
    __ge__ = _combination(lambda cells, x, y: cells.compare(y, x, LESS | EQUAL))
    __eq__ = _combination(lambda cells, x, y: cells.compare(x, y, EQUAL))
    __ne__ = _combination(lambda cells, x, y: cells.compare(x, y, ANY - EQUAL))
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return self.cells.sum([(-UNIT, self)])

    def __pos__(self) -> Cell:
        return self

    def __abs__(self) -> Any:
        return self.cells.function("abs", self)

    def __bool__(self) -> bool:
        return bool(self.cells.decide(self))

    @cached_property
    def order(self) -> list[Cell]:
        """All cells that it is made of, each after its own."""
        seen, stack = {self}, [self]
        while stack:
            new = [a for a in stack.pop().args if a not in seen]
            seen.update(new)
            stack += new
        return sorted(seen, key=lambda c: c.serial)

    @cached_property
    def is_smooth(self) -> bool:
        return all(c.smooth for c in self.order)

    @cached_property
    def is_linear(self) -> bool:
        return all(isinstance(c, Leaf) for _, c in self.terms)

    @cached_property
    def is_thin(self) -> bool:
        """Tell whether its zeros surely fill no space.

        A quotient of functions that are analytic on one convex set is 0 on all of it, or hardly
        anywhere: it is not where it is not 0 at a point.
        """
        inner = {b for c in self.order if isinstance(c, Call) for a in c.args for b in a.order}
        if not all(c.regular for c in self.order) or any(
            f.divides for b in inner for f in b.factors
        ):
            return False
        x, events = self.cells.somewhere.value(self)
        return x is not None and not events and 0 not in x

    def operand_ranges(self, at: Evaluation) -> tuple[list[Interval] | None, Events]:
        """The ranges of what it is made of, unless some of it has no value, and what is the matter
        with that.
        """
        values = [at.table[a] for a in self.args]
        ranges = [x for x, _ in values if x is not None]
        events = NONE.union(*[events for _, events in values])
        return ranges if len(ranges) == len(values) else None, events

    def value(self, at: Evaluation) -> Value:
        return at.table[self.args[0]]

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        """Its derivative, from those of what it is made of, of which one at least is not 0."""
        return found[self.args[0]]

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        """The same of other cells; what a choice depends on stays."""
        return found[self.args[0]]


class Leaf(Cell):
    """A variable of the box."""

    def __init__(self, cells: Cells, place: int) -> None:
        super().__init__(cells, ())
        self.place, self.leaves = place, frozenset((place,))

    def value(self, at: Evaluation) -> Value:
        return Value(at.box[self.place])


class Named(Cell):
    """A value under an identity of its own, by which something may be differentiated."""


class Sum(Cell):
    """A constant and multiples of cells; a number without these.

    One that may be undefined and has cancelled stays, 0 times.
    """

    def __init__(self, cells: Cells, constant: fmpq, *terms: tuple[fmpq, Cell]) -> None:
        super().__init__(cells, tuple(c for _, c in terms))
        self.constant, self.terms, self.known = constant, terms, None if terms else constant
        self.weights = Interval.of(constant), [None if q == 1 else Interval.of(q) for q, _ in terms]

    def value(self, at: Evaluation) -> Value:
        ranges, events = self.operand_ranges(at)
        if ranges is None:
            return Value(None, events)
        total, weights = self.weights
        for weight, x in zip(weights, ranges, strict=True):
            total = total + (x if weight is None else weight * x)
        if not total.is_finite:
            limit = self._without_poles(at)
            if limit is not None:
                return Value(limit, frozenset(Event(DOMAIN, cell) for _, cell in events))
        return Value(total, events)

    def _without_poles(self, at: Evaluation) -> Interval | None:
        """The range where poles of the terms cancel, at the zero of one cell that they are divided
        by.
        """
        terms = [(q, c) for q, c in self.terms if q != 0]
        divisors = [f for _, c in terms for f in c.factors if f.exponent < 0]
        divisors = [f for f in divisors if (x := at.value(f.base).interval) and 0 in x]
        if len({f.base for f in divisors}) != 1:
            return None
        worst = min(divisors, key=lambda f: f.exponent)
        above = [(self.constant, self.cells.raise_to(worst.base, -worst.exponent))]
        for q, c in terms:
            power = sum((f.exponent for f in c.factors if f.base is worst.base), -worst.exponent)
            rest = [f for f in c.factors if f.base is not worst.base]
            more = [Factor(worst.base, power)] if power else []
            above.append((q, self.cells.of_factors([*rest, *more])))
        found = self.cells.of_factors([Factor(self.cells.sum(above), UNIT), worst])
        return found.limit(at) if isinstance(found, Product) else None

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.sum([(q, found[c]) for q, c in self.terms])

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.sum(
            [(self.constant, self.cells.one), *((q, found[c]) for q, c in self.terms)]
        )


class Factor(NamedTuple):
    """A base with its exponent, all told; whether it was divided by, and whether a root was taken
    of it.
    """

    base: Cell
    exponent: fmpq
    divides: bool = False
    root: bool = False

    @property
    def matters(self) -> bool:
        return bool(self.exponent != 0 or self.divides or self.root or self.base.partial)


class Product(Cell):
    """Powers of cells."""

    def __init__(self, cells: Cells, *factors: Factor) -> None:
        super().__init__(
            cells, tuple(f.base for f in factors), any(f.divides or f.root for f in factors)
        )
        self.factors = factors
        self.regular = all(not f.root or f.base.is_linear for f in factors)

    def value(self, at: Evaluation) -> Value:
        found = self._with_logarithm(at)
        if found is not None:
            return found
        ranges, events = self.operand_ranges(at)
        if ranges is None:
            return Value(None, events)
        total: Interval | None = Interval(ONE, ONE)
        divisors = []
        for f, x in zip(self.factors, ranges, strict=True):
            if f.root and x.low < 0:
                events |= {Event(DOMAIN, self)}
                if x.high < 0:
                    return Value(None, events)
            if f.divides and 0 in x:
                divisors.append(x)
            total = total and total * x**f.exponent
        total = total and total & self._by_shares(at)
        if divisors:  # where a numerator may vanish, too, there may be no pole
            above = [x for f, x in zip(self.factors, ranges, strict=True) if f.exponent >= 0]
            events |= {Event(DOMAIN if any(0 in x for x in above) else POLE, self)}
            total = self.limit(at) or (None if any(x.is_point for x in divisors) else total)
        return Value(total, events)

    @cached_property
    def shares(self) -> tuple[list[tuple[Cell, fmpq, fmpq, fmpq, Cell]], Cell]:
        """The factors u**k*total**(-k/p) where total is q*u**p + rest, as (u, k, p, q, rest), and
        the other factors.
        """
        found, left = [], {f.base: f.exponent for f in self.factors}
        for total in [base for base, exponent in left.items() if exponent < 0]:
            for q, power in total.terms:
                u, p, *_ = power.factors[0]
                k = min(left.get(u, NOUGHT), (-p * left[total]).floor() * UNIT)
                if len(power.factors) == 1 and p in (1, 2) and q > 0 and k.q == 1 and k >= 1:
                    found.append((u, k, p, q, self.cells.sum([(UNIT, total), (-q, power)])))
                    left[u] -= k
                    left[total] += k / p
        others = [(b, e) for b, e in left.items() if e != 0]
        return found, self.cells.product(others) if found else self

    def _by_shares(self, at: Evaluation) -> Interval:
        """Another bound: with w = u**p >= 0, u**k*(q*w + rest)**(-k/p) is a power of q + rest/w,
        which falls with w.
        """
        shares, others = self.shares
        total = at.value(others).interval if shares else None
        for u, k, p, q, rest in shares:
            x, y = at.table[u].interval, at.value(rest).interval
            if total is None or x is None or y is None or y.low < 0 or (p == 1 and x.low < 0):
                return EVERYTHING
            sign = Interval(x.low.sgn(), x.high.sgn())
            total = total * sign**k * (Interval.of(q) + y * (x**p).inverse()) ** (-k / p)
        return total or EVERYTHING

    @cached_property
    def logarithm(self) -> tuple[Cell, Factor, Cell] | None:
        """The logarithm, the power and the other factors of x**p*log(x), or x**p*log(-x)."""
        for f in self.factors:
            if isinstance(f.base, Call) and f.base.name == "log" and f.exponent == 1:
                scale, x = self.cells.monic(f.base.args[0])
                for g in self.factors:
                    if g.base is x and g.exponent > 0 and abs(scale) == 1:
                        rest = [h for h in self.factors if h is not f and h is not g]
                        return f.base, g, self.cells.of_factors(rest)
        return None

    def _with_logarithm(self, at: Evaluation) -> Value | None:
        """The range of x**p*log(x) where x may be 0, with its limit there, which is 0."""
        if self.logarithm is None:
            return None
        log, power, others = self.logarithm
        (x, events), (rest, more) = at.table[power.base], at.value(others)
        if x is None or rest is None or 0 not in x or not x.is_finite:
            return None
        x = Interval(ZERO, x.high) if log.args[0] is power.base else Interval(x.low, ZERO)
        found = Interval.of(1 / power.exponent) * x_log_x(x**power.exponent) * rest
        return Value(found, events | more | {Event(DOMAIN, log)})

    @cached_property
    def quotient(self) -> tuple[int, Interval, list[Cell]] | None:
        """A quotient by (x - root)**n of a variable: the place of that, the root, and the numerator
        with its derivatives up to that of order n, divided by n!.
        """
        divisors = [f for f in self.factors if f.exponent < 0]
        if len(divisors) != 1:
            return None
        base, n = divisors[0].base, -divisors[0].exponent
        leaf, root = base.terms[0][1] if len(base.terms) == 1 else base, Interval.of(-base.constant)
        if not isinstance(leaf, Leaf) or not root.is_point or n not in _ORDERS:
            return None
        above = [self.cells.of_factors([f for f in self.factors if f.base is not base])]
        with suppress(Unsupported):
            for k in range(int(n.p)):
                slope = self.cells.slope(above[-1], leaf)
                above.append(self.cells.sum([(UNIT / (k + 1), slope)]))
            return leaf.place, root, above
        return None

    def limit(self, at: Evaluation) -> Interval | None:
        """The range of a quotient such as sin(x)/x, whose numerator vanishes at the root of what it
        divides by: by Taylor's theorem that of the derivative. The theorem is about what lies
        between the root and any other number, so that the root has to be in the box.
        """
        place, root, above = (at.limits and self.quotient) or (0, EVERYTHING, [])
        if not above or not above[0].is_smooth or root.low not in at.box[place]:
            return None
        there = Evaluation(self.cells, with_side(at.box, place, root), limits=False)
        here = Evaluation(self.cells, at.box, limits=False)
        zeros = [there.value(part).interval for part in above[:-1]]
        values = [here.value(part) for part in above]
        vanishes = all(x is not None and x.is_zero for x in zeros)
        return values[-1].interval if vanishes and not any(v.events for v in values) else None

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        """The product rule. What was divided by, or a root, stays one."""
        terms = []
        for i, f in enumerate(self.factors):
            if f.exponent != 0 and found[f.base] is not self.cells.zero:
                less = f._replace(exponent=f.exponent - 1, divides=f.divides or f.exponent < 1)
                rest = [g for g in (*self.factors[:i], less, *self.factors[i + 1 :]) if g.matters]
                terms.append((f.exponent, self.cells.of_factors(rest) * found[f.base]))
        return self.cells.sum(terms)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.product([(found[f.base], f.exponent) for f in self.factors])


class Call(Cell):
    """A function by its name, which is sympy's."""

    def __init__(self, cells: Cells, name: str, function: Any, *args: Cell) -> None:
        super().__init__(cells, args, name not in _TOTAL.split())
        self.name, self.function, self.smooth = name, function, name != "floor"
        self.regular = self.smooth and (
            name in _TOTAL.split() or (name in _ON_INTERVALS and args[0].is_linear)
        )

    def value(self, at: Evaluation) -> Value:
        ranges, events = self.operand_ranges(at)
        if ranges is None:
            return Value(None, events)
        found, work = range_of(self.name, self.function, ranges)
        self.cells.work += work
        if found.kind is not None:
            events |= {Event(found.kind, self)}
        return Value(found.interval, events)

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        if self.name == "floor":
            return self.cells.zero
        moving = [i for i, a in enumerate(self.args) if found[a] is not self.cells.zero]
        return self.cells.fsum(self.cells.partial(self, i) * found[self.args[i]] for i in moving)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.call(self.name, self.function, *[found[a] for a in self.args])


class Branch(NamedTuple):
    """A result, and the signs with which it is taken."""

    signs: Signs
    result: Cell


class Choice(Cell):
    """One of two results, by the sign of a cell. A derivative has none where that is 0, unless this
    fills some space.
    """

    smooth = regular = False

    def __init__(self, cells: Cells, off: Cell, *sides: Branch) -> None:
        super().__init__(cells, tuple(dict.fromkeys((off, *(side.result for side in sides)))))
        self.off, self.sides = off, sides

    @cached_property
    def thick(self) -> list[Branch]:
        """The sides that fill some space."""
        return [side for side in self.sides if side.signs != EQUAL or not self.off.is_thin]

    def value(self, at: Evaluation) -> Value:
        """The range of the only side that is possible, or of both."""
        events, possible = at.table[self.off].events, at.signs(self.off)
        sides = [side for side in self.sides if side.signs & possible] or self.sides
        ends: list[arb] = []
        for signs, result in sides:
            there = at.narrow(self.off, signs)
            if there is not None:
                x, more = there.value(result)
                events |= {e for e in more if 0 in signs or not self._is_elsewhere(e)}
                ends += x.ends if x is not None else ()
        if len(sides) > 1:
            apart = self._gap(at)
            if (
                apart is None or not apart.is_zero
            ):  # where nothing is known of the gap, nothing is said
                unknown = apart is None or not apart.is_finite
                events |= {Event(DOMAIN if unknown else JUMP, self)}
            elif len(self.thick) > 1:
                events |= {Event(KINK, self)}
        return Value(Interval.around(*ends) if ends else None, events)

    def _is_elsewhere(self, event: Event) -> bool:
        """Tell whether there is no value only where the cell is 0, by which is divided."""
        parts = [f for f in event.cell.factors if f.divides or f.root]
        return event.kind == DOMAIN and bool(parts) and all(f.base is self.off for f in parts)

    def _gap(self, at: Evaluation) -> Interval | None:
        """How far the results are apart where one turns into the other."""
        there = at.narrow(self.off, EQUAL)
        apart = self.cells.monic(self.sides[0].result - self.sides[1].result)[1]
        return Interval(ZERO, ZERO) if there is None else there.value(apart).interval

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        beside = ANY - EQUAL if self.off.is_thin else ANY
        sides = [Branch(signs & beside, found[x]) for signs, x in self.sides]
        return self.cells.choice(self.off, *sides)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        sides = [Branch(signs, found[x]) for signs, x in self.sides]
        return self.cells.choice(self.off, *sides)


class Evaluation:
    """Cells over one box, and those of which more is known there.

    limits  whether quotients whose parts vanish together have their limits
    """

    def __init__(
        self, cells: Cells, box: Box, known: Mapping[Cell, Value] | None = None, limits: bool = True
    ) -> None:
        self.cells, self.box, self.known, self.limits = cells, box, known or {}, limits
        self.table: dict[Cell, Value] = dict(self.known)

    def value(self, cell: Cell) -> Value:
        table, before = self.table, len(self.table)
        for part in cell.order:
            if part not in table:
                table[part] = part.value(self)
        self.cells.work += len(table) - before
        return table[cell]

    def signs(self, off: Cell) -> Signs:
        """The signs that a cell may have in the box. What is no number may be said to have any."""
        value = self.value(off)
        x = value.interval
        if x is None or value.kinds & GAPS:
            return ANY
        return frozenset(s for s, has in ((-1, x.low < 0), (0, 0 in x), (1, x.high > 0)) if has)

    def narrow(self, off: Cell, signs: Signs) -> Evaluation | None:
        """The cells where one has some signs, which narrows it, and what it is a multiple of, but
        for a constant. None if nowhere.
        """
        value = self.table[off]
        x = value.interval
        if x is None or value.kinds & GAPS:
            return self  # where a side is no number, nothing follows for the others
        side = Interval(
            x.low if -1 in signs else max(x.low, ZERO), x.high if 1 in signs else min(x.high, ZERO)
        )
        if side == x:
            return self
        narrowed = {off: side}
        if len(off.terms) == 1:
            narrowed[off.terms[0][1]] = side - Interval.of(off.constant)
        known = dict(self.known)
        for cell, y in narrowed.items():
            before, events = self.table[cell]
            before = before or EVERYTHING
            if side.low > side.high or not y.overlaps(before):
                return None
            narrowed[cell] = y & before
            known[cell] = Value(narrowed[cell], events)
        box = tuple(narrowed.get(self.cells.leaf(k), y) for k, y in enumerate(self.box))
        return Evaluation(self.cells, box, known, self.limits)


# -- The maker of cells


Ends = tuple[float, float]
_SHARE = 0.3819  # of the sides of the box, for a point in it
_MOST_RESULTS = 64  # of the branches of one operation
_MOST_CHOICES = 5  # of a function, for each of which it has twice as many branches

Made = TypeVar("Made", bound=Cell)


class Parting(Unsupported):
    """The sign of a cell that varies, and that has to be decided."""

    def __init__(self, off: Cell, *sides: Signs) -> None:
        super().__init__("a branch outside of any operation")
        self.off, self.sides = off, sides


class Cells(Algebra):
    """Context that a record's reference receives where scalars are cells over a box.

    whole      an evaluation over the box
    somewhere  one at a point
    work       how many cells were evaluated
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
        self.whole = Evaluation(self, box)
        point = (
            (x.low + (x.high - x.low) * arb(_SHARE) / (k + 1)).mid() for k, x in enumerate(box)
        )
        self.somewhere = Evaluation(self, thin(point))
        self._slopes: dict[Cell, dict[Cell, Cell]] = {}
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

    def leaf(self, place: int) -> Leaf:
        return self._once(Leaf, place)

    def call(self, name: str, function: Any, *args: Cell) -> Cell:
        return self._once(Call, name, function, *args)

    def name_cell(self, x: Cell) -> Cell:
        return x if x.known is not None or isinstance(x, Leaf) else Named(self, (x,))

    def choice(self, off: Cell, *sides: Branch) -> Cell:
        """A choice between two results; the one itself where it is the only one."""
        alike = all(side.result is sides[0].result for side in sides)
        return sides[0].result if alike else self._once(Choice, off, *sides)

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

    def replace(self, root: Cell, known: Mapping[Cell, Cell], beside: bool = False) -> Cell:
        """A cell made anew, with others in the places of those that are known.

        beside  without the sides of choices that fill no space, which have no part in a derivative
        """
        found = dict(known)
        for cell in root.order:
            if cell in found:
                continue
            if beside and isinstance(cell, Choice) and len(cell.thick) < 2:
                found[cell] = found[(cell.thick or cell.sides)[0].result]
            elif (beside and isinstance(cell, Named)) or all(found[a] is a for a in cell.args):
                found[cell] = cell
            else:
                found[cell] = cell.rebuilt(found)
        return found[root]

    # -- derivatives, which are known but for points that fill no space, such as the zeros of an
    # analytic function that is not zero everywhere

    def slope(self, y: Cell, x: Cell) -> Cell:
        """The derivative of one cell by another: a variable, or a named value."""
        y = self.replace(y, {}, beside=True)
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

    def take_choices(self, root: Cell) -> Cell:
        """A cell with its choices made, each in a branch of its own; if they are many, as it is."""
        while (choices := [c for c in root.order if isinstance(c, Choice)]) and len(
            {c.off for c in choices}
        ) <= _MOST_CHOICES:
            root = self.replace(root, {choices[-1]: self._on_path(choices[-1])})
        for off in [off for off, signs in self._signs.items() if signs == EQUAL]:
            if all(isinstance(c, Leaf) for _, c in off.terms):  # a variable that is known there
                leaf = off.terms[0][1]
                root = self.replace(root, {leaf: leaf - off})
        return root

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

    def partial(self, call: Call, place: int) -> Any:
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
            return self.cells.fsum(np.ravel(found))

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
