"""A function of the program as cells: its graph is read by the references of its operations, some names being variables of a box.

Derivatives inside of it are taken from their definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, constant_value
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.calling.promotion import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import UNIT, Cell
from gradcli.reference.ranges.making import Cells
from gradcli.reference.ranges.slopes import Slopes

Array = np.ndarray


class Tracing(Domain[Any]):
    """A graph as arrays of cells.

    places  the nodes that are variables
    values  those of all other leaves
    """

    def __init__(self, cells: Cells, slopes: Slopes, places: Mapping[Expr, int], values: Mapping[Expr, Any], precision: str) -> None:
        self.cells, self.slopes, self.places, self.values = cells, slopes, places, values
        self.precision = numpy_dtype("float", precision)
        self.origins: dict[Cell, Expr] = {}

    def run(self, *roots: Expr) -> list[Array]:
        table: dict[Expr, Any] = {}
        for root in roots:
            interpret(definition_order(root), self, table)
        return [table[root] for root in roots]

    def leaf(self, node: Expr) -> Array:
        place = self.places.get(node)
        return self._numbers(self.values[node]) if place is None else _array(self.cells.leaf(place))

    def constant(self, node: Expr) -> Array:
        if isinstance(node.payload, Constant):
            return _array(self.cells.of(node.payload.reference(self.cells.recorder)))
        return self._numbers(constant_value(node.payload, self.precision, node.kind))

    def _numbers(self, value: Any) -> Array:
        array = np.asarray(value)
        out = np.empty(array.size, dtype=object)
        out[:] = [v.item() if array.dtype.kind in "iu" else self.cells.of(v) for v in array.ravel()]
        return out.reshape(array.shape)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        before = self.cells.last
        recorder = self.cells.recorder
        found = recorder.elementwise(op, node.static, operands) if op.elementwise else recorder.structural(op, node.static, operands)
        for cell in self.cells.since(before):
            self.origins[cell] = node
        return found

    def part(self, node: Expr, whole: Any, place: int) -> Array:
        return np.asarray(whole[place], dtype=object)

    def alias(self, node: Expr, x: Array) -> Array:
        return Algebra.map(lambda v: self.cells.named(v) if isinstance(v, Cell) else v, x)

    def detach(self, node: Expr, x: Array) -> Array:
        if any(isinstance(v, Cell) and v.leaves for v in np.ravel(x)):
            raise Unsupported("a detached value, whose slopes are not those of its values")
        return x

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Array:
        of: Derivation = node.static["of"]
        y, x = table[of.y], table[of.x]
        vector = None if of.vector is None else table[of.vector]
        if of.kind == "vjp":
            return self._vjp(y, x, vector)
        if of.kind == "jacobian":
            return self._rows(y, x)
        if of.kind == "jvp":
            assert vector is not None
            return np.asarray((self._rows(y, x).reshape(*y.shape, -1) * np.ravel(vector)).sum(axis=-1), dtype=object)
        slope = self._vjp(y, x, None)
        return self._rows(slope, x) if of.kind == "hessian" else self._vjp(slope, x, vector)

    def _vjp(self, y: Array, x: Array, vector: Array | None) -> Array:
        weights = [self.cells.one] * y.size if vector is None else [self.cells.of(w) for w in np.ravel(vector)]
        total = self.cells.sum([(UNIT, self.cells.of(v) * w) for v, w in zip(np.ravel(y), weights, strict=True)])
        return Algebra.map(lambda v: self.slopes.of(total, self.cells.of(v)), x)

    def _rows(self, y: Array, x: Array) -> Array:
        out = np.empty((y.size, x.size), dtype=object)
        for i, value in enumerate(np.ravel(y)):
            out[i] = [self.slopes.of(self.cells.of(value), self.cells.of(v)) for v in np.ravel(x)]
        return out.reshape(*y.shape, *x.shape)


def _array(cell: Cell) -> Array:
    out = np.empty((), dtype=object)
    out[()] = cell
    return out
