"""``torch.autograd.Variable``, which was once what a tensor with a gradient is."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor


def _at_the_end(callback: Callable[[], Any]) -> None:
    """Call something at the end of the backward pass that is under way."""
    if state.run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    state.run.at_the_end(callback)


class _Kind(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_Kind):
    """A leaf of a tensor's entries: ``Variable(t, requires_grad=True)``. Every tensor is an instance."""

    _execution_engine = SimpleNamespace(queue_callback=_at_the_end)

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        if data is None:
            return Tensor([])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        leaf = data.detach()
        leaf._version_counter = [0, state.transforms]  # PyTorch counts the writes to it by themselves
        leaf.requires_grad = requires_grad
        return leaf
