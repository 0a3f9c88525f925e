"""Kinks where the function was evaluated exactly on one, and the derivatives from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, definition_order
from gradcli.graph.transforms import Derivation
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import Algebra, Step
from gradcli.reference.scalars import Event, Traced, plain
from gradcli.reference.tape import Array, ReferenceTape, exact_array

# -- Limits of derivatives and values from one side of a point, as samples nearer and nearer to it
# show them.


STEPS = (-60, -90)  # powers of ten, relative to the entry
_MORE = (-30, -60, -90, -120)  # steps where the two samples show nothing
_TINY = 1e-4  # below this, samples that shrink tend to zero
_LASTING = 0.9  # share of a difference of samples that the next one has where they grow unboundedly
_ALIKE = 12  # digits to which two extrapolations must agree

At = Callable[[Any], tuple[Any, Any]]  # derivatives and values at a distance from a point


class Side(NamedTuple):
    """Limits of derivatives and values from one side.

    They are NaN where there are none, and `_UNSEEN` where samples may not show them.

    values      the limits of the values
    continuous  whether these are the values at the point
    outside     whether there are no values on this side
    """

    slopes: list[Any]
    values: list[Any]
    continuous: bool
    outside: bool


_UNSEEN = math.nan


def _from_one_side(m: Any, at: At, sign: int, value: Sequence[Any], size: Any) -> Side:
    """One side of a point, where the values are known.

    size  what distances are relative to, where the derivatives are those of one value: then
          derivatives are taken from their definition where they tend to nothing themselves; else
          None
    """
    for steps in (STEPS, _MORE):
        moves = [sign * m.mpf(10) ** step for step in steps]
        samples = [tuple(map(np.ravel, at(move))) for move in moves]
        slopes, values = (
            [_limit(m, row) for row in zip(*column, strict=True)]
            for column in zip(*samples, strict=True)
        )
        if all(map(m.isfinite, (*slopes, *values))):
            break
    last = samples[-1][1]
    outside = any(v != v for v in last)
    continuous = not outside and all(
        is_same(m, v, here) for v, here in zip(values, value, strict=True)
    )
    if size is not None and not outside and not m.isfinite(slopes[0]):
        base = value[0] if continuous else last[0]
        if m.isfinite(base):
            kept = list(zip(moves, samples, strict=True))[: None if continuous else -1]
            defined = _limit(m, [(v[0] - base) / (size * move) for move, (_, v) in kept])
            slopes = [defined] if defined == defined else slopes
    return Side(slopes, values, continuous, outside)


def is_same(m: Any, x: Any, y: Any) -> bool:
    """Tell whether two values are one: a function that differs by less does not jump."""
    return bool(
        x == y
        or (
            m.isfinite(x) and m.isfinite(y) and abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y))
        )
    )


def is_close(m: Any, x: Any, y: Any) -> bool:
    """Tell whether two derivatives are one."""
    return bool(abs(x - y) <= m.mpf(10) ** -15 * max(abs(x), abs(y)) + m.mpf(10) ** -25)


def _limit(m: Any, samples: Sequence[Any]) -> Any:
    """Return the limit of samples: a number, an infinity, NaN where they wander, or `_UNSEEN`."""
    before, last = samples[-2:]
    if any(x != x for x in (before, last)):
        return m.nan
    if before == last or not m.isfinite(last):
        return last
    if abs(last) <= abs(before) / 10 and abs(last) < _TINY:
        return m.zero
    if is_close(m, before, last):
        # Otherwise, only the remainder of terms that cancel.
        return last if abs(before - last) <= m.mpf(10) ** -15 * abs(last) else m.zero
    if len(samples) < len(_MORE) - 1 or not all(map(m.isfinite, samples)):
        return _UNSEEN
    changes = [b - a for a, b in pairwise(samples)]
    if any(change * changes[-1] <= 0 for change in changes):
        return m.nan
    if all(abs(b) >= _LASTING * abs(a) for a, b in pairwise(changes)) and abs(last) > abs(before):
        return m.inf * m.sign(last)
    ends = [
        b - y * y / (y - x)
        for b, x, y in zip(samples[2:], changes, changes[1:], strict=False)
        if x != y
    ]  # Aitken's extrapolation
    known = len(ends) > 1 and abs(ends[-1] - ends[-2]) <= m.mpf(10) ** -_ALIKE * max(map(abs, ends))
    return ends[-1] if known else _UNSEEN


PROBING_DIGITS = 300
_EVALUATIONS = 8  # passes through all operations that one probe takes
_MOST_ORDERS = 32  # most orders in which equal entries are examined
_FEWEST_PROBES, _MOST_PROBES, _WORK = 24, 400, 100_000


def _probing(m: Any) -> Any:
    """Return a context with enough digits to look at points beside one."""
    return m.workdps(max(PROBING_DIGITS, m.dps))


def limits_of_value(m: Any, asked: Any, x: Expr, index: tuple[int, ...]) -> list[list[Any]]:
    """Return the limits of the value's entries from the left and from the right.

    They are taken as an entry of a leaf approaches its own value; NaN is where no limit is seen.

    An infinite limit counts where the value is finite further away; elsewhere the value is too
    large rather than at a pole.
    """
    here = exact_array(m, asked.leaves[x])
    size = abs(here[index]) or m.one

    def value(move: Any) -> Array:
        there = here.copy()
        there[index] += move * size
        y = _tape_beside(m, asked, {x: there}).run(asked.root)
        return np.ravel(Algebra.map(plain, y))

    found = []
    with m.workdps(PROBING_DIGITS):
        for sign in (-1, 1):
            far = value(sign * m.mpf("0.01"))
            scale = Algebra.map(lambda v: abs(v) if v and m.isfinite(v) else m.one, far)

            def scaled(move: Any, by: Array = scale) -> tuple[Any, Any]:
                return (), value(move) / by

            side = _from_one_side(m, scaled, sign, [m.nan] * far.size, None)
            found.append(
                [
                    v * by if m.isfinite(v) or m.isfinite(there) else m.nan
                    for v, by, there in zip(side.values, scale, far, strict=True)
                ]
            )
    return found


@dataclass(eq=False)
class Sides:
    """Derivatives of one entry from the left and from the right.

    ``limit`` is the derivative if both are one finite number.

    inside  the derivative from within, at the edge of the domain
    gap     in words, how the function jumps here, or where it has a pole; empty where it is
            continuous
    others  other derivatives nearby: where it jumps, that of the branch that the point itself is
            on, and where equal entries change places
    open    in words, the side whose derivative is not seen
    """

    place: str
    convention: str
    left: Any = math.nan
    right: Any = math.nan
    limit: Any = None
    probed: bool = True
    least: Any = None  # the value of least norm among all between them
    inside: Any = None
    gap: str = ""
    others: Sequence[Any] = ()
    open: str = ""

    @property
    def finite(self) -> bool:
        """Tell whether both are."""
        return bool(self.left - self.left == 0 == self.right - self.right)

    @property
    def range(self) -> tuple[Any, Any]:
        """The ends between which a choice lies."""
        ends = [v for v in (self.left, self.right, *self.others) if v == v]
        return min(ends), max(ends)

    @property
    def is_known(self) -> bool:
        """Tell whether that range is known."""
        return bool(self.left == self.left and self.right == self.right) or (
            not self.probed and len(self.others) > 0
        )


def _tape_beside(m: Any, asked: Any, moved: Mapping[Expr, Any]) -> ReferenceTape:
    """Return a tape at a point beside the given one.

    Its numbers differ in digits that the program does not have.
    """
    tape = ReferenceTape(m, {**asked.leaves, **moved}, asked.precision, asked.zeros)
    tape.scalars.splits = True
    return tape


def on_kink(event: Event, *sides: Any, **more: Any) -> Sides:
    """Sides of a kink: unknown ones, if there are none."""
    return Sides(event.kink.place, event.kink.convention, *sides, **more)


def active_kinks(tape: ReferenceTape, wrt: list[Expr]) -> dict[Expr, dict[int, Event]]:
    """Return the entries of the variables that reach an operation on its kink."""
    reached: dict[int, Event] = {}
    stack = [
        (a, event) for event in tape.scalars.events for a in event.arguments if type(a) is Traced
    ]
    while stack:
        node, event = stack.pop()
        if node.serial in reached:
            continue
        reached[node.serial] = event
        stack.extend((a, event) for a in node.arguments if type(a) is Traced)
    return {
        x: {
            i: reached[v.serial]
            for i, v in enumerate(np.ravel(tape.table[x]))
            if getattr(v, "serial", None) in reached
        }
        for x in wrt
    }


Place = tuple[Expr, int]  # a variable or a derivative inside the expression, and an entry of it


@dataclass(eq=False)
class Prober:
    """One-sided derivatives, by evaluating the reference at points beside the given one.

    asked  the gradient: its root, nodes, leaves, seed, precision, signed zeros, size in scalar
           operations, and the budget for these
    """

    asked: Any
    tape: ReferenceTape
    value: np.ndarray
    found: dict[Expr, dict[int, Event]]

    def __post_init__(self) -> None:
        self.left = min(_MOST_PROBES, max(_FEWEST_PROBES, _WORK // self.asked.size))
        self.cost = _EVALUATIONS * self.asked.size
        m, table = self.tape.m, self.tape.table
        self.weights = exact_array(m, self.asked.seed)
        self.sizes = {
            x: Algebra.map(lambda v: abs(plain(v)) or m.one, np.ravel(table[x])) for x in self.found
        }

    def of(self, x: Expr, slopes: np.ndarray) -> dict[int, Sides]:
        """Return the entries of a variable that need both sides.

        They are on a kink, or have a derivative that is not finite.
        """
        m = self.tape.m
        sizes = self.sizes[x]
        events, slopes = dict(self.found.get(x, {})), np.ravel(slopes)
        finite = all(map(m.isfinite, np.ravel(self.value)))
        sides = {
            i: on_kink(events.pop(i)) for i in list(events) if not (finite and m.isfinite(sizes[i]))
        }  # an infinity has no sides
        if not finite:
            return sides
        around = {i: nearby for (y, i), nearby in self._around.items() if y is x}
        steady = {
            i for i, nearby in around.items() if all(is_close(m, v, nearby[0]) for v in nearby)
        }
        sure = len(steady) == len(around) or len(around) <= _MOST_ORDERS
        gaps = [i for i, v in enumerate(slopes) if not m.isfinite(v) and i not in sides]
        budget = self.asked.budget
        for i in sorted({*events, *gaps}, key=lambda i: (i in steady, i)):
            event, slope, nearby = events.get(i), slopes[i], around.get(i, [])
            room = self.left > 0 and budget.allows(self.cost)
            if event is not None and i in steady and ((event.tie and sure) or not room):
                limit = slope if m.isfinite(slope) and is_close(m, slope, nearby[0]) else nearby[0]
                sides[i] = on_kink(event, limit, limit, limit, probed=sure)
            elif room:
                self.left -= 1
                budget.spend(self.cost)
                along = np.where(np.arange(sizes.size) == i, sizes, m.zero)
                # A gap of a formula is not a branch that could be defined otherwise.
                (sides[i],) = self._along(
                    x, along, slice(i, i + 1), event, None if event is None else sizes[i]
                )
                if nearby and i not in steady:
                    sides[i].others, sides[i].limit = nearby, None
                if sides[i].gap and m.isfinite(slope):
                    sides[i].others = [*sides[i].others, slope]
            elif event is not None:
                sides[i] = on_kink(event, probed=False, others=nearby)
        self._confirm(x, sizes, sides, slopes, gaps)
        return sides

    @cached_property
    def _around(self) -> dict[Place, Sequence[Any]]:
        """Return the derivatives by some entries where kinks and ties have come apart.

        If there are few entries, each takes each place in their order once upwards and once
        downwards, as what is compared may fall where an entry rises; if there are many, those of
        ties take some.

        There are none where they would cost too much, or where the function jumps.
        """
        m, budget, found = self.tape.m, self.asked.budget, list[list[Any]]()
        few = sum(map(len, self.found.values())) <= _MOST_ORDERS
        moved = [(x, i) for x, on in self.found.items() for i in on if few or on[i].tie]
        n = len(moved)
        cost = 2 * self.cost * min(n, _MOST_ORDERS) // len(STEPS) ** 2
        if n < 2 or not budget.allows(cost):
            return {}
        budget.spend(cost)
        _, value = self.slopes_beside(moved, [0] * n)
        for first, way in product(range(0, n, -(-n // _MOST_ORDERS)), (m.one / n, -m.one / n)):
            slopes, there = self.slopes_beside(
                moved, [way * ((k + first) % n + 1) for k in range(n)]
            )
            if not abs(there - value) <= m.mpf(10) ** (STEPS[0] // 2) * (1 + abs(value)):
                return {}
            found.append(slopes)
        finite = all(m.isfinite(v) for slopes in found for v in slopes)
        return dict(zip(moved, zip(*found, strict=True), strict=True)) if finite else {}

    def _along(
        self, x: Expr, direction: Array, wanted: slice, event: Event | None = None, size: Any = None
    ) -> list[Sides]:
        """Return some derivatives on both sides of the point in a direction."""

        def at(move: Any) -> tuple[Array, Array]:
            slopes, value = self._at({x: move * direction})
            return slopes[x][wanted], value

        return both_sides(self.tape.m, at, self._weigh(self.value), event, size)

    def _confirm(
        self, x: Expr, sizes: Array, found: dict[int, Sides], slopes: np.ndarray, gaps: list[int]
    ) -> None:
        """Check limits where a formula has a gap against those from another direction.

        If they differ, there is no derivative.
        """
        wanted = [i for i in gaps if i in found and found[i].limit is not None]
        m = self.tape.m
        if not wanted or sizes.size < 2:
            return
        others = self._along(
            x, sizes * [1 + m.mpf((7 * i) % 11) / 13 for i in range(sizes.size)], slice(None)
        )
        known = [
            (found[i].limit if i in found else v, other.limit)
            for i, (v, other) in enumerate(zip(slopes, others, strict=True))
        ]
        if any(
            v is not None and m.isfinite(v) and (limit is None or not is_close(m, v, limit))
            for v, limit in known
        ):
            for i in wanted:
                found[i] = Sides("the derivative depends on the direction", "")

    def _at(
        self, moves: Mapping[Expr, Any], by: Sequence[Expr] = ()
    ) -> tuple[dict[Expr, np.ndarray], np.ndarray]:
        """Return the derivatives, by default by the moved variables, and the value at a moved point.

        Both are in the seed's weights.
        """
        m, asked = self.tape.m, self.asked
        there = {}
        for x, move in moves.items():
            here = Algebra.map(plain, self.tape.table[x])
            there[x] = np.reshape(np.ravel(here) + move, here.shape)
        other = _tape_beside(m, asked, there)
        by = by or [*moves]
        y = other.run(asked.root, by)
        slopes = {
            x: Algebra.map(plain, np.ravel(other.gradient(y, self.weights, other.table[x])))
            for x in by
        }
        return slopes, self._weigh(Algebra.map(plain, y))

    def slopes_beside(
        self, places: Collection[Place], direction: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        """Return the derivatives by some entries, and the value, beside the point in a direction."""
        m = self.tape.m
        moves = {x: np.full(sizes.size, m.zero) for x, sizes in self.sizes.items()}
        size = min(self.sizes[x][i] for x, i in places)
        with _probing(m):
            for (x, i), step in zip(places, direction, strict=True):
                moves[x][i] = m.mpf(10) ** STEPS[0] * size * step
            slopes, (value,) = self._at(moves)
        return [slopes[x][i] for x, i in places], value

    def around_choices(self, inner: Collection[Expr]) -> list[dict[Expr, np.ndarray]]:
        """Return the gradients on both sides of derivatives inside by some variables."""
        step = self.tape.m.mpf(10) ** STEPS[0]
        with _probing(self.tape.m):
            # Entries move by different steps, which part ties.
            moved = [
                {x: way * np.arange(1, math.prod(x.shape) + 1) for x in inner}
                for way in (-step, step)
            ]
            return [self._at(moves, self.asked.nodes)[0] for moves in moved]

    def _weigh(self, y: np.ndarray) -> np.ndarray:
        """Weigh a value with the seed's weights."""
        pairs = zip(np.ravel(self.weights), np.ravel(y), strict=True)
        return np.array([sum((w * v for w, v in pairs if w != 0), self.tape.m.zero)], dtype=object)


