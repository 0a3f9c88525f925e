"""PyTorch's ``torch.nn``: the functions in `functional` and `init`; there are no modules."""

from typing import TYPE_CHECKING, Any

from gradcli.nn import functional, init
from gradcli.tensors.core.tensor import Tensor

__all__ = ["Parameter", "functional", "init"]


def Parameter(data: Tensor, requires_grad: bool = True) -> Tensor:
    """A leaf of the same memory, which requires grad."""
    return Tensor(data.array).requires_grad_(requires_grad)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        help = "it has the functions of torch.nn.functional, on tensors with requires_grad=True"
        raise AttributeError(f"gradcli has no torch.nn.{name}: {help}")
