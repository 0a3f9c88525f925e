"""What takes long: how many entries an array has, what an operation on one of them costs, and how much a plan has to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.counting import additions_of
from gradcli.ops.linalg.products import matmul
from gradcli.ops.writing import Shape

BLOCK_THRESHOLD = 1 << 12  # entries above which an array is worked on in blocks: temporaries of 64 kB come from the system, page by page


def additions(node: Expr) -> int:
    """About how many additions take the time of a node's operation on one entry."""
    return additions_of(node.op) if node.op is not None else 1


def over_threshold(node: Expr) -> bool:
    """Whether the value of a node is an array of more entries than are worked on at once."""
    return (node.op is None or node.op.outputs == 1) and math.prod(node.shape) > BLOCK_THRESHOLD


class Work(NamedTuple):
    """What is done in one call: about how many additions take its time (for each operation the entries that it goes over, times its
    cost), and how many operations there are."""

    additions: int
    operations: int


def work_of(roots: Sequence[Expr]) -> Work:
    """The work of computing nodes."""
    nodes = [node for node in reachable(roots) if node.op is not None]
    return Work(sum(_entries(node) * additions(node) for node in nodes), len(nodes))


def _entries(node: Expr) -> int:
    """How many entries an operation goes over: of its result, or of an operand that it reduces; of a product, all terms of all sums."""
    if node.op is matmul:
        terms: int = node.operand.shape[-1]
        return terms * int(math.prod(node.shape))
    return max(int(math.prod(shape)) for x in (node, *node.operands) if x is not None for shape in _shapes(x))


def _shapes(node: Expr) -> Sequence[Shape]:
    """The shapes of a node's results."""
    several: Sequence[Shape] = node.shape if node.op is not None and node.op.outputs > 1 else (node.shape,)
    return several
