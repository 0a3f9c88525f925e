"""Distances between points.

Of equal points every distance has the gradient 0. By the largest coordinate (p = inf), coordinates that are equally
large share the gradient evenly; PyTorch's cdist and pdist give each of them all of it, which no subgradient does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import StaticArray, getitem, reshape
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, sign
from gradcli.ops.elementwise.logic import greater, where
from gradcli.ops.facts import Kink
from gradcli.ops.reductions.sums import norm, sum_
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED
from gradcli.ops.writing import one_axis

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
