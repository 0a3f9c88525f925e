"""Distances between points.

Of equal points every distance has the gradient 0. By the largest coordinate (p = inf), coordinates that are equally
large share the gradient evenly; PyTorch's cdist and pdist give each of them all of it, which no subgradient does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.bounds import clip
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.facts import Kink
from gradcli.ops.nn.losses import held_at
from gradcli.ops.reductions.sums import norm, sum_
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import axes_of, one_axis

_KINKS = (Kink(lambda *_: False, "equal points", "0"),)


def _length(difference: Any, p: float, axis: int | None = None) -> Any:
    # without coordinates there is no distance, by any p
    return norm(difference, ord=None if 0 in difference.shape else float(p), axis=axis)


def _between(differences: Any, p: float) -> Any:
    """The distances of points; how many coordinates differ (p = 0) has the gradient 0."""
    return _length(differences, p, -1) if p else sum_(sign(abs_(differences)), axis=-1)


def _positive(p: float) -> None:
    if not p >= 0:
        raise ArgumentError(f"p must be a number of at least 0, not {p!r}")


def _cdist(x: Any, y: Any, p: float, compute_mode: str | None) -> Any:
    _positive(p)
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"cdist needs rows of equally many coordinates, not the shapes {tuple(x.shape)} and {tuple(y.shape)}")
    points = reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
    others = reshape(y, shape=(*y.shape[:-2], 1, *y.shape[-2:]))
    return _between(points - others, p)


def _pdist(x: Any, p: float) -> Any:
    _positive(p)
    if len(x.shape) != 2:
        raise ShapeError(f"pdist needs a matrix of points, not the shape {tuple(x.shape)}")
    room_for(2, x.shape[0] * x.shape[0] // 2)
    first, second = (StaticArray(index) for index in np.triu_indices(x.shape[0], 1))
    return _between(getitem(x, index=(first,)) - getitem(x, index=(second,)), p)


def _renorm(x: Any, p: float, axis: int, maxnorm: float) -> Any:
    if len(x.shape) < 2:
        raise ShapeError(f"renorm needs an array of at least two axes, not the shape {tuple(x.shape)}")
    if not p > 0 or not maxnorm >= 0:
        raise ArgumentError("renorm: p must be positive and maxnorm not negative")
    along = one_axis(axis, len(x.shape))
    lengths = norm(x, ord=float(p), axis=tuple(a for a in range(len(x.shape)) if a != along), keepdims=True)
    return x * where(greater(lengths, maxnorm), maxnorm / (lengths + 1e-7), 1.0)


dist = composite(
    "dist", "x y", lambda x, y, p: _length(x - y, p), static={"p": 2}, kinks=_KINKS,
    doc="The p-norm of x - y, p any number, 0 or inf.", examples=("dist(x, y)",),
)  # fmt: skip
cdist = composite(
    "cdist", "x y", _cdist, static={"p": 2.0, "compute_mode": None}, kinks=_KINKS,
    doc="The distances of each row of x from each row of y, in the p-norm.", examples=("cdist([x], [y, 2*x])",),
)  # fmt: skip
pdist = composite(
    "pdist", "x", _pdist, static={"p": 2}, kinks=_KINKS,
    doc="The distances between all pairs of rows, in the p-norm.", examples=("pdist([x, y])",),
)  # fmt: skip
renorm = composite(
    "renorm", "x", _renorm, static={"p": REQUIRED, "axis": REQUIRED, "maxnorm": REQUIRED},
    doc="The slices along an axis, those with a p-norm beyond maxnorm scaled down to it.",
    examples=("torch.renorm([x, y], 2, 0, 0.5)",),
)  # fmt: skip
declare(TORCH, cdist=signature("cdist", "x|x1, y|x2, p, compute_mode"), dist=signature("dist", "x, y, p"))


# -- Directions and distances of vectors along an axis ---------------------------------------------


_AT_ZERO = (Kink(lambda *_: False, "a vector of zeros", "the length has the slope 0"),)


def _row_norm(x: Any, p: float, axis: Any, keepdims: bool = True) -> Any:
    row = x if x.shape else reshape(x, shape=(1,))
    return norm(row, ord=None if p == 2 else p, axis=axis, keepdims=keepdims and bool(x.shape))


def _cosine_similarity(x: Any, y: Any, axis: int, eps: float) -> Any:
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y = (v if v.shape == shape else broadcast_to(v, shape=shape) for v in (x, y))
    first, second = (v / held_at(_row_norm(v, 2, axis), eps) for v in (x, y))
    return sum_(first * second, axis=axis)


cosine_similarity = composite(
    "cosine_similarity", "x1 x2", _cosine_similarity, static={"axis": 1, "eps": 1e-8}, kinks=_AT_ZERO,
    doc="The cosine of the angle of two vectors along an axis. A length below eps counts as eps, and its gradient is its own.",
    examples=("cosine_similarity(x, y, axis=0)",),
)  # fmt: skip


def _pairwise_distance(x: Any, y: Any, p: float, eps: float, keepdims: bool) -> Any:
    return _row_norm(x - y + eps, p, -1, keepdims)


pairwise_distance = composite(
    "pairwise_distance", "x1 x2", _pairwise_distance, static={"p": 2.0, "eps": 1e-6, "keepdims": False}, scalars="eps",
    kinks=_AT_ZERO, doc="The p-norm of x1 - x2 + eps along the last axis.", examples=("pairwise_distance(x, y)",),
)  # fmt: skip


def _normalize(x: Any, p: float, axis: Any, eps: float) -> Any:
    axes_of(axis, len(x.shape))
    return x / clip(_row_norm(x, p, axis), eps, None)


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
