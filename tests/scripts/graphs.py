# What the graph behind tensors does: gradients of non-leaves, hooks, writing in place, views, functions, modes, errors.
import warnings

import gradcli as torch


def T(f, n=110):
    try:
        print(f())
    except Exception as e:
        print(next(k.__name__ for k in type(e).__mro__ if k.__module__ == "builtins"), str(e)[:n])


t = torch.tensor
x = t([1.0, 2.0, 3.0], requires_grad=True)
T(lambda: torch.tensor([1, 2], requires_grad=True), 60)
y = x * 2
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    print(y.grad, len(w), w[0].category.__name__, str(w[0].message)[:60])
y.retain_grad()
(y**2).sum().backward()
print(y.grad, x.grad, y.retains_grad)
x.grad.zero_()
print(x.grad)
x.grad = None
(x * 3).sum().backward()
T(lambda: x.add_(1), 70)
T(lambda: x.__setitem__(0, 1.0), 70)
with torch.no_grad():
    x -= 0.1 * x.grad
print(x, x._version)
a = t([1.0, 2.0], requires_grad=True)
b = a.exp()
b.mul_(2)
T(lambda: b.sum().backward(), 116)
b = a * 3
c = b**2
b.add_(1)
T(lambda: c.sum().backward(), 140)
b = a * 3
b.add_(1)
b.sum().backward()
print(a.grad, b)
b = a * 3
b[0] = 5.0
print(b)
a.grad = None
b.sum().backward()
print(a.grad)
b = torch.zeros(3)
b[1:] = a
print(b)
a.grad = None
(b**2).sum().backward()
print(a.grad)
b = torch.zeros(3)
v = b[1:]
v.mul_(a)
v.add_(a)
print(b.requires_grad, v, v.is_leaf)
a.grad = None
(b**2).sum().backward()
print(a.grad)
d = a.detach()
d[0] = 9.0
print(a, a._version, d._version)
T(lambda: torch.autograd.grad((a**2).sum(), a))
T(lambda: torch.autograd.grad((a**2).sum(), [a, x]), 100)
T(lambda: torch.autograd.grad((a**2).sum(), [a, x], allow_unused=True))
(g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
print(g)
(g2,) = torch.autograd.grad(g.sum(), a, create_graph=True)
print(g2)
print(torch.autograd.grad(g2.sum(), a))


z = t([3.0], requires_grad=True) * 2
T(lambda: z.requires_grad_(False), 80)
p = t([1.0])
print((p + p).requires_grad, (p + z).requires_grad)
T(lambda: t([1.0, 2.0]).backward(), 65)
T(lambda: (a * 2).backward(torch.ones(3)), 200)
T(lambda: torch.ones(2) + torch.ones(3), 0)
with torch.no_grad():
    q = a * 2
    print(q.requires_grad, q.is_leaf)
    with torch.enable_grad():
        print((a * 2).requires_grad)


@torch.no_grad()
def ff(x):
    return x * 2


print(ff(a).requires_grad, torch.is_grad_enabled())
torch.set_grad_enabled(False)
print((a * 2).requires_grad)
torch.set_grad_enabled(True)
with torch.set_grad_enabled(False):
    print((a * 2).requires_grad)
print(torch.is_grad_enabled())
with torch.inference_mode():
    q = a * 2
print(q.requires_grad)
torch.autograd.backward([a.sum(), (a * 2).sum()])
print(a.grad)
