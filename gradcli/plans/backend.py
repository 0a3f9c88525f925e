"""Who runs a plan's loops: NumPy, or native code that the machine's compiler makes. It is counted, never timed.

A compilation takes as long as some hundred million operations on entries, and is worth it where a program does more than that, in all
calls that are thought of. What is there already, in a cache or in memory, makes no difference: the same input has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.linalg.products import matmul
from gradcli.ops.writing import Shape
from gradcli.plans.schedule import additions

BACKENDS = ("auto", "numpy", "native")
ONCE = 1  # calls of what is computed on the command line, or by `evaluate`
OFTEN = 1 << 7  # calls that a function is thought to be made for: about a hundred
_COMPILATION = 1 << 29  # additions that outweigh it


def chosen(backend: str, work: int, calls: int = ONCE) -> str:
    """ "numpy" or "native": what is asked for, and of "auto" what a count says.

    work   of one call, in additions, as `work_of` counts it
    calls  how often it is thought to be done: native code from 2**29 additions in all, which are 2**22 in a call of a function
    """
    if backend != "auto":
        return backend
    return "native" if work * calls >= _COMPILATION else "numpy"


def work_of(roots: Sequence[Expr]) -> int:
    """About how many additions take the time of computing nodes: for each operation the entries that it goes over, times its cost."""
    return sum(_entries(node) * additions(node) for node in reachable(roots) if node.op is not None)


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
