"""References of losses that want scores or distances apart by a margin."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import array, entries, total, whole
from gradcli.ops.references.losses import lost
from gradcli.ops.references.reducing import length


def above_zero(x: Any) -> Any:
    return x if x > 0 else x * 0


@lost("hinge_embedding_loss")
def hinge_embedding_loss(m: Any, x: Any, y: Any, margin: Any) -> Any:
    def one(v: Any, t: Any) -> Any:
        return v if t == 1 else above_zero(margin - v) if t == -1 else above_zero(margin - v) + v

    return each(one, x, y)


@lost("margin_ranking_loss")
def margin_ranking_loss(m: Any, x: Any, y: Any, target: Any, margin: Any) -> Any:
    return each(lambda v, w, t: above_zero(margin - t * (v - w)), x, y, target)


@lost("soft_margin_loss")
def soft_margin_loss(m: Any, x: Any, y: Any) -> Any:
    return each(lambda v, t: m.log(1 + m.exp(-t * v)), x, y)


def apart(m: Any, x: Any, y: Any, p: Any, eps: Any) -> Any:
    """The p-norms of x - y + eps along the last axis."""
    gaps = np.atleast_1d(each(lambda v, w: v - w + eps, x, y))
    found = [length(m, list(gaps[at]), p) for at in np.ndindex(gaps.shape[:-1])]
    return array(found, gaps.shape[:-1])


@lost("triplet_margin_loss")
def triplet_margin_loss(m: Any, anchor: Any, positive: Any, negative: Any, margin: Any, p: Any, eps: Any, swap: bool) -> Any:
    near, far = apart(m, anchor, positive, p, eps), apart(m, anchor, negative, p, eps)
    if swap:
        far = each(lambda v, w: w if w < v else v, far, apart(m, positive, negative, p, eps))
    return each(lambda v, w: above_zero(margin + v - w), near, far)


@lost("triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    m: Any, anchor: Any, positive: Any, negative: Any, distance_function: Any, margin: Any, swap: bool
) -> Any:
    return triplet_margin_loss(m, anchor, positive, negative, margin, 2, 0.000001, swap)


@lost("cosine_embedding_loss")
def cosine_embedding_loss(m: Any, x: Any, y: Any, target: Any, margin: Any) -> Any:
    added = m.m.mpf(9223372) / 2**63  # 1e-12 to the 24 bits of a float32, as in PyTorch

    def one(v: Any, w: Any, t: Any) -> Any:
        squares = [total(m, [a * a for a in u]) + added for u in (v, w)]
        cosine = total(m, [a * b for a, b in zip(v, w, strict=True)]) / m.sqrt(squares[0] * squares[1])
        return 1 - cosine if t == 1 else above_zero(cosine - margin) if t == -1 else m.zero

    left, right = np.broadcast_arrays(np.asarray(x, dtype=object), np.asarray(y, dtype=object))
    places = list(np.ndindex(left.shape[:-1]))
    found = [one(left[at], right[at], t) for at, t in zip(places, entries(target), strict=True)]
    return array(found, left.shape[:-1])


@lost("multi_margin_loss")
def multi_margin_loss(m: Any, x: Any, target: Any, weight: Any, p: int, margin: Any) -> Any:
    rows, losses = np.atleast_1d(np.asarray(x, dtype=object)), []
    shape, classes = rows.shape[:-1], rows.shape[-1]
    for row, label in zip(rows.reshape(-1, classes), whole(target), strict=True):
        others = [above_zero(margin - row[label] + v) for i, v in enumerate(row) if i != label]
        loss = total(m, [v if p == 1 else v * v for v in others]) / classes
        losses.append(loss if weight is None else loss * entries(weight)[label])
    return array(losses, shape)


@lost("multilabel_margin_loss")
def multilabel_margin_loss(m: Any, x: Any, target: Any) -> Any:
    rows, named = (np.atleast_1d(np.asarray(v, dtype=object)) for v in (x, target))
    losses, classes = [], rows.shape[-1]
    for row, listed in zip(rows.reshape(-1, classes), named.reshape(-1, classes), strict=True):
        labels = list(itertools.takewhile(lambda k: k >= 0, whole(listed)))
        terms = [above_zero(1 - row[j] + v) for j in labels for i, v in enumerate(row) if i not in labels]
        losses.append(total(m, terms) / classes)
    return array(losses, rows.shape[:-1])
