"""Which of two sides is the larger, decided by the reference: floats tell only where they are further apart than rounding moves them.

Sides that the reference cannot tell apart are equal if both are algebraic numbers; else nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.check.judge import numbers
from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Sides
from gradcli.language.scope import Scope
from gradcli.ops.elementwise import arithmetic
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.contexts import context
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape
from gradcli.report.records import Asserted, Record
from gradcli.report.verdicts import Claim, VariableCheck, Verdict, Worst

_DIGITS, _APART = 1_200, 400  # of both sides; digits beyond which they cannot be told apart
_USUAL, _MOST_NODES = 1_000, 100  # binary exponents of numbers, and how many of them
_MOST = 256  # entries that are looked at in many digits
_UNKNOWN = 2
_REACHED = (Verdict.AGREE, Verdict.ILL_CONDITIONED)
_WITHOUT_REFERENCE = (GradcliError, Unsupported, ArithmeticError, ValueError)


def order_of(scope: Scope, sides: Sides, told: Asserted, timeout: float | None, remembering: bool) -> Claim:
    """The verdict on ``!=``, ``<``, ``<=``, ``>`` or ``>=`` between two sides that have been computed."""
    claim = Claim("assert", "assert", Verdict.AGREE if told.holds else Verdict.MISMATCH, turned(told.worst))
    if sides.left.kind != "float" or sides.right.kind != "float":
        return claim  # booleans are what they are
    off = np.asarray(told.left, float) - np.asarray(told.right, float)
    difference: Expr = arithmetic.sub(sides.left, sides.right)
    shown = Record("", value=off.astype(scope.precision)[()], grad={}, seed=np.ones(difference.shape)[()])
    part = cross_check(scope, difference, {}, shown, timeout, remembering=remembering).value
    if part is not None and part.verdict is Verdict.UNDEFINED:
        return Claim("assert", "assert", Verdict.UNDEFINED, turned(told.worst), part.reason)
    if part is not None and part.verdict is Verdict.KINK:
        verdict = Verdict.KINK if told.holds else Verdict.MISMATCH  # of the value that was chosen there
        return Claim("assert", "assert", verdict, turned(told.worst), part.reason)
    signs = _signs(scope, sides, told, off, part)
    fine, known = _decided(told, signs)
    if not fine.all():
        wrong = np.flatnonzero(~fine & known) if (~fine & known).any() else np.flatnonzero(~fine)
        place = np.unravel_index(int(wrong[np.argmax(np.abs(off).ravel()[wrong])]), off.shape)
        left, right = (np.asarray(side, float)[place] for side in (told.left, told.right))
        told.worst = Worst(tuple(int(i) for i in place), float(left), float(right))
        claim.worst = turned(told.worst)
        claim.wrong = (int(wrong.size), off.size)
    if (~fine & known).any():
        claim.verdict = Verdict.MISMATCH
    elif not fine.all():
        claim.verdict, claim.reason = Verdict.UNDETERMINED, _why(part)
    else:
        claim.verdict, claim.worst = Verdict.AGREE, None
    return claim


def turned(worst: Worst | None) -> Worst | None:
    """The right side is the claim."""
    return None if worst is None else Worst(worst.index, worst.reference, worst.engine, worst.at)


def _why(part: VariableCheck | None) -> str:
    if part is not None and part.verdict is Verdict.UNDETERMINED and part.reason:
        return part.reason
    return f"the sides are equal to {_APART} digits, or nearer to each other than rounding"


def _decided(told: Asserted, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the relation holds for certain, and where it is known whether it does."""
    allowed: dict[str, Sequence[int]] = {"!=": (1,), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
    return np.isin(signs, allowed[told.relation]), signs != _UNKNOWN


def _signs(scope: Scope, sides: Sides, told: Asserted, off: np.ndarray, part: VariableCheck | None) -> np.ndarray:
    """The sign of left - right, with the tolerance taken in, for each entry: -1, 0, 1, or unknown."""
    room = told.within
    shift = {"<": -room, "<=": -room, ">": room, ">=": room}.get(told.relation, 0.0)

    def edge(x: Any) -> Any:
        """The number whose sign counts, of a difference."""
        return abs(x) - room if told.relation == "!=" else x + shift

    signs = np.full(off.size, _UNKNOWN)
    apart = off.ravel()
    if part is not None and part.verdict in _REACHED and part.max_abs_error is not None and math.isfinite(part.max_abs_error):
        with np.errstate(all="ignore"):
            error = 2 * part.max_abs_error + 4 * float(np.finfo(float).eps) * np.maximum(np.abs(apart), room)
            clear = np.isfinite(apart) & (np.abs(edge(apart)) > error)
        signs[clear] = np.sign(edge(apart))[clear]
    if sides.left.op is None and sides.right.op is None and not room and not np.isnan(apart).any():
        signs[:] = np.sign(edge(apart))  # floats as they are: the sign of a difference is never rounded
    if (signs == _UNKNOWN).any() and signs.size <= _MOST:
        with suppress(*_WITHOUT_REFERENCE):
            _by_digits(scope, sides, off.shape, signs, edge)
    return signs.reshape(off.shape)


def _by_digits(scope: Scope, sides: Sides, shape: tuple[int, ...], signs: np.ndarray, edge: Callable[[Any], Any]) -> None:
    """Fill in what the reference's digits tell."""
    m = context()
    m.dps = _DIGITS
    ends = [sides.left, sides.right]
    order = reachable(ends)
    leaves = {node: scope.values[node] for node in order if node.is_leaf}

    def edges(m: Any, tape: ReferenceTape) -> np.ndarray:
        left, right = (np.broadcast_to(Algebra.map(plain, tape.run(end)), shape).ravel() for end in ends)
        return Algebra.map(edge, left - right)

    tape = ReferenceTape(m, leaves, scope.precision)
    by_balls = numbers(m, lambda balls: [edges(balls, ReferenceTape(balls, leaves, scope.precision))])
    found = edges(m, tape) if by_balls is None else by_balls[0]
    for end in ends:
        tape.run(end)
    values = {node: Algebra.map(plain, tape.table[node]) for node in order}
    left, right = (np.broadcast_to(values[end], shape).ravel() for end in ends)
    equal: np.ndarray | None = None
    for place in np.flatnonzero(signs == _UNKNOWN):
        x, y, exact = left[place], right[place], found[place]
        if not (m.isfinite(x) and m.isfinite(y)):
            if not (m.isnan(x) or m.isnan(y)):
                signs[place] = 0 if x == y else np.sign(edge(math.inf if x > y else -math.inf))
        elif abs(exact) > m.mpf(10) ** -_APART * (1 if by_balls is not None else max(abs(x), abs(y))):
            signs[place] = int(m.sign(exact))
        else:
            equal = np.broadcast_to(_end(m, order, values, shape), shape).ravel() if equal is None else equal
            signs[place] = 0 if equal[place] else _UNKNOWN


def _end(m: Any, order: Sequence[Expr], values: Mapping[Expr, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the entries that are made of algebraic numbers of usual sizes only: if two of these seem to be equal, they are.

    Other functions are taken at 0 and 1, where theirs are such numbers too if they seem to be.
    """
    algebraic: set[Expr] = set()
    there = np.ones(shape, bool)
    if len(order) > _MOST_NODES or not all(_is_usual(m, x) for node in order if node.op is not None for x in values[node].ravel()):
        return ~there
    by_entries = all(node.op is None or node.op.elementwise for node in order)
    for node in order:
        operands = [operand for operand in node.operands if operand is not None]
        if node.op is None or _is_algebraic(node):
            if all(operand in algebraic for operand in operands):
                algebraic.add(node)
            continue
        if not node.op.elementwise:
            return there & False
        for operand in operands:
            plainly = np.array([_is_plain(m, x) for x in values[operand].ravel()]).reshape(operand.shape) & (operand in algebraic)
            there &= plainly if by_entries and len(operand.shape) <= len(shape) else plainly.all()
    return there


def _is_algebraic(node: Expr) -> bool:
    assert node.op is not None
    facts = node.op.facts
    exponents = [x for x, name in zip(node.operands, node.op.operands, strict=False) if name in facts.exponents]
    exact = node.kind == "bool" or facts.integral or facts.algebraic
    return exact and all(exponent is not None and exponent.op is None for exponent in exponents)


def _is_usual(m: Any, x: Any) -> bool:
    """Return whether a number is not so small or large that it could be lost beside the others' digits."""
    return isinstance(x, bool) or x == 0 or (m.isfinite(x) and abs(m.mag(x)) < _USUAL)


def _is_plain(m: Any, x: Any) -> bool:
    """Return whether a number is 0 or 1."""
    return isinstance(x, bool) or any(abs(x - n) < m.mpf(10) ** -_APART for n in (0, 1))
