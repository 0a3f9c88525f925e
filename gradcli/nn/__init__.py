"""PyTorch's ``torch.nn``: the functions in `functional` and `init`; there are no modules."""

from typing import TYPE_CHECKING, Any

from gradcli.nn import functional, init
from gradcli.tensors.torch.parameters import Parameter

__all__ = ["Parameter", "functional", "init"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        help = "it has the functions of torch.nn.functional, on tensors with requires_grad=True"
        raise AttributeError(f"gradcli has no torch.nn.{name}: {help}")
