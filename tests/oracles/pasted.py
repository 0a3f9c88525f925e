"""Pieces of code as people paste them from PyTorch, NumPy and JAX, one a line; ``;`` stands between
the statements of a program.

Python and gradcli read them alike. ``python -m oracles.record_pasted torch`` (or ``numpy``,
``jax``) in tests/ records what the library makes of them, in an environment that has it; NumPy's
gradients are those that JAX has of the same text, else differences.
"""

from __future__ import annotations

import re
from typing import Any

from recorded import read_table

VALUES: dict[str, Any] = read_table("pasted_values.json")

_WORD = re.compile(r"(?<![\w.])([A-Za-z_]\w*)")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_KEYWORD = re.compile(r"[(,] ?(\w+)=[^=]")
_BOUND = re.compile(r"(?:^|; |\n)((?:\w+, ?)*\w+) = ")


def statements(text: str) -> list[str]:
    """The statements of a piece."""
    return re.split(r";\s*", text)


def names_in(text: str) -> list[str]:
    """The values that a piece takes from outside."""
    bound = (
        {name for names in _BOUND.findall(text) for name in re.split(", ?", names)}
        if ";" in text
        else set()
    )
    words = set(_WORD.findall(_QUOTED.sub("", text))) - {*_KEYWORD.findall(text)} - bound
    return [name for name in VALUES if name in words]


def differentiated(text: str) -> list[str]:
    """Those of them that are no whole numbers."""
    return [name for name in names_in(text) if name not in WHOLE]


WHOLE = ("k", "y", "n", "i")

