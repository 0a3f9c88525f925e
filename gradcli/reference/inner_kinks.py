"""Kinks of what is differentiated inside of an expression, as in ``grad(abs(x), x)`` at 0, whose value is a choice.

There the expression is evaluated with the derivative from the left, with that from the right, with the one of least norm between
them, and with the one that the engine's rules choose, which must lie between them, too. What the expression may be lies between its
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import Algebra
from gradcli.reference.exact_values import exact_array
from gradcli.reference.kinks import PROBING_DIGITS, Sides, active_kinks, both_sides
from gradcli.reference.scalars import Event, Traced, plain
from gradcli.reference.tape import Array, ReferenceTape

Place = tuple[Expr, int]  # a derivative inside of the expression, and an entry of it
_MOST_WORK = 200_000  # scalar operations


class Choosing(ReferenceTape):
    """The function, with a choice for the derivatives inside of it at kinks."""

    def __init__(self, kinks: InnerKinks, choose: Callable[[Place, Sides], Any]) -> None:
        super().__init__(kinks.m, kinks.leaves, kinks.precision)
        self.kinks, self.choose = kinks, choose

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        found = super().derivative(node, table)
        flat = found.reshape(-1)
        for i, sides in self.kinks.at(node, self, found).items():
            chosen = sides.limit if sides.limit is not None else self.choose((node, i), sides)
            if self.m.isfinite(plain(flat[i])):
                flat[i] = flat[i] + (chosen - plain(flat[i]))  # the slope stays that of the definition
            else:
                behind = tuple(v for v in np.ravel(table[node.static["of"].x]) if type(v) is Traced)
                flat[i] = Traced(self.scalars, chosen, Limit("the derivative"), behind)
        return found


class Limit(NamedTuple):
    """A value that its formula does not have at a point, but beside it; the slope there is asked beside the point, too."""

    name: str

    def read(self, place: int, arguments: Sequence[Any]) -> Sequence[Any]:
        return arguments

    def partial(self, tape: Any, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        return tape.nan


class InnerKinks:
    """The kinks of the derivatives inside of one expression, with both sides."""

    def __init__(self, m: Any, leaves: Mapping[Expr, Any], precision: str, size: int) -> None:
        self.m, self.precision = m, precision
        self.leaves: dict[Expr, Any] = {leaf: exact_array(m, value, leaf.kind) for leaf, value in leaves.items()}
        self.work, self.size = _MOST_WORK, size
        self._known: dict[Expr, dict[int, Sides]] = {}

    @property
    def first(self) -> Sides:
        """The first kink that was found."""
        return next(sides for found in self._known.values() for sides in found.values() if sides.limit is None)

    def at(self, node: Expr, tape: ReferenceTape, derivative: Array) -> dict[int, Sides]:
        """The entries of a derivative that are on a kink, or not finite, with both sides; the tape has what it is made of."""
        if node not in self._known:
            self._known[node] = self._found(node, tape, derivative)
        return self._known[node]

    def _found(self, node: Expr, tape: ReferenceTape, derivative: Array) -> dict[int, Sides]:
        of: Derivation = node.static["of"]
        value = Algebra.map(plain, tape.table[of.y])
        has_value = all(self.m.isfinite(v) for v in np.ravel(value))
        events = {**(_gaps(tape.m, of, derivative) if has_value else {}), **active_kinks(tape, [of.x])[of.x]}
        if not events:
            return {}
        places = np.arange(int(np.prod(node.shape))).reshape(node.shape)
        found: dict[int, Sides] = {}
        before = self.m.dps
        self.m.dps = max(PROBING_DIGITS, before)
        try:
            for direction, part, event in _ways(of, events, tape):
                self.work -= 4 * self.size
                if self.work < 0:
                    break
                wanted = np.ravel(places[part])

                def beside(sign: int, step: int, direction: Array = direction, wanted: Array = wanted) -> tuple[Array, Array]:
                    return self._beside(node, tape, sign * self.m.mpf(10) ** step * direction, wanted)

                sides = both_sides(self.m, beside, value, event)
                found |= {int(i): s for i, s in zip(wanted, sides, strict=True) if s.finite}
        finally:
            self.m.dps = before
        return found

    def _beside(self, node: Expr, tape: ReferenceTape, move: Array, wanted: Array) -> tuple[Array, Array]:
        """Entries of a derivative, and the value of what is differentiated, at a point beside the given one."""
        of: Derivation = node.static["of"]
        moved = Algebra.map(plain, tape.table[of.x]) + move
        other = ReferenceTape(self.m, {**self.leaves, of.x: moved}, self.precision)
        other.scalars.splits = True
        slopes = other.run(node)
        return Algebra.map(plain, np.ravel(slopes)[wanted]), Algebra.map(plain, other.table[of.y])


def _gaps(m: Any, of: Derivation, derivative: Array) -> dict[int, Event | None]:
    """The entries of the variable at which a derivative has no finite value by its formula."""
    open_ = np.array([not m.isfinite(plain(v)) for v in np.ravel(derivative)], dtype=bool)
    if of.vector is not None and of.kind in ("jvp", "hvp"):
        return {0: None} if open_.any() else {}
    by_entry = open_.reshape(-1, max(1, int(np.prod(of.x.shape)))).any(axis=0)
    return {int(i): None for i in np.flatnonzero(by_entry)}


def _ways(of: Derivation, events: Mapping[int, Event | None], tape: ReferenceTape) -> Iterator[tuple[Array, Any, Event | None]]:
    """Which ways to move the variable, relative to its size, and the entries of the derivative that each is about."""
    x = Algebra.map(plain, tape.table[of.x])
    if of.vector is not None and of.kind in ("jvp", "hvp"):
        yield Algebra.map(plain, tape.table[of.vector]), ..., next(iter(events.values()))
        return
    for i, event in events.items():
        direction = Algebra.map(lambda _: tape.m.zero, x)
        direction.reshape(-1)[i] = abs(x.reshape(-1)[i]) or tape.m.one
        yield direction, (..., *np.unravel_index(i, x.shape)), event


Engine = Mapping[Expr, Any]  # what the engine's rules give for every node, without rounding


def has_inner(root: Expr) -> bool:
    """Whether there are derivatives inside of an expression."""
    return any(node.op is derivative for node in definition_order(root))


def with_inner_choices(
    kinks: InnerKinks, root: Expr, also: Sequence[Expr], engine: Engine
) -> tuple[ReferenceTape, Array, dict[int, Sides]]:
    """The function with the engine's choices at the kinks inside of it, its value, and the entries of it that are a choice."""
    m = kinks.m
    chosen = Choosing(kinks, partial(_engines, m, engine))
    y = chosen.run(root, also)
    left, right, least = (np.ravel(Algebra.map(plain, Choosing(kinks, side).run(root))) for side in (_left, _right, _least))
    sides = {}
    for i, (c, a, b) in enumerate(zip(np.ravel(Algebra.map(plain, y)), left, right, strict=True)):
        if isinstance(c, bool) or a == b == c or not all(m.isfinite(v) for v in (a, b, c)):
            continue
        between = min(a, b) <= c <= max(a, b)  # but for products of several choices
        ends = (a, b) if between else (min(a, b, c), max(a, b, c))
        sides[i] = Sides(*ends, None, True, kinks.first.place, kinks.first.convention, least=least[i])
    return chosen, y, sides


def _left(place: Place, sides: Sides) -> Any:
    return sides.left


def _right(place: Place, sides: Sides) -> Any:
    return sides.right


def _least(place: Place, sides: Sides) -> Any:
    return sides.least


def _engines(m: Any, engine: Engine, place: Place, sides: Sides) -> Any:
    """What the engine chose, if it lies between the sides."""
    node, i = place
    if node not in engine:
        return sides.left  # nothing that the engine computes depends on it
    chosen = engine[node].array.reshape(-1)[i]
    low, high = sorted((sides.left, sides.right))
    room = m.mpf(10) ** -15 * max(1, abs(low), abs(high))
    return chosen if low - room <= chosen <= high + room else sides.left
