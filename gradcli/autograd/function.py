"""PyTorch's ``torch.autograd.function``."""

from gradcli.tensors.function import Context as FunctionCtx
from gradcli.tensors.function import Function, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
