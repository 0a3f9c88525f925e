"""Claims: what somebody says that a value or a gradient is, held to the reference.

Claims are held at the bound values, entry by entry: numbers to a tolerance plus what rounding
explains, formulas to many digits; wrong ones are diagnosed where the pattern is plain. Elsewhere
algebra decides about a formula, if it can: that is a proof for all values. Else it is held to the
derivative at points around; where the function or the formula has branches, at points on all sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.comparison import Comparison, compare_arrays, index_of
from gradcli.check.conventions import Conventions, Held
from gradcli.check.judge import Judge, numbers, reference_at
from gradcli.check.rounding import Branches
from gradcli.check.sampling import Point, around
from gradcli.check.verdict_cache import line
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph import transforms
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.extended import WIDER
from gradcli.reference.algebra import Unsupported, settle
from gradcli.reference.contexts import context, has_flint
from gradcli.report.verdicts import ALGEBRA, POINTS, Claim, Verdict, Worst
from gradcli.storage.digests import content

if TYPE_CHECKING:
    from gradcli.reference.fields.identity import Decision


@dataclass(frozen=True, eq=False)
class Given:
    """A claim as it was given: of a name, or of the "value"; a formula as a node, or numbers."""

    of: str
    formula: Expr | None = None
    numbers: Any = None  # an array
    rtol: float | None = None
    atol: float = 0.0
    # of numbers: how far off each may be, by what the precision explains that they were computed in
    room: Any = None
    precision: str | None = None  # of numbers, if it is not that of the result
    around: int | None = (
        0  # of a formula: which points around the bound values it is tried at, too; None for none
    )

    @property
    def kind(self) -> str:
        return (
            "value" if self.of == "value" else "formula" if self.formula is not None else "numbers"
        )

    @property
    def about(self) -> str:
        return "value" if self.of == "value" else "derivative"


RTOL = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-1}
_LUCK, _EPSILON = (
    1_000.0,
    float(np.finfo(float).eps),
)  # times what rounding did to the engine, or to the largest entry
_FORMULA = 1e-14 if WIDER else 1e-10  # relative: formulas on arrays of many entries
# relative: numbers whose tolerance is known entry by entry are close to another derivative
_RIGHT = 1e-4
_SHARE = 4  # of the bound of rounding, that a claim may take


def decide(
    judge: Judge, given: Sequence[Given], conventions: Conventions | None = None
) -> list[Claim]:
    """The verdict on every claim, by a judge that has decided the engine's own result.

    conventions  whose choices are right on kinks; None for any between both sides
    """
    exact = not judge.wide and _show_no_rounding(judge, given)
    return [_decide(judge, claim, exact, conventions) for claim in given]


def _decide(judge: Judge, claim: Given, exact: bool, conventions: Conventions | None) -> Claim:
    shape = judge.root.shape if claim.of == "value" else judge.wrt[claim.of].shape
    said: Any = np.asarray(claim.numbers) if claim.formula is None else claim.formula
    fits = said.shape == shape
    with suppress(ValueError):
        fits = fits or (
            claim.formula is not None and np.broadcast_shapes(said.shape, shape) == shape
        )
    if not fits:
        what, whole = (
            "claim" if claim.formula is None else "formula",
            "value" if claim.of == "value" else "gradient",
        )
        turned = ": it is transposed" if said.ndim == 2 and said.shape[::-1] == shape else ""
        reason = f"the {what} has the shape {said.shape}, the {whole} {shape}{turned}"
        return Claim(claim.of, claim.kind, Verdict.MISMATCH, None, reason)
    if judge.wide:
        return _wide(judge, claim)
    if claim.formula is None:
        return _numbers(judge, claim, _truth(judge, claim), said, exact, conventions)
    return _Formula(judge, claim, _truth(judge, claim), claim.formula).decide()


def _truth(judge: Judge, claim: Given) -> Comparison:
    return (
        judge.value_comparison
        if claim.of == "value"
        else judge.comparisons[list(judge.wrt).index(claim.of)]
    )


def _wide(judge: Judge, claim: Given) -> Claim:
    """A claim about an array of many entries, at the bound values: all entries at once, against
    long doubles.
    """
    from gradcli.reference.long_double import value

    right, bounds = judge.wide[claim.of]
    said, rtol = np.asarray(claim.numbers), claim.rtol
    if claim.formula is not None:
        try:
            said = np.broadcast_to(
                value(claim.formula, judge.every_leaf(claim.formula), judge.precision),
                np.shape(right),
            )
        except Unsupported as missing:
            return Claim(claim.of, claim.kind, Verdict.UNDETERMINED, reason=str(missing))
        rtol = _FORMULA
    elif rtol is None:
        rtol = RTOL.get(str(said.dtype), 1e-6)
    room = rtol * np.abs(right) + claim.atol + np.asarray(bounds) / 32
    checked = compare_arrays(
        "", right, said, room if claim.room is None else room + claim.room, 0.0
    )
    result = Claim(
        claim.of,
        claim.kind,
        Verdict.AGREE if checked.verdict is Verdict.ILL_CONDITIONED else checked.verdict,
    )
    result.worst = checked.worst if result.verdict is Verdict.MISMATCH else None
    result.wrong, result.mask = (checked.wrong, said.size) if checked.wrong else None, checked.mask
    return result


def _show_no_rounding(judge: Judge, given: Sequence[Given]) -> bool:
    """Return whether claimed numbers are right to the last digit where rounding would show: then
    nothing about them is rounding.

    Nor is it where they are a plain multiple of the truth, as with a wrong sign, unless rounding
    has made that of the engine's, too.
    """
    right = wrong = 0
    for claim in given:
        if (
            claim.numbers is None
            or claim.of == "value"
            or np.asarray(claim.numbers).dtype != np.float64
        ):
            continue
        truth, said = _truth(judge, claim), np.ravel(claim.numbers)
        if said.size != len(truth.reference):
            continue
        exact = truth.truth.ravel()
        with np.errstate(all="ignore"):
            shows = np.isfinite(exact) & (np.divide(truth.bounds, _SHARE) > 1e-12 * np.abs(exact))
            shows &= (said != exact) | (
                exact != 0
            )  # a zero has no digits that rounding could show in
            multiples = [
                np.abs(said - k * exact) <= 4 * np.spacing(np.abs(k * exact))
                for k in (1, -1, 2, 0.5)
            ]
        exactly = multiples[0] | ((said != truth.computed) & np.any(multiples, axis=0))
        right, wrong = right + np.sum(exactly & shows), wrong + np.sum(shows & ~exactly)
    return bool(right > 0 and right >= wrong)


def _numbers(
    judge: Judge,
    claim: Given,
    truth: Comparison,
    numbers: np.ndarray,
    exact: bool,
    conventions: Conventions | None,
) -> Claim:
    rtol = claim.rtol if claim.rtol is not None else RTOL.get(str(numbers.dtype), 1e-6)
    said = [float(v) for v in numbers.ravel()]
    branches = _branches(judge, claim, truth, said, rtol)
    place = 0 if claim.of == "value" else 1 + list(judge.wrt).index(claim.of)
    bounds, ways = (
        (truth.bounds, [truth.computed])
        if branches is None
        else (branches.bounds[place], branches.results[place])
    )
    allowed = (
        np.zeros(len(said)) if exact and branches is None else _allowances(truth, bounds, ways)
    )
    rooms = np.maximum(allowed, 0.0 if claim.room is None else np.ravel(claim.room)).tolist()
    entries = [_entry(conventions, claim, truth, i, v, rtol, rooms[i]) for i, v in enumerate(said)]
    if branches is not None and branches.differ(
        place
    ):  # a wrong number may be right on another way than the exact one
        for i, entry in enumerate(entries):
            right = (
                abs(said[i] - way[i]) <= rtol * abs(way[i]) + claim.atol + rooms[i] for way in ways
            )
            if entry.verdict is Verdict.MISMATCH and any(right):
                entries[i] = Held(Verdict.ILL_CONDITIONED, branches.text)
    result, wrong, worst = _join_entries(claim, truth, entries, said)
    if worst is not None:
        result.wrong = len(wrong), len(said)
        if result.verdict is Verdict.MISMATCH:
            result.reason = entries[worst].reason or _diagnosis(
                judge, claim, np.asarray(said).reshape(truth.shape), truth, rtol or _RIGHT
            )
    return result


def _join_entries(
    claim: Given, truth: Comparison, entries: Sequence[Held], said: Any
) -> tuple[Claim, list[int], int | None]:
    """The verdicts on all entries as one; which entries have it, and the worst of these where they
    are wrong or undefined.
    """
    verdict = max((entry.verdict for entry in entries), default=Verdict.AGREE)
    result = Claim(claim.of, claim.kind, verdict)
    places = [i for i, entry in enumerate(entries) if entry.verdict is verdict]
    if verdict not in (Verdict.MISMATCH, Verdict.UNDEFINED):
        if verdict is not Verdict.AGREE:
            result.reason = next((entry.reason for entry in entries if entry.reason), None)
        return result, places, None
    right = [
        float(r) if entry.right is None else entry.right
        for entry, r in zip(entries, truth.truth.ravel(), strict=True)
    ]
    worst = max(places, key=lambda i: relative_error(float(said[i]), right[i]))
    result.worst = Worst(index_of(worst, truth.shape), float(said[worst]), right[worst])
    if verdict is Verdict.MISMATCH:
        result.mask = np.array([entry.verdict is verdict for entry in entries]).reshape(truth.shape)
    return result, places, worst


def _allowances(truth: Comparison, bounds: Any, found: Any) -> np.ndarray:
    """Return what rounding explains, which a claim may have suffered as the engine has: a share of
    the bound, but no more than luck explains.

    found  what the engine has found, on each way that it may take
    """
    with np.errstate(all="ignore"):
        suffered = np.min(np.abs(np.subtract(found, truth.truth.ravel())), axis=0)
    luck = _LUCK * np.maximum(
        np.where(np.isfinite(suffered), suffered, np.inf), _EPSILON * truth.largest
    )
    return np.where(np.isfinite(bounds), np.minimum(np.divide(bounds, _SHARE), luck), 0.0)


def _branches(
    judge: Judge, claim: Given, truth: Comparison, said: Sequence[float], rtol: float
) -> Branches | None:
    """The ways between which rounding decides, if a claim is not right to its tolerance anyway."""
    exact, room = truth.truth.ravel(), 0.0 if claim.room is None else np.ravel(claim.room)
    with np.errstate(all="ignore"):
        right = np.abs(np.subtract(said, exact)) <= rtol * np.abs(exact) + claim.atol + room
    return (
        None
        if np.all(right | ~np.isfinite(exact))
        else judge.branches(claim.precision or judge.precision)
    )


def _entry(
    conventions: Conventions | None,
    claim: Given,
    truth: Comparison,
    i: int,
    said: Any,
    rtol: Any,
    room: Any,
) -> Held:
    """The verdict on a number that is claimed for an entry."""
    m, reference, sides = truth.m, truth.reference[i], truth.sides.get(i)
    room = claim.atol + room
    if isinstance(reference, bool):
        return Held(Verdict.AGREE if said == float(reference) else Verdict.MISMATCH)
    if sides is not None and sides.limit is None and sides.is_known:
        low, high = map(float, sides.range)
        room += rtol * max((abs(v) for v in (low, high) if math.isfinite(v)), default=0.0)
        decided = (
            None if conventions is None else conventions.decide(claim.of, truth, i, said, room)
        )
        if decided is not None:
            return decided
        if not low - room <= said <= high + room:
            return Held(Verdict.MISMATCH)
        return Held(
            Verdict.KINK,
            f"what JAX chooses at {conventions.unmeasured} is not known"
            if conventions is not None
            else None,
        )
    if not m.isfinite(reference):
        return Held(Verdict.UNDEFINED)
    if not m.isfinite(said):
        return Held(Verdict.AGREE if said == float(reference) else Verdict.MISMATCH)
    # a difference that the claim's own digits cannot show is none
    fine = said == float(reference) or abs(m.mpf(said) - reference) <= rtol * abs(reference) + room
    return Held(Verdict.AGREE if fine else Verdict.MISMATCH)


def _diagnosis(
    judge: Judge, claim: Given, said: np.ndarray, truth: Comparison, rtol: float
) -> str | None:
    """Return what kind of mistake wrong numbers are, where the pattern is plain."""
    right = truth.truth

    def close(x: Any, y: Any) -> bool:
        return bool(np.allclose(x, y, rtol=10 * rtol, atol=0.0))

    if said.ndim == 2 and said.shape[0] == said.shape[1] > 1 and close(said, right.T):
        return "it is transposed"
    with np.errstate(all="ignore"):
        ratios = (said / right)[right != 0]
    if ratios.size and (said[right == 0] == 0).all() and close(ratios, ratios[0]):
        factor = _factor(float(ratios[0]), judge, claim.about)
        if factor:
            return factor
    for (name, x), other in zip(judge.wrt.items(), judge.comparisons, strict=True):
        if (
            name != claim.of
            and x.shape == said.shape
            and close(said, other.truth)
            and not close(other.truth, right)
        ):
            return f"it is the derivative by {name}: the names are swapped"
    return None


def _factor(ratio: float, judge: Judge, about: str) -> str | None:
    sizes = {n for leaf in judge.leaves for n in (math.prod(leaf.shape), *leaf.shape)} | {
        math.prod(judge.root.shape)
    }
    factors = {
        -1.0: "the sign is wrong",
        2.0: f"it is twice the {about}",
        0.5: f"it is half the {about}",
    }
    for n in sorted(sizes - {0, 1}):
        factors.setdefault(n, f"it is {n} times the {about}: a factor 1/{n} is missing")
        factors.setdefault(1 / n, f"it is the {about} divided by {n}")
    found = next(
        (words for factor, words in factors.items() if math.isclose(ratio, factor, rel_tol=1e-4)),
        None,
    )
    if found is not None or not math.isfinite(ratio) or math.isclose(ratio, 1.0, rel_tol=1e-3):
        return found
    return f"it is {ratio:.6g} times the {about}"


# -- Formulas: at the bound values, by algebra, and at points around.


_DIGITS = 50, 250, 500
_EXACT, _INEXACT = (
    18,
    11,
)  # digits to which a formula must hold elsewhere: with exact literals, and with rounded ones
_HERE, _AT_A_KINK = (
    25,
    12,
)  # the same at the bound values, with exact literals; and where the reference is a limit
_FADED = 1e-280  # beneath, a derivative that has a wrong sign or factor may be the same float
_GUARD = 8  # times the digits of the reference, which formulas may lose
_SUSPECTS = 4  # points at which a formula that was proved is tried for a value
_WORK = 60_000  # scalar operations that trying other points may take
_FAILURES = (Unsupported, GradcliError, ValueError, ArithmeticError)


class Difference(NamedTuple):
    """An entry at which a formula is wrong."""

    place: tuple[int, ...]
    said: float
    right: float
    off: Any  # exactly


def _has_rounded_number(node: Expr) -> bool:
    """Return whether a literal or a parameter of a function is not the number that was written,
    such as 0.1.
    """
    numbers = (
        node.static.values() if node.op is not None else [node.payload] if node.is_constant else []
    )
    return any(
        isinstance(number, float) and math.isfinite(number) and not (number * 1024).is_integer()
        for number in numbers
    )


class _Formula:
    """A claimed formula beside the derivative: at the bound values, and at points around.

    digits   to which it must hold
    outside  points at which the formula has no value though the derivative has
    """

    def __init__(self, judge: Judge, claim: Given, truth: Comparison, formula: Expr) -> None:
        self.judge, self.claim, self.truth, self.formula = judge, claim, truth, formula
        self.leaves = judge.every_leaf(formula)
        self.order = definition_order(judge.root, [*judge.wrt.values(), formula])
        self.digits = _INEXACT if any(map(_has_rounded_number, self.order)) else _EXACT
        # other names stay: an identity may need them as they are, as a symmetric matrix
        self.movable = (
            [leaf for leaf in judge.wrt.values() if leaf.is_leaf]
            if claim.around is not None
            else []
        )
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
            here = Claim(
                self.claim.of, self.claim.kind, Verdict.AGREE
            )  # its own value has too few digits, by cancellation
        if (
            here.verdict is Verdict.AGREE
        ):  # though the formula may have no value where the derivative has
            self._elsewhere(
                here, itertools.islice(filter(self._is_without_value, self._points()), _SUSPECTS)
            )
            here.decided_by, here.points = ALGEBRA, 0
        return here

    def _here(self) -> Claim:
        """The formula at the bound values, against the reference there."""
        m, claim, truth = self.truth.m, self.claim, self.truth
        by_balls = numbers(m, lambda balls: [self._value_said(balls, self.leaves)])
        with m.workdps(_GUARD * m.dps):
            said = np.ravel(self._value_said(m, self.leaves) if by_balls is None else by_balls[0])
        result, places, worst = _join_entries(
            claim,
            truth,
            [self._entry(i, v, by_balls is not None) for i, v in enumerate(said)],
            said,
        )
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
            result.difference = discrepancy(
                m, self.judge, claim, self.leaves, result.worst.index, off
            )
        return result

    def _entry(self, i: int, said: Any, is_exact: bool) -> Held:
        m, truth = self.truth.m, self.truth
        digits = _AT_A_KINK if i in truth.sides else _HERE if self.digits == _EXACT else self.digits
        found = _entry(None, self.claim, truth, i, said, m.mpf(10) ** -digits, truth.slack(i))
        alike = found.verdict is Verdict.MISMATCH and float(said) == float(truth.reference[i])
        # as far as floats can tell: no digits may be left, or both have faded away
        return Held(Verdict.AGREE) if alike and not (is_exact and float(said)) else found

    def _elsewhere(self, here: Claim, points: Iterable[Point]) -> Claim:
        """Return what is said of a point at which the formula is not the derivative; if none was
        found, of the bound values.
        """
        m, claim = context(), self.claim
        for point in points:
            try:
                difference = self._lasting_difference(m, point)
            except _FAILURES:
                continue
            here.points += 1
            if difference is not None:
                reason = f"the formula is not the {claim.about} at {self._words(point)}"
                result = Claim(
                    claim.of,
                    claim.kind,
                    Verdict.MISMATCH,
                    Worst(*difference[:3]),
                    reason,
                    decided_by=POINTS,
                    points=here.points,
                )
                result.difference = discrepancy(
                    m, self.judge, claim, point, difference.place, difference.off
                )
                return result
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
        return ", ".join(f"{leaf.payload.name}={_text_of(point[leaf])}" for leaf in self.movable)

    def _value_said(self, m: Any, leaves: Mapping[Expr, Any]) -> np.ndarray:
        """The values of the formula, in a context."""
        return np.broadcast_to(
            reference_at(m, self.formula, [], None, leaves, self.judge.precision)[1],
            self.truth.shape,
        )

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
        """A difference that more digits do not change: what cancellation or an overflow on the way
        left is none.
        """
        before: Difference | None = None
        last: Difference | None = None
        for m.dps in _DIGITS:
            before, last = last, self._difference(m, point)
            if last is None:
                return None
        if before is None or last is None or last.said == last.right:
            return None  # too small, or too close, for floats to tell
        return (
            last
            if all(
                math.isclose(x, y, rel_tol=1e-9)
                for x, y in zip(last[1:3], before[1:3], strict=True)
            )
            else None
        )

    def _difference(self, m: Any, point: Point) -> Difference | None:
        found = numbers(m, lambda balls: self._both(balls, point)) or self._both(m, point)
        if found is None:
            return None  # a kink, or outside of the domain
        right, said = found
        tolerance = m.mpf(10) ** -self.digits
        for i, (c, r) in enumerate(zip(said.ravel(), np.ravel(right), strict=True)):
            if not m.isfinite(r) or isinstance(r, bool):
                continue
            if c != c:
                self.outside.append(point)
                continue
            room = max(abs(c), abs(r))
            if self.digits == _INEXACT and m.isfinite(
                c
            ):  # what is left of rounded literals that cancel
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
        """The derivative and what the formula is at a point, in a context; None on kinks and
        outside of the domain.
        """
        judge, of = self.judge, self.claim.of
        wrt = list(judge.wrt.values()) if of == "value" else [judge.wrt[of]]
        tape, y, slopes = reference_at(m, judge.root, wrt, judge.seed, point, judge.precision)
        if tape.scalars.events or not all(m.isfinite(v) for v in np.ravel(y)):
            return None
        return y if of == "value" else slopes[0], self._value_said(m, point)


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


def relative_error(said: float, truth: float) -> float:
    if not math.isfinite(said) or not math.isfinite(truth):
        return math.inf
    return abs(said - truth) / (abs(truth) or 1e-300)


_REMEMBERED = 512
_decisions: dict[Hashable, Decision] = {}


def decision(judge: Judge, claim: Given) -> Decision:
    """Return whether a formula is what it is claimed to be for all values for which both have one;
    open without FLINT.
    """
    from gradcli.reference.fields.identity import Decision, Question, decide, entries_alike

    assert claim.formula is not None
    leaves = judge.every_leaf(claim.formula)
    by_leaf = judge.seed_leaf is not None and judge.seed_leaf in leaves
    wrt = None if claim.of == "value" else judge.wrt[claim.of]
    question = Question(
        judge.root,
        wrt,
        claim.formula,
        judge.seed_leaf if by_leaf else judge.seed,
        leaves,
        judge.precision,
    )
    if not has_flint():
        return Decision.OPEN
    alike = entries_alike(question)
    key = _structure(question, alike)
    if key not in _decisions:
        if len(_decisions) >= _REMEMBERED:
            _decisions.clear()
        _decisions[key] = decide(question)
    return _decisions[key]


def _structure(question: Any, alike: bool) -> Hashable:
    """Return what the decision depends on: the function and the formula, without the values of
    names.
    """
    order = definition_order(
        question.root, [question.formula, *([] if question.wrt is None else [question.wrt])]
    )
    places: dict[Any, int] = {node: i for i, node in enumerate(order)}
    shapes = {
        node: () if alike else node.shape for node in order if node.is_leaf and node.kind == "float"
    }
    seed = question.seed
    if isinstance(seed, Expr):
        weights: Hashable = places.get(seed, -1)
    else:
        numbers = np.asarray(seed, float)
        weights = content(numbers.ravel()[:1] if alike else numbers)
    values = {**question.leaves, **shapes}
    lines = tuple(line(node, places, values) for node in order)
    return (
        lines,
        places[question.root],
        places[question.formula],
        places.get(question.wrt),
        weights,
        question.precision,
        alike,
    )


_LONGEST = 60  # characters
_MOST_NODES = 400  # of claim and truth


def discrepancy(
    m: Any, judge: Judge, claim: Given, point: Mapping[Expr, Any], place: tuple[int, ...], off: Any
) -> str | None:
    """The claim minus the truth as a formula; None where there is no short one that gives the
    difference ``off`` at this point.
    """
    assert claim.formula is not None
    try:
        truth = judge.root
        if (
            claim.of != "value"
        ):  # the gradient by the engine's rules, with the name ``seed`` in it unless the seed is 1
            ones = judge.seed_leaf is None or bool(np.all(np.asarray(judge.seed) == 1))
            seed = transforms.ones_like(truth) if ones else judge.seed_leaf
            assert seed is not None
            (truth,) = transforms.vjp(truth, [judge.wrt[claim.of]], seed)
        said = (
            claim.formula
            if claim.formula.shape == truth.shape
            else broadcast_to(claim.formula, shape=truth.shape)
        )
        difference = said - truth
        if len(reachable([difference])) > _MOST_NODES:
            return None
        simple = textbook(difference)
        simple = simple.operand if simple.op is broadcast_to else simple
        text = formula(simple, limit=_LONGEST, taken={*judge.scope.names, *judge.scope.functions})
        leaves, names = [leaf for leaf in reachable([simple]) if leaf.is_leaf], judge.scope.leaves
        meant = all(
            leaf is judge.seed_leaf or names.get(leaf.payload.name) is leaf for leaf in leaves
        )  # names may be bound anew
        if text is None or len(text) > _LONGEST or not meant:
            return None
        (printed,) = rebuild([simple], {}, simple.graph, {chain: mul})
        values = point if judge.seed_leaf is None else {judge.seed_leaf: judge.seed, **point}
        found = np.broadcast_to(
            reference_at(m, printed, [], None, values, judge.precision)[1], truth.shape
        )[place]
        return text if abs(found - off) <= m.mpf(10) ** -9 * abs(off) else None
    except (GradcliError, Unsupported, ValueError, ArithmeticError, RecursionError):
        return None
