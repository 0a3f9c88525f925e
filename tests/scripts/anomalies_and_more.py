# Hooks, retained gradients, in-place operations on views, double backward, and functions with several results.
import gradcli as torch

x = torch.arange(6.0).reshape(2, 3).requires_grad_()
values, indices = (x * torch.tensor([1.0, -1.0, 2.0])).sort(dim=1, descending=True)
values[:, 0].sum().backward()
print(values, indices, x.grad)
x.grad = None
(x.T @ x).diagonal().sum().backward()
print(x.grad)


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, scale):
        ctx.save_for_backward(a, b)
        ctx.scale = scale
        return a * b * scale, a + b

    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        print(ctx.needs_input_grad, g1, g2)
        return g1 * b * ctx.scale + g2, g1 * a * ctx.scale + g2, None


a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
p, q = Both.apply(a, b, 10.0)
print(p, q)
p.sum().backward()
print(a.grad)
(g,) = torch.autograd.grad((a**4).sum(), a, create_graph=True)
(h,) = torch.autograd.grad((g * g).sum(), a)
print(g, h)
penalty = torch.autograd.grad(a.sin().sum(), a, create_graph=True)[0].pow(2).sum()
penalty.backward()
print(penalty, a.grad)
base = torch.zeros(2, 2)
row = base[1]
row += a
base[:, 0] = base[:, 0] * 3
print(base, row)
a.grad = None
(base**2).sum().backward()
print(a.grad)
leaf = torch.ones(3, requires_grad=True)
seen = []
leaf.register_hook(lambda grad: seen.append(grad.clone()))
middle = leaf * 2
middle.retain_grad()
handle = middle.register_hook(lambda grad: grad + 1)
(middle * middle).sum().backward()
print(seen, leaf.grad, middle.grad)
handle.remove()
for _ in range(2):
    (leaf * leaf).sum().backward()
print(leaf.grad, leaf._version)
with torch.no_grad():
    leaf.mul_(2).add_(1)
print(leaf, leaf._version, leaf.is_leaf)
copy = leaf.detach().clone().requires_grad_()
loss = (copy.view(-1)[1:] * torch.tensor([2.0, 3.0])).prod()
loss.backward(inputs=[copy])
print(copy.grad, loss)
mask = copy > 2
print(mask, copy[mask], copy[[0, 2]], copy[-1], copy[None, :2], copy[..., 1:])
copy.data[0] = 7.0
print(copy, copy.data.requires_grad)
w = torch.zeros(3)
w[mask] = copy.detach()[mask]
w[0] = 1
print(w, torch.equal(w, w.clone()), torch.allclose(w, w + 1e-9))
