"""PyTorch's ``torch.autograd.graph``."""

from gradcli.tensors.core.node import Node

__all__ = ["Node"]
