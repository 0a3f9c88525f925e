"""Axes that always stand side by side as one: entries of a matrix whose rows nothing asks for are those of a vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradcli.plans.axes import Axis, Item, View

Parts = Sequence[Axis | Item | None]


def merge_axes(items: Sequence[Item], views: Sequence[View]) -> None:
    """Make one axis of two wherever everything that runs along either runs along both, one after the other in memory."""
    while (pair := next(_candidates(items, views), None)) is not None:
        _merge(*pair, items, views)


def _candidates(items: Sequence[Item], views: Sequence[View]) -> Iterator[tuple[Axis, Axis]]:
    seen: set[tuple[Axis, Axis]] = set()
    for parts in _accesses(items, views):
        there = [part for part in _same(parts) if part is not None]
        for one, other in pairwise(there):
            if isinstance(one, Axis) and isinstance(other, Axis) and (one, other) not in seen:
                seen.add((one, other))
                if _are_one(one, other, items, views):
                    yield one, other


def _accesses(items: Sequence[Item], views: Sequence[View]) -> Iterator[Parts]:
    """What stands in each place of the shapes of arrays that are read, or may be written."""
    yield from (item.parts for item in items if item.what == "read")
    yield from (view.places for view in views)


def _same(parts: Parts) -> list[Axis | Item | None]:
    return [part.same if isinstance(part, Axis) else part for part in parts]


def _are_one(one: Axis, other: Axis, items: Sequence[Item], views: Sequence[View]) -> bool:
    for item in items:
        if (one in item.axes) != (other in item.axes) or (one in item.over) != (other in item.over):
            return False
    for parts in _accesses(items, views):
        there = [part for part in _same(parts) if part is not None]
        if (one in there) != (other in there) or (one in there and there.index(other) != there.index(one) + 1):
            return False
    return True


def _merge(one: Axis, other: Axis, items: Sequence[Item], views: Sequence[View]) -> None:
    """The merged axis takes the place of the second one."""
    merged = Axis(one.extent * other.extent)
    for item in items:
        item.axes_ = tuple(a for a in _replaced(item.axes_, one, other, merged) if isinstance(a, Axis))
        item.over_ = tuple(a for a in _replaced(item.over_, one, other, merged) if isinstance(a, Axis))
        item.parts = tuple(_replaced(item.parts, one, other, merged))
    for view in views:
        view.places = tuple(a if isinstance(a, Axis) else None for a in _replaced(view.places, one, other, merged))


def _replaced(parts: Parts, one: Axis, other: Axis, merged: Axis) -> list[Axis | Item | None]:
    return [None if part is one else merged if part is other else part for part in _same(parts)]


def shape_along(parts: Parts) -> tuple[int, ...]:
    """The shape of an array whose axes are merged: None stands for an extent of 1, and for what the next axis has taken in."""
    return tuple(part.same.extent if isinstance(part, Axis) else 1 for part in parts)
