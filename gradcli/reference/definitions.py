"""Graphs as arrays of entries that are exact: derivatives inside of them are taken from their definitions, entry by entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain
from gradcli.graph.nodes import Expr, constant_value
from gradcli.graph.transforms import Derivation
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra


class Entries(Domain[Any]):
    """A graph read by the references of its operations.

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
