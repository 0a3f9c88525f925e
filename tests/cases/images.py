"""Cases of convolution, pooling, interpolation and attention, against sums written out window by
window.
"""

from __future__ import annotations

import itertools

import numpy as np

from cases.case import Case, largest, some

SIGNAL, FILTERS, BIAS = some(1, 2, 4), some(4, 1, 2), some(4)
IMAGE, KERNELS = some(1, 1, 3, 2), some(2, 1, 2, 2)
ROWS = {"x": some(2, 6)}
PICTURE = {"x": some(1, 4, 3)}
QUERIES = {"q": some(2, 3), "k": some(3, 3), "v": some(3, 2)}
GRID = np.array([[[[-0.31, 0.42], [0.77, -0.83], [0.15, 1.26]]]])


def padded(x, widths, value=0.0):
    """The last axes with entries before and after them."""
    return np.pad(x, [(0, 0)] * (x.ndim - len(widths)) + list(widths), constant_values=value)


def windows(x, sizes, strides, gaps):
    """Every window over the last axes, in order, and how many there are along each axis."""
    n = len(sizes)
    counts = [
        (m - g * (k - 1) - 1) // s + 1
        for m, k, s, g in zip(x.shape[-n:], sizes, strides, gaps, strict=True)
    ]
    places = itertools.product(*(range(c) for c in counts))
    cuts = [
        tuple(
            slice(i * s, i * s + g * (k - 1) + 1, g)
            for i, k, s, g in zip(at, sizes, strides, gaps, strict=True)
        )
        for at in places
    ]
    return [x[(..., *cut)] for cut in cuts], counts


