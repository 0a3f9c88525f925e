"""Graphs as elements of a field: every leaf's entries are variables, and operations what their references make of elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.definitions import Entries
from gradcli.reference.fields.element import Differentiation, Element, Generator
from gradcli.reference.fields.functions import Functions

_MOST_VARIABLES = 40


class _Elements(Algebra):
    """References on elements."""

    iterates = False

    def __init__(self, functions: Functions, precision: str) -> None:
        super().__init__(functions, precision)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        operands = [None if a is None else self.m.of(a) for a in arguments]
        if op.kind == "flat":
            raise Unsupported("a function that jumps")  # equality is proved but for single points, across which others are continuous
        if op.kind == "piecewise" and (static or op.symbolic is None):
            return op.reference(self, *operands, **static)
        return (op.symbolic or op.reference)(self.m, *operands, **static)

    def power(self, x: Any, y: Any) -> Any:
        return self.m.Pow(x, y)

    def sign(self, x: Any) -> Any:
        return self.m.sign(x)

    def plain(self, x: Any) -> Any:
        raise Unsupported("the value of what varies")


class Reading(Entries):
    """A graph as arrays of elements.

    values  of leaves that are whole numbers or truths, which stay what they are
    alike   whether all entries of all arrays are treated alike: then an array is one element
    """

    def __init__(self, functions: Functions, values: Mapping[Expr, Any], precision: str, alike: bool) -> None:
        super().__init__(_Elements(functions, precision), values, precision)
        self.functions, self.alike = functions, alike

    def leaf(self, node: Expr) -> np.ndarray:
        if node.kind != "float":
            return self.numbers(self.values[node])
        places = np.arange(1).reshape(()) if self.alike else np.arange(prod(node.shape)).reshape(node.shape)
        if places.size > _MOST_VARIABLES:
            raise Unsupported("an array of so many entries")
        return Algebra.map(lambda i: self.functions.field.symbol((node, i), partial(Generator, "variable")), places)

    def numbers(self, value: Any) -> np.ndarray:
        return Algebra.map(self.functions.of, value)

    def detach(self, node: Expr, x: np.ndarray) -> np.ndarray:
        raise Unsupported("a detached value")

    def slope(self, y: Any, x: Any) -> Element:
        field = self.functions.field
        place = field.single(x.p) if isinstance(x, Element) and not x.below else None
        if place is None or field.generators[place].kind != "variable":
            raise Unsupported("a derivative with respect to an intermediate result")
        return Differentiation(field, place)(y)
