"""Reading a graph in index form: which nodes are made of entries and axes, as loops compute them, and which of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gradcli.graph.interpret import Transcription, interpret
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.elementwise import arithmetic, exponential
from gradcli.ops.reductions.along import reduced
from gradcli.ops.spec import Op
from gradcli.plans.axes import Conflict, Item, NoLoop, View
from gradcli.plans.indices import Indices
from gradcli.plans.merging import merge_axes
from gradcli.plans.work import over_threshold

LARGEST_CORE = 1 << 10  # products of matrices with more entries beside the longest axis are BLAS's


def in_order(roots: Sequence[Expr]) -> list[Expr]:
    """The nodes that roots need, operands first, by what they are made of: they may be of several graphs, whose indices say nothing."""
    found: dict[Expr, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(operand, False) for operand in reversed(node.operands) if operand is not None and operand not in found]
    return list(found)


class Expander(Transcription[Expr]):
    """Large operations by their parts, with what a value and its derivative have in common computed once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.changed = False
        self.done: dict[Expr, Expr] = {}

    def expanded(self, roots: Sequence[Expr]) -> list[Expr]:
        order = in_order(roots)
        if not any(map(over_threshold, order)):
            return list(roots)
        interpret(order, self, self.done)
        return [self.done[root] for root in roots]

    def leaf(self, node: Expr) -> Expr:
        return node

    def constant(self, node: Expr) -> Expr:
        return self.graph.constant(node.payload)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if any(operand is not None and over_threshold(operand) for operand in operands):
            if op is exponential.exp and (raised := self._raised(node.operand)) is not None:
                return raised
            if op.loops.parts is not None:
                return self._made(op.loops.parts(*operands, **node.static))
        return self.graph.apply(op, operands, node.static)

    def _raised(self, node: Expr) -> Expr | None:
        """The exponential of a node, where that takes less than any exponential."""
        op = node.op
        if op is None:
            return None
        x = self.done[node.operand] if node.operands else None
        if op is arithmetic.sub:
            op, static = _raised_difference(*node.operands)
            return None if op is None else self._made(op.loops.parts(x, **static) if op.loops.parts else op(x, **static))
        return None if op.loops.raised is None else self._made(op.loops.raised(x, **node.static))

    def _made(self, node: Any) -> Expr:
        self.changed = True
        assert isinstance(node, Expr)
        return node


def _raised_difference(x: Expr | None, y: Expr | None) -> tuple[Op | None, Mapping[str, Any]]:
    """The operation that exp(x - y) is, where y is made of x."""
    assert x is not None
    assert y is not None
    shape = y.shape
    while y.op is not None and y.op.rewriting.reshapes:
        y = y.operand
    if y.op is None or y.op.loops.less is None or y.operand is not x or shape != reduced(x.shape, y.static["axis"], True):
        return None, {}
    found: tuple[Op, Mapping[str, Any]] = y.op.loops.less(**y.static)
    return found


class Reader:
    """The nodes of a graph as views of items, operands first.

    views   of the nodes that loops can compute
    made    the items that came with each of them
    """

    def __init__(self, order: Sequence[Expr], *, in_c: bool, merging: bool = True, indices: Indices | None = None) -> None:
        """``in_c``: whether operations must have a text in C, or any on entries will do; ``merging``: whether axes become fewer."""
        self.in_c = in_c
        self.indices = Indices() if indices is None else indices
        self.views: dict[Expr, View] = {}
        self.made: dict[Expr, list[Item]] = {}
        for node in order:
            if node.op is not None:
                self._read(node, node.op)
        self.indices.join_reads()
        if merging:
            merge_axes(self.indices.items, list(self.views.values()))

    def _read(self, node: Expr, op: Op) -> None:
        begin = len(self.indices.items)
        with suppress(NoLoop):
            self.views[node] = self._view(node, op)
        self.made[node] = self.indices.items[begin:]

    def _view(self, node: Expr, op: Op) -> View:
        present = [operand is not None for operand in node.operands]
        is_written = bool(op.text.in_c(present, **node.static)) or not self.in_c
        if op.outputs != 1 or not (is_written if op.elementwise else op.loops.axes):
            raise NoLoop
        if op.rewriting.adds == "products" and not self._takes_products(node):
            raise NoLoop
        apart: set[Expr] = set()
        for _ in range(len(node.operands) + 1):
            views = [self._operand(operand, apart) for operand in node.operands if operand is not None]
            try:
                found = self._made(node, op, views, present)
                self.indices.hold(found)
                return found
            except Conflict:
                computed = [o for o in node.operands if o is not None and o in self.views and o not in apart]
                if not computed:
                    raise NoLoop from None
                apart.add(min(computed, key=lambda operand: math.prod(operand.shape)))
        raise NoLoop

    def _takes_products(self, node: Expr) -> bool:
        """Whether a product of matrices is read as loops: a large one is BLAS's."""
        return _is_small(node)

    def _made(self, node: Expr, op: Op, views: Sequence[View], present: Sequence[bool]) -> View:
        if op.elementwise:
            return self.indices.map(op, views, node.static, node.kind, present)
        assert op.loops.axes is not None
        found: View = op.loops.axes(self.indices, *views, **node.static)
        return found

    def _operand(self, node: Expr, apart: set[Expr]) -> View:
        if node in self.views and node not in apart:
            return self.views[node]
        return self.indices.read(node)


def _is_small(node: Expr) -> bool:
    """Whether all axes of a product of matrices but the longest are short."""
    inner = node.operand.shape[-1] if node.operand.shape else 1
    entries: int = math.prod(node.shape)
    return bool(inner * entries // max(inner, *node.shape, 1) <= LARGEST_CORE)
