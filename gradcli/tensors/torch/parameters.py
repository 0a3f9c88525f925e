"""``torch.nn.Parameter``: leaves that say of themselves that they are what is trained."""

from __future__ import annotations

from typing import Any

from gradcli.tensors.core.tensor import Tensor


class _Kind(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x._is_param


class Parameter(metaclass=_Kind):
    """A leaf of the same memory, which requires grad. What is computed of it are tensors as any other."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Parameter data has to be a tensor, but got {type(data).__name__}")
        leaf = Tensor([]) if data is None else Tensor(data.array)
        leaf._is_param = True
        return leaf.requires_grad_(requires_grad)
