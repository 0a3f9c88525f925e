# Who sees gradients: hooks and their handles, retained gradients; and slopes of slopes of squares.
import gradcli as torch

# hooks that remove themselves, and are called for chosen inputs, too
log = []
x = torch.tensor([1.5, 2.0], requires_grad=True)


def once(t):
    log.append("once")
    first.remove()


first = x.register_post_accumulate_grad_hook(once)
x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.tolist()))
(x * x).sum().backward(inputs=[x])
(x * x).sum().backward()
print(log)

# a hook registered twice is two hooks; each handle removes its own
log.clear()


def seen(g):
    log.append(g.tolist())


handle = x.register_hook(seen)
x.register_hook(seen)
handle.remove()
handle.remove()
(x * x).sum().backward()
print(log)

# a gradient that is retained is that of the value, also after it was written to
y = x * 3
y.retain_grad()
y.mul_(2)
y[0] = 7.0
y.sum().backward()
print(y.grad, y.retains_grad, type(y.grad_fn).__name__)
z = x * 1
v = z[:2]
v.retain_grad()
with torch.no_grad():
    z.mul_(10)
v.sum().backward()
print(v.grad)
w = x * 1
part = w[1:]
w.retain_grad()
part.add_(w[0])
w.sum().backward()
print(w.grad)

# slopes of squares have slopes, and these, too
a = torch.tensor([1.5], requires_grad=True)
for power in (a**2, a**2.0, a * a, torch.pow(a, 2)):
    slope = power
    for _ in range(3):
        (slope,) = torch.autograd.grad(slope.sum(), a, create_graph=True)
        print(slope.tolist(), slope.requires_grad, end=" ")
        if not slope.requires_grad:
            break
    print()
print(torch.autograd.functional.hessian(lambda t: (t**2).sum(), a, create_graph=True).requires_grad)
