"""The judge of one gradient.

It compares the reference, the rules without rounding and the floats, at as many digits as it takes.

E-infinity, the engine's own rules without rounding, against R, the reference, decides whether the
rules are right. The difference of E, the floats, from E-infinity is rounding, or a fault of the
fast path. Precision is raised until the two exact numbers agree. Only what still differs at the
highest precision is a mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.comparison import (
    Comparison,
    clear_agreement,
    compare_arrays,
    index_of,
    shared_context,
)
from gradcli.check.rounding import branches, error_bounds
from gradcli.check.verdicts import VariableCheck, Verdict, Worst, from_sides
from gradcli.graph.nodes import (
    Expr,
    bytes_of,
    bytes_of_sweep,
    cost_of,
    definition_order,
    forward,
    held_by,
    interpret,
    reachable,
)
from gradcli.graph.sweep import gradients, vjps_at
from gradcli.language.scope import Scope
from gradcli.ops.axes import broadcast
from gradcli.ops.counting import steps_of
from gradcli.ops.facts import kinks_of
from gradcli.ops.operands import Opened
from gradcli.reference.algebra import (
    NO_VALUE,
    NOTHING,
    Algebra,
    Numbers,
    Unsupported,
    settle,
    surely_zero,
)
from gradcli.reference.contexts import Undecidable, has_flint
from gradcli.reference.deadline import LARGEST, Budget, Undecided
from gradcli.reference.digits import by_balls, of_flint
from gradcli.reference.kinks import (
    Prober,
    Sides,
    active_kinks,
    has_inner,
    is_close,
    is_same,
    on_kink,
    with_inner_choices,
)
from gradcli.reference.scalars import Event, plain
from gradcli.reference.tape import (
    NO_ZEROS,
    ReferenceTape,
    Zeros,
    as_numbers,
    exact_array,
    signed_zeros,
)

if TYPE_CHECKING:
    from gradcli.reference.stand_ins import StandIns

# -- E-infinity: the engine's own rules, run by the engine's own sweep on multi-precision numbers.
# Values are those of the reference, but for derivatives inside of an expression, which the engine
# has expanded by its rules.


class Reals(Opened):
    """An array of multi-precision numbers that rules compute with."""

    __slots__ = ()

    def is_zero(self) -> bool:
        return all(map(surely_zero, self.array.ravel()))

    def join(self, numbers: Sequence[Reals]) -> Reals:
        return Reals(self.m, np.array([x.array[()] for x in numbers], dtype=object))

    def split(self) -> list[Reals]:
        return [Reals(self.m, np.array(x, dtype=object)) for x in self.array]


class _Expanded(ReferenceTape):
    """The function with what the engine has expanded derivatives inside of it to."""

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Any:
        return table[node.operand]


def forward_exact(
    m: Any, root: Expr, leaves: Mapping[Expr, Any], precision: str, zeros: Zeros = NO_ZEROS
) -> dict[Expr, Any]:
    """Return the engine's forward pass in multi-precision: a table for the sweep."""
    tape = _Expanded(m, leaves, precision, zeros)
    return _as_reals(m, precision, interpret(reachable([root]), tape, tape.table))


def _as_reals(m: Any, precision: str, table: Mapping[Expr, Any]) -> dict[Expr, Any]:
    """Return the values of a tape without their history."""
    algebra = Numbers(m, precision)

    def reals(value: Any) -> Any:
        return (
            tuple(map(reals, value))
            if isinstance(value, tuple)
            else Reals(algebra, Algebra.map(plain, value))
        )

    return {node: reals(value) for node, value in table.items()}


def gradients_exact(
    m: Any, table: Mapping[Expr, Any], root: Expr, wrt: Sequence[Expr], seed: Any
) -> list[np.ndarray]:
    """Return the gradients of the engine's rules without rounding.

    ``table`` is that of `forward_exact`.
    """
    start = Reals(table[root].m, exact_array(m, seed))
    found = gradients(reachable([root]), {root: start}, wrt, table.__getitem__)
    return [
        exact_array(m, np.zeros(x.shape)) if (part := found.get(x)) is None else part.array
        for x in wrt
    ]


