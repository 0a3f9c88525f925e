"""The one walk over a graph: what its nodes are in a domain, each after its operands.

A transform is another interpretation of the same graph (M. Johnson and others, Autodidax). A
`Domain` says what a leaf, a constant and an operation are, and, where that is not what most domains
take it for, what a part of several results, a detached value, a named intermediate and a derivative
inside of an expression are: floats (`forward`), nodes of another graph (`Rebuilding`), tangents,
errors' bounds, multi-precision numbers, sympy's expressions, text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from gradcli.errors import EvaluationError, ExhaustedError, GradcliError
from gradcli.graph.nodes import (
    NO_OPERATIONS,
    Expr,
    Graph,
    constant_value,
    dependents,
    reachable,
)
from gradcli.limits import ITEM, Limits
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.counting import entries_of, operations_of, workspace_of
from gradcli.ops.spec import Op
from gradcli.ops.structure import alias, derivative, detach, output

Values = dict[Expr, Any]
V = TypeVar("V")


class Domain(Generic[V]):
    """One reading of graphs.

    An operation of several results is, in any domain, something that `part` takes apart.

    constant   gives a number or an array that stands in the text
    operation  gives an operation on operands that are known; None stands for one that was left out
    """

    constant: Callable[[Expr], V]
    operation: Callable[[Expr, Op, list[Any]], V]

    def leaf(self, node: Expr) -> V:
        """Return what takes its value from outside.

        Not asked for leaves that the table has from the start, which may be all.
        """
        raise LookupError(f"no value for {node.payload}")

    def part(self, node: Expr, whole: Sequence[V], place: int) -> V:
        """One result of an operation that has several."""
        return whole[place]

    def alias(self, node: Expr, x: V) -> V:
        """Return a value under a name and an identity of its own."""
        return x

    def detach(self, node: Expr, x: V) -> V:
        """Return a value through which no derivative flows."""
        return x

    def derivative(self, node: Expr, table: Mapping[Expr, V]) -> V:
        """Return a derivative inside of an expression.

        It is the expansion by the engine's rules, or what a domain makes of the derivative's
        definition.
        """
        return table[node.operand]


class Reached(Domain[Any]):
    """Values of the nodes that change with given nodes.

    The value is None for other nodes, such as constants, and behind `detach`.
    """

    def leaf(self, node: Expr) -> None:
        return None

    constant = leaf

    def part(self, node: Expr, whole: Any, place: int) -> Any:
        return None if whole is None else whole[place]

    def detach(self, node: Expr, x: Any) -> None:
        return None


def interpret(
    order: Iterable[Expr], domain: Domain[V], table: dict[Expr, Any] | None = None
) -> dict[Expr, Any]:
    """Return what each node is in a domain.

    The order has every node after what the domain makes it of.

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
            found[node] = domain.operation(
                node, op, [None if o is None else found[o] for o in node.operands]
            )
    return found


class Transcription(Domain[V]):
    """Domain in which operations about the program are operations like any other.

    Such domains write these operations, or take them over.
    """

    def part(self, node: Expr, whole: Any, place: int) -> V:
        return self.operation(node, output, [whole])

    def alias(self, node: Expr, x: V) -> V:
        return self.operation(node, alias, [x])

    def detach(self, node: Expr, x: V) -> V:
        return self.operation(node, detach, [x])

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> V:
        return self.operation(node, derivative, [table[node.operand]])


class Rebuilding(Transcription[Expr]):
    """The same expressions in a graph, with some operations replaced.

    Shapes are inferred anew.
    """

    def __init__(self, graph: Graph, operations: Mapping[Op, Op] = NO_OPERATIONS) -> None:
        self.graph = graph
        self.operations = operations

    def leaf(self, node: Expr) -> Expr:
        return node

    def constant(self, node: Expr) -> Expr:
        return self.graph.constant(node.payload)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return self.graph.apply(self.operations.get(op, op), operands, node.static)


def rebuild(
    roots: Sequence[Expr],
    replace: Mapping[Expr, Expr],
    operations: Mapping[Op, Op] = NO_OPERATIONS,
    graph: Graph | None = None,
) -> list[Expr]:
    """Rebuild the same expressions over other leaves or of other operations.

    They are put into another graph, if one is given.
    """
    graph = roots[0].graph if graph is None else graph
    done = interpret(reachable(roots), Rebuilding(graph, operations), dict(replace))
    return [done[root] for root in roots]


class Unnamed(Rebuilding):
    """The same expressions without the names that the program gave to parts of them.

    A formula has no such names.
    """

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return operands[0] if op is alias else super().operation(node, op, operands)


