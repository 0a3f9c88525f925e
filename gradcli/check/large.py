"""The verdict on arrays too large for scalars: every entry against a reference in long double, and those in doubt one by one.

The reference may be off by its own share of the rounding of doubles, by the same analysis, and by the rounding of its slopes.
Where that decides nothing (terms cancel, it has underflown or overflown), and where an entry would be wrong, the entry is
computed by itself, in balls. So are some entries from everywhere where long double has no more digits than double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradcli.check.comparison import ENOUGH, digits_of, loosest, right_digits
from gradcli.check.passes import Asked
from gradcli.check.rounding import error_bounds
from gradcli.graph.demand import bytes_of, held_by, swept
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.reference import long_double
from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import context
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.entries import Entry, SingleEntries
from gradcli.reference.long_double import hold_derivatives
from gradcli.reference.stand_ins import StandIns
from gradcli.report.verdicts import VariableCheck, Verdict, Worst

_SINGLE = 128  # entries of a variable that are computed by themselves, at most
_WRONG = 8  # of those that seem wrong: more of the same kind tell nothing new
_WORK = 30_000  # nodes and scalars that these may take, each as often as its digits are more than the fewest
_DOUBT = 1e-8  # of an entry: an error of the reference beyond leaves it in doubt
_DIGITS = 60, 120, 400, 1000  # of single entries
_ALIKE = 1e-20  # in plain multi-precision, what two of these give so much alike is right
_TIMES = 2  # as long as doubles are these numbers
_ADJOINTS = 3  # arrays that stand for an adjoint: the slope, its error, and where it lives
_FEW = 6  # digits

Decision = tuple[VariableCheck | None, dict[str, VariableCheck]]


def decide_large(judge: Asked, value: Any, known: long_double.Reference | None = None) -> tuple[Decision, bool]:
    """The checks of the value and of each gradient, and whether that is all there is to say: else scalars may tell more, as of kinks.

    known  the reference, if it is there already
    """
    nodes = list(judge.wrt.values())
    held = StandIns() if known is None else known.held
    if known is None:
        hold_derivatives(judge.root, judge.leaves, judge.precision, held)
    value_bound, bounds = error_bounds(judge.root, nodes, judge.leaves, judge.seed, judge.precision)
    _hold(judge, nodes)
    found = known or long_double.reference(judge.root, nodes, judge.leaves, judge.seed, judge.precision, held)
    results = {}
    work = _WORK
    certain, smooth = False, not any(node.op is not None and (node.op.kinks or node.op.facts.turns) for node in found.wholes.values)
    for (name, x), right, error, computed, bound in zip(
        judge.wrt.items(), found.slopes, found.errors, judge.gradients, bounds, strict=True
    ):
        compared = Compared(right, computed, bound, found.share * bound + 4 * error)
        work = _one_by_one(judge, found, x, compared, work)
        results[name] = compared.result(found.source)
        certain = certain or bool(compared.confirmed) or ((bool(compared.wrong.any()) or bool(held.wrong or held.wrong_value)) and smooth)
        _tell(held, results[name])
        judge.wide[name] = _both(compared.right.reshape(np.shape(right)), compared.allowed.reshape(np.shape(right)))
    judge.wide["value"] = _both(found.value, (1 + found.share) * value_bound)
    checked = None
    if value is not None:
        of_value = Compared(found.value, np.asarray(value), value_bound, found.share * value_bound)
        checked = of_value.result(found.source)
        checked.entries = None
        if held.wrong_value:
            checked.verdict, checked.reason = Verdict.MISMATCH, held.wrong_value
    parts = [*results.values(), *([] if checked is None else [checked])]
    return (checked, results), certain or all(part.verdict in (Verdict.AGREE, Verdict.ILL_CONDITIONED) for part in parts)


def _hold(judge: Asked, nodes: Sequence[Expr]) -> None:
    """Raise LimitError where the reference in long double, whose arrays are held all, needs more memory than the limits allow."""
    order = reachable([judge.root])
    arrays = sum(bytes_of(node) for node in order) + _ADJOINTS * swept(order, nodes)
    judge.root.graph.limits.check_memory(_TIMES * arrays + held_by(judge.leaves.values()), "the reference in long double")


def _both(right: Any, bound: Any) -> Callable[[], tuple[Any, Any]]:
    return lambda: (right, bound)


def _tell(held: StandIns, check: VariableCheck) -> None:
    """Put into a check at how many entries and along how many directions functions were held, and what came of it."""
    check.directions = held.directions or None
    if held.entries is not None and check.entries is not None:
        check.entries = min(held.entries, check.entries[1]), check.entries[1]
    if held.wrong_value or held.wrong:
        check.verdict, check.reason = Verdict.MISMATCH, held.wrong_value or held.wrong
    elif held.doubt and check.verdict < Verdict.UNDETERMINED:
        check.verdict, check.reason = Verdict.UNDETERMINED, held.doubt


def _one_by_one(judge: Asked, found: long_double.Reference, x: Expr, compared: Compared, work: int) -> int:
    """Compute the entries in doubt by themselves, while there is work to spend on it; what is left of that."""
    singles = [SingleEntries(m, judge.root, judge.leaves, judge.precision, found.wholes) for m in _contexts()]
    for i in compared.in_doubt():
        still_in_time()
        if work <= 0:
            break
        entry, spent = _entry(singles, x, i)
        work -= spent
        if entry is not None:
            compared.settle(i, entry.slope, found.share * float(compared.bound[i]) + 4 * entry.error)
    return work


def _entry(singles: Sequence[SingleEntries], x: Expr, i: int) -> tuple[Entry | None, int]:
    """Return what an entry is, in long double, if that can be told, and what it took: as many digits as it takes for it to be certain."""
    spent, before, entry = 0, None, None
    for single in singles:
        m = single.m
        try:
            with m.working():
                entry = single.of(x, i)
                certain = m.settled(entry.slope, before)
                before, entry = entry.slope, entry._replace(slope=m.long_double(entry.slope))
        except m.undecidable:
            certain = False
        except (Unsupported, ArithmeticError, ValueError, TypeError, AttributeError):
            return None, spent + len(single.order)
        spent += single.spent * m.dps // _DIGITS[0]
        if entry is not None and (entry.on_kink or certain):
            return None if entry.on_kink else entry, spent
    return entry if entry is not None and not entry.slope else None, spent  # zero to so many digits


def _contexts() -> list[Any]:
    """Balls, of which one tells how certain it is; multi-precision numbers where FLINT is not installed."""
    try:
        from gradcli.reference.entries import LongBalls
    except ImportError:
        return [PlainNumbers(digits, _ALIKE) for digits in _DIGITS]

    class Certain(LongBalls):
        def settled(self, x: Any, before: Any = None) -> bool:
            return super().settled(x)

    return [Certain(digits) for digits in _DIGITS]


class Compared:
    """One array of floats beside the reference.

    right     the reference
    bound     what rounding explains
    own       how far the reference may be from the truth
    """

    def __init__(self, right: Any, computed: np.ndarray, bound: Any, own: Any) -> None:
        self.shape, self.dtype = np.shape(computed), np.asarray(computed).dtype
        self.computed, self.right = np.ravel(computed), np.array(np.broadcast_to(right, self.shape), LONG_DOUBLE).ravel()
        self.bound = _no_nan(np.ravel(np.broadcast_to(np.asarray(bound, float), self.shape)))
        self.own = _no_nan(np.array(np.broadcast_to(np.asarray(own, float), self.shape)).ravel())
        self.settled: dict[int, Any] = {}
        self.confirmed = self.overturned = 0
        self._compare()

    def _compare(self) -> None:
        with np.errstate(all="ignore"):
            self.allowed = self.bound + self.own
            self.off = np.abs(self.computed - self.right).astype(float)
            self.nearest = self.computed == self.right.astype(self.dtype)
            self.finite = np.isfinite(self.right)
            self.size = np.abs(self.right).astype(float)
            self.wrong = self.finite & ~self.nearest & ~(self.off <= self.allowed)

    def in_doubt(self) -> Iterator[int]:
        """The entries that another reference should look at, the gravest first; a caller settles them on the way."""
        with np.errstate(all="ignore"):
            excess = np.where(self.wrong, np.where(np.isfinite(self.off), self.off / self.allowed, np.inf), 0.0)
        wrong = _largest(excess, np.flatnonzero(self.wrong), _SINGLE)
        for count, i in enumerate(wrong):
            if count >= _WRONG and self.confirmed:
                break
            yield i
        with np.errstate(all="ignore"):
            unsure = self.own > np.maximum(self.bound, _DOUBT * self.size)
            share = np.where(self.finite, np.where(unsure & ~self.wrong, self.own / self.size, 0.0), np.inf)
        yield from _largest(_no_nan(share), np.flatnonzero(~self.finite | unsure & ~self.wrong), _SINGLE)
        if not WIDER and self.computed.size:
            yield from np.unique(np.linspace(0, self.computed.size - 1, _SINGLE).astype(int)).tolist()

    def settle(self, i: int, exact: Any, own: float) -> None:
        """What an entry of the reference is in truth."""
        seemed = bool(self.wrong[i])
        right = LONG_DOUBLE(exact)
        if not np.isfinite(right):
            return
        self.right[i], self.own[i] = right, own
        with np.errstate(all="ignore"):
            allowed = self.bound[i] + own
            off = float(np.abs(self.computed[i] - right))
            self.allowed[i], self.off[i], self.size[i], self.finite[i] = allowed, off, float(abs(right)), True
            self.nearest[i] = self.computed[i] == right.astype(self.dtype)
            self.wrong[i] = not self.nearest[i] and not off <= allowed
        self.confirmed += seemed and bool(self.wrong[i])
        self.overturned += seemed and not self.wrong[i]
        self.settled[i] = exact

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
            if self.overturned and not self.confirmed:
                reason = f"{int(self.wrong.sum())} entries are in doubt, beyond those that are computed one by one"
                return Verdict.UNDETERMINED, reason
            return Verdict.MISMATCH, self._not_finite()
        if not self.finite.all():
            count = int((~self.finite).sum())
            return Verdict.UNDEFINED, f"the true value is not finite at {count:,} {'entry' if count == 1 else 'entries'}"
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


def _largest(ranks: np.ndarray, among: np.ndarray, count: int) -> list[int]:
    """Of some places those with the largest ranks, the largest first."""
    if among.size > count:
        among = among[np.argpartition(-ranks[among], count)[:count]]
    order = among[np.argsort(-ranks[among], kind="stable")]
    return [int(i) for i in order]


# -- Multi-precision numbers of mpmath where balls are not installed: certain is what two
# precisions give alike.


class PlainNumbers:
    """A context of mpmath's."""

    undecidable = ()

    def __init__(self, digits: int, alike: float) -> None:
        self.context, self.alike = context(), alike
        self.context.dps = digits

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def working(self) -> Any:
        return nullcontext()

    def settled(self, x: Any, before: Any) -> bool:
        """Return whether the precision before has given the same, which is not zero: that may be all that is left of a difference."""
        return bool(x) and before is not None and bool(abs(x - before) <= self.alike * abs(x))

    def long_double(self, x: Any) -> Any:
        return LONG_DOUBLE(self.context.nstr(x, 25))
