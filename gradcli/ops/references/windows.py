"""References of what looks at images through windows or at places: convolutions, pooling, images in other sizes, grids."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import nearest
from gradcli.ops.references.entries import Array, array, entries, lined, total, whole
from gradcli.ops.references.reducing import first_best
from gradcli.ops.references.shapes import objects

Places = list[int]  # which entries along one axis a window reads, in order; those outside are left out


def per_axis(value: Any, n: int) -> list[Any]:
    """A number for each axis, from one for all of them or one each."""
    listed = list(value) if isinstance(value, (tuple, list)) else [value]
    return listed * n if len(listed) == 1 else listed


def _channels_first(x: Any, n: int) -> tuple[Array, bool]:
    """Images with an axis of images and one of channels before their own n axes."""
    values = objects(x)
    return (values, True) if values.ndim == n + 2 else (values[None], False)


def _convolution(
    m: Any, x: Any, weight: Any, bias: Any, n: int, steps: Any, before: Sequence[int], lengths: Sequence[int], gaps: Any, groups: int
) -> Array:
    """sum over channels c and places k of weight[f, c, k] * x[c, o*step + k*gap - before], entries outside counting for nothing."""
    images, batched = _channels_first(x, n)
    filters = objects(weight)
    each_group, depth = filters.shape[0] // groups, filters.shape[1]
    kernel = list(np.ndindex(filters.shape[2:]))
    out = np.empty((images.shape[0], filters.shape[0], *lengths), dtype=object)
    for image, f, *place in np.ndindex(out.shape):
        terms = [] if bias is None else [entries(bias)[f]]
        for k in kernel:
            at = tuple(o * s + i * g - b for o, s, i, g, b in zip(place, steps, k, gaps, before, strict=True))
            if all(0 <= i < length for i, length in zip(at, images.shape[2:], strict=True)):
                first = f // each_group * depth
                terms += [filters[(f, c, *k)] * images[(image, first + c, *at)] for c in range(depth)]
        out[(image, f, *place)] = total(m, terms)
    return out if batched else out[0]


def _transposed(
    m: Any, x: Any, weight: Any, bias: Any, n: int, steps: Any, before: Sequence[int], lengths: Sequence[int], gaps: Any, groups: int
) -> Array:
    """Each entry adds its multiple of the filters to where a convolution would have read it for them."""
    images, batched = _channels_first(x, n)
    filters = objects(weight)
    each_group, per_group = filters.shape[0] // groups, filters.shape[1]
    terms: dict[tuple[int, ...], list[Any]] = {}
    for image, c, *place in np.ndindex(images.shape):
        for f, *k in np.ndindex(filters.shape[1:]):
            at = tuple(i * s + j * g - b for i, s, j, g, b in zip(place, steps, k, gaps, before, strict=True))
            if all(0 <= i < length for i, length in zip(at, lengths, strict=True)):
                target = (image, c // each_group * per_group + f, *at)
                terms.setdefault(target, []).append(filters[(c, f, *k)] * images[(image, c, *place)])
    out = np.empty((images.shape[0], groups * per_group, *lengths), dtype=object)
    for target in np.ndindex(out.shape):
        out[target] = total(m, terms.get(target, []) + ([] if bias is None else [entries(bias)[target[1]]]))
    return out if batched else out[0]


for _n in (1, 2, 3):

    @of(f"conv{_n}d")
    def conv(m: Any, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int = _n) -> Array:
        steps, gaps, sizes = per_axis(stride, n), per_axis(dilation, n), np.shape(weight)[2:]
        reach = [g * (k - 1) for g, k in zip(gaps, sizes, strict=True)]
        if isinstance(padding, str):
            before = [r // 2 if padding == "same" else 0 for r in reach]
            around = [r if padding == "same" else 0 for r in reach]
        else:
            before = per_axis(padding or 0, n)
            around = [2 * p for p in before]
        lengths = [(k + a - r - 1) // s + 1 for k, a, r, s in zip(np.shape(x)[-n:], around, reach, steps, strict=True)]
        return _convolution(m, x, weight, bias, n, steps, before, lengths, gaps, groups)

    @of(f"conv_transpose{_n}d")
    def conv_transpose(
        m: Any, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any, n: int = _n
    ) -> Array:
        steps, gaps, before, more = (per_axis(v, n) for v in (stride, dilation, padding, output_padding))
        lengths = [
            (k - 1) * s - 2 * p + g * (size - 1) + 1 + f
            for k, s, p, g, size, f in zip(np.shape(x)[-n:], steps, before, gaps, np.shape(weight)[2:], more, strict=True)
        ]
        return _transposed(m, x, weight, bias, n, steps, before, lengths, gaps, groups)


# Windows.


def _sliding(length: int, size: int, step: int, pad: int, gap: int, ceil_mode: bool) -> tuple[list[Places], list[int]]:
    """What each window along an axis reads, and how many of its places lie in the padded axis."""
    found, counts, start = [], [], -pad
    reach = gap * (size - 1) + 1
    while start + reach <= length + pad or (ceil_mode and start < length and start + reach < length + pad + step):
        found.append([i for i in range(start, start + reach, gap) if 0 <= i < length])
        counts.append(min(start + size, length + pad) - start)
        start += step
    return found, counts


def _covering(length: int, windows: int) -> list[Places]:
    """Windows that cover an axis as evenly as whole numbers allow."""
    return [list(range(i * length // windows, math.ceil(Fraction((i + 1) * length, windows)))) for i in range(windows)]


def _pooled(x: Any, windows: Sequence[list[Places]], pool: Callable[[list[Any], list[int], tuple[int, ...]], Any]) -> Array:
    """One result for each window over the last axes, of the entries there and of their numbers among all entries of these axes."""
    values, n = objects(x), len(windows)
    lengths = values.shape[values.ndim - n :]
    out = np.empty((*values.shape[: values.ndim - n], *map(len, windows)), dtype=object)
    for place in np.ndindex(out.shape):
        lead, window = place[: len(place) - n], place[len(place) - n :]
        inside = list(itertools.product(*(axis[i] for axis, i in zip(windows, window, strict=True))))
        numbers = []
        for at in inside:
            number = 0
            for i, length in zip(at, lengths, strict=True):
                number = number * length + i
            numbers.append(number)
        out[place] = pool([values[(*lead, *at)] for at in inside], numbers, window)
    return out


def _pooling(x: Any, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Any, Any]:
    sizes = per_axis(kernel_size, n)
    steps = sizes if stride in (None, ()) else per_axis(stride, n)
    settings = zip(np.shape(x)[-n:], sizes, steps, per_axis(padding, n), per_axis(dilation, n), strict=True)
    found = [_sliding(*setting, ceil_mode) for setting in settings]
    return [windows for windows, _ in found], [counts for _, counts in found]


def _product(numbers: Any) -> int:
    result = 1
    for k in numbers:
        result = result * k
    return result


def _largest(m: Any, x: Any, windows: Any, return_indices: bool) -> Any:
    values = _pooled(x, windows, lambda row, _, __: row[first_best(m, row, True)])
    return (values, _pooled(x, windows, lambda row, numbers, _: numbers[first_best(m, row, True)])) if return_indices else values


def _adaptive(x: Any, n: int, output_size: Any) -> list[list[Places]]:
    lengths = np.shape(x)[-n:]
    return [_covering(k, k if w is None else w) for k, w in zip(lengths, per_axis(output_size, n), strict=True)]


def covering_means(m: Any, x: Any, windows: Any) -> Array:
    return _pooled(x, windows, lambda row, _, __: total(m, row) / len(row))


for _n in (1, 2, 3):

    @of(f"avg_pool{_n}d")
    def avg_pool(
        m: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
        divisor_override: Any = None, n: int = _n,
    ) -> Array:  # fmt: skip
        windows, counts = _pooling(x, n, kernel_size, stride, padding, 1, ceil_mode)

        def mean(row: list[Any], _: Any, place: tuple[int, ...]) -> Any:
            padded = _product(count[i] for count, i in zip(counts, place, strict=True))
            return total(m, row) / (divisor_override or (padded if count_include_pad else len(row)))

        return _pooled(x, windows, mean)

    @of(f"max_pool{_n}d")
    def max_pool(
        m: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool, n: int = _n
    ) -> Any:
        windows, _ = _pooling(x, n, kernel_size, stride, padding, dilation, ceil_mode)
        return _largest(m, x, windows, return_indices)

    @of(f"adaptive_avg_pool{_n}d")
    def adaptive_avg_pool(m: Any, x: Any, output_size: Any, n: int = _n) -> Array:
        return covering_means(m, x, _adaptive(x, n, output_size))

    @of(f"adaptive_max_pool{_n}d")
    def adaptive_max_pool(m: Any, x: Any, output_size: Any, return_indices: bool, n: int = _n) -> Any:
        return _largest(m, x, _adaptive(x, n, output_size), return_indices)

    @of(f"lp_pool{_n}d")
    def lp_pool(m: Any, x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool, n: int = _n) -> Array:
        """The norms of windows, those beyond the end scaled up to the whole kernel's size."""
        windows, counts = _pooling(x, n, kernel_size, stride, 0, 1, ceil_mode)
        size = _product(per_axis(kernel_size, n))

        def norm(row: list[Any], _: Any, place: tuple[int, ...]) -> Any:
            powers = total(m, [m.power(v, m.one * norm_type) for v in row])
            powers = powers * size / _product(count[i] for count, i in zip(counts, place, strict=True))
            return m.zero if m.plain(powers) == 0 else m.power(powers, m.one / norm_type)

        return _pooled(x, windows, norm)

    @of(f"max_unpool{_n}d")
    def max_unpool(m: Any, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any, n: int = _n) -> Array:
        sizes, around = per_axis(kernel_size, n), per_axis(padding, n)
        steps = sizes if stride in (None, ()) else per_axis(stride, n)
        lengths = [(k - 1) * s + size - 2 * p for k, s, size, p in zip(np.shape(x)[-n:], steps, sizes, around, strict=True)]
        if output_size is not None:
            lengths = per_axis(output_size[-n:] if isinstance(output_size, tuple) else output_size, n)
        lead, count, room = np.shape(x)[:-n], _product(np.shape(x)[-n:]), _product(lengths)
        out = [m.zero] * (_product(lead) * room)
        for i, (v, place) in enumerate(zip(entries(x), whole(indices), strict=True)):
            out[i // count * room + place] = out[i // count * room + place] + v
        return array(out, (*lead, *lengths))


def _reads(lengths: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> list[list[list[int]]]:
    """By axes and windows, where each place of the kernel reads; also outside."""
    settings = zip(lengths, *(per_axis(v, 2) for v in (kernel_size, dilation, padding, stride)), strict=True)
    found = []
    for length, size, gap, pad, step in settings:
        starts = range(-pad, length + pad - gap * (size - 1), step)
        found.append([[start + gap * k for k in range(size)] for start in starts])
    return found


def _spots(reads: list[list[list[int]]]) -> list[list[tuple[int, int]]]:
    """The rows of a table of columns: for each place of the kernel, what each window reads there."""
    down, right = reads
    kernel = itertools.product(range(len(down[0])), range(len(right[0])))
    return [[(a[i], b[j]) for a in down for b in right] for i, j in kernel]


@of("unfold")
def unfold(m: Any, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    images, batched = _channels_first(x, 2)
    height, width = images.shape[2:]
    table = _spots(_reads((height, width), kernel_size, dilation, padding, stride))
    found = [
        channel[i, j] if 0 <= i < height and 0 <= j < width else m.zero
        for image in images for channel in image for row in table for i, j in row
    ]  # fmt: skip
    out = array(found, (images.shape[0], images.shape[1] * len(table), len(table[0])))
    return out if batched else out[0]


@of("fold")
def fold(m: Any, x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    columns = objects(x) if np.ndim(x) == 3 else objects(x)[None]
    height, width = per_axis(output_size, 2)
    table = _spots(_reads((height, width), kernel_size, dilation, padding, stride))
    out = np.full((columns.shape[0], columns.shape[1] // len(table), height, width), m.zero, dtype=object)
    for image, channel in np.ndindex(out.shape[:2]):
        for k, row in enumerate(table):
            for window, (i, j) in enumerate(row):
                if 0 <= i < height and 0 <= j < width:
                    value = columns[image, channel * len(table) + k, window]
                    out[image, channel, i, j] = out[image, channel, i, j] + value
    return out if np.ndim(x) == 3 else out[0]


# Images in other sizes.

Taps = list[tuple[int, Any]]  # entries and their weights


def _triangle(t: Any) -> Any:
    return max(1 - abs(t), Fraction(0))


def _cubic(t: Any, a: Any) -> Any:
    """Keys' kernel of cubic convolution (R. Keys, 1981)."""
    t = abs(t)
    if t < 1:
        return (a + 2) * t * t * t - (a + 3) * t * t + 1
    return a * (t * t * t - 5 * t * t + 8 * t - 4) if t < 2 else 0 * t


def _clamped(i: int, length: int) -> int:
    return min(max(i, 0), length - 1)


def _taps(length: int, size: int, scale: Any, mode: str, corners: bool, antialias: bool) -> list[Taps]:
    """What each result reads along one axis, in exact fractions."""
    step = Fraction(length, size) if scale is None else 1 / Fraction(scale)
    if corners:
        step = Fraction(length - 1, size - 1) if size > 1 else Fraction(0)
    found: list[Taps] = []
    for i in range(size):
        if mode.startswith("nearest"):
            centred = Fraction(1, 2) if mode == "nearest-exact" else 0
            found.append([(_clamped(math.floor(np.float32(float((i + centred) * step))), length), Fraction(1))])
            continue
        centre = i * step if corners else (i + Fraction(1, 2)) * step - Fraction(1, 2)
        cubic = mode == "bicubic"
        if antialias:
            width = max(step, Fraction(1))
            middle, reach = (i + Fraction(1, 2)) * step, (2 if cubic else 1) * width
            places = range(max(math.floor(middle - reach + Fraction(1, 2)), 0), min(math.floor(middle + reach + Fraction(1, 2)), length))
            kernel = [(j - middle + Fraction(1, 2)) / width for j in places]
            weights = [_cubic(t, Fraction(-1, 2)) if cubic else _triangle(t) for t in kernel]
            found.append([(j, w / sum(weights)) for j, w in zip(places, weights, strict=True)])
        elif cubic:
            first = math.floor(centre)
            found.append([(_clamped(j, length), _cubic(centre - j, Fraction(-3, 4))) for j in range(first - 1, first + 3)])
        else:
            at = min(max(centre, Fraction(0)), Fraction(length - 1))
            first = math.floor(at)
            found.append([(_clamped(j, length), _triangle(at - j)) for j in (first, first + 1)])
    return found


@of("interpolate")
def interpolate(
    m: Any, x: Any, size: Any, scale_factor: Any, mode: str, align_corners: Any, recompute_scale_factor: Any, antialias: bool
) -> Any:
    n = np.ndim(x) - 2
    lengths, scales = np.shape(x)[2:], [None] * n
    if size is None:
        factors = per_axis(scale_factor, n)
        sizes = [math.floor(k * f) for k, f in zip(lengths, factors, strict=True)]
        scales = [None] * n if recompute_scale_factor else factors
    else:
        sizes = per_axis(size, n)
    if mode == "area":
        return covering_means(m, x, [_covering(*pair) for pair in zip(lengths, sizes, strict=True)])
    found = x
    for a, (length, wanted, scale) in enumerate(zip(lengths, sizes, scales, strict=True)):
        taps = _taps(length, wanted, scale, mode, bool(align_corners), antialias)

        def change(row: list[Any], taps: list[Taps] = taps) -> list[Any]:
            return [total(m, [row[j] * (m.one * w.numerator / w.denominator) for j, w in tap]) for tap in taps]

        found = lined(found, a + 2, change)
    return found


@of("pixel_shuffle")
def pixel_shuffle(m: Any, x: Any, upscale_factor: int) -> Any:
    """out[c, h, w] = x[c*r*r + h%r*r + w%r, h//r, w//r]"""
    r, values = upscale_factor, objects(x)
    *lead, channels, height, width = values.shape
    out = np.empty((*lead, channels // (r * r), height * r, width * r), dtype=object)
    for c, h, w in np.ndindex(out.shape[-3:]):
        out[..., c, h, w] = values[..., c * r * r + h % r * r + w % r, h // r, w // r]
    return out


@of("pixel_unshuffle")
def pixel_unshuffle(m: Any, x: Any, downscale_factor: int) -> Any:
    r, values = downscale_factor, objects(x)
    *lead, channels, height, width = values.shape
    out = np.empty((*lead, channels * r * r, height // r, width // r), dtype=object)
    for c, h, w in np.ndindex((channels, height, width)):
        out[..., c * r * r + h % r * r + w % r, h // r, w // r] = values[..., c, h, w]
    return out


@of("channel_shuffle")
def channel_shuffle(m: Any, x: Any, groups: int) -> Any:
    values, each_group = objects(x), np.shape(x)[1] // groups
    return np.stack([values[:, i % groups * each_group + i // groups] for i in range(values.shape[1])], axis=1)


# Grids.


def _folded(at: Any, length: int, padding: str, corners: bool, m: Any) -> Any:
    """A coordinate brought back to the image: mirrored at its edges, then held at them."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, span = (0, m.one * (length - 1)) if corners else (-m.one / 2, m.one * length)
        if span == 0:
            return at * 0
        far = at - low
        far = -far if far < 0 else far
        rest = far - 2 * span * m.floor(far / (2 * span))
        at = low + (2 * span - rest if rest > span else rest)
    return m.zero if at < 0 else m.one * (length - 1) if at > length - 1 else at


def _grid_taps(m: Any, at: Any, length: int, mode: str, padding: str, corners: bool) -> list[tuple[Any, Any]]:
    if mode == "bicubic":
        first = m.floor(at)
        places = [first + k for k in (-1, 0, 1, 2)]
        a = -m.one * 3 / 4
        return [(_folded(place, length, padding, corners, m), _cubic(at - place, a)) for place in places]
    at = _folded(at, length, padding, corners, m)
    if mode == "nearest":
        return [(nearest(m, at), m.one)]
    first = m.floor(at)
    return [(first, 1 - (at - first)), (first + 1, at - first)]


def _sampled(m: Any, x: Any, grid: Any, mode: str, padding: str, corners: bool) -> Array:
    images, points = objects(x), objects(grid)
    n, lengths = images.ndim - 2, images.shape[2:]
    out = np.empty((*images.shape[:2], *points.shape[1:-1]), dtype=object)
    for image, *place in np.ndindex(points.shape[:-1]):
        unit = points[(image, *place)]
        taps = []
        for a, length in enumerate(lengths):
            u = unit[n - 1 - a]
            at = (u + 1) / 2 * (length - 1) if corners else ((u + 1) * length - 1) / 2
            taps.append(_grid_taps(m, at, length, mode, padding, corners))
        for channel in range(images.shape[1]):
            terms = []
            for corner in itertools.product(*taps):
                spot = [int(nearest(m, where)) for where, _ in corner]
                if all(0 <= i < length for i, length in zip(spot, lengths, strict=True)):
                    term = images[(image, channel, *spot)]
                    for _, weight in corner:
                        term = term * weight
                    terms.append(term)
            out[(image, channel, *place)] = total(m, terms)
    return out


@of("grid_sample")
def grid_sample(m: Any, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: Any) -> Any:
    return _sampled(m, x, grid, mode, padding_mode, bool(align_corners))


@of("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(m: Any, x: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    modes, paddings = {0: "bilinear", 1: "nearest", 2: "bicubic"}, {0: "zeros", 1: "border", 2: "reflection"}
    return _sampled(m, x, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


@of("affine_grid")
def affine_grid(m: Any, theta: Any, size: Any, align_corners: Any) -> Any:
    """Affine maps of the centres (or corners) of entries, from -1 to 1 along every axis, the last axis first."""

    def unit(i: int, length: int) -> Any:
        if length == 1:
            return m.zero
        return 2 * i * m.one / (length - 1) - 1 if align_corners else (2 * i + 1) * m.one / length - 1

    maps, found = objects(theta), []
    for image in range(size[0]):
        for place in np.ndindex(*size[2:]):
            ends = [unit(i, length) for i, length in zip(place, size[2:], strict=True)]
            point = [*ends[::-1], m.one]
            found += [total(m, [a * p for a, p in zip(row, point, strict=True)]) for row in maps[image]]
    return array(found, (size[0], *size[2:], len(size) - 2))
