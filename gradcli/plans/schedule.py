"""What takes long: how many entries an array has, and what an operation on one of them costs."""

from __future__ import annotations

import math

from gradcli.graph.nodes import Expr
from gradcli.ops.spec import Op

BLOCK_THRESHOLD = 1 << 12  # entries above which an array is worked on in blocks: temporaries of 64 kB come from the system, page by page


def additions(node: Expr) -> int:
    """About how many additions take the time of a node's operation on one entry."""
    return additions_of(node.op) if node.op is not None else 1


def additions_of(op: Op) -> int:
    return 4 if op.kind == "smooth" else 1


def over_threshold(node: Expr) -> bool:
    """Whether the value of a node is an array of more entries than are worked on at once."""
    return (node.op is None or node.op.outputs == 1) and math.prod(node.shape) > BLOCK_THRESHOLD
