"""JAX's primitives that slide windows over arrays, pad and sort them: told by the places from which each result takes its entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Rule = Callable[..., Any]


def _taken(x: Any, places: np.ndarray, absent: Any) -> Any:
    """Entries of an array by their places in its order; ``absent`` where the place is -1."""
    found = np.ravel(x)[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places >= 0, found, absent)


def _along(n: int, size: int, stride: int, padding: tuple[int, int], base: int, spread: int) -> np.ndarray:
    """Which entries of an axis each place of a window takes: a row for each window, -1 for padding and holes."""
    whole = 0 if n == 0 else (n - 1) * base + 1
    reach = (size - 1) * spread + 1
    count = max(0, (whole + sum(padding) - reach) // stride + 1)
    at = np.arange(count)[:, None] * stride + np.arange(size) * spread - padding[0]
    return np.where((at >= 0) & (at < whole) & (at % base == 0), at // base, -1)


def _windows(shape: Sequence[int], axes: Sequence[np.ndarray]) -> np.ndarray:
    """Places of the entries of windows over all axes: shaped as the windows are, and along one last axis within them."""
    found = np.zeros((1, 1), int)
    for n, along in zip(shape, axes, strict=True):
        at = found[:, None, :, None] * n + along[None, :, None, :]
        found = np.where((found[:, None, :, None] < 0) | (along[None, :, None, :] < 0), -1, at)
        found = found.reshape(found.shape[0] * found.shape[1], -1)
    return found.reshape(*(len(along) for along in axes), -1)


def _window(reduce: Callable[..., Any], absent: float) -> Rule:
    """Windows reduced to a number each."""

    def rule(
        x: Any, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any = None, window_dilation: Any = None, **_: Any
    ) -> Any:
        ones = (1,) * len(window_dimensions)
        settings = (window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones)
        axes = [_along(n, *setting) for n, *setting in zip(np.shape(x), *settings, strict=True)]
        return reduce(_taken(x, _windows(np.shape(x), axes), absent), axis=-1)

    return rule


def _convolution(
    x: Any, w: Any, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any, dimension_numbers: Any,
    feature_group_count: int, batch_group_count: int, **_: Any,
) -> Any:  # fmt: skip
    if batch_group_count != 1:
        raise TypeError("no rule for a convolution with groups of a batch")
    x, w = np.transpose(x, dimension_numbers.lhs_spec), np.transpose(w, dimension_numbers.rhs_spec)
    (batch, channels, *extents), (filters, depth, *size), groups = np.shape(x), np.shape(w), feature_group_count
    settings = (size, window_strides, padding, lhs_dilation, rhs_dilation)
    places = _windows(extents, [_along(n, *setting) for n, *setting in zip(extents, *settings, strict=True)])
    whole = int(np.prod(extents, dtype=int))
    starts = np.arange(batch * channels)[:, None, None] * whole
    flat = places.reshape(-1, places.shape[-1])
    taken = _taken(x, np.where(flat < 0, -1, starts + flat), 0.0)
    taken = np.reshape(taken, (batch, groups, channels // groups, *flat.shape))
    found = np.einsum("ngcpk,gock->ngop", taken, np.reshape(w, (groups, filters // groups, depth, -1)))
    found = np.reshape(found, (batch, filters, *places.shape[:-1]))
    return np.transpose(found, np.argsort(dimension_numbers.out_spec))


def _pad(x: Any, value: Any, padding_config: Any, **_: Any) -> Any:
    axes = [_along(n, 1, 1, (low, high), inner + 1, 1) for n, (low, high, inner) in zip(np.shape(x), padding_config, strict=True)]
    return _taken(x, _windows(np.shape(x), axes)[..., 0], value)


def _dynamic_update(x: Any, new: Any, *starts: Any, **_: Any) -> Any:
    size, count = int(np.prod(np.shape(x), dtype=int)), int(np.prod(np.shape(new), dtype=int))
    places = np.arange(size).reshape(np.shape(x))
    begins = [min(max(int(s), 0), n - m) for s, n, m in zip(starts, np.shape(x), np.shape(new), strict=True)]
    places[tuple(slice(b, b + m) for b, m in zip(begins, np.shape(new), strict=True))] = size + np.arange(count).reshape(np.shape(new))
    return np.concatenate([np.ravel(x), np.ravel(new)])[places]


def _sort(*xs: Any, dimension: int, num_keys: int = 1, **_: Any) -> list[Any]:
    order = np.lexsort([np.asarray(x) for x in xs[:num_keys]][::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _top(x: Any, k: int, axis: int = -1, **_: Any) -> list[Any]:
    order = np.take(np.argsort(-np.asarray(x), axis=axis, kind="stable"), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


def _extreme(function: np.ufunc) -> Rule:
    """A running extreme: the entry that it is at each place."""

    def rule(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
        x = np.flip(x, axis) if reverse else x
        numbers = np.moveaxis(np.asarray(x), axis, -1)
        first = np.where(numbers == function.accumulate(numbers, -1), np.arange(numbers.shape[-1]), 0)
        found = np.take_along_axis(x, np.moveaxis(np.maximum.accumulate(first, -1), -1, axis), axis)
        return np.flip(found, axis) if reverse else found

    return rule


def _running_sum_of_exponentials(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
    rows = list(np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0))
    for i in range(1, len(rows)):
        rows[i] = np.logaddexp(rows[i - 1], rows[i])
    found = np.moveaxis(np.stack(rows), 0, axis)
    return np.flip(found, axis) if reverse else found


WINDOWS: dict[str, Rule] = {
    "reduce_window_max": _window(np.max, -np.inf), "reduce_window_min": _window(np.min, np.inf), "reduce_window_sum": _window(np.sum, 0.0),
    "conv_general_dilated": _convolution, "pad": _pad, "dynamic_update_slice": _dynamic_update, "sort": _sort, "top_k": _top,
    "cummax": _extreme(np.maximum), "cummin": _extreme(np.minimum), "cumlogsumexp": _running_sum_of_exponentials,
    "tile": lambda x, reps, **_: np.tile(x, reps), "stack": lambda *xs, axis=0, **_: np.stack(xs, axis),
    "split": lambda x, sizes, axis, **_: np.split(x, np.cumsum(sizes)[:-1], axis),
}  # fmt: skip
