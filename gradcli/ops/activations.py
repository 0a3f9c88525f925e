"""Activations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.logic import less_equal, where
from gradcli.ops.spec import Kink, Shape, elementwise, structural
from gradcli.ops.special import sigmoid, softplus

relu = elementwise(
    "relu", "x", lambda x: np.maximum(x, 0), lambda m, x: x if x > 0 or x != x else x * 0,
    lambda out, x: where(less_equal(x, 0), 0.0, 1.0),
    kind="piecewise", symbolic=lambda s, x: s.Max(x, 0), saves=("out",), ulps=0,
    kinks=(Kink(lambda x: x == 0, "x = 0", "0"),), doc="x where it is positive, 0 elsewhere.", examples=("relu(x)",),
)

REDUCTIONS = ("mean", "sum", "none")


def _check(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of 'mean', 'sum' and 'none', not {reduction!r}")


def _reduce(losses: Any, reduction: str) -> Any:
    _check(reduction)
    return losses if reduction == "none" else np.sum(losses) if reduction == "sum" else np.mean(losses)


def _bce(x: Any, y: Any, weight: Any, pos_weight: Any, *, reduction: str) -> Any:
    slack = np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x)))  # softplus(-x)
    positive = y if pos_weight is None else y * pos_weight
    losses = (1 - y) * x + (1 - y + positive) * slack
    return _reduce(losses if weight is None else losses * weight, reduction)


def _bce_reference(m: Any, x: Any, y: Any, weight: Any, pos_weight: Any, *, reduction: str) -> Any:
    log_p = -m.map(lambda v: m.log1p(m.exp(-v)), x)  # log(sigmoid(x))
    log_q = -m.map(lambda v: m.log1p(m.exp(v)), x)
    losses = -((y if pos_weight is None else y * pos_weight) * log_p + (1 - y) * log_q)
    losses = losses if weight is None else losses * weight
    total = losses if reduction == "none" else losses.sum()
    return total / losses.size if reduction == "mean" else total


def _bce_vjp(
    wanted: tuple[bool, ...], cotangent: Any, out: Any, x: Any, y: Any, weight: Any, pos_weight: Any, *, reduction: str
) -> tuple[Any, ...]:
    scale = cotangent
    if reduction == "mean":
        shape = np.broadcast_shapes(*(v.shape for v in (x, y, weight, pos_weight) if v is not None))
        scale = cotangent / max(1, int(np.prod(shape)))
    unweighted = scale
    scale = scale if weight is None else scale * weight
    positive = y if pos_weight is None else y * pos_weight
    by_x = by_y = by_weight = by_positive = None
    if wanted[0]:
        # sigmoid(x) - y without its cancellation: 1 - sigmoid(x) is sigmoid(-x)
        by_x = scale * (sigmoid(x) * (1 - y) - sigmoid(-x) * positive)
    if wanted[1]:
        by_y = scale * (-x if pos_weight is None else softplus(-x) * pos_weight - softplus(x))
    if len(wanted) > 2 and wanted[2]:
        by_weight = unweighted * (softplus(-x) * positive + softplus(x) * (1 - y))
    if len(wanted) > 3 and wanted[3]:
        by_positive = scale * y * softplus(-x)
    return by_x, by_y, by_weight, by_positive


def _bce_shape(x: Shape, y: Shape, weight: Shape | None, pos_weight: Shape | None, *, reduction: str) -> Shape:
    _check(reduction)
    if x != y:
        raise ShapeError(f"target size {y} must be the same as input size {x}")
    full = np.broadcast_shapes(*(s for s in (x, y, weight, pos_weight) if s is not None))
    return full if reduction == "none" else ()


bce_with_logits = structural(
    "binary_cross_entropy_with_logits", "input target weight pos_weight", _bce, _bce_reference,
    vjp=_bce_vjp, shape=_bce_shape, static={"reduction": "mean"}, optional=frozenset({"weight", "pos_weight"}),
    saves=("input", "target", "weight", "pos_weight"), ulps=8,
    doc="-(y*log(sigmoid(x)) + (1 - y)*log(1 - sigmoid(x))) of logits x and targets y, stable for logits of any size; "
    "averaged, summed or not, by reduction.",
    examples=("binary_cross_entropy_with_logits(x, y)",),
)

