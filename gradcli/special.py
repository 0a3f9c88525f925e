"""PyTorch's ``torch.special``: every function of the catalogue under its name there."""

from typing import Any

from gradcli.tensors.torch.namespace import function, function_names


def __getattr__(name: str) -> Any:
    return function(name, "torch.special")


def __dir__() -> list[str]:
    return function_names()
