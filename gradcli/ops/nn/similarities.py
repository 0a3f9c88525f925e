"""Directions and distances of vectors along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.bounds import clip
from gradcli.ops.facts import Kink
from gradcli.ops.nn.losses import held_at
from gradcli.ops.reductions.sums import norm, sum_
from gradcli.ops.registry import composite
from gradcli.ops.writing import axes_of

_AT_ZERO = (Kink(lambda *_: False, "a vector of zeros", "the length has the slope 0"),)


def _length(x: Any, p: float, axis: Any, keepdims: bool = True) -> Any:
    row = x if x.shape else reshape(x, shape=(1,))
    return norm(row, ord=None if p == 2 else p, axis=axis, keepdims=keepdims and bool(x.shape))


def _cosine_similarity(x: Any, y: Any, axis: int, eps: float) -> Any:
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y = (v if v.shape == shape else broadcast_to(v, shape=shape) for v in (x, y))
    first, second = (v / held_at(_length(v, 2, axis), eps) for v in (x, y))
    return sum_(first * second, axis=axis)


cosine_similarity = composite(
    "cosine_similarity", "x1 x2", _cosine_similarity, static={"axis": 1, "eps": 1e-8}, kinks=_AT_ZERO,
    doc="The cosine of the angle of two vectors along an axis. A length below eps counts as eps, and its gradient is its own.",
    examples=("cosine_similarity(x, y, axis=0)",),
)  # fmt: skip


def _pairwise_distance(x: Any, y: Any, p: float, eps: float, keepdims: bool) -> Any:
    return _length(x - y + eps, p, -1, keepdims)


pairwise_distance = composite(
    "pairwise_distance", "x1 x2", _pairwise_distance, static={"p": 2.0, "eps": 1e-6, "keepdims": False}, scalars="eps",
    kinks=_AT_ZERO, doc="The p-norm of x1 - x2 + eps along the last axis.", examples=("pairwise_distance(x, y)",),
)  # fmt: skip


def _normalize(x: Any, p: float, axis: Any, eps: float) -> Any:
    axes_of(axis, len(x.shape))
    return x / clip(_length(x, p, axis), eps, None)


normalize = composite(
    "normalize", "x", _normalize, static={"p": 2.0, "axis": 1, "eps": 1e-12}, scalars="eps", kinks=_AT_ZERO,
    doc="x over its p-norm along an axis, which is at least eps.", examples=("normalize(x, axis=0)",),
)  # fmt: skip

declare(
    TORCH,
    cosine_similarity=signature("cosine_similarity", "x1, x2, axis, eps"),
    pairwise_distance=signature("pairwise_distance", "x1, x2, p, eps, keepdims"),
    normalize=signature("normalize", "x, p, axis, eps, -out"),
)
