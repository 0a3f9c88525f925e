"""``torch.autograd.Variable``, which was once what a tensor with a gradient is."""

from __future__ import annotations

from typing import Any

from gradcli.tensors.core.tensor import Tensor


class _Kind(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_Kind):
    """A leaf of a tensor's entries: ``Variable(t, requires_grad=True)``. Every tensor is an instance."""

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        if data is None:
            return Tensor([])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        leaf = data.detach()
        leaf._version_counter = [0]  # PyTorch counts the writes to it by themselves
        leaf.requires_grad = requires_grad
        return leaf
