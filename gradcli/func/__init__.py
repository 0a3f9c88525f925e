"""PyTorch's ``torch.func``: derivatives of functions of tensors, and functions of batches."""

from gradcli.tensors.transforms.derivatives import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)  # fmt: skip
from gradcli.tensors.transforms.vectorizing import vmap

__all__ = [ "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "vjp", "vmap",
]  # fmt: skip
