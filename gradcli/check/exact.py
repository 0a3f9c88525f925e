"""E-infinity: the engine's own rules, run by the engine's own sweep on multi-precision numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.operand import Operand
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Numbers, surely_zero
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.exact_values import constant_array, exact_array
from gradcli.reference.signed_zeros import SignedZeros


class Reals(Operand):
    """An array of multi-precision numbers that rules compute with."""

    __slots__ = ("algebra", "array")
    __array_ufunc__ = None  # NumPy scalars and arrays leave mixed operators to the carrier

    def __init__(self, algebra: Numbers, array: np.ndarray) -> None:
        self.algebra, self.array = algebra, array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def is_zero(self) -> bool:
        return all(map(surely_zero, self.array.ravel()))

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        arrays = [None if o is None else self._array(o) for o in operands]
        result = self.algebra.apply(op, static, arrays)
        if isinstance(result, tuple):
            return tuple(Reals(self.algebra, part) for part in result)
        return Reals(self.algebra, result)

    def _array(self, operand: Any) -> np.ndarray:
        if isinstance(operand, Reals):
            return operand.array
        m = self.algebra.m
        if isinstance(operand, Constant):
            out = np.empty((), dtype=object)
            out[()] = operand.reference(m)
            return out
        kind = "bool" if np.asarray(operand).dtype == np.bool_ else "float"
        return exact_array(m, operand, kind)


class Exact(Domain[Reals]):
    """The engine's own rules without rounding."""

    def __init__(self, m: Any, leaves: Mapping[Expr, Any], precision: str, zeros: SignedZeros | None = None) -> None:
        self.m, self.leaves, self.precision, self.zeros = m, leaves, precision, zeros
        self.algebra = Numbers(m, precision)

    def leaf(self, node: Expr) -> Reals:
        return Reals(self.algebra, exact_array(self.m, self.leaves[node], node.kind))

    def constant(self, node: Expr) -> Reals:
        return Reals(self.algebra, constant_array(self.m, node, self.precision))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        arrays = [None if o is None else o.array for o in operands]
        if self.zeros is not None:
            arrays = self.zeros.marked(self.m, node, arrays)
        result = self.algebra.apply(op, node.static, arrays)
        return tuple(Reals(self.algebra, part) for part in result) if isinstance(result, tuple) else Reals(self.algebra, result)


def forward_exact(m: Any, root: Expr, leaves: Mapping[Expr, Any], precision: str, zeros: SignedZeros | None = None) -> dict[Expr, Any]:
    """The engine's forward pass in multi-precision: a table for the sweep."""
    return interpret(reachable([root]), Exact(m, leaves, precision, zeros))


def gradients_exact(m: Any, table: Mapping[Expr, Any], root: Expr, wrt: Sequence[Expr], seed: Any) -> list[np.ndarray]:
    """The gradients of the engine's rules without rounding; the table is that of `forward_exact`."""
    start = Reals(table[root].algebra, exact_array(m, seed, "float"))
    found = gradients(reachable([root]), {root: start}, wrt, table.__getitem__)
    out = []
    for x in wrt:
        part = found.get(x)
        if part is None:
            part = Reals(start.algebra, exact_array(m, np.zeros(x.shape), "float"))
        out.append(part.array)
    return out
