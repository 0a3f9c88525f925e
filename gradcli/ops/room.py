"""Room for tables that functions make while they are written down: indices, weights, masks. Limits are looked at before NumPy makes them.

Functions made of operations know neither the program nor its limits. Whoever lowers a program says which are in force; tensors, whose
arrays are their caller's affair, have none.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Protocol


class Allowance(Protocol):
    """What limits say of arrays, of as many numbers as several of them have, of operations and of time. All raise LimitError."""

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
