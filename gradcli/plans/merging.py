"""Axes that always run side by side become one: what is computed entry by entry of a table is one long row.

Two axes are one if every item has both or neither, and sums over both or neither, and if in the shape of every array one follows the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcli.ops.writing import Shape
from gradcli.plans.axes import Axis, Item
from gradcli.plans.reading import Reader

Part = Axis | Item | None


def merge(reader: Reader) -> None:
    """Make one axis of each row of axes that are one."""
    chains = _chains(reader)
    if not chains:
        return
    begins: dict[Axis, tuple[Axis, int]] = {}  # of a row's first axis, what the row becomes, and how many axes it has
    for chain in chains:
        whole = Axis(math.prod(axis.extent for axis in chain))
        begins[chain[0]] = whole, len(chain)
    places = {id(view): [*_shortened(view.places, begins)] for view in reader.views.values()}
    parts = {item: [*_shortened(item.parts, begins)] for item in reader.indices.items if item.what == "read"}
    for view in reader.views.values():
        view.places = tuple(part for part in places[id(view)] if not isinstance(part, Item))
    for item, shortened in parts.items():
        item.parts = tuple(shortened)
    for chain in chains:
        for axis in chain:
            begins[chain[0]][0].join(axis)


def shape_along(parts: Sequence[Part], shape: Shape) -> Shape:
    """The extents of an array's shape, joined where its axes are merged."""
    extents = iter(shape)
    found = []
    for part in parts:
        extent = next(extents)
        while isinstance(part, Axis) and extent < part.extent:
            extent *= next(extents)
        found.append(extent)
    return tuple(found)


def _chains(reader: Reader) -> list[list[Axis]]:
    """Rows of axes that are one."""
    uses: dict[Axis, list[tuple[int, bool]]] = {}
    alone: set[Axis] = set()
    for place, item in enumerate(reader.indices.items):
        over = item.over
        for axis in item.space:
            uses.setdefault(axis, []).append((place, axis in over))
        if item.what == "put":
            alone.update(over)
    after: dict[Axis, set[Part]] = {}
    before: dict[Axis, set[Part]] = {}
    for parts in _accesses(reader):
        row = [part.same if isinstance(part, Axis) else part for part in parts if part is not None]
        for one, other in zip([None, *row], [*row, None], strict=True):
            if isinstance(one, Axis):
                after.setdefault(one, set()).add(other)
            if isinstance(other, Axis):
                before.setdefault(other, set()).add(one)
    following: dict[Axis, Axis] = {}
    for axis, others in after.items():
        other = next(iter(others))
        if not isinstance(other, Axis) or others != {other} or before[other] != {axis} or alone & {axis, other}:
            continue
        if uses.get(axis) == uses.get(other) and axis.extent and other.extent:
            following[axis] = other
    chains = []
    inner = set(following.values())
    for axis in following:
        if axis in inner:
            continue
        chain = [axis]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        chains.append(chain)
    return chains


def _accesses(reader: Reader) -> Iterator[Sequence[Part]]:
    for view in reader.views.values():
        yield view.places
    for item in reader.indices.items:
        if item.what == "read":
            yield item.parts


def _shortened(parts: Sequence[Part], begins: dict[Axis, tuple[Axis, int]]) -> Iterator[Part]:
    """Parts with one in the place of each row of axes."""
    left = 0  # axes of a row that are passed over
    for part in parts:
        if left:
            left -= part is not None
        elif isinstance(part, Axis) and part.same in begins:
            whole, count = begins[part.same]
            left = count - 1
            yield whole
        else:
            yield part
