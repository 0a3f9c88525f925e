"""Numbers along a range: evenly spaced in decimals, and round ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

_SMALLEST = 1e-290  # differences that have round numbers between them


def evenly(begin: float, end: float, count: int, log: bool = False) -> np.ndarray:
    """So many numbers from one end to the other, both included; each the float next to the decimal number that is meant."""
    if count < 2 or begin == end:
        return np.array([begin] if count < 2 else [begin] * count, np.float64)
    if log:
        inner = np.exp(np.linspace(math.log(begin), math.log(end), count))
        inner[[0, -1]] = begin, end
        return inner
    low, high = Fraction(repr(begin)), Fraction(repr(end))
    step = (high - low) / (count - 1)
    return np.array([float(low + step * i) for i in range(count)])


def roundest(low: float, high: float) -> float:
    """The number between two, both included, that is written most shortly."""
    if low <= 0 <= high:
        return 0.0
    for digits in range(1, 17):
        for number in (float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= number <= high:
                return number
    return low


def levels(values: np.ndarray, count: int) -> list[float]:
    """Round numbers that cut values into parts of about the same size, so that contours are spread over the picture."""
    finite = np.sort(values[np.isfinite(values)])
    if not finite.size or finite[0] == finite[-1]:
        return []
    wanted = np.quantile(finite, (np.arange(count) + 0.5) / count)
    spread = float(finite[-1] - finite[0])
    if not _SMALLEST < spread < math.inf:
        return []
    found = []
    for number, beside in zip(wanted.tolist(), np.gradient(wanted).tolist() if count > 1 else [spread], strict=True):
        unit = 10.0 ** math.floor(math.log10(max(abs(beside), spread * 1e-9)))
        found.append(float(f"{round(number / unit) * unit:.12g}") + 0.0)
    return [level for level in dict.fromkeys(found) if finite[0] < level < finite[-1]]
