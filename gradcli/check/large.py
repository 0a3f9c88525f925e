"""The verdict on arrays too large for scalars: every entry against a reference in long double.

The reference may be off by its own share of the rounding of doubles, by the same analysis, and by the rounding of its slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.check.comparison import ENOUGH, digits_of, loosest, right_digits
from gradcli.check.rounding import error_bounds
from gradcli.graph.demand import bytes_of, held_by, swept
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.extended import LONG_DOUBLE
from gradcli.reference import long_double
from gradcli.reference.long_double import hold_derivatives
from gradcli.reference.stand_ins import StandIns
from gradcli.report.verdicts import VariableCheck, Verdict, Worst

_TIMES = 2  # as long as doubles are these numbers
_ADJOINTS = 3  # arrays that stand for an adjoint: the slope, its error, and where it lives
_FEW = 6  # digits

Decision = tuple[VariableCheck | None, dict[str, VariableCheck]]


def decide_large(judge: Any, value: Any) -> tuple[Decision, bool]:
    """The checks of the value and of each gradient, and whether that is all there is to say: else scalars may tell more, as of kinks."""
    nodes = list(judge.wrt.values())
    held = StandIns()
    hold_derivatives(judge.root, judge.leaves, judge.precision, held)
    value_bound, bounds = error_bounds(judge.root, nodes, judge.leaves, judge.seed, judge.precision)
    _hold(judge, nodes)
    found = long_double.reference(judge.root, nodes, judge.leaves, judge.seed, judge.precision, held)
    results = {}
    smooth = not any(node.op is not None and (node.op.kinks or node.op.facts.turns) for node in reachable([judge.root]))
    certain = smooth and bool(held.wrong or held.wrong_value)
    for name, right, error, computed, bound in zip(judge.wrt, found.slopes, found.errors, judge.gradients, bounds, strict=True):
        compared = Compared(right, computed, bound, found.share * bound + 4 * error)
        results[name] = compared.result(found.source)
        certain = certain or (smooth and bool(compared.wrong.any()))
        _tell(held, results[name])
        judge.wide[name] = right, compared.allowed.reshape(np.shape(right))
    judge.wide["value"] = found.value, (1 + found.share) * value_bound
    checked = None
    if value is not None:
        checked = Compared(found.value, np.asarray(value), value_bound, found.share * value_bound).result(found.source)
        checked.entries = None
        if held.wrong_value:
            checked.verdict, checked.reason = Verdict.MISMATCH, held.wrong_value
    parts = [*results.values(), *([] if checked is None else [checked])]
    return (checked, results), certain or all(part.verdict in (Verdict.AGREE, Verdict.ILL_CONDITIONED) for part in parts)


def _hold(judge: Any, nodes: Sequence[Expr]) -> None:
    """Raise LimitError where the reference in long double, whose arrays are held all, needs more memory than the limits allow."""
    order = reachable([judge.root])
    arrays = sum(bytes_of(node) for node in order) + _ADJOINTS * swept(order, nodes)
    judge.root.graph.limits.check_memory(_TIMES * arrays + held_by(judge.leaves.values()), "the reference in long double")


def _tell(held: StandIns, check: VariableCheck) -> None:
    """Put into a check at how many entries and along how many directions functions were held, and what came of it."""
    check.directions = held.directions or None
    if held.entries is not None and check.entries is not None:
        check.entries = min(held.entries, check.entries[1]), check.entries[1]
    if held.wrong_value or held.wrong:
        check.verdict, check.reason = Verdict.MISMATCH, held.wrong_value or held.wrong
    elif held.doubt and check.verdict < Verdict.UNDETERMINED:
        check.verdict, check.reason = Verdict.UNDETERMINED, held.doubt


class Compared:
    """One array of floats beside the reference.

    right     the reference
    bound     what rounding explains
    own       how far the reference may be from the truth
    """

    def __init__(self, right: Any, computed: np.ndarray, bound: Any, own: Any) -> None:
        self.shape, self.dtype = np.shape(computed), np.asarray(computed).dtype
        self.computed, self.right = np.ravel(computed), np.broadcast_to(np.asarray(right, LONG_DOUBLE), self.shape).ravel()
        bound, self.own = (_no_nan(np.ravel(np.broadcast_to(np.asarray(x, float), self.shape))) for x in (bound, own))
        with np.errstate(all="ignore"):
            self.allowed = bound + self.own
            self.off = np.abs(self.computed - self.right).astype(float)
            self.nearest = self.computed == self.right.astype(self.dtype)
            self.finite = np.isfinite(self.right)
            self.size = np.abs(self.right).astype(float)
            self.wrong = self.finite & ~self.nearest & ~(self.off <= self.allowed)

    def result(self, source: str) -> VariableCheck:
        """The entries' verdicts as one."""
        with np.errstate(all="ignore"):
            relative = np.where(self.size > 0, self.off / self.size, np.where(self.off > 0, np.inf, 0.0))
        zero = (self.off <= self.allowed) & ((self.size <= 1e-20 * self.allowed) | (self.size <= self.own)) & (self.computed != 0)
        faint = (self.right != 0) & (self.size < np.finfo(self.dtype).smallest_normal) & (np.abs(self.right) > self.own)
        with np.errstate(all="ignore"):
            relative[faint] = np.abs(self.computed[faint] - self.right[faint]) / np.abs(self.right[faint])
        compared = np.where(~self.finite | zero, 0.0, relative)
        beyond = self.finite & np.isinf(self.computed) & self.nearest
        lost = beyond | (~self.wrong & (compared > 5 * 10.0 ** -ENOUGH.get(str(self.dtype), _FEW)))
        verdict, reason = self._verdict(lost)
        size = self.computed.size
        check = VariableCheck(verdict, source, entries=(size, size), wrong=int(self.wrong.sum()), reason=reason)
        if size:
            finite = np.where(self.finite & np.isfinite(self.off), self.off, 0.0)
            check.max_abs_error, check.max_rel_error = float(np.max(finite)), float(np.max(compared))
            check.digits = 0 if zero.any() else digits_of(check.max_rel_error)
            rank = np.where(np.isfinite(relative), relative, np.inf)
            first = ~self.finite if verdict is Verdict.UNDEFINED else np.where(self.wrong, rank, -1.0) if self.wrong.any() else compared
            if verdict is Verdict.AGREE and zero.any():
                first = zero
            worst = int(np.argmax(first))
            place = tuple(int(p) for p in np.unravel_index(worst, self.shape)) if self.shape else ()
            check.worst = Worst(place, float(self.computed[worst]), float(self.right[worst]))
            check.mask = self.wrong.reshape(self.shape) if check.wrong else None
            if verdict is Verdict.ILL_CONDITIONED:
                check.reason = reason or right_digits(digits_of(check.max_rel_error), f"{self.right[worst]:.6g}" if faint[worst] else None)
        check.bound = loosest(self.allowed, np.where(self.finite, self.size, 0.0))
        return check

    def _verdict(self, lost: np.ndarray) -> tuple[Verdict, str | None]:
        if self.wrong.any():
            return Verdict.MISMATCH, self._not_finite()
        if not self.finite.all():
            count = int((~self.finite).sum())
            entries = f"{count:,} {'entry' if count == 1 else 'entries'}"
            return Verdict.UNDEFINED, f"the true value is not finite, or too large to compute, at {entries}"
        return (Verdict.ILL_CONDITIONED, self._too_large()) if lost.any() else (Verdict.AGREE, None)

    def _not_finite(self) -> str | None:
        """Return where a result is not finite though the truth is: which of both."""
        found = np.flatnonzero(self.wrong & ~np.isfinite(self.computed))
        return f"the result is {self.computed[found[0]]}, where the true one is {self.right[found[0]]!s}" if found.size else None

    def _too_large(self) -> str | None:
        found = np.flatnonzero(self.finite & np.isinf(self.computed))
        return f"too large for {self.dtype}: the true value is {self.right[found[0]]!s}" if found.size else None


def _no_nan(array: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(array), np.inf, array)
