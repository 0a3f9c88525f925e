"""A function of tensors as a graph of the language.

It shows what the function did, operation by operation, at one point. What the trace cannot see
(numbers taken out of tensors by ``item()``, detached values, a user's `autograd.Function`) appears
in it as constants. Two traces at different points tell whether these constants hide a dependence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.striding import as_strided, as_strided_scatter
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.ops.pytorch import kept_places
from gradcli.ops.spec import Op
from gradcli.ops.structure import detach, output
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.node import Node, Shaped
from gradcli.tensors.core.tensor import Tensor, geometry

_Array = np.ndarray


class Trace:
    """The graph of one run: its inputs are leaves."""

    def __init__(self, inputs: Mapping[str, Tensor]) -> None:
        self.graph = Graph()
        self.leaves = {name: self.graph.leaf(name, x.array.shape) for name, x in inputs.items()}
        self.steps: list[Any] = []  # the operations, to be compared with another run
        self.constants: list[np.ndarray] = []
        self.opaque = False  # whether a tensor that requires grad is of unknown origin
        # Dtypes of computations that are not seen, as under PyTorch's autocast.
        self.further: set[np.dtype[Any]] = set()
        self._alive: list[Tensor] = []
        # By tensor id: its node, and its memory's version at that time.
        self._nodes: dict[int, tuple[Expr, int]] = {}
        # By a tensor's node, as a backward pass makes new tensors of saved ones.
        self._behind: dict[Node, Expr] = {}
        for name, x in inputs.items():
            self._remember(x, self.leaves[name])

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """Note that an operation was applied."""
        if op is chain:  # where all is finite its derivatives are those of the product
            op = mul
        self.steps.append((op.name, {**static}))  # parameters compare by content
        try:
            node = self.graph.apply(
                op, [None if o is None else self.node_of(o) for o in operands], dict(static)
            )
        except (GradcliError, TypeError):
            self.opaque = True
            return
        if isinstance(result, tuple):
            for place, part in enumerate(result):
                self._remember(part, output(node, place=place))
        else:
            self._remember(result, node)

    def rename(self, tensor: Tensor, result: Tensor) -> None:
        """Note that a tensor is what another one is now."""
        self._remember(tensor, self.node_of(result))

    def hold(self, tensor: Tensor) -> None:
        """No gradient flows through a tensor from here on."""
        self.steps.append("held")
        self._remember(tensor, self.graph.apply(detach, [self.node_of(tensor)]))

    def overwritten(self, tensor: Tensor, result: Tensor) -> None:
        """Note that a tensor was overwritten with a result.

        If it is a view, its base is noted to have changed as well.
        """
        node = self.node_of(result)
        if tensor._view is not None:
            base = tensor._view.base
            before = self._nodes.get(id(base))
            known = self.graph.constant(base.array.copy()) if before is None else before[0]
            self._remember(
                base,
                self.graph.apply(
                    as_strided_scatter, [known, node], geometry(base.array, tensor.array)
                ),
            )
        self._remember(tensor, node)

    @property
    def kinds(self) -> set[np.dtype[Any]]:
        """The dtypes that were met."""
        return {tensor.array.dtype for tensor in self._alive} | self.further

    def _remember(self, tensor: Tensor, node: Expr) -> None:
        self._alive.append(tensor)
        self._nodes[id(tensor)] = node, tensor._version_counter[0]
        if tensor.node is not None:
            self._behind.setdefault(tensor.node, node)  # a node's result does not change

    def node_of(self, operand: Any) -> Expr:
        """Return the node of a tensor, an array or a number."""
        if not isinstance(operand, Tensor):
            kept = np.array(operand)  # a copy, as an input may own the memory
            return self._constant(kept, kept if isinstance(operand, np.ndarray) else operand)
        known = self._nodes.get(id(operand))
        if known is not None and (
            known[1] == operand._version_counter[0]
            or (operand.node is None and operand._requires_grad)
        ):
            return known[0]
        view = operand._view
        # A view whose memory has been written to since.
        if view is not None and known is not None and id(view.base) in self._nodes:
            self._remember(
                operand,
                self.graph.apply(
                    as_strided, [self.node_of(view.base)], geometry(view.base.array, operand.array)
                ),
            )
            return self._nodes[id(operand)][0]
        if known is None and operand.node in self._behind:  # a result that its node has saved
            return self._behind[operand.node]
        self.opaque = self.opaque or operand.requires_grad
        kept = operand.array.copy()
        return self._constant(kept, kept)

    def _constant(self, kept: np.ndarray, value: Any) -> Expr:
        self.constants.append(kept)
        self.steps.append(kept)
        return self.graph.constant(value)

    def has_constants_of(self, other: Trace) -> bool | None:
        """Return whether all constants are the same in another run.

        It is None if the other run did something else.
        """
        if len(self.steps) != len(other.steps) or not all(map(_alike, self.steps, other.steps)):
            return None
        return all(
            np.array_equal(x, y, equal_nan=x.dtype.kind in FLOATS)
            for x, y in zip(self.constants, other.constants, strict=True)
        )


def _alike(x: Any, y: Any) -> bool:
    """Return whether steps are the same, but for the floats that are constants."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        floats = x.dtype.kind in FLOATS and y.dtype.kind in FLOATS
        return x.shape == y.shape and (floats or bool(np.array_equal(x, y)))
    return type(x) is type(y) and not isinstance(x, np.ndarray) and x == y


