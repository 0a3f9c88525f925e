"""Claims that are formulas.

A formula is held to the exact derivative at the bound values. Elsewhere algebra decides, if it can (proofs.py): that is a proof for all
values. Else it is held to the derivative at points around; where the function or the formula has branches, at points on all sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.check.discrepancy import discrepancy
from gradcli.check.judge import Judge, numbers
from gradcli.check.proofs import Given, decision
from gradcli.check.sampling import Point, around, moderate
from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.reference.algebra import Algebra, Unsupported, settled
from gradcli.reference.contexts import context
from gradcli.reference.fields.identity import Decision
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array
from gradcli.report.verdicts import ALGEBRA, POINTS, Claim, Verdict, Worst

_DIGITS = 50
_EXACT, _INEXACT = 18, 11  # digits to which a formula must hold elsewhere: with exact literals, and with rounded ones
_FAR = 100.0  # beyond, a NaN of a formula may come from infinities on the way
_FADED = 1e-280  # beneath, a derivative that has a wrong sign or factor may be the same float
_GUARD = 8  # times the digits of the reference, which formulas may lose
_SUSPECTS = 4  # points at which a formula that was proved is tried for a value
_WORK = 60_000  # scalar operations that trying other points may take


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
    order = definition_order(judge.root, [*judge.wrt.values(), claim.formula])
    digits = _INEXACT if any(_rounded_literal(node) for node in order) else _EXACT
    here = _here(judge, claim, truth, shape, digits)
    said = decision(judge, claim)
    if said is Decision.SAME:
        if here.verdict is Verdict.MISMATCH and here.worst is not None and not math.isnan(here.worst.engine):
            here = Claim(claim.of, claim.kind, Verdict.AGREE)  # the formula's own value has too few digits, by cancellation
        if here.verdict is Verdict.AGREE:
            here.decided_by = ALGEBRA
            here.reason = _lacking(judge, claim, shape, order, digits)
        return here
    here.decided_by, here.points = POINTS, 1
    found = here
    if here.verdict is not Verdict.MISMATCH and claim.around is not None:
        found = _elsewhere(judge, claim, truth, here, shape, order, digits)
    if found.verdict is Verdict.MISMATCH and said is Decision.DIFFERENT:
        found.decided_by = ALGEBRA
    return found


def _rounded_literal(node: Expr) -> bool:
    """A literal that is not the number that was written, such as 0.1."""
    return node.is_constant and isinstance(node.payload, float) and node.payload == node.payload and not (node.payload * 1024).is_integer()


def _claimed(m: Any, formula: Expr, leaves: Mapping[Expr, Any], precision: str, shape: tuple[int, ...]) -> np.ndarray:
    values = ReferenceTape(m, leaves, precision).run(formula)
    return np.broadcast_to(Algebra.map(plain, values), shape)


def _in_many_digits(m: Any, formula: Expr, leaves: Mapping[Expr, Any], precision: str, shape: tuple[int, ...]) -> np.ndarray:
    """A formula's values where balls have none, with digits to lose by cancellation."""
    wide = context()
    wide.dps = _GUARD * m.dps
    said = _claimed(wide, formula, leaves, precision, shape)
    return Algebra.map(lambda x: m.make_mpf(x._mpf_) if isinstance(x, wide.mpf) else x, said)


