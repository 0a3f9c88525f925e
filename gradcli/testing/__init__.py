"""Gradients of functions in tests.

They are checked by `check_gradient`, `assert_gradient` and the decorator `gradient_test`. PyTorch's
`assert_close` is here, too.
"""

from gradcli.functions.testing import GradientError, assert_gradient, check_gradient, gradient_test
from gradcli.tensors.torch.own_methods import assert_close

__all__ = ["GradientError", "assert_close", "assert_gradient", "check_gradient", "gradient_test"]
