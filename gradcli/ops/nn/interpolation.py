"""Images in other sizes: each entry of the result is a weighted sum of a few neighbours along every axis."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.addressing import add_along, take_along
from gradcli.ops.arrays.shapes import StaticArray, broadcast_to, getitem, reshape, swapaxes, transpose
from gradcli.ops.arrays.windows import adaptive, each, nested
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import abs_, floor, rint
from gradcli.ops.elementwise.logic import equal, greater_equal, less_equal, logical_and, where
from gradcli.ops.linalg.products import matmul
from gradcli.ops.nn.pooling import covering_means
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import function
from gradcli.ops.room import room_for
from gradcli.ops.structure import to_int

_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_MODES = ("nearest", "nearest-exact", "area", *_AXES)
_EVERY = (None, None, None)
Taps = tuple[np.ndarray, np.ndarray]  # which entries a result reads along an axis and their weights, both (results, taps)


def _step(length: int, size: int, scale: float | None, corners: bool) -> float:
    """How far the centres of two results lie apart, in entries."""
    if corners:
        return (length - 1) / (size - 1) if size > 1 else 0.0
    return 1 / scale if scale else length / size


def _sources(length: int, size: int, scale: float | None, corners: bool) -> np.ndarray:
    """Return where the centres of the results lie among those of the entries."""
    at, step = np.arange(size, dtype=float), _step(length, size, scale, corners)
    return at * step if corners else (at + 0.5) * step - 0.5


def _nearest(length: int, size: int, scale: float | None, centred: float) -> Taps:
    at = (np.arange(size) + centred) * _step(length, size, scale, False)
    # rounded to single precision, as in PyTorch, so that 2.9999999 is 3
    return np.minimum(np.floor(at.astype(np.float32)).astype(np.int64), length - 1)[:, None], np.ones((size, 1))


def _linear(length: int, size: int, scale: float | None, corners: bool) -> Taps:
    at = np.maximum(_sources(length, size, scale, corners), 0)
    below = np.minimum(np.floor(at).astype(np.int64), length - 1)
    weight = np.minimum(at - below, 1)
    return np.stack([below, np.minimum(below + 1, length - 1)], axis=1), np.stack([1 - weight, weight], axis=1)


def _cubic_weights(t: Any) -> list[Any]:
    """Keys' weights with a = -3/4 of the four neighbours, at t of the way between the inner two."""
    a, u = -0.75, 1 - t
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, u + 1)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, u)]
    return [far[0], near[0], near[1], far[1]]


def _cubic(length: int, size: int, scale: float | None, corners: bool) -> Taps:
    at = _sources(length, size, scale, corners)
    below = np.floor(at)
    places = below.astype(np.int64)[:, None] + np.arange(-1, 3)
    return np.clip(places, 0, length - 1), np.stack(_cubic_weights(at - below), axis=1)


def _resampled(x: Any, axis: int, taps: Taps) -> Any:
    places, weights = taps
    lead = (_EVERY,) * axis
    if places.shape[1] == 1:
        return getitem(x, index=(*lead, StaticArray(places[:, 0])))
    entries = getitem(x, index=(*lead, StaticArray(places)))
    return sum_(entries * weights.reshape(*weights.shape, *(1,) * (len(x.shape) - axis - 1)), axis=axis + 1)


def _sizes(x: Any, size: Any, scale_factor: Any, recompute: bool) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The lengths of the result's axes, and the factors by which places are computed (None: from the lengths)."""
    n = len(x.shape) - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: give either size or scale_factor")
    if scale_factor is None:
        if recompute:
            raise ArgumentError("interpolate: recompute_scale_factor goes with scale_factor only")
        return each("interpolate", "size", size, n, 1), (None,) * n
    factors = tuple(scale_factor) if isinstance(scale_factor, tuple) else (scale_factor,) * n
    if len(factors) != n or not all(isinstance(f, (int, float)) and f > 0 for f in factors):
        raise ArgumentError(f"interpolate: scale_factor must be a positive number or {n} of them, not {scale_factor!r}")
    lengths = tuple(math.floor(m * f) for m, f in zip(x.shape[2:], factors, strict=True))
    if not all(lengths):
        raise ShapeError(f"interpolate: the scale_factor {scale_factor!r} leaves nothing of an array of shape {tuple(x.shape)}")
    return lengths, (None,) * n if recompute else factors



