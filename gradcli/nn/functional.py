"""PyTorch's ``torch.nn.functional``: every function of the catalogue under its name there."""

from typing import Any

from gradcli.tensors.torch.namespace import OF_NETWORKS, function_names, network_function, without


def __getattr__(name: str) -> Any:
    if name not in OF_NETWORKS:
        without(name, "torch.nn.functional")
    found = globals()[name] = network_function(name)  # the next time, Python finds it by itself
    return found


def __dir__() -> list[str]:
    return function_names()
