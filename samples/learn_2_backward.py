"""Lesson 2: what is saved for the backward pass, and the vector of a vector-Jacobian product, with tensors."""

import gradcli as torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 5.0], requires_grad=True)
product = x * y
result = product + torch.exp(x - 1)

print("the product keeps its factors:", product.grad_fn._saved_self, product.grad_fn._saved_other)
try:
    result.backward()
except RuntimeError as error:
    print("without a vector:", error)
result.backward(gradient=torch.tensor([1.0, 10.0]))
print("x.grad =", x.grad)
print("y.grad =", y.grad)
