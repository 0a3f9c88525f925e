"""Functions of a few variables as cells.

Cells are numbers, variables, sums, products, calls and choices, each made of cells before it.

A kind of cell knows its range over a box, with the irregularities there (poles, edges of its
domain, kinks, jumps), its derivative, and how to rebuild it from other cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from functools import cached_property, reduce
from itertools import permutations
from math import prod
from operator import and_, mul
from typing import Any, NamedTuple

from flint import arb, fmpq

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.intervals import ANALYTIC, NOUGHT, ONE, ZERO, Box, Interval, range_of

Signs = frozenset[int]
LESS, EQUAL, ANY = frozenset((-1,)), frozenset((0,)), frozenset((-1, 0, 1))
GAPS, BROKEN = {"domain", "pole"}, {"domain", "pole", "jump"}  # no value; not continuous
_MOST_CELLS = 20_000
_MOST_DERIVATIVES = 5  # of quotients whose parts vanish together

Events = frozenset[tuple[str, "Cell"]]  # of what kinds, and which cells they are the matter with
NONE: Events = frozenset()


class Value(NamedTuple):
    """The range of a cell, if it is defined somewhere in the box, and what is the matter there."""

    interval: Interval | None
    events: Events = NONE

    @property
    def kinds(self) -> set[str]:
        return {kind for kind, _ in self.events}


def _combination(combine: Callable[[Any, Cell, Cell], Any]) -> Callable[[Any, Any], Any]:
    """Define an operator on a cell and another one, a number, or an array of these."""

    def on_cells(x: Cell, y: Any) -> Any:
        if getattr(y, "ndim", 0):
            return Algebra.map(lambda entry: on_cells(x, entry), y)
        return combine(x.cells, x, x.cells.of(y))

    return on_cells


class Cell:
    """A number that depends on the variables.

    It is a sum (of itself alone, if it is nothing else) and a product. Comparisons make choices
    between 1 and 0, which are decided branch by branch.

    known     its value, of a number
    partial   whether it may be undefined somewhere
    analytic  whether it is analytic on a convex set, or a quotient, if its parts are
    """

    __array_ufunc__ = None
    known: fmpq | None = None
    constant = fmpq(0)
    analytic = True

    def __init__(self, cells: Any, args: tuple[Cell, ...], partial: bool = False) -> None:
        self.cells, self.args = cells, args
        self.terms: tuple[tuple[fmpq, Cell], ...] = ((fmpq(1), self),)
        self.factors: tuple[Factor, ...] = (Factor(self, fmpq(1)),)
        self.leaves: frozenset[int] = frozenset().union(*[a.leaves for a in args])
        self.partial: bool = partial or any(a.partial for a in args)
        self.serial = len(cells.all)
        cells.all.append(self)
        if self.serial >= _MOST_CELLS:
            raise Unsupported(f"more than {_MOST_CELLS:,} operations")

    __add__ = __radd__ = _combination(lambda cells, x, y: cells.sum([(1, x), (1, y)]))
    __sub__ = _combination(lambda cells, x, y: cells.sum([(1, x), (-1, y)]))
    __rsub__ = _combination(lambda cells, x, y: y - x)
    __mul__ = __rmul__ = _combination(lambda cells, x, y: cells.product([(x, 1), (y, 1)]))
    __truediv__ = _combination(lambda cells, x, y: cells.product([(x, 1), (y, -1)]))
    __rtruediv__ = _combination(lambda cells, x, y: y / x)
    __lt__ = _combination(lambda cells, x, y: cells.compare(x, y, LESS))
    __le__ = _combination(lambda cells, x, y: cells.compare(x, y, LESS | EQUAL))
    __gt__ = _combination(lambda cells, x, y: cells.compare(y, x, LESS))
    __ge__ = _combination(lambda cells, x, y: cells.compare(y, x, LESS | EQUAL))
    __eq__ = _combination(lambda cells, x, y: cells.compare(x, y, EQUAL))
    __ne__ = _combination(lambda cells, x, y: cells.compare(x, y, ANY - EQUAL))
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return self.cells.sum([(-1, self)])

    def __pos__(self) -> Cell:
        return self

    def __abs__(self) -> Any:
        return self.cells.function("abs", self)

    def __bool__(self) -> bool:
        """Take one branch of a truth, and later the other. A number is true where it is not 0."""
        return not self.cells.holds(self.cells.on_path(self), EQUAL)

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
    def forms(self) -> list[Cell]:
        """Other cells with the same values, whose ranges are narrower somewhere."""
        return []

    @cached_property
    def is_linear(self) -> bool:
        return all(isinstance(c, Leaf) for _, c in self.terms)

    @cached_property
    def is_thin(self) -> bool:
        """Return whether its zeros surely fill no space: analytic quotients are 0 or hardly ever."""
        inner = {b for c in self.order if isinstance(c, Call) for a in c.args for b in a.order}
        divides = any(f.divides for b in inner for f in b.factors)
        if divides or not all(c.analytic for c in self.order):
            return False
        x, events = self.cells.somewhere.value(self)
        return x is not None and not events and 0 not in x

    def value(self, at: Evaluation) -> Value:
        """Its range, and what is the matter with it or its parts: no pole, if a form is finite."""
        values = [at.table[a] for a in self.args]
        ranges = [x for x, _ in values if x is not None]
        events = NONE.union(*[events for _, events in values])
        is_defined = len(ranges) == len(values)
        found, events = self.join(at, ranges, events) if is_defined else (None, events)
        is_pole, work = found is None or not found.is_finite, self.cells.work
        known = [x for x in (found, *(at.value(form).interval for form in self.forms)) if x]
        found = reduce(and_, known) if known else None
        self.cells.work = work  # counts the cells that a function is made of
        if found is None or not found.is_finite:
            found = self.limit(at) or found
        if is_pole and found and found.is_finite:
            events = frozenset(("domain" if k == "pole" else k, cell) for k, cell in events)
        return Value(found, events)

    def join(self, at: Evaluation, ranges: list[Interval], events: Events) -> Value:
        """Its range, from those of what it is made of, and what is the matter with either."""
        return Value(ranges[0], events)

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        """Its derivative, from those of what it is made of, of which one at least is not 0."""
        return found[self.args[0]]

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        """Rebuild the cell from other cells; what a choice depends on stays."""
        return found[self.args[0]]

    def limit(self, at: Evaluation) -> Interval | None:
        """Return the range of a quotient whose parts vanish together in the box, or a sum of such.

        By Cauchy's theorem, sin(x)/x is a quotient of the derivatives at a place between x and 0.
        """
        factors = [f for q, c in self.terms if q != 0 for f in c.factors if f.exponent < 0]
        divisors = {f.base for f in factors if (x := at.table[f.base].interval) and 0 in x}
        if not at.limits or len(divisors) != 1 or len((base := divisors.pop()).leaves) != 1:
            return None
        (place,), box = base.leaves, at.box
        zero = -base.constant / base.terms[0][0] if base.is_linear else box[place].round_numbers[0]
        if (root := arb(zero)) not in box[place]:
            return None
        there = box.with_side(place, Interval.around(root))
        order = max(-f.exponent for f in factors if f.base is base)
        parts = [self._times(base, order), self.cells.product([(base, order)])]
        with suppress(Unsupported):
            for _ in range(_MOST_DERIVATIVES):
                here, end = (Evaluation(self.cells, x, limits=False) for x in (box, there))
                (x, events), (y, more) = map(here.value, parts)
                if x is None or y is None or events or more:
                    break
                if 0 not in y:
                    return x * y ** fmpq(-1)
                if any(end.value(part).interval != NOUGHT for part in parts):
                    break
                parts = [self.cells.slope(part, self.cells.leaf(place)) for part in parts]
        return None

    def _times(self, base: Cell, order: fmpq) -> Any:
        """Multiply by a power of its divisor, which then divides no more."""
        parts = [(self.constant, self.cells.product([(base, order)]))]
        for q, cell in [term for term in self.terms if term[0] != 0]:
            rest = self.cells.of_factors([f for f in cell.factors if f.base is not base])
            power = sum((f.exponent for f in cell.factors if f.base is base), order)
            parts.append((q, self.cells.product([(rest, 1), (base, power)])))
        return self.cells.sum(parts)


class Leaf(Cell):
    """A variable of the box."""

    def __init__(self, cells: Any, place: int) -> None:
        super().__init__(cells, ())
        self.place, self.leaves = place, frozenset((place,))

    def value(self, at: Evaluation) -> Value:
        return Value(at.box[self.place])


class Named(Cell):
    """A value under an identity of its own, by which something may be differentiated."""


class Sum(Cell):
    """A constant and multiples of cells, 0 of one that cancelled but may be undefined."""

    def __init__(self, cells: Any, constant: fmpq, *terms: tuple[fmpq, Cell]) -> None:
        super().__init__(cells, tuple(c for _, c in terms))
        self.constant, self.terms, self.known = constant, terms, None if terms else constant
        self.weights = [Interval.around(arb(q)) for q in (constant, *(q for q, _ in terms))]

    def join(self, at: Evaluation, ranges: list[Interval], events: Events) -> Value:
        constant, *weights = self.weights
        return Value(sum(map(mul, weights, ranges), constant), events)

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.sum([(q, found[c]) for q, c in self.terms])

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.sum([(self.constant, self.cells.one), (1, self.slope(found))])


class Factor(NamedTuple):
    """A base with its exponent, whether it was divided by, and whether a root was taken of it."""

    base: Cell
    exponent: fmpq
    divides: bool = False
    root: bool = False

    @property
    def matters(self) -> bool:
        return bool(self.exponent != 0 or self.divides or self.root or self.base.partial)


class Product(Cell):
    """Powers of cells."""

    def __init__(self, cells: Any, *factors: Factor) -> None:
        is_partial = any(f.divides or f.root for f in factors)
        super().__init__(cells, tuple(f.base for f in factors), is_partial)
        self.factors = factors
        self.analytic = all(not f.root or f.base.is_linear for f in factors)

    def join(self, at: Evaluation, ranges: list[Interval], events: Events) -> Value:
        operands = [*zip(self.factors, ranges, strict=True)]
        outside = [x.high < 0 for f, x in operands if f.root and x.low < 0]
        if outside:
            events |= {("domain", self)}
        if any(outside):
            return Value(None, events)
        divisors = [x for f, x in operands if f.divides and 0 in x]
        if divisors:  # where a numerator may vanish as well, there may be no pole
            may_vanish = any(0 in x for f, x in operands if f.exponent >= 0)
            events |= {("domain" if may_vanish else "pole", self)}
        if any(x.is_point for x in divisors):
            return Value(None, events)
        powers = (x**f.exponent for f, x in operands)
        return Value(prod(powers, start=Interval(ONE, ONE)), events)

    @cached_property
    def forms(self) -> list[Cell]:
        return [*self._shares(), *self._logarithms()]

    def _shares(self) -> Iterator[Cell]:
        """Yield u**k*total**(-k/p) as a power of total/u**p, where total is q*u**p + rest."""
        make, powers = self.cells, {f.base: f.exponent for f in self.factors}
        for total, exponent in powers.items():
            for q, term in total.terms:
                u, p, *_ = term.factors[0]
                k = min(powers.get(u, fmpq(0)), fmpq((-p * exponent).floor()))
                if len(term.factors) == 1 and p in (1, 2) and q > 0 and k.q == 1 and k >= 1:
                    rest = make.sum([(1, total), (-q, term)])
                    if (x := make.whole.value(rest).interval) and x.low >= 0:
                        over = make.product([(rest, 1), (u, -p)])
                        share = (make.sum([(q, make.one), (1, over)]), -k / p)
                        sign = make.call("sign", None, u) if p == 2 else make.one
                        left = {**powers, u: powers[u] - k, total: exponent + k / p}
                        yield make.product([(sign, k), share, *left.items()])
                        return

    def _logarithms(self) -> Iterator[Cell]:
        """Yield x**p*log(x), which has the limit 0 at 0, as y*log(y)/p of y = x**p."""
        for log, power in permutations(self.factors, 2):
            call, p = log.base, power.exponent
            if isinstance(call, Call) and call.name == "log" and log.exponent == 1 and p > 0:
                y = self.cells.product([(call.args[0], p)])
                scale, plain = self.cells.monic(y)
                if plain is self.cells.of_factors([power]):
                    others = [f for f in self.factors if f is not log and f is not power]
                    found = self.cells.call("x_log_x", None, y) * self.cells.of_factors(others)
                    yield self.cells.sum([(1 / (p * scale), found)])

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        """Apply the product rule; a divisor stays one, and so does a root."""
        terms = []
        for f in self.factors:
            if f.exponent != 0 and found[f.base] is not self.cells.zero:
                less = f._replace(exponent=f.exponent - 1, divides=f.divides or f.exponent < 1)
                rest = [g for g in (less, *self.factors) if g is not f and g.matters]
                terms.append((f.exponent, self.cells.of_factors(rest) * found[f.base]))
        return self.cells.sum(terms)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.product([(found[f.base], f.exponent) for f in self.factors])


class Call(Cell):
    """A function by its name, which is sympy's."""

    def __init__(self, cells: Any, name: str, function: Any, *args: Cell) -> None:
        is_entire = ANALYTIC.get(name, False)
        super().__init__(cells, args, not is_entire and name != "floor")
        self.name, self.function = name, function
        self.analytic = is_entire or (name in ANALYTIC and args[0].is_linear)

    @cached_property
    def forms(self) -> list[Cell]:
        """Powers such as x**x as exp(x*log(x)), if x is nowhere below 0."""
        if self.name != "pow" or not self.args[0].leaves & self.args[1].leaves:
            return []
        x, y = self.args
        found = self.cells.whole.value(x).interval
        log = self.cells.call("log", None, x)
        return [self.cells.call("exp", None, y * log)] if found and found.low >= 0 else []

    def join(self, at: Evaluation, ranges: list[Interval], events: Events) -> Value:
        (found, kind), work = range_of(self.name, self.function, ranges)
        self.cells.work += work
        return Value(found, events if kind is None else events | {(kind, self)})

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        from gradcli.reference.symbolic.cells import partial

        if self.name == "floor":
            return self.cells.zero
        moving = [i for i, a in enumerate(self.args) if found[a] is not self.cells.zero]
        return self.cells.fsum(partial(self.cells, self, i) * found[self.args[i]] for i in moving)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.call(self.name, self.function, *[found[a] for a in self.args])


