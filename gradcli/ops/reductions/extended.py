"""Reductions, running sums and softmax on whole arrays in long double: values and derivatives, by formulas of their own.

Each derivative of a `Reduced` comes with the size of the terms that it is computed of, by which its rounding error goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Linear, Mixed, NotCovered, Reduced
from gradcli.ops.writing import axes_of

Static = Mapping[str, Any]
Axes = tuple[int, ...]
Slopes = tuple[Any, Any, Any]


def _count(x: Any, axes: Axes) -> int:
    return math.prod(x.shape[a] for a in axes)


def _spread(part: Any, x: Any, axis: Any) -> Any:
    axes = axes_of(axis, x.ndim)
    return np.broadcast_to(np.reshape(part, [1 if i in axes else n for i, n in enumerate(x.shape)]), x.shape)


def _extreme(best: Callable[..., Any]) -> Linear:
    def pull(cotangent: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
        axes = axes_of(axis, x.ndim)
        chosen = (x == best(x, axis=axes, keepdims=True)).astype(LONG_DOUBLE)
        return (_spread(cotangent, x, axis) * chosen / chosen.sum(axis=axes, keepdims=True),)

    return Linear(pull)


SUM = Linear(lambda cotangent, x, axis, keepdims: (_spread(cotangent, x, axis),))
MEAN = Linear(lambda cotangent, x, axis, keepdims: (_spread(cotangent, x, axis) / LONG_DOUBLE(_count(x, axes_of(axis, x.ndim))),))
MAX, MIN = _extreme(np.max), _extreme(np.min)


def _moments(x: Any, axes: Axes, static: Static) -> tuple[Any, Any, Any, Any]:
    count = _count(x, axes)
    mean = x.sum(axis=axes, keepdims=True) / count
    rest = count - static["ddof"]
    return ((x - mean) ** 2).sum(axis=axes, keepdims=True) / rest, x - mean, np.abs(x) + np.abs(mean), rest


def _var(x: Any, axes: Axes, static: Static) -> Slopes:
    var, off, size, rest = _moments(x, axes, static)
    return var, 2 * off / rest, 2 * size / rest


def _std(x: Any, axes: Axes, static: Static) -> Slopes:
    var, off, size, rest = _moments(x, axes, static)
    std = np.sqrt(var)
    return std, off / (rest * std), size / (rest * std)


def _norm(x: Any, axes: Axes, static: Static) -> Slopes:
    if static["ord"] not in (None, 2):
        raise NotCovered("this norm of so many entries")
    norm = np.sqrt((x * x).sum(axis=axes, keepdims=True))
    return norm, x / norm, np.abs(x / norm)


def _logsumexp(x: Any, axes: Axes, static: Static) -> Slopes:
    top = x.max(axis=axes, keepdims=True)
    total = top + np.log(np.exp(x - top).sum(axis=axes, keepdims=True))
    share = np.exp(x - total)
    return total, share, share * (1 + np.abs(x) + np.abs(total))


def _prod(x: Any, axes: Axes, static: Static) -> Slopes:
    if np.any(x == 0):
        raise NotCovered("a product of so many entries with zeros")
    product = x.prod(axis=axes, keepdims=True)
    return product, product / x, np.abs(product / x) * _count(x, axes)


VAR, STD, NORM, LOGSUMEXP, PROD = map(Reduced, (_var, _std, _norm, _logsumexp, _prod))


def _softmax(x: Any, axis: Any) -> Any:
    axes = axes_of(axis, x.ndim)
    small = np.exp(x - x.max(axis=axes, keepdims=True))
    return small / small.sum(axis=axes, keepdims=True)


def _total(c: Any, axis: Any) -> Any:
    return c.sum(axis=axes_of(axis, c.ndim), keepdims=True)


def _softmax_pull(x: Any, cotangent: Any, sign: int, axis: Any) -> Any:
    share = _softmax(x, axis)
    return share * (cotangent + sign * _total(share * cotangent, axis))


def _log_softmax_pull(x: Any, cotangent: Any, sign: int, axis: Any) -> Any:
    return cotangent + sign * _softmax(x, axis) * _total(cotangent, axis)


def _cumsum_pull(x: Any, cotangent: Any, sign: int, axis: Any) -> Any:
    if axis is None:
        return np.cumsum(cotangent[::-1])[::-1].reshape(x.shape)
    return np.flip(np.cumsum(np.flip(cotangent, axis), axis=axis), axis)


SOFTMAX = Mixed(_softmax_pull, value=_softmax)
LOG_SOFTMAX = Mixed(_log_softmax_pull, value=lambda x, axis: np.log(_softmax(x, axis)))
CUMSUM = Mixed(_cumsum_pull, value=lambda x, axis: np.cumsum(x, axis=axis))
