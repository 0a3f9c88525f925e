"""Asserts: claims that the two sides of a relation truly are as it says."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.claims import Given
from gradcli.check.comparison import index_of
from gradcli.check.crosscheck import ValueAlone, cross_check
from gradcli.check.judge import numbers
from gradcli.check.verdicts import OF_HOLDING, Asserted, Check, Claim, VariableCheck, Verdict, Worst
from gradcli.errors import ShapeError
from gradcli.graph.nodes import Expr, definition_order, forward, reachable, rebuild
from gradcli.language.run import Lowered, Sides
from gradcli.language.scope import Quantity, Scope
from gradcli.ops.elementwise import arithmetic
from gradcli.options import Options
from gradcli.reference.algebra import NO_VALUE, NOTHING, Unsupported
from gradcli.reference.contexts import has_flint
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.reference.digits import context
from gradcli.reference.tape import reference_at

# -- The relations of an assert between computed floats, entry by entry ---------------------------


_ROUNDING = 64  # in units of epsilon: how far apart the sides of an equality may be


def rounding_of(scope: Scope) -> float:
    """Return how far apart the sides of an equality may be, relative to their size.

    This applies where the equality has no tolerance of its own.
    """
    return _ROUNDING * float(np.finfo(scope.precision).eps)


def compare_relations(scope: Scope, lowered: Lowered) -> list[Asserted]:
    """Return what becomes of each relation of an assert at the bound values.

    ``==`` holds to rounding. The others compare floats as they are, and none of them holds of NaN.
    A tolerance is absolute: it widens ``==``, ``<`` and the like, and ``!=`` asks for more than it
    between the sides.
    """
    return [
        _outcome_of(lowered, sides, **Floats(scope, lowered, sides, {}).outcome())
        for sides in lowered.relations
    ]


def _outcome_of(lowered: Lowered, sides: Sides, **found: Any) -> Asserted:
    """Return the outcome of a relation; with its text, if there are several."""
    span, several = sides.relation.span, len(lowered.relations) > 1
    text = lowered.statement.source.text[span.start : span.end] if several else ""
    return Asserted(
        within=float(lowered.within or 0.0), relation=sides.relation.symbol, text=text, **found
    )


class Floats:
    """Sides of a relation as floats.

    They are computed at the bound values, and at points of a box of some of these values.
    """

    def __init__(
        self, scope: Scope, lowered: Lowered, sides: Sides, ranges: Mapping[str, Quantity]
    ) -> None:
        self.scope, self.within, self.sides, self.ranges = scope, lowered.within, sides, ranges
        try:
            self.shape = np.broadcast_shapes(sides.left.shape, sides.right.shape)
        except ValueError:
            error = ShapeError(
                f"an assert of shapes {sides.left.shape} and {sides.right.shape}, which do not "
                "broadcast"
            )
            raise error.at(sides.relation.span, lowered.statement.source) from None

    def at(self, point: Sequence[float]) -> tuple[Any, ...]:
        """Return both sides at a point, where the relation holds, and how far apart they are."""
        given: dict[Expr, Any] = {
            q.leaf: np.float64(x) for q, x in zip(self.ranges.values(), point, strict=True)
        }
        sides = self.sides.left, self.sides.right
        found = forward(sides, ChainMap(given, self.scope.values), self.scope.precision)
        left, right = (
            np.broadcast_to(np.asarray(found[side], float), self.shape) for side in sides
        )
        return (
            left,
            right,
            *holds(self.sides.relation.symbol, left, right, self.within, rounding_of(self.scope)),
        )

    def refute(self, point: Sequence[float], place: tuple[int, ...] = ()) -> bool:
        """Return whether the relation does not hold at a point, of all entries or of one."""
        *_, fine, _ = self.at(point)
        return not np.all(fine[place])

    def outcome(self, point: Sequence[float] = ()) -> dict[str, Any]:
        """Return the sides at a point and whether the relation holds.

        The entry that is furthest from it is returned as well.
        """
        left, right, fine, off = self.at(point)
        worst = None
        if not fine.all():
            worst = _worst_of(left, right, np.where(fine, -1.0, np.fmin(off, np.inf)))
            worst.at = dict(zip(self.ranges, map(float, point), strict=True)) or None
        return {"holds": bool(fine.all()), "left": left[()], "right": right[()], "worst": worst}


def holds(
    symbol: str, left: np.ndarray, right: np.ndarray, within: float | None, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return where a relation holds of floats, and how far the sides are apart."""
    room = within or 0.0
    with np.errstate(all="ignore"):
        off = np.abs(left - right)
        if symbol == "==":
            allowed = (
                room if within is not None else rounding * np.maximum(np.abs(left), np.abs(right))
            )
            return (off <= allowed) | (left == right), off
        if symbol == "!=":
            return (off > room) & (left != right), off
        low, high = (left, right) if symbol in ("<", "<=") else (right, left)
        fine = low < high + room if len(symbol) == 1 else low <= high + room
    return fine, off


