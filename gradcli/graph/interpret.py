"""The one walk over a graph: what its nodes are in a domain, each after its operands.

A transform is another interpretation of the same graph (M. Johnson and others, Autodidax). A `Domain` says what a leaf, a constant and an
operation are, and, where that is not what most domains take it for, what a part of several results, a detached value, a named intermediate
and a derivative inside of an expression are: floats (`forward`), nodes of another graph (`Rebuilding`), tangents, errors' bounds,
multi-precision numbers, sympy's expressions, text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from gradcli.errors import EvaluationError, ExhaustedError, GradcliError
from gradcli.graph.demand import hold_program
from gradcli.graph.nodes import NO_OPERATIONS, Expr, Graph, constant_value, reachable
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.spec import Op
from gradcli.ops.structure import alias, derivative, detach, output

Values = dict[Expr, Any]
V = TypeVar("V")


class Domain(ABC, Generic[V]):
    """One reading of graphs. An operation of several results is, in any domain, something that `part` takes apart."""

    def leaf(self, node: Expr) -> V:
        """Return what takes its value from outside. Not asked for leaves that the table has from the start, which may be all."""
        raise LookupError(f"no value for {node.payload}")

    @abstractmethod
    def constant(self, node: Expr) -> V:
        """A number or an array that stands in the text."""

    @abstractmethod
    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        """An operation on operands that are known; None stands for one that was left out."""

    def part(self, node: Expr, whole: Any, place: int) -> V:
        """One result of an operation that has several."""
        found: V = whole[place]
        return found

    def alias(self, node: Expr, x: V) -> V:
        """A value under a name and an identity of its own."""
        return x

    def detach(self, node: Expr, x: V) -> V:
        """A value through which no derivative flows."""
        return x

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> V:
        """A derivative inside of an expression: what the engine's rules have expanded it to, or what is made of its definition."""
        found: V = table[node.operand]
        return found


def interpret(order: Iterable[Expr], domain: Domain[V], table: dict[Expr, Any] | None = None) -> dict[Expr, Any]:
    """Return what each node is in a domain. The order has every node after what the domain makes it of.

    table  what is known already; the nodes are added to it, and it is the result
    """
    found: dict[Expr, Any] = {} if table is None else table
    for node in order:
        if node in found:
            continue
        op = node.op
        if op is None:
            found[node] = domain.leaf(node) if node.is_leaf else domain.constant(node)
        elif op is derivative:
            found[node] = domain.derivative(node, found)
        elif op is alias:
            found[node] = domain.alias(node, found[node.operand])
        elif op is detach:
            found[node] = domain.detach(node, found[node.operand])
        elif op is output:
            found[node] = domain.part(node, found[node.operand], node.static["place"])
        else:
            found[node] = domain.operation(node, op, [None if o is None else found[o] for o in node.operands])
    return found


class Transcription(Domain[V]):
    """A domain in which operations about the program are operations as any other: where they are written, or taken over."""

    def part(self, node: Expr, whole: Any, place: int) -> V:
        found: V = self.operation(node, output, [whole])
        return found

    def alias(self, node: Expr, x: V) -> V:
        found: V = self.operation(node, alias, [x])
        return found

    def detach(self, node: Expr, x: V) -> V:
        found: V = self.operation(node, detach, [x])
        return found

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> V:
        found: V = self.operation(node, derivative, [table[node.operand]])
        return found


class Rebuilding(Transcription[Expr]):
    """The same expressions in a graph, with other operations in the place of some: shapes are inferred anew."""

    def __init__(self, graph: Graph, operations: Mapping[Op, Op] = NO_OPERATIONS) -> None:
        self.graph, self.operations = graph, operations

    def leaf(self, node: Expr) -> Expr:
        return node

    def constant(self, node: Expr) -> Expr:
        return self.graph.constant(node.payload)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return self.graph.apply(self.operations.get(op, op), operands, node.static)


def rebuild(roots: Sequence[Expr], replace: Mapping[Expr, Expr], graph: Graph, operations: Mapping[Op, Op] = NO_OPERATIONS) -> list[Expr]:
    """The same expressions over other leaves (or of other operations), in any graph."""
    done = interpret(reachable(roots), Rebuilding(graph, operations), dict(replace))
    return [done[root] for root in roots]


class Unnamed(Rebuilding):
    """The same expressions without the names that the program gave to parts of them: a formula has none of these."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        inner: Expr = operands[0] if op is alias else super().operation(node, op, operands)
        return inner


def forward(roots: Iterable[Expr], values: Mapping[Expr, Any], precision: str = "float64", order: Sequence[Expr] | None = None) -> Values:
    """The value of every node that the roots depend on, given those of the leaves.

    ``order`` is `reachable` of the roots, where the caller has it. Of the given values, those of its nodes are in the result.
    Floating-point errors give infinities and NaNs, as in NumPy, without warnings.
    Raises EvaluationError, with the failing node as ``error.node``, where an operation has no value at all.
    """
    table: Values = {}
    given = values.get
    value_of: Callable[[Any], Any] = table.get  # None for an operand that was left out
    dtype = numpy_dtype("float", precision)
    nodes = reachable(roots) if order is None else order
    if nodes and nodes[-1].graph.is_heavy:
        hold_program(nodes[-1].graph.limits, nodes, values)
    with np.errstate(all="ignore"):
        for node in nodes:
            known = given(node)
            if known is not None:
                table[node] = known
                continue
            op = node.op
            if op is None:
                table[node] = constant_value(node.payload, dtype, node.kind)
                continue
            function = op.forward if node.shape or op.operator is None else op.operator
            try:
                value = function(*map(value_of, node.operands), **node.static)
            except GradcliError as error:
                error.node = node
                raise
            except (ValueError, TypeError, IndexError, ArithmeticError) as error:
                failure = EvaluationError(f"{op.name}: {error}")
                failure.node = node
                raise failure from None
            except MemoryError:
                failure = ExhaustedError(f"not enough memory for the result of {op.name}, of shape {node.shape}")
                failure.node = node
                raise failure from None
            if node.kind == "float" and op.outputs == 1 and value.dtype is not dtype and value.dtype != dtype:
                value = value.astype(dtype)
            table[node] = value
    return table
