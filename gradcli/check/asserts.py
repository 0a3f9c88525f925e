"""Asserts: a claim that the left side truly is what the right side gives."""

from __future__ import annotations

import numpy as np

from gradcli.check.claims import Given
from gradcli.check.crosscheck import cross_check
from gradcli.engine.graph import Expr
from gradcli.language.scope import Scope
from gradcli.report.records import Asserted, Record
from gradcli.report.verdicts import Check, Claim, Verdict, Worst


def decide_assert(
    scope: Scope, left: Expr, right: Expr, record: Record, rounding: float | None, timeout: float | None,
    remembering: bool, everywhere: bool, convention: str | None,
) -> Check:  # fmt: skip
    """The verdict on an assert whose sides have been computed.

    rounding    how far the sides may be apart, relative to their size; None where the assert has a tolerance of its own
    everywhere  the values are examples, so that the sides are equal as functions, without rounding, or they are not
    convention  which choice at kinks is right, whatever the engine chose
    """
    told = record.asserted
    assert told is not None
    given = _claim(left, right, told, rounding, everywhere, convention)
    if given is None:
        verdict = Verdict.AGREE if told.holds else Verdict.MISMATCH
        return Check(verdict, claims=[Claim("assert", "assert", verdict, _turned(told.worst))])
    shown = Record(record.expr, value=told.left, grad={}, seed=np.ones(left.shape)[()])
    check = cross_check(scope, left, {}, shown, timeout, [given], None, remembering, convention)
    for claim in check.claims:
        claim.kind = claim.of = "assert"
        claim.reason = None if everywhere else claim.reason
    if (everywhere or convention is not None) and check.worst is not Verdict.UNDETERMINED:
        record.value = told.holds = check.worst is not Verdict.MISMATCH
    return check


def _claim(left: Expr, right: Expr, told: Asserted, rounding: float | None, everywhere: bool, convention: str | None) -> Given | None:
    """The assert as a claim about its left side; None where the numbers alone decide."""
    if left.kind != "float" or right.shape not in (left.shape, ()):
        return None
    if everywhere and rounding is not None:
        return Given("value", right)
    if convention is not None or (told.holds and rounding is not None):
        return Given("value", None, np.broadcast_to(told.right, left.shape), rounding or 0.0, told.within)
    return None


def _turned(worst: Worst | None) -> Worst | None:
    """The right side is the claim."""
    return None if worst is None else Worst(worst.index, worst.reference, worst.engine)
