"""Claims that are formulas.

A formula is held to the exact derivative at the bound values. Elsewhere algebra decides, if it can: that is a proof for all
values. Else it is held to the derivative at points around; where the function or the formula has branches, at points on all sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.check.judge import Judge, numbers
from gradcli.check.sampling import Point, around, moderate
from gradcli.check.verdict_cache import content, line
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph import transforms
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.reference.algebra import Algebra, Unsupported, settled
from gradcli.reference.contexts import context, has_flint
from gradcli.reference.fields.identity import Decision
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array
from gradcli.report.verdicts import ALGEBRA, POINTS, Claim, Verdict, Worst

_DIGITS = 50
_EXACT, _INEXACT = 18, 11  # digits to which a formula must hold elsewhere: with exact literals, and with rounded ones
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


def check_formula(judge: Judge, claim: Given, truth: Comparison, shape: tuple[int, ...]) -> Claim:
    assert claim.formula is not None
    try:
        if np.broadcast_shapes(claim.formula.shape, shape) != shape:
            raise ValueError
    except ValueError:
        reason = f"the formula has the shape {claim.formula.shape}, the derivative {shape}"
        return Claim(claim.of, claim.kind, Verdict.MISMATCH, None, reason)
    held = _Formula(judge, claim, truth, shape, claim.formula)
    here = held.here()
    said = decision(judge, claim)
    if said is Decision.SAME:
        if here.verdict is Verdict.MISMATCH and here.worst is not None and not math.isnan(here.worst.engine):
            here = Claim(claim.of, claim.kind, Verdict.AGREE)  # the formula's own value has too few digits, by cancellation
        if here.verdict is Verdict.AGREE:
            here.decided_by = ALGEBRA
            here.reason = held.lacking()
        return here
    here.decided_by, here.points = POINTS, 1
    found = here if here.verdict is Verdict.MISMATCH else held.elsewhere(here)
    if found.verdict is Verdict.MISMATCH and said is Decision.DIFFERENT:
        found.decided_by = ALGEBRA
    return found


def _rounded_literal(node: Expr) -> bool:
    """A literal that is not the number that was written, such as 0.1."""
    return node.is_constant and isinstance(node.payload, float) and node.payload == node.payload and not (node.payload * 1024).is_integer()


class _Formula:
    """A claimed formula beside the derivative: at the bound values, and at points around.

    digits   to which it must hold
    outside  points at which the formula has no value though the derivative has
    """

    def __init__(self, judge: Judge, claim: Given, truth: Comparison, shape: tuple[int, ...], formula: Expr) -> None:
        self.judge, self.claim, self.truth, self.shape, self.formula = judge, claim, truth, shape, formula
        self.leaves = judge.every_leaf(formula)
        self.order = definition_order(judge.root, [*judge.wrt.values(), formula])
        self.digits = _INEXACT if any(map(_rounded_literal, self.order)) else _EXACT
        # other names stay: an identity may need them as they are, as a symmetric matrix
        self.movable = [leaf for leaf in judge.wrt.values() if leaf.is_leaf] if claim.around is not None else []
        self.outside: list[Point] = []

    def here(self) -> Claim:
        """The formula at the bound values, against the reference there."""
        m, claim, truth, shape = self.truth.m, self.claim, self.truth, self.shape
        by_balls = numbers(m, lambda balls: [self._said(balls, self.leaves)])
        said = self._in_many_digits(m) if by_balls is None else by_balls[0]
        floats = np.array([float(v) if m.isfinite(v) else math.nan for v in said.ravel()]).reshape(shape)
        reference = Algebra.map(lambda x: settled(m, x), np.array(truth.reference, dtype=object)).reshape(shape)
        rule = 25 if self.digits == _EXACT else self.digits
        compared = Comparison(m, reference, said, floats, np.reshape(truth.bounds, shape), truth.sides, truth.troubles, rule=rule)
        verdict = max(compared.verdicts, default=Verdict.AGREE)
        result = Claim(claim.of, claim.kind, verdict)
        wrong = [i for i, v in enumerate(compared.verdicts) if v is verdict]
        alike = all(compared.computed[i] == float(compared.reference[i]) for i in wrong)
        if verdict is Verdict.MISMATCH and alike and (by_balls is None or not any(compared.computed[i] for i in wrong)):
            result.verdict = Verdict.AGREE  # as far as floats can tell: no digits may be left, or both have faded away
        elif verdict is Verdict.MISMATCH:
            worst = max(wrong, key=lambda i: relative_error(compared.computed[i], float(compared.reference[i])))
            place = self._index(worst)
            result.worst = Worst(place, compared.computed[worst], float(compared.reference[worst]))
            result.mask = compared.mask
            result.reason = f"the formula is not the {claim.about}"
            if math.isnan(compared.computed[worst]) and not m.isinf(said.ravel()[worst]):
                result.reason = f"the formula has no value here, where the {claim.about} has"
            result.difference = discrepancy(m, self.judge, claim, self.leaves, place, compared.engine[worst] - compared.reference[worst])
        elif verdict is Verdict.UNDEFINED:
            result.reason = next((compared.reasons[i] for i in wrong if i in compared.reasons), None)
        return result

    def elsewhere(self, here: Claim) -> Claim:
        """Return what is said of a point at which the formula is not the derivative; if none was found, of the bound values."""
        m, claim = context(), self.claim
        for point in self._points():
            try:
                difference = self._lasting_difference(m, point)
            except _FAILURES:
                continue
            here.points += 1
            if difference is not None:
                reason = f"the formula is not the {claim.about} at {self._words(point)}"
                result = Claim(
                    claim.of, claim.kind, Verdict.MISMATCH, Worst(*difference[:3]), reason, decided_by=POINTS, points=here.points
                )
                result.difference = discrepancy(m, self.judge, claim, point, difference.place, difference.off)
                return result
        if self.outside and here.verdict is Verdict.AGREE:
            here.reason = self._smaller_domain()
        return here

    def lacking(self) -> str | None:
        """Return what is said of a formula that was proved, where it has no value at a point around at which the derivative has.

        Floats find the points, and more digits confirm them.
        """
        m = context()
        m.dps = _DIGITS
        for point in itertools.islice(filter(self._is_without_value, self._points()), _SUSPECTS):
            with suppress(*_FAILURES):
                self._difference(m, point)
            if self.outside:
                break
        return self._smaller_domain()

    def _points(self) -> Iterator[Point]:
        if not self.movable or self.claim.around is None:
            return iter(())
        points = around(self.leaves, self.movable, self.order, self.claim.around)
        if self.truth.largest < _FADED:
            points = itertools.chain(moderate(self.leaves, self.movable, self.claim.around), points)
        return itertools.islice(points, max(2, _WORK // max(1, self.judge.size)))

    def _smaller_domain(self) -> str | None:
        return smaller_domain(self._words(self.outside[0]), self.claim.about) if self.outside else None

    def _words(self, point: Point) -> str:
        return ", ".join(f"{leaf.payload.name}={_shown(point[leaf])}" for leaf in self.movable)

    def _index(self, i: int) -> tuple[int, ...]:
        return tuple(int(p) for p in np.unravel_index(i, self.shape)) if self.shape else ()

    def _said(self, m: Any, leaves: Mapping[Expr, Any]) -> np.ndarray:
        """The values of the formula, in a context."""
        values = ReferenceTape(m, leaves, self.judge.precision).run(self.formula)
        return np.broadcast_to(Algebra.map(plain, values), self.shape)

    def _in_many_digits(self, m: Any) -> np.ndarray:
        """The values of the formula where balls have none, with digits to lose by cancellation."""
        wide = context()
        wide.dps = _GUARD * m.dps
        return Algebra.map(lambda x: m.make_mpf(x._mpf_) if isinstance(x, wide.mpf) else x, self._said(wide, self.leaves))

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
        """A difference that more digits do not change: what cancellation or an overflow on the way left is none."""
        m.dps = _DIGITS
        difference = self._difference(m, point)
        for more in (5, 10):
            if difference is None:
                return None
            m.dps = more * _DIGITS
            before, difference = difference, self._difference(m, point)
        if difference is None or difference.said == difference.right:
            return None  # too small, or too close, for floats to tell
        lasts = all(math.isclose(x, y, rel_tol=1e-9) for x, y in zip(difference[1:3], before[1:3], strict=True))
        return difference if lasts else None

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
            if self.digits == _INEXACT and m.isfinite(c):  # what is left of rounded literals that cancel
                room = max(room, 1 + max(abs(float(np.max(np.abs(v)))) for v in point.values()))
            if not m.isfinite(c) or abs(c - r) > tolerance * room:
                return Difference(self._index(i), float(c) if m.isfinite(c) else math.nan, float(r), c - r)
        return None

    def _both(self, m: Any, point: Point) -> tuple[np.ndarray, np.ndarray] | None:
        """The derivative and what the formula is at a point, in a context; None on kinks and outside of the domain."""
        judge, claim = self.judge, self.claim
        tape = ReferenceTape(m, point, judge.precision)
        y = tape.run(judge.root, list(judge.wrt.values()))
        seed = exact_array(m, judge.seed, "float")
        right = Algebra.map(plain, y) if claim.of == "value" else tape.slopes(y, seed, [judge.wrt[claim.of]])[0]
        if tape.scalars.events or not all(m.isfinite(plain(v)) for v in np.ravel(y)):
            return None
        return right, self._said(m, point)


def smaller_domain(place: str, about: str) -> str:
    """Return what is said of a right formula that has no value where the function has."""
    return f"the formula's domain is smaller: it has no value at {place}, where the {about} has"


def _shown(value: Any) -> str:
    array = np.asarray(value)
    return f"{float(array)!r}" if not array.ndim else np.array2string(array, separator=",", threshold=6).replace("\n", "").replace(" ", "")


def relative_error(said: float, truth: float) -> float:
    if not math.isfinite(said) or not math.isfinite(truth):
        return math.inf
    return abs(said - truth) / (abs(truth) or 1e-300)


# -- What somebody says that a value or a gradient is, as it was given -----------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """A claim as it was given: of a name, or of the "value"; a formula as a node, or numbers."""

    of: str
    formula: Expr | None = None
    numbers: Any = None  # an array
    rtol: float | None = None
    atol: float = 0.0
    room: Any = None  # of numbers: how far off each may be, by what the precision explains that they were computed in
    precision: str | None = None  # of numbers, if it is not that of the result
    around: int | None = 0  # of a formula: which points around the bound values it is tried at, too; None for none

    @property
    def kind(self) -> str:
        return "value" if self.of == "value" else "formula" if self.formula is not None else "numbers"

    @property
    def about(self) -> str:
        return "value" if self.of == "value" else "derivative"


_REMEMBERED = 512
_decisions: dict[Hashable, Decision] = {}


def decision(judge: Judge, claim: Given) -> Decision:
    """Return whether a formula is what it is claimed to be for all values for which both have one; open without FLINT."""
    from gradcli.reference.fields.identity import Question, decide, entries_alike

    assert claim.formula is not None
    leaves = judge.every_leaf(claim.formula)
    by_leaf = judge.seed_leaf is not None and judge.seed_leaf in leaves
    wrt = None if claim.of == "value" else judge.wrt[claim.of]
    question = Question(judge.root, wrt, claim.formula, judge.seed_leaf if by_leaf else judge.seed, leaves, judge.precision)
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
    """Return what the decision depends on: the function and the formula, without the values of names."""
    order = definition_order(question.root, [question.formula, *([] if question.wrt is None else [question.wrt])])
    places: dict[Any, int] = {node: i for i, node in enumerate(order)}

    def structure(node: Expr) -> Hashable:
        if node.is_leaf and node.kind == "float":
            return "leaf", () if alike else node.shape
        return line(node, places, question.leaves)

    seed = question.seed
    if isinstance(seed, Expr):
        weights: Hashable = places.get(seed, -1)
    else:
        numbers = np.asarray(seed, float)
        weights = content(numbers.ravel()[:1] if alike else numbers)
    asked = places[question.root], places[question.formula], places.get(question.wrt)
    return tuple(map(structure, order)), asked, weights, question.precision, alike


_LONGEST = 60  # characters
_MOST_NODES = 400  # of claim and truth


def discrepancy(m: Any, judge: Judge, claim: Given, point: Mapping[Expr, Any], place: tuple[int, ...], off: Any) -> str | None:
    """The claim minus the truth as a formula; None where there is no short one that gives the difference ``off`` at this point."""
    assert claim.formula is not None
    try:
        truth = judge.root if claim.of == "value" else _gradient(judge, claim)
        said = claim.formula if claim.formula.shape == truth.shape else broadcast_to(claim.formula, shape=truth.shape)
        difference = said - truth
        if len(reachable([difference])) > _MOST_NODES:
            return None
        simple = textbook(difference)
        simple = simple.operand if simple.op is broadcast_to else simple
        text = formula(simple, limit=_LONGEST, taken={*judge.scope.names, *judge.scope.functions})
        if text is None or len(text) > _LONGEST or not _names_mean(judge, simple):
            return None
        (printed,) = rebuild([simple], {}, simple.graph, {chain: mul})
        leaves = point if judge.seed_leaf is None else {judge.seed_leaf: judge.seed, **point}
        values = np.broadcast_to(ReferenceTape(m, leaves, judge.precision).run(printed), truth.shape)
        found = plain(values[place])
        return text if abs(found - off) <= m.mpf(10) ** -9 * abs(off) else None
    except (GradcliError, Unsupported, ValueError, ArithmeticError, RecursionError):
        return None


def _gradient(judge: Judge, claim: Given) -> Expr:
    """The gradient by the engine's rules, with the name ``seed`` in it unless the seed is 1."""
    ones = judge.seed_leaf is None or bool(np.all(np.asarray(judge.seed) == 1))
    seed = transforms.ones_like(judge.root) if ones else judge.seed_leaf
    assert seed is not None
    (found,) = transforms.vjp(judge.root, [judge.wrt[claim.of]], seed)
    return found


def _names_mean(judge: Judge, node: Expr) -> bool:
    """Return whether every name still means what it does in the formula (it may have been bound anew)."""
    names = judge.scope.leaves
    return all(leaf is judge.seed_leaf or names.get(leaf.payload.name) is leaf for leaf in reachable([node]) if leaf.is_leaf)
