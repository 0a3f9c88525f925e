"""Lesson 3: contributions add up, inside of one backward pass and from one to the next, with tensors."""

import gradcli as torch

x = torch.tensor(3.0, requires_grad=True)
u = x**2
u.retain_grad()
result = u * torch.sin(u) + 4 * x
result.backward(retain_graph=True)
print("u.grad =", u.grad, "and x.grad =", x.grad)

result.backward()
print(
    "after a second backward pass, x.grad =",
    x.grad,
    "which is twice as much: it is added to what is there",
)
x.grad.zero_()
(x**2).backward()
print("after zero_() and another pass, x.grad =", x.grad)
