"""Functions of a few variables as cells: numbers, variables, sums, products, calls and choices,
each of cells made before it.

A kind of cell knows its range over a box, with what is the matter with it there (poles, edges of
its domain, kinks, jumps), its derivative, and how it is made anew of other cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from flint import arb, fmpq

from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.functions import DOMAIN, HOLE, JUMP, KINK, POLE, range_of, x_log_x
from gradcli.reference.ranges.intervals import EVERYTHING, ONE, ZERO, Box, Interval

NOUGHT, UNIT = fmpq(0), fmpq(1)
Signs = frozenset[int]
Cells = Any  # the maker of cells, who knows those that there are (`making.py`)
LESS, EQUAL, ANY = frozenset((-1,)), frozenset((0,)), frozenset((-1, 0, 1))
_MOST_CELLS = 20_000
# defined everywhere
_TOTAL = "exp sin cos sinh cosh tanh asinh atan erf erfc erfi pi e euler floor"
_ON_INTERVALS = ("log", "asin", "acos", "acosh", "atanh")  # analytic within an interval
_MOST_ORDERS = 6  # of derivatives
_MOST_PLACES = 6  # at which the parts of a quotient may vanish together
_MOST_TERMS = 2_000  # cells of a derivative: beyond, it is not worth the while
GAPS = {DOMAIN, POLE, HOLE}


class Event(NamedTuple):
    """A pole, an edge of the domain, a hole that a limit closes, a kink or a jump of a cell
    somewhere in a box.

    edge  whether it is on the boundary of the box only
    """

    kind: str
    cell: Cell
    edge: bool = False


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

    @property
    def kinds_inside(self) -> set[str]:
        """The kinds of what is not on the boundary only."""
        return {e.kind for e in self.events if not e.edge}


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
    divided  what it divides by
    """

    __array_ufunc__ = None
    known: fmpq | None = None
    constant = NOUGHT
    smooth = regular = True
    divided: tuple[Cell, ...] = ()

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

    def __int__(self) -> int:
        return int(self.cells.place(self))

    __index__ = __int__

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
        """Tell whether it has its least and its largest value on the boundary of any box."""
        return all(isinstance(c, Leaf) for _, c in self.terms)

    @cached_property
    def is_thin(self) -> bool:
        """Tell whether its zeros fill no space; False where that is not known.

        A quotient of functions that are analytic on one convex set is 0 on all of it, or hardly
        anywhere.
        """
        inner = {b for c in self.order if isinstance(c, Call) for a in c.args for b in a.order}
        if not all(c.regular for c in self.order) or any(b.divided for b in inner):
            return False
        values = (
            Evaluation(self.cells, point, limits=False).value(self) for point in self.cells.points
        )
        return any(x is not None and not events and 0 not in x for x, events in values)

    @cached_property
    def fraction(self) -> tuple[Cell, Cell] | None:
        """A sum of products as one quotient."""
        terms = [(q, c) for q, c in self.terms if q != 0]
        below: dict[Cell, fmpq] = {}
        for f in [f for _, c in terms for f in c.factors if f.exponent < 0]:
            below[f.base] = max(below.get(f.base, NOUGHT), -f.exponent)
        if not below:
            return None
        denominator = self.cells.product(below.items())
        above = [(self.constant, denominator)] if self.constant != 0 else []
        for q, c in terms:  # without what has cancelled, which may be undefined
            left = [f for f in (c * denominator).factors if f.exponent != 0]
            above.append((q, self.cells.product((f.base, f.exponent) for f in left)))
        return self.cells.sum(above), denominator

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


