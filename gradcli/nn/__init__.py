"""PyTorch's ``torch.nn``: the functions in `functional` and `init`, and classes of functions.

The classes keep arguments; none has parameters.
"""

from typing import TYPE_CHECKING, Any

from gradcli.nn import functional, init
from gradcli.tensors.torch.methods import Parameter
from gradcli.tensors.torch.namespace import module

__all__ = ["Parameter", "functional", "init"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return module(name)
