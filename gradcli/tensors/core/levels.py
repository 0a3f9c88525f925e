"""Levels of transformations that are under way, and the tangents that tensors have at those of forward mode, kept beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import last_place, overlaps
from gradcli.ops.structure import clone
from gradcli.ops.writing import Shape
from gradcli.tensors.core.batched import Batched, in_front, levels_of, rewrapped
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.storage import start, strides
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.views import geometry


class ForwardLevel:
    """Inputs that move by themselves: one `jvp`, or one dual level, that is under way."""


class Entered:
    """Levels that are under way inside of a block: operations are interpreted there (dispatch/interpreter.py)."""

    def __init__(self, *, forward: Any = None, batch: Any = None) -> None:
        self.forward, self.batch = forward, batch

    def __enter__(self) -> Entered:
        fields: dict[str, Any] = {"interpreter": Tensor.interpret}
        if self.forward is not None:
            fields["forward_levels"] = (*state.forward_levels, self.forward)
        if self.batch is not None:
            fields["batch_levels"] = (*state.batch_levels, self.batch)
        self._before = state.change(**fields)
        return self

    def __exit__(self, *exception: object) -> None:
        state.change(**self._before)


def tangent_of(x: Any, level: ForwardLevel) -> Any:
    """How a tensor moves at a level; None if it does not. That of a batched one is batched as it is."""
    if not isinstance(x, Tensor):
        return None
    bare = x.physical if isinstance(x, Batched) else x
    found = None if bare._tangents is None else bare._tangents.get(level)
    if found is None and bare._view is not None:
        found = _of_view(bare, level)
    return rewrapped(found, x.levels) if isinstance(x, Batched) else found


def _of_view(x: Tensor, level: ForwardLevel) -> Any:
    """The tangent of a view that was taken before its base began to move; it may be asked for when the level is over."""
    view = x._view
    if view is None or view.base._tangents is None or view.base._tangents.get(level) is None:
        return None
    levels = state.forward_levels
    with Mode(forward_levels=levels[: levels.index(level)] if level in levels else levels):
        found = part_of(view.base, level, x.array)
        set_tangent(x, level, found)
    return found


def part_of(x: Tensor, level: ForwardLevel, array: np.ndarray) -> Any:
    """The region of a tensor's tangent that an array is of the tensor's memory: a view, through which the tangent can be written to."""
    place = geometry(x.array, array)
    return same_region(x, (x._tangents or {})[level], place["size"], place["stride"], start(x.array) + place["offset"])


def same_region(x: Tensor, tangent: Tensor, size: Shape, stride: Shape, offset: int) -> Any:
    """The region of a tangent that has the place of a region of the tensor's storage."""
    if not _alike(x.array, tangent.array):
        raise RuntimeError(
            "forward mode: several entries of this tensor are one place in memory, but move in different ways, so that a region of that "
            "memory has no tangent: clone() the tensor before"
        )
    return tangent.as_strided(size, stride, start(tangent.array) + offset - start(x.array))


def _alike(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of one shape are laid out in the same way."""
    return not array.size or all(n == 1 or a == b for n, a, b in zip(array.shape, strides(array), strides(other), strict=True))


def _laid_out(tangent: Tensor, array: np.ndarray) -> Tensor:
    """A tangent in memory of its own, with steps between its entries as between those of an array."""
    memory = np.zeros(last_place(array.shape, strides(array)) + 1, tangent.array.dtype)
    copied: Tensor = clone(tangent)
    laid = np.ndarray(array.shape, memory.dtype, memory, 0, [step * memory.itemsize for step in strides(array)])
    laid[...] = copied.array
    copied.array = laid
    return copied


def set_tangent(x: Tensor, level: ForwardLevel, tangent: Tensor | None) -> None:
    """Say how a tensor moves at a level. The tangent is laid out as the tensor is, so that a view's tangent is the view of the base's."""
    kept = {} if x._tangents is None else {other: t for other, t in x._tangents.items() if other is not level}
    if tangent is not None:
        apart = not _alike(x.array, tangent.array) and not overlaps(x.array.shape, strides(x.array))
        kept[level] = _laid_out(tangent, x.array) if apart else tangent
    x._tangents = kept or None


def check_floats(primal: Tensor, tangent: Tensor) -> None:
    """Raise unless both are floats: nothing else moves."""
    for name, x in (("primal", primal), ("tangent", tangent)):
        if not x.dtype.is_floating_point:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")


def moving_by(x: Tensor, level: ForwardLevel, tangent: Tensor) -> Any:
    """A new tensor that moves by a tangent: the same, or one that is batched as the two are."""
    levels = levels_of([x, tangent])
    if not levels:
        set_tangent(x, level, tangent)
        return x
    primal, motion = (in_front(part, levels, full=True) for part in (x, tangent))
    primal._view = None
    set_tangent(primal, level, motion)
    return rewrapped(primal, levels)


def innermost(operands: Any) -> int | None:
    """The place of the innermost level under way at which one of the operands moves; None if none does."""
    levels = state.forward_levels
    for place in range(len(levels) - 1, -1, -1):
        if any(tangent_of(x, levels[place]) is not None for x in operands):
            return place
    return None


def moves(x: Tensor) -> bool:
    """Whether a tensor has a tangent at a level that is under way."""
    return bool(state.forward_levels) and innermost((x,)) is not None
