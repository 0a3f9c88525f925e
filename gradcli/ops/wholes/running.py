"""The distance of floats and the loss of probabilities in long double."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Formulas

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
