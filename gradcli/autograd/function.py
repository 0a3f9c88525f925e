"""PyTorch's ``torch.autograd.function``."""

from gradcli.tensors.torch.custom_functions import Context as FunctionCtx
from gradcli.tensors.torch.custom_functions import Function, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
