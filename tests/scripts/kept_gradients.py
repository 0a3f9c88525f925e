# Gradients that are kept: copies of their own, added up, also with create_graph; copies of tensors; modes inside of modes.
import gradcli as torch

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
g = torch.ones(2)
(a + b).backward(g, create_graph=True)
g.mul_(7)
print(a.grad, b.grad, a.grad is b.grad)
(a * 2).sum().backward(create_graph=True)
print(a.grad)

x = torch.tensor([1.0, 2.0], requires_grad=True)
(x**3).sum().backward(create_graph=True)
print(x.grad)
(x**3).sum().backward(create_graph=True)
print(x.grad)
x.grad = None
(x**3).sum().backward(create_graph=True)
x.grad.sum().backward()
print(x.grad)

y = x * 2
y.retain_grad()
z = (y * y).sum()
z.backward(retain_graph=True)
z.backward()
print(y.grad)
for retained in (True, False):
    y = x * 2
    if retained:
        y.retain_grad()
    (y * 3).sum().backward(inputs=[y])
    print(y.grad)
y = x * 2
y.retain_grad()
y.sign().sum().backward(create_graph=True)
print(y.grad, y.grad.requires_grad)

u = x.detach()
for copy in (u.repeat(1), u.tile(1), u.repeat(1, 1), u.flip(0), u.roll(0)):
    copy.fill_(9.0)
    print(u)

w = torch.tensor([1.0, 2.0], requires_grad=True)
total = (w * 2).sum()
w.requires_grad_(False)
total.backward()
print(w.grad)

with torch.inference_mode():
    with torch.inference_mode(False):
        inner = torch.ones(1, requires_grad=True) * 2
        print(torch.is_grad_enabled(), torch.is_inference_mode_enabled(), inner.requires_grad)
    with torch.enable_grad():
        inner = x * 2
        print(torch.is_grad_enabled())
with torch.no_grad():
    with torch.inference_mode(False):
        print(torch.is_grad_enabled())
    print(torch.is_grad_enabled())
print(torch.Tensor.exp.__name__, torch.Tensor.add_.__name__)