class Pass(NamedTuple):
    """The function at one precision, by the reference and by the engine's rules without rounding.

    y          the value with its history on the tape
    chosen     the entries of the value that depend on choices at kinks
    reference  R: the value and the gradients
    engine     E-infinity: the same
    """

    tape: Any
    y: np.ndarray
    chosen: Mapping[int, Sides]
    reference: list[np.ndarray]
    engine: list[np.ndarray]


def are_finite(m: Any, arrays: Sequence[np.ndarray]) -> bool:
    """Return whether all numbers of some arrays of scalars are finite."""
    return all(m.isfinite(x) for array in arrays for x in np.ravel(array))


# -- Numbers enclosed in balls: the digits are raised until they are narrow.


_DIGITS = (40, 100, 400, 1600)
_NARROW = 30  # digits that an enclosure must have


def _compare(
    m: Any, right: np.ndarray, rules: np.ndarray, floats: np.ndarray, bound: np.ndarray
) -> Comparison:
    (reference, off), (engine, more) = (
        [_parts(m, array, part) for part in ("mid", "rad")] for array in (right, rules)
    )
    radii = [*map(add, np.ravel(off), np.ravel(more))]
    return Comparison(m, reference, engine, floats, bound, None, radii=radii)


def _parts(m: Any, array: np.ndarray, part: str) -> np.ndarray:
    """Return the midpoints or radii of balls as numbers of mpmath's."""
    return Algebra.map(lambda x: of_flint(m, getattr(x.ball, part)()), array)


def numbers(
    m: Any, evaluate: Callable[[Any], Sequence[np.ndarray] | None]
) -> list[np.ndarray] | None:
    """Return arrays of scalars, computed in a context, as numbers of mpmath's ``m``.

    They are right to thirty digits. Only what is exactly zero is 0; what nothing tells from zero is
    a number below `NOTHING`. Return None where balls cannot tell, or have nothing finite to tell,
    and where ``evaluate`` returns None because there is nothing to evaluate.
    """

    def narrow(balls: Any) -> list[np.ndarray] | None:
        arrays = evaluate(balls)
        if arrays is None or not are_finite(balls, arrays):
            return None
        if not all(_narrow(x) for array in arrays for x in np.ravel(array)):
            raise Undecidable
        return [
            Algebra.map(partial(settle, m), np.where(middle == 0, _parts(m, array, "rad"), middle))
            for array in arrays
            for middle in [_parts(m, array, "mid")]
        ]

    return by_balls(_DIGITS, narrow)


def _narrow(x: Any) -> bool:
    """Return whether an enclosure has enough digits, or floats cannot tell it from zero."""
    from flint import arb

    ball = x.ball
    is_exact, bits = ball.rad() == 0, ball.rel_accuracy_bits()
    return bool(is_exact or bits > _NARROW * 3.33 or abs(ball) < arb(10) ** NOTHING)


DIGITS = (50, 100, 400, 1000)
_LARGEST_SYMBOLIC = 300  # most scalar operations of a function that sympy differentiates whole
_MOST_SYMBOLS = 40
_MANY, _LARGE = (
    30_000,
    5_000,
)  # above so many scalar operations, or entries of one array, arrays are judged whole
_RULES = 1e-20  # relative: the rules must be so near for a mismatch to be the floats' fault
# Passes of the reference and the rules over all operations at one precision, roughly.
_PASSES = 4
_BESIDE = 2.0**-50  # relative: a step to both sides of kinks
_FURTHER = 1024.0  # times such a step, from where a continuous function differs more
_VANISHING = 1e-3  # share of a difference that its limit has, if that is zero
_LASTING = 0.9  # share of that difference that a jump has already at the nearer step
_SEED = 20_100_719  # none that data are drawn with: they would be in step
_JUMP = 1e-6  # an entry that differs by more on both sides lies on a kink; relative, too, to all
_SHARE = 4  # balls are at least this many times as fast as plain multi-precision numbers
_STABLE, _STABLE_LIMIT = 1e-30, 1e-12  # changes by more precision that are none; for limits
_ALL_FLOATS = 400  # digits enough that nothing floats can tell from zero cancels
_TIMES = 2  # numbers of the large arrays' reference are this many times as long as doubles
_ADJOINTS = 3  # arrays per adjoint in that reference: itself, its error, and where anything flows

