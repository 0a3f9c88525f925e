"""Views: tensors that show the memory of another one, their base, and take their place in the graph from it.

A view has a node of its own from the operation that made it. Once the memory has been written to since, its node is made anew
when it is next asked for, straight from the base: what was written through any view has become part of the base's history.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided, as_strided_scatter
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped, named
from gradcli.tensors.core.node_names import kind_of
from gradcli.tensors.core.storage import distance, strides

_CLARIFY = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
    "inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked)."
)


class Origin(Enum):
    """What forbids that the graph follows writing through a view: where it was made. The value is what is said of it."""

    NO_GRAD = _CLARIFY.format("no_grad")
    INFERENCE = _CLARIFY.format("inference_mode")
    SEVERAL = (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one."
    )
    CUSTOM_FUNCTION = (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."
    )


class View:
    """What a view is one of.

    base     the tensor, no view itself, whose memory it shows
    version  that of the memory at which the view's node was made
    origin   what forbids writing through it, if anything
    place    which one it is of several results
    """

    __slots__ = ("base", "origin", "place", "version")

    def __init__(self, base: Any, origin: Origin | None, place: int = 0) -> None:
        self.base, self.origin, self.place, self.version = base, origin, place, base._version_counter[0]

    @classmethod
    def of(cls, source: Any) -> View:
        """Of a tensor, a view itself or not, as an operation makes one now."""
        origin = Origin.INFERENCE if state.inference else None if state.recording else Origin.NO_GRAD
        before = source._view
        return cls(source, origin) if before is None else cls(before.base, origin or before.origin)


def geometry(base: np.ndarray, array: np.ndarray) -> dict[str, Any]:
    """Where in the memory of a base the entries of a view are, as parameters of operations."""
    offset = distance(array, base) if array.size else 0
    return {"size": array.shape, "stride": strides(array), "offset": offset, "source": strides(base)}


class CopySlices(Node):
    """A base after writing through a view."""

    __slots__ = ()


def regenerate(x: Any) -> None:
    """Make a view's node anew, of its base."""
    refuse_writing(x, indirect=True)
    regraph(x, node_from_base(x))


def node_from_base(x: Any) -> Node:
    """A node of a view, straight from its base."""
    base = x._view.base
    source = base.source()
    static = geometry(base.array, x.array)
    node: Node = kind_of(as_strided, (), static)(as_strided, (source,), static, x.array.shape, x.array.dtype)
    node.saved = [Shaped(x.array), Shaped(base.array)]
    return node


def rebase(x: Any, written: Node | None) -> None:
    """A view was written to: its base's history goes through the node of what was written. Then the view is one of that base."""
    base = x._view.base
    static = geometry(base.array, x.array)
    node = CopySlices(as_strided_scatter, (base.source(), written), static, base.array.shape, base.array.dtype)
    node.saved = [Shaped(base.array), Shaped(base.array), Shaped(x.array)]
    regraph(base, node)
    regenerate(x)


def regraph(x: Any, node: Node | None) -> None:
    """Give a tensor another place in the graph; the gradient that it retains is that of its new value."""
    before, retained = x.node, x.retains_grad
    x.node, x._requires_grad = node, node is not None
    if x._view is not None:
        x._view.version = x._version_counter[0]
    if retained and before is not None and node is not before:
        before.watched().retained = None
        x.retain_grad()


def refuse_writing(x: Any, *, indirect: bool = False) -> None:
    """Raise if the graph cannot follow writing through a view.

    indirect  the base, or another view of it, has been written to
    """
    view = x._view
    origin = view.origin
    if origin is None:
        return
    modified = "its base or another view of its base has been" if indirect else "is being"
    if origin in (Origin.NO_GRAD, Origin.INFERENCE) or x.node is None:
        made = "A view was created in" if x.node is None else f"{_output(x)} is a view of a view which was created in"
        inference = origin is Origin.INFERENCE
        modes = ("inference mode", "in normal mode") if inference else ("no_grad mode", "with grad mode enabled")
        said = f"{made} {modes[0]} and {modified} modified inplace {modes[1]}."
    else:
        said = f"{_output(x)} is a view and {modified} modified inplace."
    raise RuntimeError(f"{said}{origin.value}")


def _output(x: Any) -> str:
    return f"Output {x._view.place} of {named(x.node)}"