def conv(x, w, b=0.0, stride=1, padding=0, gap=1, groups=1):
    n, per = w.ndim - 2, len(w) // groups
    parts, counts = windows(
        padded(x, [(padding, padding)] * n), w.shape[2:], [stride] * n, [gap] * n
    )
    out = np.zeros((len(x), len(w), len(parts)), complex)
    for o, f in itertools.product(range(len(w)), range(len(parts))):
        group = slice(o // per * w.shape[1], (o // per + 1) * w.shape[1])
        out[:, o, f] = (parts[f][:, group] * w[o]).reshape(len(x), -1).sum(1) + (
            b[o] if np.ndim(b) else b
        )
    return out.reshape(len(x), len(w), *counts)


def conv_transposed(x, w, stride, padding=0, further=0, groups=1):
    """One dimension: every entry puts a multiple of a filter."""
    size, per = w.shape[2], w.shape[0] // groups
    length = (x.shape[2] - 1) * stride + size + further
    out = np.zeros((len(x), groups * w.shape[1], length), complex)
    for c, o, i in itertools.product(range(x.shape[1]), range(w.shape[1]), range(x.shape[2])):
        out[:, c // per * w.shape[1] + o, i * stride : i * stride + size] += (
            x[:, c, i, None] * w[c, o]
        )
    return out[..., padding : length - padding]


def pooled(x, reduce, sizes, strides, padding=0, value=0.0, gap=1):
    n = len(sizes)
    parts, counts = windows(padded(x, [(padding, padding)] * n, value), sizes, strides, [gap] * n)
    return np.stack([reduce(p.reshape(*x.shape[:-n], -1)) for p in parts], -1).reshape(
        *x.shape[:-n], *counts
    )


def mean(rows):
    return rows.mean(-1)


def biggest(rows):
    return largest(rows, rows.ndim - 1)


def covering(x, size, reduce):
    """Adaptive pooling of the last axis."""
    n = x.shape[-1]
    return np.stack(
        [reduce(x[..., i * n // size : -(-(i + 1) * n // size)]) for i in range(size)], -1
    )


def tent(length, size, corners=False):
    """The matrix of linear interpolation."""
    at = (
        np.arange(size) * (length - 1) / (size - 1)
        if corners
        else np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
    )
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(length)))


def keys(length, size):
    """The matrix of cubic convolution (Keys 1981, a = -3/4), the border repeated."""
    at = (np.arange(size) + 0.5) * length / size - 0.5
    out = np.zeros((size, length))
    for i, k in itertools.product(range(size), range(-1, 3)):
        t = abs(np.floor(at[i]) + k - at[i])
        weight = 1.25 * t**3 - 2.25 * t**2 + 1 if t < 1 else -0.75 * (t**3 - 5 * t**2 + 8 * t - 4)
        out[i, int(np.clip(np.floor(at[i]) + k, 0, length - 1))] += weight
    return out


def attention(q, k, v, add=0.0):
    raised = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + add)
    return raised @ v / raised.sum(-1, keepdims=True)


def sampled(x, grid):
    """Bilinear sampling of one image, 0 outside."""
    (height, width), out = x.shape[2:], np.zeros((1, x.shape[1], *grid.shape[1:3]), complex)
    for i, j in np.ndindex(grid.shape[1:3]):
        across, down = ((grid[0, i, j, a] + 1) * n / 2 - 0.5 for a, n in ((0, width), (1, height)))
        for r, c in itertools.product(range(height), range(width)):
            weights = [1 - d if d.real > 0 else 1 + d for d in (down - r, across - c)]
            if min(w.real for w in weights) > 0:
                out[0, :, i, j] += x[0, :, r, c] * weights[0] * weights[1]
    return out


CASES = [
    Case("F.conv1d(x, w, b, stride=2, padding=1, groups=2)", lambda x, w, b: conv(x, w, b, 2, 1, 1, 2),
         {"x": SIGNAL, "w": FILTERS, "b": BIAS}),
    Case("F.conv1d(x, w, dilation=2)", lambda x, w: conv(x, w, gap=2), {"x": some(1, 1, 4), "w": some(2, 1, 2)}),
    Case("F.conv1d(x, w, padding='same')", lambda x, w: conv(padded(x, [(0, 1)]), w), {"x": some(1, 1, 4), "w": some(1, 1, 2)}),
    Case("F.conv1d(x, w)", lambda x, w: conv(x[None], w)[0], {"x": some(2, 4), "w": some(2, 2, 2)}, "no batch"),
    Case("F.conv2d(x, w, padding=1)", lambda x, w: conv(x, w, padding=1), {"x": IMAGE, "w": KERNELS}),
    Case("F.conv3d(x, w)", conv, {"x": some(1, 1, 2, 2, 3), "w": some(1, 1, 2, 1, 2)}),
    Case("F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1, groups=2)",
         lambda x, w: conv_transposed(x, w, 2, 1, 1, 2), {"x": some(1, 2, 3), "w": some(2, 2, 3)}),
    Case("F.conv_transpose2d(x, w[:, :, None])", lambda x, w: conv_transposed(x[0].swapaxes(0, 1), w, 1).swapaxes(0, 1)[None],
         {"x": some(1, 2, 2, 3), "w": some(2, 1, 2)}),
    Case("F.avg_pool1d(x, 3, 2)", lambda x: pooled(x, mean, (3,), (2,)), ROWS),
    Case("F.avg_pool1d(x, 4, ceil_mode=True)", lambda x: np.stack([x[:, :4].mean(1), x[:, 4:].mean(1)], 1), ROWS, "a window cut off"),
    Case("F.avg_pool2d(x, 2, 2, 1)", lambda x: pooled(x, mean, (2, 2), (2, 2), 1), PICTURE, "padding counts"),
    Case("F.avg_pool2d(x, 2, 2, 1, False, False)", lambda x: pooled(x, mean, (2, 2), (2, 2), 1)
         / pooled(np.ones((1, 4, 3)), mean, (2, 2), (2, 2), 1), PICTURE, "padding does not count"),
    Case("F.avg_pool2d(x, (1, 2), divisor_override=5)", lambda x: pooled(x, mean, (1, 2), (1, 2)) * 2 / 5, PICTURE),
    Case("F.max_pool1d(x, 3, 2, 1)", lambda x: pooled(x, biggest, (3,), (2,), 1, -9.0), ROWS),
    Case("F.max_pool2d(x, 2, 1, dilation=2)", lambda x: pooled(x, biggest, (2, 2), (1, 1), gap=2), PICTURE),
    Case("F.max_pool2d(x, 2, return_indices=True)[0]", lambda x: pooled(x, biggest, (2, 2), (2, 2)), PICTURE),
    Case("F.adaptive_avg_pool1d(x, 4)", lambda x: covering(x, 4, mean), ROWS),
    Case("F.adaptive_avg_pool2d(x, (3, None))", lambda x: covering(x.swapaxes(1, 2), 3, mean).swapaxes(1, 2), PICTURE),
    Case("F.adaptive_max_pool1d(x, 4)", lambda x: covering(x, 4, biggest), ROWS),
    Case("F.unfold(x, (2, 1), stride=2)", lambda x: np.stack([p.ravel() for p in windows(x, (2, 1), (2, 2), (1, 1))[0]], 1), PICTURE),
    Case("F.fold(x, (2, 3), (1, 2))", lambda x: np.stack([x[0, 0::2], x[0, 1::2] + x[1, 0::2], x[1, 1::2]], 1)[None], {"x": some(2, 4)}),
    Case("F.interpolate(x, 4)", lambda x: x[..., [0, 0, 1, 2]], {"x": some(1, 1, 3)}, "nearest"),
    Case("F.interpolate(x, scale_factor=2, mode='linear')", lambda x: x @ tent(3, 6).T, {"x": some(1, 1, 3)}),
    Case("F.interpolate(x, (3, 4), mode='bilinear', align_corners=True)", lambda x: tent(2, 3, True) @ x @ tent(3, 4, True).T,
         {"x": some(1, 1, 2, 3)}),
    Case("F.interpolate(x, (3, 5), mode='bicubic')", lambda x: keys(2, 3) @ x @ keys(3, 5).T, {"x": some(1, 1, 2, 3)}),
    Case("F.interpolate(x, 2, mode='area')", lambda x: covering(x, 2, mean), {"x": some(1, 1, 3)}),
    Case("F.pixel_shuffle(x, 2)", lambda x: x.reshape(2, 2, 1, 2).transpose(2, 0, 3, 1).reshape(1, 2, 4), {"x": some(4, 1, 2)}),
    Case("F.pixel_unshuffle(x, 2)", lambda x: x.reshape(1, 2, 2, 2).transpose(1, 3, 0, 2).reshape(4, 1, 2), {"x": some(1, 2, 4)}),
    Case("F.scaled_dot_product_attention(q, k, v)", attention, QUERIES),
    Case("F.scaled_dot_product_attention(q, k, v, m)", attention, {**QUERIES, "m": some(2, 3)}, "numbers added"),
    Case("F.scaled_dot_product_attention(q, k, v, is_causal=True)",
         lambda q, k, v: attention(q, k, v, np.where(np.tri(2, 3), 0, -1e3)), QUERIES),
    Case("F.scaled_dot_product_attention(q, k, v, enable_gqa=True)", attention,
         {"q": some(2, 2, 2), "k": some(1, 2, 2), "v": some(1, 2, 1)}, "one head of keys for two"),
    Case("F.grid_sample(x, g)", sampled, {"x": some(1, 1, 3, 2), "g": GRID}),
    Case("F.affine_grid(t, (1, 1, 2, 2))", lambda t: np.stack([t[0] @ [a, b, 1] for b in (-0.5, 0.5) for a in (-0.5, 0.5)])
         .reshape(1, 2, 2, 2), {"t": some(1, 2, 3)}),
]  # fmt: skip
