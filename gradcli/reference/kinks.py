"""Kinks where the function was evaluated exactly on one, and the derivatives from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, definition_order
from gradcli.graph.transforms import Derivation
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import NOTHING, Algebra, Step
from gradcli.reference.scalars import Event, Traced, plain
from gradcli.reference.tape import Array, ReferenceTape, exact_array

# -- Limits of derivatives and values from one side of a point, as samples nearer and nearer to it
# show them.


STEPS = (-60, -90)  # powers of ten, relative to the entry
_MORE = (-30, -60, -90, -120)  # steps where the two samples show nothing
_APART = 30  # power of ten from step to step
_POWER = 1e-100  # samples this near to a power of the distance are zero in the end
_LASTING = 0.9  # share of a difference of samples that the next one has where they grow unboundedly
_ALIKE = 1e-12  # relative: how far apart two extrapolations may be

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
        moves, samples = [sign * m.mpf(10) ** step for step in steps], []
        for step, move in zip(steps, moves, strict=True):
            with _probing(m, step):
                samples.append(tuple(map(np.ravel, at(move))))
        slopes, values = (
            [_limit(m, row) for row in zip(*column, strict=True)]
            for column in zip(*samples, strict=True)
        )
        jumps = [*map(partial(_jump, m), value, zip(*(row for _, row in samples), strict=True))]
        if all(map(m.isfinite, (*slopes, *values, *jumps))):
            break
    last = samples[-1][1]
    outside = any(v != v for v in last)
    continuous = not (outside or any(jumps))
    if size is not None and not outside and not m.isfinite(slopes[0]):
        base = value[0] if continuous else last[0]
        if m.isfinite(base):
            kept = list(zip(moves, samples, strict=True))[: None if continuous else -1]
            defined = _limit(m, [(v[0] - base) / (size * move) for move, (_, v) in kept])
            slopes = [defined] if defined == defined else slopes
    return Side(slopes, values, continuous, outside)


def is_same(m: Any, x: Any, y: Any) -> bool:
    """Tell whether two values are one: a function that differs by less does not jump."""
    return bool(x == y or (m.isfinite(x - y) and is_close(x, y, 1e-20)))


def is_close(x: Any, y: Any, share: float = 1e-15) -> bool:
    """Tell whether two derivatives are one."""
    return bool(abs(x - y) <= share * max(abs(x), abs(y)))


def _jump(m: Any, here: Any, samples: Sequence[Any]) -> Any:
    """Return the limit of how far samples of a value are from that at the point itself."""
    if is_same(m, _limit(m, samples), here):
        return m.zero
    return _limit(m, [value - here for value in samples])


def _limit(m: Any, samples: Sequence[Any]) -> Any:
    """Return the limit of samples: a number, an infinity, NaN where they wander, or `_UNSEEN`."""
    before, last = samples[-2:]
    if before != before or last != last:
        return m.nan
    if not last or not m.isfinite(last) or is_close(before, last):
        return last
    if not all(map(m.isfinite, samples)):
        return _UNSEEN
    if any(is_close(before, last * 10**shrunk, _POWER) for shrunk in (_APART, 2 * _APART)):
        return m.zero  # as the distance, or as its square
    if len(samples) < len(_MORE) - 1:
        return _UNSEEN
    changes = [b - a for a, b in pairwise(samples)]
    steady = all(change * changes[-1] > 0 for change in changes)
    lasting = all(abs(b) >= _LASTING * abs(a) for a, b in pairwise(changes))
    if steady and lasting and abs(last) > abs(before):
        return m.inf * m.sign(last)
    ends = [
        b - y * y / (y - x)
        for b, x, y in zip(samples[2:], changes, changes[1:], strict=False)
        if x != y
    ]  # Aitken's extrapolation
    if steady and len(ends) > 1 and is_close(ends[0], ends[1], _ALIKE):
        return ends[-1]
    # Also what is only rounding, and may be exactly zero by chance.
    if all(2 * abs(b) <= abs(a) for a, b in pairwise(filter(None, samples))):
        return m.zero
    return _UNSEEN if steady else m.nan


PROBING_DIGITS = 200
_EVALUATIONS = 8  # passes through all operations that one probe takes
_MOST_ORDERS = 32  # most orders in which equal entries are examined
_FEWEST_PROBES, _MOST_PROBES, _WORK = 24, 400, 100_000


def _probing(m: Any, step: int = STEPS[0]) -> Any:
    """Return a context with enough digits to look at points beside one.

    The nearer they are, the more digits it has: then what is only rounding shrinks.
    """
    return m.workdps(max(PROBING_DIGITS, m.dps) * step // STEPS[0])


def limits_of_value(m: Any, asked: Any, x: Expr, index: tuple[int, ...]) -> list[list[Any]]:
    """Return the limits of the value's entries from the left and from the right.

    They are taken as an entry of a leaf approaches its own value; NaN is where no limit is seen.

    An infinite limit counts where the value is finite further away; elsewhere the value is too
    large rather than at a pole.

    Values alone need no derivatives of what nearly cancels: half of the digits is enough, and
    many times as fast, at the cube roots of distances.
    """
    here = exact_array(m, asked.leaves[x])
    size = abs(here[index]) or m.one

    def at(move: Any) -> tuple[Any, Array]:
        there = here.copy()
        with m.workdps(m.dps // 2):
            there[index] += m.sign(move) * m.cbrt(abs(move)) * size
            y = _tape_beside(m, asked, {x: there}).run(asked.root)
        return (), Algebra.map(plain, np.ravel(y))

    found = []
    for sign in (-1, 1):
        with _probing(m):
            _, far = at(sign * m.mpf("1e-6"))
            side = _from_one_side(m, at, sign, [m.nan] * far.size, None)
        found.append(
            [
                v if m.isfinite(v) or m.isfinite(there) else m.nan
                for v, there in zip(side.values, far, strict=True)
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
    formula the derivative by the formula, to more digits
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
    formula: Any = None

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


def _moved(tape: ReferenceTape, asked: Any, moves: Mapping[Expr, Any]) -> ReferenceTape:
    """Return a tape beside the point of another one."""
    there = {}
    for x, move in moves.items():
        here = Algebra.map(plain, tape.table[x])
        there[x] = np.reshape(np.ravel(here) + move, here.shape)
    return _tape_beside(tape.m, asked, there)


def _apart(inner: Collection[Expr], size: Any, order: int = 1) -> dict[Expr, Any]:
    """Return moves by a different step for each entry, which part ties."""
    return {x: size * np.arange(1, x.size + 1)[::order] for x in inner}


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
        steady = {i for i, nearby in around.items() if all(is_close(v, nearby[0]) for v in nearby)}
        sure = len(steady) == len(around) or len(around) <= _MOST_ORDERS
        gaps = [i for i, v in enumerate(slopes) if not m.isfinite(v) and i not in sides]
        budget = self.asked.budget
        for i in sorted({*events, *gaps}, key=lambda i: (i in steady, i)):
            event, slope, nearby = events.get(i), slopes[i], around.get(i, [])
            room = self.left > 0 and budget.allows(self.cost)
            if event is not None and i in steady and ((event.tie and sure) or not room):
                limit, *_ = nearby
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
        m, budget = self.tape.m, self.asked.budget
        found: list[list[Any]] = []
        few = sum(map(len, self.found.values())) <= _MOST_ORDERS
        moved = [(x, i) for x, on in self.found.items() for i in on if few or on[i].tie]
        n = len(moved)
        cost = self.cost * min(n, _MOST_ORDERS) // len(STEPS)
        if n < 2 or not budget.allows(cost):
            return {}
        budget.spend(cost)
        *_, value = self.slopes_beside(moved, [0] * n, STEPS[-1])
        for first, way in product(range(0, n, -(-n // _MOST_ORDERS)), (m.one / n, -m.one / n)):
            direction = [way * ((k + first) % n + 1) for k in range(n)]
            *slopes, values = zip(
                *(self.slopes_beside(moved, direction, step) for step in STEPS), strict=True
            )
            found.append([_limit(m, slope) for slope in slopes])
            if _jump(m, value, values) != 0 or not all(map(m.isfinite, found[-1])):
                return {}
        return dict(zip(moved, zip(*found, strict=True), strict=True))

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
        # A slope that more digits change is only rounding.
        known = [
            (
                found[i].limit if i in found else v if is_close(v, other.formula) else None,
                other.limit,
            )
            for i, (v, other) in enumerate(zip(slopes, others, strict=True))
        ]
        if any(
            v is not None and m.isfinite(v) and (limit is None or not is_close(v, limit))
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
        asked, other = self.asked, _moved(self.tape, self.asked, moves)
        by = by or [*moves]
        y = other.run(asked.root, by)
        slopes = {
            x: Algebra.map(plain, np.ravel(other.gradient(y, self.weights, other.table[x])))
            for x in by
        }
        return slopes, self._weigh(Algebra.map(plain, y))

    def slopes_beside(
        self, places: Collection[Place], direction: Sequence[Any], step: int = STEPS[0]
    ) -> list[Any]:
        """Return the derivatives by some entries, and the value, beside the point in a direction."""
        m = self.tape.m
        moves = {x: np.full(sizes.size, m.zero) for x, sizes in self.sizes.items()}
        size = min(self.sizes[x][i] for x, i in places)
        with _probing(m, step):
            for (x, i), part in zip(places, direction, strict=True):
                moves[x][i] = m.mpf(10) ** step * size * part
            slopes, (value,) = self._at(moves)
        return [*(slopes[x][i] for x, i in places), value]

    def around_choices(self, inner: Collection[Expr]) -> list[dict[Expr, list[Any]]]:
        """Return the gradients on both sides of derivatives inside by some variables."""
        m, nodes = self.tape.m, self.asked.nodes

        def slopes(way: int, step: int) -> dict[Expr, np.ndarray]:
            with _probing(m, step):
                return self._at(_apart(inner, way * m.mpf(10) ** step), nodes)[0]

        samples = [[slopes(way, step) for step in _MORE] for way in (-1, 1)]
        return [
            {x: [_limit(m, row) for row in zip(*(s[x] for s in side), strict=True)] for x in nodes}
            for side in samples
        ]

    def _weigh(self, y: np.ndarray) -> np.ndarray:
        """Weigh a value with the seed's weights."""
        pairs = zip(np.ravel(self.weights), np.ravel(y), strict=True)
        return np.array([sum((w * v for w, v in pairs if w != 0), self.tape.m.zero)], dtype=object)


