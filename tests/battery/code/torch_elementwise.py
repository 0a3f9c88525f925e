"""Custom autograd functions of PyTorch, entry by entry: activations, numerically careful forms, quantizers, branches; in place and not."""

from __future__ import annotations

import numpy as np
import torch
from torch.autograd import Function

from battery.code.entries import Entry, held, some

X = {"x": some(6)}


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class ExpForgetsItsSeed(Exp):
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0]


class Swish(Function):
    """Memory efficient: the input alone is saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * (s * (1 + x * (1 - s)))


class SwishMissingTerm(Swish):
    @staticmethod
    def backward(ctx, g):
        return g * torch.sigmoid(ctx.saved_tensors[0])


class SwishWrongSaved(Function):
    """What was saved is the output, and it is read as the input."""

    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    backward = Swish.backward


class ReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone()
        g[x < 0] = 0
        return g


class ReLUOfTheGradient(ReLU):
    """Guided backpropagation, which is no gradient."""

    @staticmethod
    def backward(ctx, g):
        return g.clamp(min=0) * (ctx.saved_tensors[0] > 0)


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, ctx.slope * g), None


class LeakyReLUStale(LeakyReLU):
    """A slope that is the class's own, of whoever called last."""

    slope = None

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        if LeakyReLUStale.slope is None:
            LeakyReLUStale.slope = 0.5
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        return torch.where(ctx.saved_tensors[0] > 0, g, LeakyReLUStale.slope * g), None


class Round(Function):
    """Straight through: right for training, no gradient of rounding."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class RoundZero(Round):
    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g)


class ClampThrough(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return torch.clamp(x, low, high)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        return g * ((x >= low) & (x <= high)), None, None


class ClampOneSide(ClampThrough):
    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] <= ctx.bounds[1]), None, None


class Reversal(Function):
    """The gradient of domain adaptation, reversed on purpose."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class InPlace(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        y.mul_(2).add_(1).pow_(2)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.mul(4).mul_(2 * x + 1)


class InPlaceMutatedSaved(InPlace):
    """The saved tensor is changed in the backward pass before it is used."""

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].clone()
        x.mul_(2)
        return g.mul(4).mul_(2 * x + 1)


class AtKinks(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, g):
        return g * torch.sign(ctx.saved_tensors[0])


class AtKinksBeyond(AtKinks):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.where(x == 0, torch.full_like(x, 3.0), torch.sign(x))


class ThroughNumpy(Function):
    """A kernel in NumPy: nothing of PyTorch's sees what it does."""

    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(np.sinh(x.detach().numpy()))
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * torch.cosh(ctx.saved_tensors[0])


class ThroughNumpySign(ThroughNumpy):
    @staticmethod
    def backward(ctx, g):
        return g * torch.sinh(ctx.saved_tensors[0])


def of(function, *rest):
    """As it is used: between other operations."""
    return lambda x: (
        torch.sin(function.apply(x * 1.5, *rest)) * torch.arange(1, x.numel() + 1)
    ).sum()


def plain(function, *rest):
    return lambda x: function.apply(x, *rest)


KINKS = {"x": np.array([0.0, 1.0, -2.0])}
ENTRIES: list[Entry] = [
    *held("torch", X, {"exp": of(Exp)}, {"exp forgets its seed": of(ExpForgetsItsSeed)}),
    *held("torch", X, {"swish": of(Swish)}, {"swish, a missing term": of(SwishMissingTerm), "swish saved its output": of(SwishWrongSaved)}),
    *held("torch", X, {"relu": of(ReLU)}, {"relu of the gradient, too": of(ReLUOfTheGradient)}),
    *held("torch", X, {"leaky relu": of(LeakyReLU, 0.1)}, {"leaky relu, another slope": of(LeakyReLUStale, 0.1)}),
    *held("torch", X, {"round, zero": of(RoundZero)}, {"round, straight through": of(Round)}),
    *held("torch", X, {"clamp": of(ClampThrough, -1.0, 1.0)}, {"clamp on one side": of(ClampOneSide, -1.0, 1.0)}),
    *held("torch", X, wrong={"a gradient reversed": of(Reversal)}),
    *held("torch", X, {"in place": of(InPlace)}, {"in place, on what was saved": of(InPlaceMutatedSaved)}),
    *held("torch", KINKS, {"abs at its kink": plain(AtKinks)}, {"abs beyond its kink": plain(AtKinksBeyond)}),
    *held("torch", X, {"through NumPy": of(ThroughNumpy)}, {"through NumPy, the same function": of(ThroughNumpySign)}),
]  # fmt: skip
