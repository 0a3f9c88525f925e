"""Python functions that are no expression: their gradient against complex steps, or extrapolated differences with their error.

The complex step is exact to rounding where the function is analytic in its argument and written for complex numbers (W. Squire and
G. Trapp, SIAM Review 40, 1998); it is believed only where differences agree with it. Taylor's test needs no derivative of ours: the
remainder f(x + h d) - f(x) - h <g, d> shrinks with the square of h if g is the gradient, and with h if it is not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.check.differences import ridders
from gradcli.report.verdicts import Check, VariableCheck, Verdict, Worst

_STEP = 1e-200
_MOST = 2_000  # entries that are differentiated one by one; beyond, directions
_SURE = 1e-6  # relative error of an estimate beyond which it decides nothing


@dataclass(eq=False)
class Estimate:
    """A derivative from outside: its value, its error, and where it comes from."""

    value: float
    error: float
    source: str


def check_function(
    function: Callable[..., Any], gradient: Callable[..., Any], arguments: Sequence[Any], names: Sequence[str], rtol: float, atol: float
) -> tuple[Check, float]:
    """The verdict on a gradient of a real function of arrays (one array or number for each argument), and the function's value."""
    points = [np.asarray(a, float) for a in arguments]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = _scalar(function(*_copies(points)))
        claimed = _claimed(gradient(*_copies(points)), points)
        variables = {}
        for place, name in enumerate(names):
            variables[name] = _variable(function, points, place, claimed[place], rtol, atol)
        order = _taylor_order(function, points, claimed, value)
    worst = max((v.verdict for v in variables.values()), default=Verdict.AGREE)
    reason = None if order is None else f"Taylor remainder of order {order:.2f} (2 if the gradient is right, 1 if not)"
    if worst is Verdict.UNDETERMINED and order is not None and order < 1.25:
        worst = Verdict.MISMATCH
    return Check(worst, variables, reason=reason), value


def _copies(points: Sequence[np.ndarray]) -> list[Any]:
    return [p.copy() if p.ndim else p[()] for p in points]


def _scalar(value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"the function must return one number, not an array of shape {array.shape}")
    return float(array.reshape(())[()].real)


def _claimed(result: Any, points: Sequence[np.ndarray]) -> list[np.ndarray]:
    parts = list(result) if isinstance(result, (tuple, list)) and len(points) > 1 else [result]
    if len(parts) != len(points):
        raise ValueError(f"the gradient must return {len(points)} arrays, one for each argument, not {len(parts)}")
    found = []
    for part, point in zip(parts, points, strict=True):
        array = np.asarray(part, float)
        if array.shape != point.shape:
            raise ValueError(f"the gradient has the shape {array.shape}, its argument {point.shape}")
        found.append(array)
    return found


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
        allowed = rtol * abs(estimate.value) + atol + 4 * estimate.error
        sure = estimate.error <= _SURE * max(abs(estimate.value), abs(said)) or estimate.error <= atol
        verdict = Verdict.AGREE if off <= allowed and sure else Verdict.MISMATCH if off > allowed else Verdict.UNDETERMINED
        if not math.isfinite(estimate.value):
            verdict = Verdict.UNDETERMINED
        check.decided_by = estimate.source if check.decided_by in (None, estimate.source) else "complex step and differences"
        check.wrong += verdict is Verdict.MISMATCH
        relative = off / (abs(estimate.value) or 1e-300)
        if verdict > check.verdict or (verdict is check.verdict and relative > worst):
            index = tuple(int(p) for p in np.unravel_index(i, claimed.shape)) if claimed.ndim else ()
            check.worst, worst = Worst(index, said, estimate.value), relative
            if verdict is Verdict.UNDETERMINED:
                check.reason = f"differences are good to {estimate.error:.1g} only"
            elif verdict is Verdict.MISMATCH:
                check.reason = f"by {estimate.source}, good to {estimate.error:.1g}"
        check.verdict = max(check.verdict, verdict)
    return check


def _derivative(function: Callable[..., Any], points: list[np.ndarray], place: int, i: int) -> Estimate:
    """The derivative by one entry: the complex step where it can be trusted, else differences."""

    def along(step: float) -> float:
        moved = _copies(points)
        flat = np.array(points[place], float).reshape(-1)
        flat[i] += step
        moved[place] = flat.reshape(points[place].shape) if points[place].ndim else flat[0]
        return _scalar(function(*moved))

    x = float(points[place].reshape(-1)[i])
    value, error = ridders(along, max(abs(x), 1e-3) if x else 1.0, float(np.finfo(float).eps))
    stepped = _complex_step(function, points, place, i)
    if stepped is not None and abs(stepped - value) <= 10 * error + 1e-6 * abs(value):
        return Estimate(stepped, 4e-15 * abs(stepped), "complex step")
    return Estimate(value, error, "differences")


def _complex_step(function: Callable[..., Any], points: list[np.ndarray], place: int, i: int) -> float | None:
    moved: list[Any] = _copies(points)
    flat = np.array(points[place], complex).reshape(-1)
    flat[i] += 1j * _STEP
    moved[place] = flat.reshape(points[place].shape) if points[place].ndim else complex(flat[0])
    try:
        result = np.asarray(function(*moved))
        if result.dtype.kind != "c" or result.size != 1:
            return None
        slope = float(result.reshape(())[()].imag) / _STEP
    except Exception:  # the function was not written for complex numbers
        return None
    return slope if math.isfinite(slope) else None


def _taylor_order(function: Callable[..., Any], points: list[np.ndarray], claimed: list[np.ndarray], value: float) -> float | None:
    """The order at which the Taylor remainder vanishes; None where rounding hides it."""
    random = np.random.default_rng(3)
    directions = [random.standard_normal(p.shape) * np.where(p == 0, 1.0, np.abs(p)) for p in points]
    slope = sum(float((g * d).sum()) for g, d in zip(claimed, directions, strict=True))
    remainders = []
    for k in range(8):
        h = 0.01 * 0.5**k
        moved = [p + h * d if p.ndim else (p + h * d)[()] for p, d in zip(points, directions, strict=True)]
        remainders.append(abs(_scalar(function(*moved)) - value - h * slope))
    noise = 64 * np.finfo(float).eps * max(abs(value), abs(slope) * 0.01)
    orders = [math.log2(a / b) for a, b in pairwise(remainders) if b > noise and a > noise]
    return float(np.median(orders)) if len(orders) >= 3 else None
