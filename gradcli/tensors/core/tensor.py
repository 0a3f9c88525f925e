"""Tensors: arrays with a node in the graph, and views of them.

A view shows the memory of another tensor, its base, and takes its place in the graph from it. It
has a node of its own from the operation that made it. Once the memory has been written to since,
its node is made anew when it is next asked for, straight from the base: what was written through
any view has become part of the base's history.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.ops.arrays.striding import as_strided, as_strided_scatter, last_place
from gradcli.ops.pytorch import node_name
from gradcli.tensors.core.dtypes import FLOATS, Entries, legacy
from gradcli.tensors.core.modes import check_untransformed, state, warn
from gradcli.tensors.core.node import Node, RemovableHandle, Shaped, Watch, torch_name

# -- The memory behind tensors: the array that holds it, and where a tensor's entries are in it ---


def root(array: np.ndarray) -> np.ndarray:
    """Return the array whose memory an array shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def strides(array: np.ndarray) -> tuple[int, ...]:
    """Return the steps from entry to entry, counted in entries."""
    return tuple(step // array.itemsize for step in array.strides)


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of entries that stand in memory in their order."""
    return tuple(math.prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def stands_in_order(array: Any) -> bool:
    """Return whether an array's entries stand in memory in their order."""
    return (
        all(
            n == 1 or a == b
            for n, a, b in zip(array.shape, strides(array), in_order(array.shape), strict=True)
        )
        or not array.size
    )


def distance(array: np.ndarray, other: np.ndarray) -> int:
    """Return the number of entries from another array's first entry to an array's first."""
    return (address(array) - address(other)) // array.itemsize


def address(array: np.ndarray) -> int:
    """Return where in memory an array's first entry is."""
    return array.ctypes.data


def start(array: np.ndarray) -> int:
    """Return the place of an array's first entry in its storage."""
    return distance(array, root(array))


def place_entries(
    array: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> np.ndarray:
    """Return the entries of an array's storage at other places.

    Raises RuntimeError if there is no such place.
    """
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    memory = root(array)
    item = array.itemsize
    needed = (offset + last_place(size, stride) + 1) * item if 0 not in size else 0
    if needed > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {item} requiring a storage "
            f"size of {needed} are out of bounds for storage of size {memory.nbytes}"
        )
    # Axes in the order of memory.
    in_order = memory.transpose(sorted(range(memory.ndim), key=lambda axis: -memory.strides[axis]))
    return np.ndarray(
        size, array.dtype, in_order, offset * item if needed else 0, [s * item for s in stride]
    )


def writable(array: np.ndarray) -> bool:
    """Return whether an array can be written to, as it can from now on if its memory can."""
    if not array.flags.writeable:
        if not root(array).flags.writeable:
            return False
        array.flags.writeable = True
    return True


def repeats(array: np.ndarray) -> bool:
    """Return whether several of its entries are one place in memory, as PyTorch looks for it."""
    return (
        0 in array.strides
        and array.size > 1
        and any(n > 1 and not s for n, s in zip(array.shape, array.strides, strict=True))
    )


def is_crowded(array: np.ndarray) -> bool:
    """Return whether there are more entries than places in memory.

    An array in which an axis stands still does not count.
    """
    return array.size > last_place(array.shape, strides(array)) + 1 and not repeats(array)


class Origin(Enum):
    """The reasons that forbid that the graph follows writing through a view: where it was made.

    The value is what is said of it.
    """

    NO_GRAD = (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and "
        "the inplace either both inside the no_grad block (if you don't want the inplace to be "
        "tracked) or both outside (if you want the "
        "inplace to be tracked)."
    )
    SEVERAL = (
        " This view is the output of a function that returns multiple views. Such functions do "
        "not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one."
    )
    CUSTOM_FUNCTION = (
        " This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, "
        "leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."
    )


class View:
    """The tensor that a view is one of.

    base     the tensor, no view itself, whose memory it shows
    version  that of the memory at which the view's node was made
    origin   what forbids writing through it, if anything
    place    which one it is of several results
    """

    __slots__ = ("base", "origin", "place", "version")

    def __init__(self, base: Any, origin: Origin | None, place: int = 0) -> None:
        self.base = base
        self.origin = origin
        self.place = place
        self.version = base._version_counter[0]

    @classmethod
    def of(cls, source: Any) -> View:
        """Return a view of a tensor, as an operation makes it now.

        The tensor may be a view itself.
        """
        origin = None if state.recording else Origin.NO_GRAD
        before = source._view
        return cls(source, origin) if before is None else cls(before.base, origin or before.origin)


def geometry(base: np.ndarray, array: np.ndarray) -> dict[str, Any]:
    """Return the places of a view's entries in its base's memory, as operations' parameters."""
    offset = distance(array, base) if array.size else 0
    return {
        "size": array.shape,
        "stride": strides(array),
        "offset": offset,
        "source": strides(base),
    }


def regenerate(x: Any) -> None:
    """Make a view's node anew, of its base."""
    refuse_writing(x, indirect=True)
    regraph(x, node_from_base(x))


def node_from_base(x: Any) -> Node:
    """Return a node of a view, straight from its base."""
    base = x._view.base
    source = base.source()
    static = geometry(base.array, x.array)
    saved = [Shaped(x.array), Shaped(base.array)]
    return Node(
        node_name(as_strided), as_strided, (source,), static, x.array.shape, x.array.dtype, saved
    )


def rebase(x: Any, written: Node | None) -> None:
    """Note that a view was written to.

    Its base's history goes through the node of what was written. Then the view is one of that base.
    """
    base = x._view.base
    static = geometry(base.array, x.array)
    saved = [Shaped(base.array), Shaped(base.array), Shaped(x.array)]
    sources = base.source(), written
    regraph(
        base,
        Node(
            "CopySlices",
            as_strided_scatter,
            sources,
            static,
            base.array.shape,
            base.array.dtype,
            saved,
        ),
    )
    regenerate(x)


def regraph(x: Any, node: Node | None) -> None:
    """Give a tensor another place in the graph.

    The gradient that it retains is that of its new value.
    """
    before, retained = x.node, x.retains_grad
    x.node, x._requires_grad = node, node is not None
    if x._view is not None:
        x._view.version = x._version_counter[0]
    if retained and before is not None and node is not before:
        before.own_watch().retained = None
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
    if origin is Origin.NO_GRAD or x.node is None:
        made = (
            "A view was created in"
            if x.node is None
            else f"{_output(x)} is a view of a view which was created in"
        )
        said = f"{made} no_grad mode and {modified} modified inplace with grad mode enabled."
    else:
        said = f"{_output(x)} is a view and {modified} modified inplace."
    raise RuntimeError(f"{said}{origin.value}")


def _output(x: Any) -> str:
    return f"Output {x._view.place} of {torch_name(x.node)}"


# -- The tensor: an array that remembers, if it requires grad, the operation that made it --------


# Methods from higher layers, and every function of the catalogue. torch/methods.py attaches them.
if TYPE_CHECKING:
    from gradcli.tensors.core.catalogue_methods import CatalogueMethods
else:
    CatalogueMethods = Entries

_Array = np.ndarray
_NO_STATIC: Any = {}
_ONLY_FLOATS = "only Tensors of floating point dtype can require gradients"
_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during "
    "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
    "Tensor, use .retain_grad() on the "
    "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
    "Tensor instead."
)
_LEAF_FLAGS = "you can only change requires_grad flags of leaf variables."


