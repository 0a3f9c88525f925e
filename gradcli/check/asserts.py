"""Asserts: claims that the two sides of a relation truly are as it says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.check.given import Given
from gradcli.check.ordering import order_of
from gradcli.check.relations import rounding_of
from gradcli.language.run import Lowered, Sides
from gradcli.language.scope import Scope
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.report.records import Asserted, Record
from gradcli.report.verdicts import Check, Claim, Verdict, Worst


@dataclass(frozen=True, eq=False)
class Deciding:
    """How asserts are decided.

    everywhere  the values are examples, so that the sides are equal as functions, without rounding, or they are not
    convention  which choice at kinks is right, whatever the engine chose
    """

    timeout: float | None = None
    remembering: bool = False
    everywhere: bool = False
    convention: str | None = None


def decide_assert(scope: Scope, lowered: Lowered, relations: list[Asserted], record: Record, how: Deciding) -> Check:
    """The verdict on an assert whose relations have been computed: a claim for each. What the reference finds is what they are."""
    rounding = rounding_of(scope) if lowered.within is None else None
    checks = [_relation(scope, sides, told, record, rounding, how) for sides, told in zip(lowered.relations, relations, strict=True)]
    gravest = max(checks, key=lambda check: check.worst)
    for check, told in zip(checks, relations, strict=True):
        for claim in check.claims:
            claim.relation, claim.text = told.relation, told.text or None
    gravest.claims = [claim for check in checks for claim in check.claims]
    gravest.value = max((check.value for check in checks if check.value is not None), key=lambda part: part.verdict, default=None)
    gravest.verdict = max(check.verdict for check in checks)
    return gravest


def _relation(scope: Scope, sides: Sides, told: Asserted, record: Record, rounding: float | None, how: Deciding) -> Check:
    if told.relation != "==":
        claim = _order(scope, sides, told, how)
        told.holds = None if claim.verdict is Verdict.UNDETERMINED else claim.verdict is not Verdict.MISMATCH
        if claim.verdict is Verdict.AGREE:
            told.worst = None
        return Check(Verdict.SKIPPED, claims=[claim])
    given = _equality(sides, told, rounding, how)
    if given is None:
        verdict = Verdict.AGREE if told.holds else Verdict.MISMATCH
        return Check(verdict, claims=[Claim("assert", "assert", verdict, _turned(told.worst))])
    shown = Record(record.expr, value=told.left, grad={}, seed=np.ones(sides.left.shape)[()])
    check = cross_check(scope, sides.left, {}, shown, how.timeout, [given], None, how.remembering, how.convention)
    for claim in check.claims:
        claim.kind = claim.of = "assert"
        claim.reason = None if how.everywhere else claim.reason
    if (how.everywhere or how.convention is not None) and check.worst is not Verdict.UNDETERMINED:
        told.holds = check.worst is not Verdict.MISMATCH
    return check


def _order(scope: Scope, sides: Sides, told: Asserted, how: Deciding) -> Claim:
    """The verdict on an inequality, its digits within the time limit, too."""
    try:
        with deadline(how.timeout) as limit:
            return order_of(scope, sides, told, how.timeout, how.remembering)
    except OutOfTime as passed:
        if passed is not limit:
            raise
        return Claim("assert", "assert", Verdict.UNDETERMINED, told.worst, REACHED)


def _equality(sides: Sides, told: Asserted, rounding: float | None, how: Deciding) -> Given | None:
    """An equality as a claim about its left side; None where the numbers alone decide."""
    left, right = sides.left, sides.right
    if left.kind != "float" or right.shape not in (left.shape, ()):
        return None
    if how.everywhere and rounding is not None:
        return Given("value", right)
    if how.convention is not None or (told.holds and rounding is not None):
        return Given("value", None, np.broadcast_to(told.right, left.shape), rounding or 0.0, told.within)
    return None


def _turned(worst: Worst | None) -> Worst | None:
    """The right side is the claim."""
    return None if worst is None else Worst(worst.index, worst.reference, worst.engine)