def _here(judge: Judge, claim: Given, truth: Comparison, shape: tuple[int, ...], digits: int) -> Claim:
    """The formula at the bound values, against the reference there."""
    m = truth.m
    assert claim.formula is not None
    formula, leaves = claim.formula, judge.every_leaf(claim.formula)
    by_balls = numbers(m, lambda balls: [_claimed(balls, formula, leaves, judge.precision, shape)])
    said = _in_many_digits(m, formula, leaves, judge.precision, shape) if by_balls is None else by_balls[0]
    floats = np.array([float(v) if m.isfinite(v) else math.nan for v in said.ravel()]).reshape(shape)
    reference = Algebra.map(lambda x: settled(m, x), np.array(truth.reference, dtype=object)).reshape(shape)
    compared = Comparison(
        m, reference, said, floats, np.reshape(truth.bounds, shape), truth.sides, truth.troubles, rule=25 if digits == _EXACT else digits
    )
    verdict = max(compared.verdicts, default=Verdict.AGREE)
    result = Claim(claim.of, claim.kind, verdict)
    wrong = [i for i, v in enumerate(compared.verdicts) if v is verdict]
    alike = all(compared.computed[i] == float(compared.reference[i]) for i in wrong)
    if verdict is Verdict.MISMATCH and alike and (by_balls is None or not any(compared.computed[i] for i in wrong)):
        result.verdict = Verdict.AGREE  # as far as floats can tell: no digits may be left, or both have faded away
    elif verdict is Verdict.MISMATCH:
        worst = max(wrong, key=lambda i: relative_error(compared.computed[i], float(compared.reference[i])))
        place = tuple(int(p) for p in np.unravel_index(worst, shape)) if shape else ()
        result.worst = Worst(place, compared.computed[worst], float(compared.reference[worst]))
        result.mask = compared.mask
        result.reason = f"the formula is not the {claim.about}"
        if math.isnan(compared.computed[worst]) and not m.isinf(said.ravel()[worst]):
            result.reason = f"the formula has no value here, where the {claim.about} has"
        off = compared.engine[worst] - compared.reference[worst]
        result.difference = discrepancy(m, judge, claim, judge.every_leaf(claim.formula), place, off)
    elif verdict is Verdict.UNDEFINED:
        result.reason = next((compared.reasons[i] for i in wrong if i in compared.reasons), None)
    return result