def decide_assert(
    scope: Scope, lowered: Lowered, relations: list[Asserted], options: Options
) -> Check:
    """Return the verdict on an assert whose relations have been computed.

    There is a claim for each relation. The outcomes of the relations become those that the
    reference finds. Where it is about all values (``everywhere`` of the options), the sides are
    equal as functions, without rounding, or they are not.
    """
    rounding = rounding_of(scope) if lowered.within is None else None
    checks = [
        _relation(scope, sides, told, rounding, options)
        for sides, told in zip(lowered.relations, relations, strict=True)
    ]
    gravest = max(checks, key=lambda check: check.worst)
    gravest.claims = [claim for check in checks for claim in check.claims]
    values = [check.value for check in checks if check.value is not None]
    gravest.value = max(values, key=lambda part: part.verdict, default=None)
    gravest.verdict = max(check.verdict for check in checks)
    return gravest


def _relation(
    scope: Scope,
    sides: Sides,
    told: Asserted,
    rounding: float | None,
    options: Options,
) -> Check:
    if told.relation != "==":
        try:
            with deadline(options.timeout) as limit:  # covers the work on many digits, too
                claim = _order(scope, sides, told, options)
        except OutOfTime as passed:
            if passed is not limit:
                raise
            claim = _claim(told, Verdict.UNDETERMINED, REACHED)
        told.holds = claim.verdict is not Verdict.MISMATCH
        if claim.verdict is Verdict.UNDETERMINED:
            told.holds = None
        if claim.verdict is Verdict.AGREE:
            told.worst = None
        return Check(Verdict.SKIPPED, claims=[claim])
    left, right = sides.left, sides.right
    comparable = left.kind == "float" and right.shape in (left.shape, ())
    if comparable and options.everywhere and rounding is not None:
        given = Given("value", right)
    elif comparable and (options.convention is not None or (told.holds and rounding is not None)):
        said = np.broadcast_to(told.right, left.shape)
        given = Given("value", None, said, rounding or 0.0, told.within)
    else:  # the numbers alone decide
        verdict = OF_HOLDING[told.holds]
        return Check(verdict, claims=[_claim(told, verdict)])
    check = cross_check(scope, sides.left, {}, ValueAlone(told.left), options, [given])
    for claim in check.claims:
        claim.kind = claim.of = "assert"
        claim.relation, claim.text = told.relation, told.text or None
        claim.reason = None if options.everywhere else claim.reason
    chosen = options.everywhere or options.convention is not None
    if chosen and check.worst is not Verdict.UNDETERMINED:
        told.holds = check.worst is not Verdict.MISMATCH
    return check


# -- Asserts over a box: proved, refuted by a point at which floats refute them, too, or open in a
# box that is as small as could be made.


_MOST_ENTRIES = 64  # most entries of an array: each has a proof of its own


def decide_over(scope: Scope, lowered: Lowered, options: Options) -> tuple[list[Asserted], Check]:
    """Return what becomes of each relation of an assert over its box.

    Without a check, a few points are tried and nothing else.
    """
    with deadline(options.timeout):
        relations = [
            _relation_over(scope, lowered, sides, options.check) for sides in lowered.relations
        ]
    claims = [_claim(told, OF_HOLDING[told.holds], told.open_box or None) for told in relations]
    return relations, Check(max(claim.verdict for claim in claims), claims=claims)


