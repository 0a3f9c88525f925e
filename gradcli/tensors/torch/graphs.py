"""``torch.autograd.graph``: versions, and hooks on several tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gradcli.tensors.core.hooks import RemovableHandle
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


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
