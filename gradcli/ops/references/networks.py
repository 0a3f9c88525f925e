"""References of what networks are made of: activations, normalizations, layers, attention, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import Array, array, entries, lined, reduced, total, which, whole
from gradcli.ops.references.losses import apart
from gradcli.ops.references.products import contracted, matmul
from gradcli.ops.references.reducing import length
from gradcli.ops.references.shapes import objects


@of("relu6")
def relu6(m: Any, x: Any) -> Any:
    return each(lambda v: m.zero if v < 0 else 6 * m.one if v > 6 else v, x)


@of("threshold")
def threshold(m: Any, x: Any, threshold: Any, value: Any) -> Any:
    return each(lambda v: v if v > threshold else m.one * value, x)


@of("logsigmoid")
def logsigmoid(m: Any, x: Any) -> Any:
    return each(lambda v: -m.log1p(m.exp(-v)), x)


@of("prelu")
def prelu(m: Any, x: Any, weight: Any) -> Any:
    slopes = entries(weight)
    values = objects(x)
    channels = np.indices(values.shape)[1] if values.ndim > 1 else np.zeros(values.shape, int)
    return each(lambda v, c: v if v > 0 else v * slopes[c if len(slopes) > 1 else 0], values, channels)


@of("glu")
def glu(m: Any, x: Any, axis: int) -> Any:
    def gated(row: list[Any]) -> list[Any]:
        half = len(row) // 2
        return [v / (1 + m.exp(-gate)) for v, gate in zip(row[:half], row[half:], strict=True)]

    return lined(x, axis, gated)


def shares(m: Any, row: list[Any]) -> list[Any]:
    """exp(v) over the sum of all; of infinities that are negative, 0."""
    raised = [m.exp(v) for v in row]
    whole_row = total(m, raised)
    return [v / whole_row for v in raised]


def _implicit(x: Any) -> int:
    """The axis that PyTorch takes where none is named."""
    return 0 if np.ndim(x) in (0, 1, 3) else 1


for _name, _change in (
    ("torch_softmax", shares), ("softmin", lambda m, row: shares(m, [-v for v in row])),
    ("torch_log_softmax", lambda m, row: [m.log(v) for v in shares(m, row)]),
):  # fmt: skip

    @of(_name)
    def softly(m: Any, x: Any, axis: Any, change: Callable[..., list[Any]] = _change) -> Any:
        return lined(x, _implicit(x) if axis is None else axis, lambda row: change(m, row))


@of("dropout")
def dropout(m: Any, x: Any, p: Any, training: bool) -> Any:
    """What is certain: all is kept, or (p = 1) nothing."""
    return each(lambda v: v * 0 if training and p == 1 else v, x)


@of("rrelu")
def rrelu(m: Any, x: Any, lower: Any, upper: Any, training: bool) -> Any:
    slope = (m.one * lower + m.one * upper) / 2
    return each(lambda v: v if v > 0 else v * slope, x)


# Normalizations.


def _standard(m: Any, values: list[Any], eps: Any) -> list[Any]:
    """Moved and scaled to mean 0 and variance 1, but for what eps adds to the variance."""
    n = len(values)
    middle = total(m, values) / n
    variance = total(m, [v * v for v in values]) / n - middle * middle
    return [(v - middle) / m.sqrt(variance + eps) for v in values]


def _over(x: Any, axes: Any, change: Callable[[list[Any]], list[Any]]) -> Array:
    """Each group of entries along several axes replaced by another of the same size."""
    values = objects(x)
    moved = np.moveaxis(values, axes, range(values.ndim - len(axes), values.ndim))
    flat = moved.reshape(*moved.shape[: values.ndim - len(axes)], -1)
    made = lined(flat, -1, change).reshape(moved.shape)
    return np.moveaxis(made, range(values.ndim - len(axes), values.ndim), axes)


def _affine(x: Any, weight: Any, bias: Any, channels: bool) -> Any:
    """Times weight, plus bias: over the last axes, or one for each channel (the second axis)."""

    def laid(p: Any) -> Any:
        return objects(p).reshape(-1, *[1] * max(0, np.ndim(x) - 2)) if channels else objects(p)

    scaled = x if weight is None else x * laid(weight)
    return scaled if bias is None else scaled + laid(bias)


def _last(x: Any, normalized_shape: Any) -> list[int]:
    n = len(normalized_shape) if isinstance(normalized_shape, tuple) else 1
    return list(range(np.ndim(x) - n, np.ndim(x)))


@of("layer_norm")
def layer_norm(m: Any, x: Any, weight: Any, bias: Any, normalized_shape: Any, eps: Any) -> Any:
    return _affine(_over(x, _last(x, normalized_shape), lambda row: _standard(m, row, eps)), weight, bias, False)


@of("rms_norm")
def rms_norm(m: Any, x: Any, weight: Any, normalized_shape: Any, eps: Any) -> Any:
    added = m.one / 2**52 if eps is None else eps

    def scaled(row: list[Any]) -> list[Any]:
        size = m.sqrt(total(m, [v * v for v in row]) / len(row) + added)
        return [v / size for v in row]

    return _affine(_over(x, _last(x, normalized_shape), scaled), weight, None, False)


@of("group_norm")
def group_norm(m: Any, x: Any, weight: Any, bias: Any, num_groups: int, eps: Any) -> Any:
    values = objects(x)
    groups = values.reshape(values.shape[0], num_groups, -1)
    found = lined(groups, 2, lambda row: _standard(m, row, eps)).reshape(values.shape)
    return _affine(found, weight, bias, True)


def _by_statistics(m: Any, x: Any, mean: Any, var: Any, eps: Any) -> Any:
    channels = np.indices(np.shape(x))[1 if np.ndim(x) > 1 else 0]
    middles, spreads = entries(mean), entries(var)
    return each(lambda v, c: (v - middles[c]) / m.sqrt(spreads[c] + eps), x, channels)


@of("batch_norm")
def batch_norm(m: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any, training: bool, momentum: Any, eps: Any) -> Any:
    axes = [0, *range(2, np.ndim(x))]
    found = _over(x, axes, lambda row: _standard(m, row, eps)) if training else _by_statistics(m, x, mean, var, eps)
    return _affine(found, weight, bias, True)


@of("instance_norm")
def instance_norm(m: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any, use_input_stats: bool, momentum: Any, eps: Any) -> Any:
    axes = list(range(2, np.ndim(x)))
    found = _over(x, axes, lambda row: _standard(m, row, eps)) if use_input_stats else _by_statistics(m, x, mean, var, eps)
    return _affine(found, weight, bias, True)


@of("local_response_norm")
def local_response_norm(m: Any, x: Any, size: int, alpha: Any, beta: Any, k: Any) -> Any:
    def scaled(row: list[Any]) -> list[Any]:
        found = []
        for c, v in enumerate(row):
            window = row[max(0, c - size // 2) : c - size // 2 + size]
            found.append(v / m.power(k + alpha * total(m, [w * w for w in window]) / size, beta))
        return found

    return lined(x, 1, scaled)


# Layers and attention.


@of("linear")
def linear(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    rows: list[Any] = list(range(np.ndim(x) - 1))
    out = ["out"] if np.ndim(weight) == 2 else []
    found = contracted(m, [x, weight], [[*rows, "in"], [*out, "in"]], [*rows, *out])
    return found if bias is None else found + objects(bias)


@of("bilinear")
def bilinear(m: Any, x: Any, y: Any, weight: Any, bias: Any) -> Any:
    rows: list[Any] = list(range(np.ndim(x) - 1))
    found = contracted(m, [x, y, weight], [[*rows, "left"], [*rows, "right"], ["out", "left", "right"]], [*rows, "out"])
    return found if bias is None else found + objects(bias)


@of("embedding")
def embedding(
    m: Any, input: Any, weight: Any, padding_idx: Any, max_norm: Any, norm_type: Any, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    rows, index = (weight, input) if np.ndim(weight) == 2 else (input, weight)
    table = objects(rows)
    last = None if padding_idx is None else padding_idx % len(table)
    found = [m.plain(v) if place == last else v for place in whole(index) for v in table[place]]
    return array(found, (*np.shape(index), table.shape[1]))


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


# Distances.


@of("dist")
def dist(m: Any, x: Any, y: Any, p: Any) -> Any:
    return reduced(each(lambda v, w: v - w, x, y), None, False, lambda row: length(m, row, p))


@of("cdist")
def cdist(m: Any, x: Any, y: Any, p: Any, compute_mode: Any) -> Any:
    return apart(m, objects(x)[..., :, None, :], objects(y)[..., None, :, :], p, 0)


@of("pdist")
def pdist(m: Any, x: Any, p: Any) -> Any:
    points = objects(x)
    n = len(points)
    return array([length(m, list(points[i] - points[j]), p) for i in range(n) for j in range(i + 1, n)], (-1,))


@of("renorm")
def renorm(m: Any, x: Any, p: Any, axis: int, maxnorm: Any) -> Any:
    slices = np.moveaxis(objects(x), axis, 0)
    out = slices.copy()
    for i, part in enumerate(slices):
        size = length(m, entries(part), p)
        out[i] = part * (maxnorm / (size + 1e-7)) if size > maxnorm else part
    return np.moveaxis(out, 0, axis)


@of("cosine_similarity")
def cosine_similarity(m: Any, x: Any, y: Any, axis: int, eps: Any) -> Any:
    pairs = each(lambda v, w: (v, w), x, y)

    def cosine(row: list[Any]) -> Any:
        sizes = [length(m, [pair[i] for pair in row], 2) for i in range(2)]
        held = [m.one * eps if size < eps else size for size in sizes]
        return total(m, [v * w for v, w in row]) / (held[0] * held[1])

    return reduced(pairs, axis, False, cosine)


@of("pairwise_distance")
def pairwise_distance(m: Any, x: Any, y: Any, p: Any, eps: Any, keepdims: bool) -> Any:
    found = apart(m, x, y, p, eps)
    return found[..., None] if keepdims and max(np.ndim(x), np.ndim(y)) else found


@of("normalize")
def normalize(m: Any, x: Any, p: Any, axis: Any, eps: Any) -> Any:
    def unit(row: list[Any]) -> list[Any]:
        size = length(m, row, p)
        return [v / (m.one * eps if size < eps else size) for v in row]

    return _over(x, which(axis, np.ndim(x)), unit) if np.ndim(x) else each(lambda v: unit([v])[0], x)