Checked = tuple[VariableCheck | None, dict[str, VariableCheck]]  # the value, and each gradient


def _lasting(beside: Sequence[Any], bound: Any) -> Any:
    """Return where results on both sides of the point differ, however near they are to it.

    Those of abs(x)**1.01 come together so slowly that only a limit, Aitken's, shows it.
    """
    near, far, farther = (np.abs(b - a) for a, b in zip(beside[::2], beside[1::2], strict=True))
    limit = near - (far - near) ** 2 / (farther - 2 * far + near)
    vanishes = (near < far) & (abs(limit) < _VANISHING * near)
    return (near > np.maximum(bound, _LASTING * far)) & ~vanishes


def _form(root: Expr, *nodes: Expr) -> tuple[Any, ...]:
    """Return what a judge knows of a function and of the names that its gradient is by.

    It holds for all values: leaves of the function and of what the engine has expanded it to, about
    how many scalar operations and entries, whether operations have kinks, and whether arrays are
    judged as wholes.
    """
    order = reachable([root])
    orders = definition_order(root, nodes), order
    leaves = dict.fromkeys(node for each in orders for node in each if node.is_leaf)
    size, sizes = sum(map(scalar_operations, orders)), [x.size for x in leaves]
    turning = [node.op for node in order if node.op is not None and kinks_of(node.op)]
    # Otherwise entries may lie on kinks.
    smooth = not any(op.elementwise for op in turning)
    is_large = size > _MANY or (smooth and max(sizes, default=0) > _LARGE)
    is_large &= len(order) <= LARGEST  # each node takes as long as several scalar operations
    return leaves, size, sum(sizes), bool(turning), is_large