def both_sides(m: Any, at: At, chosen: Array, event: Event | None, size: Any = None) -> list[Sides]:
    """Return the derivatives from both sides, entry by entry.

    chosen  the values between, where their formula has a gap
    size    what distances are relative to, where the derivatives are those of one value
    """
    with _probing(m, STEPS[-1]):  # to as many digits as the points on both sides
        here, between = at(m.zero)
    with _probing(m):
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
        sides.open, sides.formula = " and from the ".join(hidden), here[i]
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
    finite, words, limit = m.isfinite(left - right), ("", ""), None
    if finite and is_close(left, right):
        middle = (left + right) / 2
        if not gap:
            limit = middle if abs(middle) > m.mpf(10) ** NOTHING else m.zero
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
        m = self.m
        found: dict[int, Sides] = {}
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

    def flat(array: Array) -> Array:
        return np.ravel(Algebra.map(plain, array))

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
    left, right, least = (flat(tape.run(root)) for tape in others)
    kinks = [s for found in known.values() for s in found.values()]
    first = next((s for s in kinks if s.limit is None), None)
    gaps = (
        f"has a derivative that {s.gap}" if has_inner(node.static["of"].y) else s.gap
        for node, found in known.items()
        for s in found.values()
        if s.gap
    )
    gap, sides = next(gaps, ""), {}

    def beside(order: int, way: int) -> list[Any]:
        """Return the value where what is differentiated inside has moved."""
        samples = []
        for step in STEPS:
            with _probing(m, step):
                inner = {node.static["of"].x for node in known}
                moves = _apart(inner, way * m.mpf(10) ** step, order)
                samples.append(flat(_moved(chosen, asked, moves).run(root)))
        return [_limit(m, pair) for pair in zip(*samples, strict=True)]

    around = [beside(*way) for way in product((1, -1), (-1, 1)) if first]
    for i, (c, a, b) in enumerate(zip(flat(y), left, right, strict=True)):
        if not kinks or not all(map(m.isfinite, (a, b, c))):
            continue
        others = [values[i] for values in around if m.isfinite(values[i])]
        if first is None or (a == b == c and all(is_same(m, c, v) for v in others)):
            sides[i] = Sides(kinks[0].place, kinks[0].convention, c, c, limit=c)
            continue
        low, high = others[:2] if a == b and len(others) == len(around) else (a, b)
        # Products of several choices need not lie between.
        sides[i] = Sides(
            first.place, first.convention, low, high, least=least[i], gap=gap, others=[c, *others]
        )
    return chosen, y, sides
