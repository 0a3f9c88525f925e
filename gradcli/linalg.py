"""PyTorch's ``torch.linalg``: every function of the catalogue under its name there."""

from typing import Any

from gradcli.tensors.torch.namespace import function, function_names, without
from gradcli.tensors.torch.own_methods import OF_MATRICES


def __getattr__(name: str) -> Any:
    without(name, "torch.linalg")
    return OF_MATRICES[name] if name in OF_MATRICES else function(name, "torch.linalg")


def __dir__() -> list[str]:
    return [*function_names(), *OF_MATRICES]
