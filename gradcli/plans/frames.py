"""The axes of a nest's arrays for NumPy: each has one place in every shape, whose extent is 1 where an array does not have the axis.

So arrays broadcast against each other without a thought. Axes lie as in memory, but short ones along which something is reduced come first:
NumPy reduces rows of a few entries one call for each, and whole columns in vector registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gradcli.ops.writing import Shape
from gradcli.plans.axes import Axis, Item
from gradcli.plans.merging import shape_along

_SHORT = 24  # entries of a row up to which columns are faster, though they are read and written with gaps

Part = Axis | Item | None


class Frame:
    """Places for the axes of arrays; ``rows`` of the outer one are there at a time."""

    def __init__(
        self, outer: Axis, accesses: Iterable[tuple[Sequence[Part], Shape]], others: Iterable[Axis], reduced: Iterable[Axis] = ()
    ) -> None:
        """Of arrays in memory, whose shapes' places run along axes, of others that may not be among these, and of axes along which
        something is reduced."""
        self.outer = outer
        order = _as_in_memory(accesses)
        order += [axis for axis in dict.fromkeys((outer, *others)) if axis not in order]
        ends = set(reduced)
        first = [axis for axis in order if axis in ends and axis is not outer and axis.extent <= _SHORT]
        self.axes = (*first, *(axis for axis in order if axis not in first))
        self.places = {axis: place for place, axis in enumerate(self.axes)}

    def ordered(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(sorted(set(axes), key=self.places.__getitem__))

    def shape(self, axes: Iterable[Axis], rows: str = "n") -> str:
        """The shape of an array with those axes, as text."""
        present = set(axes)
        extents = [(rows if axis is self.outer else str(axis.extent)) if axis in present else "1" for axis in self.axes]
        return f"({', '.join(extents)},)"

    def size(self, axes: Iterable[Axis]) -> int:
        """The entries of an array for each slice."""
        return math.prod(axis.extent for axis in axes if axis is not self.outer)

    def dims(self, axes: Iterable[Axis]) -> tuple[int, ...]:
        return tuple(self.places[axis] for axis in self.ordered(axes))

    def view(self, name: str, parts: Sequence[Axis | None], shape: Shape) -> str:
        """An array of a shape, whose places run along ``parts``, in the frame."""
        axes = [part.same for part in parts if part is not None]
        if shape_along(parts) != shape:
            name += f".reshape({shape_along(parts)})"
        if None in parts:
            name += f"[{', '.join('0' if part is None else ':' for part in parts)}]"
        if not axes:
            return name
        order = sorted(range(len(axes)), key=lambda place: self.places[axes[place]])
        if order != list(range(len(axes))):
            name += f".transpose({', '.join(map(str, order))})"
        if len(axes) < len(self.axes):
            name += f"[{', '.join(':' if axis in axes else 'None' for axis in self.axes)}]"
        return name

    def back(self, name: str, item_axes: Iterable[Axis], parts: Sequence[Axis | None], shape: Shape) -> str:
        """An array in the frame, without the outer axis, as one whose places run along ``parts``."""
        present = set(item_axes)
        axes = self.ordered(present)
        name += f"[{', '.join(':' if axis in present else '0' for axis in self.axes)}]"
        order = [axes.index(part.same) for part in parts if part is not None]
        if order != list(range(len(axes))):
            name += f".transpose({', '.join(map(str, order))})"
        return f"{name}.reshape({shape})"

    def rows(self, name: str) -> str:
        """The slices from i to j of an array in the frame that has the outer axis."""
        return f"{name}[{':, ' * self.places[self.outer]}i:j]"

    def has_gaps(self, parts: Sequence[Part]) -> bool:
        """Whether neighbours in the frame are none in memory."""
        axes = [part.same for part in parts if isinstance(part, Axis)]
        return bool(axes) and axes[-1] is not self.ordered(axes)[-1]


def _as_in_memory(accesses: Iterable[tuple[Sequence[Part], Shape]]) -> list[Axis]:
    """Axes in the order in which arrays have them, the largest first."""
    order: list[Axis] = []
    for parts, _ in sorted(accesses, key=lambda access: -math.prod(access[1])):
        axes = [part.same for part in parts if isinstance(part, Axis)]
        for place, axis in enumerate(axes):
            if axis not in order:
                later = [order.index(other) for other in axes[place + 1 :] if other in order]
                before = order.index(axes[place - 1]) + 1 if place else min(later, default=len(order))
                order.insert(before, axis)
    return order
