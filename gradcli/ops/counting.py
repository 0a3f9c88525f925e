"""What an operation takes, known from shapes and parameters before it is computed: arrays beside operands and result, and time.

Both are counted, never measured, and bounds rather than estimates only where that matters: a factor of two does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradcli.ops.room import Allowance
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape

LIGHT = 1 << 20  # entries, and scalar operations, that no limit is about
_IN_REGISTERS = 16  # multiplications of matrices that take as long as one operation on entries of arrays


def additions_of(op: Op) -> int:
    """About how many additions take the time of an operation on one entry."""
    return 4 if op.kind == "smooth" else 1


def workspace_of(op: Op, out: Any, operands: Sequence[Shape | None]) -> int:
    """The entries of arrays that an operation needs beside operands and results. Some operands may be missing."""
    if op.core_dims is None or op.adds == "products":  # of which BLAS takes parts of the factors
        return 0
    return 5 * max(_sizes(op, out, operands))


def operations_of(op: Op, out: Any, operands: Sequence[Shape | None]) -> int:
    """How many scalar operations take the time of an operation, of about a nanosecond each.

    Where nothing is said, as many as the largest array has entries, four times as many for functions that are smooth; for matrices, a
    sixteenth of what the reference takes, which has no library that works on blocks.
    """
    if op.work is not None:
        return int(op.work(out if op.outputs == 1 else out[0], *operands)) // _IN_REGISTERS
    largest = max(_sizes(op, out, operands))
    if op.core_dims is not None and operands and operands[0]:
        return largest * int(operands[0][-1]) // _IN_REGISTERS
    return largest * additions_of(op)


def hold(limits: Allowance, op: Op, out: Any, operands: Sequence[Shape | None]) -> bool:
    """Raise LimitError for an operation that takes more than the limits allow; whether it takes much."""
    scratch = workspace_of(op, out, operands)
    if scratch > LIGHT:
        limits.check_entries(scratch + entries_of(op, out), op.name)
    operations = operations_of(op, out, operands)
    if operations > LIGHT:
        limits.check_work(operations, op.name)
    return scratch > LIGHT or operations > LIGHT


def entries_of(op: Op, out: Any) -> int:
    """How many entries the results of an operation have."""
    return sum(map(math.prod, out)) if op.outputs > 1 else math.prod(out)


def _sizes(op: Op, out: Any, operands: Sequence[Shape | None]) -> list[int]:
    return [math.prod(shape) for shape in (*(out if op.outputs > 1 else (out,)), *operands) if shape is not None]
