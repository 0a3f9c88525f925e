"""PyTorch's ``torch.autograd.functional``."""

from gradcli.tensors.torch.jacobians import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
