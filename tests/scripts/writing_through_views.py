# What happens to the graph when a view is written to, and what PyTorch does not let be written to.
import gradcli as torch


def tried(name, function):
    try:
        result = function()
    except Exception as error:
        result = f"{type(error).__name__}: {str(error).partition('.')[0]}"
    print(f"{name}: {result}")


def names(node):
    return node and (node.name(), [part and part.name() for part, _ in node.next_functions])


x = torch.ones(2, 3, requires_grad=True)
y = x * 1
first, second = y[0], y[:, 1]
first.mul_(3)
print(
    first.grad_fn.name(),
    second.grad_fn.name(),
    names(y.grad_fn),
    second,
    y._version,
    first._version,
)
second.sum().backward(retain_graph=True)
print(x.grad)
(slope,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
print(torch.autograd.grad(slope.sum(), x))

base = torch.zeros(3)
view = base[1:]
view.add_(x[0, :2])
print(base.requires_grad, view.is_leaf, names(base.grad_fn), names(view.grad_fn), base)
before = torch.zeros(3)
early = before[1:]
before.mul_(x[0])
print(early.requires_grad, early.grad_fn.name())

with torch.no_grad():
    unseen = y[0]
    inside = unseen[1:]
print(
    unseen.requires_grad,
    unseen.is_leaf,
    unseen._base is not None,
    unseen._base is y,
    inside.grad_fn,
)
tried("no_grad", lambda: unseen.add_(1))
tried("of no_grad", lambda: unseen[1:].mul_(2))
y.add_(1)
tried("node", lambda: unseen.grad_fn)
tried("use", lambda: unseen * 2)
print(unseen)
for name, write in {
    "leaf": lambda: x.add_(1),
    "row of a leaf": lambda: x.__setitem__(0, 1),
    "indices of a leaf": lambda: x.__setitem__([0], 1),
    "transposing a leaf": lambda: x.t_(),
    "detaching a view": lambda: x[0].detach_(),
}.items():
    tried(name, write)
with torch.no_grad():
    x[0].mul_(2)
    x[1, 0] = 5
print(x, x._version)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, copies):
        return a.view_as(a) if copies == 1 else (a, a[:1])

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0], None


tried("view of a function", lambda: Same.apply(x * 1, 1).add_(1))
tried("views of a function", lambda: Same.apply(x * 1, 2)[1].add_(1))
tried("view of a function without a graph", lambda: Same.apply(torch.ones(2), 1).add_(x[0, 0]))


class Adding(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient * 2


x.grad = None
y = x * 1
Adding.apply(y[:, 1:], x[:, :2])
(y * y).sum().backward()
print(names(y.grad_fn), x.grad)

kept = (x * 1).exp_()
kept.mul_(2)
tried("a result that was written to", lambda: kept.sum().backward())
kept = x * 1
product = kept[0] * kept[1]
kept[0] = 3
tried("a view that was written to", lambda: product.sum().backward())
detached = (x * 1).detach()
detached[0] = 4
print(detached._version, detached._base is not None, detached[0]._base is detached)
u = torch.tensor([1.0, 2.0]).requires_grad_() * 1
u.eq_(1)
print(u, names(u.grad_fn)[0])
