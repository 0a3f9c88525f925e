# Hooks, retained gradients, in-place operations on views, double backward, and functions with several results.
import gradcli as torch


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
copy.data[0] = 7.0
print(copy, copy.data.requires_grad)