@dataclass(eq=False)
class Judge:
    """Decides one gradient: a root, a seed, and what the engine computed.

    given        the engine's gradients; None for those that its rules have in floats
    remembering  whether sympy's derivative is kept between runs
    seed_leaf    what the name ``seed`` stands for inside of claims
    decided      whether every entry was compared by itself, with an exact number
    events       the kinks that the function was evaluated on
    missing      what the reference for large arrays lacks
    prober       derivatives beside the point, if it lies on kinks
    overflown    whether something on the way is not finite, though what it is made of is
    """

    scope: Scope
    root: Expr
    wrt: dict[str, Expr]
    seed: Any
    given: Mapping[str, Any] | None = None
    remembering: bool = False
    seed_leaf: Expr | None = None
    decided: bool = False
    events: Sequence[Event] = ()
    missing: str = ""
    overflown: bool = False
    prober: Prober | None = None
    # Which entries are on a kink or not finite, and their one-sided derivatives.
    _sides: tuple[Any, list[dict[int, Sides]]] | None = None
    # Enclosures of every entry of the value and of the gradients, if balls have decided.
    _enclosures: Sequence[np.ndarray] = ()
    # The functions in these that FLINT lacks: with any of them, nothing is proved.
    _by_mpmath: Any = ()

    def __post_init__(self) -> None:
        self.precision, self.nodes = self.scope.precision, list(self.wrt.values())
        given = self.given
        if given is None:
            given = dict(zip(self.wrt, self.float_results(self.root)[1:], strict=True))
        self.gradients = [
            broadcast(np.asarray(given[name]), x.shape) for name, x in self.wrt.items()
        ]
        known = self.root.graph.known
        leaves, self.size, self.entries, self.turns, self.is_large = known(
            _form, self.root, *self.nodes
        )
        self.leaves = {leaf: self.scope.values[leaf] for leaf in leaves}
        self.names = ["value", *self.wrt]
        self.comparisons: list[Comparison] = []
        self.zeros, self.budget = NO_ZEROS, Budget()
        # The reference and the bounds of large arrays, for claims.
        self.wide: dict[str, tuple[Any, Any]] = {}
        # Of these, the entries on kinks, and the ends between which claims may lie there.
        self.between: dict[str, tuple[Any, Any, Any]] = {}
        self.question = self.root, self.nodes, self.leaves, self.seed, self.precision

    @cached_property
    def _bounds(self) -> tuple[list[np.ndarray], bool]:
        return error_bounds(*self.question)

    def float_results(
        self, root: Expr, wrt: Sequence[Expr] | None = None, at: Mapping[Expr, Any] | None = None
    ) -> list[Any]:
        """Return the value of a function and its gradients, as floats compute them.

        at  the values of leaves beside the given ones, which float32 would not tell from these
        """
        order, wrt = reachable([root]), self.nodes if wrt is None else wrt
        values, dtype = (self.scope.values, self.precision) if at is None else (at, "float64")
        table = forward([root], values, dtype, order)
        found = vjps_at(root, self.seed, wrt, table, order) if wrt else {}
        return [table[root], *(found.get(x, 0.0) for x in wrt)]

    @cached_property
    def branches(self) -> Callable[[str], Any]:
        """The branches between which rounding decides, by precision; None where it decides none."""
        return cache(partial(branches, *self.question[:-1]))

    @property
    def rules_hold(self) -> bool:
        """Return whether the rules are right.

        Then only rounding, overflow or underflow can be at fault.
        """
        wrong = [(c.m, c.reference[i], c.engine[i]) for c in self.comparisons for i in c.mismatches]
        return not any(m.isfinite(r - e) and abs(r - e) > _RULES * abs(r) for m, r, e in wrong)

    def comparison(self, of: str) -> Comparison:
        """Return the comparison of the value, or of the gradient by a name."""
        return self.comparisons[self.names.index(of)]

    def every_leaf(self, other: Expr) -> dict[Expr, Any]:
        """Return the leaves of the function and of another expression, with their values."""
        order = definition_order(other)
        return {**self.leaves, **{node: self.scope.values[node] for node in order if node.is_leaf}}

    def decide(self, value: Any, claimed: bool = False) -> Checked:
        """Return the verdicts on the value, unless it is None, and on each gradient.

        claimed  whether claims are held to the reference afterwards, which then has to be as fine
                 as it can be
        """
        found = None
        if self.is_large and has_flint():
            found = (None if claimed else self._clearly(value)) or self.decide_arrays(value)
        return found or self._decide_scalars(value)

    # -- Each entry a number of any precision ------------------------------------------------------

    def _decide_scalars(self, value: Any) -> Checked:
        if self.size > LARGEST:
            raise Undecided(
                f"the limit of {LARGEST:,} scalar operations of the cross-check (this has about "
                f"{self.size:,}){self.missing}"
            )
        m = shared_context()
        self.zeros = signed_zeros(self.root, self.scope.values, self.precision)
        reached = self.float_results(self.root, [])[0] if value is None else value
        bounds, self.overflown = self._bounds
        found = [np.asarray(reached), *self.gradients]
        floats = [*zip(found, bounds, strict=True)]
        source, self.comparisons = self._by_balls(m, floats) or self._by_numbers(m, floats)
        self.decided = True
        parts = [comparison.result(source) for comparison in self.comparisons]
        for check, balls in zip(parts, self._enclosures, strict=False):
            from gradcli.reference.ball import ends, width

            check.certified, check.by_mpmath = not self._by_mpmath, self._by_mpmath
            check.within = width(np.ravel(balls))
            if check.worst is not None:
                check.enclosure = ends(balls[check.worst.index])
        return self._decision(value, parts)

    def _pass(self, m: Any, probing: bool = True) -> Pass:
        """Return a pass in a context.

        probing  whether to go on where values are not finite, and to look at kinks of inner
                 derivatives from all sides
        Raises Unsupported where an operation has no reference, and Undecidable in balls that are
        too wide.
        """
        tape, inner = (
            ReferenceTape(m, self.leaves, self.precision, self.zeros),
            has_inner(self.root),
        )
        y = tape.run(self.root, self.nodes)
        chosen: Mapping[int, Sides] = {}
        table = (
            forward_exact(m, self.root, self.leaves, self.precision, self.zeros)
            if inner
            else _as_reals(m, self.precision, tape.table)
        )
        unsure = tape.scalars.events or not are_finite(m, [Algebra.map(plain, y)])
        if probing and inner and unsure:
            tape, y, chosen = with_inner_choices(m, self, table)
        slopes = tape.slopes(y, exact_array(m, self.seed), self.nodes)
        reference = [Algebra.map(plain, y), *slopes]
        engine = gradients_exact(m, table, self.root, self.nodes, self.seed)
        rules = [as_numbers(m, table[self.root].array), *engine]
        return Pass(tape, y, chosen, reference, rules)

    @cached_property
    def _whole(self) -> Any:
        """Gradients of the whole function by sympy; None if not found in reasonable time.

        It is enough to have them at one of several trial points.
        """
        if self.size > _LARGEST_SYMBOLIC or self.entries > _MOST_SYMBOLS or self.scope.in_passing:
            return None
        from gradcli.reference.symbolic.derivative import WholeDerivative

        kept = None
        if self.remembering:
            from gradcli.check import verdict_cache

            kept = verdict_cache.steps
        try:
            return WholeDerivative(shared_context(), *self.question, kept)
        except (*NO_VALUE, RecursionError, TypeError):
            return None

    def _by_balls(
        self, m: Any, floats: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[str, list[Comparison]] | None:
        """Decide by enclosures, and return the source and the comparisons.

        Return None where enclosures leave something open: kinks, values that are not finite,
        functions without bounds.

        Where both enclosures are narrow and overlap, the derivative is proved; where they are
        disjoint, the mistake is proved.
        """
        if not all(np.isfinite(value).all() for value in self.leaves.values()):
            return None  # a leaf that is not finite stands for a limit, which cannot be proved
        work = self.size // _SHARE

        def evaluate(balls: Any) -> tuple[str, list[Comparison]] | None:
            m.dps = balls.dps
            if not self.budget.allows(work):
                return None
            self.budget.spend(work)
            found = self._pass(balls, probing=False)
            if (
                any(self._mask_kinks.values())
                or not are_finite(balls, [*found.reference, *found.engine])
                or (found.tape.scalars.events and has_inner(self.root))
                or any(active_kinks(found.tape, self.nodes).values())
            ):
                return None
            source = self._source(balls, found.reference[1:])
            rows = zip(found.reference, found.engine, floats, strict=True)
            comparisons = [_compare(m, right, rules, *floats) for right, rules, floats in rows]
            if any(comparison.is_unsettled for comparison in comparisons):
                raise Undecidable
            self._enclosures, self._by_mpmath = found.reference, sorted(balls.uncertified)
            return source, comparisons

        return by_balls(DIGITS, evaluate)

    @cached_property
    def _mask_kinks(self) -> dict[Expr, dict[int, Event]]:
        """The entries on a comparison in a mask by which entries of the function are chosen."""
        found: dict[Expr, dict[int, Event]] = {x: {} for x in self.nodes}
        for mask in self._masks:
            tape = ReferenceTape(shared_context(), self.every_leaf(mask), self.precision)
            with suppress(*NO_VALUE):
                tape.run(mask, self.nodes)
            for x, events in active_kinks(tape, self.nodes).items():
                found[x] |= events
        return found

    @cached_property
    def _masks(self) -> list[Expr]:
        """The masks by which entries of the function are chosen."""
        indexed = any("index" in node.static for node in reachable([self.root]))
        return [
            mask
            for mask in self.scope.masks
            if indexed
            and mask.index < self.root.index
            and {*self.nodes} & {*definition_order(mask)}
        ]

    def _source(self, m: Any, composed: Sequence[np.ndarray]) -> str:
        """Return who vouches for gradients.

        Sympy does, too, where its derivative of the whole has the same values.
        """
        if self._whole is None:
            return "composed"

        def same(x: Any, y: Any) -> Any:
            if hasattr(x, "ball"):
                return m.isfinite(x) and x.ball.overlaps(y.ball)
            return m.isfinite(x) and is_same(m, x, y)

        pairs = zip(self._whole.evaluate(m), composed, strict=True)
        agreed = (same(x, y) for two in pairs for x, y in zip(*map(np.ravel, two), strict=True))
        return "symbolic" if all(agreed) else "composed"

    def _by_numbers(
        self, m: Any, floats: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[str, list[Comparison]]:
        """Return the source and the comparisons in plain multi-precision.

        Digits are raised until nothing differs, or until what differs stays the same.
        """
        before: list[Comparison | None] = [None] * len(floats)
        for m.dps in DIGITS:
            self.budget.spend(_PASSES * self.size)
            found = self._pass(m)
            source, compared = self._compare(m, found, floats)
            moving = [
                [i for i in now.mismatches if not _stands(i, then, now)]
                for then, now in zip(before, compared, strict=True)
            ]
            wrong = any(c.mismatches for c in compared)
            ended = not wrong or (m.dps >= _ALL_FLOATS and not any(moving))
            settled = ended and not any(c.is_unsettled for c in compared)
            if settled or not self.budget.allows(_PASSES * self.size):
                break
            before = [*compared]
            if wrong:
                self._sides = None  # otherwise, more digits give the same one-sided derivatives
        for comparison, places in zip(compared, moving, strict=True):
            for i in places:
                comparison.verdicts[i] = Verdict.UNDETERMINED
                comparison.reasons[i] = (
                    f"a difference that was seen at {m.dps} digits only: the limit of the "
                    "cross-check"
                )
        self.events = found.tape.scalars.events
        return source, compared

    def _compare(
        self, m: Any, found: Pass, floats: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[str, list[Comparison]]:
        """Return the source of the reference, and the comparisons with it."""
        tape, (value, *reference), (rules, *engine) = found.tape, found.reference, found.engine
        kinks = active_kinks(tape, self.nodes)
        looked_at = [
            (sorted(kinks[x]), [*map(m.isfinite, slopes.ravel())])
            for x, slopes in zip(self.nodes, reference, strict=True)
        ]
        if self._sides is None or self._sides[0] != looked_at:
            self.prober = Prober(self, tape, value, kinks)
            self._sides = looked_at, [*map(self.prober.of, self.nodes, reference)]
        sides = self._sides[1]
        for x, own, slopes in zip(self.nodes, sides, reference, strict=True):
            for i, event in self._mask_kinks[x].items():
                nearby = [slopes.ravel()[i] * (1 + share) for share in (-1e-12, 1e-12)]
                own[i] = on_kink(event, probed=False, others=nearby)
        choice = next((s for s in found.chosen.values() if s.limit is None), None)
        if choice and self.prober:  # what follows from a choice is one
            both = self.prober.around_choices({node.static["of"].x for node in tape.known})
            for x, own, exact in zip(self.nodes, sides, engine, strict=True):
                for i, (chosen, *pair) in enumerate(
                    zip(exact.flat, *[side[x] for side in both], strict=True)
                ):
                    if i in own and own[i].gap:
                        own[i].others = [*own[i].others, chosen]
                    elif i not in own and not is_close(*pair):
                        own[i] = Sides(choice.place, choice.convention, *pair)
        smooth = not (tape.scalars.events or any(self._mask_kinks.values())) and are_finite(
            m, reference
        )
        source = self._source(m, reference) if smooth else "composed"
        columns = reference, engine, floats[1:], sides, tape.troubles(found.y, self.nodes)
        comparisons = [
            Comparison(m, right, exact, *given, side, trouble)
            for right, exact, given, side, trouble in zip(*columns, strict=True)
        ]
        no_number = any(y != y for y in np.ravel(value))
        for x, comparison in zip(self.nodes, comparisons, strict=True):
            entries = enumerate(Algebra.map(plain, np.ravel(tape.table[x])))
            infinite = [i for i, entry in entries if not m.isfinite(entry)]
            comparison.excuse(infinite, "a value that was given is not finite")
            lost = [i for i, y in enumerate(comparison.computed) if no_number and math.isnan(y)]
            comparison.excuse(lost, "what it is the derivative of is not a number")
        return source, [Comparison(m, value, rules, *floats[0], found.chosen), *comparisons]

    # -- Arrays that are too large for scalars: every entry against a reference in long double,
    # which may be off by its own share of the rounding of doubles, by the same analysis, and by the
    # rounding of its slopes -----------------------------

    def decide_arrays(self, value: Any) -> Checked | None:
        """Return the verdicts on whole arrays, by long doubles.

        Return None where scalars have to decide.

        Raises LimitError where the reference, which keeps all of its arrays, needs more memory than
        the limits allow.
        """
        from gradcli.reference.stand_ins import StandIns

        if self.root.graph.known(has_inner, self.root):
            self.missing = ", and arrays are not checked as wholes with derivatives inside"
            return None

        held = StandIns()
        try:
            allowed, _ = self._bounds
            found = self._reference(held, _TIMES, "the reference in long double")
        except Unsupported as missing:
            self.missing = f", and {missing}"
            return None
        own = [found.share * b + 4 * e for b, e in zip(allowed, found.errors, strict=True)]
        parts = self._compare_arrays(compare_arrays, value, found, allowed, own)
        for part in parts[1:]:
            part.directions = held.directions or None
            if held.wrong:
                part.verdict, part.reason = Verdict.MISMATCH, held.wrong
            elif held.doubt and part.verdict < Verdict.UNDETERMINED:
                part.verdict, part.reason = Verdict.UNDETERMINED, held.doubt
        for part in parts if held.wrong_value else ():
            part.verdict, part.reason = Verdict.MISMATCH, held.wrong_value
        certain = not self.turns and any(part.verdict is Verdict.MISMATCH for part in parts[1:])
        fine = all(part.verdict in (Verdict.AGREE, Verdict.ILL_CONDITIONED) for part in parts)
        if not certain and not fine and self.size <= LARGEST:  # scalars can settle more: kinks
            with suppress(Undecided):
                checked, results = self._decide_scalars(value)
                told = [*results.values(), *filter(None, [checked])]
                if all(part.verdict is not Verdict.UNDETERMINED for part in told):
                    return checked, results
        ends = zip(found.results, map(add, allowed, own), strict=True)
        self.wide = dict(zip(self.names, ends, strict=True))
        self._note_kinks(held, parts[1:])
        return self._decision(value, parts, held.entries)

    @np.errstate(all="ignore")
    def _note_kinks(self, held: StandIns, parts: Sequence[VariableCheck]) -> None:
        """Make agreement a kink where gradients, or values, are others on both sides of the point.

        Entries move by some units in the last place, zeros by some of the mean, all differently, so
        that ties come apart. What is continuous differs more further away, what is only rounding by
        no more than its bound.
        """
        if not (held.kinks or self._masks):
            return
        draw, steps = np.random.default_rng(_SEED).uniform, {}
        for leaf in reachable(self.nodes):
            if leaf.is_leaf and leaf.kind == "float":
                size = np.abs(self.leaves[leaf]).astype(float)
                step = _BESIDE * np.where(size, size, _mean(size) or 1.0) * draw(1, 2, size.shape)
                steps[leaf] = size + step - size  # exact: ties come apart alike further away

        def points(times: float, *xs: Expr) -> list[dict[Expr, Any]]:
            moves = {leaf: times * steps[leaf] for leaf in reachable(xs) if leaf in steps}
            return [
                self.leaves | {leaf: self.leaves[leaf] + way * moves[leaf] for leaf in moves}
                for way in (-1, 1)
            ]

        turned: set[Expr] = set()
        for mask in self._masks:
            both = points(1, *self.nodes)
            if np.not_equal(
                *(forward([mask], self.every_leaf(mask) | at)[mask] for at in both)
            ).any():
                turned |= {*definition_order(mask)}
        for (name, x), part, chosen in zip(self.wrt.items(), parts, self.gradients, strict=True):
            # Each moves alone: a derivative may jump only where another name moves.
            beside = [at for far in (1, _FURTHER, _FURTHER**2) for at in points(far, x)]
            bounds, _ = error_bounds(self.root, [x], beside[-1], self.seed, "float64")
            values, slopes = zip(
                *(self.float_results(self.root, [x], at) for at in beside), strict=True
            )
            leaps, on = map(_lasting, (values, slopes), bounds)
            left, right = (np.broadcast_to(side, x.shape) for side in slopes[:2])
            size = np.maximum(abs(left), abs(right))
            on &= abs(right - left) > _JUMP * np.maximum(size, _mean(size))
            if part.verdict is Verdict.AGREE and (on.any() or leaps.any() or x in turned):
                part.verdict, part.worst = Verdict.KINK, None
                part.reason = "a comparison in a mask turns here"
                if leaps.any():
                    part.reason = "the function jumps here"
                if on.any():
                    i = index_of(int(np.argmax(on)), x.shape)
                    part.worst = Worst(i, float(chosen[i]), float(chosen[i]))
                    part.reason = f"{from_sides(left[i], right[i])}, at {np.sum(on)} of all entries"
            self.between[name] = on, np.minimum(left, right), np.maximum(left, right)

    def _reference(self, held: StandIns, times: int, what: str) -> Any:
        """Return the reference on whole arrays.

        Its floats are ``times`` times as long as doubles. Raises LimitError where it needs more
        memory than the limits allow.
        """
        from gradcli.reference.long_double import reference

        graph = self.root.graph
        needed = times * graph.known(_arrays_of, self.root, *self.nodes)
        graph.limits.check_memory(needed + held_by(self.leaves.values()), what)
        return reference(*self.question, held)

    def _decision(
        self, value: Any, parts: Sequence[VariableCheck], most: int | None = None
    ) -> Checked:
        """Return the verdicts on the value and the gradients.

        most  the number of entries at which functions were held; None where these were all
        """
        checked, *slopes = parts
        for part in slopes:
            if most is not None and part.entries is not None:
                part.entries = min(most, part.entries[1]), part.entries[1]
        checked.entries = None
        return None if value is None else checked, dict(zip(self.wrt, slopes, strict=True))

    def _clearly(self, value: Any) -> Checked | None:
        """Return verdicts of agreement with the reference in doubles, or None.

        They are given only where everything agrees and rounding is seen to have no influence, or
        little within its bounds.
        """
        from gradcli.reference.stand_ins import StandIns

        held = StandIns(np.float64)
        if self.precision != "float64" or self.root.graph.known(has_inner, self.root):
            return None
        try:
            found = self._reference(held, 1, "the reference in doubles")
        except Unsupported:
            return None
        if held.directions or held.wrong or held.wrong_value or held.doubt:
            return None
        parts = self._compare_arrays(clear_agreement, value, found)
        if None in parts:
            parts = self._compare_arrays(compare_arrays, value, found, self._bounds[0])
            if any(part.verdict is not Verdict.AGREE for part in parts):
                return None
        self._note_kinks(held, parts[1:])
        return self._decision(value, parts, held.entries)

    def _compare_arrays(
        self, compare: Callable[..., Any], value: Any, found: Any, *rooms: Any
    ) -> list[Any]:
        """Compare a reference with the value, unless it is None, and with each gradient."""
        computed = [found.results[0] if value is None else value, *self.gradients]
        return [
            compare(found.source, *row)
            if np.size(row[1])
            else VariableCheck(Verdict.AGREE, found.source, entries=(0, 0))
            for row in zip(found.results, computed, *rooms, strict=True)
        ]


def _arrays_of(root: Expr, *nodes: Expr) -> int:
    """Return the bytes of the arrays of a reference in doubles."""
    order = reachable([root])
    return sum(map(bytes_of, order)) + _ADJOINTS * bytes_of_sweep(order, nodes)


def _stands(i: int, before: Comparison | None, now: Comparison) -> bool:
    """Return whether an entry differed by the same numbers at the digits before.

    It is then a mismatch, whatever else is open.
    """
    if before is None or before.verdicts[i] is not Verdict.MISMATCH:
        return False
    m, numbers = now.m, (now.reference[i], now.engine[i])
    near = _STABLE if i not in now.sides else _STABLE_LIMIT
    pairs = zip((before.reference[i], before.engine[i]), numbers, strict=True)
    return all(
        x == y or (x != x and y != y) or (m.isfinite(y) and abs(x - y) <= near * abs(y))
        for x, y in pairs
    )


def _mean(array: np.ndarray) -> Any:
    """Return the mean of the entries, 0 of none."""
    return np.sum(array) / max(1, array.size)


def scalar_operations(order: Sequence[Expr]) -> int:
    """About how many scalar operations the nodes take."""
    return sum(max(1, cost_of(node, steps_of)) for node in order)