def both_sides(m: Any, at: At, chosen: Array, event: Event | None, size: Any = None) -> list[Sides]:
    """Return the derivatives from both sides, entry by entry.

    chosen  the values between, where their formula has a gap
    size    what distances are relative to, where the derivatives are those of one value
    """
    with _probing(m):
        _, between = at(m.zero)  # to as many digits as the points on both sides
        values = list(np.ravel(between if all(map(m.isfinite, np.ravel(between))) else chosen))
        left, right = (_from_one_side(m, at, sign, values, size) for sign in (-1, 1))
        gap = _gap(m, values, left, right)
        found = [
            _sides(m, a, b, gap, event) for a, b in zip(left.slopes, right.slopes, strict=True)
        ]
    hidden = [
        name
        for name, side in (("left", left), ("right", right))
        if any(v is _UNSEEN for v in side.slopes)
    ]
    inner = next(
        (
            side
            for side, other in ((left, right), (right, left))
            if other.outside and side.continuous
        ),
        None,
    )
    for i, sides in enumerate(found):
        sides.open = " and from the ".join(hidden)
        if inner is not None and m.isfinite(inner.slopes[i]):
            sides.inside = inner.slopes[i]
    return found


def _gap(m: Any, values: list[Any], left: Side, right: Side) -> str:
    """Describe the jump of the function, or its poles; return "" where it is continuous."""
    if left.continuous and right.continuous:
        return ""
    for low, at, high in zip(left.values, values, right.values, strict=True):
        poles = [
            f"goes to {float(v):g} from the {name}"
            for name, v in (("left", low), ("right", high))
            if m.isinf(v)
        ]
        if poles:
            return " and ".join(poles)
        for x, y in ((low, high), (low, at), (high, at)):
            if x == x and y == y and not is_same(m, x, y):
                return f"jumps by {float(abs(y - x)):.6g}"
    return "jumps"


