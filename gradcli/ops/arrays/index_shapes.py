"""The shape that an index gives, told from shapes: NumPy, asked for it, would take the entries, which may be more than fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.writing import Shape


def indexed_shape(old: Shape, index: Sequence[Any]) -> Shape:
    """The shape of ``x[index]`` for arrays of whole numbers, numbers, slices, None and an ellipsis in the index.

    Raises IndexError as NumPy does, ValueError for arrays that do not broadcast.
    """
    taken = sum(part is not None and part is not ... for part in index)
    if taken > len(old):
        raise IndexError(f"too many indices for array: array is {len(old)}-dimensional, but {taken} were indexed")
    filled = list(index) if ... in [part for part in index if not isinstance(part, np.ndarray)] else [*index, ...]
    shape: list[int] = []
    at: list[int] = []  # places in the index of arrays and numbers
    first = axis = 0  # of the result's axes, that before which the arrays' stand
    for place, part in enumerate(filled):
        if part is ...:
            rest = len(old) - taken
            shape += old[axis : axis + rest]
            axis += rest
        elif part is None:
            shape.append(1)
        elif isinstance(part, slice):
            shape.append(len(range(*part.indices(old[axis]))))
            axis += 1
        else:
            _within(part, axis, old[axis])
            if not at:
                first = len(shape)
            at.append(place)
            axis += 1
    common = np.broadcast_shapes(*(np.shape(filled[place]) for place in at))
    if at and at[-1] - at[0] + 1 != len(at):
        first = 0  # arrays that stand apart: their axes come first
    return (*shape[:first], *common, *shape[first:])


def _within(part: Any, axis: int, extent: int) -> None:
    if np.size(part):
        for place in (int(np.min(part)), int(np.max(part))):
            if not -extent <= place < extent:
                raise IndexError(f"index {place} is out of bounds for axis {axis} with size {extent}")
