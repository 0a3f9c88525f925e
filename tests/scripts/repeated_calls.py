"""The same functions called again and again, with other tensors, other constants, and after what was kept has been freed."""

import gradcli as torch
from gradcli.nn import functional as F

x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]], dtype=torch.float64, requires_grad=True)
y = torch.tensor([2.0, 3.0, 0.5], dtype=torch.float64, requires_grad=True)


def tell(result):
    """The result, its node, and what flows back."""
    x.grad = y.grad = None
    result.sum().backward()
    print(type(result.grad_fn).__name__, result.tolist(), x.grad, y.grad)


for _ in range(2):
    tell(x.sum())
    tell(x.sum(0))
    tell(x.sum(dim=1, keepdim=True))
    tell(x.sum((0, 1)))
    tell(torch.sum(x, 1) * y[:2])
    tell(torch.maximum(x, y))
    tell(F.leaky_relu(x, 0.1))
    tell(F.leaky_relu(x, 0.2))
    tell(F.softplus(x))
    tell(F.mse_loss(x, y.expand(2, 3)))
    tell(F.mse_loss(x, y.expand(2, 3), reduction="sum"))
    tell(torch.relu(x @ y))
    tell(torch.pow(x, 2))
    tell(torch.pow(x, 2.0))
    tell(x.to(torch.float32).sum(dim=1, dtype=torch.float64))

# numbers as exponents
for exponent in (0, 0.0, 1, 2, 3, -1, -2.0):
    tell(x**exponent)
zero = torch.tensor([0.0, -0.0], requires_grad=True)
(zero**0).sum().backward()
print(zero.grad)
(slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
tell(slope**2)

# products beyond what a sum of squares holds
large = torch.tensor([1e200, 1e300], dtype=torch.float64, requires_grad=True)
(large * torch.tensor([1e200, 1.0], dtype=torch.float64)).sum().backward()
print(large.grad)
large.grad = None
(large * large).sum().backward()
print(large.grad)

# numbers without axes
t = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
s = t
for _ in range(3):
    s = (s * 1.5 - t) / (1 + s * s) ** 2 + 2.0 * t
s.backward()
print(round(s.item(), 12), round(t.grad.item(), 12), s.dtype, s.shape)

# what nodes keep, by name
product = x * y
node = product.grad_fn
print(
    torch.equal(node._saved_self, x),
    torch.equal(node._saved_other, y),
    hasattr((x + y).grad_fn, "_saved_self"),
)
print(torch.equal(x.exp().grad_fn._saved_result, x.exp()), hasattr(node, "_saved_result"))
product.sum().backward()
try:
    node._saved_self  # noqa: B018
except RuntimeError as error:
    print(str(error)[:60])
try:
    product.sum().backward()
except RuntimeError as error:
    print(str(error)[:60])

# kept values that were changed
for make in (lambda z: z * z, lambda z: z.exp(), lambda z: (z * 2).exp()):
    z = x * 1.0
    result = make(z)
    (result if make(z).grad_fn.name() == "ExpBackward0" else z).add_(1)
    try:
        result.sum().backward()
        print("no error")
    except RuntimeError as error:
        print(str(error).partition(", which")[0])
(x + y).sum().backward()
sum_ = x + y
sum_.add_(1)
sum_.sum().backward()
sum_.sum().backward()
