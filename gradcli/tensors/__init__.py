"""PyTorch's eager face: tensors over the registered operations and the one backward sweep."""

from gradcli.tensors.torch import methods as methods  # attaches methods to every tensor
