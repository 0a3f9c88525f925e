"""PyTorch's ``torch.autograd.forward_ad``."""

from typing import Any

from gradcli.tensors.transforms import derivatives
from gradcli.tensors.transforms.derivatives import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return derivatives.current_level()
    raise AttributeError(f"gradcli has no torch.autograd.forward_ad.{name}")
