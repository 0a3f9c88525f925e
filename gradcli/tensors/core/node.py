"""Nodes of the graph behind tensors: one for each operation that was applied, never interned.

A node keeps what its rule reads, until a backward pass frees it, with the versions that the tensors had.
"""

from __future__ import annotations

import itertools
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import contributions, guarded, sweep
from gradcli.ops.pytorch import kept_places, node_name
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.dtypes import FLOATS, Entries
from gradcli.tensors.core.modes import state, warn

# -- Hooks on gradients, and how they are removed --------------------------------------------------


Hooks = dict["RemovableHandle", Callable[..., Any]]  # in the order in which they were registered


class RemovableHandle:
    """Removes a hook."""

    def __init__(self, hooks: Hooks, hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[self] = hook

    def __repr__(self) -> str:
        return f"<torch.utils.hooks.RemovableHandle object at {hex(id(self))}>"

    def remove(self) -> None:
        self._hooks.pop(self, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class RemovableHandles(RemovableHandle):
    """Removes several hooks."""

    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        self._handles = list(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


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
    """An operation in the graph of a tensor, its ``grad_fn``; or a leaf, without an operation: its gradient is added up in its ``grad``.

    All are of one class, whose fields are found at once, until a user sees one (`exposed`).

    label     PyTorch's name of the operation
    operands  the nodes of the operands that require grad, None for the others
    saved     its result and its operands as its rule reads them: arrays, numbers, or what stands for them (saved_values.py)
    versions  for each saved tensor its version counter, the version, and its place in ``saved``; None if nothing is kept
              that a backward pass will free
    variable  the tensor, of a leaf
    """

    __slots__ = (
        "__weakref__", "dtype", "index", "label", "op", "operands", "saved", "shape", "static", "variable", "versions", "watch",
    )  # fmt: skip
    requires_grad = True
    variable: Any

    def __init__(
        self, label: str, op: Op | None, operands: tuple[Node | None, ...], static: Mapping[str, Any], shape: Any, dtype: Any,
        saved: Any = None, versions: Versions | None = None,
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

    def watched(self) -> Watch:
        """Its watch, from now on."""
        if self.watch is None:
            self.watch = Watch()
        return self.watch

    def exposed(self) -> Node:
        """The node as a user sees it: its class has PyTorch's name of the operation."""
        if type(self) is Node:
            self.__class__ = node_class(self.label)
        return self

    def name(self) -> str:
        """PyTorch's name of the operation."""
        return self.label

    def __call__(self, *gradients: Any) -> Any:
        """Return what the node passes on, given by backward_pass.py."""
        raise NotImplementedError

    @property
    def whole(self) -> Node:
        """The node of the operation, of which this may be one of several results."""
        whole = self.operands[0] if self.op is output else None
        return (whole or self).exposed()

    @property
    def place(self) -> int:
        """Which result of the operation it is."""
        place: int = self.static["place"] if self.op is output else 0
        return place

    @property
    def metadata(self) -> dict[Any, Any]:
        """Return what anybody wants to keep with the node."""
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
        return tuple([(None, 0) if operand is None else (operand.whole, operand.place) for operand in self.opened().operands])

    def opened(self) -> Node:
        """Make a node for each step behind it, if it is a function's (function_nodes.py)."""
        if "program" in self.static:
            self.static["program"].open(self)
        return self

    def __repr__(self) -> str:
        return f"<{self.label} object at {hex(id(self))}>"


@cache
def node_class(label: str, base: type[Node] = Node) -> type[Any]:
    """The class of the nodes of this name."""
    return type(label, (base,), {"__slots__": (), "__module__": base.__module__})


def named(node: Node) -> str:
    """Return what PyTorch calls the operation of a node in messages."""
    return node.label.partition("Backward")[0]


def node_of_part(node: Node, place: int, part: Entries) -> Node:
    """The node of one of several results."""
    return Node(node.label, output, (node,), {"place": place}, part.array.shape, part.array.dtype)


class Shaped:
    """The shape of an operand that is not kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


# -- Anomaly detection: the operation and the element whose gradient became NaN, and the lines that
# they come from.


_PACKAGE = str(Path(__file__).parents[2])


class Origin(NamedTuple):
    """Where a node was made.

    lines     of the user's program, as a traceback has them, which are in the node's ``metadata``, too, as in PyTorch's
    parent    the node whose backward pass made it, if one did
    infinite  what is to be said of the operation's result if it was not finite although its operands were
    """

    lines: list[str]
    parent: Node | None
    infinite: str


class _Now(threading.local):
    node: Node | None = None  # whose backward pass is under way


_NOW = _Now()
_ORIGINS: WeakKeyDictionary[Node, Origin] = WeakKeyDictionary()


def remember(node: Node | None, op: Op | None = None, arrays: Sequence[Any] = (), out: Any = None) -> None:
    """Keep where a node is made, and whether its result is the first that is not finite."""
    if node is None:
        return
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE)]
    infinite = "" if op is None or not state.nan_checks else _infinite(op, arrays, out)
    lines = node.metadata["traceback_"] = traceback.format_list(frames)
    _ORIGINS[node] = Origin(lines, _NOW.node, infinite)


def _infinite(op: Op, operands: Sequence[Any], out: np.ndarray) -> str:
    if out.dtype.kind not in FLOATS or np.isfinite(out).all():
        return ""
    arrays = [np.asarray(o) for o in operands if o is not None]
    if not all(np.isfinite(a).all() for a in arrays if a.dtype.kind in FLOATS):
        return ""
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
    values = [str(np.broadcast_to(a, out.shape)[place]) for a in arrays if op.elementwise and a.size]
    return f"element {list(place)} of {op.name} is {out[place]}{' of ' if values else ''}{' and '.join(values)}"


def watched(pull: Callable[[Node, Any], Sequence[Any]]) -> Callable[[Node, Any], Sequence[Any]]:
    """A step of the backward pass that says, if it fails, which line of the program its node comes from."""

    def step(node: Node, cotangent: Any) -> Sequence[Any]:
        before, _NOW.node = _NOW.node, node
        try:
            return pull(node, cotangent)
        except Exception:
            _report(node)
            raise
        finally:
            _NOW.node = before

    return step


def _report(node: Node) -> None:
    origin = _ORIGINS.get(node)
    nothing = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    found = nothing if origin is None else f"Traceback of forward call that caused the error:\n{''.join(origin.lines)}"
    _say(f"Error detected in {node.label}. {found}")
    while origin is not None and origin.parent is not None:
        node, origin = origin.parent, _ORIGINS.get(origin.parent)
        found = nothing if origin is None else f"Traceback of forward call that induced the previous calculation:\n{''.join(origin.lines)}"
        _say(f"\n\nPrevious calculation was induced by {node.label}. {found}")


def _say(message: str) -> None:
    try:
        warn(message)
    except Warning:  # which a filter has made an error: another one is on its way
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
                f"Function '{node.label}' returned nan values in its {place}th output. Element {list(where)} of that gradient is the first."
                f"{_first_infinite(node)}"
            )


def _first_infinite(node: Node) -> str:
    """Return where the values that a node was computed of were first not finite, if they were."""
    for earlier in reachable([node]):
        origin = _ORIGINS.get(earlier)
        if origin is not None and origin.infinite:
            return f" The first value before it that is not finite: {origin.infinite}."
    return ""


# -- Functions made of operations as one node each: their rule is that of the steps, which become
# nodes only where somebody asks for them. A call computes with arrays and keeps those that the
# rules of its steps read. A graph of the gradient, anomaly mode and whoever looks at the graph
# open the node: from then on there is a node for each step.


class Step(NamedTuple):
    """An operation of a function, whose values stand in one table: the result, the tensors, constants, and what is made on the way.

    place   of the result of this step in the table
    places  of its operands
    value   the shape and dtype of the result, which are those of all calls
    view    whether the result shows the memory of the first operand
    """

    op: Op
    place: int
    places: tuple[int, ...]
    static: Mapping[str, Any]
    value: Shaped
    view: bool


class _Part:
    """A step, or a tensor that the function is of, as the sweep asks for it."""

    __slots__ = ("dtype", "index", "keeps", "op", "operands", "place", "places", "shape", "static", "step", "wanted")

    def __init__(self, value: Shaped, place: int, step: Step | None = None, operands: tuple[_Part | None, ...] = ()) -> None:
        self.shape, self.dtype, self.place, self.step, self.operands = value.shape, value.dtype, place, step, operands
        self.op, self.index = None, place or sys.maxsize  # the last step comes last
        self.keeps: Sequence[int] = ()  # places among its result and its operands
        if step is not None:
            self.op, self.static, self.places = step.op, step.static, (step.place, *step.places)
            self.wanted = tuple([operand is not None for operand in operands])
            bits = sum(1 << place for place, want in enumerate(reversed(self.wanted)) if want)
            self.keeps = kept_places(step.op, len(operands), bits)[0]


class Program:
    """Return what a function does with tensors of given dtypes and shapes."""

    def __init__(self, steps: Sequence[Step], tensors: Sequence[Shaped], constants: Sequence[Any]) -> None:
        self.steps, self.tensors, self.constants = steps, tensors, constants
        self.memory = {place: place for place in range(1, 1 + len(tensors))}  # the tensor that each value shows, if one
        for step in steps:
            if step.view and step.places[0] in self.memory:
                self.memory[step.place] = self.memory[step.places[0]]
        self._derived: dict[tuple[bool, ...], Derived] = {}

    def by(self, wanted: tuple[bool, ...]) -> Derived:
        """Return how gradients go back to the tensors that are wanted."""
        found = self._derived.get(wanted)
        if found is None:
            found = self._derived[wanted] = Derived(self, wanted)
        return found

    def examples(self, step: Step) -> list[Any]:
        """Return arrays as the operands of a step are, and constants."""
        table: dict[int, Any] = {other.place: other.value for other in self.steps} | dict(enumerate([*self.tensors, *self.constants], 1))
        parts = [table[place] for place in step.places]
        return [np.broadcast_to(np.ones((), p.dtype), p.shape) if isinstance(p, Shaped) else p for p in parts]

    def open(self, node: Node) -> None:
        """Make a node for each step of a call; the call's own is the last one's from then on."""
        if not isinstance(node.saved, list):  # which a backward pass has freed
            return
        derived = self.by(tuple([operand is not None for operand in node.operands]))
        table, versions = node.saved, {place: (counter, version) for counter, version, place in node.versions or ()}
        memory = self.memory
        made: dict[_Part, Any] = {}
        for count, part in enumerate(derived.order, 1):
            if part.step is None:
                made[part] = node.operands[part.place - 1]
                continue
            kept: Versions = []
            for place in part.keeps:
                seen = memory.get(part.places[place], part.places[place])
                if seen in versions:
                    kept.append((*versions[seen], place))
            fields = {
                "op": part.op, "operands": tuple([None if operand is None else made[operand] for operand in part.operands]),
                "static": part.static, "shape": part.shape, "dtype": part.dtype, "saved": [table[place] for place in part.places],
                "versions": kept if part.keeps else None,
            }  # fmt: skip
            if part.place:
                made[part] = Node(derived.label_of(part), **fields)
                made[part].index = node.index - 1 + count / (len(derived.order) + 1)  # after its operands, before what follows
            else:
                for name, value in fields.items():
                    setattr(node, name, value)


class Derived:
    """The way of gradients back through a program to some of its tensors."""

    def __init__(self, program: Program, wanted: tuple[bool, ...]) -> None:
        self.program, self.wanted = program, wanted
        values = dict(enumerate(program.tensors, 1))
        parts = {place: _Part(value, place) for place, value in values.items() if wanted[place - 1]}
        for step in program.steps:
            op = step.op
            values[step.place] = step.value
            operands = tuple([parts.get(place) for place in step.places])
            if any(operands) and (op.partials is not None or op.vjp is not None) and step.value.dtype.kind == "f":
                parts[step.place] = _Part(step.value, step.place, step, operands)
        self.order: list[_Part] = reachable([parts[0]]) if 0 in parts else []
        self.reaching = tuple([parts.get(place) in self.order for place in range(1, 1 + len(program.tensors))])
        kept = {part.places[place] for part in self.order for place in part.keeps}
        self.keeps = bool(kept)
        self.keeps_out = 0 in kept
        self.inputs = sorted({program.memory[place] for place in kept if place in program.memory})
        self.drops = [(place, value) for place, value in values.items() if place not in kept]

    @cached_property
    def label(self) -> str:
        """The name of the last step's nodes."""
        return self.label_of(self.order[-1])

    def label_of(self, part: _Part) -> str:
        step = part.step
        assert step is not None
        return node_name(step.op, self.program.examples(step), step.static)

    def gradients(self, cotangent: Any, table: Sequence[Any]) -> list[Any]:
        """The cotangents of the tensors."""
        found: list[Any] = [None] * len(self.wanted)
        adjoints = {self.order[-1]: cotangent}

        def pull(part: _Part, cotangent: Any) -> Sequence[Any]:
            op = part.op
            if op is None:
                found[part.place - 1] = cotangent
                return ()
            parts = contributions(part, part.wanted, cotangent, [table[place] for place in part.places], guarded)
            return parts if parts and op.kind != "flat" else zeros_of(part.operands, adjoints)

        sweep(self.order, adjoints, pull, cast_array)
        return found


def zeros_of(operands: Sequence[Any], adjoints: Mapping[Any, Any]) -> list[Any]:
    """Return zeros for the operands that nothing else has arrived at."""
    return [None if operand is None or operand in adjoints else np.zeros(operand.shape, operand.dtype) for operand in operands]


def cast_array(part: Any, operand: Any) -> Any:
    return part if part.dtype == operand.dtype else part.astype(operand.dtype)


def _rule(wanted: tuple[bool, ...], cotangent: Any, *table: Any, program: Program) -> Sequence[Any]:
    return program.by(wanted).gradients(cotangent, table)


def _opened_only(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a function is applied step by step")


FUNCTION = Op(
    "function",
    "*x",
    "A call of a function.",
    forward=_opened_only,
    reference=_opened_only,
    kind="structural",
    vjp=_rule,
    saves=("x",),
)
