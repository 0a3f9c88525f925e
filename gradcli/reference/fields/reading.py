"""Graphs as elements of a field: every leaf's entries are variables, and operations what their references make of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain
from gradcli.graph.nodes import Expr, constant_value
from gradcli.graph.transforms import Derivation
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.deadline import in_time
from gradcli.reference.fields.derivation import Derivation as FieldDerivation
from gradcli.reference.fields.element import Element
from gradcli.reference.fields.functions import Functions, Variable

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


class Reading(Domain[Any]):
    """A graph as arrays of elements.

    values  of leaves that are whole numbers or truths, which stay what they are
    alike   whether all entries of all arrays are treated alike: then an array is one element
    """

    def __init__(self, functions: Functions, values: Mapping[Expr, Any], precision: str, alike: bool) -> None:
        self.functions, self.values, self.precision, self.alike = functions, values, precision, alike
        self.algebra = _Elements(functions, precision)

    def leaf(self, node: Expr) -> np.ndarray:
        if node.kind != "float":
            return _array(np.shape(self.values[node]), [self.functions.of(v) for v in np.ravel(self.values[node]).tolist()])
        shape = () if self.alike else node.shape
        count = int(np.prod(shape))
        if count > _MOST_VARIABLES:
            raise Unsupported("an array of so many entries")
        field = self.functions.field
        return _array(shape, [Element(field, field.symbols[field.place((node, i), Variable)]) for i in range(count)])

    def constant(self, node: Expr) -> np.ndarray:
        """Literals as the binary numbers that the engine sees; pi and its like as what they are."""
        if isinstance(node.payload, Constant):
            return _array((), [self.functions.of(node.payload.reference(self.functions))])
        value = np.asarray(constant_value(node.payload, numpy_dtype("float", self.precision), node.kind))
        return _array(value.shape, [self.functions.of(v) for v in value.ravel()])

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        return self.algebra.apply(op, node.static, operands)

    def part(self, node: Expr, whole: Any, place: int) -> np.ndarray:
        return np.asarray(whole[place], dtype=object)

    def detach(self, node: Expr, x: np.ndarray) -> np.ndarray:
        raise Unsupported("a detached value")

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> np.ndarray:
        """A derivative inside of the expression, from its definition."""
        of: Derivation = node.static["of"]
        y, x = table[of.y], table[of.x]
        if of.kind == "vjp":
            return self.slopes(y, None if of.vector is None else table[of.vector], x)
        if of.kind == "hessian":
            slopes = self.slopes(y, None, x)
            rows = [self.slopes(_array((), [v]), None, x) for v in np.ravel(slopes)]
            return np.array(rows, dtype=object).reshape((*x.shape, *x.shape))
        raise Unsupported(of.kind)

    def slopes(self, y: np.ndarray, weights: Any, x: np.ndarray) -> np.ndarray:
        """The derivatives of a weighted sum by elements that are variables."""
        total = self.functions.zero
        factors = [1] * y.size if weights is None else list(np.ravel(weights))
        for entry, weight in zip(np.ravel(y), factors, strict=True):
            total = total + self.functions.of(entry) * weight
        return _array(x.shape, [self._slope(total, v) for v in in_time(np.ravel(x))])

    def _slope(self, total: Element, by: Any) -> Element:
        field = self.functions.field
        place = field.single(by.p) if isinstance(by, Element) and not by.below else None
        if place is None or type(field.generators[place]) is not Variable:
            raise Unsupported("a derivative with respect to an intermediate result")
        return FieldDerivation(field, place)(total)


def _array(shape: Sequence[int], entries: list[Any]) -> np.ndarray:
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)
