"""Cells over a box: for each an interval that holds all its values there, and what is the matter with it: poles, edges, kinks, jumps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flint import arb

from gradcli.reference.ranges.cells import (
    ANY,
    EQUAL,
    UNIT,
    Call,
    Cell,
    Choice,
    Conditions,
    Filled,
    Leaf,
    Named,
    Number,
    Path,
    Product,
    Signs,
    Sum,
    is_linear,
)
from gradcli.reference.ranges.functions import (
    DOMAIN,
    EVERYTHING,
    JUMP,
    KINK,
    ONE,
    POLE,
    ZERO,
    Box,
    Interval,
    add,
    hull,
    inverse,
    is_finite,
    is_point,
    meet,
    multiply,
    range_of,
    rational,
    rational_power,
    x_log_x,
)


class Event(NamedTuple):
    """What is the matter with a cell somewhere in a box.

    soft       whether that is at an end of an argument only
    edge       whether it is on the boundary of the box only
    removable  whether a limit closes the gap
    """

    kind: str
    cell: Cell
    soft: bool = False
    edge: bool = False
    removable: bool = False


Events = frozenset[Event]
NONE: Events = frozenset()


class Value(NamedTuple):
    """The range of a cell; None where it is defined nowhere in the box."""

    interval: Interval | None
    events: Events = NONE


class Evaluation:
    """Cells over one box. ``limits``: whether quotients whose parts vanish together have their limits there."""

    def __init__(self, cells: Any, box: Box, limits: bool = True) -> None:
        self.cells, self.box, self.limits = cells, box, limits
        self.table: dict[Cell, Value] = {}

    def value(self, cell: Cell) -> Value:
        table, before = self.table, len(self.table)
        for part in self.cells.order(cell):
            if part not in table:
                table[part] = _RULES[type(part)](self, part)
        self.cells.work += len(table) - before
        return table[cell]

    def may_vanish(self, cell: Cell) -> bool:
        """Tell whether a cell may be 0 in the box, or has no value."""
        x = self.value(cell).interval
        return x is None or bool(x[0] <= 0 <= x[1])

    # -- arithmetic and functions

    def _filled(self, cell: Filled) -> Value:
        x, events = self.table[cell.args[0]]
        return Value(x, frozenset(e for e in events if not e.removable))

    def _sum(self, cell: Sum) -> Value:
        total, weights = cell.weights
        events = NONE
        for weight, term in zip(weights, cell.args, strict=True):
            x, more = self.table[term]
            events |= more
            if x is None:
                return self._limit(cell, events)
            total = add(total, x if weight[0] == 1 == weight[1] else multiply(weight, x))
        return self._limit(cell, events, total) if events and not is_finite(total) else Value(total, events)

    def _limit(self, cell: Cell, events: Events, natural: Interval | None = None) -> Value:
        """The range of a quotient whose parts vanish together, with its limit; else its natural one."""
        found = self.cells.limit_of(cell, self) if self.limits else None
        if found is None:
            return Value(natural, events)
        return Value(found, frozenset(e._replace(removable=True) if e.kind == POLE else e for e in events))

    def _product(self, cell: Product) -> Value:
        total, events, own = (ONE, ONE), NONE, False
        for base, exponent, divides, root in cell.factors:
            x, more = self.table[base]
            events |= more
            if x is None:
                return self._with_logarithm(cell) or Value(None, events)
            if root and x[0] < 0:
                events |= {Event(DOMAIN, cell)}
                if x[1] < 0:
                    return Value(None, events)
            if divides and x[0] <= 0 <= x[1]:
                soft = bool(x[0] == 0 or x[1] == 0)
                events |= {Event(POLE, cell, soft, soft and is_linear(base))}
                own = True
                if is_point(x):
                    return self._limit(cell, events)
            total = multiply(total, rational_power(x, exponent))
        if self.cells.ratios(cell)[0]:
            total = self._of_ratios(cell, total)
        if is_finite(total) or not events:
            return Value(total, events)
        if own:
            return self._limit(cell, events, total)
        return self._with_logarithm(cell) or Value(total, events)

    def _with_logarithm(self, cell: Product) -> Value | None:
        """The range of a product such as x*log(x), whose limit at 0 is 0; None for others."""
        for logarithm in cell.factors:
            inner = logarithm.base
            if not isinstance(inner, Call) or inner.name != "log" or logarithm.exponent != 1:
                continue
            scale, base = self.cells.monic(inner.args[0])
            power = UNIT
            if isinstance(base, Product) and len(base.factors) == 1 and not base.factors[0].divides:
                base, power = base.factors[0][:2]
            weight = next((f for f in cell.factors if f.base is base and f.exponent > 0), None)
            found = None if weight is None or abs(scale) != 1 else x_log_x(self.table[base].interval, weight.exponent)
            rest, more = self.value(self.cells.of_factors([f for f in cell.factors if f is not logarithm and f is not weight]))
            if found is not None and rest is not None:
                events = frozenset(e for e in self.table[inner].events if e.cell is not inner)
                hole = Event(POLE, inner, removable=True)
                return Value(multiply(multiply(rational(power), found), rest), events | self.table[base].events | more | {hole})
        return None

    def _of_ratios(self, cell: Product, natural: Interval) -> Interval:
        """The natural range, or less: with w = u**p >= 0, u**k*(q*w + rest)**(-k/p) is a power of 1/(q + rest/w), which rises with w."""
        ratios, left = self.cells.ratios(cell)
        total = self.value(left).interval
        for ratio in ratios:
            rest, u = self.value(ratio.rest).interval, self.table[ratio.base].interval
            w = None if u is None else rational_power(u, ratio.p)
            if rest is None or u is None or w is None or total is None or rest[0] < 0 or w[0] < 0:
                return natural
            share = rational_power(inverse(add(rational(ratio.q), multiply(rest, inverse(w)))), ratio.k / ratio.p)
            if int(ratio.k.p) % 2 and u[0] < 0:
                share = (-share[1], -share[0] if u[1] <= 0 else share[1])
            total = multiply(total, share)
        return natural if total is None else meet(natural, total)

    def _call(self, cell: Call) -> Value:
        given = [self.table[a] for a in cell.args]
        events = NONE.union(*[v.events for v in given])
        intervals = [v.interval for v in given if v.interval is not None]
        if len(intervals) < len(given):
            return Value(None, events)
        found, work = range_of(cell.name, cell.function, intervals)
        self.cells.work += work
        if found.kind is not None:
            edge = found.soft and all(is_linear(a) for a in cell.args if a.leaves)
            events |= {Event(found.kind, cell, found.soft, edge)}
        return Value(found.interval, events)

    # -- branches

    def signs(self, off: Cell, open_: bool = False) -> Signs:
        """The signs that a cell may have in the box. What is no number may be said to have any."""
        x, events = self.table.get(off) or self.value(off)
        if x is None or any(e.kind in (DOMAIN, POLE) and not e.soft for e in events):
            return ANY
        if isinstance(off, Sum) and not off.smooth:
            taken = self.cells.sum([(UNIT, self.cells.number(off.constant)), *((q, self._taken(c)) for q, c in off.terms)])
            x = taken.interval if isinstance(taken, Number) else x
        found = frozenset(s for s, has in ((-1, x[0] < 0), (0, x[0] <= 0 <= x[1]), (1, x[1] > 0)) if has)
        if not open_:
            return found
        if found == EQUAL and any(is_point(self.box[k]) for k in off.leaves):
            return ANY  # what holds on a face tells nothing of the space around it
        return found - EQUAL if found != EQUAL and 0 in found and self.cells.is_thin(off) else found

    def _taken(self, cell: Cell) -> Cell:
        """The result of a choice that is made in the whole box."""
        while isinstance(cell, Choice) and len(possible := self._possible(cell)) == 1:
            cell = possible[0].result
        return cell

    def _possible(self, cell: Choice) -> list[Path]:
        return [p for p in cell.paths if self.allows(p.conditions, cell.open_)]

    def allows(self, conditions: Conditions, open_: bool = False) -> bool:
        """Tell whether some conditions may hold somewhere in the box."""
        return all(self.signs(off, open_) & signs for off, signs in conditions)

    def _choice(self, cell: Choice) -> Value:
        """The range of a choice: that of the only path, or of all that are possible."""
        possible = self._possible(cell)
        events = NONE.union(*[self.table[off].events for p in possible for off, _ in p.conditions])
        if len(possible) == 1:
            found = self.table[possible[0].result]
            return Value(found.interval, found.events | events)
        ends: list[arb] = []
        for path in possible:
            known = self._narrowed(path.conditions)
            if known is not None:
                interval, more = self._again(path.result, known)
                events |= self._without_holes(more, path)
                ends += interval or ()
        if cell.open_ or not all(self._agree(p, q) for i, p in enumerate(possible) for q in possible[:i]):
            events |= {Event(JUMP, cell)}
        elif sum(not self.cells.is_thin_path(p) for p in possible) > 1:
            events |= {Event(KINK, cell)}
        return Value(hull(ends) if ends else None, events)

    def _without_holes(self, events: Events, path: Path) -> Events:
        """Return what is the matter with a path, which need have no value at points that belong to others: sin(x)/x where x is not 0."""
        if not self.limits:
            return events
        apart = [off for off, signs in path.conditions if 0 not in signs]
        return frozenset(e for e in events if not (e.removable and any(self.cells.are_only_where(e.cell, off, self) for off in apart)))

    def _narrowed(self, conditions: Conditions) -> dict[Cell, Interval] | None:
        """The cells that some conditions narrow, and what these are multiples of, but for a constant. None if they cannot hold together."""
        known: dict[Cell, Interval] = {}
        for off, signs in conditions:
            x, events = self.table[off]
            if x is None or any(e.kind in (DOMAIN, POLE) for e in events):
                continue  # where a side is no number, nothing follows for the others
            x = (x[0] if -1 in signs else max(x[0], ZERO), x[1] if 1 in signs else min(x[1], ZERO))
            narrowed = [(off, x)]
            if isinstance(off, Sum) and len(off.terms) == 1 and off.terms[0][0] != 0:
                ((q, inner),) = off.terms
                narrowed.append((inner, multiply(rational(1 / q), add(x, rational(-off.constant)))))
            for cell, (a, b) in narrowed:
                before = known.get(cell) or self.table[cell].interval or EVERYTHING
                known[cell] = x = max(a, before[0]), min(b, before[1])
                if x[0] > x[1]:
                    return None
        return {cell: x for cell, x in known.items() if x != self.table[cell].interval}

    def _again(self, result: Cell, known: Mapping[Cell, Interval]) -> Value:
        """A result evaluated anew with some cells narrowed."""
        if not known:
            return self.value(result)
        other = Evaluation(self.cells, tuple(known.get(self.cells.leaf(k), x) for k, x in enumerate(self.box)), self.limits)
        other.table |= {c: Value(x, self.table[c].events) for c, x in known.items()}
        return other.value(result)

    def _agree(self, p: Path, q: Path) -> bool:
        """Tell whether the results of two paths are the same where one turns into the other."""
        others = dict(q.conditions)
        turn = next(off for off, signs in p.conditions if not signs & others.get(off, ANY))
        apart = self.cells.monic(self.cells.sum([(UNIT, p.result), (-UNIT, q.result)]))[1]
        known = self._narrowed(((turn, EQUAL),))
        x = (ZERO, ZERO) if known is None else self._again(apart, known).interval
        return x is not None and is_point(x, 0)


_RULES: Mapping[Any, Any] = {
    Number: lambda at, cell: Value(cell.interval), Leaf: lambda at, cell: Value(at.box[cell.place]),
    Named: lambda at, cell: at.table[cell.args[0]], Filled: Evaluation._filled,
    Sum: Evaluation._sum, Product: Evaluation._product, Call: Evaluation._call,
    Choice: Evaluation._choice,
}  # fmt: skip
