"""Numbers in formulas: exact fractions while they are small, floats beyond."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant

Coefficient = Fraction | float

_EXACT = 2**53


def exact(value: Any) -> Coefficient | None:
    """A constant's payload as a coefficient: a fraction where it is one of small integers or halves."""
    if isinstance(value, (bool, Constant, np.ndarray)) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < _EXACT else float(value)
    if value == value and abs(value) < _EXACT and (value * 1024).is_integer():
        return Fraction(value)
    return value


def bounded(value: Coefficient) -> Coefficient:
    if isinstance(value, Fraction) and (abs(value.numerator) >= _EXACT or value.denominator >= _EXACT):
        return float(value)
    return value


def times(x: Coefficient, y: Coefficient) -> Coefficient:
    return bounded(x * y) if isinstance(x, Fraction) and isinstance(y, Fraction) else float(x) * float(y)


def plus(x: Coefficient, y: Coefficient) -> Coefficient:
    return bounded(x + y) if isinstance(x, Fraction) and isinstance(y, Fraction) else float(x) + float(y)


ONE = Fraction(1)


def is_binary(value: Fraction) -> bool:
    """Whether a fraction is a float exactly, such as 0.375."""
    return value.denominator & (value.denominator - 1) == 0


def raised(value: Coefficient, power: Fraction) -> Coefficient:
    if isinstance(value, Fraction) and abs(power) <= 64:
        return bounded(Fraction(value ** int(power)))
    try:
        return math.pow(value, power)
    except OverflowError:
        return float("inf")
