"""PyTorch's ``torch.nn.functional``: every function of the catalogue under its name there."""

from typing import Any

from gradcli.tensors.torch.catalogue_functions import OF_NETWORKS, function, function_names, in_place
from gradcli.tensors.torch.namespace import without


def __getattr__(name: str) -> Any:
    if name in OF_NETWORKS:
        return OF_NETWORKS[name]
    without(name, "torch.nn.functional")
    return in_place(name, "torch.nn.functional") or function(name, "torch.nn.functional")


def __dir__() -> list[str]:
    return function_names()
