"""Mathematical constants: floats that remember what they stand for.

A rule that says ``x * LN2`` works on arrays at once, since a `Constant` is a float, while graph
nodes print it as ``log(2)`` and multi-precision numbers take it to their own precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class Constant(float):
    """Float with its formula in the language, and its value at an mpmath context's precision."""

    __slots__ = ("reference", "text")
    text: str
    reference: Callable[[Any], Any]

    def __new__(cls, value: float, text: str, reference: Callable[[Any], Any]) -> Constant:
        self = super().__new__(cls, value)
        self.text = text
        self.reference = reference
        return self

    def __repr__(self) -> str:
        return self.text


class _Floats:
    """Context of floats that constants are made of: mpmath's names."""

    pi, euler = math.pi, 0.5772156649015329
    exp = math.exp
    log = math.log
    sqrt = math.sqrt

    @staticmethod
    def mpf(x: float) -> float:
        return x


def exactly(text: str, reference: Callable[[Any], Any]) -> Constant:
    """Make a constant by its formula.

    The formula uses pi, euler, exp, log and sqrt of whatever computes it.
    """
    return Constant(float(reference(_Floats)), text, reference)


PI = exactly("pi", lambda m: +m.pi)
TAU = exactly("(2*pi)", lambda m: 2 * m.pi)
E = exactly("e", lambda m: m.exp(1))
LN2 = exactly("log(2)", lambda m: m.log(2))
LN10 = exactly("log(10)", lambda m: m.log(10))
TWO_BY_PI = exactly("(2/pi)", lambda m: 2 / m.pi)
TWO_BY_SQRT_PI = exactly("(2/sqrt(pi))", lambda m: 2 / m.sqrt(m.pi))
SQRT_2 = exactly("sqrt(2)", lambda m: m.sqrt(2))
SQRT_TWO_PI = exactly("sqrt(2*pi)", lambda m: m.sqrt(2 * m.pi))
SQRT_2_BY_PI = exactly("sqrt(2/pi)", lambda m: m.sqrt(2 / m.pi))
HALF_SQRT_PI = exactly("(sqrt(pi)/2)", lambda m: m.sqrt(m.pi) / 2)
LN_PI = exactly("log(pi)", lambda m: m.log(m.pi))
HALF_LN_TWO_PI = exactly("(log(2*pi)/2)", lambda m: m.log(2 * m.pi) / 2)
LN_TWO_PI = exactly("log(2*pi)", lambda m: m.log(2 * m.pi))
EULER_GAMMA = exactly("(-digamma(1))", lambda m: +m.euler)
DEGREE = exactly("(pi/180)", lambda m: m.pi / 180)
RADIAN = exactly("(180/pi)", lambda m: 180 / m.pi)


def difference(x: float, y: float) -> float:
    """Return x - y of parameters.

    It is a float if that is exact, otherwise a constant that knows its exact value.
    """
    from fractions import Fraction

    value = x - y
    is_exact = type(value) is int or not math.isfinite(value)
    if is_exact or Fraction(x) - Fraction(y) == Fraction(value):
        return value
    return Constant(value, f"({x!r} - {y!r})", lambda m: m.mpf(x) - m.mpf(y))


# Names that stand for these values until something binds them.
NAMED: dict[str, float | bool] = {
    "pi": PI,
    "π": PI,
    "e": E,
    "E": E,
    "inf": math.inf,
    "oo": math.inf,
    "nan": math.nan,
    "True": True,
    "False": False,
}


# -- What rules that simplify (`Op.simpler`) share: they read a graph's nodes, without a
# table of operations.


def number_of(node: Any) -> Any:
    """Return the number of a node that is one, also as a quotient of numbers or repeated.

    None is returned for any other node.
    """
    if node.is_constant:
        number = node.payload
        if isinstance(number, Constant):
            return float(number)
        return None if hasattr(number, "shape") else number  # an array is none
    if _repeats(node):
        return number_of(node.operand)
    if node.op is not None and node.op.algebra == "quotient":
        x, y = map(number_of, node.operands)
        return None if x is None or not y else x / y
    return None


def without_repeats(node: Any) -> Any:
    """Return what a node repeats or reshapes."""
    while node.op is not None and (node.op.algebra == "reshaping" or _repeats(node)):
        node = node.operand
    return node


def _repeats(node: Any) -> bool:
    return node.op is not None and node.op.algebra == "repetition"


def same_shape(out: Any, x: Any, shape: Any) -> Any:
    """Return the constant of what changes a shape, or repeats entries."""
    if x.shape == out.shape:
        return x
    if x.op is out.op:
        return out.op(x.operand, shape=out.shape)
    number = number_of(x)
    return number if number == 0 or out.op.algebra == "reshaping" else None


def number_inside(out: Any, x: Any, **static: Any) -> Any:
    """Return the constant of what takes entries out of an array."""
    return number_of(x)
