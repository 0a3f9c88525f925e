"""Derivatives of functions that cannot be traced: complex steps, or extrapolated differences with their error.

The complex step is exact to rounding where the function is analytic in its argument and written for complex numbers (W. Squire and
G. Trapp, SIAM Review 40, 1998); it is believed only where differences agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.extrapolation import slope
from gradcli.functions.precision import epsilon_of
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import Subject, parts_of
from gradcli.report.verdicts import OneSided, VariableCheck, Verdict, Worst

_STEP = 1e-30  # of the complex step, relative
_MOST = 2_000  # entries that are differentiated one by one; beyond, a sample of them
_UNSURE = 100  # how far off an estimate that is no better than the tolerance a claim may be, in the estimate's own errors
_SLIGHT = 1e-9  # of the function's difference quotients: a slope that counts as none
_LOST = 1e-12  # of the largest entry of a claim: entries that count as none where the estimate says none
_LIKE = 1e-3  # how near to another possible derivative


@dataclass(eq=False)
class Estimate:
    """A derivative from outside: its value, its error, and where it comes from; at a kink, the derivatives from both sides."""

    value: float
    error: float
    source: str
    size: float = 0.0  # of the function's difference quotients, which a slope of zero is small beside
    sides: tuple[float, float] | None = None
    others: tuple[float, ...] = ()  # other derivatives that cannot be excluded

    def verdict(self, said: float, rtol: float, atol: float, largest: float = 0.0) -> Verdict:
        """The verdict on a claimed derivative, which is an entry of a gradient with this largest one."""
        if not math.isfinite(self.value):
            return Verdict.UNDETERMINED
        if not math.isfinite(said):
            return Verdict.MISMATCH
        allowed = rtol * abs(self.value) + atol
        if self.sides is not None:
            low, high = sorted(self.sides)
            room = rtol * max(abs(low), abs(high)) + atol
            return Verdict.KINK if low - room <= said <= high + room else Verdict.MISMATCH
        off = abs(said - self.value)
        none = said == self.value == 0 or (said == 0 and off <= 4 * self.error <= _SLIGHT * self.size)
        none |= max(abs(said), off) <= 4 * self.error <= _LOST * largest
        if none or self.error <= allowed:
            return Verdict.AGREE if off <= allowed + 4 * self.error else Verdict.MISMATCH
        possible = off <= allowed + _UNSURE * self.error or any(abs(said - v) <= _LIKE * max(abs(said), abs(v)) for v in self.others)
        return Verdict.UNDETERMINED if possible else Verdict.MISMATCH


def by_differences(subject: Subject, name: str, seeds: Seeds, claimed: np.ndarray, rtol: float, atol: float) -> VariableCheck:
    """The verdict on a claimed gradient by one of the arrays of a function's arguments."""
    return held(claimed, lambda i: derivative(subject, name, seeds, i), rtol, atol)


def held(claimed: np.ndarray, estimate_of: Callable[[int], Estimate], rtol: float, atol: float) -> VariableCheck:
    """The verdict on claimed derivatives, each held to its estimate; of very many, a sample."""
    size = claimed.size
    entries: Sequence[int] = range(size)
    if size > _MOST:
        entries = sorted(np.random.default_rng(0).choice(size, _MOST, replace=False).tolist())
    check = VariableCheck(Verdict.AGREE, entries=(len(entries), size))
    worst, largest = -1.0, float(np.abs(claimed[np.isfinite(claimed)]).max(initial=0.0))
    for i in entries:
        said = float(claimed.reshape(-1)[i])
        estimate = estimate_of(i)
        off = abs(said - estimate.value)
        verdict = estimate.verdict(said, rtol, atol, largest)
        check.decided_by = estimate.source if check.decided_by in (None, estimate.source) else "complex step and differences"
        check.wrong += verdict is Verdict.MISMATCH
        relative = off / (abs(estimate.value) or 1e-300)
        if verdict > check.verdict or (verdict is check.verdict and relative > worst):
            index = tuple(int(p) for p in np.unravel_index(i, claimed.shape)) if claimed.ndim else ()
            check.worst, worst = Worst(index, said, estimate.value), relative
            if verdict is Verdict.UNDETERMINED:
                check.reason = f"differences are good to {estimate.error:.1g} only"
            elif verdict is Verdict.KINK and estimate.sides is not None:
                check.kinks = [OneSided(index, *estimate.sides, said, "claimed")]
            elif verdict is Verdict.MISMATCH:
                check.reason = f"by {estimate.source}, good to {estimate.error:.1g}"
        check.verdict = max(check.verdict, verdict)
    return check


def derivative(subject: Subject, name: str, seeds: Seeds, i: int) -> Estimate:
    """The derivative by one entry: the complex step where it can be trusted, else differences."""
    array = subject.floats[name]
    epsilon = epsilon_of(array.dtype)

    def along(step: float) -> list[float]:
        return subject.along(seeds, {name: _moved(array, i, step)})

    stepped, unsure = _complex_step(subject, name, seeds, i)
    found = slope(along, float(array.reshape(-1)[i]), epsilon, stepped)
    if found.sides is None and not found.noisy and abs(stepped - found.value) <= 10 * found.error + 1e-6 * abs(found.value):
        return Estimate(stepped, unsure, "complex step", found.variation)
    return Estimate(found.value, found.error, "differences", found.variation, found.sides, found.others)


def _moved(array: np.ndarray, i: int, step: Any) -> np.ndarray:
    moved = np.array(array, complex if isinstance(step, complex) else array.dtype)
    moved.reshape(-1)[i] += step
    return moved


def _complex_step(subject: Subject, name: str, seeds: Seeds, i: int) -> tuple[float, float]:
    """The derivative by a complex step and its error, which neighbours show; NaN if the function was not written for complex numbers."""
    array = subject.floats[name]
    if array.dtype != np.float64:
        return math.nan, math.inf
    x = float(array.reshape(-1)[i])
    step = _STEP * abs(x) or _STEP  # which may be too small for a float
    slopes = []
    for near in (0, 1, -2, 3):
        moved = _moved(array, i, near * math.ulp(x) + 1j * step)
        try:
            parts = [np.asarray(part) for part in parts_of(subject({name: moved}, _complex, whole=True))]
        except Exception:  # not for complex numbers
            return math.nan, math.inf
        if [part.shape for part in parts] != [seed.shape for seed in seeds] or any(part.dtype.kind != "c" for part in parts):
            return math.nan, math.inf
        slopes.append(sum(float((part.imag * seed).sum()) for part, seed in zip(parts, seeds, strict=True)) / step)
    return slopes[0], 4e-15 * abs(slopes[0]) + 4 * (max(slopes) - min(slopes))


def _complex(name: str, value: object, numbers: np.ndarray) -> object:
    if numbers.dtype.kind != "c":
        return numbers.copy() if numbers.ndim else numbers[()]
    return numbers.copy() if numbers.ndim else complex(numbers[()])
