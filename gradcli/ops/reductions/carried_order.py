"""Which indices are not certain where what is ordered is off by its errors, and what is addressed by such indices.

An index is marked by 0 where it is certain, by -1 where it may be any along its axis; by a number that several share where they may
have changed places among themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.carrying import on_arrays


def _ends(x: Any, e: Any) -> tuple[np.ndarray, np.ndarray]:
    off = np.broadcast_to(e, np.shape(x))
    return np.where(off > 0, np.nextafter(x + off, math.inf), x), np.where(off > 0, np.nextafter(x - off, -math.inf), x)


@on_arrays
def sorted_places(m: Any, out: Any, x: Any, e: Any, axis: int | None, descending: bool) -> Any:
    """Entries whose intervals overlap, directly or by others between them, may have changed places."""
    if not np.ndim(out):
        return np.zeros((), int)
    off = np.broadcast_to(e, np.shape(x))
    if axis is None:
        x, off, axis = np.reshape(x, -1), np.reshape(off, -1), 0
    high, low = (np.moveaxis(np.take_along_axis(end, np.asarray(out), axis), axis, -1) for end in _ends(x, off))
    if descending:
        high, low = -low, -high
    reached = np.maximum.accumulate(high, axis=-1)
    apart = np.concatenate([np.ones((*high.shape[:-1], 1), bool), ~(reached[..., :-1] > low[..., 1:])], axis=-1)
    group = np.cumsum(apart, axis=-1)
    alone = apart & np.concatenate([apart[..., 1:], np.ones((*high.shape[:-1], 1), bool)], axis=-1)
    return np.moveaxis(np.where(alone, 0, group), -1, axis)


def _extreme_place(m: Any, out: Any, high: Any, low: Any, axis: Any, keepdims: bool) -> Any:
    axis = axis[0] if isinstance(axis, tuple) else axis
    if not np.ndim(high):
        return np.zeros(np.shape(out), int)
    if axis is None:
        high, low, index = high.reshape(-1), low.reshape(-1), np.reshape(out, -1)
        axis = 0
    else:
        index = np.asarray(out) if keepdims else np.expand_dims(out, axis)
    best = np.take_along_axis(low, index, axis)
    others = np.array(high)
    np.put_along_axis(others, index, -np.inf, axis)
    return np.reshape(np.where(np.any(others > best, axis=axis, keepdims=True), -1, 0), np.shape(out))


@on_arrays
def largest_place(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool) -> Any:
    high, low = _ends(x, e)
    return _extreme_place(m, out, high, low, axis, keepdims)


@on_arrays
def smallest_place(m: Any, out: Any, x: Any, e: Any, axis: Any, keepdims: bool) -> Any:
    high, low = _ends(x, e)
    return _extreme_place(m, out, -low, -high, axis, keepdims)


def _spread(values: Any, errors: Any, marks: Any, axis: int) -> np.ndarray:
    """How far the entries are apart that share a mark along an axis, errors included; 0 where an index is certain."""
    high, low = (np.moveaxis(part, axis, -1) for part in (values + errors, values - errors))
    moved = np.moveaxis(marks, axis, -1)
    rows = np.arange(math.prod(moved.shape[:-1])).reshape(*moved.shape[:-1], 1)
    _, group = np.unique((rows * (moved.max(initial=0) + 1) + moved).reshape(-1), return_inverse=True)
    top, bottom = np.full(group.max(initial=0) + 1, -np.inf), np.full(group.max(initial=0) + 1, np.inf)
    np.maximum.at(top, group, high.reshape(-1))
    np.minimum.at(bottom, group, low.reshape(-1))
    return np.moveaxis(np.where(moved > 0, (top - bottom)[group].reshape(moved.shape), 0.0), -1, axis)


@on_arrays
def taken(m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    own = m.at(errors, index)
    if type(marks) is float or not np.ndim(out):
        return own
    marks = np.broadcast_to(marks, np.shape(out))
    range_ = np.max(x + errors, axis=axis, keepdims=True) - np.min(x - errors, axis=axis, keepdims=True)
    return np.where(marks < 0, range_, np.maximum(own, _spread(out, own, np.maximum(marks, 0), axis)))


@on_arrays
def added(m: Any, out: Any, x: Any, index: Any, e: Any, marks: Any, axis: int, shape: Any) -> Any:
    errors = np.broadcast_to(e, np.shape(x))
    if type(marks) is float or not np.ndim(x):
        return m.at(errors, index)
    marks = np.broadcast_to(marks, np.shape(x))
    own = m.at(np.maximum(errors, _spread(x, errors, np.maximum(marks, 0), axis)), index)
    return own + np.sum(np.where(marks < 0, np.abs(x) + errors, 0.0), axis=axis, keepdims=True)


@on_arrays
def extreme(m: Any, out: Any, x: Any, source: Any, index: Any, e: Any, f: Any, marks: Any, **_: Any) -> Any:
    return max(np.max(e, initial=0.0), np.max(f, initial=0.0)) if type(marks) is float else None