class Filled(Named):
    """A function that is its limit where its formula has none: the cell of an operation that is
    defined everywhere.
    """

    def value(self, at: Evaluation) -> Value:
        x, events = at.table[self.args[0]]
        return Value(x, frozenset(e for e in events if e.kind != HOLE))

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        return self.cells.fill(found[self.args[0]])

    rebuilt = slope


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
            return at.limit(self, events)
        total, weights = self.weights
        for weight, x in zip(weights, ranges, strict=True):
            total = total + (x if weight is None else weight * x)
        return (
            at.limit(self, events, total)
            if events and not total.is_finite
            else Value(total, events)
        )

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
        self.divided = tuple(f.base for f in factors if f.divides)
        self.regular = all(not f.root or f.base.is_linear for f in factors)

    def value(self, at: Evaluation) -> Value:
        ranges, events = self.operand_ranges(at)
        total = None if ranges is None else Interval(ONE, ONE)
        for f, x in zip(self.factors, ranges or (), strict=False):
            if f.root and x.low < 0:
                events |= {Event(DOMAIN, self)}
                if x.high < 0:
                    return Value(None, events)
            if f.divides and 0 in x:
                events |= {Event(POLE, self, f.base.is_linear and (x.low == 0 or x.high == 0))}
                if x.is_point:
                    total = None
            total = total and total * x**f.exponent
        total = total and total & self._by_shares(at)
        if total and (total.is_finite or not events):
            return Value(total, events)
        return self._with_logarithm(at) or at.limit(self, events, total)

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

    def _with_logarithm(self, at: Evaluation) -> Value | None:
        """The range of a product such as x*log(x), whose limit at 0 is 0; None for others."""
        for logarithm in self.factors:
            inner = logarithm.base
            if not isinstance(inner, Call) or inner.name != "log" or logarithm.exponent != 1:
                continue
            scale, power = self.cells.monic(inner.args[0])
            base, exponent, divides, _ = power.factors[0]
            weight = next((f for f in self.factors if f.base is base and f.exponent > 0), None)
            if abs(scale) != 1 or len(power.factors) > 1 or divides or weight is None:
                continue
            x, events = at.table[base]
            others = [f for f in self.factors if f is not logarithm and f is not weight]
            rest, more = at.value(self.cells.of_factors(others))
            if x and x.is_finite and (x.low >= 0 or weight.exponent.q == 1) and rest:
                found = Interval.of(exponent / weight.exponent) * x_log_x(x**weight.exponent) * rest
                events |= more | {e for e in at.table[inner].events if e.cell is not inner}
                return Value(found, events | {Event(HOLE, inner)})
        return None

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
            edge = found.at_end and all(a.is_linear for a in self.args if a.leaves)
            events |= {Event(found.kind, self, edge)}
        interval = found.interval
        if interval and self._by_logarithm is not None and ranges[0].low >= 0:
            interval &= at.value(self._by_logarithm).interval or EVERYTHING
        return Value(interval, events)

    @cached_property
    def _by_logarithm(self) -> Any:
        """x**y as exp(y*log(x)), which is tighter where both depend on one variable, as x**x."""
        if self.name != "pow" or self.args[0].leaves.isdisjoint(self.args[1].leaves):
            return None
        x, y = self.args
        return self.cells.call("exp", None, y * self.cells.call("log", None, x))

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
    def is_mask(self) -> bool:
        """Tell whether it is 1 where something holds, and else 0."""
        results = [side.result for side in self.sides]
        return all(x.is_mask if isinstance(x, Choice) else x.known in (0, 1) for x in results)

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
                events |= more if 0 in signs else there.without_holes(more, self.off)
                ends += x.ends if x is not None else ()
        if len(sides) > 1:
            if not self._is_continuous(at):
                events |= {Event(JUMP, self)}
            elif len(self.thick) > 1:
                events |= {Event(KINK, self)}
        return Value(Interval.around(*ends) if ends else None, events)

    def _is_continuous(self, at: Evaluation) -> bool:
        """Tell whether the results are the same where one turns into the other."""
        there = at.narrow(self.off, EQUAL)
        apart = self.cells.monic(self.sides[0].result - self.sides[1].result)[1]
        x = Interval(ZERO, ZERO) if there is None else there.value(apart).interval
        return x is not None and x.is_zero

    def slope(self, found: Mapping[Cell, Cell]) -> Any:
        beside = ANY - EQUAL if self.off.is_thin else ANY
        sides = [Branch(signs & beside, found[x]) for signs, x in self.sides]
        return self.cells.choice(self.off, *sides)

    def rebuilt(self, found: Mapping[Cell, Cell]) -> Any:
        sides = [Branch(signs, found[x]) for signs, x in self.sides]
        return self.cells.choice(self.off, *sides)


