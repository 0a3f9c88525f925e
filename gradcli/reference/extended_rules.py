"""What the reference for large arrays knows of operations on whole arrays: values and derivatives in long double, written here anew.

Each derivative comes with the size of the terms that it is computed of, by which its rounding error goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.spec import axes_of
from gradcli.reference.algebra import Unsupported

Static = Mapping[str, Any]
Slope = tuple[Any, Any, Any]  # the value with its axes kept, its derivative by each entry, and the size of that


def _moments(x: Any, axes: tuple[int, ...], static: Static) -> tuple[Any, Any, Any, Any]:
    count = math.prod(x.shape[a] for a in axes)
    mean = x.sum(axis=axes, keepdims=True) / count
    rest = count - static["ddof"]
    return ((x - mean) ** 2).sum(axis=axes, keepdims=True) / rest, x - mean, np.abs(x) + np.abs(mean), rest


def _var(x: Any, axes: tuple[int, ...], static: Static) -> Slope:
    var, off, size, rest = _moments(x, axes, static)
    return var, 2 * off / rest, 2 * size / rest


def _std(x: Any, axes: tuple[int, ...], static: Static) -> Slope:
    var, off, size, rest = _moments(x, axes, static)
    std = np.sqrt(var)
    return std, off / (rest * std), size / (rest * std)


def _norm(x: Any, axes: tuple[int, ...], static: Static) -> Slope:
    if static["ord"] not in (None, 2):
        raise Unsupported("this norm of so many entries")
    norm = np.sqrt((x * x).sum(axis=axes, keepdims=True))
    return norm, x / norm, np.abs(x / norm)


def _logsumexp(x: Any, axes: tuple[int, ...], static: Static) -> Slope:
    top = x.max(axis=axes, keepdims=True)
    total = top + np.log(np.exp(x - top).sum(axis=axes, keepdims=True))
    share = np.exp(x - total)
    return total, share, share * (1 + np.abs(x) + np.abs(total))


def _prod(x: Any, axes: tuple[int, ...], static: Static) -> Slope:
    if np.any(x == 0):
        raise Unsupported("a product of so many entries with zeros")
    product = x.prod(axis=axes, keepdims=True)
    count = math.prod(x.shape[a] for a in axes)
    return product, product / x, np.abs(product / x) * count


REDUCED: Mapping[str, Callable[[Any, tuple[int, ...], Static], Slope]] = {
    "var": _var, "std": _std, "norm": _norm, "logsumexp": _logsumexp, "prod": _prod,
}  # fmt: skip


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


# values, and derivatives of cotangents; with a sign of 1, of the sizes of cotangents
SPREAD: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (_softmax, _softmax_pull),
    "log_softmax": (lambda x, axis: np.log(_softmax(x, axis)), _log_softmax_pull),
    "cumsum": (lambda x, axis: np.cumsum(x, axis=axis), _cumsum_pull),
}