# -- What a node keeps of its result and operands for its rule, and how it is asked for again ----


FREED: Any = object()
SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)
_SAVED = {
    "_saved_result": 0,
    "_saved_self": 1,
    "_saved_other": 2,
    "_saved_exponent": 2,
    "_saved_mat2": 2,
}


class _NotKept:
    """Stand-in for a result that a rule does not read, and, elementwise, for an operand.

    Not even its shape matters there.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_KEPT"


NOT_KEPT = _NotKept()


def save(
    op: Op, wanted: int, result: Any, operands: Sequence[Any], values: list[Any]
) -> list[tuple[list[int], int, int]] | None:
    """Keep those of an operation's values that a node's rule reads.

    The values are its result and its operands. Returns the versions of what is kept.

    wanted  the operands that require grad, a bit for each, that of the first one the highest
    result  the tensor, or the tuple of tensors
    """
    keeps, drops = kept_places(op, len(operands), wanted)
    if drops:
        elementwise = op.elementwise
        for place in drops:
            if elementwise:
                values[place] = NOT_KEPT
            elif isinstance(values[place], _Array):
                values[place] = Shaped(values[place]) if place else NOT_KEPT
    if not keeps:
        return None
    versions = []
    for place in keeps:
        tensor = operands[place - 1] if place else result
        if isinstance(tensor, Tensor):
            counter = tensor._version_counter
            versions.append((counter, counter[0], place))
    return versions


def saved_tensors(node: Node, saved: Sequence[Any]) -> Sequence[Any]:
    """Return saved values as tensors of the graph.

    What is computed from them can be differentiated again.
    """
    if isinstance(saved[0], tuple):
        out: Any = tuple(Tensor(np.asarray(part)) for part in saved[0])
        join_parts(out, node)
    else:
        out = rejoin(saved[0], node)
    return [
        out,
        *[rejoin(value, operand) for value, operand in zip(saved[1:], node.operands, strict=True)],
    ]


def join_parts(parts: Sequence[Tensor], node: Node) -> None:
    """Make tensors the results of a node, as far as they hold floats."""
    for place, part in enumerate(parts):
        if (array := part.array).dtype.kind in FLOATS:
            part.node = Node(
                node.label, output, (node,), {"place": place}, array.shape, array.dtype
            )
            part._requires_grad = True


def rejoin(value: Any, node: Node | None) -> Any:
    """Return a value as the tensor that a node has made of it; numbers are unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    if node is not None and node.op is None:
        return node.variable
    tensor = Tensor(value)
    if node is not None:
        tensor.node = node
        tensor._requires_grad = True
    return tensor


def _saved_under(name: str, place: int) -> property:
    """``_saved_self``, ``_saved_other``, ``_saved_result``: what the rule will read."""

    def save_value(node: Node) -> Any:
        if node.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        if not isinstance(node.saved, list) or place >= len(node.saved):
            raise AttributeError(f"'{node.label}' object has no attribute {name!r}")
        value = node.saved[place]
        if isinstance(value, (Shaped, _NotKept)):
            raise AttributeError(f"'{node.label}' does not keep this value")
        tensor = rejoin(value, node if place == 0 else node.operands[place - 1])
        for counter, _, kept_place in node.versions or ():
            if kept_place == place and isinstance(tensor, Tensor):
                tensor._version_counter = counter
        return tensor

    return property(save_value)


for _saved_name, _place in _SAVED.items():
    setattr(Node, _saved_name, _saved_under(_saved_name, _place))
