"""Views: tensors that show the memory of another one, their base, and take their place in the graph from it.

A view has a node of its own from the operation that made it. Once the memory has been written to since, its node is made anew
when it is next asked for, straight from the base: what was written through any view has become part of the base's history.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided, as_strided_scatter, last_place
from gradcli.ops.pytorch import node_name
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, Shaped, named

# -- The memory behind tensors: the array that holds it, and where a tensor's entries are in it ----


def root(array: np.ndarray) -> np.ndarray:
    """The array whose memory an array shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def strides(array: np.ndarray) -> tuple[int, ...]:
    """The steps from entry to entry, counted in entries."""
    return tuple([step // array.itemsize for step in array.strides])


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of entries that stand in memory in their order."""
    return tuple(math.prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def stands_in_order(array: Any) -> bool:
    """Return whether an array's entries stand in memory in their order."""
    return all(n == 1 or a == b for n, a, b in zip(array.shape, strides(array), in_order(array.shape), strict=True)) or not array.size


def distance(array: np.ndarray, other: np.ndarray) -> int:
    """How many entries after another's first one an array's first one is."""
    return (address(array) - address(other)) // array.itemsize


def address(array: np.ndarray) -> int:
    """Return where in memory an array's first entry is."""
    return array.ctypes.data


def start(array: np.ndarray) -> int:
    """The place of an array's first entry in its storage."""
    return distance(array, root(array))


def placed(array: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> np.ndarray:
    """The entries of an array's storage at other places. Raises RuntimeError where there is no such place."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    memory = root(array)
    item = array.itemsize
    needed = (offset + last_place(size, stride) + 1) * item if 0 not in size else 0
    if needed > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} requiring a storage "
            f"size of {needed} are out of bounds for storage of size {memory.nbytes}"
        )
    in_order = memory.transpose(sorted(range(memory.ndim), key=lambda axis: -memory.strides[axis]))  # as it stands in memory
    return np.ndarray(size, array.dtype, in_order, offset * item if needed else 0, [s * item for s in stride])


def writable(array: np.ndarray) -> bool:
    """Return whether an array can be written to, as it can from now on if its memory can."""
    if not array.flags.writeable:
        if not root(array).flags.writeable:
            return False
        array.flags.writeable = True
    return True


def repeats(array: np.ndarray) -> bool:
    """Return whether several of its entries are one place in memory, as PyTorch looks for it."""
    return 0 in array.strides and array.size > 1 and any(n > 1 and not s for n, s in zip(array.shape, array.strides, strict=True))


def crowded(array: np.ndarray) -> bool:
    """Return whether there are more entries than places in memory, although no axis stands still."""
    return array.size > last_place(array.shape, strides(array)) + 1 and not repeats(array)


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
    """Return where in the memory of a base the entries of a view are, as parameters of operations."""
    offset = distance(array, base) if array.size else 0
    return {"size": array.shape, "stride": strides(array), "offset": offset, "source": strides(base)}


def regenerate(x: Any) -> None:
    """Make a view's node anew, of its base."""
    refuse_writing(x, indirect=True)
    regraph(x, node_from_base(x))


def node_from_base(x: Any) -> Node:
    """A node of a view, straight from its base."""
    base = x._view.base
    source = base.source()
    static = geometry(base.array, x.array)
    node = Node(node_name(as_strided), as_strided, (source,), static, x.array.shape, x.array.dtype)
    node.saved = [Shaped(x.array), Shaped(base.array)]
    return node


def rebase(x: Any, written: Node | None) -> None:
    """A view was written to: its base's history goes through the node of what was written. Then the view is one of that base."""
    base = x._view.base
    static = geometry(base.array, x.array)
    node = Node("CopySlices", as_strided_scatter, (base.source(), written), static, base.array.shape, base.array.dtype)
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
