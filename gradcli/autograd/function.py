"""PyTorch's ``torch.autograd.function``."""

from gradcli.tensors.torch.custom_functions import Function, InplaceFunction, once_differentiable
from gradcli.tensors.torch.function_context import Context as FunctionCtx

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
