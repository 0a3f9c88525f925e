"""PyTorch's eager face: tensors over the registered operations and the one backward sweep."""