def _claim(told: Asserted, verdict: Verdict, reason: str | None = None) -> Claim:
    """Return a relation as a claim about its right side."""
    worst = told.worst
    if worst is not None:
        worst = Worst(worst.index, worst.reference, worst.engine, worst.at)
    text = told.text or None
    return Claim("assert", "assert", verdict, worst, reason, relation=told.relation, text=text)


def _relation_over(scope: Scope, lowered: Lowered, sides: Sides, proving: bool) -> Asserted:
    ranges = {
        name: q
        for name, q in lowered.ranges.items()
        if q.leaf in set(definition_order(sides.left, [sides.right]))
    }
    over = {name: (q.low, q.high) for name, q in lowered.ranges.items()}
    told = _outcome_of(lowered, sides, holds=None, left=None, right=None, over=over)
    floats = Floats(scope, lowered, sides, ranges)
    if ranges and proving:
        _prove(scope, told, sides, floats)
        return told
    # Points alone can refute a relation but never prove one, except a relation in which nothing has
    # a range.
    shares = (0.5, 0.0, 1.0, 0.25, 0.75) if ranges else (0.5,)
    points = ([q.low + (q.high - q.low) * share for q in ranges.values()] for share in shares)
    wrong = next(filter(floats.refute, points), None)
    if wrong is not None:
        vars(told).update(floats.outcome(wrong))
    elif ranges:
        told.reason = "it is not proved without the cross-check"
    else:
        told.holds = True
    return told


def _prove(scope: Scope, told: Asserted, sides: Sides, floats: Floats) -> None:
    """Prove a relation entry by entry, or refute it."""
    from gradcli.reference.ranges.region import Region
    from gradcli.reference.ranges.search import Proof

    told.holds = True
    variables: dict[Expr, tuple[float, float]] = {
        q.leaf: (q.low, q.high) for q in floats.ranges.values()
    }
    try:
        region = Region(variables, scope.values, scope.precision)
        left, right = (
            np.broadcast_to(side, floats.shape) for side in region.read(sides.left, sides.right)
        )
        if left.size > _MOST_ENTRIES:
            raise Unsupported(f"an array of {left.size} entries")
        for place in np.ndindex(left.shape):
            proof = Proof(region, partial(floats.refute, place=place))
            outcome = proof.of(
                left[place], sides.relation.symbol, right[place], float(floats.within or 0.0)
            )
            if outcome.holds is False and outcome.point is not None:
                vars(told).update(floats.outcome(outcome.point))
                return
            if outcome.holds is None and told.holds:
                told.holds, told.reason = None, outcome.reason
                told.left_open = (
                    None
                    if outcome.box is None
                    else dict(zip(floats.ranges, outcome.box, strict=True))
                )
    except Unsupported as error:
        told.holds, told.reason = None, f"no bounds are known: {error}"
    except OutOfTime:
        told.holds, told.reason = None, REACHED


# -- Inequalities: the sign of a margin, which is positive where the relation holds.


_DIGITS = 1_200  # decimal digits of the margin
_MOST = 256  # most entries that are examined in many digits
_UNKNOWN = 2
_REACHED = (Verdict.AGREE, Verdict.ILL_CONDITIONED)


