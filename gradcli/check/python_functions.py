"""Python functions that are no expression: their gradient against complex steps, or extrapolated differences with their error.

The complex step is exact to rounding where the function is analytic in its argument and written for complex numbers (W. Squire and
G. Trapp, SIAM Review 40, 1998); it is believed only where differences agree with it. Taylor's test needs no derivative of ours: the
remainder f(x + h d) - f(x) - h <g, d> shrinks with the square of h if g is the gradient, and with h if it is not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.check.extrapolation import slope
from gradcli.report.verdicts import Check, OneSided, VariableCheck, Verdict, Worst

_STEP = 1e-30  # of the complex step, relative
_MOST = 2_000  # entries that are differentiated one by one; beyond, a sample of them
_UNSURE = 100  # how far off an estimate that is no better than the tolerance a claim may be, in the estimate's own errors
_SLIGHT = 1e-9  # of the function's difference quotients: a slope that counts as none
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

    def verdict(self, said: float, rtol: float, atol: float) -> Verdict:
        """The verdict on a claimed derivative."""
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
        if none or self.error <= allowed:
            return Verdict.AGREE if off <= allowed + 4 * self.error else Verdict.MISMATCH
        possible = off <= allowed + _UNSURE * self.error or any(abs(said - v) <= _LIKE * max(abs(said), abs(v)) for v in self.others)
        return Verdict.UNDETERMINED if possible else Verdict.MISMATCH


def check_function(
    function: Callable[..., Any], gradient: Callable[..., Any], arguments: Sequence[Any], names: Sequence[str], rtol: float, atol: float,
    wrt: Sequence[str] | None = None,
) -> tuple[Check, float]:  # fmt: skip
    """The verdict on a gradient of a real function of arrays (one array or number for each argument), and the function's value.

    The gradient has one array for each name of ``wrt`` (every argument, if None), in that order, or by its name.
    """
    points = [np.asarray(a, float) for a in arguments]
    wrt = list(names) if wrt is None else wrt
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = _scalar(function(*_copies(points)))
        claimed = _claimed(gradient(*_copies(points)), dict(zip(names, points, strict=True)), wrt)
        variables = {}
        for name, said in claimed.items():
            variables[name] = _variable(function, points, names.index(name), said, rtol, atol)
        order = _taylor_order(function, points, {names.index(name): said for name, said in claimed.items()}, value)
    worst = max((v.verdict for v in variables.values()), default=Verdict.AGREE)
    reason = None if order is None else f"Taylor remainder of order {order:.2f} (2 if the gradient is right, 1 if not)"
    return Check(worst, variables, reason=reason), value


def _copies(points: Sequence[np.ndarray]) -> list[Any]:
    return [p.copy() if p.ndim else p[()] for p in points]


def _scalar(value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"the function must return one number, not an array of shape {array.shape}")
    return float(array.reshape(())[()].real)


def _claimed(result: Any, points: Mapping[str, np.ndarray], wrt: Sequence[str]) -> dict[str, np.ndarray]:
    """What a gradient says, by the names that it is by."""
    if isinstance(result, Mapping):
        missing, further = [name for name in wrt if name not in result], [name for name in result if name not in wrt]
        if missing or further:
            told = f"lacks '{missing[0]}'" if missing else f"has {further[0]!r}, which it is not by"
            raise ValueError(f"the gradient {told}; it must have {', '.join(wrt)}")
        parts = [result[name] for name in wrt]
    elif len(wrt) == 1:
        parts = list(result) if isinstance(result, tuple) and _shape(result) != points[wrt[0]].shape else [result]
    else:
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(parts) != len(wrt):
        each = "argument" if len(wrt) == len(points) else f"of {', '.join(wrt)}"
        wanted = "one array" if len(wrt) == 1 else f"{len(wrt)} arrays, one for each {each}"
        raise ValueError(f"the gradient must return {wanted}, not {len(parts)}")
    found = {}
    for name, part in zip(wrt, parts, strict=True):
        array = np.asarray(part, float)
        if array.shape != points[name].shape:
            raise ValueError(f"the gradient of '{name}' has the shape {array.shape}, its argument {points[name].shape}")
        found[name] = array
    return found


def _shape(parts: tuple[Any, ...]) -> tuple[int, ...] | None:
    try:
        return np.shape(parts)
    except ValueError:  # of different shapes
        return None


def _variable(
    function: Callable[..., Any], points: list[np.ndarray], place: int, claimed: np.ndarray, rtol: float, atol: float
) -> VariableCheck:
    size = claimed.size
    entries = range(size) if size <= _MOST else sorted(np.random.default_rng(0).choice(size, _MOST, replace=False).tolist())
    check = VariableCheck(Verdict.AGREE, entries=(len(entries), size))
    worst = -1.0
    for i in entries:
        said = float(claimed.reshape(-1)[i])
        estimate = _derivative(function, points, place, i)
        off = abs(said - estimate.value)
        verdict = estimate.verdict(said, rtol, atol)
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


def _derivative(function: Callable[..., Any], points: list[np.ndarray], place: int, i: int) -> Estimate:
    """The derivative by one entry: the complex step where it can be trusted, else differences."""

    def along(step: float) -> list[float]:
        moved = _copies(points)
        flat = np.array(points[place], float).reshape(-1)
        flat[i] += step
        moved[place] = flat.reshape(points[place].shape) if points[place].ndim else flat[0]
        try:
            return [_scalar(function(*moved))]
        except (ArithmeticError, ValueError):  # outside of the domain, as math.log says
            return [math.nan]

    stepped, unsure = _complex_step(function, points, place, i)
    found = slope(along, float(points[place].reshape(-1)[i]), float(np.finfo(float).eps), stepped)
    if found.sides is None and not found.noisy and abs(stepped - found.value) <= 10 * found.error + 1e-6 * abs(found.value):
        return Estimate(stepped, unsure, "complex step", found.variation)
    return Estimate(found.value, found.error, "differences", found.variation, found.sides, found.others)


def _complex_step(function: Callable[..., Any], points: list[np.ndarray], place: int, i: int) -> tuple[float, float]:
    """The derivative by a complex step and its error, which neighbours show; NaN if the function was not written for complex numbers."""
    moved: list[Any] = _copies(points)
    x = float(points[place].reshape(-1)[i])
    step = _STEP * (abs(x) or 1.0)
    slopes = []
    for near in (0, 1, -2, 3):
        flat = np.array(points[place], complex).reshape(-1)
        flat[i] += near * math.ulp(x) + 1j * step
        moved[place] = flat.reshape(points[place].shape) if points[place].ndim else complex(flat[0])
        try:
            result = np.asarray(function(*moved))
        except Exception:  # not for complex numbers
            return math.nan, math.inf
        if result.dtype.kind != "c" or result.size != 1:
            return math.nan, math.inf
        slopes.append(float(result.reshape(())[()].imag) / step)
    return slopes[0], 4e-15 * abs(slopes[0]) + 4 * (max(slopes) - min(slopes))


def _taylor_order(function: Callable[..., Any], points: list[np.ndarray], claimed: Mapping[int, np.ndarray], value: float) -> float | None:
    """The order at which the Taylor remainder vanishes, along the claimed arguments; None where rounding hides it."""
    random = np.random.default_rng(3)
    directions = [random.standard_normal(p.shape) * np.where(p == 0, 1.0, np.abs(p)) * (i in claimed) for i, p in enumerate(points)]
    slope = sum(float((said * directions[i]).sum()) for i, said in claimed.items())
    remainders = []
    for k in range(8):
        h = 0.01 * 0.5**k
        moved = [p + h * d if p.ndim else (p + h * d)[()] for p, d in zip(points, directions, strict=True)]
        remainders.append(abs(_scalar(function(*moved)) - value - h * slope))
    noise = 64 * np.finfo(float).eps * max(abs(value), abs(slope) * 0.01)
    orders = [math.log2(a / b) for a, b in pairwise(remainders) if b > noise and a > noise]
    return float(np.median(orders)) if len(orders) >= 3 else None