TORCH = r"""
x.sum() / x.numel()
(x**2).sum() / x.nelement()
((A - B)**2).sum() / A.numel()
x.to(torch.float64).sum()
(x * w.to(x.dtype)).sum()
x.to(x.device).pow(2).sum()
(x.to('cpu') * w).sum()
x.to(w).sin().sum()
x.to(device='cpu', dtype=torch.float64).sum()
x.to(torch.float64, non_blocking=True).sum()
x.double().exp().sum()
((x > 0).float() * x).sum()
((x > 0).double() * x**2).sum()
((x > 0).to(x.dtype) * x).sum()
((x > 0).to(torch.float64) * x**3).sum()
((x > 0).type_as(x) * x).sum()
((x > 0).long() * x).sum()
((x > 0).int() * x).sum()
((x > 0).type(torch.float64) * x).sum()
(x * x.long()).sum()
(x * (2*w).int()).sum()
(x * x.bool()).sum()
((x.data + w) * x).sum()
(x.detach().clone() * x).sum()
x.clone().mul(2).sum()
x.contiguous().view(-1).sum()
x.cpu().sum()
x.cuda().sum()
A.size(0) * A.sum()
A.sum() / A.size(-1)
A.sum() / A.size()[0]
A.sum() / A.shape[-1]
A.sum() / A.shape[0]
A.ndim * x.sum()
A.dim() * x.sum()
A.ndimension() * x.sum()
x.real.sum()
x.conj().pow(2).sum()
(A @ A.H).sum()
(A.mT @ B).trace()
(A.mH @ B).trace()
(x * x.new_zeros(4)).sum() + x.sum()
(x * x.new_ones(4)).sum()
(x + x.new_tensor([1., 2., 3., 4.])).prod()
(x * x.new_full((4,), 2.5)).sum()
A.sum(0, True).pow(2).sum()
A.sum(1, keepdim=True).pow(2).sum()
A.mean(0, True).pow(2).sum()
A.max(0, True)[0].sum()
A.max(1, True).values.sum()
A.std(0, True).sum()
A.var(unbiased=False)
A.std(unbiased=False)
A.var(0, unbiased=False).sum()
A.var(0, False).sum()
A.std(1, unbiased=True, keepdim=True).sum()
x.sort().values[0] * 3
x.sort(descending=True).values[:2].sum()
(x.sort().values * torch.arange(4)).sum()
A.sort(dim=1).values[:, 0].sum()
(x[x.sort().indices] * w).sum()
A.max(1).values.sum()
A.max(dim=1).values.prod()
A.min(0).values.sum()
A.median(1).values.sum()
x.topk(2).values.sum()
torch.topk(x, 2).values.prod()
torch.max(A, 1).values.sum()
torch.max(A, dim=1).values.sum()
torch.sort(x).values[-1]
A.cummax(0).values.sum()
x.kthvalue(2).values
A.softmax(-1).max(-1).values.sum()
x[torch.tensor([0, 2])].sum()
A.log_softmax(-1)[range(3), y].mean()
A.log_softmax(-1)[torch.arange(3), y].mean()
F.log_softmax(A, dim=-1)[range(3), y].sum()
A.gather(1, torch.tensor([[0], [2], [1]])).sum()
A.gather(1, torch.tensor(y).unsqueeze(1)).sum()
A.index_select(0, torch.tensor([0, 2])).prod()
A.take(torch.tensor([0, 4, 8])).prod()
A[..., None].squeeze(-1).sum()
(A[:, None, :] * B[None, :, :]).sum(-1).prod()
A[:, torch.tensor([0, 2])].prod()
A[torch.tensor([0, 2]), :].prod()
A[0, :].dot(B[:, 1])
A[(0, 1)] * s
x[x > 0].sum()
x[(x > 0) & (x < 1)].prod()
x[~(x > 0)].sum()
A.masked_fill(A < 0, float('-inf')).softmax(-1)[0, 0]
A.masked_fill(torch.triu(torch.ones(3, 3), diagonal=1).bool(), float('-inf')).softmax(-1).pow(2).sum()
A.masked_fill(torch.tril(torch.ones(3, 3)) == 0, float("-inf")).softmax(-1).pow(2).sum()
A[torch.triu_indices(3, 3, offset=1)[0], torch.triu_indices(3, 3, offset=1)[1]].sum()
A[torch.tril_indices(3, 3)[0], torch.tril_indices(3, 3)[1]].prod()
x[torch.nonzero(x > 0, as_tuple=True)].prod()
x[torch.nonzero(x > 0, as_tuple=True)[0]].prod()
x[torch.nonzero(x > 0).squeeze()].prod()
x[(x > 0).nonzero(as_tuple=True)[0]].prod()
x[(x > 0).nonzero()].prod()
x[torch.where(x > 0)].prod()
x[torch.where(x > 0)[0]].prod()
A[torch.where(A > 0)].prod()
A[A > 0].mean()
A.diagonal().prod()
x[torch.argsort(x)][0] * x[x.argsort()][-1]
x[x.argmax()] * 2
A[range(3), range(3)].prod()
x[[0, 2]].prod()
x[-1] * x[0]
x[::2].sum()
x[1:].sub(x[:-1]).pow(2).sum()
(x * (x > 0)).sum()
x / (x.norm() + torch.finfo(torch.float64).eps)
torch.log(x.abs() + torch.finfo(x.dtype).eps).sum()
x.abs().clamp(min=torch.finfo(torch.float32).eps).log().sum()
x.pow(2).sum().sqrt().item() * x.sum()
float(x.sum()) * x.sum()
x.sum() * len(x)
A.shape[0] * x.mean()
x.sum() * torch.pi
x.view(x.shape[0], 1).expand(4, 3).sum()
x.view(2, -1).sum(0).prod()
x.reshape(-1, 2).t().prod()
x.unsqueeze(0).expand(A.size(0), -1).sum()
x.new_tensor(2.0) * x.sum()
torch.tensor(2.0).to(x) * x.sum()
torch.as_tensor([1., 2., 3., 4.], dtype=x.dtype, device=x.device) @ x
torch.zeros(4, dtype=x.dtype, device=x.device).add(x).sum()
torch.ones_like(x, dtype=torch.float64).mul(x).sum()
torch.arange(4, dtype=x.dtype).mul(x).sum()
torch.arange(4, device=x.device).float().mul(x).sum()
torch.eye(3).to(A) .mul(A).sum()
(x - x.mean()).div(x.std(unbiased=False)).pow(3).mean()
(A.argmax(dim=1) == torch.tensor([0, 1, 2])).float().mean() * s
(A.argmax(1) == torch.tensor(y)).sum().item() * s
A.flatten()[0] * s
A.ravel().prod()
A.unbind(0)[1].prod()
torch.count_nonzero(x > 0) * s
(x > 0).sum() * s
(x > 0).any() * s
(x < 3).all() * s
torch.any(x > 1).float() * s
torch.all(x > -5).float() * s
torch.isclose(x, x).float().mean() * s
s * torch.allclose(x, x)
x.t().dot(w)
x.T @ w
x.square().sum().sqrt()
-x.neg().abs().sum()
x.requires_grad_().pow(2).sum()
x.requires_grad_(True).sin().sum()
x.detach().cpu().numpy().sum() * s
x.pow(2).sum(dim=-1, keepdim=False)
x.sum(dtype=torch.float64)
x.mean(-1)
A.norm(dim=1, keepdim=True).sum()
A.norm(2, 1).sum()
A.norm(p=2, dim=-1).prod()
A.logsumexp(1).sum()
A.logsumexp(-1, keepdim=True).sum()
A.prod(1, True).sum()
A.amax(1, True).sum()
A.cumsum(0)[-1].prod()
A.index_fill(0, torch.tensor([1]), 0.).sum()
x.repeat(2).pow(2).sum()
x.unsqueeze(-1).repeat(1, 3).sum()
A.expand_as(B).mul(B).sum()
x.view_as(w).dot(w)
x.reshape_as(w).dot(w)
loss = ((x - w)**2).sum() / x.numel(); loss
n = x.size(0); x.sum() / n
mask = (x > 0).float(); (mask * x).sum() / mask.sum()
mask = x > 0; x[mask].mean()
mask = (x > 0).to(x.dtype); (x * mask).sum() / mask.sum().clamp(min=1.0)
idx = torch.tensor([2, 0, 1]); A[torch.arange(3), idx].sum()
idx = torch.argmax(A, dim=1); A[torch.arange(A.size(0)), idx].sum()
idx = A.argmax(dim=-1, keepdim=True); A.gather(-1, idx).sum()
logp = F.log_softmax(A, dim=1); -logp[range(len(y)), y].mean()
logp = A.log_softmax(dim=-1); nll = -logp.gather(1, torch.tensor(y).view(-1, 1)).squeeze(1); nll.mean()
p = torch.softmax(A, 1); -(p * torch.log(p + torch.finfo(p.dtype).eps)).sum(1).mean()
mu = A.mean(0, True); var = A.var(0, unbiased=False, keepdim=True); ((A - mu) / torch.sqrt(var + 1e-5)).pow(3).sum()
mu = A.mean(-1, keepdim=True); std = A.std(-1, keepdim=True); ((A - mu) / (std + 1e-6)).pow(3).sum()
q = torch.zeros(3, dtype=A.dtype, device=A.device) + A[0]; q.pow(2).sum()
h = torch.zeros_like(u); h = torch.tanh(A @ u + h); h.sum()
one_hot = F.one_hot(torch.tensor(y), 3).float(); (one_hot * A).sum()
one_hot = torch.nn.functional.one_hot(torch.tensor(y), num_classes=3).to(A.dtype); -(one_hot * A.log_softmax(1)).sum(1).mean()
eps = 1e-8; x / (x.norm(p=2, dim=-1, keepdim=True) + eps)
cos = (x * w).sum(-1) / (x.norm(dim=-1) * w.norm(dim=-1)).clamp(min=1e-8); cos
d = (A[:, None] - B[None, :]).pow(2).sum(-1); d.min(1).values.mean()
d = torch.cdist(A, B); d.min(dim=1)[0].sum()
d = (A.unsqueeze(1) - B.unsqueeze(0)).norm(dim=-1); torch.exp(-d**2 / 2).mean()
ratio = torch.exp(x - x.detach()); adv = w; -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
td = w + 0.99 * x.detach() - x; td.pow(2).mean()
ent = -(A.softmax(-1) * A.log_softmax(-1)).sum(-1).mean(); ent
kl = (A.softmax(-1) * (A.log_softmax(-1) - B.log_softmax(-1))).sum(-1).mean(); kl
huber = torch.where((x - w).abs() < 1, 0.5 * (x - w)**2, (x - w).abs() - 0.5).mean(); huber
bce = -(w.sigmoid() * torch.log(x.sigmoid()) + (1 - w.sigmoid()) * torch.log(1 - x.sigmoid())).mean(); bce
iou = (x.sigmoid() * w.sigmoid()).sum() / (x.sigmoid() + w.sigmoid() - x.sigmoid() * w.sigmoid()).sum(); 1 - iou
inter = (x.sigmoid() * (w > 0).float()).sum(); 1 - (2 * inter + 1) / (x.sigmoid().sum() + (w > 0).float().sum() + 1)
x.view(-1, 1) @ w.view(1, -1)
torch.einsum('i,j->ij', x, w).diagonal().sum()
torch.cat([x, w]).view(2, 4).sum(0).prod()
torch.stack((x, w), dim=1).max(dim=1).values.sum()
torch.max(x, torch.zeros_like(x)).sum()
torch.maximum(x, x.new_zeros(())).sum()
x.clamp(min=0).sum()
x.clamp_min(0.1).log().sum()
torch.relu(x).sum()
x.relu().pow(2).sum()
F.relu(x).sum().item() * s
torch.where(x > 0, x, 0.1 * x).sum()
torch.where(x > 0, x, torch.zeros_like(x)).sum()
torch.where(x > 0, x, x.new_tensor(0.5)).sum()
x.masked_select(x > 0).prod()
x.masked_fill(x < 0, 0).sum()
x.masked_fill(~(x > 0), 0.).sum()
A.masked_fill(torch.eye(3).bool(), 0.).sum()
A.masked_fill(torch.eye(3, dtype=torch.bool), float('-inf')).logsumexp(1).sum()
A.triu(1).sum()
torch.triu(A, diagonal=1).pow(2).sum()
A[torch.triu(torch.ones(3, 3), diagonal=1).bool()].prod()
A[torch.triu(torch.ones(3, 3), diagonal=1) == 1].sum()
A[torch.eye(3).bool()].prod()
A.flatten(start_dim=0).norm()
A.flatten(0).norm()
A.view(-1).norm()
A.reshape(-1)[4] * s
T3.flatten(1).sum(0).prod()
T3.permute(0, 2, 1).reshape(2, -1)[0, 1] * s
T3.transpose(1, 2)[0, 0, 1] * s
T3.size(1) * s
T3.mean((1, 2)).prod()
T3.mean(dim=(0, 2)).prod()
T3.sum([1, 2]).prod()
T3[..., 0].sum()
T3[:, -1].prod()
T3[:, :, None].shape[2] * s
T3[0, [0, 2]].prod()
T3.numel() * s
T3.amax(dim=(1, 2)).sum()
T3.view(2, 6).softmax(dim=1)[0, 0]
T3.view(T3.size(0), -1).sum(1).prod()
T3.chunk(3, dim=1)[1].prod()
T3.split(1, 1)[0].sum()
T3.unbind(1)[2].prod()
T3.squeeze().sum()
T3.norm(dim=-1).sum()
x.unsqueeze(-1).expand(-1, 3).sum()
x.repeat(3, 1).sum(0).prod()
x.repeat_interleave(2).sum()
x.roll(1).dot(w)
x.flip(0).dot(w)
x.diff().pow(2).sum()
x.cumsum(0)[-1] ** 2
x.cumprod(dim=0).sum()
x.prod()
x.outer(w).sum()
x.norm(1)
x.norm(p=1)
x.norm(float('inf'))
x.abs().max()
x.logsumexp(0)
x.softmax(0).pow(2).sum()
x.log_softmax(-1)[1]
x.sigmoid().log().sum()
x.tanh().pow(2).mean()
x.exp().log1p().sum()
x.abs().sqrt().sum()
x.abs().rsqrt().sum()
x.sign().mul(x).sum()
x.floor().sum() + x.sum()
x.round().sum() * s
x.lerp(w, 0.3).sum()
x.addcmul(w, w, value=0.5).sum()
x.dist(w)
A.mv(u).sum()
A.mm(B).trace()
A.matmul(B).diag().prod()
A.inverse().sum()
A.det()
A.pinverse().sum()
A.pow(2).sum(dim=1).sqrt().mean()
A.mean(dim=0, keepdim=True).expand_as(A).mul(B).sum()
A.topk(2, dim=1).values.sum()
A.topk(2, dim=1)[0].prod()
A.sort(dim=-1, descending=True).values[:, 0].prod()
A.sort(-1, True)[0][:, 0].prod()
A.argsort(dim=1)[0, 0] * s
A.median()
A.median(dim=1).values.sum()
A.kthvalue(2, dim=1).values.sum()
A.min(dim=0)[0].prod()
A.min(dim=0, keepdim=True).values.prod()
A.max() - A.min()
A.var(dim=0)
A.var(dim=1, unbiased=True).sum()
A.var(dim=1, correction=0).sum()
A.std(dim=(0, 1))
torch.std(x)
torch.std(x, unbiased=False)
torch.var(A, 1)
torch.var(A, dim=1, unbiased=False)
torch.var(A, 1, True).sum()
torch.std(A, 0, False).sum()
torch.var_mean(A, 0)[0].sum()
torch.sum(A, 1, True).prod()
torch.mean(A, 1, keepdim=True).prod()
torch.max(A, 0)[0].prod()
torch.min(A, 1).values.prod()
torch.sort(x, descending=True).values[0] * s
torch.sort(x, descending=True)[0][1]
torch.arange(x.shape[0], dtype=torch.float64) @ x
torch.arange(0, 4).to(x.dtype) @ x
torch.arange(4).double() @ x
torch.linspace(0, 1, steps=4, dtype=x.dtype) @ x
torch.ones(4).to(x) @ x
torch.ones(x.shape).type_as(x) @ x
torch.zeros(x.size()).sum() + s
torch.full((4,), 2.0).mul(x).sum()
torch.full(x.size(), 0.5, dtype=x.dtype) @ x
torch.ones_like(x).sum() * s
torch.tensor(3) * s
torch.tensor([1, 2, 3], dtype=torch.float64) @ u
torch.tensor(y).sum() * s
torch.as_tensor(2.5) * s
torch.clamp(x, 0, 1).sum()
torch.clamp(x, min=-1, max=1).sum()
torch.norm(x)
torch.norm(A, dim=1).sum()
torch.norm(A, p=2, dim=1, keepdim=True).sum()
torch.dot(x.flatten(), w.flatten())
torch.sqrt(torch.mean(torch.square(x - w)))
torch.mean((x - w) ** 2).sqrt()
torch.abs(x - w).mean()
torch.logsumexp(A, dim=1, keepdim=False).mean()
torch.cumsum(x, 0).prod()
torch.prod(x)
torch.pow(x, 2).mean()
torch.exp(-x.pow(2) / (2 * s**2)).sum()
torch.log(torch.cosh(x - w)).mean()
torch.sigmoid(x).round().sum() * s
torch.gather(A, 1, torch.tensor([[0, 2], [1, 0], [2, 2]])).prod()
torch.index_select(A, 1, torch.tensor([0, 2])).prod()
torch.nn.functional.normalize(x, dim=0).sum()
F.normalize(A, p=2, dim=1).sum()
F.cosine_similarity(A, B, dim=1).sum()
F.mse_loss(x, w)
F.l1_loss(x, w, reduction='sum')
F.smooth_l1_loss(x, w)
F.cross_entropy(A, torch.tensor(y))
F.cross_entropy(A, torch.tensor(y).long())
F.kl_div(A.log_softmax(-1), B.softmax(-1), reduction='batchmean')
F.softplus(x).sum()
F.gelu(x).sum()
F.leaky_relu(x, 0.2).sum()
F.elu(x).sum()
F.silu(x).sum()
F.layer_norm(A, A.shape[1:]).pow(3).sum()
F.layer_norm(A, (3,), eps=1e-5).pow(3).sum()
F.layer_norm(A, [A.size(-1)]).pow(3).sum()
F.pad(x, (1, 1)).pow(2).sum()
F.dropout(x, p=0.0).sum()
F.dropout(x, 0.5, training=False).sum()
(x.detach() - w).pow(2).sum()
x.data.sum() * w.sum()
x.clone().detach().requires_grad_(True).sum() * s
(x > 0).sum().item() * s
(x > 0).float().mean().item() * s
(A.argmax(-1) == torch.tensor(y)).float().mean() + s
int(x.numel() * 0.5) * s
max(x.shape) * s
len(x) * x.mean()
abs(x).sum()
sum([x.sum(), w.sum()])
round(3.7) * s
-x @ w
x @ w + 1e-3 * (x @ x + w @ w)
not_used = 3; x.sum()
x[(x > 0).nonzero()]
(x > 0).nonzero().squeeze(1).sum() * s
A[A.nonzero()[:, 0], A.nonzero()[:, 1]].prod()
mask = x > 0; x[mask.nonzero().squeeze()].prod()
x.sort(descending=True).indices[0] * s
""".strip().splitlines()

