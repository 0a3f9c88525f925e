"""A smooth function of one number at many, by polynomials: each holds on an interval, and is made of values at a few points there.

Intervals are halved until the polynomial tells the function to the last bits of long doubles, and the function keeps its size on it: so
small values have all their digits, too. Where few numbers are left, each is computed by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.reference.deadline import check as still_in_time

_POINTS = 20  # of an interval, and coefficients of its polynomial
_WORTH = 3 * _POINTS  # numbers in an interval for which a polynomial pays
_CHECKS = (-0.93, 0.11, 0.71)  # where a polynomial is held against the function
_STEADY = 4.0  # times that the largest value on an interval is larger than the smallest, at most
_NOTHING = 2.0**-61  # of the largest value: last coefficients
_CLOSE = 2.0**-59  # of the value: a polynomial's error
_LARGEST = 1e300

Values = Callable[[Any], Any]  # of long doubles, one by one


def tabulated(values: Values, x: Any) -> Any:
    """The function at all entries of a vector of long doubles; ``values`` is asked for few of them."""
    out = np.empty(x.shape, LONG_DOUBLE)
    plain = np.isfinite(x) & (np.abs(x) < _LARGEST)
    for special in np.unique(x[~plain]):  # all that is no number is one of these
        out[(x == special) | (np.isnan(x) & np.isnan(special))] = values(np.array([special], LONG_DOUBLE))[0]
    order = np.flatnonzero(plain)[np.argsort(x[plain], kind="stable")]
    numbers = x[order]
    found = np.empty(numbers.shape, LONG_DOUBLE)
    stack = [(float(numbers[0]), float(numbers[-1]), 0, numbers.size)] if numbers.size else []
    while stack:
        still_in_time()
        low, high, start, stop = stack.pop()
        part = numbers[start:stop]
        if stop - start < _WORTH:
            found[start:stop] = values(part)
            continue
        if part[0] == part[-1]:
            found[start:stop] = values(part[:1])[0]
            continue
        told = _on_interval(values, low, high, part)
        if told is None:
            middle = _middle(low, high)
            at = start + int(np.searchsorted(part, LONG_DOUBLE(middle)))
            stack += [(low, middle, start, at), (middle, high, at, stop)]
        else:
            found[start:stop] = told
    out[order] = found
    return out


def _middle(low: float, high: float) -> float:
    """Of an interval, or of the exponents of its ends where these are far apart."""
    if low > 0 and high > 16 * low:
        return math.sqrt(low) * math.sqrt(high)
    if high < 0 and low < 16 * high:
        return -math.sqrt(-low) * math.sqrt(-high)
    if low < 0 < high:
        return 0.0
    if low == 0 or high == 0:
        return (low + high) / 16
    return low + (high - low) / 2


def _on_interval(values: Values, low: float, high: float, x: Any) -> Any:
    """By a polynomial, None where it does not tell the function. Rounding of the ends is let in."""
    center, half = LONG_DOUBLE(low + (high - low) / 2), LONG_DOUBLE((high - low) / 2) * (1 + LONG_DOUBLE(2.0) ** -40)
    if low * high <= 0 and not low == high == 0 and max(abs(low), abs(high)) > 16 * half:
        return None
    nodes, transform = _chebyshev()
    known = values(center + half * np.concatenate([nodes, np.array(_CHECKS, LONG_DOUBLE)]))
    at, held = known[:_POINTS], known[_POINTS:]
    if np.all(np.isnan(known)):
        return np.full(x.shape, np.nan, LONG_DOUBLE)
    size = np.abs(known)
    if not np.all(np.isfinite(known)) or not 0 < size.max() <= _STEADY * size.min():
        return None
    coefficients = transform @ at
    if np.abs(coefficients[-3:]).max() > _NOTHING * size.max():
        return None
    if np.any(np.abs(_series(coefficients, np.array(_CHECKS, LONG_DOUBLE)) - held) > _CLOSE * np.abs(held)):
        return None
    return _series(coefficients, (x - center) / half)


def _series(coefficients: Any, t: Any) -> Any:
    """A sum of Chebyshev polynomials (C. W. Clenshaw, 1955)."""
    after, before = np.zeros(t.shape, LONG_DOUBLE), np.zeros(t.shape, LONG_DOUBLE)
    for c in coefficients[:0:-1]:
        after, before = c + 2 * t * after - before, after
    return coefficients[0] + t * after - before


@cache
def _chebyshev() -> tuple[Any, Any]:
    """The points on [-1, 1], and the matrix that makes coefficients of values there."""
    pi = LONG_DOUBLE("3.14159265358979323846264338327950288")
    angles = (np.arange(_POINTS, dtype=LONG_DOUBLE) + LONG_DOUBLE(0.5)) * pi / _POINTS
    transform = np.cos(np.arange(_POINTS, dtype=LONG_DOUBLE)[:, None] * angles) * LONG_DOUBLE(2) / _POINTS
    transform[0] /= 2
    return np.cos(angles), transform
