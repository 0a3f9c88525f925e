"""The verdict on claims: what somebody says that a value or a gradient is.

Formulas are held to many digits at the bound values. Elsewhere algebra decides about a formula, if
it can: that is a proof for all values. Else it is held to the derivative at points around; where
the function or the formula has branches, at points on all sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.claims import (
    Conventions,
    Given,
    Held,
    decide_entry,
    decide_numbers,
    hold_together,
    join_entries,
    show_no_rounding,
)
from gradcli.check.comparison import compare_arrays, index_of
from gradcli.check.judge import Judge, numbers
from gradcli.check.verdict_cache import lines_of
from gradcli.check.verdicts import ALGEBRA, POINTS, Claim, Verdict, Worst
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, definition_order, forward, reachable, rebuild
from gradcli.graph.sweep import ones_like, vjp
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise.arithmetic import chain, div, mul
from gradcli.ops.extended import WIDER
from gradcli.ops.spec import Op
from gradcli.reference.algebra import NO_VALUE, Unsupported, settle
from gradcli.reference.contexts import has_flint
from gradcli.reference.digits import context
from gradcli.reference.tape import reference_at
from gradcli.storage import content_key

if TYPE_CHECKING:
    from gradcli.reference.fields.identity import Decision

_ON_ARRAYS = 1e-14 if WIDER else 1e-10  # relative tolerance of formulas on large arrays


def decide(
    judge: Judge, given: Sequence[Given], conventions: Conventions | None = None
) -> list[Claim]:
    """Return the verdict on every claim.

    The judge has decided the engine's own result.

    conventions  whose choices are right on kinks; None for any between both sides
    """
    exact = not judge.wide and show_no_rounding(judge, given)
    found = [_decide(judge, claim, exact, conventions) for claim in given]
    pairs = zip(found, given, strict=True)
    kinks = [(c, of) for c, of in pairs if c.verdict is Verdict.KINK and of.about == "derivative"]
    hold_together(judge, kinks)
    return found


def _decide(judge: Judge, claim: Given, exact: bool, conventions: Conventions | None) -> Claim:
    shape = judge.root.shape if claim.of == "value" else judge.wrt[claim.of].shape
    said: Any = np.asarray(claim.numbers) if claim.formula is None else claim.formula
    fits = said.shape == shape
    if claim.formula is not None:
        with suppress(ValueError):
            fits = np.broadcast_shapes(said.shape, shape) == shape
    if not fits:
        what = "claim" if claim.formula is None else "formula"
        whole = "value" if claim.of == "value" else "gradient"
        turned = ": it is transposed" if said.ndim == 2 and said.shape[::-1] == shape else ""
        reason = f"the {what} has the shape {said.shape}, the {whole} {shape}{turned}"
        return Claim(claim.of, claim.kind, Verdict.MISMATCH, None, reason)
    if judge.wide:
        return _wide(judge, claim)
    if claim.formula is None:
        return decide_numbers(judge, claim, said, exact, conventions)
    return _Formula(judge, claim).decide()


def _wide(judge: Judge, claim: Given) -> Claim:
    """Return the verdict on a claim about an array of many entries, at the bound values.

    All entries are compared at once, with long doubles.
    """
    from gradcli.reference.long_double import value

    right, bounds = judge.wide[claim.of]
    said, rtol = np.asarray(claim.numbers), claim.tolerance
    if claim.formula is not None:
        try:
            found = value(claim.formula, judge.every_leaf(claim.formula), judge.precision)
        except Unsupported as missing:
            return Claim(claim.of, claim.kind, Verdict.UNDETERMINED, reason=str(missing))
        said, rtol = np.broadcast_to(found, np.shape(right)), _ON_ARRAYS
    if claim.of in judge.between:
        on, *ends = judge.between[claim.of]
        right = np.where(on, np.clip(said, *ends), right)
    room = rtol * np.abs(right) + claim.atol + np.asarray(bounds) / 32
    checked = compare_arrays(
        "", right, said, room if claim.room is None else room + claim.room, 0.0
    )
    result = Claim(claim.of, claim.kind, checked.verdict)
    if checked.verdict is Verdict.ILL_CONDITIONED:
        result.verdict = Verdict.AGREE
    if checked.verdict is Verdict.MISMATCH:
        result.worst = checked.worst
    if checked.wrong:
        result.wrong = checked.wrong, said.size
    return result


# -- Formulas: at the bound values, by algebra, and at points around.


_DIGITS = 50, 250, 500
_EXACT, _INEXACT = (
    18,
    11,
)  # digits to which a formula must hold at other points: with exact literals; with rounded ones
_HERE, _AT_A_KINK = (
    25,
    12,
)  # digits at the bound values: with exact literals; where the reference is a limit
_WHOLE = 2**53  # floats hold every whole number below this
_FADED = 1e-280  # below this, a derivative with a wrong sign or factor may be the same float
_GUARD = 8  # times the reference's digits, because a formula may lose some
_SUSPECTS = 4  # points at which a proved formula is checked for having a value
_LONGEST = 60  # most characters of the difference from the truth, as a formula
_MOST_NODES = 400  # most nodes of the claim minus the truth
_WORK = 60_000  # most scalar operations for trying other points


class Difference(NamedTuple):
    """An entry at which a formula is wrong."""

    place: tuple[int, ...]
    said: float
    right: float
    off: Any  # the exact difference


def _has_rounded_number(node: Expr) -> bool:
    """Return whether a literal or a parameter of a function may not be the number as written.

    0.1 and 6.02e23 are such numbers.
    """
    numbers = (
        node.static.values() if node.op is not None else [node.payload] if node.is_constant else []
    )
    return any(
        isinstance(number, float)
        and math.isfinite(number)
        and not ((number * 1024).is_integer() and abs(number) < _WHOLE)
        for number in numbers
    )


def _as_written(roots: Sequence[Expr]) -> list[Expr]:
    """Return the same expressions with decimals as the exact fractions that they denote.

    Far out, sin(0.1*x**2) tells the float from 1/10.
    """
    fractions: dict[Expr, Expr] = {}
    for node in reachable(roots):
        if type(node.payload) is float and _has_rounded_number(node):
            above, below = Fraction(repr(node.payload)).as_integer_ratio()
            if max(abs(above), below) < _WHOLE:
                fractions[node] = node.graph.apply(div, (above, below))
    return rebuild(roots, fractions)


class _Formula:
    """A claimed formula beside the derivative: at the bound values, and at points around.

    digits   to which it must hold
    outside  points at which the formula has no value though the derivative has
    """

    def __init__(self, judge: Judge, claim: Given) -> None:
        assert claim.formula is not None
        self.judge, self.claim, self.formula = judge, claim, claim.formula
        self.truth, self.leaves = judge.comparison(claim.of), judge.every_leaf(claim.formula)
        self.order = definition_order(judge.root, [*judge.nodes, claim.formula])
        self.digits = _INEXACT if any(map(_has_rounded_number, self.order)) else _EXACT
        roots = [judge.root, claim.formula]
        self.written = _as_written(roots) if self.digits == _INEXACT else roots
        # Other names stay fixed: an identity may need their values, such as a symmetric matrix.
        self.movable = [x for x in judge.nodes if x.is_leaf and claim.around is not None]
        self.outside: list[Point] = []

    def decide(self) -> Claim:
        from gradcli.reference.fields.identity import Decision

        here, by_algebra = self._here(), decision(self.judge, self.claim)
        if by_algebra is not Decision.SAME:
            here.decided_by, here.points = POINTS, 1
            found = (
                here if here.verdict is Verdict.MISMATCH else self._elsewhere(here, self._points())
            )
            if found.verdict is Verdict.MISMATCH and by_algebra is Decision.DIFFERENT:
                found.decided_by = ALGEBRA
            return found
        if (
            here.verdict is Verdict.MISMATCH
            and here.worst is not None
            and not math.isnan(here.worst.engine)
        ):
            # Proved equal: cancellation left the formula's own value too few digits.
            here = Claim(self.claim.of, self.claim.kind, Verdict.AGREE)
        # The formula may still have no value where the derivative has one.
        if here.verdict is Verdict.AGREE:
            self._elsewhere(
                here, itertools.islice(filter(self._is_without_value, self._points()), _SUSPECTS)
            )
            here.decided_by, here.points = ALGEBRA, 0
        return here

    def _here(self) -> Claim:
        """Hold the formula to the reference at the bound values."""
        m, claim, truth = self.truth.m, self.claim, self.truth
        by_balls = numbers(m, lambda balls: [self._value_of(self.formula, balls, self.leaves)])
        with m.workdps(_GUARD * m.dps):
            said = np.ravel(
                self._value_of(self.formula, m, self.leaves) if by_balls is None else by_balls[0]
            )
        result, places, worst = join_entries(
            claim,
            truth,
            [self._entry(i, v, by_balls is not None) for i, v in enumerate(said)],
            said,
        )
        if result.verdict is Verdict.MISMATCH and self._holds_as_written():
            return Claim(claim.of, claim.kind, Verdict.AGREE)
        if result.verdict is Verdict.UNDEFINED:
            result.worst, result.reason = (
                None,
                next((truth.reasons[i] for i in places if i in truth.reasons), None),
            )
        elif worst is not None and result.worst is not None:
            result.reason = f"the formula is not the {claim.about}"
            if m.isnan(said[worst]):
                result.reason = f"the formula has no value here, where the {claim.about} has"
            off = said[worst] - settle(m, truth.reference[worst])
            result.difference = self._discrepancy(m, self.leaves, result.worst.index, off)
        return result

    def _entry(self, i: int, said: Any, is_exact: bool) -> Held:
        truth = self.truth
        digits = _AT_A_KINK if i in truth.sides else _HERE if self.digits == _EXACT else self.digits
        found = decide_entry(None, self.claim, truth, i, said, 10.0**-digits, truth.slack(i))
        alike = found.verdict is Verdict.MISMATCH and float(said) == float(truth.reference[i])
        # They agree as far as floats can tell: no digits may be left, or both have underflowed.
        return Held(Verdict.AGREE) if alike and not (is_exact and float(said)) else found

    def _elsewhere(self, here: Claim, points: Iterable[Point]) -> Claim:
        """Return the claim as decided at a point where the formula is not the derivative.

        If no such point was found, return ``here``, the claim as decided at the bound values.
        """
        m, claim = context(), self.claim
        for point in points:
            try:
                difference = self._lasting_difference(m, point)
            except NO_VALUE:
                continue
            here.points += 1
            if difference is not None:
                return Claim(
                    claim.of,
                    claim.kind,
                    Verdict.MISMATCH,
                    Worst(*difference[:3]),
                    f"the formula is not the {claim.about} at {self._words(point)}",
                    difference=self._discrepancy(m, point, difference.place, difference.off),
                    decided_by=POINTS,
                    points=here.points,
                )
        if self.outside and here.verdict is Verdict.AGREE:
            here.reason = smaller_domain(self._words(self.outside[0]), claim.about)
        return here

    def _points(self) -> Iterator[Point]:
        if not self.movable or self.claim.around is None:
            return iter(())
        points = around(
            self.leaves, self.movable, self.order, self.claim.around, self.truth.largest < _FADED
        )
        return itertools.islice(points, max(2, _WORK // max(1, self.judge.size)))

    def _words(self, point: Point) -> str:
        return ", ".join(f"{leaf.name}={_text_of(point[leaf])}" for leaf in self.movable)

    def _value_of(self, formula: Expr, m: Any, leaves: Mapping[Expr, Any]) -> np.ndarray:
        """Return the values of a formula, in a context."""
        found = reference_at(m, formula, [], None, leaves, self.judge.precision)[1]
        return np.broadcast_to(found, self.truth.shape)

    def _is_without_value(self, point: Point) -> bool:
        """Return whether the formula is NaN, as floats go, where the function is finite."""
        judge = self.judge
        try:
            found = forward([judge.root, self.formula], point, judge.precision)
        except GradcliError:
            return True
        value, said = np.asarray(found[judge.root], float), np.asarray(found[self.formula], float)
        return bool(np.isfinite(value).all() and np.isnan(said).any())

    def _lasting_difference(self, m: Any, point: Point) -> Difference | None:
        """Return a difference that more digits do not change, or None.

        A difference that cancellation or an overflow on the way has left does not count.
        """
        found = []
        for m.dps in _DIGITS:
            difference = self._difference(m, point)
            if difference is None:
                return None
            found.append(difference)
        *_, before, last = found
        if last.said == last.right:
            return None  # too small, or too close together, for floats to tell
        pairs = zip(last[1:3], before[1:3], strict=True)
        return last if all(math.isclose(x, y, rel_tol=1e-9) for x, y in pairs) else None

    def _holds_as_written(self) -> bool:
        """Return whether the formula holds at the bound values if decimals are no floats."""
        m = context()
        if self.digits == _EXACT:
            return False
        with suppress(*NO_VALUE), m.workdps(_DIGITS[0]):
            both = self._both(m, self.leaves)
            return both is not None and all(
                abs(said - right) <= 10.0**-self.digits * abs(right)
                for right, said in zip(*map(np.ravel, both), strict=True)
            )
        return False

    def _difference(self, m: Any, point: Point) -> Difference | None:
        found = numbers(m, lambda balls: self._both(balls, point)) or self._both(m, point)
        if found is None:
            return None  # on a kink, or outside the domain
        right, said = found
        tolerance = 10.0**-self.digits
        for i, (c, r) in enumerate(zip(said.ravel(), np.ravel(right), strict=True)):
            if not m.isfinite(r):
                continue
            if c != c:
                self.outside.append(point)
                continue
            room = max(abs(c), abs(r))
            if self.digits == _INEXACT and m.isfinite(
                c
            ):  # allows for what rounded literals leave when they cancel
                room = max(room, 1 + max(abs(float(np.max(np.abs(v)))) for v in point.values()))
            if not m.isfinite(c) or abs(c - r) > tolerance * room:
                return Difference(
                    index_of(i, self.truth.shape),
                    float(c) if m.isfinite(c) else math.nan,
                    float(r),
                    c - r,
                )
        return None

    def _both(self, m: Any, point: Point) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the derivative and the value of the formula at a point, in a context.

        Return None on kinks and outside of the domain.
        """
        judge, of, (root, said) = self.judge, self.claim.of, self.written
        wrt = list(judge.wrt.values()) if of == "value" else [judge.wrt[of]]
        tape, y, slopes = reference_at(m, root, wrt, judge.seed, point, judge.precision)
        if tape.scalars.events or not all(m.isfinite(v) for v in np.ravel(y)):
            return None
        return y if of == "value" else slopes[0], self._value_of(said, m, point)

    def _discrepancy(
        self, m: Any, point: Mapping[Expr, Any], place: tuple[int, ...], off: Any
    ) -> str | None:
        """Return the claim minus the truth as a formula.

        Return None where no short formula gives the difference ``off`` at this point.
        """
        judge, of = self.judge, self.claim.of
        try:
            truth = judge.root
            if of != "value":  # the engine's gradient as an expression
                ones = judge.seed_leaf is None or bool(np.all(np.asarray(judge.seed) == 1))
                seed = ones_like(truth) if ones else judge.seed_leaf
                assert seed is not None
                (truth,) = vjp(truth, [judge.wrt[of]], seed)
            same = self.formula.shape == truth.shape
            said = self.formula if same else broadcast_to(self.formula, shape=truth.shape)
            difference = said - truth
            if len(reachable([difference])) > _MOST_NODES:
                return None
            simple = textbook(difference)
            simple = simple.operand if simple.op is broadcast_to else simple
            scope = judge.scope
            text = formula(simple, limit=_LONGEST, taken={*scope.names, *scope.functions})
            meant = all(
                leaf is judge.seed_leaf or scope.leaves.get(leaf.name) is leaf
                for leaf in reachable([simple])
                if leaf.is_leaf
            )  # a name may be bound to something else by then
            if text is None or len(text) > _LONGEST or not meant:
                return None
            (printed,) = rebuild([simple], {}, {chain: mul})
            values = point if judge.seed_leaf is None else {judge.seed_leaf: judge.seed, **point}
            found = self._value_of(printed, m, values)[place]
            return text if abs(found - off) <= 1e-9 * abs(off) else None
        except (*NO_VALUE, RecursionError):
            return None


