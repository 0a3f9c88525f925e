"""References of attention, by one head or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import array, lined
from gradcli.ops.references.networks import linear, shares
from gradcli.ops.references.products import matmul
from gradcli.ops.references.shapes import objects


def _attended(m: Any, scores: Any, value: Any) -> Any:
    """Values, averaged by the exponentials of scores; 0 where nothing is attended to."""

    def weights(row: list[Any]) -> list[Any]:
        return [m.zero] * len(row) if all(m.plain(v) == -m.inf for v in row) else shares(m, row)

    return matmul(m, lined(scores, -1, weights), value)


def _masked(m: Any, scores: Any, mask: Any) -> Any:
    """Scores with a mask: truth keeps them, numbers are added to them."""

    def one(score: Any, given: Any) -> Any:
        return (score if given else -m.inf) if isinstance(given, (bool, np.bool_)) else score + given

    return each(one, scores, mask)


@of("scaled_dot_product_attention")
def scaled_dot_product_attention(
    m: Any, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: Any, is_causal: bool, scale: Any, enable_gqa: bool
) -> Any:
    q, k, v = (objects(x) for x in (query, key, value))
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    factor = 1 / m.sqrt(m.one * q.shape[-1]) if scale is None else scale
    scores = matmul(m, q, np.swapaxes(k, -1, -2)) * factor
    if is_causal:
        seen = np.array([[j <= i for j in range(k.shape[-2])] for i in range(q.shape[-2])], dtype=bool)
        scores = _masked(m, scores, seen)
    return _attended(m, scores if attn_mask is None else _masked(m, scores, attn_mask), v)


@of("multi_head_attention_forward")
def multi_head_attention_forward(
    m: Any, query: Any, key: Any, value: Any, in_weight: Any, in_bias: Any, bias_k: Any, bias_v: Any, out_weight: Any, out_bias: Any,
    key_padding_mask: Any, attn_mask: Any, q_weight: Any, k_weight: Any, v_weight: Any, static_k: Any, static_v: Any, *,
    embed_dim_to_check: int, num_heads: int, add_zero_attn: bool, dropout_p: Any, training: bool, need_weights: bool,
    use_separate_proj_weight: bool, average_attn_weights: bool, is_causal: bool,
) -> Any:  # fmt: skip
    """Head by head, image by image."""
    batched = np.ndim(query) == 3
    q, k, v = (objects(x) if batched else objects(x)[:, None] for x in (query, key, value))
    rows, images, channels = q.shape
    size = channels // num_heads
    packed = [q_weight, k_weight, v_weight] if use_separate_proj_weight else np.split(objects(in_weight), 3)
    biases = [None] * 3 if in_bias is None else np.split(objects(in_bias), 3)
    q, k, v = (linear(m, x, w, b) for x, w, b in zip((q, k, v), packed, biases, strict=True))
    extra = 0
    if bias_k is not None and bias_v is not None:
        k, v = (np.concatenate([x, np.broadcast_to(objects(b), (1, images, channels))]) for x, b in ((k, bias_k), (v, bias_v)))
        extra += 1
    out = np.empty((rows, images, channels), dtype=object)
    seen = np.empty((images, num_heads), dtype=object)
    for image in range(images):
        for head in range(num_heads):
            part = slice(head * size, (head + 1) * size)
            keys = k[:, image, part] if static_k is None else objects(static_k)[image * num_heads + head]
            values = v[:, image, part] if static_v is None else objects(static_v)[image * num_heads + head]
            if add_zero_attn:
                nothing = array([m.zero] * size, (1, size))
                keys, values = np.concatenate([keys, nothing]), np.concatenate([values, nothing])
            scores = matmul(m, q[:, image, part], keys.T) / m.sqrt(m.one * size)
            added = extra + add_zero_attn
            if attn_mask is not None:
                mask = objects(attn_mask)
                scores = _left_out(m, scores, mask if mask.ndim == 2 else mask[image * num_heads + head], added)
            if key_padding_mask is not None:
                padding = objects(key_padding_mask) if batched else objects(key_padding_mask)[None]
                scores = _left_out(m, scores, np.broadcast_to(padding[image], (rows, padding.shape[-1])), added)
            weights = lined(scores, -1, lambda row: shares(m, row))
            out[:, image, part] = matmul(m, weights, values)
            seen[image, head] = weights
    result = linear(m, out, out_weight, out_bias)
    result = result if batched else result[:, 0]
    if not need_weights:
        return result, None
    each_head = np.stack([np.stack(list(seen[image])) for image in range(images)])
    found = each_head.sum(axis=1) / num_heads if average_attn_weights else each_head
    return result, found if batched else found[0]


def _left_out(m: Any, scores: Any, mask: Any, more: int) -> Any:
    """Scores with a mask whose truth leaves keys out; those that were put behind are never left out."""
    wide = np.concatenate([objects(mask), np.full((len(mask), more), m.zero, dtype=object)], axis=1)

    def one(score: Any, given: Any) -> Any:
        return (-m.inf if given else score) if isinstance(given, (bool, np.bool_)) else score + given

    return each(one, scores, wide)
