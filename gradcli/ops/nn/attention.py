"""Attention: averages of values, weighted by how well queries fit keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import broadcast_to, reshape, swapaxes
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import equal, where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.nn.softmax import softmax
from gradcli.ops.reductions.masked import is_truth
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for


def _repeated(x: Any, times: int) -> Any:
    """Each head, the axis before the last two, several times."""
    if times == 1:
        return x
    *lead, heads, rows, columns = x.shape
    spread = broadcast_to(reshape(x, shape=(*lead, heads, 1, rows, columns)), shape=(*lead, heads, times, rows, columns))
    return reshape(spread, shape=(*lead, heads * times, rows, columns))


def _masked_softmax(scores: Any) -> Any:
    """Where everything is masked, no value is attended to: the result is 0, as in PyTorch."""
    nothing = equal(sum_(where(equal(scores, -math.inf), 0.0, 1.0), axis=-1, keepdims=True), 0)
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), axis=-1))


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float | None, enable_gqa: bool
) -> Any:
    name = "scaled_dot_product_attention"
    if dropout_p:
        raise ArgumentError(f"{name}: dropout_p must be 0; dropout is random")
    if is_causal and attn_mask is not None:
        raise ArgumentError(f"{name}: attn_mask must be None with is_causal=True")
    if min(len(a.shape) for a in (query, key, value)) < 2:
        raise ShapeError(f"{name} needs arrays of at least 2 axes")
    if enable_gqa:
        heads, shared = query.shape[-3], (key.shape[-3], value.shape[-3])
        if any(heads % s for s in shared):
            raise ShapeError(f"{name}: {heads} heads of queries do not share {shared[0]} of keys and {shared[1]} of values")
        key, value = (_repeated(a, heads // s) for a, s in zip((key, value), shared, strict=True))
    rows, columns = query.shape[-2], key.shape[-2]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = matmul(query * factor, swapaxes(key, axis1=-1, axis2=-2))
    if is_causal:
        room_for(rows, columns)
        scores = where(np.tri(rows, columns, dtype=bool), scores, -math.inf)
    if attn_mask is None:
        return matmul(softmax(scores, axis=-1), value)
    masked = where(attn_mask, scores, -math.inf) if is_truth(attn_mask) else scores + attn_mask
    return matmul(_masked_softmax(masked), value)


scaled_dot_product_attention = composite(
    "scaled_dot_product_attention", "query key value attn_mask?", _attention, scalars="scale",
    static={"dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False},
    doc="softmax(query @ key.T / sqrt(d)) @ value, of keys that the mask (truth values, or numbers to add) leaves.",
    examples=("F.scaled_dot_product_attention([x], [y, 2*y], [w, -w])",),
)  # fmt: skip
_QUERIES = "query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa"
declare(TORCH, scaled_dot_product_attention=signature("scaled_dot_product_attention", _QUERIES))
