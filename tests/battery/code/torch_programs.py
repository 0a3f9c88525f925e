"""PyTorch as people write it around autograd: detached parts, .item(), .data, no_grad, hooks, modules, loops, views, and hand-written gradients."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

from battery.code.entries import Entry, about, held, some

torch.manual_seed(0)
X = {"x": some(5)}
LSTM = nn.LSTMCell(3, 2).double()


def detached_scale(x):
    return (x * x.abs().max().detach()).sum()


def whole_scale(x):
    return (x * x.abs().max()).sum()


def scaled_by_item(x):
    return (x / x.norm().item()).sum()


def scaled_by_norm(x):
    return (x / x.norm()).pow(3).sum()


def written_by_data(x):
    y = x * 2
    y.data = y.data**2
    return y.sum()


def under_no_grad(x):
    with torch.no_grad():
        weights = torch.softmax(x, 0)
    return (weights * x).sum()


def softmax_weighted(x):
    return (torch.softmax(x, 0) * x).sum()


def rebuilt_tensor(x):
    return torch.tensor([v.item() ** 2 for v in x], dtype=x.dtype).sum() + x.sum()


def hooked(x):
    y = x**2
    if y.requires_grad:
        y.register_hook(lambda g: g.clamp(-0.1, 0.1))
    return (3 * y).sum()


def clipped_value(x):
    return x.clamp(-1, 1).pow(2).sum()


def loop(x):
    y = x
    for k in range(4):
        y = torch.sin(y) + 0.3 * k * x
    return y.prod()


def filled(x):
    out = torch.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] * x[: i + 1].sum()
    return out


def branched(x):
    return (x**2).sum() if x.sum() > 0 else (x**3).sum()


def branched_on_item(x):
    return x.prod() if x[0].item() > 0 else x.sum()


def in_place(x):
    y = x.clone()
    y[1:] *= y[:-1].clone()
    y[0] += 3
    return (y**2).sum()


def views(x):
    y = x.clone()
    y.view(-1)[::2].mul_(2)
    return y.cumsum(0).pow(2).sum()


def gathered(x, places):
    return x[places].mul(torch.arange(1.0, len(places) + 1, dtype=x.dtype)).sum()


def where_nan(x):
    """A branch that is not taken is not a number; the other one's gradient is."""
    return torch.where(x > 0, torch.log(x.clamp(min=1e-3)), x).sum()


def sorted_and_scanned(x):
    return (
        torch.sort(x).values * torch.linspace(0, 1, len(x), dtype=x.dtype)
    ).sum() + torch.logcumsumexp(x, 0)[-1]


def spectral(a):
    return torch.linalg.eigvalsh(a @ a.T)[-1] + torch.linalg.svdvals(a).sum()


def checkpointed(x):
    return checkpoint(lambda v: torch.tanh(v) * v, x, use_reentrant=False).sum()


def einsum(a, b):
    return torch.einsum("ij,jk->ik", a, b).relu().sum()


def embedding_bag(table, tokens):
    return F.embedding(tokens, table).mean(0).norm()


def inner_gradient(x):
    """A gradient penalty: a derivative of a derivative."""
    with torch.enable_grad():
        y = x if x.requires_grad else x.detach().requires_grad_()
        (slope,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
    return (slope**2).sum()


def functional_jacobian(x):
    return torch.func.grad(lambda v: (v**3).sum())(x).pow(2).sum()


def lstm_step(x, h, c):
    return LSTM(x[None], (h[None], c[None]))


def several(x):
    return {"sum": x.sum(), "squares": (x**2, x.norm())}


def compiled_by_hand(x):
    return x.sigmoid().log()


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


class CubeDetached(Cube):
    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0].detach() ** 2


def cubes(function):
    return lambda x: function.apply(x).sum()


def tanh_of_numpy(x):
    return np.sum(torch.tanh(torch.from_numpy(np.asarray(x))).numpy())


ENTRIES: list[Entry] = [
    *held("torch", X, {"a scale": whole_scale, "a norm": scaled_by_norm, "a detached scale": detached_scale, "under no_grad": under_no_grad}, {
        "a norm by item()": scaled_by_item, "written by .data": written_by_data, "a rebuilt tensor": rebuilt_tensor, "a hook that clips": hooked,
    }),
    *held("torch", X, {
        "weighted by a softmax": softmax_weighted, "clipped": clipped_value, "a loop": loop, "filled entry by entry": filled, "a branch": branched,
        "a branch on item()": branched_on_item, "in place": in_place, "views": views, "where beside a logarithm": where_nan,
        "sorted, scanned": sorted_and_scanned, "checkpointed": checkpointed, "a derivative inside": inner_gradient,
        "torch.func inside": functional_jacobian, "several outputs": several, "compiled": compiled_by_hand,
    }),
    *held("torch", X, {"another order": cubes(Cube)}, {"detached in the backward": cubes(CubeDetached)}, order=2),
    *held("torch", {**X, "places": np.array([0, 3, 3])}, {"gathered": gathered}, wrt="x"),
    *held("torch", {"a": some(3, 3)}, {"spectra": spectral}),
    *held("torch", {"a": some(2, 3), "b": some(3, 2, state=1)}, {"einsum": einsum}),
    *held("torch", {"table": some(5, 2), "tokens": np.array([1, 4, 4])}, {"an embedding": embedding_bag}, wrt="table"),
    *held("torch", {"x": some(3), "h": some(2, state=1), "c": some(2, state=2)}, {"an LSTM cell": lstm_step}),
    *about(tanh_of_numpy, X, lambda x: 1 - np.tanh(x) ** 2, {"its square": lambda x: 1 - np.tanh(x)}),
]  # fmt: skip