class Choice(Cell):
    """One of two results by the sign of a cell: of a derivative, none where that is thin and 0."""

    analytic = False

    def __init__(self, cells: Any, off: Cell, *sides: tuple[Signs, Cell]) -> None:
        super().__init__(cells, tuple(dict.fromkeys((off, *(x for _, x in sides)))))
        self.off, self.sides = off, sides

    @cached_property
    def thick(self) -> list[Cell]:
        """The results that are taken in some space."""
        return [x for signs, x in self.sides if signs != EQUAL or not self.off.is_thin]

    def value(self, at: Evaluation) -> Value:
        """Return the range of the only possible side, or of both."""
        places = [(x, there) for signs, x in self.sides if (there := at.narrow(self.off, signs))]
        found = [there.value(x) for x, there in places or [(x, at) for _, x in self.sides]]
        events = at.table[self.off].events.union(*[events for _, events in found])
        if len(places) != 1 and (kind := self._turn(at)):
            events |= {(kind, self)}
        ends = [end for x, _ in found if x for end in x.ends]
        return Value(Interval.around(*ends) if ends else None, events)

    def _turn(self, at: Evaluation) -> str | None:
        """Return the kind of event where one result turns into the other, "domain" if unknown."""
        (_, x), (_, y) = self.sides
        there, (_, off) = at.narrow(self.off, EQUAL), self.cells.monic(x - y)
        apart = there.value(off).interval if there else NOUGHT
        if apart is None or not apart.is_finite:
            return "domain"
        return "jump" if apart != NOUGHT else "kink" if len(self.thick) > 1 else None

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        return self.rebuilt(found, ANY - EQUAL if self.off.is_thin else ANY)

    def rebuilt(self, found: Mapping[Cell, Cell], taken: Signs = ANY) -> Any:
        return self.cells.choice(self.off, *((signs & taken, found[x]) for signs, x in self.sides))


