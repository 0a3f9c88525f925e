"""PyTorch's ``torch.autograd``.

It has `backward`, `grad`, `Function`, modes, anomaly detection, `gradcheck` and `functional`.
"""

from typing import TYPE_CHECKING, Any

from gradcli.autograd import forward_ad, function, functional, graph
from gradcli.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from gradcli.tensors.core.backward import backward, grad
from gradcli.tensors.core.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from gradcli.tensors.dispatch.library_calls import missing
from gradcli.tensors.torch.custom_functions import Function

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise AttributeError(missing(name, "torch.autograd"))
