"""What a cell may be over a box, and what is the matter with it there; what rules for cells may ask of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from gradcli.reference.ranges.boxes import Box
from gradcli.reference.ranges.cells import Cell
from gradcli.reference.ranges.intervals import Interval, union


class Event(NamedTuple):
    """What is the matter with a cell somewhere in a box. ``soft``: at an end of an argument only; ``removable``: a limit closes the gap."""

    kind: str
    cell: Cell
    soft: bool = False
    removable: bool = False


Events = frozenset[Event]
NONE: Events = frozenset()


class Value(NamedTuple):
    """The range of a cell; None where it is defined nowhere in the box."""

    interval: Interval | None
    events: Events = NONE


Table = dict[Cell, Value]


class Ledger:
    """What was done: how many cells were evaluated, and which functions without rigorous bounds were met."""

    def __init__(self) -> None:
        self.work = 0
        self.uncertified: set[str] = set()


class At(Protocol):
    """Cells over one box."""

    box: Box
    table: Table
    ledger: Ledger
    limits: Limits | None

    def run(self, order: Sequence[Cell]) -> Table: ...
    def value(self, cell: Cell) -> Value: ...
    def elsewhere(self, box: Box) -> Any:
        """The same over another box, of which nothing is known yet."""


class Limits(Protocol):
    """Quotients whose parts vanish together."""

    def __call__(self, cell: Cell, at: At) -> Interval | None:
        """The range of one over a box; None where that is not known."""

    def are_only_where(self, cell: Cell, off: Cell, at: At) -> bool:
        """Tell whether what a product divides by is 0 in a box only where another cell is."""


def join(values: Sequence[Value]) -> Value:
    """All that some values may be."""
    events: Events = NONE.union(*[v.events for v in values])
    found: Interval | None = None
    for v in values:
        if v.interval is not None:
            found = v.interval if found is None else union(found, v.interval)
    return Value(found, events)
