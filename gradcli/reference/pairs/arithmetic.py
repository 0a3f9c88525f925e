"""Sums of two doubles in NumPy: their arithmetic and comparisons, entry by entry, as pairs.h has them.

What leaves the range in which both doubles keep their bits becomes NaN, and stays so; what is called raw does not look.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Pair = tuple[Any, Any]
LARGE, _SMALL = 2.0**1000, 2.0**-960
_SPLIT = 2.0**27 + 1


def _two_sum(a: Any, b: Any) -> Pair:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _fast_two_sum(a: Any, b: Any) -> Pair:
    """Where a is no smaller than b."""
    s = a + b
    return s, b - (s - a)


def _cut(a: Any) -> Pair:
    """Two halves of a double's bits (T. J. Dekker, 1971), whose products are exact."""
    t = _SPLIT * a
    high = t - (t - a)
    return high, a - high


def two_prod(a: Any, b: Any) -> Pair:
    """A product and what its rounding has lost."""
    p = a * b
    (ah, al), (bh, bl) = _cut(a), _cut(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def kept_if(keep: Any, x: Pair) -> Pair:
    return np.where(keep, x[0], np.nan), np.where(keep, x[1], np.nan)


def either(holds: Any, x: Pair, y: Pair) -> Pair:
    return np.where(holds, x[0], y[0]), np.where(holds, x[1], y[1])


def in_range(x: Pair) -> Pair:
    size = np.abs(x[0])
    return kept_if((size <= LARGE) & ((size >= _SMALL) | (size == 0)), x)


def negated(a: Pair) -> Pair:
    return -a[0], -a[1]


def raw_add(a: Pair, b: Pair) -> Pair:
    s, t = _two_sum(a[0], b[0]), _two_sum(a[1], b[1])
    v = _fast_two_sum(s[0], s[1] + t[0])
    return _fast_two_sum(v[0], t[1] + v[1])


def raw_mul(a: Pair, b: Pair) -> Pair:
    p = two_prod(a[0], b[0])
    return _fast_two_sum(p[0], p[1] + (a[1] * b[0] + (a[0] * b[1] + a[1] * b[1])))


def raw_div(a: Pair, b: Pair) -> Pair:
    q = a[0] / b[0]
    p = two_prod(q, b[0])
    p = _fast_two_sum(p[0], q * b[1] + p[1])
    return _fast_two_sum(q, ((a[0] - p[0]) + (a[1] - p[1])) / b[0])


def scaled(a: Pair, by: Any) -> Pair:
    """Times a power of 2."""
    return a[0] * by, a[1] * by


def mul(a: Pair, b: Pair) -> Pair:
    p = raw_mul(a, b)
    size = np.abs(p[0])
    return kept_if((size <= LARGE) & ((size >= _SMALL) | (a[0] == 0) | (b[0] == 0)), p)


def div(a: Pair, b: Pair) -> Pair:
    q = raw_div(a, b)
    size = np.abs(q[0])
    return kept_if((size <= LARGE) & ((size >= _SMALL) | (a[0] == 0)), q)


def sqrt(a: Pair) -> Pair:
    s = np.sqrt(a[0])
    p = two_prod(s, s)
    rest = ((a[0] - p[0]) - p[1]) + a[1]
    return in_range(_fast_two_sum(s, rest / np.where(a[0] == 0, 1.0, 2 * s)))


def absolute(a: Pair) -> Pair:
    return either(a[0] < 0, negated(a), a)


def floor(a: Pair) -> Pair:
    down = np.floor(a[0])
    return _fast_two_sum(down, np.where(down == a[0], np.floor(a[1]), 0.0))


def ceil(a: Pair) -> Pair:
    return negated(floor(negated(a)))


def is_less(a: Pair, b: Pair) -> Any:
    return (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))


def is_same(a: Pair, b: Pair) -> Any:
    return (a[0] == b[0]) & (a[1] == b[1])


def truth(holds: Any, a: Pair, b: Pair) -> Pair:
    return np.where((a[0] == a[0]) & (b[0] == b[0]), holds, np.nan), 0.0


def larger(a: Pair, b: Pair) -> Pair:
    return either((a[0] != a[0]) | is_less(b, a), a, b)


def smaller(a: Pair, b: Pair) -> Pair:
    return either((a[0] != a[0]) | is_less(a, b), a, b)