NUMPY = r"""
np.float64(2.) * x.sum()
np.float64(s) * 2 + s
x.astype(float).sum()
x.astype(np.float64).sum()
x.astype('float64').prod()
(x > 0).astype(float) @ x
((x > 0).astype(int) * x).sum()
((x > 0).astype(np.float64) * x**2).sum()
x.astype(np.float64, copy=False).sum()
x.copy().sum()
x.size * x.mean()
A.ndim * s
A.shape[0] * s
len(A) * s
A.size * s
x.real.sum()
x.imag.sum() + s
x.conj().dot(w)
x.conjugate().dot(w)
np.sum(x.flat[2] * x)
A.flat[4] * s
A.flatten()[5] * s
A.ravel()[5] * s
A.T.flatten()[1] * s
A.flatten(order='F')[1] * s
A.flatten('F')[1] * s
A.ravel('F')[1] * s
A.ravel(order='F')[2] * s
np.ravel(A, order='F')[3]
A.reshape(-1, order='F')[1] * A[0, 0]
A.reshape((9,), order='F')[2] ** 2
np.reshape(A, (9, 1), order='F')[2, 0] ** 2
np.reshape(np.arange(6.), (2, 3), order='F')[0, 1] * s
x.sum(0)
x.sum(axis=0, keepdims=True)[0]
math.tau * s
np.pi * s
np.e * s
x[np.newaxis, :].sum()
x[:, np.newaxis] @ w[np.newaxis, :] @ x
np.log(np.abs(x) + np.finfo(float).eps).sum()
np.log(np.maximum(np.abs(x), np.finfo(np.float64).tiny)).sum()
np.finfo(np.float32).eps * s
np.finfo(x.dtype).max * 0 + s
np.sqrt(np.finfo(float).eps) * s * 1e8
np.where(x > 0, x, -float('inf')).max()
np.where(np.isfinite(x), x, float('nan')).sum()
int(3.7) * s
int(-3.7) * s
round(2.567, 1) * s
abs(-2.5) * s
pow(s, 3)
divmod(7, 3)[1] * s
divmod(7, 3)[0] * s
min(s, 2.0) * 3
max(s, 0.0, 1.0)
sum([s, s**2, 3])
sum([1., 2.]) * s
len([1, 2, 3]) * s
len(x) * s
float(2) * s
float('1e-3') * s
1_000 * s
1_000.5 * s
bool(1) * s
x[range(2)].sum()
x[list(range(2))].prod()
A[range(3), range(3)].sum()
A[np.arange(3), y].prod()
A[list(range(3)), y].prod()
A[np.triu_indices(3, 1)].prod()
A[np.triu_indices(3)].sum()
A[np.triu_indices(3, k=1)].sum()
A[np.tril_indices(3, -1)].prod()
A[np.ix_([0, 2], [0, 1])].prod()
A[np.ix_([0, 2], [1])].sum()
x[np.where(x > 0)].prod()
x[np.where(x > 0)[0]].prod()
x[np.nonzero(x > 0)].prod()
x[np.nonzero(x > 0)[0]].sum()
x[(x > 0).nonzero()].prod()
A[np.where(A < 0)].prod()
x[np.flatnonzero(x > 0)].prod()
x[np.argwhere(x > 0)].prod()
x[np.argwhere(x > 0).flatten()].prod()
A[..., 0].prod()
x[..., None].sum()
x[:, None].sum()
A[:, None, :].sum()
A[[0, 2], :].prod()
A[(0, 1)] * s
A[0][1] * s
x.take([0, 1]).prod()
np.take(A, [0, 2], axis=1).prod()
A.take([0, 2], axis=0).prod()
np.take_along_axis(A, np.argsort(A, axis=1), axis=1)[:, 0].prod()
x[x.argsort()][0] * x[np.argsort(x)[::-1]][0]
np.add.reduce(x)
np.add.reduce(A).prod()
np.add.reduce(A, axis=1).prod()
np.add.reduce(A, axis=None) ** 2
np.add.reduce(A, axis=0, keepdims=True).prod()
np.add.reduce(x, initial=5.) ** 2
np.add.reduce(x, where=x > 0) ** 2
np.multiply.reduce(x)
np.multiply.reduce(A, axis=1).sum()
np.maximum.reduce(x)
np.maximum.reduce(A, axis=1).prod()
np.minimum.reduce(A, axis=0).prod()
np.logaddexp.reduce(x)
np.logaddexp.reduce(A, axis=1).prod()
np.subtract.reduce(x) ** 2
np.true_divide.reduce(x) ** 2
np.hypot.reduce(x) ** 2
np.add.accumulate(x).prod()
np.multiply.accumulate(x).sum()
np.maximum.accumulate(x).sum()
np.add.accumulate(A, axis=1).prod()
np.logaddexp.accumulate(x).sum()
np.multiply.outer(x, w).sum()
np.add.outer(x, w).prod()
np.subtract.outer(x, w).prod()
np.maximum.outer(x, w).sum()
np.power.outer(np.abs(x), u).sum()
np.logical_and.reduce(x > -5) * s
np.logical_or.reduce(x > 1) * s
np.add.reduce([s, s**2, 3.])
np.maximum.reduce([s, s**2, 3.])
np.c_[x, w].prod()
np.c_[A, u][0].prod()
np.c_[np.ones(4), x][:, 1].prod()
np.c_[np.ones((4, 1)), x, x**2].sum(0).prod()
np.r_[x, w].prod()
np.r_[x, 2.0, s].prod()
np.r_[1:4].sum() * s
np.r_[0, x[1:]].sum() ** 2
np.r_[A, B].sum(0).prod()
np.any(x > 1) * s
np.all(x > 1) * s + s
np.any(A > 1, axis=0).sum() * s
(x > 0).any() * s
(x > 0).all() * s + s
(A > 0).all(axis=1).sum() * s + s
(A > 0).any(1).sum() * s
np.count_nonzero(x > 0) * s
np.count_nonzero(A, axis=0).sum() * s
np.isclose(x, x + 1e-9).sum() * s
np.allclose(x, x) * s
np.allclose(x, w) * s + s
np.array_equal(x, x) * s
np.sort(A, axis=None)[0] * s
np.sort(A, axis=None)[-1] ** 2
np.sort(x)[::-1][0] * s
np.multiply(x, w, dtype=float).sum()
np.add(x, w, dtype=np.float64).prod()
(x if True else w).sum()
x.clip(0, 1).sum()
x.dot(w)
x.mean(axis=-1)
x.std(ddof=1)
x.var(ddof=1)
x.cumsum()[-1] ** 2
x.cumprod()[-1]
A.trace() * s
A.diagonal().prod()
A.max(axis=0).prod()
A.min(1).prod()
x.max() - x.min()
A.swapaxes(0, 1)[0, 1] * s
A.transpose(1, 0)[0, 2] * s
A.transpose()[0, 2] * s
x.repeat(2).sum()
A.squeeze().sum()
x.tolist()[0] * s
np.float32(0.5) * s
np.int64(2) * s
np.int32(3.7) * s
np.bool_(True) * s
np.asarray(x, dtype=float).sum()
np.asarray(x).astype(np.float64).sum()
np.array(x, copy=True).prod()
np.array([1, 2, 3], dtype=np.float64) @ u
np.zeros_like(x, dtype=float).sum() + s
np.ones(x.shape).sum() * s
np.zeros(x.shape, x.dtype).sum() + s
np.full(x.shape, s).prod()
np.arange(x.size) @ x
np.arange(len(x)) @ x
np.linspace(0, 1, x.size) @ x
np.arange(x.shape[0]) @ x
np.add(x, w, where=True).sum()
np.sum(x, dtype=np.float64)
x.sum(dtype=float)
n = len(x); x.sum() / n
n = x.size; np.sum(x**2) / n
m = x > 0; x[m].mean()
mask = (x > 0).astype(float); np.sum(mask * x) / np.sum(mask)
idx = np.argsort(x); x[idx][0] * s
idx = np.where(x > 0)[0]; x[idx].prod()
iu = np.triu_indices(3, k=1); A[iu].prod()
z = np.zeros(4); z = z + x; z.prod()
e_x = np.exp(x - np.max(x)); (e_x / e_x.sum(axis=0))[1]
e_x = np.exp(A - A.max(axis=1, keepdims=True)); (e_x / e_x.sum(axis=1, keepdims=True))[0, 0]
eps = np.finfo(float).eps; np.log(np.abs(x) + eps).sum()
r = np.linalg.norm(x - w); r
r = np.sqrt(((A[:, None, :] - B[None, :, :])**2).sum(axis=-1)); r.sum()
D = np.subtract.outer(x, w); (D**2).sum()
K = np.exp(-0.5 * np.subtract.outer(x, x)**2 / s**2); K.sum()
X = np.c_[np.ones(4), x]; X.T @ w
X = np.column_stack([np.ones(len(x)), x, x**2]); (X.T @ w).prod()
X = np.vstack([x, w]).T; X.sum(axis=0).prod()
X = np.hstack((x, w)); X.prod()
h = np.diff(x); (x[:-1] * h).sum()
mu = A.mean(axis=0); S_ = (A - mu).T @ (A - mu) / (A.shape[0] - 1); np.trace(S_)
t_ = np.linspace(0, 1, len(x)); np.trapezoid(x, t_)
u_ = u / np.linalg.norm(u); A @ u_
theta = np.arctan2(t, s); np.cos(theta)
a = x[0]; b = x[1]; a * b - a / b
x[:, np.newaxis] * w
x[None, :] * w[:, None]
x.reshape(2, 2).T.ravel()
x.reshape((2, -1)).sum(axis=0)
x.reshape(-1, 1).T @ w
np.dot(x, w) / (np.linalg.norm(x) * np.linalg.norm(w))
np.sum(x * w) / np.sqrt(np.sum(x**2) * np.sum(w**2))
np.sqrt(np.mean((x - w)**2))
np.mean(np.abs(x - w))
np.log(np.sum(np.exp(x)))
np.maximum(x, 0).sum()
np.maximum(0, x).sum()
np.where(x > 0, x, 0.01 * x).sum()
np.where(x > 0, 1.0, 0.0) @ x
np.clip(x, 0, None).sum()
np.prod(x[x > 0])
np.cumsum(x)[-1]
np.cumprod(x)
np.std(x, ddof=1)
np.var(x, ddof=1)
np.cov(x, w)[0, 1]
np.corrcoef(x, w)[0, 1]
np.median(x)
np.percentile(x, 30)
np.average(x, weights=np.abs(w))
np.outer(x, w).sum()
np.kron(x[:2], w[:2]).prod()
np.trace(A @ B)
np.linalg.det(A)
np.linalg.inv(A).sum()
np.linalg.solve(A, u).sum()
np.linalg.slogdet(A)[1]
np.linalg.norm(A, 'fro')
np.linalg.norm(A, axis=1).sum()
np.einsum('ij,j->i', A, u).prod()
np.einsum('ii', A)
np.tensordot(A, B, axes=2)
np.tensordot(A, B, axes=([1], [0])).sum()
np.concatenate([x, w]).prod()
np.concatenate((A, B), axis=1).sum(0).prod()
np.stack([x, w], axis=1).sum(axis=1).prod()
np.tile(x, 2).sum()
np.repeat(x, 2).sum()
np.roll(x, 1) @ w
np.flip(x) @ w
np.diag(A).prod()
np.diag(x).sum()
np.triu(A).sum()
np.eye(3) @ u
np.identity(3) @ u
np.polyval([1., -2., s], 0.5)
np.interp(0.5, [0., 1.], [s, 3.])
np.gradient(x).sum()
np.convolve(x, w).sum()
np.heaviside(x, 0.5) @ w
np.sign(x) @ w
np.abs(x) ** 1.5 @ w
np.float64(1.5) * np.sin(s)
np.power(np.abs(x), s).sum()
np.hypot(x, w).sum()
np.square(x).sum()
np.cbrt(s)
np.log1p(np.abs(x)).sum()
np.expm1(x).sum()
np.sinc(x).sum()
np.deg2rad(s)
np.nansum(x)
np.isnan(x).sum() + s
np.isfinite(x).all() * s
(~np.isnan(x)).sum() * s
np.sum(x[np.nonzero(x)])
np.sum(x, where=~np.isnan(x))
np.sum(x, axis=-1, keepdims=True)
np.max(A, axis=1, keepdims=True).sum()
np.min(A, axis=0).prod()
np.ptp(x)
np.amax(x) - np.amin(x)
np.argmax(x) * s
x[np.argmax(x)] ** 2
x[np.argmin(np.abs(x))] ** 2
np.take(x, [0, 2]).prod()
np.select([x > 1, x < 0], [x**2, -x], default=0.5).sum()
np.multiply.reduce(x[x > 0])
np.add.reduce(np.square(x)) ** 0.5
np.add.reduce(A * B, axis=-1).prod()
np.minimum.accumulate(x).sum()
np.divide.outer(x, w).sum()
np.arctan2.outer(x, w).sum()
np.logical_not(x > 0).sum() * s
np.logical_and(x > 0, x < 1).sum() * s
np.logical_xor.reduce(x > 0) * s + s
np.ones((3,)) @ u
np.ones(3, dtype=float) @ u
np.zeros(3).astype(float) @ u + s
np.array([1, 2, 3]) @ u
np.array([1, 2, 3]).astype(np.float64) @ u
np.asarray([1., 2., 3.], dtype=np.float64) @ u
np.array([s, t, 1.0]).prod()
np.array([[s, t], [t, s]]).trace()
np.array([x[0], x[1] * x[2]]).sum()
np.arange(1, 4) @ u
np.arange(3, dtype=float) @ u
np.arange(0.0, 3.0, 1.0) @ u
np.linspace(0, s, 5).sum()
np.full(3, s) @ u
np.full((2, 2), s).sum()
np.full_like(x, 2.0) @ x
np.zeros((2, 2)).shape[0] * s
x.T.dot(w)
x.sum().astype(float)
x.max(axis=0)
x.argmax() * s
x.round(1) @ w
x.clip(min=0).sum()
x.clip(0, 1, out=None).sum()
x.cumsum(axis=0)[1]
x.prod(axis=0)
x.ravel()[0] * s
x.squeeze().sum()
x.swapaxes(0, 0) @ w
x.take([0, 2]).prod()
x.compress(x > 0).prod()
x.dot(w) ** 2
x.nonzero()[0].sum() * s
x.reshape(4, 1)[2, 0] ** 2
A.sum(axis=(0, 1))
A.sum(1)[0]
A.mean(1, keepdims=True).prod()
A.std(axis=0).sum()
A.var(1).sum()
A.prod(axis=1).sum()
A.argmax(axis=1).sum() * s
A.max(1).sum()
A.T @ u
A.T[0, 1] ** 2
A.dot(u).prod()
A @ A.T @ u
A[:, 0] @ u
A[1] @ u
A[-1, -1] ** 2
A[:2, 1:].prod()
A[::2, ::2].prod()
A[:, ::-1][0, 0] ** 2
A[A > 0].sum()
A[[0, 1], [1, 2]].prod()
A[np.arange(3), [2, 0, 1]].sum()
A.astype(np.float64).trace()
A.copy().trace() * s
math.sqrt(s) * math.exp(-s)
math.pi * s**2
math.log(s, 2)
math.hypot(s, t)
math.atan2(t, s)
math.fabs(t)
math.pow(s, 3)
math.floor(2.7) * s
math.factorial(4) * s
math.comb(5, 2) * s
s if s > t else t
(x * 2 if s > 0 else x).sum()
max(s, t) * 2
min(s, t, 0)
abs(t) ** 1.5
pow(s, 2.5)
round(s, 1) * s
divmod(s, 1)[1]
sum([s, t])
len(A) * len(A[0]) * s
int(s) * s
bool(s) * t
s // 1 + s % 1
s ** -0.5
1e3 * s
1_000.0 * s
.5 * s
5. * s
+s - -t
""".strip().splitlines()

