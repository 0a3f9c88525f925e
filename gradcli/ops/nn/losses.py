"""Losses of regression, and how losses are reduced: averaged, summed, or left one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.domains import of
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.bounds import maximum
from gradcli.ops.elementwise.exponential import exp, log, xlogy
from gradcli.ops.elementwise.logic import equal, greater, less, logical_or, where
from gradcli.ops.facts import Function, noted
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import composite, function, is_number
from gradcli.ops.structure import detach

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of 'mean', 'sum' and 'none', not {reduction!r}")


def total(losses: Any, reduction: str) -> Any:
    """Losses as the reduction says."""
    check_reduction(reduction)
    return losses if reduction == "none" else sum_(losses) if reduction == "sum" else mean(losses)


def loss(torch: str, **record: Any) -> Callable[[Function], Any]:
    """Register a loss by its definition, as `function` does; ``torch`` is PyTorch's order of all parameters.

    The definition gives the loss of every entry, or takes ``reduction`` itself. PyTorch's older size_average and reduce say what
    reduction says: mean, or else sum, or else none.
    """

    def define(body: Function) -> Any:
        code, static = body.__code__, body.__kwdefaults__ or {}
        names = code.co_varnames[: code.co_argcount]
        needed = len(names) - len(body.__defaults__ or ())
        reduces = "reduction" in static

        def reducing(*arrays: Any, reduction: str, size_average: bool | None, reduce: bool | None, **rest: Any) -> Any:
            if size_average is not None or reduce is not None:
                reduction = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
            return body(*arrays, reduction=reduction, **rest) if reduces else total(body(*arrays, **rest), reduction)

        made = composite(
            body.__name__, " ".join([*names[:needed], *(f"{name}?" for name in names[needed:])]), reducing,
            doc=" ".join((body.__doc__ or "").split()), static={**static, "reduction": "mean", "size_average": None, "reduce": None},
            **record,
        )
        declare(TORCH, **{made.name: signature(made.name, torch)})
        return made

    return define


def held_at(x: Any, low: float) -> Any:
    """x raised to a bound, the gradient passing as if it had not been (PyTorch's clamp under no_grad)."""
    return x + detach(maximum(x, low) - x)


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return total(losses, reduction)
    if weight.shape != losses.shape:
        raise ShapeError(f"the weight must have the input's shape {tuple(losses.shape)}, not {tuple(weight.shape)}")
    return sum_(weight * losses) / sum_(weight) if reduction == "mean" else total(weight * losses, reduction)


@loss("input, target, size_average, reduce, reduction, weight", examples=("mse_loss(x, y)",))
def mse_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The squared differences; with a weight, their weighted mean."""
    return _weighted(square(input - target), weight, reduction)


_TIE = (noted("input = target", "0"),)


@loss("input, target, size_average, reduce, reduction, weight", kinks=_TIE)
def l1_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """The absolute differences; with a weight, their weighted mean."""
    return _weighted(abs_(input - target), weight, reduction)


@loss("input, target, size_average, reduce, reduction, beta", scalars="beta", kinks=_TIE)
def smooth_l1_loss(input: Any, target: Any, *, beta: Any = 1.0) -> Any:
    """d**2/(2*beta) of differences d up to beta, |d| - beta/2 of larger ones."""
    if is_number(beta) and beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta must be at least 0, not {beta}")
    size = abs_(input - target)
    if is_number(beta) and not beta:
        return size
    return where(greater(size, beta), size - beta / 2, square(input - target) / (2 * beta))


@loss("input, target, reduction, delta, weight, size_average, reduce", scalars="delta")
def huber_loss(input: Any, target: Any, weight: Any = None, *, delta: Any = 1.0) -> Any:
    """d**2/2 of differences d up to delta, delta*(|d| - delta/2) of larger ones."""
    if is_number(delta) and delta <= 0:
        raise ArgumentError(f"huber_loss: delta must be more than 0, not {delta}")
    size = abs_(input - target)
    losses = where(greater(size, delta), delta * (size - delta / 2), square(input - target) / 2)
    return losses if weight is None else weight * losses


@loss("input, target, size_average, reduce, reduction, log_target")
def kl_div(input: Any, target: Any, *, log_target: bool = False, reduction: str = "mean") -> Any:
    """target*(log(target) - input), the input being log-probabilities, the target too if log_target; 'batchmean' divides by the first
    extent.
    """
    losses = exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction != "batchmean":
        return total(losses, reduction)
    return sum_(losses) / input.shape[0] if input.shape else losses


@function(public=False, domain=of(x="(0, inf)", y="(0, inf)").within())
def scipy_kl_div(x: Any, y: Any) -> Any:
    """scipy.special.kl_div: x*log(x/y) - x + y, entry by entry; y where x is 0."""
    none = equal(x, 0)
    inside = xlogy(x, x / where(none, 1, y)) - x + y
    return where(logical_or(less(x, 0), less(y, 0)), math.inf, where(none, y, inside))


declare(SCIPY, kl_div=signature("scipy_kl_div", "x, y, -out"))


@loss("input, target, var, full, eps, reduction, size_average, reduce")
def gaussian_nll_loss(input: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6) -> Any:
    """(log(var) + (input - target)**2/var)/2, log(2*pi)/2 more if full. A variance below eps counts as eps, and its gradient is that at
    eps.
    """
    shape = input.shape
    if var.shape not in ((), shape):
        if var.shape == shape[:-1]:
            var = reshape(var, shape=(*var.shape, 1))
        elif len(var.shape) != len(shape) or sum(v for n, v in zip(shape, var.shape, strict=True) if n != v) != 1:
            raise ShapeError(f"gaussian_nll_loss: a variance of shape {tuple(var.shape)} does not fit an input of shape {tuple(shape)}")
    held = held_at(var, eps)
    losses = 0.5 * (log(held) + square(input - target) / held)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses


@loss("input, target, log_input, full, size_average, eps, reduce, reduction", scalars="eps")
def poisson_nll_loss(input: Any, target: Any, *, log_input: bool = True, full: bool = False, eps: Any = 1e-8) -> Any:
    """exp(input) - target*input, or input - target*log(input + eps) where the input is no logarithm; if full, Stirling's approximation
    of log(target!) more where the target is above 1.
    """
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if not full:
        return losses
    above = greater(target, 1)
    safe = where(above, target, 1.0)
    return losses + where(above, safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe), 0.0)
