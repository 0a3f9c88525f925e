"""Attention by several heads, as PyTorch's layer computes it: projections, biases, masks and all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.concatenation import concatenate
from gradcli.ops.arrays.shapes import broadcast_to, part_of, reshape, swapaxes, transpose
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.logic import where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.nn.softmax import softmax
from gradcli.ops.reductions.masked import is_truth
from gradcli.ops.reductions.sums import mean
from gradcli.ops.registry import composite
from gradcli.ops.spec import REQUIRED

_NAME = "multi_head_attention_forward"


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    product = matmul(x, transpose(weight, axes=(1, 0)))
    return product if bias is None else product + bias


def _added(mask: Any) -> Any:
    """A mask as numbers to add: here truth means that a key is left out."""
    return where(mask, -math.inf, 0.0) if is_truth(mask) else mask


def _with_one_more(mask: Any) -> Any:
    """A mask of keys that leaves one more of them."""
    return None if mask is None else concatenate(mask, np.zeros((*mask.shape[:-1], 1)), axis=-1)


def _parts(whole: Any) -> list[Any]:
    """The thirds of a packed projection, for queries, keys and values."""
    if whole is None:
        return [None] * 3
    n = whole.shape[0] // 3
    return [part_of(whole, 0, i * n, (i + 1) * n) for i in range(3)]


def _by_heads(x: Any, heads: int, size: int) -> Any:
    """(rows, images, channels) to (images * heads, rows, channels of a head)."""
    return transpose(reshape(x, shape=(x.shape[0], x.shape[1] * heads, size)), axes=(1, 0, 2))


def _attention(
    query: Any, key: Any, value: Any, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, out_proj_weight: Any,
    out_proj_bias: Any, key_padding_mask: Any, attn_mask: Any, q_proj_weight: Any, k_proj_weight: Any, v_proj_weight: Any,
    static_k: Any, static_v: Any, embed_dim_to_check: int, num_heads: int, add_zero_attn: bool, dropout_p: float, training: bool,
    need_weights: bool, use_separate_proj_weight: bool, average_attn_weights: bool, is_causal: bool,
) -> Any:  # fmt: skip
    if training and dropout_p:
        raise ArgumentError(f"{_NAME}: dropout_p must be 0; dropout is random")
    if is_causal and attn_mask is None:
        raise ArgumentError(f"{_NAME}: is_causal=True needs the attn_mask as well")
    if query.shape[-1] != embed_dim_to_check or num_heads < 1 or embed_dim_to_check % num_heads:
        raise ShapeError(f"{_NAME}: queries of shape {tuple(query.shape)} do not fit {num_heads} heads of {embed_dim_to_check} channels")
    batched = len(query.shape) == 3
    if not batched:
        query, key, value = (reshape(x, shape=(x.shape[0], 1, x.shape[1])) for x in (query, key, value))
    rows, images, channels = query.shape
    size = channels // num_heads
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else _parts(in_proj_weight)
    q, k, v = (_linear(x, w, b) for x, w, b in zip((query, key, value), weights, _parts(in_proj_bias), strict=True))
    padding = None if key_padding_mask is None else reshape(_added(key_padding_mask), shape=(images, 1, 1, -1))
    mask = None if attn_mask is None else _added(attn_mask)
    if bias_k is not None and bias_v is not None:
        k, v = (concatenate(x, broadcast_to(b, shape=(1, images, channels)), axis=0) for x, b in ((k, bias_k), (v, bias_v)))
        padding, mask = _with_one_more(padding), _with_one_more(mask)
    q = _by_heads(q, num_heads, size)
    k = _by_heads(k, num_heads, size) if static_k is None else static_k
    v = _by_heads(v, num_heads, size) if static_v is None else static_v
    if add_zero_attn:
        k, v = (concatenate(x, np.zeros((x.shape[0], 1, size)), axis=1) for x in (k, v))
        padding, mask = _with_one_more(padding), _with_one_more(mask)
    scores = matmul(q * math.sqrt(1 / size), swapaxes(k, axis1=1, axis2=2))
    if mask is not None:
        scores = scores + mask
    if padding is not None:
        spread = reshape(scores, shape=(images, num_heads, rows, k.shape[1])) + padding
        scores = reshape(spread, shape=scores.shape)
    shares = softmax(scores, axis=-1)
    joined = reshape(transpose(matmul(shares, v), axes=(1, 0, 2)), shape=(rows, images, channels))
    result = _linear(joined, out_proj_weight, out_proj_bias)
    result = result if batched else reshape(result, shape=(rows, result.shape[2]))
    if not need_weights:
        return result, None
    seen = reshape(shares, shape=(images, num_heads, rows, k.shape[1]))
    seen = mean(seen, axis=1) if average_attn_weights else seen
    return result, seen if batched else reshape(seen, shape=seen.shape[1:])


multi_head_attention_forward = composite(
    _NAME,
    "query key value in_proj_weight? in_proj_bias? bias_k? bias_v? out_proj_weight out_proj_bias? key_padding_mask? attn_mask? "
    "q_proj_weight? k_proj_weight? v_proj_weight? static_k? static_v?",
    _attention, results=("output", "weights"), doc="Attention by several heads with projections: the result and the weights of keys.",
    static={
        "embed_dim_to_check": REQUIRED, "num_heads": REQUIRED, "add_zero_attn": False, "dropout_p": 0.0, "training": True,
        "need_weights": True, "use_separate_proj_weight": False, "average_attn_weights": True, "is_causal": False,
    },
)  # fmt: skip
declare(
    TORCH,
    multi_head_attention_forward=signature(
        _NAME,
        "query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, "
        "out_proj_weight, out_proj_bias, training, key_padding_mask, need_weights, attn_mask, use_separate_proj_weight, "
        "q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights, is_causal",
    ),
)
