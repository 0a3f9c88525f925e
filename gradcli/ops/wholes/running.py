"""Running products, shares of sums of exponentials, the loss of probabilities, and extremes put together, in long double."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.axes import Arrays
from gradcli.ops.extended import LONG_DOUBLE, Formulas


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
