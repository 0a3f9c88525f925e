"""PyTorch's ``torch.nn``: the functions in `functional` and `init`; there are no modules."""

from typing import Any

from gradcli.nn import functional, init

__all__ = ["functional", "init"]


def __getattr__(name: str) -> Any:
    if name == "Parameter":
        from gradcli.tensors.core.tensor import Tensor

        return lambda data, requires_grad=True: Tensor(data.array).requires_grad_(requires_grad)
    raise AttributeError(f"gradcli has no torch.nn.{name}: it has the functions of torch.nn.functional, on tensors with requires_grad=True")
