"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.ops.spec import Carrier, Op
from gradcli.tensors.hooks import Hooks
from gradcli.tensors.naming import naming

if TYPE_CHECKING:
    from gradcli.tensors.tensor import Tensor

next_index = itertools.count(1).__next__
FREED: Any = object()
SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)
INFERENCE = (
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in autograd."
)
_PAIRS = frozenset({"add", "sub", "mul", "div", "matmul", "maximum", "minimum", "concatenate", "stack", "overwrite"})
_SAVED = {"_saved_result": 0, "_saved_self": 1, "_saved_other": 2, "_saved_exponent": 2, "_saved_mat2": 2}


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


class _NotKept:
    """What an elementwise rule gets for an operand that it does not read; not even its shape matters there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_KEPT"


NOT_KEPT = _NotKept()


class Watch:
    """Who wants to know of a node's gradient."""

    __slots__ = ("hooks", "post_hooks", "retained")

    def __init__(self) -> None:
        self.hooks: Hooks = {}
        self.post_hooks: Hooks = {}
        self.retained: Any = None  # a weak reference to the tensor whose gradient is kept


Versions = list[tuple[list[int], int, int]]


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``. PyTorch's name of the operation is the name of its class.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or `Shaped` where it reads a shape only
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
        return self.label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here; None for tensors that need none."""
        operands = self.operands
        if self.op is not None and len(operands) > 1 and self.op.name not in _PAIRS:
            operands = tuple(o for o in operands if o is not None) or operands[:1]
        return tuple((operand, 0) for operand in operands)

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


_naming = cache(naming)


@cache
def node_class(label: str, base: type[Node] = Node) -> type[Any]:
    """The class of the nodes of this name."""
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


def kind_of(op: Op, arrays: Sequence[Any], static: Mapping[str, Any]) -> type[Any]:
    """The class of an operation's nodes."""
    name = _naming(op)
    return node_class(name(arrays, static) if callable(name) else name)


def _saved_under(name: str, place: int) -> property:
    """``_saved_self``, ``_saved_other``, ``_saved_result``: what the rule will read."""

    def saved(node: Node) -> Any:
        if node.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        if not isinstance(node.saved, list) or place >= len(node.saved):
            raise AttributeError(f"'{node.label}' object has no attribute {name!r}")
        return saved_value(node, place)

    return property(saved)


for _saved_name, _place in _SAVED.items():
    setattr(Node, _saved_name, _saved_under(_saved_name, _place))


class AccumulateGrad(Node):
    """The end of the graph: the gradient of a leaf is added up in its ``grad``."""

    __slots__ = ("variable",)
    op = None
    operands = ()
    static: Mapping[str, Any] = MappingProxyType({})
    saved = None
    versions = None

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.shape = variable.array.shape
        self.dtype = variable.array.dtype
        self.index = next_index()
        self.watch = None


def saved_value(node: Node, place: int) -> Any:
    """A kept value as a tensor of the graph."""
    from gradcli.tensors.backward import rejoined

    value = node.saved[place]
    if isinstance(value, (Shaped, _NotKept)):
        raise AttributeError(f"'{node.label}' does not keep this value")
    return rejoined(value, node if place == 0 else node.operands[place - 1])


def save(op: Op, wanted: int, result: Any, operands: Sequence[Any], values: list[Any]) -> Versions | None:
    """Leave of an operation's values (its result's and its operands') what a node's rule reads; the versions of what is left.

    wanted  the operands that require grad, a bit for each, that of the first one the highest
    result  the tensor, or the tuple of tensors
    """
    keeps, drops = places(op, len(operands), wanted)
    for place in drops:
        value = values[place]
        if op.elementwise:
            values[place] = NOT_KEPT
        elif isinstance(value, np.ndarray):
            values[place] = Shaped(value)
    if not keeps:
        return None
    versions = []
    for place in keeps:
        tensor = operands[place - 1] if place else result
        if isinstance(tensor, Carrier):
            if tensor._inference:  # type: ignore[attr-defined]
                raise RuntimeError(INFERENCE)
            counter = tensor._version_counter  # type: ignore[attr-defined]
            versions.append((counter, counter[0], place))
    return versions


@lru_cache(4096)
def places(op: Op, operands: int, wanted: int) -> tuple[list[int], list[int]]:
    """What is kept when derivatives by the wanted operands will be taken, and what is not: 0 is the result, 1 the first operand."""
    names = op.operands * operands if op.variadic else op.operands
    read: set[str] = set()
    if isinstance(op.saves, Mapping):
        for place, name in enumerate(reversed(names)):
            read |= set(op.saves.get(name, ())) if wanted >> place & 1 else set()
    else:
        read = set(op.saves)
    keeps = [place for place, name in enumerate(("out", *names)) if name in read]
    return keeps, [place for place in range(operands + 1) if place not in keeps]
