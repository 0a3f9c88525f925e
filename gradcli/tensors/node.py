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


class Node:
    """An operation in the graph of a tensor: its ``grad_fn``.

    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or `Shaped` where it reads a shape only
    versions  for each saved tensor its version counter, the version, what made it, and its shape
    holds     whether anything is kept that a backward pass will free
    """

    __slots__ = (
        "__weakref__", "dtype", "holds", "hooks", "index", "op", "operands", "post_hooks", "retained", "saved", "shape", "static",
        "versions",
    )  # fmt: skip

    def __init__(
        self, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any, label: str
    ) -> None:
        self.op, self.operands, self.static, self.shape, self.dtype = op, operands, static, shape, dtype
        _name(self, type(self), label)
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
        _name(self, type(self).__base__ or Node, label)

    def name(self) -> str:
        return self.label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here; None for tensors that need none."""
        operands = self.operands
        if self.op is not None and len(operands) > 1 and self.op.name not in _PAIRS:
            operands = tuple(o for o in operands if o is not None) or operands[:1]
        return tuple((operand, 0) for operand in operands)

    def __getattr__(self, name: str) -> Any:
        """``_saved_self``, ``_saved_other``, ``_saved_result``: what the rule will read."""
        place = _SAVED.get(name)
        if place is None or self.op is None or place >= len(self.saved if isinstance(self.saved, list) else ()):
            if place is not None and self.saved is FREED:
                raise RuntimeError(SECOND_TIME)
            raise AttributeError(f"'{self.label}' object has no attribute {name!r}")
        return saved_value(self, place)

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


def _name(node: Node, kind: type, label: str) -> None:
    """PyTorch's name of an operation is the name of its node's class."""
    node.__class__ = _class(kind, label)


@cache
def _class(base: type, label: str) -> type[Node]:
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


class AccumulateGrad(Node):
    """The end of the graph: the gradient of a leaf is added up in its ``grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__(None, (), {}, variable.array.shape, variable.array.dtype, "AccumulateGrad")
        self.variable = variable


def saved_value(node: Node, place: int) -> Any:
    """A kept value as a tensor of the graph."""
    from gradcli.tensors.backward import rejoined

    value = node.saved[place]
    if isinstance(value, Shaped):
        raise AttributeError(f"'{node.label}' keeps the shape of this value only")
    return rejoined(value, node if place == 0 else node.operands[place - 1])


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
                if tensor._inference:
                    raise RuntimeError(
                        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and "
                        "use it in autograd."
                    )
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
