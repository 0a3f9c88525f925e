"""Levels of transformations that are under way, and the tangents that tensors have at those of forward mode, kept beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.arrays.striding import last_place
from gradcli.ops.structure import clone
from gradcli.ops.writing import Shape
from gradcli.tensors.core.batched import Batched, in_front, levels_of, memory_of, rewrapped
from gradcli.tensors.core.modes import state
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
    """The tangent of a view that was taken before its base began to move."""
    view = x._view
    if view is None or view.base._tangents is None or view.base._tangents.get(level) is None or level not in state.forward_levels:
        return None
    before = state.change(forward_levels=state.forward_levels[: state.forward_levels.index(level)])
    try:
        found = part_of(view.base, level, x.array)
    finally:
        state.change(**before)
    set_tangent(x, level, found)
    return found


def part_of(x: Tensor, level: ForwardLevel, array: np.ndarray) -> Any:
    """The region of a tensor's tangent that an array is of the tensor's memory: a view, through which the tangent can be written to."""
    place, whole = geometry(x.array, array), (x._tangents or {})[level]
    if strides(memory_of(whole))[len(levels_of([whole])) :] != place["source"]:
        whole = _laid_out(whole, x.array)
        set_tangent(x, level, whole)
    return region_of_each(whole, place["size"], place["stride"], place["offset"])


def region_of_each(x: Any, size: Shape, stride: Shape, offset: int) -> Any:
    """A view of a tensor's memory, of each example if it is batched; the offset is from its first entry."""
    bare, levels = (x.physical, x.levels) if isinstance(x, Batched) else (x, ())
    lead, steps = bare.array.shape[: len(levels)], strides(bare.array)[: len(levels)]
    return rewrapped(bare.as_strided((*lead, *size), (*steps, *stride), start(bare.array) + offset), levels)


def _laid_out(x: Any, array: np.ndarray) -> Any:
    """The same tensor in memory of its own, with steps between its entries as between those of an array."""
    bare, levels = (x.physical, x.levels) if isinstance(x, Batched) else (x, ())
    lead = bare.array.shape[: len(levels)]
    memory = np.zeros((*lead, last_place(array.shape, strides(array)) + 1), bare.array.dtype)
    copied = clone(bare)
    laid = np.ndarray(bare.array.shape, memory.dtype, memory, 0, (*memory.strides[:-1], *[s * memory.itemsize for s in strides(array)]))
    laid[...] = copied.array
    copied.array = laid
    return rewrapped(copied, levels)


def set_tangent(x: Tensor, level: ForwardLevel, tangent: Tensor | None) -> None:
    """Say how a tensor moves at a level."""
    kept = {} if x._tangents is None else {other: t for other, t in x._tangents.items() if other is not level}
    if tangent is not None:
        kept[level] = tangent
    x._tangents = kept or None


def moving_by(x: Tensor, level: ForwardLevel, tangent: Tensor) -> Any:
    """A new tensor that moves by a tangent: the same, or one that is batched as the two are."""
    levels = levels_of([x, tangent])
    if not levels:
        set_tangent(x, level, tangent)
        return x
    primal, motion = (in_front(part, levels, full=True) for part in (x, tangent))
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
