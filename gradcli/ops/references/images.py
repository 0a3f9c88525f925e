"""References of images in other sizes and at the places of grids."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import nearest
from gradcli.ops.references.entries import Array, array, lined, total
from gradcli.ops.references.shapes import objects
from gradcli.ops.references.windows import covering, covering_means, per_axis

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
        return covering_means(m, x, [covering(*pair) for pair in zip(lengths, sizes, strict=True)])
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
