"""The tensor: an array that remembers, if it requires grad, the operation that made it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.entries import Entries, legacy
from gradcli.tensors.core.modes import check_untransformed, state, warn
from gradcli.tensors.core.node import Node, RemovableHandle
from gradcli.tensors.core.views import View, regenerate

if TYPE_CHECKING:  # what stands on rooms above this one, and every function of the catalogue: torch/methods.py attaches it
    from gradcli.tensors.core.catalogue_methods import CatalogueMethods
else:
    CatalogueMethods = Entries

_Array = np.ndarray
_NO_STATIC: Any = {}
_ONLY_FLOATS = "only Tensors of floating point dtype can require gradients"
_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
    "autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
    "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)
_LEAF_FLAGS = "you can only change requires_grad flags of leaf variables."


class Tensor(CatalogueMethods):
    """An array of numbers with PyTorch's methods.

    Operations on tensors that require grad are recorded; ``backward()`` adds their derivatives to the ``grad`` of the leaves.
    Every function of the catalogue is a method, under PyTorch's name and with its defaults.
    """

    __slots__ = ("__dict__", "__weakref__", "_requires_grad", "_version_counter", "array", "node")
    __array_priority__ = 1000
    _tangents: dict[Any, Tensor] | None = None  # at levels of forward mode (transforms/derivatives.py)
    _is_param = False  # whether nn.Parameter made it
    _grad: Tensor | None = None
    _view: View | None = None
    _accumulator: Callable[[], Any] = NoneType  # gives a leaf's node, if there is one
    _inference = False

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        """Of an array, whose memory it takes. PyTorch's old constructor, too: of nested lists, or of extents."""
        if type(array) is not _Array:
            if requires_grad is True:
                help = "torch.tensor(data, requires_grad=True) makes such a tensor"
                raise TypeError(f"new() received an invalid combination of arguments: {help}")
            array, requires_grad = legacy(array, requires_grad), False
        self.array: np.ndarray = array
        self.node: Node | None = None
        self._requires_grad = requires_grad
        self._version_counter = [0, state.transforms]  # writes to its memory, and inside of how many transformations it was made
        if state.inference:
            self._inference = True

    # -- what it is ------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Make a view's node anew if its memory has been written to since."""
        view = self._view
        if view is not None and view.version != self._version_counter[0] and (self.node is not None or view.base.requires_grad):
            regenerate(self)

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad or (self._view is not None and self._view.base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._refresh()
        if self.node is not None:
            raise RuntimeError(
                f"{_LEAF_FLAGS} If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                f"var_no_grad = var.detach(). This one was made by {self.node.label}"
            )
        if value and self.array.dtype.kind not in FLOATS:
            raise RuntimeError(f"{_ONLY_FLOATS}. This one is {self.dtype}: make it with dtype=torch.float32, or call .float()")
        if value and self._inference and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if not isinstance(value, (bool, np.bool_)):
            raise RuntimeError("requires_grad must be a bool")
        self._requires_grad = bool(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("Cannot delete .requires_grad of a tensor")

    @property
    def is_leaf(self) -> bool:
        self._refresh()
        return self.node is None

    @property
    def grad_fn(self) -> Node | None:
        self._refresh()
        return None if self.node is None else self.node.whole

    @property
    def output_nr(self) -> int:
        """Which result of its `grad_fn` it is."""
        self._refresh()
        if self._view is not None and self._view.place:
            return self._view.place
        return 0 if self.node is None else self.node.place

    @property
    def grad(self) -> Tensor | None:
        if self._grad is None and self.node is not None and not self.retains_grad:
            warn(_NON_LEAF_GRAD)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        if value is not None and value.array.shape != self.array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. Please ensure "
                "that the gradient and the tensor are the same size"
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

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Cannot delete .data of a tensor")

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._version_counter[0]

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    # -- the graph -----------------------------------------------------------------------------------------------

    def source(self) -> Node | None:
        """The node that this tensor's gradient goes to, if it requires grad."""
        if self._view is not None:
            self._refresh()
        return (self.node or self.leaf_node()) if self._requires_grad or self.requires_grad else None

    def gradient_node(self) -> Node:
        """The node that this tensor's gradient would go to."""
        if self._view is not None:
            self._refresh()
        return self.node or self.leaf_node()

    def leaf_node(self) -> Node:
        """The node of a leaf, which lives as long as the graphs that it is in."""
        node: Node | None = self._accumulator()
        if node is None:
            node = Node("AccumulateGrad", None, (), _NO_STATIC, self.array.shape, self.array.dtype)
            node.variable = self
            self._accumulator = weakref.ref(node)
        return node

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if not isinstance(requires_grad, (bool, np.bool_)):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
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
        if self.node is not None and self.node.watched().retained is None:
            self.node.watched().retained = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call the hook with this tensor's gradient when it is complete; what it returns replaces the gradient."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.gradient_node()
        if self.node is None:
            self._keep(node)
        return RemovableHandle(node.watched().hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call the hook with this leaf after its ``grad`` has been added to."""
        if self.node is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.gradient_node()
        self._keep(node)
        return RemovableHandle(node.watched().accumulated, hook)

    def _keep(self, node: Node) -> None:
        """A leaf's node outlives its graphs once it has hooks."""
        self._accumulator = lambda: node

    def detach(self) -> Tensor:
        """The same memory and version counter, without a graph."""
        alias = Tensor(self.array)
        alias._version_counter, alias._inference = self._version_counter, self._inference
        return alias

    def detach_(self) -> Tensor:
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
                "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these "
                "gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as a "
                "solution."
            )
        self.node, self._requires_grad, self._tangents = None, False, None
        return self

    # -- copies ------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.node is not None:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
        copy = Tensor(self.array.copy(), self._requires_grad)
        if self._is_param:
            copy._is_param = True
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        return _restored, (self.array, self._requires_grad)

    __hash__ = object.__hash__

    if TYPE_CHECKING:  # what stands on rooms above this one
        interpret: Any


def _restored(array: np.ndarray, requires_grad: bool) -> Tensor:
    return Tensor(array, requires_grad)
