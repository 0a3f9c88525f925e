"""Losses that are operations of their own, on whole arrays in long double."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas

_LOWEST, _NARROWEST = LONG_DOUBLE(-100), LONG_DOUBLE(float(np.float32("1e-12")))  # PyTorch's bounds of logarithms and of a denominator


def _logs(x: Any) -> tuple[Any, Any]:
    """Of a probability and of its complement."""
    return np.maximum(np.log(x), _LOWEST), np.maximum(np.log1p(-x), _LOWEST)


def _bernoulli(x: Any, y: Any) -> Any:
    of_one, of_other = _logs(x)
    return -y * of_one - (1 - y) * of_other


def _bernoulli_back(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    of_one, of_other = _logs(x)
    return c * (x - y) / np.maximum(x * (1 - x), _NARROWEST), c * (of_other - of_one)


def _bernoulli_sizes(c: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    of_one, of_other = map(np.abs, _logs(x))
    return c * (np.abs(x) + np.abs(y)) / np.maximum(np.abs(x * (1 - x)), _NARROWEST), c * (of_one + of_other)


BERNOULLI = Formulas(_bernoulli, _bernoulli_back, _bernoulli_sizes)


def _softplus(x: Any) -> Any:
    """log(1 + exp(x))"""
    return np.where(x > 0, x, LONG_DOUBLE(0)) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _shape(*operands: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(x) for x in operands if x is not None))


def _logits(x: Any, y: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    positive = LONG_DOUBLE(1) if pos_weight is None else pos_weight
    losses = positive * y * _softplus(-x) + (1 - y) * _softplus(x)
    losses = np.broadcast_to(losses if weight is None else weight * losses, _shape(x, y, weight, pos_weight))
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / max(1, losses.size)


def _logits_back(
    c: Any, out: Any, x: Any, y: Any, weight: Any, pos_weight: Any, reduction: str, sign: int = -1
) -> tuple[Any, Any, Any, Any]:
    shape = _shape(x, y, weight, pos_weight)
    c = np.broadcast_to(c / max(1, math.prod(shape)) if reduction == "mean" else c, shape)
    heavy = LONG_DOUBLE(1) if weight is None else weight
    positive = LONG_DOUBLE(1) if pos_weight is None else pos_weight
    by_x = c * heavy * ((1 - y if sign < 0 else 1 + y) * _sigmoid(x) + sign * positive * y * _sigmoid(-x))
    by_y = c * heavy * (positive * _softplus(-x) + sign * _softplus(x))
    by_weight = None if weight is None else c * (positive * y * _softplus(-x) + (1 - y if sign < 0 else 1 + y) * _softplus(x))
    return by_x, by_y, by_weight, None if pos_weight is None else c * heavy * y * _softplus(-x)


def _logits_sizes(c: Any, out: Any, x: Any, y: Any, weight: Any, pos_weight: Any, reduction: str) -> tuple[Any, ...]:
    target, heavy, positive = (None if v is None else np.abs(v) for v in (y, weight, pos_weight))
    parts = _logits_back(c, out, x, target, heavy, positive, reduction, sign=1)
    return tuple(None if part is None else part * (1 + np.abs(x)) for part in parts)


LOGITS = Formulas(_logits, _logits_back, _logits_sizes)
