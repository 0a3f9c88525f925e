"""Notes that a run of a function leaves in addition to its results.

They say where the function takes numbers out of its arrays, and where it branches on them.

A number that leaves the graph comes back as a constant, if at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from gradcli.functions.places import Place, condition_at, is_dropped, place_here
from gradcli.graph.nodes import Expr
from gradcli.ops.structure import detach
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import NOBODY, state
from gradcli.tensors.core.tensor import Tensor


@dataclass(eq=False)
class Passage:
    """One run of a function.

    turned   conditions in Python whose truth the code gets the other way, by their indices in the
             graph
    """

    turned: Collection[int] = ()
    # Conditions that the code branches on, and where it does.
    conditions: dict[Expr, str] = field(default_factory=dict)
    decisions: dict[str, None] = field(default_factory=dict)
    held: dict[str, None] = field(default_factory=dict)  # where a value was declared a constant
    forwards: int = 0  # of custom functions of PyTorch's, under way
    place: Callable[[], Place | None] = place_here
    # False where numbers that leave the graph count as constants, as under no_grad.
    records: Callable[[], bool] = lambda: True

    def out(self, tensor: Tensor) -> np.ndarray:
        """Return the numbers of a tensor, in an array of its own, for code that is not traced.

        If they come back as constants, the trace is found to hide a dependence. Otherwise the code
        has decided something by them, unless its result is dropped.
        """
        array = np.array(tensor.array)
        trace = state.recorder
        if trace is NOBODY or array.dtype.kind not in FLOATS or trace.node_of(tensor).is_constant:
            return array
        if not self.records():
            self.hold()
        place = self.place()
        if place is not None and not is_dropped(place):
            self.decisions[str(condition_at(place) or place)] = None
        return array

    def decide(self) -> None:
        """Note that the code branches on a number, or counts by it."""
        if place := self.place():
            self.decisions[str(place)] = None

    def branch(self, tensor: Tensor) -> bool:
        """Note that the code branches on a condition, and return the condition's truth.

        Where the other branch is wanted, the opposite is returned.
        """
        self.decide()
        truth = bool(tensor.array)
        trace = state.recorder
        if trace is NOBODY:
            return truth
        node = trace.node_of(tensor)
        self.conditions[node] = str(self.place() or "")
        return truth is not (node.index in self.turned)

    def hold(self) -> None:
        """Note that the code declares a value to be a constant."""
        if place := self.place():
            self.held[str(place)] = None

    def held_constant(self, tensor: Tensor) -> Tensor:
        """Return a tensor that the code declares to be a constant: whole numbers are."""
        if tensor.array.dtype.kind not in FLOATS:
            return tensor
        self.hold()
        found: Tensor = tensor.apply_op(detach, (tensor,), {})
        return found
