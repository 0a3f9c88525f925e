"""The index form of a graph: every entry of a result as an expression of indices along named axes.

A node of the graph has a shape, whose extents say nothing of each other. Here an `Axis` is shared
by all that runs along it: an operation on entries makes the axes of its operands one, a reduction
ends one, a transpose changes nothing but the order of names. What is left of a program is
operations on entries, reductions along axes, and reading (`Item`), which loops can do in any order
(nests.py).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gradcli.graph.nodes import Expr, Graph, Rebuilding, interpret
from gradcli.ops.axes import SUM, Fold, NoLoop
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, axes_of
from gradcli.plans.backend import over_threshold


class Axis:
    """Extent that indices run along.

    Axes that were found to be one are told apart no longer (`same`).
    """

    __slots__ = ("_joined", "extent")

    def __init__(self, extent: int) -> None:
        self.extent = extent
        self._joined: Axis | None = None

    @property
    def same(self) -> Axis:
        found = self
        while found._joined is not None:
            found = found._joined
        return found

    def join(self, other: Axis) -> None:
        one, two = self.same, other.same
        if one is not two:
            two._joined = one

    def __repr__(self) -> str:
        return f"<axis of {self.extent}>"


Axes = tuple[Axis | None, ...]  # one for each place of a shape; None where the extent is 1


def _same(places: Iterable[Axis | None]) -> Axes:
    """Return what stands in the places of a shape, where axes are told apart no longer, too."""
    return tuple([axis and axis.same for axis in places])


@dataclass(eq=False, repr=False, slots=True)
class Item:
    """One entry, as an expression of indices.

    what   "map": an operation on entries, ``op`` with ``static``; "fold": what ``fold`` makes of
           all entries of its operand along the axes ``over``; "read": an entry of the whole value
           of ``node``, whose places have indices along axes; "number": a constant, ``node``
    axes   the axes that its value varies along
    present  of an operation: which operands are given
    What an item of its kind has not is None.
    """

    what: str
    axes_: Collection[Axis]
    kind: str = FLOAT
    op: Any = None
    static: Mapping[str, Any] = field(default_factory=dict)
    fold: Any = None
    operands: Sequence[Item] = ()
    over_: Collection[Axis] = ()
    node: Any = None
    places_: Axes = ()
    present: Sequence[bool] = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys(axis.same for axis in self.axes_))

    @property
    def over(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys(axis.same for axis in self.over_))

    @property
    def space(self) -> tuple[Axis, ...]:
        """The axes along which it is computed."""
        return (*self.axes, *self.over) if self.what == "fold" else self.axes

    @property
    def places(self) -> Axes:
        """The axes in the places of what is read."""
        return _same(self.places_)

    @property
    def is_computed(self) -> bool:
        return self.what in ("map", "fold")

    @property
    def size(self) -> int:
        return math.prod(axis.extent for axis in self.axes)

    @property
    def work(self) -> int:
        return math.prod(axis.extent for axis in self.space)

    def __repr__(self) -> str:
        what = self.op.name if self.op else self.what
        return f"<{what} {[axis.extent for axis in self.axes]}>"


@dataclass(eq=False, repr=False, slots=True)
class View:
    """Item as an array.

    Its places say which axis stands in each place of a shape: one of the item's, or a further one
    along which it is repeated.
    """

    item: Item
    places: Axes

    @property
    def shape(self) -> Shape:
        return tuple(1 if axis is None else axis.extent for axis in self.places)


class Conflict(Exception):
    """Two axes of one item would become one: an array meets itself along another axis."""


# -- Making the index form: what records say of operations on arrays (`Op.axes`), in items along
# axes.


class Indices:
    """Makes items: what the records of operations describe themselves with (`Op.axes`)."""

    def __init__(self) -> None:
        self.items: list[Item] = []  # in order of creation: operands first
        self._known: dict[Any, Item] = {}
        self._along: dict[Axis, set[Item | View]] = {}

    # -- what is there -----------------------------------------------------------------------------

    def read(self, node: Expr) -> View:
        """Return the entries of a node that is computed as a whole.

        Each reading has axes of its own, which may turn out to be the same as others.
        """
        places = tuple(Axis(n) if n != 1 else None for n in node.shape)
        if node.is_constant and not node.shape:
            return View(self._number(node), places)
        return View(
            self._new(Item("read", [a for a in places if a], node.kind, node=node, places_=places)),
            places,
        )

    def join_reads(self) -> None:
        """Join the axes of arrays that are read more than once, so that one loop can read them.

        Axes stay apart where an item would meet itself.
        """
        first: dict[Expr, Item] = {}
        for item in self.items:
            if item.what == "read":
                for one, other in zip(
                    first.setdefault(item.node, item).places, item.places, strict=True
                ):
                    if one is not None and other is not None:
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

    # -- entries -----------------------------------------------------------------------------------

    def map(
        self,
        op: Op,
        views: Sequence[View],
        static: Any,
        kind: str,
        present: Sequence[bool] = (True, True),
    ) -> View:
        """Apply an operation on entries; raise Conflict where an array would meet itself."""
        places = self._broadcast(views)
        operands = [view.item for view in views]
        return View(self.map_items(op, operands, static, kind, present), places)

    def map_items(
        self, op: Op, operands: Sequence[Item], static: Any, kind: str, present: Sequence[bool]
    ) -> Item:
        key = (op, tuple(operands), tuple(static.items()), tuple(present))
        if key not in self._known:
            axes = [axis for operand in operands for axis in operand.axes]
            self._known[key] = self._new(
                Item(
                    "map",
                    dict.fromkeys(axes),
                    kind,
                    op=op,
                    static=static,
                    operands=operands,
                    present=present,
                )
            )
        return self._known[key]

    def _broadcast(self, views: Sequence[View]) -> Axes:
        """Return the axes that views share, place by place from the last one, joined into one."""
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
        """Return the axes of a shape's places.

        Raises Conflict if an axis stands in two of them: that would be a diagonal.
        """
        found = _same(places)
        axes = [axis for axis in found if axis is not None]
        if len({*axes}) < len(axes):
            raise Conflict
        return found

    def hold(self, view: View) -> None:
        """Keep the axes of a view's places distinct from now on.

        This includes those along which the view is only repeated.
        """
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

    # -- axes --------------------------------------------------------------------------------------

    def fold_axes(self, view: View, fold: Fold, axis: Any, keepdims: bool) -> View:
        """Fold all entries along axes.

        The sum of a value that is repeated is the value times the number of repetitions.
        """
        if fold is not SUM and any(
            place is not None and place.same not in view.item.axes for place in view.places
        ):
            raise NoLoop
        gone = axes_of(axis, view.places)
        places = tuple(
            None if i in gone else a for i, a in enumerate(view.places) if keepdims or i not in gone
        )
        over = [
            place.same for i, place in enumerate(view.places) if i in gone and place is not None
        ]
        item = self._fold(view.item, fold, [place for place in over if place in view.item.axes])
        count = math.prod(place.extent for place in over if place not in view.item.axes)
        if count != 1:
            item = self.map_items(
                arithmetic.mul,
                (self._number(Graph().constant(float(count))), item),
                {},
                item.kind,
                (True, True),
            )
        return View(item, places)

    def _fold(self, item: Item, fold: Fold, over: Sequence[Axis]) -> Item:
        if not over:
            return item
        key = (fold, item, tuple(over))
        if key not in self._known:
            axes = [axis for axis in item.axes if axis not in over]
            self._known[key] = self._new(
                Item("fold", axes, item.kind, fold=fold, operands=(item,), over_=over)
            )
        return self._known[key]

    def arrange(self, view: View, order: Sequence[int | None]) -> View:
        """Return the places of a shape in another order; None is a new one of extent 1.

        Places that are left out must be of extent 1.
        """
        if any(axis is not None for i, axis in enumerate(view.places) if i not in order):
            raise NoLoop
        return View(
            view.item, tuple(None if place is None else view.places[place] for place in order)
        )

    def reshape(self, view: View, shape: Shape) -> View:
        """Another shape of the same extents but for those of 1."""
        axes = [axis for axis in view.places if axis is not None]
        if [axis.extent for axis in axes] != [n for n in shape if n != 1]:
            raise NoLoop
        rest = iter(axes)
        return View(view.item, tuple(None if n == 1 else next(rest) for n in shape))

    def repeat(self, view: View, shape: Shape) -> View:
        """Repeated along new axes, or those of extent 1."""
        old = (None,) * (len(shape) - len(view.places)) + view.places
        return View(
            view.item,
            tuple(
                a if a is not None or n == 1 else Axis(n) for a, n in zip(old, shape, strict=True)
            ),
        )

    def product(self, x: View, y: View, kind: str = FLOAT) -> View:
        """Entries times entries."""
        return self.map(arithmetic.mul, (x, y), {}, kind)

    def choose(self, view: View, index: tuple[Any, ...]) -> View:
        """x[:, None] and its like: new axes of one entry."""
        _refuse_parts(index)
        places = iter(range(len(view.places)))
        order = [None if part is None else next(places) for part in index]
        return self.arrange(view, [*order, *places])

    def scatter(self, view: View, index: tuple[Any, ...], shape: Shape) -> View:
        """Return the transpose of `choose`, which removes its new axes."""
        _refuse_parts(index)
        old = [place for place, part in enumerate(index) if part is not None]
        return self.arrange(view, [*old, *range(len(index), len(view.places))])


def _refuse_parts(index: tuple[Any, ...]) -> None:
    """Raise NoLoop for an index that does not take all entries."""
    if any(part is not None and part != (None, None, None) for part in index):
        raise NoLoop


# -- Axes that always stand side by side as one: entries of a matrix whose rows nothing asks for
# are those of a vector.


def merge_axes(items: Sequence[Item], views: Sequence[View]) -> None:
    """Merge two axes wherever everything that runs along either runs along both.

    The two must lie one after the other in memory.
    """
    while (pair := next(_candidates(items, views), None)) is not None:
        _merge(*pair, items, views)


def _candidates(items: Sequence[Item], views: Sequence[View]) -> Iterator[tuple[Axis, Axis]]:
    seen: set[tuple[Axis, Axis]] = set()
    for there in _accesses(items, views):
        for one, other in pairwise(there):
            if (one, other) not in seen:
                seen.add((one, other))
                if _are_one(one, other, items, views):
                    yield one, other


def _accesses(items: Sequence[Item], views: Sequence[View]) -> Iterator[list[Axis]]:
    """Yield the axes of each array that is read, or may be written, in their order."""
    read = [item.places for item in items if item.what == "read"]
    for places in (*read, *(view.places for view in views)):
        yield [axis for axis in places if axis is not None]


def _are_one(one: Axis, other: Axis, items: Sequence[Item], views: Sequence[View]) -> bool:
    for item in items:
        if (one in item.axes) != (other in item.axes) or (one in item.over) != (other in item.over):
            return False
    for there in _accesses(items, views):
        if (one in there) != (other in there) or (
            one in there and there.index(other) != there.index(one) + 1
        ):
            return False
    return True


def _merge(one: Axis, other: Axis, items: Sequence[Item], views: Sequence[View]) -> None:
    """Merge two axes; the merged one takes the place of the second."""
    merged = Axis(one.extent * other.extent)
    for item in items:
        item.axes_ = [a for a in _replace_axis(item.axes_, one, other, merged) if a]
        item.over_ = [a for a in _replace_axis(item.over_, one, other, merged) if a]
        item.places_ = _replace_axis(item.places_, one, other, merged)
    for view in views:
        view.places = _replace_axis(view.places, one, other, merged)


def _replace_axis(places: Iterable[Axis | None], one: Axis, other: Axis, merged: Axis) -> Axes:
    return tuple([None if a is one else merged if a is other else a for a in _same(places)])


# -- Reading a graph in index form: which nodes are made of entries and axes, as loops compute
# them, and which of whole arrays.


LARGEST_CORE = 1 << 10  # matrix products with more entries off the longest axis are left to BLAS


def in_order(roots: Sequence[Expr]) -> list[Expr]:
    """Return the nodes that roots need, operands first.

    The order follows the operands, not the indices: the roots may belong to several graphs, whose
    indices cannot be compared.
    """
    found: dict[Expr, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [
                (operand, False)
                for operand in reversed(node.given_operands)
                if operand not in found
            ]
    return list(found)


class Expander(Rebuilding):
    """Replacement of large operations by their parts.

    Parts that a value and its derivative have in common are computed once.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.done: dict[Expr, Expr] = {}

    def expand(self, roots: Sequence[Expr]) -> list[Expr]:
        interpret(in_order(roots), self, self.done)
        return [self.done[root] for root in roots]

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if (
            op.parts is not None
            and op.outputs == 1
            and any(operand is not None and over_threshold(operand) for operand in operands)
        ):
            made: Expr = op.parts(*operands, **node.static)
            return made
        return super().operation(node, op, operands)


