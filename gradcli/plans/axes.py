"""The index form of a graph: every entry of a result as an expression of indices along named axes.

A node of the graph has a shape, whose extents say nothing of each other. Here an `Axis` is shared by all that runs along it: an operation
on entries makes the axes of its operands one, a reduction ends one, a transpose changes nothing but the order of names. What is left of a
program is operations on entries, reductions along axes, and reading (`Item`), which loops can do in any order (nests.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.looping import Fold
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape


class NoLoop(Exception):
    """An operation, or this use of it, is none of entries and axes: it works on whole arrays."""


class Axis:
    """What indices run along. Axes that were found to be one are told apart no longer (`same`)."""

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


Axes = tuple["Axis | None", ...]  # of a shape's places; None where the extent is 1


class Item:
    """One entry, as an expression of indices.

    what   "map": an operation on entries, ``op`` with ``static``; "fold": what ``fold`` makes of all
           entries of its operand along the axes ``over``; "read": an entry of the whole value of ``node``, whose places have indices along
           axes, or whole numbers that items say (``parts``); "number": a constant, ``node``; "put": the first operand where the index along
           the axis ``over`` is the second, and zero elsewhere
    axes   the axes that its value varies along
    present  of an operation: which operands are given
    """

    __slots__ = ("axes_", "fold", "kind", "node", "op", "operands", "over_", "parts", "present", "static", "what")

    def __init__(
        self,
        what: str,
        axes: Iterable[Axis],
        kind: str = FLOAT,
        *,
        op: Op | None = None,
        static: Any = None,
        fold: Fold | None = None,
        operands: Sequence[Item] = (),
        over: Sequence[Axis] = (),
        node: Expr | None = None,
        parts: Sequence[Axis | Item | None] = (),
        present: Sequence[bool] = (),
    ) -> None:
        self.what, self.kind, self.op, self.static, self.fold, self.node = what, kind, op, static or {}, fold, node
        self.axes_, self.over_ = tuple(axes), tuple(over)
        self.operands = tuple(operands)
        self.parts, self.present = tuple(parts), tuple(present)

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
    def is_computed(self) -> bool:
        return self.what in ("map", "fold", "put")

    @property
    def size(self) -> int:
        return math.prod(axis.extent for axis in self.axes)

    @property
    def work(self) -> int:
        return math.prod(axis.extent for axis in self.space)

    @property
    def needs(self) -> tuple[Item, ...]:
        """The items that it is made of: operands, and what chooses entries of what is read."""
        return (*self.operands, *(part for part in self.parts if isinstance(part, Item)))

    def __repr__(self) -> str:
        what = self.op.name if self.op else self.what
        return f"<{what} {[axis.extent for axis in self.axes]}>"


class View:
    """An item as an array: which of its axes, or of further ones along which it is repeated, stands in which place of a shape."""

    __slots__ = ("item", "places")

    def __init__(self, item: Item, places: Axes) -> None:
        self.item, self.places = item, places

    @property
    def shape(self) -> Shape:
        return tuple(1 if axis is None else axis.extent for axis in self.places)


class Conflict(Exception):
    """Two axes of one item would become one: an array meets itself along another axis."""


def fold_of(item: Item) -> Fold:
    """What puts the entries of a fold together."""
    assert item.fold is not None
    return item.fold