def smaller_domain(place: str, about: str) -> str:
    """Return what is said of a right formula that has no value where the function has."""
    return f"the formula's domain is smaller: it has no value at {place}, where the {about} has"


def _text_of(value: Any) -> str:
    array = np.asarray(value)
    return (
        f"{float(array)!r}"
        if not array.ndim
        else np.array2string(array, separator=",", threshold=6).replace("\n", "").replace(" ", "")
    )


# -- Points to try: near a given one, and, where a function has branches, far from it on all sides.
# The same state gives the same points. Names of whole numbers stay as they are.


Point = dict[Expr, Any]
Way = Callable[[np.ndarray], np.ndarray]

_NEAR, _MIXED, _MARKS = 6, 10, 6
_MODERATE = (0.1, 0.5, 1.0, 2.0, 5.0)
SIZES = (1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 1e3, 1e5)


def _chooses(node: Expr, op: Op) -> bool:
    """Return whether a node chooses between formulas.

    Comparisons, absolute values, bounds, extremes and order do, and compositions such as
    sqrt(x**2).
    """
    if op.kind != "smooth":
        return op.kind == "flat" or bool(op.kinks)
    if not op.undoes:
        return bool(op.kinks)
    exponent: Any = node.operands[-1]
    is_whole_power = (
        op.algebra == "power" and _is_number(exponent) and float(exponent.payload).is_integer()
    )
    return node.operand.op is not None and not is_whole_power


