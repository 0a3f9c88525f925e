"""PyTorch's ``torch.autograd.graph``."""

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.tensors.core.in_place import increment_version
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import Node, RemovableHandle, RemovableHandles
from gradcli.tensors.core.tensor import Tensor

__all__ = ["Node", "increment_version", "register_multi_grad_hook"]


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call fn in each backward pass with the gradients of all these tensors, once they are
    complete, or with the first one ("any").

    The gradients are a list in the order of the tensors, with None for those that the pass does not
    reach.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [x.gradient_node() for x in tensors]

    def hook_of(place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            needed, received = state.run
            arrived = received.setdefault(hook_of, {})
            arrived[place] = gradient
            if mode == "all" and len(arrived) == sum(map(needed.__contains__, nodes)):
                fn(list(map(arrived.get, range(len(nodes)))))
            elif mode == "any" and len(arrived) == 1:
                fn(gradient)

        return hook

    return RemovableHandles(x.register_hook(hook_of(place)) for place, x in enumerate(tensors))
