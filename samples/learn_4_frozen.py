"""Lesson 4: frozen parts, detach and no_grad, with tensors."""

import gradcli as torch

w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor(2.0, requires_grad=True)
scale = torch.tensor(10.0)
target = (w * x + 1).detach()
loss = scale * (w * x - target) ** 2
loss.backward()
print("w.grad =", w.grad, "x.grad =", x.grad, "scale.grad =", scale.grad)

with torch.no_grad():
    w -= 0.01 * w.grad
print("a step without recording: w =", w)

x.requires_grad_(False)
print("x is frozen now; a product with it asks for w only:", (w * x).requires_grad)
