"""Blocks of arrays turned over: where loops go over slices, and entries of a slice lie side by side, vectors would be made entry by entry.

A block of such an array is copied before the loops to a buffer in which the slices lie side by side, or from one after them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcli.graph.nodes import Expr
from gradcli.plans.axes import Axis, Item
from gradcli.plans.nests import Nest

_WIDEST = 64  # entries of a slice
_READY = (1, 2, 4)  # entries of a slice that compilers take apart in registers

Part = Axis | Item | None


def turned(nest: Nest) -> dict[Expr, int]:
    """The arrays of a nest that are turned over, where its loops go over slices, and how many entries their slices have."""
    widths: dict[Expr, int] = {}
    for node, parts in _accesses(nest):
        width = width_of(nest.outer, parts, node.shape)
        if width is None or not (width <= _WIDEST and width not in _READY):
            widths[node] = 0  # also where it is read in another way
        else:
            widths.setdefault(node, width)
    return {node: width for node, width in widths.items() if width}


def width_of(outer: Axis, parts: Sequence[Part], shape: Sequence[int]) -> int | None:
    """The entries of a slice, where an array is slices one after the other along an axis."""
    places = [place for place, part in enumerate(parts) if isinstance(part, Axis) and part.same is outer]
    if len(places) != 1 or any(part is not None for part in parts[: places[0]]) or any(isinstance(part, Item) for part in parts):
        return None
    return math.prod(shape[places[0] + 1 :])


def _accesses(nest: Nest) -> Iterator[tuple[Expr, Sequence[Part]]]:
    for item in nest.items:
        if item.what == "read" and item.node is not None:
            yield item.node, item.parts
    for node, view in (*nest.given.values(), *nest.stored.items()):
        yield node, view.places
