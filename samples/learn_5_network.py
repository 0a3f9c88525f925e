"""Lesson 5: training a small network by gradient descent, with tensors."""

import gradcli as torch
import gradcli.nn.functional as F

x = torch.tensor([[1.0, -2.0]])
label = torch.tensor([1])
W = torch.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)
b = torch.tensor([0.1, 0.2], requires_grad=True)

for step in range(4):
    scores = x @ W.T + b
    loss = F.cross_entropy(scores, label)
    loss.backward()
    print(
        f"step {step}: loss {loss.item():.4f}, derivative by the bias {[round(v, 4) for v in b.grad.tolist()]}"
    )
    with torch.no_grad():
        W -= 0.5 * W.grad
        b -= 0.5 * b.grad
    W.grad = b.grad = None
