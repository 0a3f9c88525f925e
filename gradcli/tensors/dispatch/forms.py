"""Calls that differ in their tensors only: what one applies is written down, and the others do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided
from gradcli.ops.pytorch import node_name
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import is_half
from gradcli.tensors.core.function_nodes import FUNCTION, Program, Step
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import INFERENCE
from gradcli.tensors.dispatch.apply import computed, in_own_memory, plain, promoted, traits_of, viewed

Form = Callable[[list[Any]], Any]  # what all calls of one form do with their tensors


def _chain(steps: Sequence[Step], constants: list[Any], label: str) -> Form:
    """Apply one operation, or one view after the other, each a node."""
    (op, _, places, static, *_), *further = steps
    as_given = not further and places == tuple(range(1, 1 + len(places)))  # tensors, and constants after them

    def run(tensors: list[Any]) -> Any:
        values = tensors + constants
        result = plain(op, values if as_given else [values[place - 1] for place in places], static)
        for step in further:
            values.append(result)
            result = plain(step.op, [values[place - 1] for place in step.places], step.static)
        if label and result.node is not None:
            result.node.label = label
        return result

    return run


class _Function:
    """Several operations as one node.

    steps  of each: how it computes, the places of its operands, and its parameters
    """

    def __init__(self, program: Program, label: str, dtype: np.dtype[Any]) -> None:
        self.program = program
        self.label = label
        before = dtypes.set_constants(dtype)  # that of floats that say nothing else
        try:
            self.steps = [(_way(step, program), step.places, step.static) for step in program.steps]
        finally:
            dtypes.set_constants(before)

    def __call__(self, tensors: list[Any]) -> Any:
        program = self.program
        table: list[Any] = [None, *[tensor.array for tensor in tensors], *program.constants]
        for way, places, static in self.steps:
            table.append(way([table[place] for place in places], static))
        result = Tensor(table.pop())
        if state.recording:
            self._record(tensors, table, result)
        return result

    def _record(self, tensors: list[Any], table: list[Any], result: Tensor) -> None:
        """Give the result its node, if a tensor requires grad."""
        sources = tuple([tensor.source() for tensor in tensors])
        if not any(sources):
            return
        derived = self.program.by(tuple([source is not None for source in sources]))
        if derived.reaching != derived.wanted:
            sources = tuple([source if reaches else None for source, reaches in zip(sources, derived.reaching, strict=True)])
            derived = self.program.by(derived.reaching)
        if not derived.order:
            return
        table[0] = result.array
        for place, value in derived.drops:
            table[place] = value
        versions = []
        for place in derived.inputs:
            tensor = tensors[place - 1]
            if tensor._inference:
                raise RuntimeError(INFERENCE)
            versions.append((tensor._version_counter, tensor._version_counter[0], place))
        if derived.keeps_out:
            versions.append((result._version_counter, 0, 0))
        static, array = {"program": self.program}, result.array
        kept = versions if derived.keeps else None
        node = Node(self.label or derived.label, FUNCTION, sources, static, array.shape, array.dtype, table, kept)
        result.node, result._requires_grad = node, True


def _way(step: Step, program: Program) -> Callable[[list[Any], Mapping[str, Any]], Any]:
    """How a step computes with arrays, whose dtypes are known: as the operation itself does, after the same casts."""
    op = step.op
    forward, scalars, view, new, _, _, free, _ = traits_of(op)
    if view:
        return lambda arrays, static: viewed(op, arrays[0], static)[0]
    examples = program.examples(step)
    tensors = [Tensor(example) if isinstance(example, np.ndarray) else example for example in examples]
    given, dtype = promoted(op, tensors, [*examples], None)
    casts = [(place, after) for place, (before, after) in enumerate(zip(examples, given, strict=True)) if after is not before]
    moving = {place for place, example in enumerate(examples) if isinstance(example, np.ndarray)}
    if dtype is not None and moving <= free:  # a choice between numbers
        casts += [(place, dtype.type(value)) for place, value in enumerate(given) if place not in moving and value is not None]

    def run(arrays: list[Any], static: Mapping[str, Any]) -> Any:
        for place, cast in casts:
            arrays[place] = arrays[place].astype(cast.dtype) if place in moving else cast
        out = computed(op, forward, scalars, arrays, static, dtype)
        return out if new else in_own_memory(out, arrays)

    return run


class Steps:
    """Steps that one call applies to its tensors: a recorder, which is told of every operation.

    Functions branch on shapes, dtypes and parameters, never on entries, so that calls with other tensors apply the same.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        self._tensors = tensors
        self._constants: list[Any] = []
        self._places = {id(tensor): place for place, tensor in enumerate(tensors, 1)}
        self._steps: list[Step] = []  # the places of results count down from -1
        self._results: list[Tensor] = []
        self._complete = len(self._places) == len(tensors)

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """An operation was applied."""
        places = tuple([self._place(operand) for operand in operands])
        regular = op is not as_strided and isinstance(result, Tensor) and any(isinstance(o, Tensor) for o in operands)
        if not regular or 0 in places or _reads(static) or _casts(op, operands, result):
            self._complete = False
            return
        self._results.append(result)
        place = self._places[id(result)] = -len(self._results)
        view = isinstance(operands[0], Tensor) and result._version_counter is operands[0]._version_counter
        self._steps.append(Step(op, place, places, static, Shaped(result.array), view))

    def _place(self, operand: Any) -> int:
        """Return where an operand is found again; 0 for a tensor that came from elsewhere."""
        if isinstance(operand, Tensor):
            return self._places.get(id(operand), 0)
        self._constants.append(operand.item() if isinstance(operand, np.generic) else operand)
        return len(self._tensors) + len(self._constants)

    def rename(self, tensor: Tensor, result: Tensor) -> None:
        """A tensor was written to, which is more than an operation."""
        self._complete = False

    overwritten = rename

    def form(self, record: Op | Composite, result: Any) -> Form | None:
        """The form of the call that gave this; None if something else than its tensors decided what was applied."""
        if not self._complete or not self._results or result is not self._results[-1]:
            return None
        first = len(self._tensors) + len(self._constants)
        steps = [step._replace(place=first - step.place, places=tuple([_counted(p, first) for p in step.places])) for step in self._steps]
        read = {place for step in steps for place in step.places}
        floats = {tensor.array.dtype for tensor in self._tensors if tensor.array.dtype.kind == "f"}
        if not read.issuperset(range(1, 1 + len(self._tensors))) or len(floats) != 1:
            return None
        label = node_name(record) if isinstance(record, Composite) else ""
        if len(steps) == 1 or all(step.view for step in steps):
            return _chain(steps, self._constants, label)
        if result._view is not None or any(isinstance(constant, np.ndarray) for constant in self._constants):
            return None
        steps[-1] = steps[-1]._replace(place=0)
        program = Program(steps, [Shaped(tensor.array) for tensor in self._tensors], self._constants)
        return _Function(program, label, floats.pop())


def _counted(place: int, first: int) -> int:
    """Return the place of a result after those of the tensors and constants."""
    return place if place > 0 else first - place


def _casts(op: Op, operands: Sequence[Any], result: Tensor) -> bool:
    """Return whether another dtype than that of the operation is meant."""
    kind = result.array.dtype
    return is_half(kind) or (op is clone and operands[0].array.dtype != kind)


def _reads(static: Mapping[str, Any]) -> bool:
    """Return whether entries of a tensor are among parameters."""
    return any(isinstance(part, Tensor) for value in static.values() for part in (value if isinstance(value, tuple) else (value,)))