def _sides(m: Any, left: Any, right: Any, gap: str, event: Event | None) -> Sides:
    finite, words, limit = m.isfinite(left) and m.isfinite(right), ("", ""), None
    if finite and is_close(m, left, right):
        middle = (left + right) / 2
        if not gap:
            limit = middle if abs(middle) > m.mpf(10) ** (STEPS[0] - 1) else m.zero
    elif finite:
        words = "the derivatives from both sides differ", "what the chain rule gives"
    if event is not None:
        words = event.kink.place, event.kink.convention
    least = min(left, right, key=abs) if left * right > 0 else m.zero
    return Sides(*words, left, right, limit, least=least, gap=gap)


# -- Kinks of what is differentiated inside of an expression, as in ``grad(abs(x), x)`` at 0, whose
# value is a choice.
#
# There the expression is evaluated with the derivative from the left, with that from the right,
# with the one of least norm between them, and with the one that the engine's rules choose, which
# must lie between them, too. What the expression may be lies between its values.


_MOST_WORK = 200_000  # most scalar operations


class _Choosing(ReferenceTape):
    """The function, with a choice for the derivatives inside of it at kinks.

    asked   as of a `Prober`
    known   the kinks that have been found, with both sides
    choose  takes both sides of a kink
    """

    def __init__(
        self,
        m: Any,
        asked: Any,
        known: dict[Expr, dict[int, Sides]],
        choose: Callable[[Place, Sides], Any],
    ) -> None:
        super().__init__(m, asked.leaves, asked.precision)
        self.asked, self.known, self.choose = asked, known, choose

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        found = super().derivative(node, table)
        flat = found.reshape(-1)
        if node not in self.known:
            self.known[node] = self._sides(node, found)
        for i, sides in self.known[node].items():
            chosen = self.choose((node, i), sides) if sides.limit is None else sides.limit
            if self.m.isfinite(plain(flat[i])):  # keeps the slope that the definition has
                flat[i] = flat[i] + (chosen - plain(flat[i]))
            else:
                behind = tuple(v for v in np.ravel(table[node.static["of"].x]) if type(v) is Traced)
                flat[i] = Traced(self.scalars, chosen, Limit(), behind)
        return found

    def _sides(self, node: Expr, derivative: Array) -> dict[int, Sides]:
        """Return the entries of a derivative on a kink, or not finite, with both sides."""
        of: Derivation = node.static["of"]
        m, found = self.m, dict[int, Sides]()
        x, value = (Algebra.map(plain, self.table[part]) for part in (of.x, of.y))
        ways = self._ways(of, x, derivative) if all(map(m.isfinite, np.ravel(value))) else ()
        for direction, part, event in islice(ways, _MOST_WORK // (4 * self.asked.size)):
            wanted = np.ravel(np.arange(derivative.size).reshape(derivative.shape)[part])

            def at(
                move: Any, direction: Array = direction, wanted: Array = wanted
            ) -> tuple[Array, Array]:
                moved = np.asarray(x + move * direction, dtype=object)
                other = _tape_beside(m, self.asked, {of.x: moved})
                slopes = np.ravel(other.run(node))[wanted]
                return Algebra.map(plain, slopes), Algebra.map(plain, other.table[of.y])

            found |= {
                int(i): sides
                for i, sides in zip(wanted, both_sides(m, at, value, event), strict=True)
                if sides.finite
            }
        return found

    def _ways(
        self, of: Derivation, x: Array, derivative: Array
    ) -> Iterator[tuple[Array, Any, Event | None]]:
        """Yield ways to move the variable, relative to its size.

        Each comes with the entries of the derivative that it is about: those that reach a kink, or
        have no finite value by their formula.
        """
        m, events = self.m, active_kinks(self, [of.x])[of.x]
        gaps = np.array([not m.isfinite(plain(v)) for v in np.ravel(derivative)], dtype=bool)
        if of.vector is not None and of.kind in ("jvp", "hvp"):
            if events or gaps.any():
                vector = Algebra.map(plain, self.table[of.vector])
                yield vector, ..., next(iter(events.values()), None)
            return
        sizes = Algebra.map(lambda v: abs(v) or m.one, x)
        places = np.arange(x.size).reshape(x.shape)
        for i in sorted({*events, *np.flatnonzero(gaps.reshape(-1, max(1, x.size)).any(axis=0))}):
            yield (
                np.where(places == i, sizes, m.zero),
                (..., *np.unravel_index(i, x.shape)),
                events.get(i),
            )


class Limit(Step):
    """Value that its formula does not have at a point, but beside it.

    The slope there is asked beside the point, too.
    """

    name = "the derivative"

    def partial(self, tape: Any, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        return tape.nan


def has_inner(root: Expr) -> bool:
    """Return whether there are derivatives inside of an expression."""
    return any(node.op is derivative for node in definition_order(root))


def with_inner_choices(
    m: Any, asked: Any, engine: Mapping[Expr, Any]
) -> tuple[ReferenceTape, Array, dict[int, Sides]]:
    """Return the function with the engine's choices at the kinks inside of it.

    Also return its value, and the entries of the value that are a choice or a limit. ``engine`` has
    the result of the engine's rules for every node, without rounding.
    """

    def as_engine(place: Place, sides: Sides) -> Any:
        """Return what lies between the sides, where there is no jump, nearest to the engine's."""
        node, i = place
        if node not in engine:
            return sides.left  # nothing that the engine computes depends on it
        low, high = sorted((sides.left, sides.right))
        own = engine[node].array.reshape(-1)[i]
        return own if sides.gap else max(low, min(own, high))

    known: dict[Expr, dict[int, Sides]] = {}
    choices: list[Callable[[Place, Sides], Any]] = [
        as_engine,
        lambda _, sides: sides.left,
        lambda _, sides: sides.right,
        lambda _, sides: sides.least,
    ]
    chosen, *others = (_Choosing(m, asked, known, choose) for choose in choices)
    root = asked.root
    y = chosen.run(root, asked.nodes)
    left, right, least = (np.ravel(Algebra.map(plain, tape.run(root))) for tape in others)
    kinks = [s for found in known.values() for s in found.values()]
    first = next((s for s in kinks if s.limit is None), None)
    sides = {}
    for i, (c, a, b) in enumerate(zip(np.ravel(Algebra.map(plain, y)), left, right, strict=True)):
        if not kinks or not all(map(m.isfinite, (a, b, c))):
            continue
        if first is None or a == b == c:
            sides[i] = Sides(kinks[0].place, kinks[0].convention, c, c, limit=c)
            continue
        # Products of several choices need not lie between.
        sides[i] = Sides(
            first.place, first.convention, a, b, least=least[i], gap=first.gap, others=[c]
        )
    return chosen, y, sides
