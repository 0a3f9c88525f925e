"""Losses of regression, and how losses are reduced: averaged, summed, or left one by one."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.bounds import maximum
from gradcli.ops.elementwise.exponential import exp, log, xlogy
from gradcli.ops.elementwise.logic import equal, greater, less, logical_or, where
from gradcli.ops.facts import Function, Kink
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import composite, function, is_number
from gradcli.ops.spec import Composite
from gradcli.ops.structure import detach

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of 'mean', 'sum' and 'none', not {reduction!r}")


def total(losses: Any, reduction: str) -> Any:
    """Losses as the reduction says."""
    check_reduction(reduction)
    return losses if reduction == "none" else sum_(losses) if reduction == "sum" else mean(losses)


def loss(name: str, operands: str, body: Function, torch: str, *, static: Any = (), public: bool = True, **record: Any) -> Composite:
    """Register a loss. Its body takes ``reduction``; ``torch`` is PyTorch's order of all parameters.

    PyTorch's older size_average and reduce say what reduction says: mean, or else sum, or else none.
    """

    def reducing(*arrays: Any, reduction: str, size_average: bool | None, reduce: bool | None, **rest: Any) -> Any:
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
        return body(*arrays, reduction=reduction, **rest)

    static = {**dict(static), "reduction": "mean", "size_average": None, "reduce": None}
    made = composite(name, operands, reducing, static=static, public=public, **record)
    declare(TORCH, **{name.removeprefix("torch_"): signature(name, torch)})
    return made


def held_at(x: Any, low: float) -> Any:
    """x raised to a bound, the gradient passing as if it had not been (PyTorch's clamp under no_grad)."""
    return x + detach(maximum(x, low) - x)


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return total(losses, reduction)
    if weight.shape != losses.shape:
        raise ShapeError(f"the weight must have the input's shape {tuple(losses.shape)}, not {tuple(weight.shape)}")
    return sum_(weight * losses) / sum_(weight) if reduction == "mean" else total(weight * losses, reduction)


mse_loss = loss(
    "mse_loss", "input target weight?", lambda x, y, weight, reduction: _weighted(square(x - y), weight, reduction),
    "input, target, size_average, reduce, reduction, weight", examples=("mse_loss(x, y)",),
    doc="The squared differences; with a weight, their weighted mean.",
)
_TIE = (Kink(lambda *_: False, "input = target", "0"),)
l1_loss = loss(
    "l1_loss", "input target weight?", lambda x, y, weight, reduction: _weighted(abs_(x - y), weight, reduction),
    "input, target, size_average, reduce, reduction, weight", kinks=_TIE,
    doc="The absolute differences; with a weight, their weighted mean.",
)


def _smooth_l1(x: Any, y: Any, beta: float, reduction: str) -> Any:
    if is_number(beta) and beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta must be at least 0, not {beta}")
    size = abs_(x - y)
    if is_number(beta) and not beta:
        return total(size, reduction)
    return total(where(greater(size, beta), size - beta / 2, square(x - y) / (2 * beta)), reduction)


def _huber(x: Any, y: Any, weight: Any, delta: float, reduction: str) -> Any:
    if is_number(delta) and delta <= 0:
        raise ArgumentError(f"huber_loss: delta must be more than 0, not {delta}")
    size = abs_(x - y)
    losses = where(greater(size, delta), delta * (size - delta / 2), square(x - y) / 2)
    return total(losses if weight is None else weight * losses, reduction)


smooth_l1_loss = loss(
    "smooth_l1_loss", "input target", _smooth_l1, "input, target, size_average, reduce, reduction, beta",
    static={"beta": 1.0}, scalars="beta", kinks=_TIE,
    doc="d**2/(2*beta) of differences d up to beta, |d| - beta/2 of larger ones.",
)
huber_loss = loss(
    "huber_loss", "input target weight?", _huber, "input, target, reduction, delta, weight, size_average, reduce",
    static={"delta": 1.0}, scalars="delta",
    doc="d**2/2 of differences d up to delta, delta*(|d| - delta/2) of larger ones.",
)


def _kl_div(x: Any, y: Any, log_target: bool, reduction: str) -> Any:
    losses = exp(y) * (y - x) if log_target else xlogy(y, y) - y * x
    if reduction != "batchmean":
        return total(losses, reduction)
    return sum_(losses) / x.shape[0] if x.shape else losses


kl_div = loss(
    "kl_div", "input target", _kl_div, "input, target, size_average, reduce, reduction, log_target", static={"log_target": False},
    doc="target*(log(target) - input), the input being log-probabilities, the target too if log_target; "
    "'batchmean' divides by the first extent.",
)  # fmt: skip


@function(public=False, domain="x > 0 and y > 0")
def scipy_kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x*log(x/y) - x + y, entry by entry; y where x is 0."""
    none = equal(x, 0)
    inside = xlogy(x, x / where(none, 1, y)) - x + y
    return where(logical_or(less(x, 0), less(y, 0)), math.inf, where(none, y, inside))


declare(SCIPY, kl_div=signature("scipy_kl_div", "x, y, -out"))


def _gaussian_nll(x: Any, y: Any, var: Any, full: bool, eps: float, reduction: str) -> Any:
    if var.shape not in ((), x.shape):
        if var.shape == x.shape[:-1]:
            var = reshape(var, shape=(*var.shape, 1))
        elif len(var.shape) != len(x.shape) or sum(v for n, v in zip(x.shape, var.shape, strict=True) if n != v) != 1:
            raise ShapeError(f"gaussian_nll_loss: a variance of shape {tuple(var.shape)} does not fit an input of shape {tuple(x.shape)}")
    held = held_at(var, eps)
    losses = 0.5 * (log(held) + square(x - y) / held)
    return total(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


gaussian_nll_loss = loss(
    "gaussian_nll_loss", "input target var", _gaussian_nll, "input, target, var, full, eps, reduction, size_average, reduce",
    static={"full": False, "eps": 1e-6},
    doc="(log(var) + (input - target)**2/var)/2, log(2*pi)/2 more if full. A variance below eps counts as eps, and its gradient "
    "is that at eps.",
)


def _stirling(y: Any) -> Any:
    """log(y!) for y > 1, and 0 for smaller y."""
    safe = where(greater(y, 1), y, 1.0)
    return where(greater(y, 1), safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0.0)


def _poisson_nll(x: Any, y: Any, log_input: bool, full: bool, eps: float, reduction: str) -> Any:
    losses = exp(x) - y * x if log_input else x - y * log(x + eps)
    return total(losses + _stirling(y) if full else losses, reduction)


poisson_nll_loss = loss(
    "poisson_nll_loss", "input target", _poisson_nll, "input, target, log_input, full, size_average, eps, reduce, reduction",
    static={"log_input": True, "full": False, "eps": 1e-8}, scalars="eps",
    doc="exp(input) - target*input, or input - target*log(input + eps) where the input is no logarithm; if full, Stirling's "
    "approximation of log(target!) more where the target is above 1.",
)
