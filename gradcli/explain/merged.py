"""The nodes of a graph as people count them: those that only name a value, or wrap what a derivative expands to, do not count."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gradcli.graph.nodes import Expr
from gradcli.ops.structure import alias, derivative


def merged(order: Sequence[Expr], kept: Collection[Expr]) -> dict[Expr, Expr]:
    """What stands for each node: itself, or the operand of one that only names it or wraps it.

    kept  nodes that stand for themselves, as those that something is differentiated by
    """
    found: dict[Expr, Expr] = {}
    for node in order:
        is_same = (node.op is alias or node.op is derivative) and node not in kept
        found[node] = found[node.operand] if is_same else node
    return found
