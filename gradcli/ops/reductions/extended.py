"""Reductions and running sums on whole arrays in long double: values and derivatives, by formulas of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, NotCovered, Reduced

Static = Mapping[str, Any]
Axes = tuple[int, ...]
Slopes = tuple[Any, Any]


def _equal_to(best: Callable[..., Any]) -> Reduced:
    """One of the entries along axes, whose equals share the cotangent."""

    def slopes(x: Any, axes: Axes, static: Static) -> Slopes:
        found = best(x, axis=axes, keepdims=True)
        chosen = ((x == found) | (np.isnan(x) & np.isnan(found))).astype(LONG_DOUBLE)
        return found, chosen / chosen.sum(axis=axes, keepdims=True)

    return Reduced(slopes)


MAX, MIN = _equal_to(np.max), _equal_to(np.min)


def _norm(x: Any, axes: Axes, static: Static) -> Slopes:
    order, size = 2 if static["ord"] is None else static["ord"], np.abs(x)
    if order in (0, math.inf, -math.inf):
        raise NotCovered(f"a norm of order {order}")
    power = LONG_DOUBLE(order)
    norm = (size * size if order == 2 else size**power).sum(axis=axes, keepdims=True) ** (1 / power)
    ratio = np.where(size == 0, 1, size) / np.where(norm == 0, 1, norm)
    share = np.where((size == 0) | (norm == 0), 0, ratio if order == 2 else ratio ** (power - 1))
    return norm, np.sign(x) * share


def _std(x: Any, axes: Axes, static: Static) -> Slopes:
    norm, slopes = _norm(x - x.mean(axis=axes, keepdims=True), axes, {"ord": 2})
    root = np.sqrt(LONG_DOUBLE(max(math.prod(x.shape[a] for a in axes) - static["ddof"], 0)))
    return norm / root, slopes / root


def _prod(x: Any, axes: Axes, static: Static) -> Slopes:
    zeros, filled = (x == 0).sum(axis=axes, keepdims=True), np.where(x == 0, LONG_DOUBLE(1), x)
    product = filled.prod(axis=axes, keepdims=True)
    # where there is one zero, the product of the others is that of all that are none
    slope = np.where(zeros == 0, product / filled, np.where((zeros == 1) & (x == 0), product, LONG_DOUBLE(0)))
    return np.where(zeros == 0, product, LONG_DOUBLE(0)), slope


STD, NORM, PROD = map(Reduced, (_std, _norm, _prod))
