"""Nests of loops: what a program computes entry by entry, a slice of one long axis after the other.

Items (axes.py) that run along one axis, the outer one, are computed slice by slice: rows of a
table, say, or entries of a vector. What a slice needs fits into the cache; it is read once and
written once. A sum along the outer axis adds up over slices, and what needs it is computed by a
later nest, which computes again, rather than reads, what the earlier one had of the slice: memory
holds inputs, outputs, and a few slices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradcli.graph.nodes import Expr
from gradcli.plans.backend import LARGE
from gradcli.plans.index_form import Axes, Axis, Item, Reader, View, in_order

_SLICES = 16  # least extent of an outer axis, if any axis is so long
_SHORT = 8  # a value with this many times fewer entries than a nest is kept, not computed again


@dataclass(eq=False)
class Nest:
    """Computations on slices along an axis.

    items    those of a slice, operands first
    given    those of them that are read from the whole value of a node, which another step has
             computed
    stored   nodes that become whole arrays, as views of items
    totals   the same of items that all slices add up to
    """

    outer: Axis
    items: list[Item] = field(default_factory=list)
    given: dict[Item, tuple[Expr, View]] = field(default_factory=dict)
    stored: dict[Expr, View] = field(default_factory=dict)
    totals: dict[Expr, View] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Expr]:
        """The nodes whose whole values it reads."""
        read = [item.node for item in self.items if item.what == "read"]
        return list(dict.fromkeys([*read, *(node for node, _ in self.given.values())]))

    @property
    def outputs(self) -> dict[Expr, View]:
        return {**self.stored, **self.totals}

    @property
    def is_possible(self) -> bool:
        """Return whether no slice needs what all slices add up to."""
        needed = {
            need
            for item in self.items
            if item not in self.given
            for need in item.operands
            if need not in self.given
        }
        return not any(item.what == "fold" and self.outer in item.over for item in needed)

    @property
    def work(self) -> int:
        return sum(item.work for item in self.items if item.is_computed and item not in self.given)


Step = Expr | Nest


def plan_steps(roots: Sequence[Expr]) -> list[Step]:
    """Return what the roots need, in order.

    These are nests of what can be written in C, and operations on whole arrays.
    """
    order = in_order(roots)
    return Planner(roots, order, Reader(order)).steps()


@dataclass
class Planner:
    """Shares a graph's nodes among nests and operations on whole arrays."""

    roots: Sequence[Expr]
    order: Sequence[Expr]
    reader: Reader

    def __post_init__(self) -> None:
        self.outer: dict[Item, Axis] = {}  # the outer axis of each item that is in a nest
        self.home: dict[Item, Expr] = {}  # the node whose value an item is
        # How many nests in a row must have ended before an item can be computed.
        self.turns: dict[Item, int] = {}
        self._turns: dict[Expr, int] = {}
        self.nests: dict[tuple[Axis, int], Nest] = {}
        self.whole: set[Expr] = set()
        for node, view in self.reader.views.items():
            if view.item in self.reader.made[node]:
                self.home.setdefault(view.item, node)
        self._choose_axes()
        self._count_turns()

    def steps(self) -> list[Step]:
        for root in self.roots:
            self._need(root)
        done: set[tuple[Axis, int]] = set()
        while len(done) < len(self.nests):  # the last ones first, as they need results of others
            outer, turn = max(
                (key for key in self.nests if key not in done), key=lambda key: key[1]
            )
            done.add((outer, turn))
            self._fill(self.nests[outer, turn], turn)
        steps: list[tuple[int, bool, int, Step]] = [
            (turn, True, i, nest) for i, ((_, turn), nest) in enumerate(self.nests.items())
        ]
        steps += [
            (self._turn(node), False, i, node)
            for i, node in enumerate(self.order)
            if node in self.whole
        ]
        return [step for *_, step in sorted(steps, key=lambda entry: entry[:3])]

    # -- which axis --------------------------------------------------------------------------------

    def _choose_axes(self) -> None:
        """Give large items, and what runs along their outer axis, that axis."""
        items = [item for item in self.reader.indices.items if item.is_computed]
        left = [item for item in items if item.work > LARGE]
        while left:
            axis = self._best(left)
            for item in items:
                if item not in self.outer and axis in item.space:
                    self.outer[item] = axis
            left = [item for item in left if item not in self.outer]

    def _best(self, items: Sequence[Item]) -> Axis:
        """Return the axis along which most of the work runs.

        Among several, it is one with enough slices, without sums that slices wait for, and the
        first in memory.
        """
        work: dict[Axis, int] = {}
        for item in items:
            for axis in item.space:
                work[axis] = work.get(axis, 0) + item.work
        most = max(work.values())
        places = self._places()
        candidates = [axis for axis, amount in work.items() if amount == most]
        return min(
            candidates,
            key=lambda axis: (
                axis.extent < _SLICES,
                self._waits(axis),
                places.get(axis, 0),
                -axis.extent,
            ),
        )

    def _waits(self, axis: Axis) -> int:
        """Return how often slices along an axis would wait for what all of them add up to."""
        turns: dict[Item, int] = {}
        for item in self.reader.indices.items:
            turns[item] = max(
                (
                    turns[need] + (need.what == "fold" and axis in need.over and axis in item.space)
                    for need in item.operands
                ),
                default=0,
            )
        return max(turns.values(), default=0)

    def _places(self) -> dict[Axis, int]:
        """Return where axes stand in the largest arrays that are read."""
        found: dict[Axis, tuple[int, int]] = {}
        for item in self.reader.indices.items:
            if item.what == "read":
                for place, part in enumerate(item.places):
                    if part is not None:
                        found[part] = max(found.get(part, (0, 0)), (item.size, place))
        return {axis: place for axis, (_, place) in found.items()}

    # -- in which order ----------------------------------------------------------------------------

    def _count_turns(self) -> None:
        for node in self.order:
            for item in self.reader.made.get(node, ()):
                turn = max((self._turn_for(item, need) for need in item.operands), default=0)
                if item.what == "read":
                    turn = max(turn, self._last_turn(item.node))
                elif (
                    item not in self.outer and self.home.get(item) is node
                ):  # an item that is computed as a whole and given to nests
                    turn = max(turn, self._turn(node))
                self.turns[item] = turn
            self._last_turn(node)  # stored for operands first, so that nothing recurses

    def _is_apart(self, item: Item, need: Item) -> bool:
        """Return whether an item needs another one from a nest that must have ended before."""
        is_total = need.what == "fold" and self.outer[need] in need.over
        return self.outer[need] is not self.outer.get(item) or is_total

    def _turn_for(self, item: Item, need: Item) -> int:
        """Return the first turn in which an item can be computed, given one item that it needs."""
        if need not in self.outer:
            return self.turns[need]
        return self.turns[need] + self._is_apart(item, need)

    def _last_turn(self, node: Expr) -> int:
        """Return the first turn in which the whole value of a node exists."""
        view = self.reader.views.get(node)
        if view is not None and view.item in self.outer:
            return self.turns[view.item] + 1
        return self._turn(node)

    def _turn(self, node: Expr) -> int:
        """Return the turn in which a node is computed as a whole."""
        if node not in self._turns:
            self._turns[node] = max(
                (self._last_turn(operand) for operand in node.given_operands),
                default=0,
            )
        return self._turns[node]

    # -- what is stored ----------------------------------------------------------------------------

    def _need(self, node: Expr) -> None:
        """See to it that a node's whole value is there."""
        stack = [node]
        while stack:
            node = stack.pop()
            if node.op is None or node in self.whole:
                continue
            view = self.reader.views.get(node)
            if view is not None and self._is_storable(node, view):
                outer = self.outer[view.item]
                nest = self.nests.setdefault((outer, self.turns[view.item]), Nest(outer))
                (nest.stored if outer in view.item.axes else nest.totals)[node] = view
            else:  # also another view that NumPy has of a value that a nest computes
                self.whole.add(node)
                stack += node.given_operands

    def _is_storable(self, node: Expr, view: View) -> bool:
        """Return whether a nest can write a node's value.

        It can if an item was made for the node, or if the node is a result of stored entries.
        """
        if view.item not in self.outer or _is_repeated(view):
            return False
        return self.home.get(view.item) is node or (
            node in self.roots and self.outer[view.item] in view.item.axes
        )

    def _fill(self, nest: Nest, turn: int) -> None:
        """Find the items that a nest computes for its results, and those that it reads.

        The search goes back to values that exist before the nest begins.
        """
        largest = max(item.work for item in (view.item for view in nest.outputs.values()))
        ends = [view.item for view in nest.outputs.values()]
        found = set(ends)
        stack = ends
        while stack:
            for item in stack.pop().operands:
                if item in found:
                    continue
                found.add(item)
                if item.is_computed and self._is_given(item, nest.outer, turn, largest):
                    nest.given[item] = self.home[item], self.reader.views[self.home[item]]
                else:
                    stack.append(item)
        nest.items = [item for item in self.reader.indices.items if item in found]
        for node in nest.inputs:
            self._need(node)

    def _is_given(self, item: Item, outer: Axis, turn: int, largest: int) -> bool:
        """Return whether a nest reads the result of another step instead of computing it itself."""
        node = self.home.get(item)
        if node is None or _is_repeated(self.reader.views[node]):
            return False
        if self.outer.get(item) is not outer:
            return True
        return self.turns[item] < turn and (item.what == "fold" or item.size * _SHORT <= largest)


