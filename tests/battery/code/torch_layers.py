"""Custom autograd functions of PyTorch on arrays: layers, losses, normalizations, matrices, scatters, sums over axes that broadcast."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Function

from battery.code.entries import Entry, definite, held, regular, some


class Linear(Function):
    """PyTorch's own example of how to extend it."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) + bias.unsqueeze(0).expand(x.shape[0], -1)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g.mm(weight), g.t().mm(x), g.sum(0)


class LinearAveraged(Linear):
    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g.mm(weight), g.t().mm(x), g.mean(0)


class LinearTransposed(Linear):
    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g.mm(weight.t()), g.t().mm(x), g.sum(0)


class Scale(Function):
    """Broadcasts a row over a batch."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * s, (g * x).sum(0)


class ScaleFirstRow(Scale):
    """Un-broadcast by taking a row in place of the sum."""

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * s, (g * x)[0]


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, labels):
        p = torch.softmax(logits, 1)
        ctx.save_for_backward(p, labels)
        return -torch.log(p[torch.arange(len(labels)), labels]).mean()

    @staticmethod
    def backward(ctx, g):
        p, labels = ctx.saved_tensors
        return g * (p - F.one_hot(labels, p.shape[1])) / len(labels), None


class CrossEntropySummed(CrossEntropy):
    @staticmethod
    def backward(ctx, g):
        p, labels = ctx.saved_tensors
        return g * (p - F.one_hot(labels, p.shape[1])), None


class CrossEntropyIgnoresSeed(CrossEntropy):
    """As long as the loss is the last thing, nobody notices."""

    @staticmethod
    def backward(ctx, g):
        p, labels = ctx.saved_tensors
        return (p - F.one_hot(labels, p.shape[1])) / len(labels), None


class Attention(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        gp = g @ v.transpose(-1, -2)
        gs = p * (gp - (gp * p).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        return gs @ k, gs.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


class AttentionKeys(Attention):
    @staticmethod
    def backward(ctx, g):
        gq, gk, gv = Attention.backward(ctx, g)
        return gq, gk * ctx.saved_tensors[0].shape[-1] ** 0.5, gv


class ScatterMean(Function):
    @staticmethod
    def forward(ctx, x, groups, count):
        n = (
            torch.zeros(count, dtype=x.dtype)
            .index_add(0, groups, torch.ones_like(x[:, 0]))
            .clamp(min=1)
        )
        ctx.save_for_backward(groups, n)
        return torch.zeros(count, x.shape[1], dtype=x.dtype).index_add(0, groups, x) / n[:, None]

    @staticmethod
    def backward(ctx, g):
        groups, n = ctx.saved_tensors
        return (g / n[:, None])[groups], None, None


class ScatterMeanSum(ScatterMean):
    @staticmethod
    def backward(ctx, g):
        return g[ctx.saved_tensors[0]], None, None


class CumulativeSum(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.cumsum(x, 0)

    @staticmethod
    def backward(ctx, g):
        return torch.flip(torch.cumsum(torch.flip(g, [0]), 0), [0])


class CumulativeSumForward(CumulativeSum):
    @staticmethod
    def backward(ctx, g):
        return torch.cumsum(g, 0)


class LogDet(Function):
    @staticmethod
    def forward(ctx, a):
        factor = torch.linalg.cholesky(a)
        ctx.save_for_backward(a)
        return 2 * torch.log(torch.diagonal(factor)).sum()

    @staticmethod
    def backward(ctx, g):
        return g * torch.linalg.inv(ctx.saved_tensors[0])


class LogDetHalf(LogDet):
    @staticmethod
    def backward(ctx, g):
        return g * torch.linalg.inv(ctx.saved_tensors[0]) / 2


class Solve(Function):
    @staticmethod
    def forward(ctx, a, b):
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        gb = torch.linalg.solve(a.T, g)
        return -torch.outer(gb, x), gb


class SolveNotTransposed(Solve):
    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        gb = torch.linalg.solve(a, g)
        return -torch.outer(gb, x), gb


class TwoOutputs(Function):
    @staticmethod
    def forward(ctx, x):
        norm = x.norm()
        ctx.save_for_backward(x, norm)
        return x / norm, norm

    @staticmethod
    def backward(ctx, g, gn):
        x, n = ctx.saved_tensors
        u = x / n
        return (g - u * (u * g).sum()) / n + gn * u


class TwoOutputsOneForgotten(TwoOutputs):
    @staticmethod
    def backward(ctx, g, gn):
        return TwoOutputs.backward(ctx, g, 0 * gn)


LINEAR = {"x": some(4, 3), "weight": some(2, 3, state=1), "bias": some(2, state=2)}
LABELS = {"logits": some(4, 3), "labels": np.array([0, 2, 1, 1])}
SPD = definite(3)


def logged(function):
    return lambda *arguments: torch.log1p(function.apply(*arguments) ** 2)


def symmetric(function):
    return lambda a: function.apply((a + a.T) / 2)


def mean_of(function):
    return lambda x, groups: function.apply(x, groups, 3)


ENTRIES: list[Entry] = [
    *held("torch", LINEAR, {"linear": Linear.apply}, {"linear, bias averaged": LinearAveraged.apply}),
    *held("torch", {**LINEAR, "weight": some(3, 3), "bias": some(3)}, {"square linear": Linear.apply}, {"linear, not transposed": LinearTransposed.apply}),
    *held("torch", {"x": some(4, 3), "s": some(3, state=1)}, {"scale": Scale.apply}, {"scale un-broadcast by a row": ScaleFirstRow.apply}),
    *held("torch", LABELS, {"cross entropy": logged(CrossEntropy)}, {
        "cross entropy summed": logged(CrossEntropySummed), "cross entropy without seed": logged(CrossEntropyIgnoresSeed),
    }, wrt="logits"),
    *held("torch", LABELS, {"cross entropy as the last": CrossEntropyIgnoresSeed.apply}, wrt="logits"),
    *held("torch", {"q": some(3, 4), "k": some(3, 4, state=1), "v": some(3, 2, state=2)}, {"attention": Attention.apply}, {"attention, keys unscaled": AttentionKeys.apply}),
    *held("torch", {"x": some(5, 2), "groups": np.array([0, 2, 0, 2, 2])}, {"scatter mean": mean_of(ScatterMean)}, {"scatter mean as a sum": mean_of(ScatterMeanSum)}, wrt="x"),
    *held("torch", {"x": some(5)}, {"cumulative sum": CumulativeSum.apply}, {"cumulative sum from the front": CumulativeSumForward.apply}),
    *held("torch", {"a": SPD}, {"log det": LogDet.apply, "log det of a symmetric part": symmetric(LogDet)}, {"log det, a half": LogDetHalf.apply}),
    *held("torch", {"a": regular(3), "b": some(3)}, {"solve": Solve.apply}, {"solve, not transposed": SolveNotTransposed.apply}),
    *held("torch", {"x": some(4)}, {"two outputs": TwoOutputs.apply}, {"two outputs, one forgotten": TwoOutputsOneForgotten.apply}),
]  # fmt: skip
