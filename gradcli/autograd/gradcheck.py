"""PyTorch's ``torch.autograd.gradcheck``."""

from gradcli.check.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
