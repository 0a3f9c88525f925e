# Fitting sin(x) with a polynomial by hand-written gradient descent, and with Legendre's P3 as a Function.
import math

import gradcli as torch

dtype = torch.float
x = torch.linspace(-math.pi, math.pi, 2000, dtype=torch.float64)
y = torch.sin(x)
a, b, c, d = (
    torch.full((), v, dtype=torch.float64, requires_grad=True) for v in (0.1, -0.2, 0.3, 0.05)
)
learning_rate = 1e-6
for t in range(200):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 49:
        print(t, f"{loss.item():.6f}")
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= learning_rate * p.grad
            p.grad = None
print(f"Result: y = {a.item():.6f} + {b.item():.6f} x + {c.item():.6f} x^2 + {d.item():.6f} x^3")


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


P3 = LegendrePolynomial3.apply
a, b, c, d = (
    torch.full((), v, dtype=torch.float64, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3)
)
for t in range(100):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
print(y_pred[:2], str(P3(a).grad_fn)[:53])
print(f"{loss.item():.6f} {b.item():.6f} {d.item():.6f}")
