"""Calls of composites: what the cases call, with the multi-precision numbers that their operands and results are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
from helpers import lowered

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.scope import Scope
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.spec import Composite, Op
from gradcli.reference.algebra import Numbers
from gradcli.reference.exact_values import constant_array, exact_array
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape


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


Made = tuple[Composite, list[Any], dict[str, Any], Any]


def recorded(text: str, values: Mapping[str, Any]) -> tuple[Scope, list[Expr], list[Made]]:
    """A program's scope, the nodes that are wanted of it, and each call of a composite, those by other bodies included."""
    made: list[Made] = []
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
    return scope, reachable([root, *nodes_in([part for call in made for part in call[1:]])]), made


def calls(text: str, values: Mapping[str, Any]) -> list[Call]:
    """Every call of a composite by a program, in multi-precision numbers."""
    scope, order, made = recorded(text, values)
    table = {leaf: exact_array(mpmath.mp, value, leaf.kind) for leaf, value in scope.values.items()}
    interpret(order, Exact(mpmath.mp), table)
    return [
        Call(composite, numbers(operands, table), {k: parameter(v, table) for k, v in static.items()}, numbers(result, table))
        for composite, operands, static, result in made
    ]


def slopes(text: str, values: Mapping[str, Any]) -> Iterator[tuple[Composite, list[Any], list[Any]]]:
    """For each call, the derivatives of a weighted sum of what the reference gives, by each name of the program, and those of the body."""
    scope, order, made = recorded(text, values)
    domain = ReferenceTape(mpmath.mp, scope.values, "float64")
    interpret(order, domain, domain.table)
    for composite, operands, static, result in made:
        assert composite.reference is not None
        given = {k: parameter(v, domain.table) for k, v in static.items()}
        found = composite.reference(domain.scalars, *numbers(operands, domain.table), **given)
        sums = [entries_of(part) for part in (found, numbers(result, domain.table))]
        seed = np.array([mpmath.mpf(7 + i) / 7 for i in range(len(sums[0]))], dtype=object)
        pulled = [[values_of(domain.gradient(y, seed, domain.table[scope.names[name]])) for name in values] for y in sums]
        yield composite, pulled[0], pulled[1]


def entries_of(value: Any) -> np.ndarray:
    """All scalars of a result, of several parts one after the other."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    flat = [v for part in parts if part is not None for v in np.asarray(part, dtype=object).ravel().tolist()]
    return np.fromiter(flat, dtype=object)


def values_of(array: Any) -> Any:
    return Numbers.map(plain, array)


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
