"""What NumPy does for a block of a nest's slices, call by call: which items, what each of them reads, and how long a result is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.graph.nodes import Expr
from gradcli.ops.elementwise import arithmetic
from gradcli.plans.axes import Axis, Item
from gradcli.plans.contractions import Contraction, contraction
from gradcli.plans.frames import Frame
from gradcli.plans.nests import Nest


class BlockSteps:
    """The steps of one nest.

    frame      the axes of its arrays
    order      the items that are computed, or copied, one after the other
    seen       those that are read where they are in memory, with the node and the axes of its places
    products   sums that are products of matrices
    puts       additions that are made in their places: what they are added to, and what is put
    stored     the nodes that an item's value is stored for; ``totals`` the node whose value it is
    last_use   the place in the order at which an item is read for the last time
    """

    def __init__(self, nest: Nest, *, in_matrices: bool) -> None:
        self.nest, self.in_matrices = nest, in_matrices
        self.computed = [item for item in nest.items if item.is_computed and item not in nest.given]
        self.stored: dict[Item, list[Expr]] = {}
        for node, view in nest.stored.items():
            self.stored.setdefault(view.item, []).append(node)
        self.totals = {view.item: node for node, view in nest.totals.items()}
        self._first: dict[Any, Item] = {}
        self._uses: dict[Item, int] = {}
        for item in self.computed:
            for need in map(self.one, item.needs):
                self._uses[need] = self._uses.get(need, 0) + 1
        self.frame = self._best_frame()
        self.products: dict[Item, Contraction] = {}
        self.puts: dict[Item, tuple[Item, Item]] = {}
        self.seen: dict[Item, tuple[Expr, Sequence[Axis | None]]] = {}
        self.order = self._ordered(self._joined())
        self.last_use: dict[Item, int] = {}
        for place, item in enumerate(self.order):
            for need in self.needs(item):
                self.last_use[need] = place
        for item in self.totals:
            self.last_use[item] = len(self.order)

    def node_of(self, item: Item) -> Expr | None:
        """The node of whose whole value an item is read."""
        return self.nest.given[item][0] if item in self.nest.given else item.node if item.what == "read" else None

    def one(self, item: Item) -> Item:
        """The same item for all that read the same."""
        node = self.node_of(item)
        if node is None:
            return item
        parts = self.nest.given[item][1].places if item in self.nest.given else item.parts
        return self._first.setdefault(self._key(node, parts), item)

    def _key(self, node: Expr, parts: Sequence[Axis | Item | None]) -> Any:
        return node, *(part.same if isinstance(part, Axis) else part and self.one(part) for part in parts)

    def needs(self, item: Item) -> list[Item]:
        """What an item's call reads."""
        if item in self.products:
            found: Sequence[Item] = (self.products[item].x, self.products[item].y)
        elif item in self.puts:
            one, put = self.puts[item]
            found = (one, *put.operands)
        else:
            found = item.needs
        return [self.one(need) for need in found]

    def varies(self, item: Item) -> bool:
        """Whether a value is another one for each slice."""
        return self.nest.outer in item.axes

    def _best_frame(self) -> Frame:
        accesses: list[tuple[Sequence[Axis | Item | None], Expr]] = [(view.places, node) for node, view in self.nest.outputs.items()]
        for item in self.nest.items:
            if item in self.nest.given:
                node, view = self.nest.given[item]
                accesses.append((view.places, node))
            elif item.what == "read" and item.node is not None:
                accesses.append((item.parts, item.node))
        shapes = [(parts, node.shape) for parts, node in accesses]
        others = [axis for item in self.computed for axis in item.space]
        usual = Frame(self.nest.outer, shapes, others)
        folds = [item for item in self.computed if item.what == "fold" and self._as_product(item, usual) is None]
        return Frame(self.nest.outer, shapes, others, [axis for item in folds for axis in item.over])

    def _as_product(self, item: Item, frame: Frame) -> Contraction | None:
        terms = item.operands[0]
        if not self.in_matrices or terms.what != "map" or self._uses[terms] > 1 or terms in self.stored or terms in self.nest.given:
            return None
        return contraction(item, frame)

    def _joined(self) -> set[Item]:
        """Items that need no call of their own."""
        joined: set[Item] = set()
        for item in self.computed:
            if item.what == "fold" and (found := self._as_product(item, self.frame)) is not None:
                self.products[item] = found
                joined.add(item.operands[0])
            elif item.op in (arithmetic.add, arithmetic.sub):
                for one, other in (item.operands, item.operands[::-1]):
                    is_put = other.what == "put" and other.over[0] is not self.nest.outer
                    if is_put and one.what != "put" and self._uses[other] == 1 and other not in self.stored:
                        self.puts[item] = one, other
                        joined.add(other)
        return joined

    def _ordered(self, joined: set[Item]) -> list[Item]:
        order = []
        for item in self.nest.items:
            if self.one(item) is not item or item in joined:
                continue
            if item in self.nest.given:
                node, view = self.nest.given[item]
                self.seen[item] = node, view.places
            elif item.what == "read":
                assert item.node is not None
                parts = [part for part in item.parts if not isinstance(part, Item)]
                if len(parts) < len(item.parts):
                    order.append(item)
                    continue
                self.seen[item] = item.node, parts
                uses = sum(item in map(self.one, other.operands) for other in self.computed if other not in joined)
                if self.varies(item) and self.frame.has_gaps(parts) and uses > 1:
                    order.append(item)  # a copy without gaps
            elif item.what != "number":
                order.append(item)
        return order
