"""Propagation of operands' errors into results.

These are forms that records share in `Op.carries`, each a true bound for errors of any size. ``m``
offers NumPy's functions and the operation. Errors are 0.0 if an operand is exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.writing import Shape, axes_of


def is_exact(error: Any) -> bool:
    """Return whether an operand is exact in all its entries."""
    return type(error) is float and error == 0


def steady(m: Any, out: Any, x: Any, error: Any, **_: Any) -> Any:
    """Return the error of a function whose slope is nowhere more than 1."""
    return error * 1.0


def product(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    if is_exact(e):
        return m.abs(x) * f
    return e * m.abs(y) if is_exact(f) else (m.abs(x) + e) * f + e * m.abs(y)


def quotient(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    if is_exact(f):
        return e / m.abs(y)
    return m.where(m.less(f, m.abs(y)), (e + m.abs(out) * f) / (m.abs(y) - f), math.inf)


def remaining(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    """Return the error of a division's remainder.

    The remainder jumps by the divisor if the quotient is a whole number.
    """
    size, by = m.abs(x), m.abs(y)
    low, high = (size - e) / (by + f), (size + e) / (by - f)
    jumps = m.logical_or(m.less_equal(by, f), m.not_equal(m.floor(low), m.floor(high)))
    return m.where(jumps, by + f + e, e + f * (high + 1))


def power(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    size = m.abs(x)
    farther = 0.0 if is_exact(e) else e / (size - e)  # bound on the change of log(abs(x))
    steep = (m.abs(y) + f) * farther
    if not is_exact(f):
        steep = steep + f * m.abs(m.log(size))
    change, is_apart = m.abs(out) * m.expm1(steep), m.less(e, size)
    if is_exact(e) or m.all(is_apart):
        return change
    largest = size + e  # for x around 0: bounds powers with an exponent that is not negative
    about = (largest if is_exact(f) else m.maximum(largest, 1.0)) ** (y + f) + m.abs(out)
    return m.where(is_apart, change, m.where(m.greater_equal(y - f, 0.0), about, math.inf))


def root(m: Any, out: Any, x: Any, error: Any) -> Any:
    return m.fmin(error / (out + m.sqrt(m.maximum(x - error, 0.0))), m.sqrt(error))


def logarithm(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return the error of a function that is nowhere steeper than the logarithm."""
    return m.where(m.less(error, x), error / (x - error), math.inf)


