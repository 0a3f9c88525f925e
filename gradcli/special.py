"""PyTorch's ``torch.special``: every function of the catalogue under its name there, and those without derivatives."""

from typing import Any

from gradcli.tensors.torch.catalogue_functions import function, function_names
from gradcli.tensors.torch.underived_functions import SPECIAL


def __getattr__(name: str) -> Any:
    return SPECIAL[name] if name in SPECIAL else function(name, "torch.special")


def __dir__() -> list[str]:
    return sorted({*function_names(), *SPECIAL})
