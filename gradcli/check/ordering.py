"""Which of two sides is the larger, decided by the reference: floats tell only where they are further apart than rounding moves them.

Sides that the reference cannot tell apart are equal if both are algebraic numbers that end within its digits; else nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.errors import EvaluationError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Sides
from gradcli.language.scope import Scope
from gradcli.ops.elementwise import arithmetic
from gradcli.reference.contexts import context
from gradcli.reference.digits import to_digits
from gradcli.report.records import Asserted, Record
from gradcli.report.verdicts import Claim, VariableCheck, Verdict, Worst

_DIGITS, _APART = 60, 40  # of both sides; digits beyond which they cannot be told apart
_ALL_DIGITS, _SHORT = 1_200, 1_000  # of algebraic numbers; a number with fewer of them ends there
_USUAL, _MOST_NODES = 300, 100  # decimal exponents of numbers, and how many of them
_MOST = 256  # entries that are looked at in many digits
_UNKNOWN = 2
_REACHED = (Verdict.AGREE, Verdict.ILL_CONDITIONED)


def order_of(scope: Scope, sides: Sides, told: Asserted, timeout: float | None, remembering: bool) -> Claim:
    """The verdict on ``!=``, ``<``, ``<=``, ``>`` or ``>=`` between two sides that have been computed."""
    claim = Claim("assert", "assert", Verdict.AGREE if told.holds else Verdict.MISMATCH, told.worst)
    if sides.left.kind != "float" or sides.right.kind != "float":
        return _turned(claim)  # booleans are what they are
    off = np.asarray(told.left, float) - np.asarray(told.right, float)
    difference: Expr = arithmetic.sub(sides.left, sides.right)
    shown = Record("", value=off.astype(scope.precision)[()], grad={}, seed=np.ones(difference.shape)[()])
    part = cross_check(scope, difference, {}, shown, timeout, remembering=remembering).value
    if part is not None and part.verdict is Verdict.UNDEFINED:
        return _turned(Claim("assert", "assert", Verdict.UNDEFINED, told.worst, part.reason))
    if part is not None and part.verdict is Verdict.KINK:
        verdict = Verdict.KINK if told.holds else Verdict.MISMATCH  # of the value that was chosen there
        return _turned(Claim("assert", "assert", verdict, told.worst, part.reason))
    signs = _signs(scope, sides, told, off, part)
    fine, known = _decided(told, signs)
    if not fine.all():
        wrong = np.flatnonzero(~fine & known) if (~fine & known).any() else np.flatnonzero(~fine)
        place = np.unravel_index(int(wrong[np.argmax(np.abs(off).ravel()[wrong])]), off.shape)
        left, right = (np.asarray(side, float)[place] for side in (told.left, told.right))
        claim.worst = told.worst = Worst(tuple(int(i) for i in place), float(left), float(right))
        claim.wrong = (int(wrong.size), off.size)
    if (~fine & known).any():
        claim.verdict = Verdict.MISMATCH
    elif not fine.all():
        claim.verdict, claim.reason = Verdict.UNDETERMINED, _why(part)
    else:
        claim.verdict, claim.worst = Verdict.AGREE, None
    return _turned(claim)


def _turned(claim: Claim) -> Claim:
    """The right side is the claim."""
    if claim.worst is not None:
        claim.worst = Worst(claim.worst.index, claim.worst.reference, claim.worst.engine)
    return claim


def _why(part: VariableCheck | None) -> str:
    if part is not None and part.verdict is Verdict.UNDETERMINED and part.reason:
        return part.reason
    return f"the sides are equal to {_APART} digits, or nearer to each other than rounding"


def _decided(told: Asserted, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the relation holds for certain, and where it is known whether it does."""
    allowed: dict[str, Sequence[int]] = {"!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
    return np.isin(signs, allowed[told.relation]), signs != _UNKNOWN


def _signs(scope: Scope, sides: Sides, told: Asserted, off: np.ndarray, part: VariableCheck | None) -> np.ndarray:
    """The sign of left - right, with the tolerance taken in, for each entry: -1, 0, 1, or unknown."""
    room = told.within
    shift = {"<": -room, "<=": -room, ">": room, ">=": room}.get(told.relation, 0.0)
    signs = np.full(off.size, _UNKNOWN)
    apart = off.ravel()
    if part is not None and part.verdict in _REACHED and part.max_abs_error is not None and math.isfinite(part.max_abs_error):
        edges = np.abs(apart) - room if told.relation == "!=" else apart + shift
        with np.errstate(all="ignore"):
            error = 2 * part.max_abs_error + 4 * float(np.finfo(float).eps) * np.maximum(np.abs(apart), room)
            clear = np.isfinite(apart) & (np.abs(edges) > error)
        signs[clear] = np.where(edges > 0, 1, 0 if told.relation == "!=" else -1)[clear]

    def sign(exact: Any) -> int:
        if told.relation == "!=":
            return int(abs(exact) > room)
        return int(exact + shift > 0) - int(exact + shift < 0)

    if sides.left.op is None and sides.right.op is None and not room and not np.isnan(apart).any():
        signs[:] = np.sign(apart)  # floats as they are: the sign of a difference is never rounded
    if (signs == _UNKNOWN).any() and signs.size <= _MOST:
        _by_digits(scope, sides, off.shape, signs, sign)
    return signs.reshape(off.shape)


def _by_digits(scope: Scope, sides: Sides, shape: tuple[int, ...], signs: np.ndarray, sign: Any) -> None:
    """Fill in what the reference's digits tell."""
    m = context()
    m.dps = _ALL_DIGITS + 20
    try:
        left, right = (_digits(scope, side, _DIGITS, shape) for side in (sides.left, sides.right))
    except EvaluationError:
        return
    touching = []
    for place in np.flatnonzero(signs == _UNKNOWN):
        x, y = m.mpf(left[place]), m.mpf(right[place])
        if not (m.isfinite(x) and m.isfinite(y)):
            if not (m.isnan(x) or m.isnan(y)):
                signs[place] = int(x > y) - int(x < y)
        elif abs(x - y) > m.mpf(10) ** -_APART * max(abs(x), abs(y)):
            signs[place] = sign(x - y)
        else:
            touching.append(place)
    ends = [_ends(scope, side) for side in (sides.left, sides.right)] if touching else [np.zeros(shape, bool)]
    touching = [place for place in touching if all(np.broadcast_to(there, shape).ravel()[place] for there in ends)]
    if not touching:
        return
    try:
        left, right = (_digits(scope, side, _ALL_DIGITS, shape) for side in (sides.left, sides.right))
    except EvaluationError:
        return
    for place in touching:
        if max(len(left[place]), len(right[place])) < _SHORT:
            signs[place] = sign(m.mpf(left[place]) - m.mpf(right[place]))


def _digits(scope: Scope, side: Expr, digits: int, shape: tuple[int, ...]) -> np.ndarray:
    """The values of a side as decimal strings."""
    ones = np.ones(side.shape)[()]
    found = np.array(to_digits(scope, side, {}, ones, digits).numbers["value"], dtype=object)
    return np.broadcast_to(found.reshape(side.shape), shape).ravel()


def _ends(scope: Scope, side: Expr) -> np.ndarray:
    """Which entries are algebraic numbers of the floats they are made of, and of usual sizes: if one seems to end, it does.

    Other functions are taken at 0 and 1, where theirs are such numbers too if they seem to be.
    """
    order = reachable([side])
    nowhere = np.zeros(side.shape, bool)
    if len(order) > _MOST_NODES or not all(_is_usual(scope, node) for node in order if node.op is not None):
        return nowhere
    there = ~nowhere
    by_entries = all(node.op is None or node.op.elementwise for node in order)
    for node in order:
        if node.op is None or _is_algebraic(node):
            continue
        if not node.op.elementwise:
            return nowhere
        for operand in node.operands:
            if operand is not None:
                plain = _is_plain(scope, operand)
                there &= plain if by_entries and len(plain.shape) <= len(side.shape) else plain.all()
    return there


def _is_algebraic(node: Expr) -> bool:
    assert node.op is not None
    facts = node.op.facts
    exponents = [x for x, name in zip(node.operands, node.op.operands, strict=False) if name in facts.exponents]
    exact = node.kind == "bool" or facts.integral or facts.algebraic
    return exact and all(exponent is not None and exponent.op is None for exponent in exponents)


def _is_usual(scope: Scope, node: Expr) -> bool:
    """Return whether no entry is so small or large that it could be lost beside the others' digits."""
    try:
        found = _digits(scope, node, 20, node.shape)
    except EvaluationError:
        return False
    exponents = [int(text.partition("e")[2] or 0) for text in found if text not in ("True", "False")]
    return all(abs(exponent) < _USUAL for exponent in exponents)


def _is_plain(scope: Scope, node: Expr) -> np.ndarray:
    """Which entries are 0 or 1, exactly."""
    try:
        found = _digits(scope, node, _ALL_DIGITS, node.shape)
    except EvaluationError:
        found = np.full(math.prod(node.shape), "", dtype=object)
    exact = all(part.op is None or _is_algebraic(part) for part in reachable([node]))
    return np.array([exact and text in ("0.0", "1.0", "True", "False") for text in found]).reshape(node.shape)
