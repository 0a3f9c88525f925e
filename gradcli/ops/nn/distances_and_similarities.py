"""Distances between points.

Of equal points every distance has the gradient 0. By the largest coordinate (p = inf), coordinates that are equally
large share the gradient evenly; PyTorch's cdist and pdist give each of them all of it, which no subgradient does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.bounds import clip, maximum
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.reductions.sums import norm, sum_
from gradcli.ops.registry import Number, axes_of, declare, function, noted, one_axis, room_for
from gradcli.ops.structure import valued


def held_at(x: Any, low: float) -> Any:
    """x raised to a bound, the gradient passing as if it had not been (PyTorch's clamp under no_grad)."""
    return valued(x, maximum(x, low))


_KINKS = (noted("equal points", "0"),)


def _length(difference: Any, p: float, axis: int | None = None) -> Any:
    # without coordinates there is no distance, by any p
    return norm(difference, ord=None if 0 in difference.shape else float(p), axis=axis)


def _between(differences: Any, p: float) -> Any:
    """The distances of points; how many coordinates differ (p = 0) has the gradient 0."""
    return _length(differences, p, -1) if p else sum_(sign(abs_(differences)), axis=-1)


def _positive(p: float) -> None:
    if not p >= 0:
        raise ArgumentError(f"p must be a number of at least 0, not {p!r}")


@function(torch="x, y, p", kinks=_KINKS)
def dist(x: Any, y: Any, *, p: Any = 2) -> Any:
    """The p-norm of x - y, p any number, 0 or inf.

    >>> dist(x, y)
    """
    return _length(x - y, p)


@function(torch="x|x1, y|x2, p, compute_mode", kinks=_KINKS)
def cdist(x: Any, y: Any, *, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The distances of each row of x from each row of y, in the p-norm.

    >>> cdist([x], [y, 2*x])
    """
    _positive(p)
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"cdist needs rows of equally many coordinates, not the shapes {tuple(x.shape)} and {tuple(y.shape)}")
    points = reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
    others = reshape(y, shape=(*y.shape[:-2], 1, *y.shape[-2:]))
    return _between(points - others, p)


declare("""
    scipy:
        distance.euclidean = dist(x|u, y|v)
        distance.cityblock = dist(x|u, y|v; p=1)
        distance.sqeuclidean = mse_loss(input|u, target|v; reduction='sum')
        distance.cdist = cdist(x|XA, y|XB)
""")


@function(kinks=_KINKS)
def pdist(x: Any, *, p: float = 2) -> Any:
    """The distances between all pairs of rows, in the p-norm.

    >>> pdist([x, y])
    """
    _positive(p)
    if len(x.shape) != 2:
        raise ShapeError(f"pdist needs a matrix of points, not the shape {tuple(x.shape)}")
    room_for(2, x.shape[0] * x.shape[0] // 2)
    first, second = (StaticArray(index) for index in np.triu_indices(x.shape[0], 1))
    return _between(getitem(x, index=(first,)) - getitem(x, index=(second,)), p)


@function()
def renorm(x: Any, *, p: float, axis: int, maxnorm: float) -> Any:
    """The slices along an axis, those with a p-norm beyond maxnorm scaled down to it.

    >>> torch.renorm([x, y], 2, 0, 0.5)
    """
    if len(x.shape) < 2:
        raise ShapeError(f"renorm needs an array of at least two axes, not the shape {tuple(x.shape)}")
    if not p > 0 or not maxnorm >= 0:
        raise ArgumentError("renorm: p must be positive and maxnorm not negative")
    along = one_axis(axis, len(x.shape))
    lengths = norm(x, ord=float(p), axis=tuple(a for a in range(len(x.shape)) if a != along), keepdims=True)
    return x * where(greater(lengths, maxnorm), maxnorm / (lengths + 1e-7), 1.0)


# -- Directions and distances of vectors along an axis ---------------------------------------------


_AT_ZERO = (noted("a vector of zeros", "the length has the slope 0"),)


def _row_norm(x: Any, p: float, axis: Any, keepdims: bool = True) -> Any:
    row = x if x.shape else reshape(x, shape=(1,))
    return norm(row, ord=None if p == 2 else p, axis=axis, keepdims=keepdims and bool(x.shape))


@function(torch="x1, x2, axis, eps", kinks=_AT_ZERO)
def cosine_similarity(x1: Any, x2: Any, *, axis: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle of two vectors along an axis. A length below eps counts as eps, and its gradient is its own.

    >>> cosine_similarity(x, y, axis=0)
    """
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = (v if v.shape == shape else broadcast_to(v, shape=shape) for v in (x1, x2))
    first, second = (v / held_at(_row_norm(v, 2, axis), eps) for v in (x1, x2))
    return sum_(first * second, axis=axis)


@function(torch="x1, x2, p, eps, keepdims", kinks=_AT_ZERO)
def pairwise_distance(x1: Any, x2: Any, *, p: float = 2.0, eps: Number = 1e-6, keepdims: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis.

    >>> pairwise_distance(x, y)
    """
    return _row_norm(x1 - x2 + eps, p, -1, keepdims)


@function(torch="x, p, axis, eps, -out", kinks=_AT_ZERO)
def normalize(x: Any, *, p: float = 2.0, axis: Any = 1, eps: Number = 1e-12) -> Any:
    """x over its p-norm along an axis, which is at least eps.

    >>> normalize(x, axis=0)
    """
    axes_of(axis, len(x.shape))
    return x / clip(_row_norm(x, p, axis), eps, None)
