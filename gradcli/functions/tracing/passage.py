"""Notes that a run of a function leaves beside its results: where it takes numbers out of its
arrays, and where it branches on them.

A number that leaves the graph comes back into it as a constant, if at all. What depends on it then
is found by another run, in which the code gets another number at the same place (`composition.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gradcli.functions.places import Place, condition_at, is_dropped, place_here
from gradcli.graph.nodes import Expr
from gradcli.ops.structure import detach
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Exit:
    """Numbers that were taken out of the graph: of which node, and where in the code."""

    node: Expr
    numbers: np.ndarray
    place: Place | None
    before: int  # how many constants the graph had: what depends on these numbers comes later


@dataclass(eq=False)
class Passage:
    """One run of a function.

    instead  what the code gets of a node, by its index in the graph, in the place of its numbers
    turned   conditions in Python whose truth the code gets the other way, by their indices in the
             graph
    placing  whether anybody will ask for places, which take time
    """

    instead: Mapping[int, np.ndarray] = field(default_factory=dict)
    turned: Collection[int] = ()
    placing: bool = True
    exits: list[Exit] = field(default_factory=list)
    conditions: dict[Expr, str] = field(
        default_factory=dict
    )  # that the code branches on, with where it does
    decisions: dict[str, None] = field(default_factory=dict)
    held: dict[str, None] = field(default_factory=dict)  # where a value was declared a constant
    place: Callable[[], Place | None] = place_here
    price: int = 1  # of the code that an exit leads to, in operations of a trace
    records: Callable[[], bool] = lambda: (
        True
    )  # whether numbers that leave the graph now are more than constants

    def out(self, tensor: Tensor) -> np.ndarray:
        """The numbers of a tensor for code that is not traced: an array of its own."""
        array = np.array(tensor.array)
        trace = state.recorder
        if trace is None or array.dtype.kind not in FLOATS:
            return array
        node = trace.node_of(tensor)
        if node.is_constant:
            return array
        if not self.records():
            self.hold()
            node = trace.graph.apply(detach, [node])
        place = self._place()
        self.exits.append(Exit(node, array, place, len(trace.constants)))
        if place is not None and (condition := condition_at(place)):
            self.decisions[str(condition)] = None
        instead = self.instead.get(node.index)
        return array if instead is None else np.array(instead)

    def decide(self) -> None:
        """The code branches on a number, or counts by it."""
        if place := self._place():
            self.decisions[str(place)] = None

    def branch(self, tensor: Tensor) -> bool:
        """The code branches on a condition: return its truth, or the other where that is wanted."""
        self.decide()
        truth, trace = bool(tensor.array), state.recorder
        if trace is None:
            return truth
        node = trace.node_of(tensor)
        self.conditions[node] = str(self._place() or "")
        return truth is not (node.index in self.turned)

    def hold(self) -> None:
        """The code declares a value to be a constant."""
        if place := self._place():
            self.held[str(place)] = None

    def held_constant(self, tensor: Tensor) -> Tensor:
        """Return a tensor that the code declares to be a constant: whole numbers are."""
        if tensor.array.dtype.kind not in FLOATS:
            return tensor
        self.hold()
        found: Tensor = tensor.apply_op(detach, (tensor,), {})
        return found

    def list_decisions(self, hidden: Collection[int]) -> list[str]:
        """The places of decisions, those among them that take a number of which no constant in the
        graph is made.
        """
        last = max(hidden, default=-1)
        idle = [
            exit.place
            for exit in self.exits
            if exit.before > last and exit.place is not None and not is_dropped(exit.place)
        ]
        known = {text.rpartition(" at ")[2] for text in self.decisions}
        return [
            *self.decisions,
            *dict.fromkeys(
                str(place) for place in idle if f"{Path(place.path).name}:{place.line}" not in known
            ),
        ]

    def _place(self) -> Place | None:
        return self.place() if self.placing else None
