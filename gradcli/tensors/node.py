"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.ops.spec import Carrier, Op

if TYPE_CHECKING:
    from gradcli.tensors.tensor import Tensor

next_index = itertools.count(1).__next__
FREED: Any = object()
SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
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


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``. PyTorch's name of the operation is the name of its class.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or `Shaped` where it reads a shape only
    versions  for each saved tensor its version counter, the version, and its place in ``saved``
    holds     whether anything is kept that a backward pass will free
    """

    __slots__ = (
        "__weakref__", "dtype", "holds", "hooks", "index", "op", "operands", "post_hooks", "retained", "saved", "shape", "static",
        "versions",
    )  # fmt: skip

    def __init__(self, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any) -> None:
        self.op = op
        self.operands = operands
        self.static = static
        self.shape = shape
        self.dtype = dtype
        self.index = next_index()
        self.saved: Any = None
        self.versions: Sequence[tuple[list[int], int, int]] = ()
        self.holds = False
        self.hooks: list[Callable[[Any], Any]] | None = None
        self.post_hooks: list[Callable[..., Any]] | None = None
        self.retained: Any = None  # a weak reference to the tensor whose gradient is kept

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


@cache
def node_class(label: str, base: type[Node] = Node) -> type[Any]:
    """The class of the nodes of this name."""
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


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

    def __init__(self, variable: Tensor) -> None:
        super().__init__(None, (), {}, variable.array.shape, variable.array.dtype)
        self.variable = variable


def saved_value(node: Node, place: int) -> Any:
    """A kept value as a tensor of the graph."""
    from gradcli.tensors.backward import rejoined

    value = node.saved[place]
    if isinstance(value, (Shaped, _NotKept)):
        raise AttributeError(f"'{node.label}' does not keep this value")
    return rejoined(value, node if place == 0 else node.operands[place - 1])


def save(node: Node, op: Op, tensors: Sequence[Any], arrays: Sequence[Any], out: Any, version: list[int]) -> None:
    """Keep what the node's rule reads: named in the operation's record, for the operands that require grad."""
    keeps, drops = kept(op, tuple([operand is not None for operand in node.operands]))
    saved = node.saved = [out, *arrays]
    for place in drops:
        if op.elementwise:
            saved[place] = NOT_KEPT
        elif isinstance(saved[place], np.ndarray):
            saved[place] = Shaped(saved[place])
    versions = []
    for place in keeps:
        if saved[place] is None:
            continue
        node.holds = True
        if place and isinstance(tensors[place - 1], Carrier):
            versions.append(_version(tensors[place - 1], place))
        elif not place and not isinstance(out, tuple):
            versions.append((version, version[0], 0))
    node.versions = versions


def _version(tensor: Any, place: int) -> tuple[list[int], int, int]:
    if tensor._inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in "
            "autograd."
        )
    counter = tensor._version_counter
    return counter, counter[0], place


@cache
def kept(op: Op, wanted: tuple[bool, ...]) -> tuple[list[int], list[int]]:
    """What is kept when derivatives by the wanted operands will be taken, and what is not: 0 is the result, 1 the first operand."""
    read: set[str] = set()
    if isinstance(op.saves, Mapping):
        for name, want in zip(op.operands, wanted, strict=True):
            read |= set(op.saves.get(name, ())) if want else set()
    else:
        read = set(op.saves)
    names = ("out", *((op.operands[0],) * len(wanted) if op.variadic else op.operands))
    return [i for i, name in enumerate(names) if name in read], [i for i, name in enumerate(names) if name not in read]
