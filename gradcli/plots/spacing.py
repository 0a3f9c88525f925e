"""Numbers along a range: evenly spaced in decimals, and round ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

_SHORT = 12  # digits, beyond which other forms are shorter
_LARGEST = 64  # denominator of a fraction
_PARTS, _FURTHEST = (1, 2, 3, 4, 6, 8, 12), 1e4  # of pi, and how far from 0
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
    """The number between two, both included, that is written most shortly: in a few digits, as a fraction, or with pi."""
    if low <= 0 <= high:
        return 0.0
    for digits in range(1, 17):
        for number in (float(f"{low:.{digits}g}"), float(f"{high:.{digits}g}")):
            if low <= number <= high:
                return number
        if digits == _SHORT:
            for number in (*_fractions(low), *(k * math.pi / m for k, m in _turns(low))):
                if low <= number <= high:
                    return number
    return low


def _fractions(x: float) -> list[float]:
    return [round(x * q) / q for q in range(2, _LARGEST + 1)] if abs(x) < _LARGEST else []


def _turns(x: float) -> list[tuple[int, int]]:
    return [(round(x * m / math.pi), m) for m in _PARTS] if abs(x) < _FURTHEST else []


def in_words(x: float) -> str | None:
    """A float as the simple multiple of pi that it stands for: "-pi/2"; None for others."""
    for k, m in _turns(x):
        if k and k * math.pi / m == x:
            sign = "-" if k < 0 else ""
            return f"{sign}{'' if abs(k) == 1 else f'{abs(k)}*'}pi{'' if m == 1 else f'/{m}'}"
    return None


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
