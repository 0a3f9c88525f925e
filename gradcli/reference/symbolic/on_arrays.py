"""Sympy's expressions on arrays of long doubles, whose names are those of a context of mpmath's."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.reference.algebra import Unsupported


class LongArrays:
    """Arrays of long doubles, under mpmath's names. Raises Unsupported for functions of which NumPy has no loop."""

    sin, cos, tan, asin, acos, atan, atan2 = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2
    sinh, cosh, tanh, asinh, acosh, atanh, log = np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.log
    fabs, sign, floor, ceil, fsum, mpf = np.abs, np.sign, np.floor, np.ceil, sum, LONG_DOUBLE
    inf, ninf, nan, zero = (LONG_DOUBLE(x) for x in (np.inf, -np.inf, np.nan, 0))
    pi, euler = LONG_DOUBLE("3.14159265358979323846264338327950288"), LONG_DOUBLE("0.577215664901532860606512090082402431")
    phi = LONG_DOUBLE("1.61803398874989484820458683436563812")

    def __getattr__(self, name: str) -> Any:
        inverse = {"cot": np.tan, "sec": np.cos, "csc": np.sin, "coth": np.tanh, "sech": np.cosh, "csch": np.sinh}.get(name)
        if inverse is None:
            raise Unsupported(name)
        return lambda x: 1 / inverse(x)

    def exp(self, x: Any) -> Any:
        return np.exp(LONG_DOUBLE(x) if isinstance(x, int) else x)

    def fprod(self, factors: Any) -> Any:
        product, *others = factors
        for factor in others:
            product = product * factor
        return product

    def make_mpf(self, parts: Any) -> Any:
        return LONG_DOUBLE(str(sympy.Float._new(parts, 100)))

    def power_of_arrays(self, base: Any, exponent: Any) -> Any:
        if np.ndim(exponent):
            return np.power(base, exponent)
        if abs(exponent) == 0.5:
            return np.sqrt(base) if exponent > 0 else 1 / np.sqrt(base)
        if exponent == LONG_DOUBLE(1) / 3:
            return np.where(base < 0, np.nan, np.cbrt(base))
        if exponent == int(exponent) and 0 < abs(exponent) <= 4:
            product = self.fprod([base] * abs(int(exponent)))
            return product if exponent > 0 else 1 / product
        return np.power(base, exponent)


# -- How large the terms are that an expression is computed of: its rounding error is so many units
# in the last place of that.


def magnitude(expression: Any) -> Any:
    """An expression for the size of an expression's terms, rounding included: of a sum, that of all its terms together.

    A function's own is its value's, and what the rounding of its arguments makes of it.
    """
    known: dict[Any, Any] = {}
    for node in sympy.postorder_traversal(expression):
        if node not in known:
            known[node] = _of(node, [known[a] for a in node.args])
    return known[expression]


def _of(node: Any, sizes: list[Any]) -> Any:
    if not node.args:
        return sympy.Abs(node)
    if node.is_Add:
        return sympy.Add(*sizes)
    if node.is_Mul:
        return sympy.Mul(*sizes)
    total = sympy.Abs(node)
    for i, (argument, size) in enumerate(zip(node.args, sizes, strict=True)):
        if argument.is_number:
            continue
        try:
            slope = node if node.is_Pow else node.fdiff(i + 1)
        except (sympy.function.ArgumentIndexError, AttributeError, TypeError, ValueError):
            continue
        total += sympy.Abs(_substituted(node, argument, slope)) * size
    return total


def _substituted(node: Any, argument: Any, slope: Any) -> Any:
    if not node.is_Pow:
        return slope
    base, exponent = node.args
    return exponent * base ** (exponent - 1) if argument == base else node * sympy.log(base)
