"""The choice of a backend: NumPy, or native code made by the machine's compiler.

The choice counts work and never times it. A compilation takes as long as some hundred million
operations on entries, and longer the more operations a program has. It is worth it where the
program does more than that in all calls that are expected. Code that is there already, in a cache
or in memory, makes no difference, so that the same input has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gradcli.graph.nodes import Expr, cost_of, reachable
from gradcli.ops.counting import additions_of, steps_of

# -- What takes long: how many entries an array has, what an operation on one of them costs, and
# how much a plan has to do.


LARGE = 1 << 12  # entries above which loops in C work on an array


def additions(node: Expr) -> int:
    """About how many additions take the time of a node's operation on one entry."""
    return additions_of(node.op) if node.op is not None else 1


def over_threshold(node: Expr) -> bool:
    """Return whether the value of a node is a large array."""
    return (node.op is None or node.op.outputs == 1) and node.size > LARGE


class Work(NamedTuple):
    """Work of one call.

    ``additions`` is about how many additions take its time: for each operation the entries that it
    goes over, times its cost. ``operations`` is the number of operations.
    """

    additions: int
    operations: int


def work_of(roots: Sequence[Expr]) -> Work:
    """Return the work of computing nodes."""
    nodes = [node for node in reachable(roots) if node.op is not None]
    return Work(sum(additions(node) * steps(node) for node in nodes), len(nodes))


def steps(node: Expr) -> int:
    """Return how many entries an operation goes over.

    These are the entries of its result, or of an operand that it reduces; for a product they are
    all terms of all sums.
    """
    return cost_of(node, steps_of)


ONCE = 1  # calls of what the command line or `evaluate` computes
OFTEN = 1 << 7  # calls for which a function is expected to be made: about a hundred


def compilation(work: Work) -> int:
    """Return how many additions take as long as compiling a program."""
    return (1 << 28) + (work.operations << 25)


def choose_backend(backend: str, work: Work, calls: int = ONCE) -> str:
    """Return "numpy" or "native": the one that is asked for, or the one that a count chooses.

    The count decides for "auto". The result is "numpy" where no compiler works.

    - ``work``: the work of one call
    - ``calls``: the expected number of calls; native code is chosen if the additions in all calls
      outweigh a compilation

    Raises NativeError if native code is asked for and there is no compiler.
    """
    if backend == "numpy" or (backend == "auto" and work.additions * calls < compilation(work)):
        return "numpy"
    from gradcli.plans.native.compiler import find_compiler, missing

    if find_compiler() is not None:
        return "native"
    if backend == "native":
        raise missing()
    return "numpy"


def explain_choice(backend: str, asked: str, work: Work, calls: int, hindrance: str) -> str:
    """Return what became of the choice, in words."""
    if backend == asked:
        return f"{backend}, as asked for"
    if asked == "native":
        return f"{backend}: {hindrance}"
    counted = (
        f"{calls} x {work.additions:,} additions" if calls > 1 else f"{work.additions:,} additions"
    )
    needed = (
        f"the {compilation(work):,} that outweigh a compilation of {work.operations} operations"
    )
    if work.additions * calls < compilation(work):
        return f"{backend}: {counted} are fewer than {needed}"
    outweighed = f"{counted} are no fewer than {needed}"
    return (
        f"{backend}: {outweighed}"
        if backend == "native"
        else f"{backend}: {hindrance}, but {outweighed}"
    )


def require_compiler() -> None:
    """Raise NativeError, which says what to install, where no compiler works."""
    from gradcli.plans.native.compiler import find_compiler, missing

    if find_compiler() is None:
        raise missing()