def error_of_exponential(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return the error of an exponential whose exponent has an error.

    An exponential that has underflown is less than the least normal number.
    """
    return (out + 2.0**-1022) * m.expm1(error)


def sign(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return where the sign is not certain."""
    return m.logical_and(m.less_equal(m.abs(x), error), m.greater(error, 0.0))


def no_number(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return where it is not certain whether an entry is a finite number.

    For numbers it is certain, whatever their errors are.
    """
    return m.isnan(error)


def error_of_choice(
    m: Any, out: Any, condition: Any, x: Any, y: Any, unsure: Any, e: Any, f: Any
) -> Any:
    """Return the error of a choice.

    If the condition is uncertain, it includes the distance to the other choice.
    """
    taken = 0.0 if is_exact(e) and is_exact(f) else m.where(condition, e, f)
    return (
        taken
        if is_exact(unsure)
        else m.where(unsure, m.abs(x - y) + (0.0 if is_exact(taken) else m.maximum(e, f)), taken)
    )


def multilinear(m: Any, out: Any, *operands_and_errors: Any, **_: Any) -> Any:
    """Return the error of sums of products of an entry of each operand.

    The errors of the operands are added one after the other. Each is multiplied by the largest
    possible sizes of the operands before it and the sizes of those after it.
    """
    count = len(operands_and_errors) // 2
    errors = operands_and_errors[count:]
    sizes = [m.abs(x) for x in operands_and_errors[:count]]
    most = [size if is_exact(e) else size + e for size, e in zip(sizes, errors, strict=True)]
    parts = [
        m.at(*most[:i], m.fill(e, sizes[i]), *sizes[i + 1 :])
        for i, e in enumerate(errors)
        if not is_exact(e)
    ]
    return sum(parts[1:], parts[0])


def joined_rounds(m: Any, out: Any, x: Any, y: Any) -> Any:
    """Return the roundings of logarithms of a sum of two exponentials.

    The error of the smaller operand counts as much as its exponential does.
    """
    return 16 * (m.abs(out) + m.abs(m.maximum(x, y)) + m.exp(-0.3 * m.abs(x - y)))


# -- What reducing along axes leaves: its shape, and how many entries go into one ----------------


def reduced_shape(shape: Shape, axis: Any = None, keepdims: bool = False, **_: Any) -> Shape:
    """Return the shape of a reduction's result."""
    axes = axes_of(axis, shape)
    return tuple([1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes])


def kept_shape(shape: Shape, axis: Any) -> Shape:
    """Return the unchanged shape of an operation along axes, which are checked."""
    axes_of(axis, shape)
    return shape


def ordered_shape(x: Shape, axis: int | None, **_: Any) -> Shape:
    """Return the shape of entries in another order along an axis, or among all of them."""
    return (math.prod(x),) if axis is None else kept_shape(x, axis)


def count(shape: Shape, axis: Any) -> int:
    """Return how many entries go into one entry of the result."""
    return math.prod([shape[a] for a in axes_of(axis, shape)])


# Additions that an entry goes through in a pairwise sum, plus two for each doubling.
_PAIRWISE = 24
_BLOCK = 8_192  # entries that plans add up at a time


def additions(x: Any, terms: float, *, whole: bool) -> float:
    """Return the number of partial sums that an entry may go through in a sum of ``terms``.

    Sums are by pairs if all entries are added (``whole``) and the memory is in one piece, and else
    in any order.
    """
    if whole and terms > 1 and (x.flags.c_contiguous or x.flags.f_contiguous):
        return min(terms, _PAIRWISE + 2 * math.log2(terms) + terms / _BLOCK)
    return terms


def running_rounds(m: Any, out: Any, x: Any, axis: Any) -> Any:
    """Return the rounding of a running logarithm of a sum of exponentials.

    It is each step's own rounding, and that of the steps before it.
    """
    return (
        m.cumsum(16 * (m.where(m.isfinite(out), m.abs(out), 0.0) + 2), axis=axis)
        if m.ndim(out)
        else 0.0
    )


def product_of_entries(
    m: Any, out: Any, *operands_and_errors: Any, axis: Any = None, **_: Any
) -> Any:
    """Products of entries that are as far off as they may be, less those of their sizes."""
    count_of = len(operands_and_errors) // 2
    sizes = [m.abs(x) for x in operands_and_errors[:count_of]]
    most = m.at(*[size + e for size, e in zip(sizes, operands_and_errors[count_of:], strict=True)])
    return (most - m.at(*sizes)) + (8 * m.unit_of_arrays * (count(sizes[0].shape, axis) + 2)) * most


def product_rounds(m: Any, out: Any, x: Any, axis: Any = None, **_: Any) -> Any:
    """Return the rounding of a product.

    A part of the product may have underflown, in any order, and the rest multiplies this loss.
    """
    terms = count(x.shape, axis)
    return 2 * terms * m.abs(out) + terms * m.smallest / m.unit * m.at(
        m.where(m.equal(x, 0), 0.0, m.maximum(m.abs(x), 1.0))
    )


def norm_errors(m: Any, out: Any, x: Any, e: Any, ord: Any, **_: Any) -> Any:
    """Bound the error of a norm by the triangle inequality, which holds for orders from 1 on."""
    return m.at(m.fill(e, x)) if ord is None or ord >= 1 else None


def norm_rounds(m: Any, out: Any, x: Any, axis: Any, **_: Any) -> Any:
    return (
        additions(np.asarray(x), count(np.shape(x), axis), whole=np.size(out) == 1) + 16
    ) * m.abs(out)


# -- Which indices are not certain where what is ordered is off by its errors, and what is
# addressed by such indices.
#
# An index is marked by 0 where it is certain, and by -1 where it may be any along its axis.


def _outwards(x: Any, e: Any) -> np.ndarray:
    """Errors of the shape of x, no smaller after they have been added to it."""
    off = np.broadcast_to(e, np.shape(x))
    return np.where(off > 0, off + np.spacing(np.abs(x) + off), 0.0)


def sorted_places(m: Any, out: Any, x: Any, e: Any, axis: int | None, descending: bool) -> Any:
    """Return marks of the entries that may have changed places by sorting.

    An entry is certain of its place if its interval lies beyond all before it and before all
    others.
    """
    if not np.ndim(out):
        return np.zeros((), int)
    off = _outwards(x, e)
    if axis is None:
        x = np.reshape(x, -1)
        off = np.reshape(off, -1)
        axis = 0
    low, high = (np.moveaxis(np.sort(end, axis=axis), axis, -1) for end in (x - off, x + off))
    apart, end = low[..., 1:] >= high[..., :-1], np.ones((*low.shape[:-1], 1), bool)
    alone = np.concatenate([end, apart], axis=-1) & np.concatenate([apart, end], axis=-1)
    return np.moveaxis(np.where(alone[..., ::-1] if descending else alone, 0, -1), -1, axis)


def largest_place(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool) -> Any:
    """Return marks of the places of the first largest entries.

    A place is certain if its entry stays first even when all others come nearer.
    """
    off = _outwards(x, e)
    axis = axis if np.ndim(x) else None
    reach = x + off
    least = np.max(x - off, axis=axis, keepdims=True)
    rivals = np.sum(reach > least, axis=axis, keepdims=keepdims)
    return np.where((m.at(reach) == out) & (rivals <= 1), 0, -1)


def error_of_taking(m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    own = m.at(errors, index)
    if type(marks) is float or not np.ndim(out):
        return own
    apart = np.max(x + errors, axis=axis, keepdims=True) - np.min(
        x - errors, axis=axis, keepdims=True
    )
    return np.where(np.equal(marks, 0), own, apart)


def error_of_adding(
    m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int, shape: Any
) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    own = m.at(errors, index)
    if type(marks) is float or not np.ndim(x):
        return own
    return own + np.sum(
        np.where(np.equal(marks, 0), 0.0, np.abs(x) + errors), axis=axis, keepdims=True
    )