class Tensor(CatalogueMethods):
    """An array of numbers with PyTorch's methods.

    Operations on tensors that require grad are recorded; ``backward()`` adds their derivatives to
    the ``grad`` of the leaves. Every function of the catalogue is a method, under PyTorch's name
    and with its defaults.
    """

    __slots__ = ("__dict__", "__weakref__", "_requires_grad", "_version_counter", "array", "node")
    __array_priority__ = 1000
    _is_param = False  # whether nn.Parameter made the tensor
    _grad: Tensor | None = None
    _view: View | None = None
    _accumulator: Callable[[], Any] = NoneType  # returns a leaf's node, if it has one

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        """Make a tensor of an array, whose memory it takes.

        PyTorch's old constructor, too: of nested lists, or of extents.
        """
        if type(array) is not _Array:
            if requires_grad is True:
                help = "torch.tensor(data, requires_grad=True) makes such a tensor"
                raise TypeError(f"new() received an invalid combination of arguments: {help}")
            array = legacy(array, requires_grad)
            requires_grad = False
        self.array: np.ndarray = array
        self.node: Node | None = None
        self._requires_grad = requires_grad
        self._version_counter = [
            0,
            state.transforms,
        ]  # writes to the memory, and the depth of transforms at creation

    # -- what it is --------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Make a view's node anew if its memory has been written to since."""
        view = self._view
        if (
            view is not None
            and view.version != self._version_counter[0]
            and (self.node is not None or view.base.requires_grad)
        ):
            regenerate(self)

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad or (self._view is not None and self._view.base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._refresh()
        if self.node is not None:
            raise RuntimeError(
                f"{_LEAF_FLAGS} If you want to use a computed variable in a subgraph that doesn't "
                "require differentiation use "
                f"var_no_grad = var.detach(). This one was made by {self.node.label}"
            )
        if value and self.array.dtype.kind not in FLOATS:
            raise RuntimeError(
                f"{_ONLY_FLOATS}. This one is {self.dtype}: make it with dtype=torch.float32, or "
                "call .float()"
            )
        if not isinstance(value, (bool, np.bool_)):
            raise RuntimeError("requires_grad must be a bool")
        self._requires_grad = bool(value)

    @property
    def is_leaf(self) -> bool:
        self._refresh()
        return self.node is None

    @property
    def grad_fn(self) -> Node | None:
        self._refresh()
        return None if self.node is None else self.node.whole

    @property
    def grad(self) -> Tensor | None:
        if self._grad is None and self.node is not None and not self.retains_grad:
            warn(_NON_LEAF_GRAD)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is not None and value.array.shape != self.array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                f"size '{list(self.shape)}'. Please ensure "
                "that the gradient and the tensor are the same size"
            )
        if value is not None and value.dtype is not self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype {value.dtype.name} to a tensor of {self.dtype.name}"
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        watch = None if self.node is None else self.node.watch
        return watch is not None and watch.retained is not None and watch.retained() is self

    @property
    def data(self) -> Tensor:
        """The same memory without a graph; writing to it is not noticed by the graph."""
        return Tensor(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        self.array = value.array

    @property
    def _version(self) -> int:
        return self._version_counter[0]

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    # -- the graph ---------------------------------------------------------------------------------

    def source(self) -> Node | None:
        """Return the node that this tensor's gradient goes to, if it requires grad."""
        if self._view is not None:
            self._refresh()
        return (
            (self.node or self.leaf_node()) if self._requires_grad or self.requires_grad else None
        )

    def gradient_node(self) -> Node:
        """Return the node that this tensor's gradient would go to."""
        if self._view is not None:
            self._refresh()
        return self.node or self.leaf_node()

    def leaf_node(self) -> Node:
        """Return the node of a leaf, which lives as long as the graphs that it is in."""
        node: Node | None = self._accumulator()
        if node is None:
            node = Node("AccumulateGrad", None, (), _NO_STATIC, self.array.shape, self.array.dtype)
            node.variable = self
            self._accumulator = weakref.ref(node)
        return node

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if not isinstance(requires_grad, (bool, np.bool_)):
            kind = type(requires_grad).__name__
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}"
            )
        if requires_grad:
            check_untransformed("requires_grad_()")
        if self.node is None or not requires_grad:
            self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf."""
        check_untransformed("retain_grad()")
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        self._refresh()
        if self.node is not None and self.node.own_watch().retained is None:
            self.node.own_watch().retained = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call the hook with this tensor's gradient when it is complete.

        What the hook returns replaces the gradient.
        """
        return RemovableHandle(self._watch().hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call the hook with this leaf after its ``grad`` has been added to."""
        if self.node is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return RemovableHandle(self._watch().accumulated, hook)

    def _watch(self) -> Watch:
        """Return what has the hooks; a leaf's node outlives its graphs once it has some."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.gradient_node()
        if self.node is None:
            self._accumulator = lambda: node
        return node.own_watch()

    def detach(self) -> Tensor:
        """Return the same memory and version counter, without a graph."""
        alias = Tensor(self.array)
        alias._version_counter = self._version_counter
        return alias

    def detach_(self) -> Tensor:
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and "
                "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
                "hence detach_() cannot be called on these "
                "gradients. To fix this error, please refer to the Optimizer.zero_grad() function "
                "in torch/optim/optimizer.py as a "
                "solution."
            )
        self.node = None
        self._requires_grad = False
        return self

    # -- copies ------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.node is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
        copy = Tensor(self.array.copy(), self._requires_grad)
        if self._is_param:
            copy._is_param = True
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        return Tensor, (self.array, self._requires_grad)

    __hash__ = object.__hash__

    if TYPE_CHECKING:  # attached by a higher layer
        interpret: Any
