"""How large the terms are that an expression is computed of: its rounding error is so many units in the last place of that."""

from __future__ import annotations

from typing import Any

import sympy


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