class Reader:
    """The nodes of a graph as views of items, operands first.

    views   of the nodes that loops can compute
    made    the items that came with each of them
    """

    def __init__(self, order: Sequence[Expr], *, as_it_is: bool = False) -> None:
        """Read nodes in order as loops.

        With ``as_it_is``, axes are not merged, and all operations on entries (also those without a
        text in C) and all products of matrices are loops.
        """
        self.as_it_is = as_it_is
        self.indices = Indices()
        self.views: dict[Expr, View] = {}
        self.made: dict[Expr, list[Item]] = {}
        for node in order:
            if node.op is not None:
                self._read(node, node.op)
        self.indices.join_reads()
        for item in self.indices.items:
            item.places_ = _same(item.places_)
        for view in self.views.values():
            view.places = _same(view.places)
        if not as_it_is:
            merge_axes(self.indices.items, list(self.views.values()))

    def _read(self, node: Expr, op: Op) -> None:
        begin = len(self.indices.items)
        with suppress(NoLoop):
            self.views[node] = self._view(node, op)
        self.made[node] = self.indices.items[begin:]

    def _view(self, node: Expr, op: Op) -> View:
        present = [operand is not None for operand in node.operands]
        is_written = self.as_it_is or bool(op.in_c(present, **node.static))
        if op.outputs != 1 or not (is_written if op.elementwise else op.axes and not op.indices):
            raise NoLoop  # NumPy is as fast at taking single entries by indices
        if op.adds == "products" and not (
            self.as_it_is or _is_small(node)
        ):  # BLAS computes large ones
            raise NoLoop
        apart: set[Expr] = set()
        for _ in range(len(node.operands) + 1):
            views = [self._operand(operand, apart) for operand in node.given_operands]
            try:
                found = self._make(node, op, views, present)
                self.indices.hold(found)
                return found
            except Conflict:
                computed = [o for o in node.given_operands if o in self.views and o not in apart]
                if not computed:
                    raise NoLoop from None
                apart.add(min(computed, key=lambda operand: operand.size))
        raise NoLoop

    def _make(self, node: Expr, op: Op, views: Sequence[View], present: Sequence[bool]) -> View:
        if op.elementwise:
            return self.indices.map(op, views, node.static, node.kind, present)
        assert op.axes is not None
        found: View = op.axes(self.indices, *views, **node.static)
        return found

    def _operand(self, node: Expr, apart: set[Expr]) -> View:
        if node in self.views and node not in apart:
            return self.views[node]
        return self.indices.read(node)


def _is_small(node: Expr) -> bool:
    """Return whether all axes of a product of matrices but the longest are short."""
    inner = node.operand.shape[-1] if node.operand.shape else 1
    entries: int = node.size
    return bool(inner * entries // max(inner, *node.shape, 1) <= LARGEST_CORE)
