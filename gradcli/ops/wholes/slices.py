"""Products of matrices, each the sum of two arrays of doubles, by BLAS: the largest parts of their entries without an error."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE

_LOST = 2.0**9  # by how much a term of the second slices must be above the units of doubles, to count in those of long doubles
_RANGE = 300  # of exponents within which no product of slices is lost beneath the normal numbers, nor too large

Doubles = tuple[np.ndarray, np.ndarray]  # of which the entries are the sums


class Slices(NamedTuple):
    """Doubles that add up to entries: the first of so few bits that sums of products of these are exact.

    largest  no less than the entries of a line are
    bits     of the first
    """

    first: np.ndarray
    rest: np.ndarray
    whole: np.ndarray
    largest: np.ndarray
    bits: int


def in_slices(x: Doubles, y: Doubles) -> Doubles | None:
    """A product by slices of which the first are multiplied without an error in doubles (K. Ozaki and others, 2012); BLAS does all.

    What the others are rounded by is a unit of the smaller ones, which is less than long doubles' own of all terms of a sum, unless a
    few entries are far above the others: what these leave too little of is added up by itself, or nothing is, and the result is None.
    """
    left, right = _sliced(*x, -1), _sliced(*y, -2)
    if left is None or right is None:
        return None
    sizes = np.abs(left.whole), np.abs(right.whole)
    terms = np.matmul(*sizes)
    above = sizes[0].sum(axis=-1, keepdims=True) * right.largest + left.largest * sizes[1].sum(axis=-2, keepdims=True)
    lost = terms * 2.0**left.bits < _LOST * above
    if lost.any() and (lost.mean() > 0.1 or terms.ndim > 2):
        return None
    total = np.matmul(left.first, right.first)
    rest = np.matmul(left.first, right.rest) + np.matmul(left.rest, right.whole)
    found = total + rest
    back = found - total
    low = (total - (found - back)) + (rest - back)
    if lost.any():
        _one_by_one(x, y, lost, found, low)
    return found, low


def _one_by_one(x: Doubles, y: Doubles, lost: np.ndarray, high: np.ndarray, low: np.ndarray) -> None:
    """Put some entries of a product right, in long double."""
    rows, columns = np.nonzero(lost)
    for start in range(0, len(rows), 1000):
        i, j = rows[start : start + 1000], columns[start : start + 1000]
        terms = (x[0][i].astype(LONG_DOUBLE) + x[1][i]) * (y[0][:, j].astype(LONG_DOUBLE) + y[1][:, j]).T
        total = terms.sum(axis=-1)
        high[i, j] = total.astype(np.float64)
        low[i, j] = (total - high[i, j]).astype(np.float64)


def _sliced(whole: np.ndarray, low: np.ndarray, axis: int) -> Slices | None:
    """The entries of lines that are added up; None where doubles do not hold their products."""
    size = np.abs(whole)
    largest = size.max(axis=axis, keepdims=True)
    top, least = largest.max(initial=0), size.min(initial=np.inf, where=size > 0)
    if not top < 2.0**_RANGE or not least > 2.0**-_RANGE:
        return None
    n = whole.shape[axis]
    bits = (53 - math.ceil(math.log2(n))) // 2 if n > 1 else 26
    largest = np.ldexp(1.0, np.frexp(largest)[1])
    # added to numbers so large, others leave what is no smaller than their last bit
    shift = largest * (1.5 * 2.0 ** (52 - bits))
    first = whole + shift
    first -= shift
    return Slices(first, whole - first + low, whole, largest, bits)