@function(examples=("F.interpolate([[x]], 5, mode='linear')",))
def interpolate(
    input: Any,
    *,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Images in another size: by the nearest entries, linear or cubic interpolation, or means of areas."""
    if mode not in _MODES:
        raise ArgumentError(f"interpolate: mode must be one of {', '.join(_MODES)}, not {mode!r}")
    n = len(input.shape) - 2
    if n not in ((_AXES[mode],) if mode in _AXES else (1, 2, 3)) or not all(input.shape[1:]):
        raise ShapeError(f"interpolate: mode {mode!r} does not take an array of shape {tuple(input.shape)}")
    if mode not in _AXES and align_corners is not None:
        raise ArgumentError("interpolate: align_corners goes with the modes linear, bilinear, bicubic and trilinear only")
    lengths, scales = _sizes(input, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return covering_means(input, [adaptive(*pair) for pair in zip(input.shape[2:], lengths, strict=True)])
    for i, (length, wanted, scale) in enumerate(zip(input.shape[2:], lengths, scales, strict=True)):
        room_for(4, wanted)
        if mode in ("nearest", "nearest-exact"):
            taps = _nearest(length, wanted, scale, 0.5 if mode == "nearest-exact" else 0.0)
        else:
            taps = (_cubic if mode == "bicubic" else _linear)(length, wanted, scale, bool(align_corners))
        input = _resampled(input, i + 2, taps)
    return input


@function(copied=True, examples=("F.pixel_shuffle([[x], [y], [x], [y]], 2)",))
def pixel_shuffle(input: Any, *, upscale_factor: int) -> Any:
    """Channels rearranged into images that are larger by a factor."""
    r = upscale_factor
    if len(input.shape) < 3 or r < 1 or input.shape[-3] % (r * r):
        raise ShapeError(f"pixel_shuffle: an array of shape {tuple(input.shape)} does not hold images for the factor {r}")
    *lead, channels, height, width = input.shape
    split = reshape(input, shape=(*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    spread = transpose(split, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return reshape(spread, shape=(*lead, channels // (r * r), height * r, width * r))


@function(copied=True, examples=("F.pixel_unshuffle([[x, y, x]], 3)",))
def pixel_unshuffle(input: Any, *, downscale_factor: int) -> Any:
    """Images rearranged into channels of images that are smaller by a factor."""
    r = downscale_factor
    if len(input.shape) < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise ShapeError(f"pixel_unshuffle: an array of shape {tuple(input.shape)} does not divide by the factor {r}")
    *lead, channels, height, width = input.shape
    split = reshape(input, shape=(*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    gathered = transpose(split, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(gathered, shape=(*lead, channels * r * r, height // r, width // r))


@function(copied=True, examples=("F.channel_shuffle([[x, y]], 2)",))
def channel_shuffle(input: Any, *, groups: int) -> Any:
    """Channels of several groups rearranged so that neighbours come from different ones."""
    if len(input.shape) < 3 or groups < 1 or input.shape[1] % groups:
        raise ShapeError(f"channel_shuffle: the channels of an array of shape {tuple(input.shape)} do not fall into {groups} groups")
    split = reshape(input, shape=(input.shape[0], groups, input.shape[1] // groups, *input.shape[2:]))
    return reshape(transpose(split, axes=(0, 2, 1, *range(3, len(split.shape)))), shape=input.shape)


declare(
    TORCH,
    upsample=signature("interpolate", "input, size, scale_factor, mode, align_corners"),
    upsample_nearest=signature("interpolate", "input, size, scale_factor"),
    upsample_bilinear=signature("interpolate", "input, size, scale_factor", mode="bilinear", align_corners=True),
)


# -- Images read at places that are themselves results: grid_sample, its grids, and entries put
# back where they were found.


_PADDINGS = ("zeros", "border", "reflection")
_SAMPLING_MODES = ("bilinear", "nearest", "bicubic")


def _reflected(at: Any, length: int, corners: bool) -> Any:
    """Coordinates mirrored at the first and last entries (corners), or at the outer edges of these."""
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    if low == high:
        return at * 0
    far = abs_(at - low)
    turns = floor(far / (high - low))
    rest = far - turns * (high - low)
    return where(equal(turns, 2 * floor(turns / 2)), rest + low, (high - low) - rest + low)


def _within(at: Any, length: int, padding: str, corners: bool) -> Any:
    """Coordinates brought back to the image, as the padding says; constant on its border and beyond."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        at = _reflected(at, length, corners)
    return where(less_equal(at, 0), 0.0, where(greater_equal(at, length - 1), length - 1.0, at))


def _entries(x: Any, places: list[Any]) -> Any:
    """The entries of images at whole coordinates, 0 outside; places of shape (images, points)."""
    lengths = tuple(x.shape[2:])
    inside: Any = True
    flat: Any = 0.0
    for place, length in zip(places, lengths, strict=True):
        within = logical_and(greater_equal(place, 0), less_equal(place, length - 1))
        inside = within if inside is True else logical_and(inside, within)
        flat = flat * length + place
    index = to_int(rint(where(inside, flat, 0.0)))
    images, channels, points = x.shape[0], x.shape[1], index.shape[1]
    spread = broadcast_to(reshape(index, shape=(images, 1, points)), shape=(images, channels, points))
    found = take_along(reshape(x, shape=(images, channels, math.prod(lengths))), spread, axis=2)
    return where(reshape(inside, shape=(images, 1, points)), found, 0.0)


@function(examples=("F.grid_sample([[[x, y]]], [[[[0.2, 0.1]]]])",))
def grid_sample(
    input: Any, grid: Any, *, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Images read at the places that a grid gives, from -1 to 1 along every axis, the last one first."""
    x = input
    n = len(x.shape) - 2
    if n not in (2, 3) or len(grid.shape) != n + 2 or grid.shape[-1] != n or grid.shape[0] != x.shape[0] or not all(x.shape[1:]):
        raise ShapeError(f"grid_sample: an array of shape {tuple(x.shape)} and a grid of shape {tuple(grid.shape)} do not fit")
    if mode not in _SAMPLING_MODES or padding_mode not in _PADDINGS or (mode == "bicubic" and n == 3):
        raise ArgumentError(f"grid_sample: mode {mode!r} with padding_mode {padding_mode!r} does not exist for {n} dimensions")
    corners, lengths = bool(align_corners), tuple(x.shape[2:])
    points = reshape(grid, shape=(grid.shape[0], math.prod(grid.shape[1:-1]), n))
    taps = []  # along each axis, the places to read and their weights
    for i, length in enumerate(lengths):
        unit = getitem(points, index=(..., n - 1 - i)) + 1
        at = unit * ((length - 1) / 2) if corners else (unit * length - 1) / 2
        if mode == "bicubic":
            below = floor(at)
            places = [_within(below + k, length, padding_mode, corners) for k in range(-1, 3)]
            taps.append(list(zip([rint(p) for p in places], _cubic_weights(at - below), strict=True)))
            continue
        at = _within(at, length, padding_mode, corners)
        if mode == "nearest":
            taps.append([(rint(at), None)])
        else:
            below = floor(at)
            taps.append([(below, 1 - (at - below)), (below + 1, at - below)])
    total: Any = None
    for corner in itertools.product(*taps):
        term = _entries(x, [place for place, _ in corner])
        for _, weight in corner:
            if weight is not None:
                term = term * reshape(weight, shape=(weight.shape[0], 1, weight.shape[1]))
        total = term if total is None else total + term
    return reshape(total, shape=(*x.shape[:2], *grid.shape[1:-1]))


@function(backward="AffineGridGenerator", examples=("F.affine_grid([[x, y]], (1, 1, 2, 2))",))
def affine_grid(theta: Any, *, size: Any, align_corners: bool | None = None) -> Any:
    """The grid for grid_sample that an affine map gives."""
    n = len(size) - 2 if isinstance(size, tuple) else 0
    if n not in (2, 3) or tuple(theta.shape) != (size[0], n, n + 1):
        raise ShapeError(f"affine_grid: matrices of shape {tuple(theta.shape)} do not fit the size {size}")
    room_for(2, n + 1, *size[2:])
    lines = [np.linspace(-1, 1, m) * (1 if align_corners else (m - 1) / m) if m > 1 else np.zeros(1) for m in size[2:]]
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], axis=-1).reshape(-1, n + 1)
    return reshape(matmul(base, swapaxes(theta, axis1=1, axis2=2)), shape=(size[0], *size[2:], n))


def _unpooling(n: int) -> None:
    """Register the function for n dimensions."""
    name = f"max_unpool{n}d"

    @function(
        name, indices=frozenset({"indices"}),
        examples=(f"F.{name}({nested('x', n)}, {nested('[0, 2, 4]', n)}, {(1, 1, 2)[-n:] if n > 1 else 2})",),
    )  # fmt: skip
    def max_unpool(
        input: Any, indices: Any, *, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        """Zeros with entries at the places where max pooling found them."""
        shape = tuple(input.shape)
        if len(shape) not in (n + 1, n + 2) or tuple(indices.shape) != shape:
            raise ShapeError(f"{name}: an array of shape {shape} and indices of shape {tuple(indices.shape)} do not fit")
        sizes, around = each(name, "kernel_size", kernel_size, n, 1), each(name, "padding", padding, n)
        steps = sizes if stride in (None, ()) else each(name, "stride", stride, n, 1)
        lead, windows = shape[:-n], shape[-n:]
        lengths = tuple((w - 1) * s + k - 2 * p for w, s, k, p in zip(windows, steps, sizes, around, strict=True))
        if output_size is not None:
            lengths = each(name, "output_size", output_size[-n:] if isinstance(output_size, tuple) else output_size, n, 1)
        flat = (*lead, math.prod(windows))
        put = add_along(reshape(input, shape=flat), reshape(indices, shape=flat), axis=-1, shape=(*lead, math.prod(lengths)))
        return reshape(put, shape=(*lead, *lengths))


for _n in (1, 2, 3):
    _unpooling(_n)
