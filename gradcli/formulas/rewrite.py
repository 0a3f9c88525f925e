"""Local identities of single operations, used when a graph is simplified for people to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Graph
from gradcli.ops import structure
from gradcli.ops.arrays import shapes
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise import arithmetic, logic
from gradcli.ops.spec import Op

_COMPARISONS = (logic.equal, logic.not_equal, logic.less, logic.less_equal, logic.greater, logic.greater_equal)


def rewrite(graph: Graph, node: Expr, operands: list[Expr | None]) -> Expr:
    """A node on simplified operands, or something simpler that equals it (up to broadcasting)."""
    assert node.op is not None
    rule = _RULES.get(node.op)
    if rule is not None:
        simpler: Expr | None = rule(graph, node, operands)
        if simpler is not None:
            return simpler
    return graph.apply(node.op, operands, node.static)


def _plain(node: Any) -> Any:
    """A scalar constant's number, or None."""
    if node.is_constant and not isinstance(node.payload, np.ndarray):
        return float(node.payload) if isinstance(node.payload, Constant) else node.payload
    if node.op is shapes.broadcast_to:
        return _plain(node.operands[0])
    if node.op is arithmetic.div:
        x, y = (_plain(o) for o in node.operands)
        return None if x is None or not y else x / y
    return None


def _transparent(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    return operands[0]


def _compare(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    x, y = _plain(operands[0]), _plain(operands[1])
    if node.op is logic.less_equal and y == 0 and operands[0].op is not None and operands[0].op.name == "relu":
        return graph.apply(logic.less_equal, (operands[0].operands[0], operands[1]))
    if x is None or y is None:
        return None
    assert node.op is not None
    return graph.constant(bool(node.op.forward(x, y)))


def _and(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    x, y = _plain(operands[0]), _plain(operands[1])
    if x is False or y is False:
        return graph.constant(False)
    return operands[1] if x is True else operands[0] if y is True else None


def _or(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    # x == max(x) or (both are NaN): the second matters only where there is no number to print.
    x, y = operands
    both_nan = y.op is logic.logical_and and all(o.op is logic.isnan for o in y.operands)
    return x if both_nan and x.op is logic.equal else None


def _where(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    condition, x, y = operands
    known = _plain(condition)
    if known is not None:
        return x if known else y
    if condition.op is logic.isnan and _plain(x) == 0:
        return y
    if _plain(x) == 0 and _guards_zero(condition, y):
        return y
    return x if x is y else None


def _guards_zero(condition: Any, product: Any) -> bool:
    """Whether a condition such as y == 0 only protects a product that vanishes (or has no value) there anyway."""
    if condition.op is logic.logical_and:
        condition = condition.operands[0]
    if condition.op is not logic.equal or _plain(condition.operands[1]) != 0:
        return False
    guarded = _stripped(condition.operands[0])
    stack, seen = [product], 0
    while stack and seen < 64:
        part = _stripped(stack.pop())
        seen += 1
        if part is guarded or (part.op is not None and part.op.name in ("log", "pow") and _stripped(part.operands[0]) is guarded):
            return True
        if part.op is not None and part.op.name in ("mul", "div", "neg"):
            stack += [o for o in part.operands if o is not None]
    return False


def _stripped(node: Any) -> Any:
    """What a node repeats or reshapes."""
    while node.op in (shapes.broadcast_to, shapes.reshape):
        node = node.operands[0]
    return node


def _same_shape(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    (x,) = operands
    if x.shape == node.shape:
        return x
    if node.op is shapes.reshape and x.op is shapes.reshape:
        return shapes.reshape(x.operands[0], shape=node.shape)
    if x.op is shapes.broadcast_to and node.op is shapes.broadcast_to:
        return shapes.broadcast_to(x.operands[0], shape=node.shape)
    if _plain(x) == 0 or (node.op is shapes.reshape and _plain(x) is not None):
        return graph.constant(_plain(x))
    return None


def _swapped(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    (x,) = operands
    if x.ndim < 2:
        return x
    is_swap = node.op is shapes.swapaxes and {a % x.ndim for a in node.static.values()} == {0, 1} and x.ndim == 2
    if is_swap or (node.op is shapes.transpose and node.static["axes"] in (None, (1, 0)) and x.ndim == 2):
        if x.op is shapes.transpose and x.static["axes"] is None:
            return x.operands[0]
        return shapes.transpose(x, axes=None)
    return None


def _scatter(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    """An entry put into a short vector of zeros, written out: [0, v, 0]."""
    index, shape = node.static["index"], node.static["shape"]
    (x,) = operands
    if len(shape) != 1 or shape[0] > 8 or len(index) != 1 or not isinstance(index[0], int) or isinstance(index[0], bool):
        return None
    zero = graph.constant(0)
    return shapes.stack(*[x if i == index[0] % shape[0] else zero for i in range(shape[0])], axis=0)


def _entry(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    (x,) = operands
    if _plain(x) is not None:
        return graph.constant(_plain(x))
    return None


def _repeat(graph: Graph, node: Expr, operands: list[Any]) -> Any:
    known = _plain(operands[0])
    return graph.constant(int(known)) if isinstance(known, bool) else None


_RULES: dict[Op, Callable[[Graph, Expr, list[Any]], Any]] = {
    **dict.fromkeys(_COMPARISONS, _compare),
    logic.logical_and: _and,
    logic.logical_or: _or,
    logic.where: _where,
    structure.alias: _transparent,
    structure.detach: lambda graph, node, operands: node,
    structure.derivative: _transparent,
    structure.to_float: _repeat,
    shapes.reshape: _same_shape,
    shapes.broadcast_to: _same_shape,
    shapes.sum_to: _same_shape,
    shapes.transpose: _swapped,
    shapes.swapaxes: _swapped,
    shapes.scatter_add: _scatter,
    shapes.getitem: _entry,
}
