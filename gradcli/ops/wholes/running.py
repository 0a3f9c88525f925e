"""Running products, and the logarithmic loss of probabilities, on whole arrays in long double."""

from __future__ import annotations

from typing import Any

import numpy as np

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


CUMPROD = Formulas(
    _products, _products_back, lambda c, out, x, axis: _products_back(c, np.abs(out), np.abs(x), axis)
)


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
