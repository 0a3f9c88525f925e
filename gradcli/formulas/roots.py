"""Roots of numbers: what comes out of them."""

from __future__ import annotations

from fractions import Fraction

from gradcli.formulas.polynomials import Number, lean

_LARGEST = 1 << 64


def rational_root(number: Number, index: int) -> tuple[Number, Number]:
    """A positive number as ``taken**index * rest``, with as little as possible left under the root, and that a whole number.

    12 is 2**2 * 3, and 1/2 is (1/2)**2 * 2.
    """
    above, below = number.numerator, number.denominator
    if index > _LARGEST.bit_length():  # of which no number here but 1 is a power
        return 1, number
    if above * below ** (index - 1) > _LARGEST:
        return 1, number
    left = above * below ** (index - 1)
    taken = 1
    divisor = 2
    while divisor**index <= left and divisor < 100:
        while left % divisor**index == 0:
            left //= divisor**index
            taken *= divisor
        divisor += 1
    whole = round(left ** (1 / index))
    if whole**index == left:
        taken, left = taken * whole, 1
    return lean(Fraction(taken, below)), left
