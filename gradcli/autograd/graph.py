"""PyTorch's ``torch.autograd.graph``."""

from gradcli.tensors.core.node import Node
from gradcli.tensors.torch.graphs import increment_version, register_multi_grad_hook

__all__ = ["Node", "increment_version", "register_multi_grad_hook"]