def forward(
    roots: Iterable[Expr],
    values: Mapping[Expr, Any],
    precision: str = "float64",
    order: Sequence[Expr] | None = None,
) -> Values:
    """Return the value of every node that the roots depend on, given those of the leaves.

    ``order`` is `reachable` of the roots, where the caller has it. The result includes the given
    values of its nodes. Floating-point errors give infinities and NaNs, as in NumPy, without
    warnings. Raises EvaluationError, with the failing node as ``error.node``, where an operation
    has no value at all.
    """
    table: Values = {}
    given = values.get
    value_of: Callable[[Any], Any] = table.get  # gives None for an operand that was left out
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
                table[node] = constant_value(node, dtype)
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
                failure = ExhaustedError(
                    f"not enough memory for the result of {op.name}, of shape {node.shape}"
                )
                failure.node = node
                raise failure from None
            if (
                node.kind == "float"
                and op.outputs == 1
                and value.dtype is not dtype
                and value.dtype != dtype
            ):
                value = value.astype(dtype)
            table[node] = value
    return table


# -- What computing a program takes, counted from its graph before anything is computed: bytes that
# are held at once, scalar operations. A node is held to the limits when it is made
# (`ops.counting.hold`), a program when it is about to be evaluated; only what has large arrays or
# costly operations in it is looked at again (`Graph.is_heavy`).


WITH_GRADIENT = "the statement with its gradient"
_BACKWARDS = 2  # cost of a sweep, in forward passes


def hold_program(
    limits: Limits,
    order: Sequence[Expr],
    values: Mapping[Expr, Any],
    wrt: Iterable[Expr] | None = None,
) -> None:
    """Raise LimitError where evaluating nodes takes more than the limits allow.

    Each node comes after its operands.

    values  those of the leaves: what the program holds already
    wrt     what the last node is differentiated with respect to, in a sweep that follows; None for
            none
    """
    hold_work(limits, order, wrt)
    what = "the statement" if wrt is None else WITH_GRADIENT
    held = held_by(values.values()) + sum(bytes_of(node) for node in order if not node.is_leaf)
    scratch = max((scratch_of(node) for node in order), default=0)
    limits.check_memory(held + max(scratch, 0 if wrt is None else bytes_of_sweep(order, wrt)), what)


def hold_work(
    limits: Limits, order: Sequence[Expr], wrt: Iterable[Expr] | None, sweeps: int = 1
) -> None:
    """Raise LimitError where evaluating nodes takes more scalar operations than allowed.

    With ``wrt``, those of ``sweeps`` backward sweeps are counted, too.
    """
    times, what = (1, "the statement") if wrt is None else (1 + _BACKWARDS * sweeps, WITH_GRADIENT)
    limits.check_work(times * sum(map(operations, order)), what)


def held_by(values: Iterable[Any]) -> int:
    """Return the bytes of memory that arrays take, without those that lie in files."""
    return sum(
        value.nbytes for value in values if isinstance(value, np.ndarray) and not _in_file(value)
    )


def _in_file(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def cost_of(node: Expr, of: Callable[[Op, Any, Sequence[Any]], int]) -> int:
    """Return the cost of a node's operation by a function of counting.py.

    Leaves, and parts of results, cost nothing.
    """
    if node.op is None or node.op is output:
        return 0
    return of(node.op, node.shape, shapes_of(node))


def operations(node: Expr) -> int:
    """Count the scalar operations that it takes to compute a node of its operands."""
    return cost_of(node, operations_of)


def scratch_of(node: Expr) -> int:
    """Return the bytes of scratch memory for computing a node, or carrying its adjoint back.

    Operands and result are not counted.
    """
    return ITEM * cost_of(node, workspace_of)


def shapes_of(node: Expr) -> list[Any]:
    return [None if operand is None else operand.shape for operand in node.operands]


def bytes_of(node: Expr) -> int:
    """Return the bytes that NumPy's value of a node takes.

    A view of another node's entries takes none.
    """
    return 0 if _is_view(node) else size_of(node)


def size_of(node: Expr) -> int:
    """Return the bytes of a node's entries."""
    return ITEM * (math.prod(node.shape) if node.op is None else entries_of(node.op, node.shape))


def _is_view(node: Expr) -> bool:
    op = node.op
    if op is output:
        return True
    if op is None or not (op.shares or (op.linear and op.leaves_unchanged)):
        return False
    if any(isinstance(part, StaticArray) for part in node.static.get("index", ())):
        return False  # an index array copies its entries one by one
    return op.algebra != "reshaping" or not _is_view(node.operand)


def bytes_of_sweep(order: Sequence[Expr], wrt: Iterable[Expr]) -> int:
    """Return the bytes that a sweep over nodes holds at once.

    They are those of incomplete adjoints, and those that one rule makes.
    """
    needed = dependents(order, wrt)
    live = most = size_of(order[-1])
    begun = {order[-1]}
    for node in reversed(order):
        if node not in needed:
            continue
        own = size_of(node)
        passed = [operand for operand in dict.fromkeys(node.operands) if operand in needed]
        if passed:
            most = max(most, live + _temporaries(node) * own + scratch_of(node))
        new = [operand for operand in passed if operand not in begun]
        begun.update(new)
        live += sum(map(size_of, new)) - (own if passed else 0)
        most = max(most, live)
    return most


def _temporaries(node: Expr) -> int:
    """Count the arrays that a rule has at once beside what it gives."""
    return 4 if node.op is not None and node.op.kind == "smooth" else 1
