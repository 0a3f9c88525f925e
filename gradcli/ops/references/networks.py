"""References of what networks are made of: activations, normalizations, layers, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import Array, array, entries, lined, reduced, total, which, whole
from gradcli.ops.references.margin_losses import apart
from gradcli.ops.references.products import contracted
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
    added = m.one / 2 ** (23 if m.precision == "float32" else 52) if eps is None else eps

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
        held = [size + (m.one * eps - m.plain(size)) if size < eps else size for size in sizes]  # the derivative is the length's
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