class Evaluation:
    """Cells over one box, of which some are known better; quotients with limits or without."""

    def __init__(
        self, cells: Any, box: Box, known: Mapping[Cell, Value] | None = None, limits: bool = True
    ) -> None:
        self.cells, self.box, self.known, self.limits = cells, box, known or {}, limits
        self.table = {**self.known}

    def value(self, cell: Cell) -> Value:
        for part in cell.order:
            if part not in self.table:
                self.table[part] = part.value(self)
                self.cells.work += 1
        return self.table[cell]

    def narrow(self, off: Cell, signs: Set[int]) -> Evaluation | None:
        """Return the cells where one has some signs, which narrows it, or None if it nowhere has."""
        x, events = value = self.value(off)
        if x is None or value.kinds & GAPS:
            return self  # a side that may be undefined implies nothing for the others
        a, b = x.ends
        side = Interval(a if -1 in signs else max(a, ZERO), b if 1 in signs else min(b, ZERO))
        if side.low > side.high or (side == NOUGHT and 0 not in signs):
            return None
        if side == x:
            return self
        known, box = {**self.known, off: Value(side, events)}, self.box
        if len(off.terms) == 1:
            term = off.terms[0][1]
            before, events = self.table[term]
            y = side - Interval.around(arb(off.constant))
            if before is None or not y.overlaps(before):
                return None
            known[term] = Value(y & before, events)
            if isinstance(term, Leaf):
                box = box.with_side(term.place, y & before)
        return Evaluation(self.cells, box, known, self.limits)
