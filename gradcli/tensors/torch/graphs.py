"""``torch.autograd.graph``: edges of the graph, hooks on several tensors, and on what nodes keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from gradcli.tensors.core.hooks import RemovableHandle
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import GradientEdge
from gradcli.tensors.core.saved_hooks import Disabled, Hooks
from gradcli.tensors.core.tensor import Tensor


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.gradient_node()
    return GradientEdge(node.whole, node.place, node if node.whole is not node else None)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor has been written to by something that tells nobody."""
    tensors: Iterable[Tensor] = (tensor,) if isinstance(tensor, Tensor) else tensor
    for x in tensors:
        x._version_counter[0] += 1


# -- several tensors --------------------------------------------------------------------------------------------


class _Handles:
    """Removes several hooks."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> _Handles:
    """Call fn when the gradients of all of some tensors are there (a list, None for those that get none), or of the first of them."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [x.gradient_node() for x in tensors]

    def hook_of(place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            run = state.run
            arrived = run.seen(id(nodes))
            arrived[place] = gradient
            if mode == "any":
                if len(arrived) == 1:
                    fn(gradient)
                return
            expected = [i for i, node in enumerate(nodes) if node in run.needed]
            if len(arrived) == len(expected):
                fn([arrived.get(i) for i in range(len(nodes))])

        return hook

    return _Handles([x.register_hook(hook_of(i)) for i, x in enumerate(tensors)])


# -- what nodes keep --------------------------------------------------------------------------------------------


class saved_tensors_hooks(Mode):
    """Inside of a ``with`` block, what nodes keep of tensors is packed, and unpacked when it is asked for."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        super().__init__(saved_hooks=Hooks(pack_hook, unpack_hook))

    def __enter__(self) -> None:
        if isinstance(state.saved_hooks, Disabled):
            raise RuntimeError(state.saved_hooks.message)
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):
    """Keep what nodes keep in the memory of the CPU, where it is already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks(Mode):
    """Inside of a ``with`` block no such hooks may be set; the message is said to who tries."""

    def __init__(self, error_message: str) -> None:
        super().__init__(saved_hooks=Disabled(error_message))

    def __enter__(self) -> None:
        if isinstance(state.saved_hooks, Hooks):
            raise RuntimeError(self.fields["saved_hooks"].message)
        super().__enter__()


class _Kept:
    """Stands for a tensor that nodes keep."""


class _Mutations:
    """The tensors that nodes keep, and copies of those that have been written to since."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Kept, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Kept, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[Any, _Kept] = WeakValueDictionary()

    def pack(self, tensor: Tensor) -> _Kept:
        array = tensor.array
        key = (array.ctypes.data, array.shape, array.strides, array.dtype.str, tensor._version)
        kept = self.tid_to_weakhandle.get(key)
        if kept is None:
            kept = self.tid_to_weakhandle[key] = _Kept()
            self.original[kept] = tensor
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        found = self.cloned.get(kept)
        if found is None:
            found = self.original.get(kept)
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded."
            )
        return found

    def before_writing(self, x: Tensor) -> None:
        for kept, tensor in list(self.original.items()):
            if kept not in self.cloned and np.may_share_memory(tensor.array, x.array):
                self.cloned[kept] = Tensor(tensor.array.copy())
                del self.original[kept]

    def clear(self) -> None:
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """Inside of a ``with`` block, what nodes keep is copied before it is written to."""
    if state.before_writing is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    mutations = _Mutations()
    with saved_tensors_hooks(mutations.pack, mutations.unpack), Mode(before_writing=mutations.before_writing):
        try:
            yield mutations
        finally:
            mutations.clear()
