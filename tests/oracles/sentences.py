"""Wrong calls, and PyTorch's error for each: its type and its first sentence: ``python -m oracles.sentences`` in tests/ asks PyTorch.

Needs PyTorch; the tests need what is recorded (data/sentences.json).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "data" / "sentences.json"

TEXTS = r"""
x + w2
x ** w2
torch.div(x, w2)
torch.fmod(x, w2)
torch.xlogy(x, w2)
torch.where(b, v, torch.ones(2))
torch.copysign(x, w2)
v.add_(x)
x.expand(3)
torch.pow(x, w2)
torch.allclose(x, w2)
torch.clamp(x, w2)
torch.matmul(x, x)
t3 @ t3
torch.mm(v, x)
torch.bmm(x, x)
torch.mv(x, torch.ones(2))
torch.dot(x, x)
torch.inner(x, torch.ones(2))
torch.mm(x, x.double())
torch.addmv(v, x, torch.ones(2))
torch.addbmm(x, t3, t3)
torch.linalg.multi_dot([t3, x])
torch.tensordot(x, x, 5)
torch.cross(x, v)
torch.cdist(v, v)
F.pdist(v)
torch.einsum('ij,jk', x, x)
torch.einsum('ij,jk->ik', x)
torch.einsum('', x)
torch.einsum('i-j', v)
torch.cat([x, v])
torch.cat([x, x], -3)
torch.cat([torch.tensor(1.), torch.tensor(2.)])
torch.stack(3)
torch.column_stack([x, w2])
torch.block_diag(t3)
torch.combinations(x)
x.view(4, -1)
x.reshape(-1, -1)
e.view(0, -1)
x.permute(0, 1, 2)
torch.transpose(x, 0)
x.unsqueeze(9)
x.flatten(0, 9)
x.split([1, 5])
torch.tensor(1.).chunk(2)
torch.vsplit(v, 2)
x.tile(-1)
x.narrow(0, 0, -1)
x.unfold(0, 9, 1)
torch.tensor(1.).unbind()
torch.diagonal(x, 0, 0, 0)
torch.trace(t3)
t3.t()
v.H
torch.flip(x, [7])
torch.rot90(v)
torch.movedim(x, 0, 7)
x.as_strided((9, 9), (1, 1))
x.reshape_as(w2)
x.swapdims(0, 5)
x[0, 0, 0]
x['a']
x[torch.ones(3, 3, dtype=torch.bool)]
x[0:2:0]
torch.gather(x, 1, torch.tensor([[0.5]]))
torch.gather(x, 1, 0)
x.scatter(5, ii, 1.0)
x.scatter_add(0, torch.tensor([[5]]), x)
x.index_select(0, torch.tensor([7]))
x.index_select(5, i)
x.index_add(5, i, x)
x.index_copy(0, i, x[:1])
x.index_fill(0, torch.tensor([0.5]), 1)
torch.take(x, torch.tensor([99]))
torch.select_scatter(x, v, 0, 9)
torch.masked_select(x, v)
x.put_(torch.tensor([0, 1]), torch.tensor([1.]))
x.sum(dim=(0, 7))
torch.sum('a')
x.mean(dim=5)
x.mean(foo=1)
e.max()
e.argmax()
x.amax((0, 0))
n.std()
x.softmax(9)
x.logsumexp(7)
x.cummax(5)
x.mode(5)
x.any(7)
torch.topk(v, 7)
torch.kthvalue(v, 9)
torch.quantile(v, -0.5)
torch.norm(x, 'nope')
torch.linalg.norm(t3, 'fro')
torch.linalg.matrix_norm(v)
torch.linalg.cond(x, 7)
torch.count_nonzero(x, 5)
torch.diff(torch.tensor(1.))
torch.gradient(x, edge_order=3)
torch.vander(x)
n.mul_(0.5)
b.add_(1)
v & v
torch.bitwise_and(v, v)
torch.add(n, n, alpha=0.5)
F.gelu(n)
torch.dot(n, v)
torch.linalg.det(torch.ones(2, 2, dtype=torch.long))
torch.linalg.cholesky(torch.ones(2, 2, dtype=torch.long))
torch.gcd(v, v)
torch.randn(2, dtype=torch.long)
torch.empty(2).uniform_(3, 1)
n.uniform_()
torch.multinomial(v, 9)
torch.multinomial(v, 0)
torch.randint(0, 5)
torch.randn(-1)
torch.normal(v, -v)
F.gumbel_softmax(x, dim=5)
torch.zeros('a')
torch.zeros(2, device='cuda')
torch.arange(0, 5, 0)
torch.arange(float('nan'))
torch.logspace(0, 1, -1)
torch.full((-2,), 1.)
torch.ones_like()
torch.tensor([[1, 2], 3])
torch.tensor(2**70)
torch.from_numpy([1])
torch.scalar_tensor('a')
x.new_zeros('a')
torch.finfo(torch.int64)
torch.sin()
torch.sin(x, foo=1)
torch.add('a', x)
x * None
x @ [1]
x.exp(1)
torch.abs('a')
torch.pow(x, 'a')
torch.maximum(x, 3)
torch.where(v, v, v)
torch.dot(v, [1, 2, 3])
x.permute('a')
x.to(3)
torch.lerp(x, x)
torch.argmax('a')
torch.split(x)
torch.eq(x)
torch.numel(3)
torch.special.zeta(x, 'a')
torch.div(x, x, rounding_mode='nope')
torch.bitwise_left_shift(v, 1)
torch.trapz('a')
bool(x)
x.item()
range(torch.tensor(1.5))
g.numpy()
(g * 1).requires_grad_(False)
(g * 2).backward('a')
c.detach().backward()
autograd.grad(c, g)
autograd.grad(g.sum(), x)
autograd.grad([g * 2, g * 3], g, torch.ones(3))
autograd.grad()
autograd.backward(g * 2)
g.view(3).add_(1)
v.as_strided((2, 2), (0, 1)).add_(1)
x.retain_grad()
x.register_post_accumulate_grad_hook(lambda t: None)
autograd.graph.saved_tensors_hooks(lambda x: x)
AF.jacobian(lambda q: 3, g)
AF.jacobian(lambda q: q.detach(), g, strict=True)
AF.jacobian(lambda q: q)
AF.hessian(lambda q: q.sum(), 3)
AF.vjp(lambda q: q, g, torch.ones(2))
AF.vjp(lambda q: torch.ones(3), g, torch.ones(3), strict=True)
AF.jvp(lambda q: q, 3, 3)
AF.hvp(lambda q: q.sum(), g, torch.ones(2))
autograd.gradcheck(lambda q: q, x)
func.grad(lambda q: 3)(v)
func.grad(lambda q: q.sum(), argnums=1)(v)
func.grad(lambda q: q.sum(), has_aux=True)(v)
func.vjp(lambda q: q, v)[1](3)
func.jvp(lambda q: q, v, v)
func.jvp(lambda q: 3, (v,), (v,))
func.jacrev(lambda q: 3)(v)
func.vmap(lambda q: q, in_dims=1)(v)
func.vmap(lambda q: q, in_dims=-5)(v)
func.vmap(lambda q: q, out_dims=(0, 0))(v)
torch.linalg.inv(x)
torch.inverse(x)
torch.linalg.solve(s, v)
torch.linalg.cholesky(x)
torch.linalg.det(v)
torch.slogdet(v)
torch.linalg.qr(v)
torch.linalg.pinv(v)
torch.linalg.matrix_power(z, -1)
torch.linalg.solve_triangular(s, s)
torch.linalg.lu(v)
torch.linalg.diagonal(v)
torch.triangular_solve(x, x)
F.mse_loss(x)
F.smooth_l1_loss(x, x, beta=-1)
F.cross_entropy(x, torch.tensor([0, 9]))
F.cross_entropy(x, i, reduction='nope')
F.nll_loss(x, torch.tensor([0, 1, 2]))
F.nll_loss(x, i, reduction='nope')
F.binary_cross_entropy_with_logits(v, v, pos_weight=torch.ones(2))
F.poisson_nll_loss(x, x, reduction='nope')
F.margin_ranking_loss(v, torch.ones(2), v)
F.triplet_margin_loss(x, x, w2)
F.multi_margin_loss(x, torch.tensor([0, 1, 2]))
F.cosine_similarity(x, w2)
F.linear(x)
F.embedding(torch.tensor([-1]), x)
F.one_hot(torch.tensor([5]), 3)
F.conv1d(x, x)
F.conv1d(torch.ones(1, 2, 5), torch.ones(3, 2, 2), stride=0)
F.conv1d(torch.ones(1, 2, 5), torch.ones(3, 2, 2), groups=0)
F.conv2d(img, torch.ones(3, 3, 2, 2))
F.conv2d(img, torch.ones(3, 2, 2, 2), padding='same', stride=2)
F.conv_transpose1d(torch.ones(1, 2, 5), torch.ones(3, 2, 2))
F.max_pool1d(x, 9)
F.max_pool2d(v, 2)
F.max_pool2d(img, (2, 2, 2))
F.avg_pool1d(x, 9)
F.avg_pool2d(img, 9)
F.adaptive_avg_pool1d(v, 2)
F.adaptive_max_pool2d(v, 2)
F.interpolate(img)
F.interpolate(img, size=8, mode='linear')
F.pad(v, (1, 1), mode='nope')
F.unfold(x, 2)
F.pixel_shuffle(img, 3)
F.grid_sample(img, x)
F.affine_grid(torch.ones(1, 2, 3), (1, 1))
F.layer_norm(x, (3,), None, torch.ones(2))
F.batch_norm(x, torch.ones(3), torch.ones(2))
F.instance_norm(torch.ones(1, 2, 1))
F.group_norm(v, 1)
F.gelu(x, approximate='nope')
F.prelu(x, 3)
F.celu(x, alpha=0)
F.scaled_dot_product_attention(t3, t3, torch.ones(2, 5, 4))
torch.nn.init.xavier_uniform_(torch.ones(3))
torch.save(3)
""".strip().splitlines()


def names(torch: Any) -> dict[str, Any]:
    return {
        "torch": torch, "F": torch.nn.functional, "autograd": torch.autograd, "AF": torch.autograd.functional, "func": torch.func,
        "x": torch.arange(6.0).reshape(2, 3), "v": torch.arange(3.0), "w2": torch.ones(4, 4) * 2, "z": torch.zeros(2, 2),
        "s": torch.tensor([[2.0, 1.0], [1.0, 3.0]]), "i": torch.tensor([0, 1]), "ii": torch.tensor([[0, 1, 2], [2, 1, 0]]),
        "b": torch.tensor([True, False, True]), "g": torch.ones(3, requires_grad=True), "c": torch.tensor(2.0, requires_grad=True),
        "t3": torch.ones(2, 3, 4), "img": torch.ones(1, 2, 4, 4), "d": torch.ones(3, dtype=torch.float64), "e": torch.empty(0),
        "n": torch.arange(3),
    }  # fmt: skip


def sentence(error: BaseException | None) -> str:
    """What an error says first: what follows says what to do."""
    return "" if error is None else str(error).splitlines()[0].split(". ")[0].rstrip(". ")


def raised(torch: Any, text: str) -> BaseException | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, names(torch))
        except Exception as error:
            return error
    return None


def builtin(error: BaseException) -> str:
    return next((kind for kind in type(error).__mro__ if kind.__module__ == "builtins"), type(error)).__name__


def main() -> None:
    import torch

    errors = {text: raised(torch, text) for text in TEXTS}
    lines = [f"{json.dumps(text)}: {json.dumps([builtin(error), sentence(error)])}" for text, error in errors.items() if error is not None]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
