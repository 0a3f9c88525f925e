"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gradcli.ops.spec import Op

if TYPE_CHECKING:
    from gradcli.tensors.tensor import Tensor

_COUNT = itertools.count(1)
FREED: Any = object()


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or `Shaped` where it reads a shape only
    versions  for each saved tensor its version counter, the version, what made it, and its shape
    holds     whether anything is kept that a backward pass will free
    """

    __slots__ = (
        "__weakref__", "dtype", "holds", "hooks", "index", "op", "operands", "post_hooks", "retained", "saved", "shape", "static", "versions",
    )  # fmt: skip

    def __init__(
        self, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any, label: str
    ) -> None:
        self.op, self.operands, self.static, self.shape, self.dtype = op, operands, static, shape, dtype
        self.__class__ = _class(type(self), label)
        self.index = next(_COUNT)
        self.saved: Any = None
        self.versions: Sequence[tuple[list[int], int, str, Any]] = ()
        self.holds = False
        self.hooks: list[Callable[[Any], Any]] | None = None
        self.post_hooks: list[Callable[..., Any]] | None = None
        self.retained: Any = None  # a weak reference to the tensor whose gradient is kept

    @property
    def label(self) -> str:
        """PyTorch's name of the operation, which is the name of the node's class."""
        return type(self).__name__

    @label.setter
    def label(self, label: str) -> None:
        self.__class__ = _class(type(self).__base__ or Node, label)

    def name(self) -> str:
        return self.label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here."""
        return tuple((operand, 0) for operand in self.operands)

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


@cache
def _class(base: type[Node], label: str) -> type[Node]:
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


class AccumulateGrad(Node):
    """The end of the graph: the gradient of a leaf is added up in its ``grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__(None, (), {}, variable.array.shape, variable.array.dtype, "AccumulateGrad")
        self.variable = variable


def save(node: Node, wanted: tuple[bool, ...], tensors: Sequence[Any], arrays: Sequence[Any], out: Any, version: list[int]) -> None:
    """Keep what the node's rule reads: named in the operation's record, for the operands that require grad."""
    op = node.op
    assert op is not None
    keeps_out, keeps = kept(op, wanted)
    saved: list[Any] = [out if keeps_out else Shaped(out) if not isinstance(out, tuple) else out]
    versions: list[tuple[list[int], int, str, Any]] = []
    node.holds = keeps_out
    if keeps_out and not isinstance(out, tuple):
        versions.append((version, version[0], node.label, out.shape))
    for tensor, array, keep in zip(tensors, arrays, keeps, strict=True):
        if keep or not hasattr(array, "shape"):
            saved.append(array)
            node.holds = node.holds or (keep and array is not None)
            counter = getattr(tensor, "_version_counter", None)
            if keep and counter is not None:
                versions.append((counter, counter[0], tensor.node.label if tensor.node is not None else "", array.shape))
        else:
            saved.append(Shaped(array))
    node.saved, node.versions = saved, versions


_KEPT: dict[tuple[Op, tuple[bool, ...]], tuple[bool, tuple[bool, ...]]] = {}


def kept(op: Op, wanted: tuple[bool, ...]) -> tuple[bool, tuple[bool, ...]]:
    """Whether a result is kept, and which operands, when derivatives by the wanted ones will be taken."""
    key = (op, wanted)
    if key not in _KEPT:
        names: set[str] = set()
        if isinstance(op.saves, Mapping):
            for name, want in zip(op.operands, wanted, strict=True):
                names |= set(op.saves.get(name, ())) if want else set()
        else:
            names = set(op.saves)
        places = (op.operands[0],) * len(wanted) if op.variadic else op.operands
        _KEPT[key] = "out" in names, tuple(name in names for name in places)
    return _KEPT[key]
