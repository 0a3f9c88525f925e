"""Arrays in a row, along an axis that they have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import cutting
from gradcli.ops.array_text import listed
from gradcli.ops.arrays import extended
from gradcli.ops.arrays.shapes import ASKED, getitem
from gradcli.ops.registry import structural
from gradcli.ops.writing import Shape, axes_of, shape_by_example, witness


def _concatenate(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


_concatenate_by_example = shape_by_example(_concatenate)


def _concatenate_shape(*shapes: Shape, axis: int) -> Shape:
    if sum(map(math.prod, shapes)) <= ASKED:
        shape: Shape = _concatenate_by_example(*shapes, axis=axis)
        return shape
    place = axes_of(axis, len(shapes[0]))[0]
    if len({(len(s), *s[:place], *s[place + 1 :]) for s in shapes}) > 1:
        raise ShapeError(f"all arrays must have one shape but along axis {place}, not {' and '.join(map(str, dict.fromkeys(shapes)))}")
    return (*shapes[0][:place], sum(s[place] for s in shapes), *shapes[0][place + 1 :])


def _concatenate_vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, axis: int) -> tuple[Any, ...]:
    axis = axis % cotangent.ndim
    parts, start = [], 0
    for array in arrays:
        stop = start + array.shape[axis]
        index = (*((None, None, None),) * axis, (start, stop, None))
        parts.append(getitem(cotangent, index=index))
        start = stop
    return tuple(part if want else None for want, part in zip(wanted, parts, strict=True))


concatenate = structural(
    "concatenate", "*arrays", _concatenate, witness("moving.concatenate"), vjp=_concatenate_vjp,
    shape=_concatenate_shape, static={"axis": 0}, linear=True, result="same", aliases=("cat", "concat"), ulps=0,
    integral=True, extended=extended.JOINED,
    doc="Arrays joined along an axis.", examples=("concatenate([x, y])",), backward="Cat",
    on_objects=True, across=cutting.turned,
    numpy=lambda shapes, axis: f"np.concatenate([{listed(shapes)}], {axis})",
)  # fmt: skip
