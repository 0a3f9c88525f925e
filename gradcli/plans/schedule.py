"""The order in which a plan computes: operations on whole arrays, and loops over blocks of those that are large (`BLOCK_THRESHOLD`).

Entry-by-entry operations on large arrays of one shape are fused into one loop, with the sums of their results. What a
later loop needs of an earlier one is computed again rather than kept, so that memory holds inputs, outputs and a few
blocks; only what an operation on whole arrays reads is stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape

BLOCK_THRESHOLD = 1 << 12  # entries above which an array is worked on in blocks: temporaries of 64 kB come from the system, page by page


@dataclass(eq=False, repr=False)
class Loop:
    """Operations on blocks of arrays of one shape."""

    shape: Shape
    nodes: list[Expr] = field(default_factory=list)  # in order
    stored: list[Expr] = field(default_factory=list)  # those of them that become whole arrays
    sums: list[Expr] = field(default_factory=list)  # totals over all entries of one of them
    inputs: list[Expr] = field(default_factory=list)  # whole values from outside

    @property
    def flat(self) -> bool:
        """Whether its arrays may be taken as one row of entries each."""
        return all(node.shape in ((), self.shape) for node in self.inputs)

    @property
    def extent(self) -> Shape:
        return (math.prod(self.shape),) if self.flat else self.shape

    def sliced(self, node: Expr) -> bool:
        """Whether blocks of an input are taken, rather than all of it each time."""
        return len(node.shape) == len(self.shape) and node.shape[0] == self.shape[0]


Step = Expr | Loop


def additions(node: Expr) -> int:
    """About how many additions take the time of a node's operation on one entry."""
    return additions_of(node.op) if node.op is not None else 1


def additions_of(op: Op) -> int:
    return 4 if op.kind == "smooth" else 1


def over_threshold(node: Expr) -> bool:
    """Whether the value of a node is an array of more entries than are worked on at once."""
    return (node.op is None or node.op.outputs == 1) and math.prod(node.shape) > BLOCK_THRESHOLD


def in_blocks(node: Expr) -> bool:
    """Whether a node is computed block by block."""
    return node.op is not None and node.op.elementwise and over_threshold(node)


def is_total(node: Expr) -> bool:
    """Whether a node sums all entries of one that is computed block by block."""
    return node.op is not None and node.op.rewriting.adds == "entries" and math.prod(node.shape) == 1 and in_blocks(node.operand)


def schedule(roots: Sequence[Expr]) -> list[Step]:
    """Every operation that the roots need, as steps in order; leaves and constants are no steps."""
    order = [node for node in reachable(roots) if node.op is not None]
    rounds = _rounds(order)
    stored = {root for root in roots if in_blocks(root)}
    for node in order:
        for operand in node.operands:
            if operand is not None and in_blocks(operand) and not (is_total(node) or _fused(node, operand)):
                stored.add(operand)
    loops: dict[tuple[int, Shape], Loop] = {}
    for node in order:
        if node in stored:
            _loop(loops, rounds[node], node.shape).stored.append(node)
        elif is_total(node):
            _loop(loops, rounds[node.operand], node.operand.shape).sums.append(node)
    for (turn, _), loop in loops.items():
        _fill(loop, {node for node in stored if rounds[node] < turn})
    steps: list[tuple[int, bool, int, Step]] = [(turn, True, 0, loop) for (turn, _), loop in loops.items()]
    steps += [(rounds[node], False, node.index, node) for node in order if not in_blocks(node) and not is_total(node)]
    return [step for *_, step in sorted(steps, key=lambda entry: entry[:3])]


def _fused(node: Expr, operand: Expr) -> bool:
    return in_blocks(node) and in_blocks(operand) and node.shape == operand.shape


def _rounds(order: Sequence[Expr]) -> dict[Expr, int]:
    """How many loops in a row must have ended before a node can be computed; a total is there a round after its loop."""
    rounds: dict[Expr, int] = {}
    for node in order:
        found = 0
        for operand in node.operands:
            if operand is not None and operand.op is not None:
                ended = in_blocks(operand) and not _fused(node, operand)
                found = max(found, rounds[operand] + ended)
        rounds[node] = found
    return rounds


def _loop(loops: dict[tuple[int, Shape], Loop], turn: int, shape: Shape) -> Loop:
    return loops.setdefault((turn, shape), Loop(shape))


def _fill(loop: Loop, there: set[Expr]) -> None:
    """What a loop computes for its results, and reads: back to what is there."""
    ends = [*loop.stored, *(total.operand for total in loop.sums)]
    seen = set(ends)
    stack = list(seen)
    inputs: set[Expr] = set()
    while stack:
        node = stack.pop()
        for operand in node.operands:
            if operand is None or operand in seen or operand in inputs:
                continue
            if _fused(node, operand) and operand not in there:
                seen.add(operand)
                stack.append(operand)
            else:
                inputs.add(operand)
    loop.nodes = sorted(seen, key=lambda node: node.index)
    loop.inputs = sorted(inputs, key=lambda node: node.index)
