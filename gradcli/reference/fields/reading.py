"""Graphs as elements of a field: every leaf's entries are variables, and operations what their references make of elements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain
from gradcli.graph.nodes import Expr, constant_value
from gradcli.graph.transforms import Derivation
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.fields.element import Differentiation, Element, Generator
from gradcli.reference.fields.functions import Functions

_MOST_VARIABLES = 40


class _Elements(Algebra):
    """References on elements."""

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


class _Entries(Domain[Any]):
    """A graph read by the references of its operations; inner derivatives are taken from their definitions, entry by entry.

    values  of leaves that are no variables
    """

    def __init__(self, algebra: Algebra, values: Mapping[Expr, Any], precision: str) -> None:
        self.algebra, self.values, self.precision = algebra, values, precision

    @abstractmethod
    def numbers(self, value: Any) -> np.ndarray:
        """An array of numbers."""

    @abstractmethod
    def slope(self, y: Any, x: Any) -> Any:
        """The derivative of an entry by another."""

    def constant(self, node: Expr) -> np.ndarray:
        """Literals as the binary numbers that the engine sees; pi and its like as what they are."""
        if isinstance(node.payload, Constant):
            return self.numbers(node.payload.reference(self.algebra.m))
        return self.numbers(constant_value(node.payload, numpy_dtype("float", self.precision), node.kind))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.algebra.apply(op, node.static, operands)

    def part(self, node: Expr, whole: Any, place: int) -> np.ndarray:
        return np.asarray(whole[place], dtype=object)

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> np.ndarray:
        of: Derivation = node.static["of"]
        y, x = table[of.y], table[of.x]
        vector: Any = None if of.vector is None else table[of.vector]
        if of.kind in ("hessian", "hvp"):
            y = self.slopes(y, None, x)
        if of.kind in ("vjp", "hvp"):
            return self.slopes(y, vector, x)
        if of.kind == "jvp":
            return Algebra.map(lambda entry: (np.ravel(self.slopes(entry, None, x)) * np.ravel(vector)).sum(), y)
        rows = [self.slopes(entry, None, x).ravel() for entry in np.ravel(y)]
        return np.array(rows, dtype=object).reshape((*y.shape, *x.shape))

    def slopes(self, y: Any, weights: Any, x: np.ndarray) -> np.ndarray:
        """The derivatives of a sum of entries, weighted or not, by others."""
        entries = np.ravel(np.asarray(y, dtype=object))
        factors = [1] * entries.size if weights is None else np.ravel(weights)
        total = sum((entry * weight for entry, weight in zip(entries, factors, strict=True)), self.algebra.zero)
        return Algebra.map(lambda entry: self.slope(total, entry), x)


class Reading(_Entries):
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
