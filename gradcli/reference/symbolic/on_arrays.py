"""Sympy's expressions on arrays of long doubles: every constant in long double, too, which NumPy's own are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy

from gradcli.ops.extended import LONG_DOUBLE

_DIGITS = 40  # of constants: more than long doubles hold


class Unknown(Exception):
    """A function that NumPy does not compute in long double."""


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    sympy.sin: np.sin, sympy.cos: np.cos, sympy.tan: np.tan, sympy.asin: np.arcsin, sympy.acos: np.arccos, sympy.atan: np.arctan,
    sympy.cot: lambda x: 1 / np.tan(x), sympy.sec: lambda x: 1 / np.cos(x), sympy.csc: lambda x: 1 / np.sin(x), sympy.atan2: np.arctan2,
    sympy.sinh: np.sinh, sympy.cosh: np.cosh, sympy.tanh: np.tanh, sympy.asinh: np.arcsinh, sympy.acosh: np.arccosh,
    sympy.atanh: np.arctanh, sympy.coth: lambda x: 1 / np.tanh(x), sympy.sech: lambda x: 1 / np.cosh(x),
    sympy.csch: lambda x: 1 / np.sinh(x), sympy.exp: np.exp, sympy.log: np.log, sympy.Abs: np.abs, sympy.sign: np.sign,
    sympy.floor: np.floor, sympy.ceiling: np.ceil,
}  # fmt: skip


def on_arrays(expression: Any, symbols: Sequence[Any], arrays: Sequence[Any], found: dict[Any, Any] | None = None) -> Any:
    """The expression's values. Raises Unknown.

    found  those of parts that are known, to which the others are added
    """
    found = {} if found is None else found
    found.update({symbol: np.asarray(array, LONG_DOUBLE) for symbol, array in zip(symbols, arrays, strict=True)})
    for node, arguments in _steps(expression, frozenset(found)):
        found[node] = constant(node) if arguments is None else _applied(node, [found[a] for a in arguments])
    values, shape = found[expression], np.broadcast_shapes(*(np.shape(array) for array in arrays))
    return values if np.shape(values) == shape else np.broadcast_to(values, shape)


@lru_cache(1 << 12)
def _steps(expression: Any, known: frozenset[Any]) -> list[tuple[Any, tuple[Any, ...] | None]]:
    """What is to be computed for an expression beside what is known: its parts, each after its arguments, None for those of a number."""
    steps: list[tuple[Any, tuple[Any, ...] | None]] = []
    found = set(known)
    stack = [(expression, False)]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready or not node.free_symbols:
            found.add(node)
            steps.append((node, _arguments(node) if ready else None))
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in _arguments(node))
    return steps


def _arguments(node: Any) -> tuple[Any, ...]:
    if node.is_Atom or isinstance(node, (sympy.Derivative, sympy.DiracDelta)):
        return ()
    args: tuple[Any, ...] = node.args
    constants = [a for a in args if not a.free_symbols] if node.is_Add or node.is_Mul else []
    if len(constants) > 1:  # one number, which is rounded once
        return node.func(*constants), *(a for a in args if a.free_symbols)
    return args


@cache
def constant(node: Any) -> Any:
    """A number without symbols, in long double."""
    value = node.evalf(_DIGITS)
    if value.is_Float or value.is_Integer or value.is_Rational:
        return LONG_DOUBLE(str(sympy.Float(value, _DIGITS)))
    if value in (sympy.oo, -sympy.oo):
        return LONG_DOUBLE(float(value))
    if value in (sympy.nan, sympy.zoo):
        return LONG_DOUBLE(np.nan)
    raise Unknown(str(node))


def _applied(node: Any, arguments: list[Any]) -> Any:
    if node.is_Add:
        return sum(arguments[1:], arguments[0])
    if node.is_Mul:
        product = arguments[0]
        for factor in arguments[1:]:
            product = product * factor
        return product
    if node.is_Pow:
        return _power(node.exp, *arguments)
    if isinstance(node, (sympy.Derivative, sympy.DiracDelta)):
        inner = node.expr if isinstance(node, sympy.Derivative) else None
        if inner is None or isinstance(inner, (sympy.floor, sympy.ceiling, sympy.sign)):
            return LONG_DOUBLE(0)
        raise Unknown(str(node))
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise Unknown(type(node).__name__)
    return function(*arguments)


def _power(exponent: Any, base: Any, value: Any) -> Any:
    if exponent == sympy.Rational(1, 2):
        return np.sqrt(base)
    if exponent == sympy.Rational(-1, 2):
        return 1 / np.sqrt(base)
    if exponent == sympy.Rational(1, 3):
        return np.where(base < 0, np.nan, np.cbrt(base))
    if exponent.is_Integer and abs(int(exponent)) <= 4:
        product = base
        for _ in range(abs(int(exponent)) - 1):
            product = product * base
        return product if exponent > 0 else 1 / product
    return np.power(base, value)


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
