"""PyTorch's ``torch.autograd.graph``."""

from collections.abc import Iterable

from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor

__all__ = ["Node", "increment_version"]


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor has been written to by something that tells nobody."""
    for x in (tensor,) if isinstance(tensor, Tensor) else tensor:
        x._version_counter[0] += 1
