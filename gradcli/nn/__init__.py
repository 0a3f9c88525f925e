"""PyTorch's ``torch.nn``: the functions in `functional` and `init`, and classes of functions that
keep arguments; none with parameters.
"""

from typing import TYPE_CHECKING, Any

from gradcli.nn import functional, init
from gradcli.tensors.torch.methods import Parameter

__all__ = ["Parameter", "functional", "init"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from gradcli.tensors.torch.namespace import module

        if name.startswith("__"):
            raise AttributeError(f"module 'gradcli.nn' has no attribute {name!r}")
        return module(name)

    def __dir__() -> list[str]:
        from gradcli.tensors.torch.namespace import module_names

        return sorted({*__all__, *module_names()})
