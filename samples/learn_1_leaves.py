"""Lesson 1: leaves, requires_grad and grad_fn, with tensors."""

import gradcli as torch

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(6.0)
cube = a**3
Q = 3 * cube - b**2

print(
    "a is a leaf:", a.is_leaf, "- it requires a gradient:", a.requires_grad, "- made by:", a.grad_fn
)
print(
    "Q is a leaf:",
    Q.is_leaf,
    "- it requires a gradient:",
    Q.requires_grad,
    "- made by:",
    type(Q.grad_fn).__name__,
)
print("b**2 requires none, for b does not:", (b**2).requires_grad)
Q.backward()
print("a.grad =", a.grad, "which is 9*a**2 = 36; b.grad =", b.grad)
