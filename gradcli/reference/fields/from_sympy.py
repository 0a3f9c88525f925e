"""sympy's derivatives of single functions, as elements of a field."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sympy

from gradcli.reference.algebra import Unsupported
from gradcli.reference.fields.element import Element


def is_function(name: str) -> bool:
    """Whether sympy has a function of that name."""
    found = getattr(sympy, name, None)
    return isinstance(found, type) and issubclass(found, sympy.Function) and not issubclass(found, sympy.Piecewise)


@cache
def is_odd(name: str) -> bool:
    """Whether sympy knows that a function of -x is the opposite of that of x."""
    x = sympy.Dummy("x", real=True)
    try:
        return bool(getattr(sympy, name)(-x) == -getattr(sympy, name)(x))
    except (TypeError, ValueError):
        return False


@cache
def _slope(name: str, place: int, parameters: tuple[int | None, ...]) -> tuple[Any, tuple[Any, ...]]:
    """sympy's derivative of a function by one of its arguments, of symbols but for whole numbers, and these."""
    symbols = tuple(sympy.Dummy(f"v{i}", real=True) for i in range(len(parameters)))
    arguments = [symbol if number is None else sympy.Integer(number) for symbol, number in zip(symbols, parameters, strict=True)]
    return sympy.diff(getattr(sympy, name)(*arguments), symbols[place]), symbols


def slope(functions: Any, name: str, place: int, arguments: Sequence[Element]) -> Element:
    """The derivative of a function by one of its arguments. Raises Unsupported where sympy has none."""
    numbers = tuple(None if x.rational is None or x.rational.denominator != 1 else int(x.rational) for x in arguments)
    expression, symbols = _slope(name, place, numbers)
    return element(functions, expression, dict(zip(symbols, arguments, strict=True)))


def element(functions: Any, expression: Any, known: dict[Any, Element]) -> Element:
    """An expression of sympy's as an element, from elements for its symbols."""
    done: dict[Any, Element] = dict(known)
    for node in sympy.postorder_traversal(expression):
        if node not in done:
            done[node] = _of(functions, node, [done[a] for a in node.args])
    return done[expression]


_CONSTANTS = {sympy.pi: "pi", sympy.E: "E", sympy.EulerGamma: "euler"}


def _of(functions: Any, node: Any, parts: list[Element]) -> Element:
    if node.is_Rational:
        return functions.Rational(int(node.p), int(node.q))  # type: ignore[no-any-return]
    if node in _CONSTANTS:
        return getattr(functions, _CONSTANTS[node])  # type: ignore[no-any-return]
    if node.is_Add:
        return sum(parts, functions.zero)
    if node.is_Mul:
        product = functions.one
        for part in parts:
            product = product * part
        return product  # type: ignore[no-any-return]
    if node.is_Pow:
        return functions.Pow(*parts)  # type: ignore[no-any-return]
    if isinstance(node, sympy.Function) and is_function(type(node).__name__):
        return getattr(functions, type(node).__name__)(*parts)  # type: ignore[no-any-return]
    raise Unsupported(type(node).__name__)
