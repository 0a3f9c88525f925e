"""The loops inside of a nest: what is computed of one slice, one loop over its entries after the other.

Loops over axes of a slice that are short are written out, entry by entry. What is left of an item's axes is the space of its loop: items of
one space share a loop (`Stage`) unless one needs what another has summed up along it. The innermost loop is carried out in vector registers
(the lane): along an axis of the slice whose entries are neighbours in memory, if it is long, and over a block of slices otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gradcli.graph.nodes import Expr
from gradcli.ops.counting import additions_of
from gradcli.plans.axes import Axis, Item, View
from gradcli.plans.nests import Nest

_WRITTEN_OUT = 16  # the longest axis that is written out
_MOST_COPIES = 64  # of an item
_LONG = 40  # entries from which on a lane lies inside of a slice
_CHEAP = 2  # additions that are done again rather than kept
_BLOCK = 1024  # slices whose sums are added up together
_ROWS = 64  # the same of slices that are done one by one
_ROOM = 1 << 12  # numbers that a block of slices may keep


@dataclass(eq=False, repr=False)
class Stage:
    """A loop over a slice, or over blocks of them: the axes of its loops but for the lane, and what is computed inside."""

    axes: tuple[Axis, ...]
    has_lane: bool
    items: list[Item] = field(default_factory=list)


class Layout:
    """How a nest is looped.

    lane         the axis of the innermost loops: the nest's outer one, or one of a slice
    written_out  axes without loops
    stages       the loops of a slice, in order
    kept         items that a later stage reads rather than computes again
    block        slices that are done together where the lane is the outer axis
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.computed = [item for item in nest.items if item.is_computed and item not in nest.given]
        self.stored: dict[Item, list[tuple[Expr, View]]] = {}
        self.lane = self._best_lane()
        self.written_out = self._short_axes()
        self._store()
        self.kept: set[Item] = set()
        self._levels = self._late(self._early())
        self.stages = self._stages()
        kept = sum(math.prod(a.extent for a in item.axes if a is not nest.outer) for item in self.kept)
        self.block = max(16, min(_BLOCK, _ROOM // max(kept, 1) // 16 * 16)) if self.lane is nest.outer else _ROWS

    # -- axes -----------------------------------------------------------------------------------------------------

    def _best_lane(self) -> Axis:
        """The axis along which most of what is read and written lies side by side."""
        outer = self.nest.outer
        weights: dict[Axis, int] = {outer: 0}
        for parts in self._accesses():
            axes = [part.same if isinstance(part, Axis) else part for part in parts if part is not None]
            if axes and isinstance(axes[-1], Axis):
                size = math.prod(axis.extent for axis in axes if isinstance(axis, Axis))
                weights[axes[-1]] = weights.get(axes[-1], 0) + size
        best = max(weights, key=lambda axis: weights[axis])
        return best if best.extent >= _LONG else outer

    def _accesses(self) -> list[tuple[Axis | Item | None, ...]]:
        found: list[tuple[Axis | Item | None, ...]] = [item.parts for item in self.nest.items if item.what == "read"]
        return found + [view.places for view in self.nest.stored.values()]

    def _short_axes(self) -> frozenset[Axis]:
        axes = {axis for item in self.computed for axis in item.space} - {self.nest.outer, self.lane}
        found: set[Axis] = set()
        for axis in sorted(axes, key=lambda axis: axis.extent):
            copies = max(math.prod(a.extent for a in item.space if a in found or a is axis) for item in self.computed)
            if axis.extent <= _WRITTEN_OUT and copies <= _MOST_COPIES:
                found.add(axis)
        return frozenset(found)

    def space(self, item: Item) -> frozenset[Axis]:
        """The axes of an item's loops inside of a slice; with blocks of slices, all have the lane."""
        return frozenset(axis for axis in item.space if axis is not self.nest.outer and axis not in self.written_out)

    def is_summed_up(self, item: Item) -> bool:
        """Whether an item is known only after a loop."""
        return item.what == "fold" and any(axis not in self.written_out for axis in item.over)

    def _store(self) -> None:
        """Of what is known only after a loop, a copy is stored, in a loop of its own."""
        for node, view in self.nest.stored.items():
            item = view.item
            if self.is_summed_up(item):
                item = Item("map", item.axes, item.kind, operands=(item,))
                self.computed.append(item)
            self.stored.setdefault(item, []).append((node, view))

    # -- stages ---------------------------------------------------------------------------------------------------

    def _early(self) -> dict[Item, int]:
        """The first level at which each item can be computed."""
        levels: dict[Item, int] = {}
        for item in self.computed:
            levels[item] = max((levels[need] + self._waits(item, need) for need in item.needs if need in levels), default=0)
        return levels

    def _waits(self, item: Item, need: Item) -> bool:
        return self.is_summed_up(need) or self.space(item) != self.space(need)

    def _late(self, early: dict[Item, int]) -> dict[Item, int]:
        """The last level at which it serves all that need it; totals come with what they are of."""
        last = max(early.values(), default=0)
        levels = dict.fromkeys(early, last)
        is_needed: set[Item] = set()
        totals = [item for item in self.computed if item.what == "fold" and self.nest.outer in item.over]
        for item in reversed(self.computed):
            if item in totals:
                continue
            for need in item.needs:
                if need in levels:
                    levels[need] = min(levels[need], levels[item] - self._waits(item, need))
                    is_needed.add(need)
        for item in totals:
            operand = item.operands[0]
            if operand in levels:
                levels[item] = levels[operand] + self._waits(item, operand)
        return levels

    def _stages(self) -> list[Stage]:
        found: dict[tuple[int, frozenset[Axis]], list[Item]] = {}
        for item in self.computed:
            found.setdefault((self._levels[item], self.space(item)), []).append(item)
        ordered = sorted(found.items(), key=lambda entry: (entry[0][0], len(entry[0][1])))
        stages = []
        for (level, space), items in ordered:
            loops = sorted(space - {self.lane}, key=self._rank)
            stage = Stage(tuple(loops), self.lane is self.nest.outer or self.lane in space)
            stage.items = self._with_what_is_cheap(level, space, items)
            stages.append(stage)
        return stages

    def _rank(self, axis: Axis) -> int:
        """Loops in the order in which arrays have their axes."""
        return max((parts.index(axis) for parts in map(self._resolved, self._accesses()) if axis in parts), default=0)

    @staticmethod
    def _resolved(parts: tuple[Axis | Item | None, ...]) -> list[Axis | Item | None]:
        return [part.same if isinstance(part, Axis) else part for part in parts]

    def _with_what_is_cheap(self, level: int, space: frozenset[Axis], items: list[Item]) -> list[Item]:
        """A stage's items, and those of earlier ones that are computed again; the others are kept."""
        inside = set(items)
        stack = list(items)
        while stack:
            for need in stack.pop().needs:
                if need in inside or need not in self._levels:
                    continue
                if not self.is_summed_up(need) and self.space(need) == space and self._is_cheap(need):
                    inside.add(need)
                    stack.append(need)
                else:
                    self.kept.add(need)
        return [item for item in self.computed if item in inside]

    def _is_cheap(self, item: Item) -> bool:
        """Whether an item takes no more than a few additions from what is read, or summed up."""
        work, stack, seen = 0, [item], {item}
        while stack:
            current = stack.pop()
            work += additions_of(current.op) if current.op is not None else 1
            if work > _CHEAP:
                return False
            for need in current.needs:
                if need in self._levels and need not in seen and not self.is_summed_up(need) and self.space(need) == self.space(item):
                    seen.add(need)
                    stack.append(need)
        return True
