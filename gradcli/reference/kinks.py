"""Kinks: where the function was evaluated exactly on one, and its derivatives from both sides there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.reference.algebra import Algebra
from gradcli.reference.budget import Budget
from gradcli.reference.exact_values import exact_array
from gradcli.reference.scalars import Event, Traced, plain
from gradcli.reference.signed_zeros import SignedZeros
from gradcli.reference.tape import ReferenceTape

PROBING_DIGITS = 300
_STEPS = (-60, -90)  # powers of ten, relative to the entry
_TINY = 1e-4  # below, what shrinks tends to zero
_EVALUATIONS = 8  # passes through all operations that one probe takes
_FEWEST_PROBES, _MOST_PROBES, _WORK = 24, 400, 100_000


@dataclass(eq=False)
class Sides:
    """The derivatives of one entry from the left and from the right; ``limit`` if they are one finite number.

    inside  the derivative from within, at the edge of the domain
    """

    left: Any
    right: Any
    limit: Any
    finite: bool
    place: str
    convention: str
    probed: bool = True
    least: Any = None  # of all values between them, that of least norm
    inside: Any = None


def active_kinks(tape: ReferenceTape, wrt: list[Expr]) -> dict[Expr, dict[int, Event]]:
    """The entries of the variables that reach an operation on its kink."""
    reached: dict[int, Event] = {}
    stack = [(a, event) for event in tape.scalars.events for a in event.arguments if type(a) is Traced]
    while stack:
        node, event = stack.pop()
        if node.serial in reached:
            continue
        reached[node.serial] = event
        stack.extend((a, event) for a in node.arguments if type(a) is Traced)
    found: dict[Expr, dict[int, Event]] = {}
    for x in wrt:
        entries = np.ravel(tape.table[x])
        found[x] = {i: reached[v.serial] for i, v in enumerate(entries) if type(v) is Traced and v.serial in reached}
    return found


class Question(Protocol):
    """The gradient that is asked about: of which graph, where, and what the answer may take."""

    @property
    def root(self) -> Expr: ...
    @property
    def leaves(self) -> Mapping[Expr, Any]: ...
    @property
    def seed(self) -> Any: ...
    @property
    def precision(self) -> str: ...
    @property
    def zeros(self) -> SignedZeros | None: ...
    @property
    def size(self) -> int: ...  # scalar operations
    @property
    def budget(self) -> Budget: ...


class Prober:
    """One-sided derivatives, by evaluating the reference at points beside the given one."""

    def __init__(self, asked: Question, tape: ReferenceTape, value: np.ndarray, found: dict[Expr, dict[int, Event]]) -> None:
        self.asked, self.tape, self.value, self.found = asked, tape, value, found
        self.left = min(_MOST_PROBES, max(_FEWEST_PROBES, _WORK // asked.size))
        self.cost = _EVALUATIONS * asked.size

    def of(self, x: Expr, slopes: np.ndarray) -> dict[int, Sides]:
        """The entries of a variable that need both sides: on a kink, or with a derivative that is not finite."""
        m = self.tape.m
        events = dict(self.found.get(x, {}))
        sides = {}
        finite = all(m.isfinite(v) for v in np.ravel(self.value) if not isinstance(v, bool))
        for i, entry in enumerate(np.ravel(self.tape.table[x])):
            if i in events and not (finite and m.isfinite(plain(entry))):  # infinity has no sides
                event = events.pop(i)
                sides[i] = Sides(m.nan, m.nan, None, False, event.kink.place, event.kink.convention)
        if not finite:
            return sides
        places = sorted({*events, *(i for i, v in enumerate(np.ravel(slopes)) if not m.isfinite(v))} - {*sides})
        before = m.dps
        budget = self.asked.budget
        for i in places:
            if self.left <= 0 or not budget.allows(self.cost):
                event = events.get(i)
                if event is not None:
                    sides[i] = Sides(m.nan, m.nan, None, False, event.kink.place, event.kink.convention, probed=False)
                continue
            self.left -= 1
            budget.spend(self.cost)
            m.dps = max(PROBING_DIGITS, before)
            try:
                sides[i] = self._sides(x, i, events.get(i))
            finally:
                m.dps = before
        return sides

    def _sides(self, x: Expr, i: int, event: Event | None) -> Sides:
        (sides,) = both_sides(self.tape.m, partial(self._beside, x, i), self.value, event)
        return sides

    def _beside(self, x: Expr, i: int, sign: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The derivative with respect to an entry, and the value, a little to one side of it."""
        m, asked = self.tape.m, self.asked
        leaves: dict[Expr, Any] = {leaf: exact_array(m, v, leaf.kind) for leaf, v in asked.leaves.items()}
        moved = leaves[x].copy() if x in leaves else Algebra.map(plain, self.tape.table[x])
        flat = moved.reshape(-1)
        flat[i] = flat[i] + sign * m.mpf(10) ** step * (abs(flat[i]) or 1)
        leaves[x] = moved
        other = ReferenceTape(m, leaves, asked.precision, asked.zeros)
        y = other.run(asked.root, [x])
        slope = other.gradient(y, exact_array(m, asked.seed, "float"), other.table[x])
        return Algebra.map(plain, np.ravel(slope)[i : i + 1]), Algebra.map(plain, y)