JAX = r"""
jnp.float32(2.) * s
jnp.float64(2.) * s
x.at[0].set(5.).sum()
x.at[0].set(s).prod()
x.at[1].add(s).prod()
x.at[-1].mul(s).prod()
x.at[2].multiply(s).prod()
x.at[:2].set(0.).sum()
x.at[1:].add(w[1:]).prod()
x.at[jnp.array([0, 2])].set(jnp.array([1., 2.])).prod()
x.at[jnp.array([0, 0, 2])].add(s).prod()
x.at[x > 0].set(0.).sum()
A.at[0, 1].set(s).prod()
A.at[:, 0].set(u).prod()
A.at[0].add(u).prod()
A.at[jnp.arange(3), jnp.arange(3)].add(s).prod()
A.at[jnp.triu_indices(3, 1)].set(0.).sum()
A.at[..., 0].mul(s).prod()
A.at[1, :].get().prod()
x.at[0].get() * s
x.at[0].set(s, mode='drop').prod()
x.at[0].add(s, indices_are_sorted=True, unique_indices=True).prod()
jnp.zeros(4).at[1].set(s).sum()
jnp.zeros((3, 3)).at[jnp.array([0, 1]), jnp.array([1, 2])].set(x[:2]).sum()
x.at[0].set(s).at[1].add(t).prod()
jnp.where(x > 0)[0].sum() * s
x.astype(jnp.float64).sum()
(x > 0).astype(x.dtype) @ x
(x > 0).astype(jnp.float64) @ x
x.astype(float) @ w
jnp.asarray(x).sum()
x.size * x.mean()
A.shape[0] * x.sum()
jnp.finfo(x.dtype).eps * s
jnp.finfo(jnp.float32).eps * s
x[jnp.newaxis, :].sum() ** 2
x[..., None].prod()
jnp.ix_(jnp.arange(2), jnp.arange(2))[0].sum() * s
jnp.add.reduce(x) ** 2
jnp.multiply.outer(x, w).sum()
jnp.c_[x, w].prod()
jnp.r_[x, w].prod()
jnp.take(x, jnp.array([0, 2])).prod()
x.real.sum()
x.copy().sum() ** 2
x.block_until_ready().sum() ** 2
jnp.tril_indices(3)[0].sum() * s
A[jnp.tril_indices(3)].prod()
jax.nn.log_softmax(A)[jnp.arange(3), jnp.array(y)].sum()
jax.lax.stop_gradient(x) @ x
jnp.e * s
x.mean(0)
A.sum(0, keepdims=True).prod()
jnp.any(x > 1) * s
jnp.all(x > -5) * s
jnp.count_nonzero(x > 0) * s
jnp.isclose(x, x).sum() * s
jnp.allclose(x, x) * s
x.flatten().sum() ** 2
A.ravel(order='F')[1] * s
A.flatten('F')[1] * s
jnp.einsum('ij,jk->ik', A, B).prod()
jnp.sort(A, axis=None)[0] * s
jnp.full_like(x, s).prod()
jnp.zeros_like(x).at[0].set(1.) @ x
jnp.eye(3).at[0, 0].set(s).sum()
y_ = x.at[0].set(s); y_.sum() ** 2
z = jnp.zeros((3, 3)).at[0, :].set(u); (z @ u).sum()
z = jnp.zeros(5).at[1:4].add(u); z.sum() ** 2
x.at[::2].multiply(2.0).prod()
x.at[jnp.argmax(x)].set(0.0).sum()
x.at[jnp.where(x > 0)].mul(s).prod()
x.at[-1].add(1.0).prod()
x.at[0].add(x[1]).prod()
x.at[1].set(x[0] * x[2]).prod()
A.at[0, 0].add(s).trace() ** 2
A.at[:, 1].multiply(u).prod()
A.at[1].set(0.0).sum()
A.at[jnp.array([0, 2])].add(1.0).prod()
A.at[jnp.arange(3), jnp.array([1, 2, 0])].set(u).prod()
A.at[jnp.ix_(jnp.array([0, 1]), jnp.array([0, 1]))].set(0.).sum()
A.at[A < 0].set(0.).sum()
A.at[jnp.tril_indices(3)].multiply(2.).prod()
jax.nn.relu(x).sum()
jax.nn.softmax(A, axis=-1)[0, 0]
jax.nn.sigmoid(x).prod()
jax.nn.softplus(x).sum()
jax.nn.log_softmax(A, axis=-1)[0, 1]
jax.nn.logsumexp(A, axis=1).sum()
jax.nn.one_hot(jnp.array(y), 3).sum() * s
jax.scipy.special.logsumexp(x)
jnp.mean((x - w)**2)
jnp.sum(jnp.where(x > 0, x, 0.0))
jnp.where(x > 0, x, 0.).sum()
jnp.linalg.norm(x - w)
jnp.dot(x, w)
jnp.vdot(x, w)
jnp.einsum('i,i', x, w)
jnp.maximum(x, 0).sum()
jnp.clip(x, 0, 1).sum()
jnp.concatenate([x, w]).prod()
jnp.stack([x, w]).std(0).sum()
jnp.std(x)
jnp.var(x, ddof=1)
x.std()
x.reshape(2, 2).T.prod()
x.reshape(2, -1).sum(0).prod()
A.sum(axis=1, keepdims=True).prod()
A.T.sum(0).prod()
A[jnp.arange(3), jnp.array(y)].sum()
A[:, None].sum()
jnp.take_along_axis(A, jnp.array(y)[:, None], axis=1).sum()
jnp.array([1., 2., 3.]) @ u
jnp.array([s, t]).prod()
jnp.ones(3) @ u
jnp.arange(3) @ u
jnp.linspace(0., s, 4).sum()
jnp.eye(3)[0] @ u
jnp.full((3,), s) @ u
jnp.zeros_like(x).sum() + s
jnp.float64(s) * 2
jnp.asarray([1, 2, 3], dtype=jnp.float64) @ u
x.astype(jnp.float64).prod()
jnp.sqrt(jnp.sum(x**2) + jnp.finfo(x.dtype).eps)
jnp.logaddexp(x, w).sum()
jnp.logaddexp.reduce(x)
jnp.add.reduce(A, axis=0).prod()
jnp.multiply.reduce(x)
jnp.subtract.outer(x, w).prod()
jnp.cumsum(x).prod()
jnp.diff(x).prod()
jnp.outer(x, w).sum()
jnp.trace(A) * s
jnp.diag(A).prod()
jnp.triu(A, 1).sum()
jnp.tril(A).sum()
jnp.sort(x)[0] * s
x[jnp.argsort(x)][-1] ** 2
jnp.max(A, axis=1).sum()
jnp.squeeze(x[None, :]).sum()
jnp.expand_dims(x, 0).sum()
jnp.broadcast_to(s, (3,)) @ u
jnp.tile(x, 2).sum()
jnp.repeat(x, 2).sum()
jnp.flip(x) @ w
jnp.roll(x, 1) @ w
jnp.linalg.det(A)
jnp.linalg.inv(A).sum()
jnp.linalg.solve(A, u).sum()
jnp.linalg.slogdet(A)[1]
jnp.float32(0.5) * s
jnp.int32(3) * s
jnp.pi * s
jax.lax.stop_gradient(s) * s
jax.numpy.sin(x).sum()
""".strip().splitlines()

PIECES = {"torch": TORCH, "numpy": NUMPY, "jax": JAX}
