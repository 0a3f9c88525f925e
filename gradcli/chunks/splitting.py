"""Where the nodes of a graph are cut: along which axis, from which stage on, and where chunks come together or exchange entries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gradcli.graph.interpret import Transcription
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.cutting import Cuts, Found, Uncut, across, layout
from gradcli.ops.spec import Op

# -- The layouts of nodes: along which axis each is cut, as the records of operations say
# (ops/cutting.py).


def layout_of(node: Expr, cuts: Cuts) -> Found:
    """The layout of a node some of whose operands are cut. Raises Uncut."""
    assert node.op is not None
    return layout(node.op, node.shape, [None if o is None else o.shape for o in node.operands], cuts, node.static)


def aligned(node: Expr, cuts: Cuts, place: int) -> int | None:
    """The axis of an operand that all chunks have in common which runs along the cut, so that each chunk takes a slice of it.

    ``place``: of the operand, which is not cut
    """
    operand, found = node.operands[place], layout_of(node, cuts)
    assert operand is not None
    length = next(o.shape[cut] for o, cut in zip(node.operands, cuts, strict=True) if o is not None and cut is not None)
    for axis, extent in enumerate(operand.shape):
        if extent != length:
            continue
        try:
            if layout_of(node, [axis if i == place else cut for i, cut in enumerate(cuts)]) == found:
                return axis
        except Uncut:
            continue
    return None


_SMALL = 1 << 12  # entries of what is taken out of an array and is not worth cutting


@dataclass(frozen=True)
class Layout:
    """axis   along which a node is cut; None for what all chunks have in common
    stage  the first in which chunks can know it
    """

    axis: int | None
    stage: int


class Splitting(Transcription[Expr]):
    """The reading of a graph that says where its nodes are cut.

    cut     the axes of the leaves that are
    length  of this axis
    moves   whether entries may go from chunk to chunk
    spread  entries from which on what all chunks have in common, repeated along an axis as long as the cut, is taken for cut
    folds   nodes in which all chunks come together, and by which operation
    moved   nodes whose entries come from other chunks
    lengths of the axes that are cut: an array has one, which parts of it and what is made longer have not
    """

    def __init__(self, graph: Graph, cut: Mapping[Expr, int], length: int, spread: int, *, moves: bool) -> None:
        self.graph, self.cut, self.spread, self.moves = graph, cut, spread, moves
        self.lengths = {length}
        self.moved: dict[Expr, None] = {}
        self.layouts: dict[Expr, Layout] = {}
        self.folds: dict[Expr, str] = {}

    def leaf(self, node: Expr) -> Expr:
        found = self.graph.leaf(node.payload.name, node.shape, node.kind)
        self.layouts[found] = Layout(self.cut.get(node), 0)
        return found

    def constant(self, node: Expr) -> Expr:
        found = self.graph.constant(node.payload)
        self.layouts[found] = Layout(None, 0)
        return found

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        made = self.graph.apply(op, operands, node.static)
        try:
            self._note_all(made)
        except Uncut:
            if op.parts is None or made in self.moved:
                raise
            made = op.parts(*operands, **node.static)
            self._note_all(made)
        return made

    def _note_all(self, node: Expr) -> None:
        """Note a node that was just made, and before it what came with it, as conversions of its operands do."""
        stack = [node]
        while stack:
            open_ = [o for o in stack[-1].operands if o is not None and o not in self.layouts]
            if open_:
                stack += open_
            elif (found := stack.pop()) not in self.layouts:
                self._note(found)

    def cuts(self, node: Expr) -> list[int | None]:
        """The axes along which a node's operands are cut."""
        return [None if o is None else self.layouts[o].axis for o in node.operands]

    def _note(self, node: Expr) -> None:
        stage = max((self.layouts[o].stage for o in node.operands if o is not None), default=0)
        if node.op is None:
            self.layouts[node] = Layout(None, 0)
            return
        cuts = self.cuts(node)
        if all(cut is None for cut in cuts):
            grown = self._grown(node)
            if grown is not None:
                self._move(node, grown, stage)
            else:
                self.layouts[node] = Layout(self._spread(node), stage)
            return
        try:
            found: Found = layout_of(node, cuts)
        except Uncut:
            with suppress(Uncut):
                self._move(node, self._across(node, cuts), stage)
                return
            raise  # with the reason of its own
        if found.fold:
            self.folds[node] = found.fold
        self.layouts[node] = Layout(found.axis, stage + bool(found.fold))

    def _move(self, node: Expr, axis: int | None, stage: int) -> None:
        """Note a node whose entries come from other chunks, which are to be known before."""
        axis = None if math.prod(node.shape) < _SMALL else axis
        self.moved[node] = None
        self.layouts[node] = Layout(axis, stage + 1)
        if axis is not None:
            self.lengths.add(node.shape[axis])

    def _across(self, node: Expr, cuts: Cuts) -> int | None:
        """The axis along which a result is cut whose entries go from chunk to chunk. Raises Uncut where they may not."""
        assert node.op is not None
        if not self.moves:
            raise Uncut(f"{node.op.name} needs all chunks at once")
        return across(node.op, node.shape, [o.shape for o in node.operands if o is not None], cuts, node.static)

    def _grown(self, node: Expr) -> int | None:
        """The axis along which an array is cut into which all chunks put what they have in common: no chunk needs it all."""
        size = math.prod(node.shape)
        made_of = sum(math.prod(o.shape) for o in node.operands if o is not None)
        if not self.moves or size < max(_SMALL, self.spread, 2 * made_of):
            return None
        with suppress(Uncut):
            axis = self._across(node, self.cuts(node))
            return axis if axis is not None and node.shape[axis] in self.lengths else None
        return None

    def _spread(self, node: Expr) -> int | None:
        """The axis along which what all chunks have in common is repeated to be as long as they are together: no chunk needs it all."""
        if node.op is None or node.op.algebra != "repetition" or math.prod(node.shape) < self.spread:
            return None
        lead = len(node.shape) - len(node.operand.shape)
        for axis, extent in enumerate(node.shape):
            if extent in self.lengths and (axis < lead or node.operand.shape[axis - lead] != extent):
                return axis
        return None
