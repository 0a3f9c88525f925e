"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors
had.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state, warn

# -- Hooks on gradients, and how they are removed -------------------------------------------------


Hooks = dict["RemovableHandle", Callable[..., Any]]  # in order of registration


class RemovableHandle:
    """Removes a hook."""

    def __init__(self, hooks: Hooks, hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[self] = hook

    def remove(self) -> None:
        self._hooks.pop(self, None)


next_index = itertools.count(1).__next__


class Watch:
    """Watchers of a node's gradient, and what is kept about the node.

    hooks        of tensors: with a gradient when it is complete
    accumulated  of leaves: with the tensor, after its ``grad`` has been added to
    """

    def __init__(self) -> None:
        self.hooks: Hooks = {}
        self.accumulated: Hooks = {}
        self.retained: Any = None  # weak reference to the tensor whose gradient is kept
        self.metadata: dict[Any, Any] = {}


class Node:
    """An operation in the graph of a tensor, its ``grad_fn``; or a leaf, without an operation.

    The gradient of a leaf is accumulated in its ``grad``. All nodes are of one class, whose fields
    are found at once, until a user sees one (`expose`).

    label     PyTorch's name of the operation
    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or what stands
              for them (trace.py)
    versions  for each saved tensor its version counter, the version, and its place in ``saved``;
              None if nothing is kept that a backward pass will free
    variable  the tensor, of a leaf
    """

    __slots__ = (
        "__weakref__", "dtype", "index", "label", "op", "operands", "saved", "shape", "static", "variable", "versions", "watch",
    )  # fmt: skip
    requires_grad = True
    variable: Any

    def __init__(
        self, label: str, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any,
        saved: Any = None, versions: list[tuple[list[int], int, int]] | None = None,
    ) -> None:  # fmt: skip
        self.label = label
        self.op = op
        self.operands = operands
        self.static = static
        self.shape = shape
        self.dtype = dtype
        self.saved = saved
        self.versions = versions
        self.index = next_index()
        self.watch: Watch | None = None

    def own_watch(self) -> Watch:
        """Its watch, from now on."""
        if self.watch is None:
            self.watch = Watch()
        return self.watch

    def expose(self) -> Node:
        """Return the node as a user sees it: its class has PyTorch's name of the operation."""
        if type(self) is Node:
            self.__class__ = node_class(self.label)
        return self

    def name(self) -> str:
        """PyTorch's name of the operation."""
        return self.label

    @property
    def whole(self) -> Node:
        """The node of the operation, of which this may be one of several results."""
        whole = self.operands[0] if self.op is output else None
        return (whole or self).expose()

    @property
    def place(self) -> int:
        """Return which result of the operation it is."""
        return self.static["place"] if self.op is output else 0

    @property
    def metadata(self) -> dict[Any, Any]:
        """Return what anybody wants to keep with the node."""
        return self.own_watch().metadata

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to from here; None for tensors that need none."""
        return tuple(
            [
                (None, 0) if operand is None else (operand.whole, operand.place)
                for operand in self.operands
            ]
        )

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


@cache
def node_class(label: str, base: type[Node] = Node) -> type[Any]:
    """Return the class of the nodes of this name."""
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


def torch_name(node: Node) -> str:
    """Return what PyTorch calls the operation of a node in messages."""
    return node.label.partition("Backward")[0]


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape = array.shape
        self.dtype = array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


# -- Anomaly detection: the operation and the element whose gradient became NaN, and the lines that
# they come from.


_PACKAGE = str(Path(__file__).parents[2])


class Origin(NamedTuple):
    """Place where a node was made.

    lines     of the user's program, as a traceback has them, which are in the node's ``metadata``,
              too, as in PyTorch's
    infinite  what is to be said of the operation's result if it was not finite although its
              operands were
    """

    lines: list[str]
    infinite: str


_ORIGINS: WeakKeyDictionary[Node, Origin] = WeakKeyDictionary()


def remember(
    node: Node | None, op: Op | None = None, arrays: Sequence[Any] = (), out: Any = None
) -> None:
    """Keep where a node is made, and whether its result is the first that is not finite."""
    if node is None:
        return
    frames = [
        frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE)
    ]
    infinite = "" if op is None or not state.nan_checks else _infinite(op, arrays, out)
    lines = node.metadata["traceback_"] = traceback.format_list(frames)
    _ORIGINS[node] = Origin(lines, infinite)


def _infinite(op: Op, operands: Sequence[Any], out: np.ndarray) -> str:
    if out.dtype.kind not in FLOATS or np.isfinite(out).all():
        return ""
    arrays = [np.asarray(o) for o in operands if o is not None]
    if not all(np.isfinite(a).all() for a in arrays if a.dtype.kind in FLOATS):
        return ""
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
    values = [
        str(np.broadcast_to(a, out.shape)[place]) for a in arrays if op.elementwise and a.size
    ]
    return (
        f"element {list(place)} of {op.name} is "
        f"{out[place]}{' of ' if values else ''}{' and '.join(values)}"
    )


def watch_pull(pull: Callable[[Node, Any], Sequence[Any]]) -> Callable[[Node, Any], Sequence[Any]]:
    """Return a step of the backward pass that explains its failures.

    If it fails, it says which line of the program its node comes from.
    """

    def step(node: Node, cotangent: Any) -> Sequence[Any]:
        try:
            return pull(node, cotangent)
        except Exception:
            _report(node)
            raise

    return step


def _report(node: Node) -> None:
    origin = _ORIGINS.get(node)
    found = (
        "No forward pass information available. Enable detect anomaly during forward pass for "
        "more information."
        if origin is None
        else f"Traceback of forward call that caused the error:\n{''.join(origin.lines)}"
    )
    message = f"Error detected in {node.label}. {found}"
    try:
        warn(message)
    except Warning:  # a filter makes it an error, but another error is already on its way
        print(message, file=sys.stderr)


def check_backward(node: Node, parts: Sequence[Any]) -> None:
    """Raise if something that a node passes back to its operands is NaN."""
    if not state.nan_checks:
        return
    for place, (operand, part) in enumerate(zip(node.operands, parts, strict=True)):
        if operand is None or part is None:
            continue
        array = sum_to(np.asarray(getattr(part, "array", part)), shape=operand.shape)
        if array.dtype.kind in FLOATS and np.isnan(array).any():
            where = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
            raise RuntimeError(
                f"Function '{node.label}' returned nan values in its {place}th output. Element "
                f"{list(where)} of that gradient is the first."
                f"{_first_infinite(node)}"
            )


def _first_infinite(node: Node) -> str:
    """Return where the values that a node was computed of were first not finite, if they were."""
    for earlier in reachable([node]):
        origin = _ORIGINS.get(earlier)
        if origin is not None and origin.infinite:
            return f" The first value before it that is not finite: {origin.infinite}."
    return ""
