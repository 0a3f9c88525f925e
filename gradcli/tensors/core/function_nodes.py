"""Functions made of operations as one node each: their rule is that of the steps, which become nodes only where somebody asks for them.

A call computes with arrays and keeps those that the rules of its steps read. A graph of the gradient, anomaly mode and whoever
looks at the graph open the node: from then on there is a node for each step.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import contributions, guarded, sweep
from gradcli.ops.pytorch import kept_places, node_name
from gradcli.ops.spec import Op
from gradcli.tensors.core.node import Node, Shaped, Versions


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
    """How gradients go back through a program to some of its tensors."""

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
