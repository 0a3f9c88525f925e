"""Costs of an operation, known from shapes and parameters before it is computed.

They are time, and arrays in addition to operands and results. Both are counted, never measured.
They are bounds rather than estimates only where that matters; a factor of two does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape

LIGHT = 1 << 20  # entries, and scalar operations, that no limit restricts
# Multiplications of matrix products in the time of one operation on array entries.
_IN_REGISTERS = 16


def additions_of(op: Op) -> int:
    """About how many additions take the time of an operation on one entry."""
    return 4 if op.kind == "smooth" else 1


def workspace_of(op: Op, out: Any, operands: Sequence[Shape | None]) -> int:
    """Return the number of entries that an operation needs besides operands and results.

    Some operands may be missing.
    """
    if op.core_dims is None or op.adds == "products":  # BLAS copies only parts of the factors
        return 0
    return 5 * max(_sizes(op, out, operands))


def steps_of(op: Op, out: Any, operands: Sequence[Shape | None]) -> int:
    """About how many scalar operations the reference of an operation takes.

    As many as the largest array has entries; of products of matrices one for each product of
    entries, and of other functions of matrices as many for each row.
    """
    first = operands[0] if operands else None
    if op.core_dims is None or not first:
        return max(_sizes(op, out, operands))
    rows = first[-1]
    if op.adds == "products":
        return int(math.prod(out)) * rows
    return max(_sizes(op, out, operands)) * rows * int(getattr(op.reference, "work", 1))


def operations_of(op: Op, out: Any, operands: Sequence[Shape | None]) -> int:
    """Return how many scalar operations take the time of an operation, of about a nanosecond each.

    They are those of the reference, four times as many for functions of entries that are smooth;
    for matrices, a sixteenth, as it has no library that works on blocks.
    """
    steps = steps_of(op, out, operands)
    return steps // _IN_REGISTERS if op.core_dims is not None else steps * additions_of(op)


def hold(limits: Allowance, op: Op, out: Any, operands: Sequence[Shape | None]) -> bool:
    """Return whether an operation takes much; raise LimitError if it exceeds the limits."""
    scratch = workspace_of(op, out, operands)
    if scratch > LIGHT:
        limits.check_entries(scratch + entries_of(op, out), op.name)
    operations = operations_of(op, out, operands)
    if operations > LIGHT:
        limits.check_work(operations, op.name)
    return scratch > LIGHT or operations > LIGHT


def entries_of(op: Op, out: Any) -> int:
    """Return how many entries the results of an operation have."""
    return sum(map(math.prod, out)) if op.outputs > 1 else math.prod(out)


def _sizes(op: Op, out: Any, operands: Sequence[Shape | None]) -> list[int]:
    return [
        math.prod(shape)
        for shape in (*(out if op.outputs > 1 else (out,)), *operands)
        if shape is not None
    ]


# -- Room for tables that functions make while they are written down -----------------------------


class Allowance(Protocol):
    """The limits of arrays, of as many numbers as several of them have, of operations and of time.

    All raise LimitError.
    """

    def check_array(self, shape: tuple[int, ...]) -> None: ...
    def check_entries(self, entries: int, what: str) -> None: ...
    def check_nodes(self, count: int, what: str) -> None: ...
    def check_work(self, work: int, what: str) -> None: ...


IN_FORCE: ContextVar[Allowance | None] = ContextVar("limits in force", default=None)


def room_for(*shape: int) -> None:
    """Raise LimitError where a table of this shape may not be made."""
    limits = IN_FORCE.get()
    if limits is not None and math.prod(shape) > 1024:
        limits.check_array(shape)


def nodes_for(count: int, what: str) -> None:
    """Raise LimitError where a function may not be written down as so many operations."""
    limits = IN_FORCE.get()
    if limits is not None:
        limits.check_nodes(count, what)
