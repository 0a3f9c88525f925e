"""The layouts of nodes: along which axis each is cut, as the records of operations say (ops/cutting.py)."""

from __future__ import annotations

from gradcli.graph.nodes import Expr
from gradcli.ops.cutting import Cuts, Found, Uncut, layout


def layout_of(node: Expr, cuts: Cuts) -> Found:
    """The layout of a node some of whose operands are cut. Raises Uncut."""
    assert node.op is not None
    return layout(node.op, node.shape, [None if o is None else o.shape for o in node.operands], cuts, node.static)


def across(node: Expr, cuts: Cuts) -> int | None:
    """The axis along which the result of an operation is cut that moves entries from chunk to chunk. Raises Uncut."""
    assert node.op is not None
    if node.op.loops.across is None:
        raise Uncut(f"{node.op.name} needs all chunks at once")
    given = [o.shape for o in node.operands if o is not None]
    found: int | None = node.op.loops.across(node.shape, given, cuts, **node.static)
    return found


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
