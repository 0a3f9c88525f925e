"""Making the index form: what records say of operations on arrays (`Loops.axes`), in items along axes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.looping import SUM, Fold
from gradcli.ops.nn.likelihoods import class_labels
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, axes_of
from gradcli.plans.axes import Axes, Axis, Conflict, Item, NoLoop, View


class Indices:
    """Makes items: what the records of operations describe themselves with (`Loops.axes`)."""

    NoLoop = NoLoop

    def __init__(self) -> None:
        self.items: list[Item] = []  # in the order in which they were made: operands first
        self._known: dict[Any, Item] = {}
        self._along: dict[Axis, set[Item | View]] = {}

    # -- what is there --------------------------------------------------------------------------------------------

    def read(self, node: Expr) -> View:
        """The entries of a node that is computed as a whole; every time along axes of its own, which may turn out to be others'."""
        places = tuple(Axis(n) if n != 1 else None for n in node.shape)
        if node.is_constant and not node.shape:
            return View(self._number(node), places)
        return View(self._new(Item("read", [a for a in places if a], node.kind, node=node, parts=places)), places)

    def join_reads(self) -> None:
        """Let arrays that are read again be read along the same axes, wherever no item would meet itself: loops over them can be one."""
        first: dict[Expr, Item] = {}
        for item in self.items:
            if item.what == "read" and item.node is not None:
                for one, other in zip(first.setdefault(item.node, item).parts, item.parts, strict=True):
                    if isinstance(one, Axis) and isinstance(other, Axis):
                        with suppress(Conflict):
                            self.join(one, other)

    def _number(self, node: Expr) -> Item:
        if node not in self._known:
            self._known[node] = self._new(Item("number", (), node.kind, node=node))
        return self._known[node]

    def _new(self, item: Item) -> Item:
        self.items.append(item)
        for axis in item.space:
            self._along.setdefault(axis, set()).add(item)
        return item

    # -- entries --------------------------------------------------------------------------------------------------

    def map(self, op: Op, views: Sequence[View], static: Any, kind: str, present: Sequence[bool] = (True, True)) -> View:
        """An operation on entries. Raises Conflict where an array would meet itself."""
        places = self._broadcast(views)
        operands = [view.item for view in views]
        if op.rewriting.algebra == "product" or op.rewriting.algebra == "chain":
            for one, other in (operands, operands[::-1]):
                if one.what == "put":
                    value, place = one.operands
                    picked = self.picked_item(other, one.over[0], place)
                    return View(self.put_item(self.map_items(op, (value, picked), static, kind, present), place, one.over[0]), places)
        return View(self.map_items(op, operands, static, kind, present), places)

    def map_items(self, op: Op, operands: Sequence[Item], static: Any, kind: str, present: Sequence[bool]) -> Item:
        key = (op, tuple(operands), tuple(static.items()), tuple(present))
        if key not in self._known:
            axes = [axis for operand in operands for axis in operand.axes]
            self._known[key] = self._new(Item("map", dict.fromkeys(axes), kind, op=op, static=static, operands=operands, present=present))
        return self._known[key]

    def _broadcast(self, views: Sequence[View]) -> Axes:
        """The axes that views share, place by place from the last one; they become one."""
        ndim = max(len(view.places) for view in views)
        places: list[Axis | None] = []
        for place in range(-ndim, 0):
            found = [view.places[place] for view in views if len(view.places) >= -place]
            axes = [axis for axis in found if axis is not None]
            for axis in axes[1:]:
                self.join(axes[0], axis)
            places.append(axes[0] if axes else None)
        return self._apart(places)

    def _apart(self, places: Sequence[Axis | None]) -> Axes:
        """The axes of a shape's places. Raises Conflict if one stands in two of them: that would be a diagonal."""
        found = tuple(None if axis is None else axis.same for axis in places)
        axes = [axis for axis in found if axis is not None]
        if len({*axes}) < len(axes):
            raise Conflict
        return found

    def hold(self, view: View) -> None:
        """Let the axes of a view's places be told apart from now on, also those along which it is only repeated."""
        for axis in self._apart(view.places):
            if axis is not None:
                self._along.setdefault(axis, set()).add(view)

    def join(self, one: Axis, other: Axis) -> None:
        """Make two axes one. Raises Conflict if an item, or a view that is held, has both."""
        one, other = one.same, other.same
        if one is other:
            return
        ours, others = self._along.get(one, set()), self._along.pop(other, set())
        if not ours.isdisjoint(others):
            self._along[other] = others
            raise Conflict
        one.join(other)
        self._along[one] = ours | others

    # -- axes -----------------------------------------------------------------------------------------------------

    def folded(self, view: View, fold: Fold, axis: Any, keepdims: bool) -> View:
        """What a fold makes of all entries along axes, of what is not repeated along any."""
        if any(place is not None and place.same not in view.item.axes for place in view.places):
            raise NoLoop
        gone = axes_of(axis, len(view.places))
        places = tuple(None if i in gone else a for i, a in enumerate(view.places) if keepdims or i not in gone)
        over = [place.same for i, place in enumerate(view.places) if i in gone and place is not None]
        return View(self._fold(view.item, fold, over), places)

    def _fold(self, item: Item, fold: Fold, over: Sequence[Axis]) -> Item:
        if item.what == "put" and fold is SUM and list(over) == [*item.over]:
            return item.operands[0]
        if not over:
            return item
        key = (fold, item, tuple(over))
        if key not in self._known:
            axes = [axis for axis in item.axes if axis not in over]
            self._known[key] = self._new(Item("fold", axes, item.kind, fold=fold, operands=(item,), over=over))
        return self._known[key]

    def arranged(self, view: View, order: Sequence[int | None]) -> View:
        """The places of a shape in another order; None is a new one of extent 1. Those left out must be of extent 1."""
        if any(axis is not None for i, axis in enumerate(view.places) if i not in order):
            raise NoLoop
        return View(view.item, tuple(None if place is None else view.places[place] for place in order))

    def reshaped(self, view: View, shape: Shape) -> View:
        """Another shape of the same extents but for those of 1."""
        axes = [axis for axis in view.places if axis is not None]
        if [axis.extent for axis in axes] != [n for n in shape if n != 1]:
            raise NoLoop
        rest = iter(axes)
        return View(view.item, tuple(None if n == 1 else next(rest) for n in shape))

    def repeated(self, view: View, shape: Shape) -> View:
        """Repeated along new axes, or those of extent 1."""
        old = (None,) * (len(shape) - len(view.places)) + view.places
        return View(view.item, tuple(a if a is not None or n == 1 else Axis(n) for a, n in zip(old, shape, strict=True)))

    def product(self, x: View, y: View, kind: str = FLOAT) -> View:
        """Entries times entries."""
        return self.map(arithmetic.mul, (x, y), {}, kind)

    # -- entries that whole numbers choose ------------------------------------------------------------------------

    def picked(self, view: View, index: View, axis: int) -> View:
        """x[index[i], ...] along an axis, with one index for each of the others."""
        place = axes_of(axis, len(view.places))[0]
        if index.places[place] is not None or view.places[place] is None:
            raise NoLoop
        for i, (one, other) in enumerate(zip(view.places, index.places, strict=True)):
            if i != place and one is not None and other is not None:
                self.join(one, other)
            elif i != place and (one is None) != (other is None):
                raise NoLoop
        along = view.places[place]
        assert along is not None
        _refuse_unchecked(index.item, along.same.extent)
        return View(self.picked_item(view.item, along.same, index.item), index.places)

    def picked_item(self, item: Item, axis: Axis, index: Item) -> Item:
        """An item where the index along an axis is a whole number that another item says."""
        if axis not in item.axes:
            return item
        if item.what == "read":
            parts = [index if isinstance(part, Axis) and part.same is axis else part for part in item.parts]
            key = ("read", item.node, tuple(part.same if isinstance(part, Axis) else part for part in parts))
            if key not in self._known:
                axes = dict.fromkeys([*(a for a in item.axes if a is not axis), *index.axes])
                self._known[key] = self._new(Item("read", axes, item.kind, node=item.node, parts=parts))
            return self._known[key]
        if item.what == "map":
            assert item.op is not None
            return self.map_items(item.op, [self.picked_item(o, axis, index) for o in item.operands], item.static, item.kind, item.present)
        raise NoLoop

    def put(self, view: View, index: View, axis: int, extent: int) -> View:
        """Zeros along a new axis but for the place that an index says."""
        place = axes_of(axis, len(view.places))[0]
        if index.places[place] is not None or view.places[place] is not None or extent == 1:
            raise NoLoop
        _refuse_unchecked(index.item, extent)
        self._broadcast((view, index))
        along = Axis(extent)
        places = list(self._broadcast((view, index)))
        places[place] = along
        return View(self.put_item(view.item, index.item, along), tuple(places))

    def put_item(self, value: Item, index: Item, axis: Axis) -> Item:
        axes = dict.fromkeys([*value.axes, *index.axes, axis])
        return self._new(Item("put", axes, value.kind, operands=(value, index), over=(axis,)))


def _refuse_unchecked(index: Item, extent: int) -> None:
    """Raise NoLoop for indices that may not be places of an axis: NumPy counts from the end, and refuses what lies beyond."""
    node = index.node
    if index.what != "read" or node is None or node.op is not class_labels or node.static["classes"] != extent:
        raise NoLoop
