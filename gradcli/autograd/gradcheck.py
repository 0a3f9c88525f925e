"""PyTorch's ``torch.autograd.gradcheck``."""

from gradcli.functions.gradchecks import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
