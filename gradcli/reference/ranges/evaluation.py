"""Cells over a box: for each an interval that holds all its values there, and what is the matter with it: poles, edges, kinks, jumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flint import arb

from gradcli.reference.ranges.boxes import Box
from gradcli.reference.ranges.branches import chosen, is_possible
from gradcli.reference.ranges.cells import UNIT, Call, Cell, Choice, Compared, Filled, Leaf, Named, Number, Product, Step, Sum, behind
from gradcli.reference.ranges.intervals import (
    ONE,
    ZERO,
    Interval,
    Rational,
    add,
    multiply,
    rational,
    real_power,
    whole_power,
    x_log_x,
)
from gradcli.reference.ranges.norms import bounded
from gradcli.reference.ranges.samples import COST_OF_BALLS, COST_OF_SAMPLES, in_balls, sampled
from gradcli.reference.ranges.shape import DOMAIN, JUMP, POLE, Found
from gradcli.reference.ranges.shapes import COSTS, SHAPES
from gradcli.reference.ranges.values import NONE, Event, Events, Ledger, Limits, Table, Value


class Evaluation:
    """Cells over one box. ``limits`` finds the range of a quotient whose parts vanish together; ``known`` are cells with other values."""

    def __init__(self, box: Box, ledger: Ledger, limits: Limits | None = None, known: Table | None = None) -> None:
        self.box, self.ledger, self.limits = box, ledger, limits
        self.table: Table = dict(known or {})

    def run(self, order: Sequence[Cell]) -> Table:
        table = self.table
        before = len(table)
        for cell in order:
            if cell not in table:
                table[cell] = _RULES[type(cell)](self, cell, table)
        self.ledger.work += len(table) - before
        return table

    def elsewhere(self, box: Box) -> Evaluation:
        return Evaluation(box, self.ledger, self.limits)

    def value(self, cell: Cell) -> Value:
        return self.run(behind([cell]))[cell]

    def _number(self, cell: Number, table: Table) -> Value:
        return Value(cell.known.interval)

    def _leaf(self, cell: Leaf, table: Table) -> Value:
        return Value(self.box[cell.place])

    def _named(self, cell: Named, table: Table) -> Value:
        return table[cell.args[0]]

    def _filled(self, cell: Filled, table: Table) -> Value:
        x, events = table[cell.args[0]]
        return Value(x, frozenset(e for e in events if not e.removable))

    def may_vanish(self, cell: Cell) -> bool:
        """Tell whether a cell may be 0 in the box, or has no value."""
        x = self.value(cell).interval
        return x is None or bool(x[0] <= 0 <= x[1])

    def _sum(self, cell: Sum, table: Table) -> Value:
        constant, terms = cell.known
        total, events = constant.interval, NONE
        for coefficient, term in terms:
            x, more = table[term]
            events = events | more if more else events
            if x is None:
                return self._limit(cell, events)
            if coefficient == 1:
                total = add(total, x)
            elif coefficient == -1:
                total = add(total, (-x[1], -x[0]))
            elif isinstance(coefficient, Rational):
                total = add(total, multiply(coefficient.interval, x))
        if events and not (total[0].is_finite() and total[1].is_finite()):
            return self._limit(cell, events, total)
        return Value(total, events)

    def _limit(self, cell: Cell, events: Events, natural: Interval | None = None) -> Value:
        """The range of a quotient whose parts vanish together, with its limit; else its natural one."""
        found = None if self.limits is None else self.limits(cell, self)
        if found is None:
            return Value(natural, events)
        return Value(found, frozenset(e._replace(removable=True) if e.kind == POLE else e for e in events))

    def _product(self, cell: Product, table: Table) -> Value:
        total, events = (ONE, ONE), NONE
        own = False
        for base, exponent, divides, root in cell.factors:
            x, more = table[base]
            events = events | more if more else events
            if x is None:
                return self._of_logarithm(cell, table) or Value(None, events)
            a, b = x
            if root and a < 0:
                events |= {Event(DOMAIN, cell)}
                if b < 0:
                    return Value(None, events)
                a = ZERO
            if divides and a <= 0 <= b:
                if a == 0 and b == 0:
                    return self._limit(cell, events | {Event(POLE, cell)})
                own = True
                events |= {Event(POLE, cell, a == 0 or b == 0)}
            if exponent != 0:
                part = whole_power((a, b), int(exponent.p)) if exponent.q == 1 else real_power((a, b), exponent)
                total = multiply(total, part)
        if not own and events and not (total[0].is_finite() and total[1].is_finite()):
            return self._of_logarithm(cell, table) or Value(total, events)
        if own and not (total[0].is_finite() and total[1].is_finite()):
            return self._limit(cell, events, self._of_norm(cell, table, total))
        return Value(total, events)

    def _of_logarithm(self, cell: Product, table: Table) -> Value | None:
        """The range of a product such as x*log(x), whose limit at 0 is 0; None for others."""
        for logarithm in cell.factors:
            inner = logarithm.base
            if not isinstance(inner, Call) or inner.name != "log" or logarithm.exponent != 1:
                continue
            base: Cell = inner.args[0]
            power = UNIT
            if isinstance(base, Product) and len(base.factors) == 1 and not base.factors[0].divides:
                (factor,) = base.factors
                base, power = factor.base, factor.exponent
            weight = next((f for f in cell.factors if f.base is base and f.exponent > 0), None)
            rest = [table[f.base] for f in cell.factors if f is not weight and f is not logarithm]
            x, found = table[base], None if weight is None else x_log_x(table[base].interval, weight.exponent)
            if found is None or any(v.interval is None for v in rest):
                continue
            total = multiply(rational(power), found)
            for f in cell.factors:
                part = table[f.base].interval
                if f is not weight and f is not logarithm and f.exponent != 0 and part is not None:
                    total = multiply(total, whole_power(part, int(f.exponent.p)) if f.exponent.q == 1 else real_power(part, f.exponent))
            events = table[inner].events - {e for e in table[inner].events if e.cell is inner and e.kind in (POLE, DOMAIN)}
            hole = Event(POLE, inner, removable=True)
            return Value(total, events.union(x.events, *[v.events for v in rest], {hole}))
        return None

    def _of_norm(self, cell: Product, table: Table, natural: Interval) -> Interval:
        """x/sqrt(x**2 + ...) is never outside of [-1, 1], though both parts vanish together."""
        found = bounded(cell, {f.base: table[f.base].interval for f in cell.factors}, self)
        return natural if found is None else (max(natural[0], found[0]), min(natural[1], found[1]))

    def _call(self, cell: Call, table: Table) -> Value:
        given, events = [], NONE
        for argument in cell.args:
            x, more = table[argument]
            events = events | more if more else events
            if x is None:
                return Value(None, events)
            given.append(x)
        own = hasattr(cell.function, "by_mpmath")  # that of a record, whatever it is called
        shape = None if own else SHAPES.get(cell.name)
        self.ledger.work += COST_OF_BALLS if shape is None else COSTS.get(cell.name, 0)
        found = shape(*given) if shape is not None else in_balls(cell, given)
        if found is None:
            self.ledger.uncertified.add(cell.name)
            self.ledger.work += COST_OF_SAMPLES
            found = Found(sampled(cell, given))
        if found.kind is not None:
            events |= {Event(found.kind, cell, found.soft)}
        return Value(found.interval, events)

    def _step(self, cell: Step, table: Table) -> Value:
        x, events = table[cell.args[0]]
        if x is None:
            return Value(None, events)
        first, last = (_stepped(cell.name, end) for end in x)
        if first != last:
            events |= {Event(JUMP, cell)}
        return Value((first, last), events)

    def _compared(self, cell: Compared, table: Table) -> Value:
        x, y = (table[a] for a in cell.args)
        events = x.events | y.events
        if x.interval is None or y.interval is None or any(e.kind in (DOMAIN, POLE) and not e.soft for e in events):
            return Value((ZERO, ONE), events | {Event(JUMP, cell)})  # what is no number is not less, nor greater
        (a, b), (c, d) = x.interval, y.interval
        open_ = Value((ZERO, ONE), events | {Event(JUMP, cell)})
        on_face = cell.open_ and any(self.box[k][0] == self.box[k][1] for k in cell.leaves)
        if on_face and a == b == c == d:
            return open_  # what holds on a face tells nothing of the space around it
        if cell.equality:
            if b < c or d < a:
                return Value((ZERO, ZERO), events)
            return Value((ONE, ONE), events) if a == b == c == d or (not on_face and self._is_one_function(cell)) else open_
        if b < c:
            return Value((ONE, ONE), events)
        if a > d or (a == d and (not cell.open_ or b == c)):
            return Value((ZERO, ZERO), events)
        if cell.open_ and (b == c or a == d) and self._moves(cell):
            return Value((ONE, ONE) if b == c else (ZERO, ZERO), events)
        return open_

    def _is_one_function(self, cell: Compared) -> bool:
        """Tell whether both sides are the same where their choices are made."""
        return self._taken(cell.args[0]) is self._taken(cell.args[1])

    def _taken(self, cell: Cell) -> Cell:
        """The result of a choice that is made in the whole box."""
        while isinstance(cell, Choice):
            paths = [p for p in cell.paths if is_possible(p, self)]
            if len(paths) != 1:
                break
            cell = paths[0].result
        return cell

    def _moves(self, cell: Compared) -> bool:
        """Whether the sides of a comparison are equal on a plane that crosses the box at most, so that it fills no space there."""
        off = cell.cells.sum([(UNIT, cell.args[0]), (-UNIT, cell.args[1])])
        terms = off.terms if isinstance(off, Sum) else ((UNIT, off),)
        leaves = [c for q, c in terms if q != 0]
        return all(isinstance(c, Leaf) for c in leaves) and any(
            isinstance(c, Leaf) and self.box[c.place][0] < self.box[c.place][1] for c in leaves
        )

    def _choice(self, cell: Choice, table: Table) -> Value:
        return chosen(cell, self)


def _stepped(name: str, x: arb) -> arb:
    if not x.is_finite():
        return x if name != "sign" else ONE if x > 0 else -ONE
    if name == "sign":
        return ONE if x > 0 else -ONE if x < 0 else ZERO
    found = x.floor() if name == "floor" else x.ceil()
    return found.mid()


_RULES: Mapping[Any, Any] = {
    Number: Evaluation._number, Leaf: Evaluation._leaf, Named: Evaluation._named, Filled: Evaluation._filled,
    Sum: Evaluation._sum, Product: Evaluation._product,
    Call: Evaluation._call, Step: Evaluation._step, Compared: Evaluation._compared, Choice: Evaluation._choice,
}  # fmt: skip