def _order(scope: Scope, sides: Sides, told: Asserted, options: Options) -> Claim:
    """Return the verdict on ``!=``, ``<``, ``<=``, ``>`` or ``>=`` between two computed sides."""
    claim = _claim(told, OF_HOLDING[told.holds])
    if sides.left.kind != "float" or sides.right.kind != "float":
        return claim  # booleans have no margin
    low, high = (
        (sides.left, sides.right) if told.relation in ("<", "<=") else (sides.right, sides.left)
    )
    margin: Expr = arithmetic.sub(high, low)
    if told.relation == "!=":
        margin = arithmetic.abs_(margin)
    if told.within:
        margin = margin - told.within if told.relation == "!=" else margin + told.within
    found = np.asarray(forward([margin], scope.values, scope.precision)[margin])
    part = cross_check(scope, margin, {}, ValueAlone(found[()]), options).value
    if part is not None and part.verdict in (Verdict.UNDEFINED, Verdict.KINK):
        claim.reason = part.reason
        # Otherwise the value chosen at the kink breaks the relation.
        if part.verdict is Verdict.UNDEFINED or told.holds:
            claim.verdict = part.verdict
        return claim
    signs = _signs(scope, sides, told, margin, found.astype(float), part)
    wrong = (signs != 1) & ((signs != 0) | (told.relation not in ("<=", ">=")))
    if not wrong.any():
        claim.verdict, claim.worst = Verdict.AGREE, None
        return claim
    claim.verdict = Verdict.UNDETERMINED
    if (certain := wrong & (signs != _UNKNOWN)).any():
        wrong, claim.verdict = certain, Verdict.MISMATCH
    elif part is not None and part.verdict is Verdict.UNDETERMINED and part.reason:
        claim.reason = part.reason
    else:
        claim.reason = (
            f"the sides are equal to {-NOTHING} digits, or nearer to each other than rounding"
        )
    off = np.abs(np.asarray(told.left, float) - np.asarray(told.right, float))
    told.worst = _worst_of(told.left, told.right, np.where(wrong, off, -1.0))
    claim.worst, claim.wrong = _claim(told, claim.verdict).worst, (int(wrong.sum()), off.size)
    return claim


def _worst_of(left: Any, right: Any, off: np.ndarray) -> Worst:
    place = index_of(int(np.argmax(off)), off.shape)
    return Worst(place, float(np.asarray(left)[place]), float(np.asarray(right)[place]))


def _signs(
    scope: Scope,
    sides: Sides,
    told: Asserted,
    margin: Expr,
    floats: np.ndarray,
    part: VariableCheck | None,
) -> np.ndarray:
    """Return the sign of each entry of the margin: -1, 0, 1, or unknown."""
    if (
        sides.left.op is None
        and sides.right.op is None
        and not told.within
        and not np.isnan(floats).any()
    ):
        # Both sides are given floats: the sign of their difference is never rounded.
        return np.asarray(np.sign(floats))
    signs = np.full(floats.shape, _UNKNOWN)
    if part is not None and part.verdict in _REACHED and part.max_abs_error is not None:
        with np.errstate(all="ignore"):
            error = 2 * part.max_abs_error + 4 * 2.0**-52 * np.maximum(np.abs(floats), told.within)
            signs = np.where(np.isfinite(floats) & (np.abs(floats) > error), np.sign(floats), signs)
    if (signs == _UNKNOWN).any() and signs.size <= _MOST:
        with suppress(*NO_VALUE):
            signs = np.where(signs == _UNKNOWN, _signs_by_digits(scope, sides, told, margin), signs)
    return signs


def _signs_by_digits(scope: Scope, sides: Sides, told: Asserted, margin: Expr) -> np.ndarray:
    """Return the signs of the margin as the reference finds them.

    Enclosures are tried first, among them zeros that are exact; then digits, then algebra.
    """
    leaves = {node: scope.values[node] for node in reachable([margin]) if node.is_leaf}
    m = context()
    m.dps = _DIGITS

    def values(m: Any) -> np.ndarray:
        return reference_at(m, margin, [], None, leaves, scope.precision)[1]

    enclosed = numbers(m, lambda balls: [values(balls)])
    found = np.ravel(values(m) if enclosed is None else enclosed[0])
    least = m.mpf(10) ** NOTHING * (
        1 if enclosed else m.mpf(float(np.max(np.abs([told.left, told.right]))))
    )
    told_apart = [
        m.isfinite(x) and (abs(x) > least or (x == 0 and enclosed is not None)) for x in found
    ]
    signs = np.array(
        [int(m.sign(x)) if known else _UNKNOWN for x, known in zip(found, told_apart, strict=True)]
    ).reshape(margin.shape)
    if not told.within and (signs == _UNKNOWN).any() and has_flint():
        from gradcli.reference.fields.identity import Decision, Question, decide

        given = {leaf: scope.graph.constant(value) for leaf, value in leaves.items()}
        left, right = rebuild([sides.left, sides.right], given)
        if decide(Question(left, None, right, 1.0, {}, scope.precision)) is Decision.SAME:
            signs[signs == _UNKNOWN] = 0
    return signs
