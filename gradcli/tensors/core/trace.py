"""A function of tensors as a graph of the language: what it did, operation by operation, at one point.

What the trace cannot see (numbers taken out of tensors by ``item()``, detached values, a user's `autograd.Function`) appears in it
as constants; two traces at different points tell which of these constants hide a dependence. A trace that is told so has leaves in their
places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.striding import as_strided, as_strided_scatter
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach, output
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry


class Trace:
    """The graph of one run: its inputs are leaves, and so are the constants whose numbers are ``hiding``."""

    def __init__(self, inputs: Sequence[Tensor], names: Sequence[str], hiding: Collection[int] = ()) -> None:
        self.graph = Graph()
        self.leaves = {name: self.graph.leaf(name, x.array.shape) for name, x in zip(names, inputs, strict=True)}
        self.steps: list[Any] = []  # what was done, to be compared with another run
        self.constants: list[np.ndarray] = []
        self.hidden: dict[int, Expr] = {}
        self._hiding = hiding
        self.opaque = False  # whether something that requires grad came from nowhere
        self.further: set[np.dtype[Any]] = set()  # dtypes that were computed in and not seen, as under PyTorch's autocast
        self._met: dict[Expr, set[np.dtype[Any]]] = {}
        self._alive: list[Tensor] = []
        self._nodes: dict[int, tuple[Expr, int]] = {}  # of each tensor, and the version of its memory
        self._behind: dict[Node, Expr] = {}  # of the nodes behind tensors: a backward pass makes new tensors of these
        for name, x in zip(names, inputs, strict=True):
            self._remember(x, self.leaves[name])

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """An operation was applied."""
        if op is chain:  # a product whose zeros win; where all is finite its derivatives are those of the product, there, too
            op = mul
        self.steps.append((op.name, {**static}))  # whose values compare by content
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
        """A tensor is what another one is now."""
        self._remember(tensor, self._operand(result))

    def hold(self, tensor: Tensor) -> None:
        """No gradient flows through a tensor from here on."""
        self.steps.append("held")
        self._remember(tensor, self.graph.apply(detach, [self._operand(tensor)]))

    def overwritten(self, tensor: Tensor, result: Tensor) -> None:
        """A tensor was overwritten with a result; of a view, this is what became of its base."""
        node = self._operand(result)
        if tensor._view is not None:
            base = tensor._view.base
            before = self._nodes.get(id(base))
            known = self.graph.constant(base.array.copy()) if before is None else before[0]
            self._remember(base, self.graph.apply(as_strided_scatter, [known, node], geometry(base.array, tensor.array)))
        self._remember(tensor, node)

    @property
    def kinds(self) -> set[np.dtype[Any]]:
        """The dtypes that were met."""
        return {tensor.array.dtype for tensor in self._alive} | self.further

    @property
    def kinds_of(self) -> Mapping[Expr, set[np.dtype[Any]]]:
        """The dtypes that each node was met in; none of a trace in few bits, or under autocast, where they are not the code's own."""
        wide = all(self._met[leaf] == {np.dtype(np.float64)} for leaf in self.leaves.values())
        return self._met if wide and not self.further else {}

    def _remember(self, tensor: Tensor, node: Expr) -> None:
        self._alive.append(tensor)
        self._met.setdefault(node, set()).add(tensor.array.dtype)
        self._nodes[id(tensor)] = node, tensor._version_counter[0]
        if tensor.node is not None:
            self._behind.setdefault(tensor.node, node)  # what a node has made stays what it was

    def _operand(self, operand: Any) -> Expr:
        if not isinstance(operand, Tensor):
            kept = np.array(operand)  # whose memory may be an input's
            return self._constant(kept, kept if isinstance(operand, np.ndarray) else operand)
        known = self._nodes.get(id(operand))
        if known is not None and (known[1] == operand._version_counter[0] or (operand.node is None and operand._requires_grad)):
            return known[0]
        view = operand._view
        if view is not None and known is not None and id(view.base) in self._nodes:  # its memory has been written to since
            self._remember(operand, self.graph.apply(as_strided, [self._operand(view.base)], geometry(view.base.array, operand.array)))
            return self._nodes[id(operand)][0]
        if known is None and operand.node in self._behind:  # what a node has kept of its result
            return self._behind[operand.node]
        self.opaque = self.opaque or operand.requires_grad
        kept = operand.array.copy()
        return self._constant(kept, kept)

    def _constant(self, kept: np.ndarray, value: Any) -> Expr:
        number = len(self.constants)
        self.constants.append(kept)
        self.steps.append(kept)
        if number not in self._hiding:
            return self.graph.constant(value)
        self.hidden[number] = self.graph.leaf(f"constant {number}", kept.shape)
        return self.hidden[number]

    def node_of(self, tensor: Tensor) -> Expr:
        return self._operand(tensor)

    def same_steps(self, other: Trace) -> bool:
        """Whether two runs did the same, with the same constants."""
        return self.differing(other) == []

    def differing(self, other: Trace) -> list[int] | None:
        """The constants that are other floats in another run; None if it did something else."""
        if len(self.steps) != len(other.steps) or not all(map(_alike, self.steps, other.steps)):
            return None
        pairs = enumerate(zip(self.constants, other.constants, strict=True))
        return [number for number, (x, y) in pairs if not np.array_equal(x, y, equal_nan=x.dtype.kind in FLOATS)]


def _alike(x: Any, y: Any) -> bool:
    """Whether steps are the same, but for the floats that are constants."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        floats = x.dtype.kind in FLOATS and y.dtype.kind in FLOATS
        return x.shape == y.shape and (floats or bool(np.array_equal(x, y)))
    return type(x) is type(y) and not isinstance(x, np.ndarray) and x == y


def traced(
    function: Callable[..., Any], arguments: Sequence[Any], inputs: Sequence[Tensor], names: Sequence[str], hiding: Collection[int] = ()
) -> tuple[Any, Trace]:
    """A function's result and its trace with respect to some of its arguments."""
    trace = Trace(inputs, names, hiding)
    before = state.change(recorder=trace)
    try:
        return function(*arguments), trace
    finally:
        state.change(**before)
