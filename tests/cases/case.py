"""What a case is: a program, and the same function of complex NumPy arrays; and functions that such
cases share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RANDOM = np.random.default_rng(20)


def some(*shape: int) -> np.ndarray:
    """Entries well away from 0 and from each other."""
    return (RANDOM.uniform(0.3, 2.0, shape) * RANDOM.choice([-1.0, 1.0], shape)).round(6)


def positive(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.3, 2.0, shape).round(6)


class Case(NamedTuple):
    text: str
    function: Callable[..., Any]
    values: dict[str, Any]
    reason: str = ""  # told in the test's name


def size(x: Any) -> Any:
    """abs() for complex steps."""
    return np.where(np.real(x) < 0, -x, x)


def chosen(pick: Callable[..., Any]) -> Callable[..., Any]:
    """max and min by real parts; along one axis or all."""

    def function(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is None:
            return x.ravel()[pick(x.real)]
        out = np.take_along_axis(x, np.expand_dims(pick(x.real, axis=axis), axis), axis)
        return out if keepdims else out.squeeze(axis)

    return function


largest, smallest = chosen(np.argmax), chosen(np.argmin)


def lse(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))


def variance(x: Any, ddof: int, axis: Any = None, keepdims: bool = False) -> Any:
    total = ((x - x.mean(axis=axis, keepdims=True)) ** 2).sum(axis=axis, keepdims=keepdims)
    return total / (x.size / np.sum(total * 0 + 1).real - ddof)


def p_norm(x: Any, p: float, axis: Any = None) -> Any:
    return (size(x) ** p).sum(axis=axis) ** (1 / p)


def between(x: Any, low: Any, high: Any) -> Any:
    raised = np.where(np.real(x) < np.real(low), low, x)
    return np.where(np.real(raised) > np.real(high), high, raised)


def bce(x: Any, y: Any, w: Any = 1.0, p: Any = 1.0) -> Any:
    return w * (p * y * np.log(1 + np.exp(-x)) + (1 - y) * np.log(1 + np.exp(x)))


def solved(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)
