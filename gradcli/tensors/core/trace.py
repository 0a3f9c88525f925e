"""A function of tensors as a graph of the language: what it did, operation by operation, at one point.

What the trace cannot see (numbers taken out of tensors by ``item()``, detached values, a user's `autograd.Function`) appears in it
as constants; two traces at different points tell whether these constants hide a dependence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor


class Trace:
    """The graph of one run: its inputs are leaves."""

    def __init__(self, inputs: Sequence[Tensor], names: Sequence[str]) -> None:
        self.graph = Graph()
        self.leaves = {name: self.graph.leaf(name, x.array.shape) for name, x in zip(names, inputs, strict=True)}
        self.steps: list[Any] = []  # what was done, to be compared with another run
        self.opaque = False  # whether something that requires grad came from nowhere
        self._alive: list[Tensor] = []
        self._nodes: dict[int, tuple[Expr, int]] = {}  # of tensors, at these versions
        self._behind: dict[Node, Expr] = {}  # of the nodes behind tensors: a backward pass makes new tensors of these
        for name, x in zip(names, inputs, strict=True):
            self._remember(x, self.leaves[name])

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """An operation was applied."""
        if op is chain:  # a product whose zeros win; where all is finite its derivatives are those of the product, there, too
            op = mul
        self.steps.append((op.name, repr(sorted(static.items(), key=str))))
        try:
            node = self.graph.apply(op, [None if o is None else self._operand(o) for o in operands], dict(static))
        except (GradcliError, TypeError):
            self.opaque = True
            return
        if isinstance(result, tuple):
            for place, part in enumerate(result):
                self._remember(part, output(node, place=place))
        else:
            self._remember(result, node)

    def rename(self, tensor: Tensor, result: Tensor) -> None:
        """A tensor was overwritten with a result; what its node has made stays what it was."""
        self._know(tensor, self._operand(result))

    def _know(self, tensor: Tensor, node: Expr) -> None:
        self._alive.append(tensor)
        self._nodes[id(tensor)] = node, tensor._version

    def _remember(self, tensor: Tensor, node: Expr) -> None:
        self._know(tensor, node)
        if tensor.node is not None:
            self._behind[tensor.node] = node

    def _operand(self, operand: Any) -> Expr:
        if not isinstance(operand, Tensor):
            kept = np.array(operand)  # whose memory may be an input's
            self.steps.append(kept)
            return self.graph.constant(kept if isinstance(operand, np.ndarray) else operand)
        node = None if operand.node is None else self._behind.get(operand.node)
        if node is None:
            node, version = self._nodes.get(id(operand), (None, 0))
            if version != operand._version and not (operand.is_leaf and operand.requires_grad):  # it was written to, through a view
                node = None
        if node is None:
            self.opaque = self.opaque or operand.requires_grad
            self.steps.append(operand.array.copy())
            node = self.graph.constant(operand.array.copy())
        return node

    def node_of(self, tensor: Tensor) -> Expr:
        return self._operand(tensor)

    def same_steps(self, other: Trace) -> bool:
        """Whether two runs did the same, with the same constants."""
        return len(self.steps) == len(other.steps) and all(map(_same, self.steps, other.steps))


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return x.shape == y.shape and bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
    return type(x) is type(y) and not isinstance(x, np.ndarray) and x == y


def traced(function: Callable[..., Any], arguments: Sequence[Any], inputs: Sequence[Tensor], names: Sequence[str]) -> tuple[Any, Trace]:
    """A function's result and its trace with respect to some of its arguments."""
    trace = Trace(inputs, names)
    before = state.change(recorder=trace)
    try:
        return function(*arguments), trace
    finally:
        state.change(**before)
