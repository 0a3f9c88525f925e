"""Gradients of functions in tests.

They are checked by `check_gradient`, `assert_gradient` and the decorator `gradient_test`.
"""

from gradcli.functions.testing import GradientError, assert_gradient, check_gradient, gradient_test

__all__ = ["GradientError", "assert_gradient", "check_gradient", "gradient_test"]