def _elsewhere(
    judge: Judge, claim: Given, truth: Comparison, here: Claim, shape: tuple[int, ...], order: Sequence[Expr], digits: int
) -> Claim:
    """Return what is said of a point at which the formula is not the derivative; if none was found, of the bound values."""
    m = context()
    assert claim.formula is not None
    leaves = judge.every_leaf(claim.formula)
    # other names stay: an identity may need them as they are, as a symmetric matrix
    movable = [leaf for leaf in judge.wrt.values() if leaf.is_leaf]
    if not movable or claim.around is None:
        return here
    tries = max(2, _WORK // max(1, judge.size))
    outside: list[Point] = []  # where the formula has no value
    points = around(leaves, movable, order, claim.around)
    if truth.largest < _FADED:
        points = chain(moderate(leaves, movable, claim.around), points)
    for i, point in enumerate(points):
        if i >= tries:
            break
        try:
            difference = _settled_difference(m, judge, claim, point, shape, digits, outside)
        except (Unsupported, GradcliError, ValueError, ArithmeticError):
            continue
        here.points += 1
        if difference is not None:
            at = _place(point, movable)
            reason = f"the formula is not the {claim.about} at {at}"
            result = Claim(claim.of, claim.kind, Verdict.MISMATCH, Worst(*difference[:3]), reason, decided_by=POINTS, points=here.points)
            result.difference = discrepancy(m, judge, claim, point, difference.place, difference.off)
            return result
    if outside and here.verdict is Verdict.AGREE:
        here.reason = smaller_domain(_place(outside[0], movable), claim.about)
    return here


def _lacking(judge: Judge, claim: Given, shape: tuple[int, ...], order: Sequence[Expr], digits: int) -> str | None:
    """Return what is said of a formula that was proved, where it has no value at a point around at which the derivative has.

    Floats find the points, and more digits confirm them.
    """
    assert claim.formula is not None
    leaves = judge.every_leaf(claim.formula)
    movable = [leaf for leaf in judge.wrt.values() if leaf.is_leaf]
    if not movable or claim.around is None:
        return None
    m = context()
    m.dps = _DIGITS
    outside: list[Point] = []
    suspects = 0
    for point in islice(around(leaves, movable, order, claim.around), max(2, _WORK // max(1, judge.size))):
        if not _without_value(judge, claim.formula, point):
            continue
        suspects += 1
        with suppress(Unsupported, GradcliError, ValueError, ArithmeticError):
            _difference(m, judge, claim, point, shape, digits, outside)
        if outside:
            return smaller_domain(_place(outside[0], movable), claim.about)
        if suspects == _SUSPECTS:
            break
    return None


def _without_value(judge: Judge, formula: Expr, point: Point) -> bool:
    """Return whether a formula is NaN, as floats go, where the function is finite."""
    try:
        found = forward([judge.root, formula], point, judge.precision)
    except GradcliError:
        return True
    value, said = np.asarray(found[judge.root], float), np.asarray(found[formula], float)
    return bool(np.isfinite(value).all() and np.isnan(said).any())


def smaller_domain(place: str, about: str) -> str:
    """Return what is said of a right formula that has no value where the function has."""
    return f"the formula's domain is smaller: it has no value at {place}, where the {about} has"


def _place(point: Point, movable: Sequence[Expr]) -> str:
    return ", ".join(f"{leaf.payload.name}={_shown(point[leaf])}" for leaf in movable)


def _settled_difference(
    m: Any, judge: Judge, claim: Given, point: Point, shape: tuple[int, ...], digits: int, outside: list[Point]
) -> Difference | None:
    """A difference that more digits do not change: what cancellation or an overflow on the way left is none."""
    m.dps = _DIGITS
    difference = _difference(m, judge, claim, point, shape, digits, outside)
    for more in (5, 10) if difference is not None else ():
        m.dps = more * _DIGITS
        again = _difference(m, judge, claim, point, shape, digits, outside)
        if difference is None or again is None:
            return None
        stays = math.isclose(again.right, difference.right, rel_tol=1e-9) and (
            again.said == difference.said or math.isclose(again.said, difference.said, rel_tol=1e-9)
        )
        if more == 10 and not stays:
            return None
        difference = again
    if difference is None or difference.said == difference.right:
        return None  # too small, or too close, for floats to tell
    far = any(float(np.max(np.abs(v), initial=0.0)) > _FAR for v in point.values())
    return None if math.isnan(difference.said) and far else difference


def _difference(
    m: Any, judge: Judge, claim: Given, point: Point, shape: tuple[int, ...], digits: int, outside: list[Point]
) -> Difference | None:
    found = numbers(m, lambda context: _both(context, judge, claim, point, shape)) or _both(m, judge, claim, point, shape)
    if found is None:
        return None  # a kink, or outside of the domain
    right, said = found
    tolerance = m.mpf(10) ** -digits
    for i, (c, r) in enumerate(zip(said.ravel(), np.ravel(right), strict=True)):
        if not m.isfinite(r) or isinstance(r, bool):
            continue
        if c != c:
            outside.append(point)
            continue
        if not m.isfinite(c) or abs(c - r) > tolerance * max(abs(c), abs(r)):
            if (
                digits == _INEXACT
                and m.isfinite(c)
                and abs(c - r) <= tolerance * (1 + max(abs(float(np.max(np.abs(v)))) for v in point.values()))
            ):
                continue  # what is left of rounded literals that cancel
            place = tuple(int(p) for p in np.unravel_index(i, shape)) if shape else ()
            return Difference(place, float(c) if m.isfinite(c) else math.nan, float(r), c - r)
    return None


def _both(m: Any, judge: Judge, claim: Given, point: Point, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """The derivative and what the formula is at a point, in a context; None on kinks and outside of the domain."""
    assert claim.formula is not None
    tape = ReferenceTape(m, point, judge.precision)
    y = tape.run(judge.root, list(judge.wrt.values()))
    seed = exact_array(m, judge.seed, "float")
    right = Algebra.map(plain, y) if claim.of == "value" else tape.slopes(y, seed, [judge.wrt[claim.of]])[0]
    if tape.scalars.events or not all(m.isfinite(plain(v)) for v in np.ravel(y)):
        return None
    return right, _claimed(m, claim.formula, point, judge.precision, shape)


def _shown(value: Any) -> str:
    array = np.asarray(value)
    return f"{float(array)!r}" if not array.ndim else np.array2string(array, separator=",", threshold=6).replace("\n", "").replace(" ", "")


def relative_error(said: float, truth: float) -> float:
    if not math.isfinite(said) or not math.isfinite(truth):
        return math.inf
    return abs(said - truth) / (abs(truth) or 1e-300)
