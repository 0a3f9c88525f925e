"""Products of matrices in long double; large ones by BLAS, on slices of the factors whose products are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas

_LOST = 2.0**9  # by how much a term of the second slices must be above the units of doubles, to count in those of long doubles
_RANGE = 300  # of exponents within which no product of slices is lost beneath the normal numbers, nor too large
_MANY, _AT_ONCE = 0.25, 1000  # entries that are added up by themselves: of all, and in one step
_PAIRED = 4  # multiplications in long double that take as long as to take an entry apart, or to put a result together


def product(x: Any, y: Any) -> Any:
    """x @ y of matrices, batch axes before them, as well as long doubles have it: off by no more than sums of products are."""
    if x.dtype == y.dtype == np.float64:
        return np.matmul(x, y)
    (m, n), p = x.shape[-2:], y.shape[-1]
    if m * n * p > _PAIRED * (m * n + n * p + m * p):
        found = _in_slices(x, y)
        if found is not None:
            return found
    return np.matmul(x, y)


def _in_slices(x: Any, y: Any) -> Any:
    """A product by slices of which the first are multiplied without an error in doubles (K. Ozaki and others, 2012); BLAS does all.

    What the others are rounded by is a unit of the smaller ones, which is less than long doubles' own of all terms of a sum, unless a
    few entries are far above the others: what these leave too little of is added up by itself, or nothing is, and the result is None.
    """
    bits = (53 - math.ceil(math.log2(x.shape[-1]))) // 2 if x.shape[-1] > 1 else 26
    left, right = _sliced(x, -1, bits), _sliced(y, -2, bits)
    if left is None or right is None:
        return None
    (first_x, rest_x, whole_x, largest_x), (first_y, rest_y, whole_y, largest_y) = left, right
    sizes = np.abs(whole_x), np.abs(whole_y)
    above = sizes[0].sum(axis=-1, keepdims=True) * largest_y + largest_x * sizes[1].sum(axis=-2, keepdims=True)
    terms = np.matmul(*sizes)
    lost = (terms * 2.0**bits < _LOST * above) & (terms > 0)
    if lost.any() and (lost.ndim > 2 or lost.mean() > _MANY):
        return None
    found = np.matmul(first_x, first_y).astype(LONG_DOUBLE) + (np.matmul(first_x, rest_y) + np.matmul(rest_x, whole_y))
    places = np.nonzero(lost)
    for start in range(0, len(places[0]), _AT_ONCE):
        i, j = (axis[start : start + _AT_ONCE] for axis in places)
        found[i, j] = (x[i] * y[:, j].T).sum(axis=-1)
    return found


def _sliced(x: Any, axis: int, bits: int) -> tuple[Any, Any, Any, Any] | None:
    """The first bits of each entry, the rest, the entry as a double, and a bound of its line; None where doubles do not hold products."""
    whole = x.astype(np.float64)
    size = np.abs(whole)
    largest = size.max(axis=axis, keepdims=True)
    if not largest.max(initial=0) < 2.0**_RANGE or not size.min(initial=np.inf, where=size > 0) > 2.0**-_RANGE:
        return None
    largest = np.ldexp(1.0, np.frexp(largest)[1])
    # added to numbers so large, others leave what is no smaller than their last bit
    shift = largest * (1.5 * 2.0 ** (52 - bits))
    first = whole + shift - shift
    return first, (x - first).astype(np.float64), whole, largest


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _as_matrices(x: Any, y: Any) -> tuple[Any, Any]:
    """A vector before the @ is a row, one behind it a column."""
    return (x if x.ndim > 1 else x[None, :]), (y if y.ndim > 1 else y[:, None])


def _matmul(x: Any, y: Any) -> Any:
    found = product(*_as_matrices(x, y))
    found = found if y.ndim > 1 else found[..., 0]
    return found if x.ndim > 1 else found[..., 0, :] if y.ndim > 1 else found[..., 0]


def _matmul_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    rows, columns = _as_matrices(x, y)
    c = c if y.ndim > 1 else c[..., None]
    c = c if x.ndim > 1 else c[..., None, :]
    by_x, by_y = product(c, turned(columns)), product(turned(rows), c)
    return by_x if x.ndim > 1 else by_x[..., 0, :], by_y if y.ndim > 1 else by_y[..., 0]


def _flows(live: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Something flows to what is multiplied by anything."""
    ones = np.broadcast_to(1.0, x.shape), np.broadcast_to(1.0, y.shape)
    live = np.asarray(live, np.float64)
    return ones if np.all(live) else _matmul_back(live, out, *ones)


MATMUL = Formulas(_matmul, _matmul_back, _flows)
