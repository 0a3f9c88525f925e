"""What records say of the memory and the time that an operation takes beyond what its result does."""

from __future__ import annotations

from gradcli.ops.facts import Function
from gradcli.ops.fixed import Fixed


class Cost(Fixed):
    """What an operation takes, beyond what its result does.

    workspace   ``workspace(out, *operands, **static)`` of their shapes: entries of the arrays that the operation, or its rule, holds
                beside operands and results; none where nothing is said, five times the operands for matrices (``core_dims``)
    operations  ``operations(out, *operands, **static)``: how many scalar operations take its time, of about a nanosecond each. Where
                nothing is said, as many as the largest array has entries, four times as many for functions that are smooth; for
                matrices, a sixteenth of what the reference takes (`Facts.work`), which has no library that works on blocks
    """

    workspace: Function | None = None
    operations: Function | None = None
