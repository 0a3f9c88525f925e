"""The exponential of matrices in long double, with its derivatives: Taylor's series of a small part, squared again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

_ROWS, _COLUMNS = 4, 5  # of the series' terms, for norms of at most 1/2: the last is x**19/19!
_MOST = 60  # squarings


def _halvings(x: Any) -> int:
    norm = float(np.abs(x).sum(axis=-1).max(initial=0))
    if not norm < 2.0**_MOST:
        raise NotCovered("the exponential of so large a matrix")
    return max(0, int(np.ceil(np.log2(max(norm, 2.0**-60)))) + 1)


# A matrix with its derivatives in two directions, and in both; None for directions that are not asked for.
Parts = tuple[Any, Any, Any, Any]


def _times(x: Parts, y: Parts) -> Parts:
    """The product, and its derivatives by the rule of products."""
    (a, a_h, a_k, a_both), (b, b_h, b_k, b_both) = x, y
    by_h = None if a_h is None else product(a_h, b) + product(a, b_h)
    by_k = None if a_k is None else product(a_k, b) + product(a, b_k)
    both = None if a_both is None else product(a_both, b) + product(a, b_both) + product(a_h, b_k) + product(a_k, b_h)
    return product(a, b), by_h, by_k, both


def _plus(x: Parts, y: Parts, factor: Any) -> Parts:
    a, b, c, d = (p if p is None else p + factor * q for p, q in zip(x, y, strict=True))
    return a, b, c, d


def _series(x: Any, h: Any, k: Any) -> Parts:
    """Of a matrix whose norm is at most 1/2: rows of few powers, and Horner's rule for the rows (M. Paterson and L. Stockmeyer, 1973)."""
    zero = np.zeros(x.shape, x.dtype)
    none = None if h is None else zero, None if k is None else zero, None if k is None else zero
    one: Parts = (np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), *none)
    powers: list[Parts] = [one, (x, h, k, none[2])]
    while len(powers) <= _COLUMNS:
        powers.append(_times(powers[-1], powers[1]))
    factors, total = _factors(x.dtype), (zero, *none)
    for row in reversed(range(_ROWS)):
        total = _times(total, powers[_COLUMNS]) if row < _ROWS - 1 else total
        for power, factor in zip(powers, factors[row * _COLUMNS : (row + 1) * _COLUMNS], strict=False):
            total = _plus(total, power, factor)
    return total


def _factors(dtype: Any) -> Any:
    """1/n!"""
    return 1 / np.multiply.accumulate(np.maximum(np.arange(_ROWS * _COLUMNS, dtype=dtype), 1))


def _parts(x: Any, h: Any = None, k: Any = None) -> tuple[Any, Any, Any, Any]:
    """exp(x), its derivatives in the directions h and k, and that in both; None for directions that are not asked for."""
    count = _halvings(x)
    scale = LONG_DOUBLE(2.0) ** -count
    x = x * scale
    h, k = (None if d is None else np.broadcast_to(d, np.broadcast_shapes(d.shape, x.shape)) * scale for d in (h, k))
    found = _series(x, h, k)
    for _ in range(count):
        found = _times(found, found)
    return found


def _bounds(x: Any, h: Any, k: Any = None) -> tuple[Any, Any]:
    """How far rounding may take the derivatives in the direction h, and in both, in units of a product's rounding; h and k are sizes.

    Of the series by the sizes of its terms; a square's error is made of that of its factor, and of its own.
    """
    count = _halvings(x)
    scale = 2.0**-count
    shape = np.broadcast_shapes(x.shape, h.shape)
    small = np.broadcast_to(np.abs(x), shape) * scale
    e, by_h, by_k, both = (None if p is None else np.abs(p) for p in _series(small, h * scale, None if k is None else k * scale))
    off_e, off_h, off_k, off_both = e, by_h, by_k, both
    value = np.broadcast_to(x, shape) * scale
    exact = _series(value, h * 0, None)[0]
    for _ in range(count):
        size = np.abs(exact)
        if both is not None:
            off_both = _twice(size, off_both) + _twice(off_e, both) + _twice(off_h, by_k) + _twice(by_h, off_k)
            both = _twice(size, both) + _twice(by_h, by_k)
            off_both = off_both + both
            off_k = _twice(size, off_k) + _twice(off_e, by_k)
            by_k = _twice(size, by_k)
            off_k = off_k + by_k
        off_h = _twice(size, off_h) + _twice(off_e, by_h)
        by_h = _twice(size, by_h)
        off_h = off_h + by_h
        off_e = _twice(size, off_e) + product(size, size)
        exact = product(exact, exact)
    return off_h, off_both


def _twice(x: Any, y: Any) -> Any:
    return product(x, y) + product(y, x)


MATRIX_EXP = Formulas(
    lambda x: _parts(x)[0],
    lambda c, out, x: (_parts(turned(x), c)[1],),
    lambda c, out, x: (_bounds(turned(x), c)[0],),
)


def _slope_back(c: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    """The second derivative is symmetric, and the transpose of all factors in the other order."""
    _, by_h, _, both = _parts(turned(x), c, turned(np.broadcast_to(h, out.shape)))
    return both, by_h


def _slope_sizes(c: Any, out: Any, x: Any, h: Any) -> tuple[Any, Any]:
    off_h, off_both = _bounds(turned(x), c, turned(np.abs(np.broadcast_to(h, out.shape))))
    return off_both, off_h


MATRIX_EXP_SLOPE = Formulas(lambda x, h: _parts(x, h)[1], _slope_back, _slope_sizes)
