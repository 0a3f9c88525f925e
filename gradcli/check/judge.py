"""The judge of one gradient: the reference, the rules without rounding and the floats, at as many digits as it takes.

E-infinity against R decides whether the rules are right, with no rounding in the way; E against E-infinity is
rounding, or a fault of the fast path. Precision is raised until the two exact numbers agree; only what still
differs at the highest precision is a mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.branches import Branches, branches
from gradcli.check.comparison import Comparison
from gradcli.check.passes import Pass, Passes, are_finite
from gradcli.check.rounding import error_bounds, overflows
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Algebra, Unsupported, settled
from gradcli.reference.contexts import Undecidable, context, has_flint
from gradcli.reference.deadline import LARGEST, Budget, Undecided, in_time
from gradcli.reference.digits import by_balls
from gradcli.reference.kinks import Prober, active_kinks, has_inner
from gradcli.reference.scalars import Event, plain
from gradcli.reference.tape import SignedZeros
from gradcli.report.verdicts import VariableCheck, Verdict

if TYPE_CHECKING:
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.report.verdicts import VariableCheck


# -- The judge on balls: the reference and the rules enclosed, with more digits until nothing is
# open.
#
# Where both enclosures are narrow and overlap, the derivative is proved; where they are disjoint,
# so is the mistake. What balls leave to others: kinks, values that are not finite, functions of
# which FLINT has no bounds. Those are decided in plain multi-precision.


_AT_ONCE = 1024  # entries between two looks at the time
_SHARE = 4  # how many times as fast as plain multi-precision numbers balls are, at least


class Enclosed(NamedTuple):
    """What enclosures have decided: every entry of the gradients, and of the value at last."""

    comparisons: list[Comparison]
    source: str
    enclosures: list[np.ndarray]  # in balls
    by_mpmath: tuple[str, ...]  # the functions that FLINT lacks: with any of them, nothing is proved

    def mark(self, checks: Sequence[VariableCheck | None]) -> None:
        """Write into verdicts whether they are proved, and the enclosure of the worst entry of each."""
        from gradcli.reference.ball import ends, width

        for check, balls in zip(checks, self.enclosures, strict=True):
            if check is None:
                continue
            check.certified, check.by_mpmath = not self.by_mpmath, list(self.by_mpmath)
            check.within = width([ball for ball in np.ravel(balls) if not isinstance(ball, bool)])
            if check.worst is not None:
                worst: Any = balls[check.worst.index]
                check.enclosure = None if isinstance(worst, bool) else ends(worst)


def enclosed(passes: Passes, m: Any, computed: Computed, digits: Sequence[int]) -> Enclosed | None:
    """The verdict by balls; None where they leave something open. ``m`` is a context of mpmath, for what is compared afterwards."""
    if not all(np.isfinite(value).all() for value in passes.own_leaves.values()):
        return None  # a limit is no value that could be proved

    def evaluate(balls: Balls) -> Enclosed | None:
        work, m.dps = passes.judge.size // _SHARE, balls.dps
        if not passes.judge.budget.allows(work):
            return None
        passes.judge.budget.spend(work)
        return _pass(passes, balls, m, computed)

    return by_balls(digits, evaluate)


def _pass(passes: Passes, balls: Balls, m: Any, computed: Computed) -> Enclosed | None:
    """One precision's enclosures; None where kinks or values that are not finite leave it to others. Raises Undecidable."""
    found = passes.at(balls, probing=False)
    if not _is_regular(found, passes):
        return None
    source, reference = _with_symbolic(passes, balls, m, found.reference)
    rows = zip(
        [*reference, found.value], [*found.engine, found.engine_value], [*computed.gradients, computed.value],
        [*computed.bounds, computed.value_bound], strict=True,
    )  # fmt: skip
    comparisons = [_compared(m, *row) for row in rows]
    if any(comparison.open or comparison.unsettled for comparison in comparisons):
        raise Undecidable
    return Enclosed(comparisons, source, [*reference, found.value], tuple(sorted(balls.uncertified)))


