# What stands behind tensors: names of nodes, edges, hooks, what nodes keep.
import gradcli as torch
import gradcli.autograd.forward_ad as fw
from gradcli.autograd.graph import Node, increment_version

m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
for text in (
    "m.amax()",
    "m.amin(1)",
    "torch.max(m, m)",
    "torch.min(m, m)",
    "torch.maximum(m, m)",
    "m.clone()",
    "m.sum()",
    "m * m",
    "m.view(4)",
):
    node = eval(text).grad_fn
    print(
        text,
        node.name(),
        type(node).__name__,
        [(n.name(), i) for n, i in node.next_functions],
        isinstance(node, Node),
    )
q, r = torch.linalg.qr(m)
print(r.output_nr, q.grad_fn is r.grad_fn, m.output_nr, m.clone().copy_(m).grad_fn.name())

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
y.grad_fn.metadata["note"] = 1
handle = y.register_hook(lambda g: print("tensor", g))
y.sum().backward(retain_graph=True)
print(x.grad, y.grad_fn.metadata)
handle.remove()
y.sum().backward(retain_graph=True)
print(x.grad)

a = torch.tensor([1.0], requires_grad=True)
before = a._version
increment_version(a)
print(a._version - before)

for call in (lambda: torch.autograd.grad(x.sum(), []),):
    try:
        call()
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__, error)
with fw.dual_level():
    d = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    print(d, fw.unpack_dual(d * d))
