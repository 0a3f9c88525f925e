"""The exponential of matrices in long double, with its derivatives: Taylor's series of a small part, squared again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.wholes.products import product, turned

_TERMS = 20  # of the series, for norms of at most 1/2
_MOST = 60  # squarings


def _halvings(x: Any) -> int:
    norm = float(np.abs(x).sum(axis=-1).max(initial=0))
    if not norm < 2.0**_MOST:
        raise NotCovered("the exponential of so large a matrix")
    return max(0, int(np.ceil(np.log2(max(norm, 2.0**-60)))) + 1)


def _series(x: Any, h: Any, k: Any) -> tuple[Any, Any, Any, Any]:
    """Of a matrix whose norm is at most 1/2."""
    eye, zero = np.eye(x.shape[-1], dtype=x.dtype), np.zeros(x.shape, x.dtype)
    e, by_h = np.broadcast_to(eye, x.shape), None if h is None else zero
    by_k = both = None if k is None else zero
    for i in range(_TERMS, 0, -1):
        if k is not None:
            both = (product(x, both) + product(h, by_k) + product(k, by_h)) / i
            by_k = (product(x, by_k) + product(k, e)) / i
        if h is not None:
            by_h = (product(x, by_h) + product(h, e)) / i
        e = eye + product(x, e) / i
    return e, by_h, by_k, both


def _parts(x: Any, h: Any = None, k: Any = None) -> tuple[Any, Any, Any, Any]:
    """exp(x), its derivatives in the directions h and k, and that in both; None for directions that are not asked for."""
    count = _halvings(x)
    scale = LONG_DOUBLE(2.0) ** -count
    x = x * scale
    h, k = (None if d is None else np.broadcast_to(d, np.broadcast_shapes(d.shape, x.shape)) * scale for d in (h, k))
    e, by_h, by_k, both = _series(x, h, k)
    for _ in range(count):
        if both is not None:
            both = product(e, both) + product(both, e) + product(by_h, by_k) + product(by_k, by_h)
        if by_k is not None:
            by_k = product(e, by_k) + product(by_k, e)
        if by_h is not None:
            by_h = product(e, by_h) + product(by_h, e)
        e = product(e, e)
    return e, by_h, by_k, both


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
