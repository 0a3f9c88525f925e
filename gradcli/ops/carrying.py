"""How errors of operands carry into results: forms that records share in `Accuracy.carries`, each a true bound for errors of any size.

``m`` offers NumPy's functions and the operation; errors are 0.0 where an operand is exact.
"""

from __future__ import annotations

import math
from typing import Any


def is_exact(error: Any) -> bool:
    """Return whether an operand is exact in all its entries."""
    return type(error) is float and error == 0


def steady(m: Any, out: Any, x: Any, error: Any, **_: Any) -> Any:
    """Of a function whose slope is nowhere more than 1."""
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
    """Of what a division leaves: it jumps by the divisor where the quotient is a whole number."""
    size, by = m.abs(x), m.abs(y)
    low, high = (size - e) / (by + f), (size + e) / (by - f)
    jumps = m.logical_or(m.less_equal(by, f), m.not_equal(m.floor(low), m.floor(high)))
    return m.where(jumps, by + f + e, e + f * (high + 1))


def power(m: Any, out: Any, x: Any, y: Any, e: Any, f: Any) -> Any:
    size = m.abs(x)
    farther = 0.0 if is_exact(e) else e / (size - e)  # of the logarithm of x, at most
    steep = (m.abs(y) + f) * farther
    if not is_exact(f):
        steep = steep + f * m.abs(m.log(size))
    if is_exact(e):
        return m.abs(out) * m.expm1(steep)
    largest = size + e  # about 0, where a power that is not negative is at most this
    about = (largest if is_exact(f) else m.maximum(largest, 1.0)) ** (y + f) + m.abs(out)
    return m.where(m.less(e, size), m.abs(out) * m.expm1(steep), m.where(m.greater_equal(y - f, 0.0), about, math.inf))


def root(m: Any, out: Any, x: Any, error: Any) -> Any:
    return m.fmin(error / (out + m.sqrt(m.maximum(x - error, 0.0))), m.sqrt(error))


def logarithm(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return the error of a function that is nowhere steeper than the logarithm."""
    return m.where(m.less(error, x), error / (x - error), math.inf)


def grown(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Of an exponential, whose exponent is so far off; one that has underflown is less than the least normal number."""
    return (out + 2.0**-1022) * m.expm1(error)


def exponent(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Of what rises with the size of x and has no bound near 0."""
    size = m.abs(x)
    return m.where(m.less(error, size), m.maximum(m.at(size + error) - out, out - m.at(size - error)), math.inf)


def sign(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return where the sign is not certain."""
    return m.logical_and(m.less_equal(m.abs(x), error), m.greater(error, 0.0))


def no_number(m: Any, out: Any, x: Any, error: Any) -> Any:
    """Return where it is not certain whether an entry is a finite number: of numbers, whatever their errors are, it is."""
    return m.isnan(error)


def turning(m: Any, out: Any, y: Any, x: Any, e: Any, f: Any) -> Any:
    """Of the angle of a point (x, y), which jumps where x is negative and y changes its sign."""
    cut = m.logical_and(m.less_equal(m.abs(y), e), m.less_equal(x, f))
    moves = m.greater(e + f, 0.0)
    around = m.logical_or(cut, m.less_equal(m.hypot(x, y), e + f))
    return m.where(moves, m.where(around, 2 * math.pi, (e + f) * (math.pi / 2) / m.hypot(x, y)), 0.0)


def chosen(m: Any, out: Any, condition: Any, x: Any, y: Any, unsure: Any, e: Any, f: Any) -> Any:
    """Of a choice: where the condition may be either, as far as the other choice is."""
    taken = 0.0 if is_exact(e) and is_exact(f) else m.where(condition, e, f)
    return taken if is_exact(unsure) else m.where(unsure, m.abs(x - y) + (0.0 if is_exact(taken) else m.maximum(e, f)), taken)


def multilinear(m: Any, out: Any, *operands_and_errors: Any, **_: Any) -> Any:
    """Of sums of products of an entry of each operand: one operand's error after the other's, among sizes that are farthest off."""
    count = len(operands_and_errors) // 2
    errors = operands_and_errors[count:]
    sizes = [m.abs(x) for x in operands_and_errors[:count]]
    most = [size if is_exact(e) else size + e for size, e in zip(sizes, errors, strict=True)]
    parts = [m.at(*most[:i], m.filled(e, sizes[i]), *sizes[i + 1 :]) for i, e in enumerate(errors) if not is_exact(e)]
    return sum(parts[1:], parts[0])


def joined_rounds(m: Any, out: Any, x: Any, y: Any) -> Any:
    """Of logarithms of a sum of two exponentials: how far the smaller operand is off counts as much as its exponential does."""
    return 16 * (m.abs(out) + m.abs(m.maximum(x, y)) + m.exp(-0.3 * m.abs(x - y)))
