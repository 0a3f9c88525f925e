"""x*y + z rounded once, as processors and PyTorch's loops do it, where NumPy has no such function."""

from __future__ import annotations

from typing import Any

import numpy as np

_SPLIT = 2.0**27 + 1


def fused(x: Any, y: Any, z: Any) -> Any:
    """x*y + z in float64, rounded once; rounded twice where a part overflows.

    The product and the sum are taken apart into floats and what rounding left of them (T. J. Dekker, 1971). Of the three parts, the
    smaller two are added with rounding to odd, after which the last addition rounds as if all had been exact (S. Boldo, G. Melquiond,
    Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008).
    """
    x, y, z = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (x, y, z)))
    with np.errstate(all="ignore"):
        product, left = _product(x, y)
        middle, low = _sum(z, left)
        total, rest = _sum(product, middle)
        odd, lost = _sum(rest, low)
        even = (odd.view(np.int64) & 1) == 0
        odd = np.where(even & (lost != 0), np.nextafter(odd, np.where(lost > 0, np.inf, -np.inf)), odd)
        result = total + odd
        return np.where(np.isfinite(result), result, x * y + z)


def _sum(x: Any, y: Any) -> tuple[Any, Any]:
    """A sum, and what rounding left of it."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """A product, and what rounding left of it."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    """A float as a sum of two of 26 bits."""
    high = _SPLIT * x
    high = high - (high - x)
    return high, x - high