def _is_number(node: Any) -> bool:
    return (
        node.op is None
        and node.is_constant
        and isinstance(node.payload, (int, float))
        and bool(np.isfinite(node.payload))
    )


def around(
    values: Mapping[Expr, Any],
    movable: Sequence[Expr],
    order: Sequence[Expr],
    state: int,
    faded: bool,
) -> Iterator[Point]:
    """Yield points around the given one.

    If the nodes of ``order`` have branches, also yield points of all signs and sizes between them:
    each size with the given signs and with the opposite ones, sizes mixed, and both sides of the
    constants.

    faded  whether the function has faded away to nothing: then points of moderate size, with the
           given signs, come first
    """

    def level(size: float, sign: float = 1.0) -> Way:
        return lambda base: (
            sign * np.where(base < 0, -1.0, 1.0) * size * random.uniform(0.5, 1.5, base.shape)
        )

    def near(base: np.ndarray) -> np.ndarray:
        return np.where(
            base == 0,
            random.uniform(-1, 1, base.shape),
            base * random.uniform(0.6, 1.6, base.shape),
        )

    def near_mark(mark: float, within: float) -> Way:
        return lambda base: mark * (1 + random.uniform(-within, within, base.shape))

    @np.errstate(over="ignore")  # beside the largest floats a point may be infinite
    def move(way: Way) -> Point:
        moved = {leaf: way(np.asarray(values[leaf], float))[()] for leaf in movable}
        return {**values, **moved}

    random = np.random.default_rng(state)
    yield from map(move, map(level, _MODERATE if faded else ()))
    random = np.random.default_rng(state)
    far: list[Way] = []
    if any(node.op is not None and _chooses(node, node.op) for node in order):
        levels = [level(size, sign) for size in SIZES for sign in (-1.0, 1.0)]
        random.shuffle(levels)
        constants = {float(node.payload) for node in order if _is_number(node) and node.payload}
        marks = sorted(constants, key=abs)
        some = marks[:: len(marks) // _MARKS + 1]
        sides = [near_mark(mark, within) for mark in some for within in (1e-2, 1e-5)]
        mixed: list[Way] = [lambda base: anything(base.shape, random)] * _MIXED
        far = [way for trio in zip_longest(levels, mixed, sides) for way in trio if way is not None]
    for pair in zip_longest([near] * _NEAR, far):
        yield from (move(way) for way in pair if way is not None)


def anything(
    shape: tuple[int, ...], random: np.random.Generator, sizes: Sequence[float] = SIZES
) -> np.ndarray:
    """Return an array of both signs with entries of about the given sizes."""
    size = np.asarray(random.choice(sizes, shape)) * random.uniform(0.5, 1.5, shape)
    return np.asarray(size * random.choice([-1.0, 1.0], shape))


# -- What algebra says of a formula.


_REMEMBERED = 512
_decisions: dict[Hashable, Decision] = {}


def decision(judge: Judge, claim: Given) -> Decision:
    """Decide by algebra whether a formula is what it is claimed to be.

    It must be so for all values for which both have one. The decision is open without FLINT. It
    depends on the function, the formula and the seed, and on the shapes of names, not on their
    values.
    """
    from gradcli.reference.fields.identity import Decision, Question, decide

    assert claim.formula is not None
    if not has_flint():
        return Decision.OPEN
    leaves = judge.every_leaf(claim.formula)
    wrt = None if claim.of == "value" else judge.wrt[claim.of]
    seed = judge.seed_leaf if judge.seed_leaf in leaves else judge.seed
    order = definition_order(judge.root, [claim.formula, *([] if wrt is None else [wrt])])
    shapes = {node: node.shape for node in order if node.is_leaf and node.kind == "float"}
    places, lines = lines_of(order, {**leaves, **shapes})
    weights = places.get(seed) if isinstance(seed, Expr) else content_key(np.asarray(seed, float))
    nodes = judge.root, claim.formula, wrt
    key = (*lines, *map(places.get, nodes), weights, judge.precision)
    if key not in _decisions:
        if len(_decisions) >= _REMEMBERED:
            _decisions.clear()
        question = Question(judge.root, wrt, claim.formula, seed, leaves, judge.precision)
        _decisions[key] = decide(question)
    return _decisions[key]
