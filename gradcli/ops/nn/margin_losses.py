"""Losses that want scores or distances apart by a margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import take_along
from gradcli.ops.arrays.reshaping import expand_dims
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.elementwise.bounds import clip, minimum
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.elementwise.logic import equal, greater_equal, where
from gradcli.ops.facts import noted
from gradcli.ops.nn.activations import relu
from gradcli.ops.nn.distances_and_similarities import pairwise_distance
from gradcli.ops.nn.likelihoods import class_labels, label_places
from gradcli.ops.nn.losses import loss
from gradcli.ops.reductions.cumulative import cumprod
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import is_number
from gradcli.ops.special.gamma import softplus
from gradcli.ops.structure import detach, to_int

_REDUCED = "size_average, reduce, reduction"
_FREE = (noted("exactly at the margin", "the slope of what is within it"),)


def _above(x: Any, low: float = 0.0) -> Any:
    """x limited from below; at the limit it still has the slope 1, as PyTorch's clamp_min."""
    return clip(x, low, None)


@loss(f"input, target, margin, {_REDUCED}", scalars="margin", kinks=_FREE)
def hinge_embedding_loss(input: Any, target: Any, *, margin: Any = 1.0) -> Any:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    target = detach(target)
    return where(equal(target, 1), 0.0, _above(margin - input)) + where(equal(target, -1), 0.0, input)


@loss(f"input1, input2, target, margin, {_REDUCED}", scalars="margin", kinks=_FREE)
def margin_ranking_loss(input1: Any, input2: Any, target: Any, *, margin: Any = 0.0) -> Any:
    """max(0, margin - target*(input1 - input2))."""
    return _above(margin - target * (input1 - input2))


@loss(f"input, target, {_REDUCED}")
def soft_margin_loss(input: Any, target: Any) -> Any:
    """log(1 + exp(-target*input)), without overflow."""
    return softplus(-target * input)


def _triplet(anchor: Any, positive: Any, negative: Any, margin: Any, p: float, eps: Any, swap: bool) -> Any:
    if is_number(margin) and margin <= 0:
        raise ArgumentError(f"triplet_margin_loss: the margin must be greater than 0, not {margin}")
    if not len(anchor.shape) == len(positive.shape) == len(negative.shape):
        raise ShapeError("triplet_margin_loss: anchor, positive and negative must have as many axes as each other")
    near, far = (pairwise_distance(anchor, other, p=p, eps=eps) for other in (positive, negative))
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p=p, eps=eps))
    return _above(margin + near - far)


@loss(f"anchor, positive, negative, margin, p, eps, swap, {_REDUCED}", scalars="margin eps", kinks=_FREE)
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, *, margin: Any = 1.0, p: float = 2.0, eps: Any = 1e-6, swap: bool = False
) -> Any:
    """max(0, margin + |anchor - positive| - |anchor - negative|); with swap the nearer of anchor and positive counts."""
    return _triplet(anchor, positive, negative, margin, p, eps, swap)


@loss(
    "anchor, positive, negative, distance_function, margin, swap, reduction, size_average, reduce", scalars="margin", kinks=_FREE
)  # fmt: skip
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: Any = 1.0, swap: bool = False
) -> Any:
    """triplet_margin_loss with pairwise_distance; other distance functions are refused."""
    if distance_function is not None:
        raise ArgumentError("triplet_margin_with_distance_loss: a distance_function cannot be given here", help="write out the loss")
    return _triplet(anchor, positive, negative, margin, 2.0, 1e-6, swap)


_EPSILON = float(np.float32(1e-12))  # a float32 in PyTorch


@loss(f"input1, input2, target, margin, {_REDUCED}", scalars="margin", kinks=_FREE)
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, *, margin: Any = 0.0) -> Any:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1; 1e-12 is added to squared lengths."""
    x, y = input1, input2
    if len(x.shape) not in (1, 2) or len(target.shape) != len(x.shape) - 1 or len(y.shape) != len(x.shape):
        raise ShapeError("cosine_embedding_loss: rows of vectors and a target for each are wanted, or two vectors and a number")
    lengths = sqrt((sum_(x * x, axis=-1) + _EPSILON) * (sum_(y * y, axis=-1) + _EPSILON))
    cosine = sum_(x * y, axis=-1) / lengths
    target = detach(target)
    return where(equal(target, 1), 1 - cosine, 0.0) + where(equal(target, -1), _above(cosine - margin), 0.0)


_AT_MARGIN = (noted("exactly at the margin", "0"),)


@loss(f"input, target, p, margin, weight, {_REDUCED}", scalars="margin", indices=frozenset({"target"}), kinks=_AT_MARGIN)
def multi_margin_loss(input: Any, target: Any, weight: Any = None, *, p: int = 1, margin: Any = 1.0) -> Any:
    """The sum of max(0, margin - x[label] + x[i])**p over the other classes i, over the number of classes."""
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p must be 1 or 2, not {p}")
    x = input if input.shape else reshape(input, shape=(1,))
    target = reshape(target, shape=()) if len(x.shape) == 1 and target.shape == (1,) else target
    axis, places = label_places(x, target)
    others = where(equal(places, np.arange(x.shape[axis])), 0.0, relu(margin - take_along(x, places, axis=axis) + x))
    terms = others if p == 1 else others * others
    if weight is not None:
        terms = terms * reshape(take_along(weight, reshape(places, shape=(-1,)), axis=0), shape=places.shape)
    return sum_(terms, axis=axis) / x.shape[axis]


@loss(f"input, target, {_REDUCED}", indices=frozenset({"target"}), kinks=_AT_MARGIN)
def multilabel_margin_loss(input: Any, target: Any) -> Any:
    """The sum of max(0, 1 - x[j] + x[i]) over labels j (those before the first negative one) and classes i that are no label, over the
    number of classes.
    """
    x, target = (v if v.shape else reshape(v, shape=(1,)) for v in (input, target))
    if target.shape != x.shape or len(x.shape) > 2:
        raise ShapeError(f"labels of shape {tuple(target.shape)} do not fit scores of shape {tuple(x.shape)}")
    classes = x.shape[-1]
    listed = cumprod(where(greater_equal(target, 0), 1.0, 0.0), axis=-1)  # up to the first negative label
    labels = class_labels(to_int(where(equal(listed, 0), 0.0, target)), classes=classes, ignored=None)
    listed = expand_dims(listed, axis=-1)
    matches = where(equal(expand_dims(labels, axis=-1), np.arange(classes)), listed, 0.0)
    others = where(equal(sum_(matches, axis=-2, keepdims=True), 0), listed, 0.0)
    short = relu(1 - expand_dims(take_along(x, labels, axis=-1), axis=-1) + expand_dims(x, axis=-2))
    return sum_(others * short, axis=(-2, -1)) / classes
