"""Calls that differ in their tensors only: what one applies is written down, and the others do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided
from gradcli.ops.recording import node_name
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import is_half
from gradcli.tensors.core.node import node_class
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import plain

Form = Callable[[list[Any]], Any]  # what all calls of one form do with their tensors
Step = tuple[Op, list[int], Mapping[str, Any]]  # an operation, the places of its operands, and its parameters


def _one(step: Step, constants: list[Any], label: str) -> Form:
    """Apply one operation; places count the tensors, and then the constants."""
    op, places, static = step
    as_given = places == list(range(len(places)))  # tensors, and constants after them
    kind = node_class(label) if label else None

    def run(tensors: list[Any]) -> Any:
        values = tensors + constants
        result = plain(op, values if as_given else [values[place] for place in places], static)
        if kind is not None and result.node is not None:
            result.node.__class__ = kind
        return result

    return run


def _one_by_one(steps: list[Step], constants: list[Any], label: str, dtype: np.dtype[Any]) -> Form:
    """Apply one operation after the other; places count the results, too.

    dtype  that of floats that say nothing else
    """
    views = all(op.torch.shares for op, _, _ in steps)  # else, a view is one of something that was made on the way

    def run(tensors: list[Any]) -> Any:
        values = tensors + constants
        before = dtypes.set_constants(dtype)
        try:
            for op, places, static in steps:
                values.append(plain(op, [values[place] for place in places], static))
        finally:
            dtypes.set_constants(before)
        result = values[-1]
        if not views and result._view is not None:
            result._view = None
        if label and result.node is not None:
            result.node.__class__ = node_class(label)
        return result

    return run


class Steps:
    """Steps that one call applies to its tensors: a recorder, which is told of every operation.

    Functions branch on shapes, dtypes and parameters, never on entries, so that calls with other tensors apply the same.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        self._tensors = tensors
        self._constants: list[Any] = []
        self._places = {id(tensor): place for place, tensor in enumerate(tensors)}
        self._steps: list[tuple[Op, list[int], Mapping[str, Any]]] = []  # the places of results count down from -1
        self._results: list[Tensor] = []
        self._complete = len(self._places) == len(tensors)

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """An operation was applied."""
        places = [self._place(operand) for operand in operands]
        regular = op is not as_strided and isinstance(result, Tensor) and any(isinstance(o, Tensor) for o in operands)
        if not regular or None in places or _reads(static) or _casts(op, operands, result):
            self._complete = False
            return
        self._results.append(result)
        self._places[id(result)] = -len(self._results)
        self._steps.append((op, [place for place in places if place is not None], static))

    def _place(self, operand: Any) -> int | None:
        """Return where an operand is found again; None for a tensor that came from elsewhere."""
        if isinstance(operand, Tensor):
            return self._places.get(id(operand))
        self._constants.append(operand.item() if isinstance(operand, np.generic) else operand)
        return len(self._tensors) + len(self._constants) - 1

    def rename(self, tensor: Tensor, result: Tensor) -> None:
        """A tensor was written to, which is more than an operation."""
        self._complete = False

    overwritten = rename

    def form(self, record: Op | Composite, result: Any) -> Form | None:
        """The form of the call that gave this; None if something else than its tensors decided what was applied."""
        if not self._complete or not self._results or result is not self._results[-1]:
            return None
        first = len(self._tensors) + len(self._constants)
        steps = [(op, [place if place >= 0 else first - 1 - place for place in places], static) for op, places, static in self._steps]
        read = {place for _, places, _ in steps for place in places}
        floats = {tensor.array.dtype for tensor in self._tensors if tensor.array.dtype.kind == "f"}
        if not read.issuperset(range(len(self._tensors))) or len(floats) != 1:
            return None
        label = node_name(record) if isinstance(record, Composite) else ""
        if len(steps) == 1:
            return _one(steps[0], self._constants, label)
        return _one_by_one(steps, self._constants, label, floats.pop())


def _casts(op: Op, operands: Sequence[Any], result: Tensor) -> bool:
    """Return whether another dtype than that of the operation is meant."""
    kind = result.array.dtype
    return is_half(kind) or (op is clone and operands[0].array.dtype != kind)


def _reads(static: Mapping[str, Any]) -> bool:
    """Return whether entries of a tensor are among parameters."""
    return any(isinstance(part, Tensor) for value in static.values() for part in (value if isinstance(value, tuple) else (value,)))
