"""Images in other sizes: each entry of the result is a weighted sum of a few neighbours along every axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, ShapeError
from gradcli.ops.arrays.shapes import StaticArray, getitem, reshape, transpose
from gradcli.ops.arrays.windows import adaptive, each
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.nn.pooling import covering_means
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.registry import composite
from gradcli.ops.room import room_for
from gradcli.ops.spec import REQUIRED

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
    """Where the centres of the results lie among those of the entries."""
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


def _keys(t: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel of cubic convolution, at distances t."""
    far = np.where(t < 2, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a, 0)
    return np.where(t < 1, ((a + 2) * t - (a + 3)) * t * t + 1, far)


def _cubic(length: int, size: int, scale: float | None, corners: bool) -> Taps:
    at = _sources(length, size, scale, corners)
    places = np.floor(at).astype(np.int64)[:, None] + np.arange(-1, 3)
    return np.clip(places, 0, length - 1), _keys(np.abs(places - at[:, None]), -0.75)


def _smooth(length: int, size: int, scale: float | None, corners: bool, cubic: bool) -> Taps:
    """Weights of a triangle or of Keys' kernel with a = -1/2, as wide as the result is coarse (antialias)."""
    step = _step(length, size, scale, corners)
    width = max(step, 1.0)
    centres, support = (np.arange(size) + 0.5) * step, (2 if cubic else 1) * width
    first = np.maximum((centres - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centres + support + 0.5).astype(np.int64), length)
    room_for(6, size, int((last - first).max()))
    places = first[:, None] + np.arange((last - first).max())
    t = np.abs((places - centres[:, None] + 0.5) / width)
    weights = np.where(places < last[:, None], _keys(t, -0.5) if cubic else np.maximum(1 - t, 0), 0)
    return np.minimum(places, last[:, None] - 1), weights / weights.sum(axis=1, keepdims=True)


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


def _interpolate(
    x: Any, size: Any, scale_factor: Any, mode: str, align_corners: bool | None, recompute_scale_factor: bool | None, antialias: bool
) -> Any:
    if mode not in _MODES:
        raise ArgumentError(f"interpolate: mode must be one of {', '.join(_MODES)}, not {mode!r}")
    n = len(x.shape) - 2
    if n not in ((_AXES[mode],) if mode in _AXES else (1, 2, 3)) or not all(x.shape[1:]):
        raise ShapeError(f"interpolate: mode {mode!r} does not take an array of shape {tuple(x.shape)}")
    if mode not in _AXES and align_corners is not None:
        raise ArgumentError("interpolate: align_corners goes with the modes linear, bilinear, bicubic and trilinear only")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError("interpolate: antialias goes with the modes bilinear and bicubic only")
    lengths, scales = _sizes(x, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return covering_means(x, [adaptive(*pair) for pair in zip(x.shape[2:], lengths, strict=True)])
    for i, (length, wanted, scale) in enumerate(zip(x.shape[2:], lengths, scales, strict=True)):
        room_for(4, wanted)
        if mode in ("nearest", "nearest-exact"):
            taps = _nearest(length, wanted, scale, 0.5 if mode == "nearest-exact" else 0.0)
        elif antialias:
            taps = _smooth(length, wanted, scale, bool(align_corners), mode == "bicubic")
        else:
            taps = (_cubic if mode == "bicubic" else _linear)(length, wanted, scale, bool(align_corners))
        x = _resampled(x, i + 2, taps)
    return x


def _shuffled(x: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    if len(x.shape) < 3 or r < 1 or x.shape[-3] % (r * r):
        raise ShapeError(f"pixel_shuffle: an array of shape {tuple(x.shape)} does not hold images for the factor {r}")
    *lead, channels, height, width = x.shape
    split = reshape(x, shape=(*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    spread = transpose(split, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return reshape(spread, shape=(*lead, channels // (r * r), height * r, width * r))


def _unshuffled(x: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    if len(x.shape) < 3 or r < 1 or x.shape[-1] % r or x.shape[-2] % r:
        raise ShapeError(f"pixel_unshuffle: an array of shape {tuple(x.shape)} does not divide by the factor {r}")
    *lead, channels, height, width = x.shape
    split = reshape(x, shape=(*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    gathered = transpose(split, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return reshape(gathered, shape=(*lead, channels * r * r, height // r, width // r))


def _channels_shuffled(x: Any, groups: int) -> Any:
    if len(x.shape) < 3 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"channel_shuffle: the channels of an array of shape {tuple(x.shape)} do not fall into {groups} groups")
    split = reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return reshape(transpose(split, axes=(0, 2, 1, *range(3, len(split.shape)))), shape=x.shape)


_SIZE = {"size": None, "scale_factor": None}
_MODE = {"mode": "nearest", "align_corners": None}
interpolate = composite(
    "interpolate", "input", _interpolate,
    static={**_SIZE, **_MODE, "recompute_scale_factor": None, "antialias": False},
    doc="Images in another size: by the nearest entries, linear or cubic interpolation, or means of areas.",
    examples=("F.interpolate([[x]], 5, mode='linear')",),
)  # fmt: skip
pixel_shuffle = composite(
    "pixel_shuffle", "input", _shuffled, copied=True, static={"upscale_factor": REQUIRED},
    doc="Channels rearranged into images that are larger by a factor.", examples=("F.pixel_shuffle([[x], [y], [x], [y]], 2)",),
)  # fmt: skip
pixel_unshuffle = composite(
    "pixel_unshuffle", "input", _unshuffled, copied=True, static={"downscale_factor": REQUIRED},
    doc="Images rearranged into channels of images that are smaller by a factor.", examples=("F.pixel_unshuffle([[x, y, x]], 3)",),
)  # fmt: skip
channel_shuffle = composite(
    "channel_shuffle", "input", _channels_shuffled, copied=True, static={"groups": REQUIRED},
    doc="Channels of several groups rearranged so that neighbours come from different ones.",
    examples=("F.channel_shuffle([[x, y]], 2)",),
)  # fmt: skip
declare(
    TORCH,
    upsample=signature("interpolate", "input, size, scale_factor, mode, align_corners"),
    upsample_nearest=signature("interpolate", "input, size, scale_factor"),
    upsample_bilinear=signature("interpolate", "input, size, scale_factor", mode="bilinear", align_corners=True),
)