def _is_repeated(view: View) -> bool:
    return len(view.item.axes) != sum(axis is not None for axis in view.places)


# -- The loops inside of a nest: what is computed of one slice, one loop over its entries after the
# other.
#
# Loops over axes of a slice that are short are written out, entry by entry. What is left of an
# item's axes is the space of its loop: items of one space share a loop (`Stage`) unless one needs
# what another has summed up along it. The innermost loop is carried out in vector registers (the
# lane): along an axis of the slice whose entries are neighbours in memory, if it is long, and
# over a block of slices otherwise.


_WRITTEN_OUT = 16  # the longest axis that is written out
_MOST_COPIES = 64  # most copies of an item
_LONG = 40  # least entries of an axis for a lane inside a slice
_BLOCK = 1024  # slices whose sums are added up together
_ROWS = 64  # the same for slices that are computed one by one
_ROOM = 1 << 12  # most numbers that a block of slices keeps


@dataclass(eq=False)
class Stage:
    """Loop over a slice, or over blocks of slices.

    It holds the axes of its loops, except the lane, and the items that are computed inside.
    """

    axes: tuple[Axis, ...]
    has_lane: bool
    items: list[Item] = field(default_factory=list)


class Layout:
    """Order in which a nest is looped.

    lane         the axis of the innermost loops: the nest's outer one, or one of a slice
    written_out  axes without loops
    stages       the loops of a slice, in order
    kept         items that a later stage reads
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
        kept = sum(
            math.prod(a.extent for a in item.axes if a is not nest.outer) for item in self.kept
        )
        self.block = (
            max(16, min(_BLOCK, _ROOM // max(kept, 1) // 16 * 16))
            if self.lane is nest.outer
            else _ROWS
        )

    # -- axes --------------------------------------------------------------------------------------

    def _best_lane(self) -> Axis:
        """Return the axis along which most of the entries read and written lie side by side."""
        outer = self.nest.outer
        weights: dict[Axis, int] = {outer: 0}
        for parts in self._accesses():
            axes = [part for part in parts if part is not None]
            if axes:
                size = math.prod(axis.extent for axis in axes)
                weights[axes[-1]] = weights.get(axes[-1], 0) + size
        best = max(weights, key=lambda axis: weights[axis])
        return best if best.extent >= _LONG else outer

    def _accesses(self) -> list[Axes]:
        found = [item.places for item in self.nest.items if item.what == "read"]
        return found + [view.places for view in self.nest.stored.values()]

    def _short_axes(self) -> frozenset[Axis]:
        axes = {axis for item in self.computed for axis in item.space} - {
            self.nest.outer,
            self.lane,
        }
        found: set[Axis] = set()
        for axis in sorted(axes, key=lambda axis: axis.extent):
            copies = max(
                math.prod(a.extent for a in item.space if a in found or a is axis)
                for item in self.computed
            )
            if axis.extent <= _WRITTEN_OUT and copies <= _MOST_COPIES:
                found.add(axis)
        return frozenset(found)

    def space(self, item: Item) -> frozenset[Axis]:
        """Return the axes of an item's loops inside of a slice.

        With blocks of slices, all items have the lane.
        """
        return frozenset(
            axis
            for axis in item.space
            if axis is not self.nest.outer and axis not in self.written_out
        )

    def is_summed_up(self, item: Item) -> bool:
        """Return whether an item is known only after a loop."""
        return item.what == "fold" and any(axis not in self.written_out for axis in item.over)

    def _store(self) -> None:
        """Store a copy of what is known only after a loop, in a loop of its own."""
        for node, view in self.nest.stored.items():
            item = view.item
            if self.is_summed_up(item):
                item = Item("map", item.axes, item.kind, operands=(item,))
                self.computed.append(item)
            self.stored.setdefault(item, []).append((node, view))

    # -- stages ------------------------------------------------------------------------------------

    def _early(self) -> dict[Item, int]:
        """Return the first level at which each item can be computed."""
        levels: dict[Item, int] = {}
        for item in self.computed:
            levels[item] = max(
                (
                    levels[need] + self._waits(item, need)
                    for need in item.operands
                    if need in levels
                ),
                default=0,
            )
        return levels

    def _waits(self, item: Item, need: Item) -> bool:
        return self.is_summed_up(need) or self.space(item) != self.space(need)

    def _late(self, early: dict[Item, int]) -> dict[Item, int]:
        """Return the last level at which each item still serves all that need it.

        Totals come together with the items that they sum.
        """
        last = max(early.values(), default=0)
        levels = dict.fromkeys(early, last)
        is_needed: set[Item] = set()
        totals = [
            item for item in self.computed if item.what == "fold" and self.nest.outer in item.over
        ]
        for item in reversed(self.computed):
            if item in totals:
                continue
            for need in item.operands:
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
        for (_, space), items in ordered:
            loops = sorted(space - {self.lane}, key=self._rank)
            stage = Stage(tuple(loops), self.lane is self.nest.outer or self.lane in space)
            stage.items = items
            self.kept.update(
                need
                for item in items
                for need in item.operands
                if need in self._levels and need not in items
            )
            stages.append(stage)
        return stages

    def _rank(self, axis: Axis) -> int:
        """Loops in the order in which arrays have their axes."""
        return max((parts.index(axis) for parts in self._accesses() if axis in parts), default=0)
