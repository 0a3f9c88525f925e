"""Limits of derivatives and values from one side of a point, as samples nearer and nearer to it show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

STEPS = (-60, -90)  # powers of ten, relative to the entry
_MORE = (-30, -60, -90, -120)  # where two samples show nothing
_TINY = 1e-4  # below, what shrinks tends to zero
_LASTING = 0.9  # of a difference of samples: the next one, where they grow without bounds
_ALIKE = 12  # digits to which two extrapolations are one

Sampled = Callable[[int], tuple[np.ndarray, np.ndarray]]


class Side(NamedTuple):
    """Limits of derivatives and values from one side; NaN where there are none, or none that are seen.

    values      the limits of the values
    continuous  whether these are the values at the point
    outside     whether there are no values on this side
    open        whether a derivative may be there that the samples do not show
    """

    slopes: list[Any]
    values: list[Any]
    continuous: bool
    outside: bool
    open: bool = False


def from_one_side(m: Any, sampled: Sampled, value: Sequence[Any], size: Any) -> Side:
    """One side of a point: ``sampled`` takes a power of ten, and gives derivatives and values at that distance.

    size  what distances are relative to, with the side's sign, where the derivatives are those of one value: then derivatives are
          taken from their definition where they tend to nothing themselves; else None
    """
    steps: Sequence[int] = STEPS
    samples = [sampled(step) for step in steps]
    slopes, values = (_tended(m, column) for column in zip(*samples, strict=True))
    if any(limit is None or not m.isfinite(limit) for limit in (*slopes, *values)):
        steps = _MORE
        known = dict(zip(STEPS, samples, strict=True))
        samples = [known[step] if step in known else sampled(step) for step in steps]
        slopes, values = (_tended(m, column) for column in zip(*samples, strict=True))
    last = np.ravel(samples[-1][1])
    outside = any(v != v for v in last)
    continuous = not outside and all(v is not None and is_same(m, v, at) for v, at in zip(values, value, strict=True))
    if size is not None and not outside and (slopes[0] is None or not m.isfinite(slopes[0])):
        base = value[0] if continuous else last[0]
        if m.isfinite(base):
            kept = list(zip(steps, samples, strict=True))[: None if continuous else -1]
            defined = _limit(m, [(np.ravel(v)[0] - base) / (size * m.mpf(10) ** step) for step, (_, v) in kept])
            slopes = [slopes[0] if defined is None or defined != defined else defined]
    is_open = any(limit is None for limit in slopes)
    return Side([m.nan if v is None else v for v in slopes], [m.nan if v is None else v for v in values], continuous, outside, is_open)


def is_same(m: Any, x: Any, y: Any) -> bool:
    """Tell whether two values are one: a function that differs by less does not jump."""
    return bool(x == y or (m.isfinite(x) and m.isfinite(y) and abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y))))


def is_close(m: Any, x: Any, y: Any) -> bool:
    """Tell whether two derivatives are one."""
    return bool(abs(x - y) <= m.mpf(10) ** -15 * max(abs(x), abs(y)) + m.mpf(10) ** -25)


def _tended(m: Any, arrays: Sequence[Any]) -> list[Any]:
    return [_limit(m, row) for row in zip(*map(np.ravel, arrays), strict=True)]


def _limit(m: Any, samples: Sequence[Any]) -> Any:
    """The limit of samples: a number, an infinity, NaN where they wander, or None where a limit is not seen."""
    before, last = samples[-2:]
    if any(x != x for x in (before, last)):
        return m.nan
    if before == last or not m.isfinite(last):
        return last
    if abs(last) <= abs(before) / 10 and abs(last) < _TINY:
        return m.zero
    if is_close(m, before, last):
        return last if abs(before - last) <= m.mpf(10) ** -15 * abs(last) else m.zero  # what is left of terms that cancel
    if len(samples) < len(_MORE) - 1 or not all(map(m.isfinite, samples)):
        return None
    changes = [b - a for a, b in pairwise(samples)]
    if any(change * changes[-1] <= 0 for change in changes):
        return m.nan
    if all(abs(b) >= _LASTING * abs(a) for a, b in pairwise(changes)) and abs(last) > abs(before):
        return m.inf * m.sign(last)
    ends = [b - y * y / (y - x) for b, x, y in zip(samples[2:], changes, changes[1:], strict=False) if x != y]  # A. C. Aitken's
    known = len(ends) > 1 and abs(ends[-1] - ends[-2]) <= m.mpf(10) ** -_ALIKE * max(map(abs, ends))
    return ends[-1] if known else None
