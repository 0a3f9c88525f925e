"""Asserts: a claim that the left side truly is what the right side gives."""

from __future__ import annotations

import numpy as np

from gradcli.check.claims import Given
from gradcli.check.crosscheck import cross_check
from gradcli.engine.graph import Expr
from gradcli.language.scope import Scope
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Claim, Verdict, Worst


def decide_assert(
    scope: Scope, left: Expr, right: Expr, record: Record, rounding: float | None, timeout: float | None,
    remembering: bool, everywhere: bool,
) -> Check:  # fmt: skip
    """The verdict on an assert whose sides have been computed; one with a tolerance of its own is done.

    rounding    how far the sides may be apart, relative to their size; None where the assert has a tolerance of its own
    everywhere  the values are examples, so that the sides are equal as functions, without rounding, or they are not
    """
    told = record.asserted
    assert told is not None
    comparable = rounding is not None and left.kind == "float" and right.shape in (left.shape, ())
    if not comparable or not (told.holds or everywhere):
        verdict = Verdict.AGREE if told.holds else Verdict.MISMATCH
        return Check(verdict, claims=[Claim("assert", "assert", verdict, _turned(told.worst))])
    shown = Record(record.expr, value=told.left, grad={}, seed=np.ones(left.shape)[()])
    given = Given("value", right) if everywhere else Given("value", None, told.right, rounding)
    check = cross_check(scope, left, {}, shown, timeout, [given], None, remembering)
    for claim in check.claims:
        claim.kind = claim.of = "assert"
        claim.reason = None if claim.verdict is Verdict.MISMATCH else claim.reason
    if everywhere and check.worst is not Verdict.UNDETERMINED:
        told.holds = check.worst is not Verdict.MISMATCH
        record.value = told.holds
    return check


def _turned(worst: Worst | None) -> Worst | None:
    """The right side is the claim."""
    return None if worst is None else Worst(worst.index, worst.reference, worst.engine)
