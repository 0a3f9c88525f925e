"""Running products and sums of exponentials, products of all entries but one, and extremes of entries put together, in long double."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.axes import Arrays
from gradcli.ops.extended import LONG_DOUBLE, Formulas, NotCovered
from gradcli.ops.writing import axes_of

_FARTHEST = 11_000  # how far exponents may be apart, whose exponentials long doubles can hold


def _row(x: Any, axis: int) -> Any:
    """An axis comes first."""
    return np.moveaxis(x, axis, 0) if x.ndim else x.reshape(1)


def _flat(x: Any, axis: int | None) -> tuple[Any, int]:
    return (x.reshape(-1), 0) if axis is None or not x.ndim else (x, axis)


def _products(x: Any, axis: int | None) -> Any:
    x, axis = _flat(x, axis)
    return np.multiply.accumulate(x, axis=axis)


def _horner(c: Any, x: Any) -> Any:
    """S[i] = c[i] + x[i+1] S[i+1] along the first axis."""
    found = np.array(np.broadcast_to(c, np.broadcast_shapes(c.shape, x.shape)))
    for i in range(len(found) - 2, -1, -1):
        found[i] += x[i + 1] * found[i + 1]
    return found


def _products_back(c: Any, out: Any, x: Any, axis: int | None) -> tuple[Any]:
    """Of each entry, the product of those before it times the sum of cotangents times the products of those behind it."""
    flat, place = _flat(x, axis)
    rows, by = _row(flat, place), _row(c, place)
    before = np.concatenate([np.ones_like(rows[:1]), _row(out, place)[:-1]])
    return (np.moveaxis(before * _horner(by, rows), 0, place).reshape(x.shape),)


CUMPROD = Formulas(_products, _products_back)


def _horner_along(c: Any, x: Any, axis: int) -> Any:
    c, x = np.broadcast_arrays(c, x)
    return np.moveaxis(_horner(_row(c, axis), _row(x, axis)), 0, axis)


def _horner_back(t: Any, out: Any, c: Any, x: Any, axis: int) -> tuple[Any, Any]:
    rows, by, found = _row(np.broadcast_to(x, out.shape), axis), np.array(_row(t, axis)), _row(out, axis)
    for i in range(1, len(by)):
        by[i] += rows[i] * by[i - 1]
    by_x = np.concatenate([np.zeros_like(by[:1]), by[:-1]]) * found
    return np.moveaxis(by, 0, axis), np.moveaxis(by_x, 0, axis)


HORNER = Formulas(_horner_along, _horner_back)


def _parts(x: Any, axis: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """Entries with ones for zeros, the product of these, how many zeros there are, and along which axes."""
    axes = axes_of(axis, x.ndim)
    filled = np.where(x == 0, LONG_DOUBLE(1), x)
    return filled, filled.prod(axis=axes, keepdims=True), (x == 0).sum(axis=axes, keepdims=True), axes


def but_one(x: Any, axis: Any) -> Any:
    """The product of all the others: where there is one zero, only its own is not 0."""
    filled, product, zeros, _ = _parts(x, axis)
    return np.where(zeros == 0, product / filled, np.where((zeros == 1) & (x == 0), product, LONG_DOUBLE(0)))


def _pairs(c: Any, x: Any, axis: Any) -> Any:
    """The sum over the others of cotangents times the products of all but both."""
    filled, product, zeros, axes = _parts(x, axis)
    total = np.where(x == 0, 0, c / filled).sum(axis=axes, keepdims=True)
    of_zeros = np.where(x == 0, c, 0).sum(axis=axes, keepdims=True)
    none = product / filled * (total - c / filled)
    one = np.where(x == 0, product * total, of_zeros * product / filled)
    two = np.where(x == 0, product * (of_zeros - c), LONG_DOUBLE(0))
    return np.select([zeros == 0, zeros == 1, zeros == 2], [none, one, two], LONG_DOUBLE(0))


EXCLUSIVE = Formulas(but_one, lambda c, out, x, axis: (_pairs(c, x, axis),))


def _top(x: Any, axis: int) -> Any:
    top = x.max(axis=axis, keepdims=True)
    if not np.all(np.isfinite(x)) or np.any(top - x > _FARTHEST):
        raise NotCovered("running sums of exponentials so far apart")
    return top


def _log_sums(x: Any, axis: int) -> Any:
    if not x.ndim:
        return x
    top = _top(x, axis)
    return top + np.log(np.add.accumulate(np.exp(x - top), axis=axis))


def _log_sums_back(c: Any, out: Any, x: Any, axis: int) -> tuple[Any]:
    if not x.ndim:
        return (c,)
    top = _top(x, axis)
    shares = np.flip(np.add.accumulate(np.flip(c * np.exp(top - out), axis), axis=axis), axis)
    return (np.exp(x - top) * shares,)


LOGCUMSUMEXP = Formulas(_log_sums, _log_sums_back)


def _extreme_along(x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool) -> Any:
    m, worst = Arrays(), -np.inf if largest else np.inf
    count = m.put(np.ones(np.shape(index)), index, axis, x.shape)
    out = np.where((count == 0) | include_self, x, worst)
    places = m.picked(np.arange(x.size).reshape(x.shape), index, axis)
    (np.maximum if largest else np.minimum).at(out.reshape(-1), places, np.broadcast_to(source, places.shape))
    return out


def _extreme_back(c: Any, out: Any, x: Any, source: Any, index: Any, axis: int, largest: bool, include_self: bool) -> tuple[Any, Any, None]:
    m = Arrays()
    count = m.put(np.ones(np.shape(index)), index, axis, x.shape)
    own = ((x == out) | (np.isnan(x) & np.isnan(out))) & ((count == 0) | include_self)
    reached = m.picked(out, index, axis)
    hit = (source == reached) | (np.isnan(source) & np.isnan(reached))
    among = own + m.put(hit.astype(LONG_DOUBLE), index, axis, x.shape)
    share = c / np.where(among == 0, 1, among)
    return np.where(own, share, 0), np.where(hit, m.picked(share, index, axis), 0), None


EXTREME_ALONG = Formulas(_extreme_along, _extreme_back, _extreme_back)
EPSILON = Formulas(lambda x, epsilon: LONG_DOUBLE(epsilon), lambda c, out, x: (None,))


# -- Losses that are operations of their own, on whole arrays in long double -----------------------


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


BERNOULLI = Formulas(_bernoulli, _bernoulli_back)


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


def _logits_back(c: Any, out: Any, x: Any, y: Any, weight: Any, pos_weight: Any, reduction: str) -> tuple[Any, Any, Any, Any]:
    shape = _shape(x, y, weight, pos_weight)
    c = np.broadcast_to(c / max(1, math.prod(shape)) if reduction == "mean" else c, shape)
    heavy = LONG_DOUBLE(1) if weight is None else weight
    positive = LONG_DOUBLE(1) if pos_weight is None else pos_weight
    by_x = c * heavy * ((1 - y) * _sigmoid(x) - positive * y * _sigmoid(-x))
    by_y = c * heavy * (positive * _softplus(-x) - _softplus(x))
    by_weight = None if weight is None else c * (positive * y * _softplus(-x) + (1 - y) * _softplus(x))
    return by_x, by_y, by_weight, None if pos_weight is None else c * heavy * y * _softplus(-x)


LOGITS = Formulas(_logits, _logits_back)