class Computed(NamedTuple):
    """What the engine computed, and how far rounding may have taken it."""

    value: np.ndarray
    value_bound: np.ndarray
    gradients: list[np.ndarray]
    bounds: list[np.ndarray]


def _is_regular(found: Pass, passes: Passes) -> bool:
    """Return whether everything is finite, and no kink is near."""
    tape = found.run.tape
    balls = tape.m
    if not are_finite(balls, [found.engine_value, *found.engine]):  # the reference is, or the pass has ended
        return False
    inner = tape.scalars.events and has_inner(passes.judge.root)
    return not inner and not any(active_kinks(tape, list(passes.nodes)).values())


def _with_symbolic(passes: Passes, balls: Balls, m: Any, composed: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
    """The enclosures by sympy's derivative, narrowed by the composed ones which must overlap them; else these alone."""
    if (found := passes.symbolic(balls, m)) is not None:
        pairs = list(zip(map(np.ravel, found), map(np.ravel, composed), strict=True))
        if all(balls.isfinite(x) and x.ball.overlaps(y.ball) for xs, ys in pairs for x, y in zip(xs, ys, strict=True)):
            return "symbolic", [_narrower(x, y) for x, y in zip(found, composed, strict=True)]
    return "composed", composed


def _narrower(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from gradcli.reference.ball import made

    out = np.empty(x.size, dtype=object)
    out[:] = [made(a.ball.intersection(b.ball)) for a, b in zip(np.ravel(x), np.ravel(y), strict=True)]
    return out.reshape(x.shape)


def _compared(m: Any, right: np.ndarray, rules: np.ndarray, floats: np.ndarray, bound: np.ndarray) -> Comparison:
    radii = [_radius(m, x) + _radius(m, y) for x, y in in_time(zip(np.ravel(right), np.ravel(rules), strict=True), _AT_ONCE)]
    reference, engine = (Algebra.map(lambda x: _midpoint(m, x), array) for array in (right, rules))
    return Comparison(m, reference, engine, floats, bound, None, radii=radii)


def _midpoint(m: Any, x: Ball | bool) -> Any:
    return x if isinstance(x, bool) else m.ldexp(*map(int, x.ball.mid().man_exp()))


def _radius(m: Any, x: Ball | bool) -> Any:
    return m.zero if isinstance(x, bool) else m.ldexp(*map(int, x.ball.rad().man_exp()))


# -- Numbers at a point by balls that are narrow: the digits are raised until they are, so that two
# of them can be told apart.


_DIGITS = (40, 100, 400, 1600)
_NARROW = 30  # digits that an enclosure has
_NOTHING = -400  # the power of ten below which an enclosure of zero is taken for zero: floats end before


def numbers(m: Any, evaluate: Callable[[Any], Sequence[np.ndarray] | None]) -> list[np.ndarray] | None:
    """Return what arrays of scalars are that are computed in a context, as numbers of mpmath's ``m``, right to thirty digits.

    None where balls cannot tell, or have nothing finite to tell, and where there is nothing to evaluate (None).
    """

    def narrow(balls: Any) -> list[np.ndarray] | None:
        arrays = evaluate(balls)
        if arrays is None or not are_finite(balls, arrays):
            return None
        if not all(_narrow(x) for array in arrays for x in np.ravel(array)):
            raise Undecidable
        return [Algebra.map(lambda x: settled(m, _midpoint(m, x)), array) for array in arrays]

    return by_balls(_DIGITS, narrow)


def _narrow(x: Any) -> bool:
    """Return whether an enclosure has enough digits, or is of nothing that floats could tell from zero."""
    from flint import arb

    if isinstance(x, bool) or x.ball.rad() == 0:
        return True
    return bool(x.ball.rel_accuracy_bits() > _NARROW * 3.33 or abs(x.ball) < arb(10) ** _NOTHING)


# -- Differences from one precision to the next: what stands at two of them is a mismatch, whatever
# else is open.


_STABLE, _STABLE_LIMIT = 30, 12  # digits that stay; of limits from both sides
_ALL_FLOATS = 400  # digits at which nothing that floats can tell from zero cancels
_FAR = 40  # digits by which a number may be smaller than the largest, and not be what cancellation left

Seen = dict[int, tuple[Any, Any]]  # of the entries that differ: the reference and the engine without rounding


class Trail:
    """The entries that differed at the precisions so far."""

    def __init__(self) -> None:
        self._before: list[Seen] = []
        self._now: list[Seen] = []
        self._digits = 0

    def ended(self, digits: int, comparisons: Sequence[Comparison]) -> bool:
        """Return whether more digits would tell nothing new: no entry differs, or all that do have stayed the same."""
        self._digits = digits
        self._before = self._now or [{} for _ in comparisons]
        self._now = [
            {i: (c.reference[i], c.engine[i]) for i, verdict in enumerate(c.verdicts) if verdict is Verdict.MISMATCH} for c in comparisons
        ]
        return (digits >= _ALL_FLOATS and self._all_stand(comparisons)) or not any(self._now)

    def close(self, comparisons: Sequence[Comparison]) -> None:
        """What differs, and was not seen to stay so, is undetermined."""
        for place, comparison in enumerate(comparisons):
            for i in self._now[place]:
                if not self._stands(place, comparison, i):
                    comparison.verdicts[i] = Verdict.UNDETERMINED
                    comparison.reasons[i] = f"a difference that was seen at {self._digits} digits only: the limit of the cross-check"

    def _all_stand(self, comparisons: Sequence[Comparison]) -> bool:
        return all(self._stands(place, c, i) for place, c in enumerate(comparisons) for i in self._now[place])

    def _stands(self, place: int, comparison: Comparison, i: int) -> bool:
        before = self._before[place].get(i)
        if before is None:
            return False
        m, now = comparison.m, self._now[place][i]
        digits = _STABLE if i not in comparison.sides else _STABLE_LIMIT
        same = all(_same(m, x, y, digits) for x, y in zip(before, now, strict=True))
        sizes = [abs(v) for v in now if not isinstance(v, bool) and m.isfinite(v)]
        small = not any(size > m.mpf(10) ** -_FAR * (1 + comparison.largest) for size in sizes)
        return same and (self._digits >= _ALL_FLOATS or not small)


def _same(m: Any, x: Any, y: Any, digits: int) -> bool:
    if isinstance(x, bool) or not m.isfinite(x) or not m.isfinite(y):
        return bool(x == y) or (x != x and y != y)
    return bool(abs(x - y) <= m.mpf(10) ** -digits * abs(y))


DIGITS = (50, 100, 400, 1000)
_LARGEST_SYMBOLIC = 300  # scalar operations of an expression that sympy differentiates as a whole
_MOST_SYMBOLS = 40
_MANY = 30_000  # scalar operations from which on arrays are judged as wholes
_RULES = 20  # digits to which rules must be right, for a mismatch to be one of floats
_PASSES = 4  # about how many times the reference and the rules go through all operations at one precision


class Judge:
    """Decides one gradient: a root, a seed, and what the engine computed."""

    def __init__(self, scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, gradients: Mapping[str, Any]) -> None:
        self.scope, self.root, self.wrt, self.seed = scope, root, wrt, seed
        self.precision = scope.precision
        self.gradients = [np.asarray(gradients[name]) for name in wrt]
        order = definition_order(root, list(wrt.values()))
        self.leaves = {node: scope.values[node] for node in order if node.is_leaf}
        self.size = scalar_operations(order) + scalar_operations(reachable([root]))
        self.entries = sum(math.prod(x.shape) for x in self.leaves)
        self.comparisons: list[Comparison] = []
        self.value_comparison: Comparison
        self.decided = False  # every entry was compared by itself, with an exact number
        self.seed_leaf: Expr | None = None
        self.zeros: SignedZeros | None = None
        self.events: list[Event] = []  # the kinks that the function was evaluated on
        self.budget = Budget()
        self.missing = ""  # what the reference for large arrays lacks
        self.wide: dict[str, tuple[Any, Any]] = {}  # reference and bounds of large arrays, for claims
        self._branches: dict[str, Branches | None] = {}

    @property
    def fits_sympy(self) -> bool:
        """Return whether sympy differentiates the whole function in reasonable time; at one of several trial points will do."""
        return self.size <= _LARGEST_SYMBOLIC and self.entries <= _MOST_SYMBOLS and not self.scope.in_passing

    @property
    def rules_hold(self) -> bool:
        """Return True if the rules are right, so that only rounding, overflow or underflow can be at fault."""
        for comparison in [*self.comparisons, self.value_comparison]:
            m = comparison.m
            for r, e, verdict in zip(comparison.reference, comparison.engine, comparison.verdicts, strict=True):
                if verdict is Verdict.MISMATCH and m.isfinite(r) and m.isfinite(e) and abs(r - e) > m.mpf(10) ** -_RULES * abs(r):
                    return False
        return True

    @property
    def overflows(self) -> bool:
        """Return True if floats are wrong where the rules are right, and something on the way is too large for floats."""
        if not self.decided or not self.rules_hold:
            return False
        return overflows(self.root, list(self.wrt.values()), self.own_leaves, self.seed, self.precision)

    def branches(self, precision: str | None = None) -> Branches | None:
        """The ways between which rounding decides, in the precision that is judged or in another; None where it decides nothing."""
        precision = precision or self.precision
        if precision not in self._branches:
            found = branches(self.root, list(self.wrt.values()), self.own_leaves, self.seed, precision)
            self._branches[precision] = found
        return self._branches[precision]

    @property
    def own_leaves(self) -> dict[Expr, Any]:
        """The leaves of the function alone, and those of what it is differentiated by."""
        return {**self.leaves, **{node: self.scope.values[node] for node in reachable([self.root]) if node.is_leaf}}

    def every_leaf(self, other: Expr) -> dict[Expr, Any]:
        """The leaves of the function and of another expression, with their values."""
        order = definition_order(other)
        return {**self.leaves, **{node: self.scope.values[node] for node in order if node.is_leaf}}

    def decide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        if self.size > _MANY and has_flint() and (found := self._decide_large(value)) is not None:
            return found
        return self._decide_scalars(value)

    def _decide_scalars(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        """Each entry a number of any precision."""
        if self.size > LARGEST:
            raise Undecided(f"the limit of {LARGEST:,} scalar operations of the cross-check (this has about {self.size:,}){self.missing}")
        m = _context()
        self.zeros = SignedZeros(self.root, self.scope.values, self.precision)
        reached = forward([self.root], self.scope.values, self.precision)[self.root] if value is None else value
        own_leaves = self.own_leaves
        value_bound, bounds = error_bounds(self.root, list(self.wrt.values()), own_leaves, self.seed, self.precision)
        passes = Passes(self, own_leaves)
        computed = Computed(np.asarray(reached), value_bound, self.gradients, bounds)
        proof = enclosed(passes, m, computed, DIGITS)
        if proof is None:
            source, self.comparisons, self.value_comparison = self._in_numbers(passes, m, computed)
        else:
            source, (*self.comparisons, self.value_comparison) = proof.source, proof.comparisons
        self.decided = True
        results = {name: c.result(source, math.prod(x.shape)) for (name, x), c in zip(self.wrt.items(), self.comparisons, strict=True)}
        checked = self.value_comparison.result(source, 0) if value is not None else None
        if proof is not None:
            proof.mark([*results.values(), checked])
        return checked, results

    def _in_numbers(self, passes: Passes, m: Any, computed: Computed) -> tuple[str, list[Comparison], Comparison]:
        """The source of the reference, and what was compared with it, in plain multi-precision: more digits until all stays the same."""
        trail = Trail()
        for m.dps in DIGITS:
            self.budget.spend(_PASSES * self.size)
            found = passes.at(m)
            source, compared = self._compared(passes, m, found, computed)
            settled = not any(comparison.unsettled for comparison in compared)
            if (trail.ended(m.dps, compared) and settled) or not self.budget.allows(_PASSES * self.size):
                break
        trail.close(compared)
        self.events = found.run.tape.scalars.events
        return source, compared[:-1], compared[-1]

    def _compared(self, passes: Passes, m: Any, found: Pass, computed: Computed) -> tuple[str, list[Comparison]]:
        """The source of the reference, and the comparisons with it: of the gradients, and of the value at last."""
        tape, reference = found.run.tape, found.reference
        prober = Prober(self, tape, found.value, active_kinks(tape, list(passes.nodes)))
        sides = [prober.of(x, slopes) for x, slopes in zip(passes.nodes, reference, strict=True)]
        source = "composed"
        regular = not tape.scalars.events and are_finite(m, reference)
        if regular and (symbolic := passes.symbolic(m, m)) is not None and _confirmed(m, symbolic, reference):
            source, reference = "symbolic", symbolic
        columns = (reference, found.engine, self.gradients, computed.bounds, sides, tape.troubles(found.run.y, passes.nodes))
        comparisons = [Comparison(m, *column) for column in zip(*columns, strict=True)]
        for x, comparison in zip(passes.nodes, comparisons, strict=True):
            comparison.excuse([i for i, entry in enumerate(np.ravel(tape.table[x])) if not m.isfinite(plain(entry))])
        value = Comparison(m, found.value, found.engine_value, computed.value, computed.value_bound, found.run.chosen)
        return source, [*comparisons, value]

    def _decide_large(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]] | None:
        """Whole arrays in long double, every entry; None where scalars have to decide, and can."""
        from gradcli.check.large import decide_large

        try:
            found, settled = decide_large(self, value)
        except Unsupported as missing:
            self.missing = f", and {missing}"
            return None
        if settled or self.size > LARGEST:
            return found
        large, self.wide = self.wide, {}
        with suppress(Undecided):
            checked, results = self._decide_scalars(value)
            if all(part is None or part.verdict is not Verdict.UNDETERMINED for part in [checked, *results.values()]):
                return checked, results
        self.wide = large
        return found


def _confirmed(m: Any, symbolic: list[np.ndarray], composed: list[np.ndarray]) -> bool:
    """Return whether sympy's derivative has real values that the composed reference confirms."""
    pairs = [pair for two in zip(symbolic, composed, strict=True) for pair in zip(*map(np.ravel, two), strict=True)]
    return all(m.isfinite(x) and abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y)) for x, y in pairs)


@cache
def _context() -> Any:
    """mpmath's context of all judgements: making one costs more than many of them."""
    return context()


def scalar_operations(order: Sequence[Expr]) -> int:
    """About how many scalar operations the nodes take."""
    total = 0
    for node in order:
        if node.op is None:
            total += 1
            continue
        arrays = [node, *(operand for operand in node.operands if operand is not None)]
        if node.op.facts.work is not None:
            total += node.op.facts.work(*[array.shape if _is_array(array) else () for array in arrays])
            continue
        size = max(map(_entries, arrays))
        total += size if node.op.core_dims is None else size * node.operand.shape[-1]
    return total


def _is_array(node: Expr) -> bool:
    return node.op is None or node.op.outputs == 1


def _entries(node: Expr) -> int:
    return max(1, math.prod(node.shape)) if _is_array(node) else 1
