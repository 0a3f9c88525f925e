"""Calls of composites: what the cases call, with the multi-precision numbers that their operands and results are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
from helpers import lowered

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.spec import Composite, Op
from gradcli.reference.algebra import Numbers
from gradcli.reference.exact_values import constant_array, exact_array


class Call(NamedTuple):
    """A composite on arrays of numbers, and what its body makes of them."""

    composite: Composite
    operands: list[Any]
    static: dict[str, Any]
    result: Any


class Exact(Domain[Any]):
    """Nodes as arrays of multi-precision numbers, by the references of operations."""

    def __init__(self, m: Any) -> None:
        self.algebra = Numbers(m)

    def constant(self, node: Expr) -> Any:
        return constant_array(self.algebra.m, node, "float64")

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.algebra.apply(op, node.static, operands)


def nodes_in(value: Any) -> list[Expr]:
    if isinstance(value, Expr):
        return [value]
    if isinstance(value, (tuple, list)):
        return [node for part in value for node in nodes_in(part)]
    return [node for part in value.values() for node in nodes_in(part)] if isinstance(value, dict) else []


def numbers(value: Any, table: Mapping[Expr, Any]) -> Any:
    """Operands and results as arrays of multi-precision numbers, in lists and tuples as they are."""
    if isinstance(value, Expr):
        return table[value]
    if isinstance(value, tuple):
        return tuple(numbers(part, table) for part in value)
    if isinstance(value, list):
        return [numbers(part, table) for part in value]
    if isinstance(value, (float, np.floating, np.ndarray)):
        array = np.asarray(value)
        return exact_array(mpmath.mp, array, "float" if array.dtype.kind == "f" else "int" if array.dtype.kind == "i" else "bool")
    return value


def parameter(value: Any, table: Mapping[Expr, Any]) -> Any:
    """A static parameter: data as it is; nodes in its place as the numbers that they stand for."""
    if isinstance(value, Expr):
        return table[value] if value.shape else table[value].item()
    if isinstance(value, (tuple, list)):
        return type(value)(parameter(part, table) for part in value)
    return np.asarray(value.array) if isinstance(value, StaticArray) else value


def calls(text: str, values: Mapping[str, Any]) -> list[Call]:
    """Every composite that a program calls, those that bodies call included."""
    made: list[tuple[Composite, list[Any], dict[str, Any], Any]] = []
    original = Composite.__call__

    def noted(self: Composite, *operands: Any, **static: Any) -> Any:
        result = original(self, *operands, **static)
        missing = [None] * (0 if self.variadic or self.rest else len(self.operands) - len(operands))
        made.append((self, [*operands, *missing], {**self.static, **static}, result))
        return result

    Composite.__call__ = noted  # type: ignore[method-assign]
    try:
        scope, root = lowered(text, values)
    finally:
        Composite.__call__ = original  # type: ignore[method-assign]
    domain = Exact(mpmath.mp)
    table = {leaf: exact_array(mpmath.mp, value, leaf.kind) for leaf, value in scope.values.items()}
    interpret(reachable([root, *nodes_in([part for call in made for part in call[1:]])]), domain, table)
    return [
        Call(composite, numbers(operands, table), {k: parameter(v, table) for k, v in static.items()}, numbers(result, table))
        for composite, operands, static, result in made
    ]


def difference(found: Any, wanted: Any, digits: int) -> str | None:
    """How two results differ, in words; None where all numbers agree to so many digits."""
    if isinstance(wanted, (tuple, list)) or isinstance(found, (tuple, list)):
        if not (isinstance(found, (tuple, list)) and isinstance(wanted, (tuple, list)) and len(found) == len(wanted)):
            return f"{_how_many(found)} by the reference, {_how_many(wanted)} by the body"
        return next((why for pair in zip(found, wanted, strict=True) if (why := difference(*pair, digits))), None)
    if found is None or wanted is None:
        return None if found is wanted else f"{found} by the reference, {wanted} by the body"
    found, wanted = (np.asarray(v, dtype=object) for v in (found, wanted))
    if found.shape != wanted.shape:
        return f"shape {found.shape} by the reference, {wanted.shape} by the body"
    scale = max((abs(v) for v in wanted.ravel() if mpmath.isfinite(v)), default=0)
    for place in np.ndindex(wanted.shape):
        f, w = mpmath.mpf(found[place]), mpmath.mpf(wanted[place])
        if f == w or (f != f and w != w):
            continue
        if not (mpmath.isfinite(f) and mpmath.isfinite(w)) or abs(f - w) > mpmath.mpf(10) ** -digits * max(scale, mpmath.mpf(10) ** -10):
            return f"{mpmath.nstr(f, 20)} by the reference, {mpmath.nstr(w, 20)} by the body, at {place}"
    return None


def _how_many(value: Any) -> str:
    return f"{len(value)} results" if isinstance(value, (tuple, list)) else "one result"