class Evaluation:
    """Cells over one box.

    ``limits``: whether quotients whose parts vanish together have their limits there.
    """

    def __init__(
        self, cells: Cells, box: Box, limits: bool = True, known: Mapping[Cell, Value] | None = None
    ) -> None:
        self.cells, self.box, self.limits = cells, box, limits
        self.known = known or {}
        self.table: dict[Cell, Value] = dict(self.known)

    def value(self, cell: Cell) -> Value:
        table, before = self.table, len(self.table)
        for part in cell.order:
            if part not in table:
                table[part] = part.value(self)
        self.cells.work += len(table) - before
        return table[cell]

    def may_vanish(self, cell: Cell) -> bool:
        """Tell whether a cell may be 0 in the box, or has no value."""
        x = self.value(cell).interval
        return x is None or 0 in x

    # -- quotients whose parts vanish together, as sin(x)/x: by Cauchy's mean value theorem within
    # the range of the quotient of the derivatives, of whatever order it takes

    def limit(self, cell: Cell, events: Events, natural: Interval | None = None) -> Value:
        """The range of a quotient, with its limit where its parts vanish together; else its natural
        one.
        """
        found = self._quotient(*cell.fraction) if self.limits and cell.fraction else None
        if found is None:
            return Value(natural, events)
        return Value(
            found, frozenset(e._replace(kind=HOLE) if e.kind == POLE else e for e in events)
        )

    def _quotient(self, above: Cell, below: Cell) -> Interval | None:
        """The range of a quotient whose parts vanish together at the root of a linear part, or
        where a function u is 0, as in sin(u)/u. The theorem is about what lies between that number
        and any other, so that it has to be in the box.
        """
        if not (above.is_smooth and below.is_smooth):
            return None
        for part in [c for c in below.order if c.leaves][:_MOST_PLACES]:
            (q, variable), *others = part.terms
            root = (
                Interval.of(-part.constant / q)
                if part.is_linear and not others
                else Interval(ZERO, ZERO)
            )
            variable = part if others else variable
            x = self.value(variable).interval
            if x is not None and root.is_point and root.low in x:
                found = self._limit(above, below, variable, root)
                if found is not None:
                    return found
        return None

    def _limit(self, above: Cell, below: Cell, variable: Cell, root: Interval) -> Interval | None:
        """The range of a quotient whose parts vanish together at one value of a variable."""
        zeros = Evaluation(self.cells, self.box, limits=False, known={variable: Value(root)})
        there = Evaluation(self.cells, self.box, limits=False)
        try:
            for _ in range(_MOST_ORDERS):
                ends = (zeros.value(part).interval for part in (above, below))
                if not all(x is not None and x.is_zero for x in ends):
                    return None
                above, below = self.cells.slope(above, variable), self.cells.slope(below, variable)
                if len(above.order) > _MOST_TERMS:
                    return None
                x, y = there.value(above), there.value(below)
                if not (x.interval and y.interval and x.interval.is_finite) or (
                    x.kinds_inside | y.kinds_inside
                ):
                    return None  # the theorem is about an interval on which both are smooth
                if 0 not in y.interval:
                    return there.value(above / below).interval
        except Unsupported:
            pass
        return None

    def without_holes(self, events: Events, off: Cell) -> Events:
        """The events but for holes where a cell is 0, and a limit may have another value: sin(x)/x
        where x is not 0.
        """

        def is_elsewhere(base: Cell) -> bool:
            power = self.cells.monic(base)[1]
            return any(f.base is not off for f in power.factors) and self.may_vanish(base)

        return frozenset(
            e
            for e in events
            if e.kind != HOLE or any(map(is_elsewhere, e.cell.divided or e.cell.args))
        )

    # -- branches

    def signs(self, off: Cell) -> Signs:
        """The signs that a cell may have in the box. What is no number may be said to have any."""
        value = self.value(off)
        x = value.interval
        if x is None or value.kinds_inside & GAPS:
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
        return Evaluation(self.cells, box, self.limits, known)
