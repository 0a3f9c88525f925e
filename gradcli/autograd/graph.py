"""PyTorch's ``torch.autograd.graph``."""

from gradcli.tensors.core.in_place import increment_version
from gradcli.tensors.core.node import Node

__all__ = ["Node", "increment_version"]
