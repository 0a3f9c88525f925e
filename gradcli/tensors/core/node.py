"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.entries import Entries
from gradcli.tensors.core.hooks import Hooks

next_index = itertools.count(1).__next__


class Watch:
    """Who wants to know of a node's gradient."""

    __slots__ = ("hooks", "post_hooks", "retained")

    def __init__(self) -> None:
        self.hooks: Hooks = {}
        self.post_hooks: Hooks = {}
        self.retained: Any = None  # a weak reference to the tensor whose gradient is kept


_OF_THE_ENGINE = frozenset({"AccumulateGrad", "CopySlices", "CopyBackwards"})  # which no operation has given its name
Versions = list[tuple[list[int], int, int]]


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``. PyTorch's name of the operation is the name of its class.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or what stands for them (saved_values.py)
    versions  for each saved tensor its version counter, the version, and its place in ``saved``; None if nothing is kept
              that a backward pass will free
    """

    __slots__ = ("__weakref__", "dtype", "index", "op", "operands", "saved", "shape", "static", "versions", "watch")

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
        return f"torch::autograd::{self.label}" if self.label in _OF_THE_ENGINE else self.label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here; None for tensors that need none."""
        operands = self.operands
        if self.op is not None and len(operands) > 1 and not self.op.torch.edges:
            operands = tuple(o for o in operands if o is not None) or operands[:1]
        return tuple((operand, 0) for operand in operands)

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
    return re.sub(r"Backward[0-9]*$", "", node.label)


def node_of_part(node: Node, place: int, part: Entries) -> Node:
    """The node of one of several results."""
    made: Node = type(node)(output, (node,), {"place": place}, part.array.shape, part.array.dtype)
    return made


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)