Beside = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


def both_sides(m: Any, beside: Beside, value: np.ndarray, event: Event | None) -> list[Sides]:
    """The derivatives from both sides, entry by entry.

    ``beside`` takes a sign and a power of ten, and gives the derivatives and the value that far to one side; ``value`` is that between.
    """
    ends, jumps, outside = {}, {}, {}
    for sign in (-1, 1):
        (near, _), (nearer, there) = (beside(sign, step) for step in _STEPS)
        ends[sign] = [_end(m, a, b) for a, b in zip(np.ravel(near), np.ravel(nearer), strict=True)]
        pairs = list(zip(np.ravel(there), np.ravel(value), strict=True))
        outside[sign] = any(a != a for a, _ in pairs)
        jumps[sign] = any(not abs(a - b) <= m.mpf(10) ** -20 * max(1, abs(b)) for a, b in pairs)
    found = [_sides(m, left, right, any(jumps.values()), event) for left, right in zip(ends[-1], ends[1], strict=True)]
    inner = next((sign for sign in (-1, 1) if outside[-sign] and not jumps[sign]), None)
    if inner is not None:
        for sides, slope in zip(found, ends[inner], strict=True):
            sides.inside = slope if m.isfinite(slope) else None
    return found


def _end(m: Any, near: Any, nearer: Any) -> Any:
    """What a derivative tends to, from its values at two small distances."""
    if not m.isfinite(near) or not m.isfinite(nearer):
        return m.nan if nearer != nearer else m.inf * m.sign(nearer)
    if abs(nearer) <= abs(near) / 10 and abs(nearer) < _TINY:
        return m.zero
    return nearer if _close(m, near, nearer) else m.inf * m.sign(nearer)


def _close(m: Any, x: Any, y: Any) -> bool:
    return bool(abs(x - y) <= m.mpf(10) ** -15 * max(abs(x), abs(y)) + m.mpf(10) ** -25)


def _sides(m: Any, left: Any, right: Any, jump: bool, event: Event | None) -> Sides:
    finite = bool(m.isfinite(left) and m.isfinite(right))
    equal = finite and _close(m, left, right)
    place, convention = (event.kink.place, event.kink.convention) if event is not None else ("", "")
    if event is None and finite and not equal:
        place, convention = "the derivatives from both sides differ", "what the chain rule gives"
    middle = (left + right) / 2
    limit = None if not equal or jump else middle if abs(middle) > m.mpf(10) ** (_STEPS[0] - 1) else m.zero
    return Sides(left, right, limit, finite, place, convention, least=_least(m, left, right))


def _least(m: Any, left: Any, right: Any) -> Any:
    low, high = (left, right) if left <= right else (right, left)
    return m.zero if low <= 0 <= high else low if low > 0 else high
