"""PyTorch's eager face: tensors over the registered operations and the one backward sweep."""

from gradcli.tensors.torch import methods as methods  # which tensors have wherever they come from
