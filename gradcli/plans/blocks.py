"""Stretches of operations that NumPy does for one block of slices after the other.

Memory then holds inputs, results and a few blocks only. Arrays are cut along their first long axis,
and results are cut as the records of operations say (ops/cutting.py). An operation that needs a sum
of all blocks comes in a later stretch. That stretch computes again, rather than reads, the values
that the earlier one had of each block. Operations that cannot be cut are computed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from gradcli.graph.nodes import Expr, shapes_of, size_of
from gradcli.ops.cutting import Found, Uncut, layout
from gradcli.plans.backend import over_threshold
from gradcli.plans.index_form import in_order
from gradcli.plans.nests import Nest

BLOCK = 1 << 17  # bytes of a block of an array; sums go block by block, so their bits depend on it
_SLICES = 256  # least length of the axis that is cut, if there is one so long
_SHORT = 8  # a value this many times smaller than the largest is kept, not computed again


class Cut(NamedTuple):
    """The way in which slices of operands give a node's value.

    length  of the axis that is cut
    axes    this axis of each operand; None for those of which each block needs all
    found   where it goes
    """

    length: int
    axes: Sequence[int | None]
    found: Found


@dataclass(eq=False)
class Stretch:
    """Nodes that are computed block by block, operands first.

    outputs  those that become whole arrays, or are put together from all blocks
    inputs   nodes whose whole values are read
    own      nodes with operands that the block has computed
    step     slices of a block
    """

    nodes: dict[Expr, Cut]
    outputs: list[Expr]
    inputs: dict[Expr, None]
    own: set[tuple[Expr, Expr]]
    length: int
    step: int


Step = Expr | Nest | Stretch


class Cutter:
    """Shares a graph's nodes among stretches and operations on whole arrays.

    turns   how many stretches in a row must have ended before a node can be computed
    needed  nodes whose whole values must be there
    """

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.order = in_order(roots)
        self.largest = max(map(size_of, self.order))
        self.cuts: dict[Expr, Cut] = {}
        self.turns: dict[Expr, int] = {}
        self.needed: set[Expr | None] = set(roots)
        for node in self.order:
            self._cut(node)

    def steps(self) -> list[Expr | Stretch]:
        """Return what the roots need, in order."""
        steps: list[tuple[int, bool, Expr | Stretch]] = [
            (self.turns[node], False, node)
            for node in self.order
            if node.op is not None and node not in self.cuts
        ]
        # The last ones come first, as they need results of others.
        for key in sorted({*map(self._key, self.cuts)}, reverse=True):
            outputs = [n for n in self.cuts if n in self.needed and self._key(n) == key]
            if outputs:
                steps.append((key[0], True, self._stretch(*key, outputs)))
        return [step for *_, step in sorted(steps, key=lambda entry: entry[:2])]

    def _key(self, node: Expr) -> tuple[int, int]:
        """Turn and length, by which nodes share a stretch."""
        return self.turns[node], self.cuts[node].length

    def _axis(self, node: Expr) -> int | None:
        """Return the axis of a node along which each block has its own part."""
        cut = self.cuts.get(node)
        return cut.found.axis if cut else None

    def _cut(self, node: Expr) -> None:
        cut = self._find_cut(node)
        self.turns[node] = max(
            (
                self.turns[operand]
                + (operand in self.cuts and (axis is None or self._axis(operand) != axis))
                for operand, axis in zip_longest(node.operands, cut.axes if cut else ())
                if operand is not None
            ),
            default=0,
        )
        if cut is None:
            self.needed.update(node.operands)
        else:
            self.cuts[node] = cut

    def _find_cut(self, node: Expr) -> Cut | None:
        """Return the cut of a node along that of its largest operand in a stretch, if there is one."""
        op = node.op
        shapes = shapes_of(node)
        operands = node.given_operands
        if op is None or not (op.elementwise or (op.axes and len(operands) == 1)):
            return None
        inner = [operand for operand in operands if self._axis(operand) is not None]
        base = max(inner, key=size_of, default=node if op.elementwise else operands[0])
        if not over_threshold(base):
            return None
        axis = self._axis(base)
        if axis is None:
            axis = next(i for i, n in enumerate(base.shape) if n >= min(_SLICES, max(base.shape)))
        length = base.shape[axis]
        places = [len(shape or ()) - len(base.shape) + axis for shape in shapes]
        axes = [
            place if place >= 0 and shape[place] == length else None
            for place, shape in zip(places, shapes, strict=True)
        ]
        try:
            found = layout(op, node.shape, shapes, axes, node.static)
        except Uncut:
            return None
        return None if found == Found() else Cut(length, axes, found)

    def _stretch(self, turn: int, length: int, outputs: list[Expr]) -> Stretch:
        found = set(outputs)
        inputs: dict[Expr, None] = {}
        own: set[tuple[Expr, Expr]] = set()
        stack = outputs[:]
        while stack:
            node = stack.pop()
            for operand, axis in zip(node.operands, self.cuts[node].axes, strict=True):
                if operand is None:
                    continue
                is_kept = self.turns[operand] < turn and (
                    operand in self.needed or size_of(operand) * _SHORT <= self.largest
                )
                if is_kept or axis is None or self._axis(operand) != axis:
                    inputs[operand] = None
                    self.needed.add(operand)
                    continue
                own.add((node, operand))
                if operand not in found:
                    found.add(operand)
                    stack.append(operand)
        nodes = {node: cut for node, cut in self.cuts.items() if node in found}
        step = max(1, BLOCK * length // max(1, *map(size_of, nodes)))
        return Stretch(nodes, outputs, inputs, own, length, step)


def gather(parts: list[Any], part: Any, fold: Any, count: int) -> None:
    """Add a block's part to the parts of a total, folding two equal shares at a time.

    Rounding then grows with the logarithm of their count.
    """
    while count % 2 == 0:
        part = fold(parts.pop(), part)
        count = count // 2
    parts.append(part)
