"""The layouts of nodes: along which axis each is cut, as the records of operations say (ops/cutting.py)."""

from __future__ import annotations

from gradcli.graph.nodes import Expr
from gradcli.ops.cutting import Cuts, Found, Uncut, layout


def layout_of(node: Expr, cuts: Cuts) -> Found:
    """The layout of a node some of whose operands are cut. Raises Uncut."""
    assert node.op is not None
    return layout(node.op, node.shape, [None if o is None else o.shape for o in node.operands], cuts, node.static)


def aligned(node: Expr, cuts: Cuts, place: int, length: int) -> int | None:
    """The axis of an operand that all chunks have in common which runs along the cut, so that each chunk takes a slice of it.

    place   of the operand, which is not cut
    length  of the axis that is cut
    """
    operand, found = node.operands[place], layout_of(node, cuts)
    assert operand is not None
    for axis, extent in enumerate(operand.shape):
        if extent != length:
            continue
        try:
            if layout_of(node, [axis if i == place else cut for i, cut in enumerate(cuts)]) == found:
                return axis
        except Uncut:
            continue
    return None
