"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any
from weakref import ref

from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.entries import Entries
from gradcli.tensors.core.hooks import Hooks, RemovableHandle

next_index = itertools.count(1).__next__


class Watch:
    """Who wants to know of a node's gradient, and what is kept about the node.

    hooks        of tensors: with a gradient when it is complete
    before       of the node: with the gradients of its results, before its rule runs
    after        of the node: with what it passes on and these, after that
    accumulated  of leaves: with the tensor, after its ``grad`` has been added to
    """

    __slots__ = ("accumulated", "after", "before", "hooks", "metadata", "retained")

    def __init__(self) -> None:
        self.hooks: Hooks = {}
        self.before: Hooks = {}
        self.after: Hooks = {}
        self.accumulated: Hooks = {}
        self.retained: Any = None  # a weak reference to the tensor whose gradient is kept
        self.metadata: dict[Any, Any] = {}


Versions = list[tuple[list[int], int, int]]


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``. PyTorch's name of the operation is the name of its class.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or what stands for them (saved_values.py)
    versions  for each saved tensor its version counter, the version, and its place in ``saved``; None if nothing is kept
              that a backward pass will free
    """

    __slots__ = ("__weakref__", "dtype", "index", "op", "operands", "parts", "saved", "shape", "static", "versions", "watch")
    requires_grad = True
    parts: dict[int, Callable[[], Node | None]]

    def __init__(
        self, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any, saved: Any = None,
        versions: Versions | None = None,
    ) -> None:  # fmt: skip
        self.op = op
        self.operands = operands
        self.static = static
        self.shape = shape
        self.dtype = dtype
        self.saved = saved
        self.versions = versions
        self.index = next_index()
        self.watch: Watch | None = None

    def watched(self) -> Watch:
        """Its watch, from now on."""
        if self.watch is None:
            self.watch = Watch()
        return self.watch

    @property
    def label(self) -> str:
        """PyTorch's name of the operation."""
        return type(self).__name__

    @label.setter
    def label(self, label: str) -> None:
        self.__class__ = node_class(label, type(self).__base__ or Node)

    def name(self) -> str:
        """PyTorch's name of the operation."""
        return self.label

    def __call__(self, *gradients: Any) -> Any:
        """What the node passes on, given by backward_pass.py."""
        raise NotImplementedError

    @property
    def whole(self) -> Node:
        """The node of the operation, of which this may be one of several results."""
        return self.operands[0] if self.op is output and self.operands[0] is not None else self

    @property
    def place(self) -> int:
        """Which result of the operation it is."""
        place: int = self.static["place"] if self.op is output else 0
        return place

    def part(self, place: int) -> Node:
        """The node of a result, which is its own if it has one only."""
        found = getattr(self, "parts", {}).get(place, NoneType)()
        return self if found is None else found

    @property
    def metadata(self) -> dict[Any, Any]:
        """What anybody wants to keep with the node."""
        return self.watched().metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(grad_inputs, grad_outputs) after the node has run; what it returns replaces what the node passes on."""
        return RemovableHandle(self.watched().after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(grad_outputs) before the node runs; what it returns replaces them."""
        return RemovableHandle(self.watched().before, hook)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here; None for tensors that need none."""
        return tuple([(None, 0) if operand is None else (operand.whole, operand.place) for operand in self.operands])

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


@cache
def node_class(label: str, base: type[Node] = Node) -> type[Any]:
    """The class of the nodes of this name."""
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


class AccumulateGrad(Node):
    """The end of the graph: the gradient of a leaf is added up in its ``grad``."""

    __slots__ = ("variable",)
    op = None
    operands = ()
    static: Mapping[str, Any] = MappingProxyType({})
    saved = None
    versions = None

    def __init__(self, variable: Entries) -> None:
        self.variable: Any = variable  # a tensor
        self.shape = variable.array.shape
        self.dtype = variable.array.dtype
        self.index = next_index()
        self.watch = None


def named(node: Node) -> str:
    """What PyTorch calls the operation of a node in messages."""
    return node.label.partition("Backward")[0]


def node_of_part(node: Node, place: int, part: Entries) -> Node:
    """The node of one of several results."""
    made: Node = type(node)(output, (node,), {"place": place}, part.array.shape, part.array.dtype)
    try:
        node.parts[place] = ref(made)
    except AttributeError:
        node.parts = {place: ref(made)}
    return made


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)
