"""The verdict on large arrays by a reference in pairs of doubles, where compiled loops compute it: that all entries agree, or none.

What is not plainly right, and what pairs of doubles do not hold, is left to the reference in long double, so that verdicts are the same
with a compiler and without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.check.comparison import ENOUGH, SHOWN
from gradcli.check.passes import Asked
from gradcli.ops.extended import WIDER
from gradcli.reference.algebra import Unsupported
from gradcli.reference.pairs.deferred import Numbers, OutOfRange, Wide, viewed
from gradcli.report.verdicts import VariableCheck, Verdict, Worst

_WORK = 1 << 20  # scalar operations from which on loops are compiled, which is once on a machine
_DOUBT = 1e-8  # of an entry, as for long doubles
_FEW = 6
_SOURCE = "pairs of doubles"


def pays(work: int) -> bool:
    """Whether so many scalar operations are worth compiled loops, and there are such; where long doubles would not do, always."""
    if not WIDER:
        return True
    from gradcli.reference.pairs.library import library

    return work >= _WORK and library() is not None


def agreed(judge: Asked, value: Any, value_bound: Any, bounds: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]] | None:
    """The checks of a value and of gradients that all agree; None where something does not, or is to be looked at more closely."""
    from gradcli.reference.pairs.arrays import reference
    from gradcli.reference.pairs.schedule import computed

    try:
        found = reference(judge.root, list(judge.wrt.values()), judge.leaves, judge.seed, judge.precision)
        compared = {
            name: Compared(found.numbers, right, error, gradient, bound, found.share)
            for (name, right), error, gradient, bound in zip(
                zip(judge.wrt, found.slopes, strict=True), found.errors, judge.gradients, bounds, strict=True
            )
        }
        of_value = None
        if value is not None:
            of_value = Compared(found.numbers, found.value, None, np.asarray(value), value_bound, found.share)
        all_of_them = [*compared.values(), *([] if of_value is None else [of_value])]
        computed([target for part in all_of_them for target in part.targets()])
        if not all(part.agrees() for part in all_of_them):
            return None
    except Unsupported:
        return None
    for name, part in compared.items():
        judge.wide[name] = part.for_claims()
    judge.wide["value"] = _value_for_claims(found.value, (1 + found.share) * value_bound)
    checked = None
    if of_value is not None:
        checked = of_value.result()
        checked.entries = None
    return checked, {name: part.result() for name, part in compared.items()}


def _value_for_claims(right: Wide, bound: Any) -> Callable[[], tuple[Any, Any]]:
    return lambda: (_nearest(right), bound)


class Compared:
    """One array of floats beside the reference, as what is found of all entries at once.

    error  of the reference itself, beside its share of what rounding explains
    """

    def __init__(self, numbers: Numbers, right: Wide, error: Wide | None, given: np.ndarray, bound: Any, share: float) -> None:
        self.given, shape = given, given.shape
        if not given.size or not right.size:
            raise OutOfRange("no entries")
        epsilon = float(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else 0.0
        self.enough = 5 * 10.0 ** -ENOUGH.get(str(given.dtype), _FEW)
        value = numbers.array(given.astype(np.float64, copy=False))
        rounding = numbers.array(np.asarray(bound, np.float64))
        own = share * rounding if error is None else share * rounding + 4.0 * error
        self.right = right = viewed(right, shape)
        off: Any = np.abs(value.astype(np.longdouble) - right)
        off = off.rough()
        self.allowed = allowed = rounding + own
        nearest = value == (numbers.node("rough", shape, "single", (right.rough(),)) if given.dtype == np.float32 else right.rough())
        within = off <= allowed
        size: Any = np.abs(right)
        size = size.rough()
        relative = np.where(size > 0.0, off / size, np.where(off > 0.0, math.inf, 0.0))
        zero = within & ((size <= 1e-20 * allowed) | (size <= own)) & (value != 0.0)
        counted: Any = np.where(zero, 0.0, np.where(nearest, np.minimum(relative, epsilon), relative))
        right_enough = (within | nearest) & ~(own > np.maximum(rounding, _DOUBT * size)) & np.isfinite(right)
        # where one is not right enough, the smallest of these is zero, or nothing
        self.certain = viewed(right_enough, shape).min()
        self.farthest = viewed(off, shape).max()
        self.worst = numbers.node("pair", (1,) * len(shape), "place", (viewed(counted, shape),), tuple(range(len(shape))))
        known: Any = np.where(size > 1e-20 * allowed, allowed / size, 0.0)
        self.loosest = viewed(known, shape).max()
        self.nearest_double = right.rough()

    def targets(self) -> list[Wide]:
        return [self.certain, self.farthest, self.worst, self.loosest, self.nearest_double]

    def agrees(self) -> bool:
        return _number(self.certain) == 1 and _number(self.worst) <= self.enough

    def result(self) -> VariableCheck:
        size, relative = self.given.size, _number(self.worst)
        check = VariableCheck(Verdict.AGREE, _SOURCE, entries=(size, size))
        check.max_abs_error, check.max_rel_error = _number(self.farthest), relative
        check.digits = 17 if relative == 0 else min(17, int(math.log10(5 / relative)))
        _, low = self.worst.halves()
        flat = 0 if low is None else int(low.flat[0])
        place = tuple(int(p) for p in np.unravel_index(flat, self.given.shape)) if self.given.ndim else ()
        check.worst = Worst(place, float(self.given[place]), float(self.nearest_double.halves()[0][place]))
        loosest = _number(self.loosest)
        check.bound = None if math.isnan(loosest) or loosest <= SHOWN else loosest
        return check

    def for_claims(self) -> Callable[[], tuple[Any, Any]]:
        return lambda: (_nearest(self.right), viewed(self.allowed, self.given.shape).halves()[0])


def _nearest(x: Wide) -> Any:
    """In long double, or in double where that is no longer."""
    return np.asarray(x) if WIDER else x.halves()[0]


def _number(x: Wide) -> float:
    return float(x.halves()[0].flat[0])
