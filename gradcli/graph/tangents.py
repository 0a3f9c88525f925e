"""Forward mode: how nodes move, and which of their tangents are zero all around the point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.graph.interpret import Domain
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.ops.arrays.shapes import broadcast_to, take_along
from gradcli.ops.elementwise.logic import Pieces, logical_and, logical_not, logical_or, not_equal, where
from gradcli.ops.spec import Op
from gradcli.ops.structure import to_float


def filled(node: Expr, value: float) -> Expr:
    """A number in the shape of a node."""
    constant = node.graph.constant(value)
    found: Expr = broadcast_to(constant, shape=node.shape) if node.shape else constant
    return found


class Tangents(Domain[Any]):
    """How nodes move: a node for each that does, None for the others."""

    def __init__(self) -> None:
        self.motion = Motion()

    def leaf(self, node: Expr) -> None:
        return None

    constant = leaf

    def part(self, node: Expr, whole: Any, place: int) -> Any:
        return None if whole is None else whole[place]

    def detach(self, node: Expr, x: Any) -> None:
        return None

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        """The tangent of one node from those of its operands."""
        if all(part is None for part in operands) or (op.partials is None and op.vjp is None):
            return None
        if op.linear and not op.elementwise:
            moving = [
                part if part is not None else filled(o, 0.0) for part, o in zip(operands, node.operands, strict=True) if o is not None
            ]
            return op(*moving, **node.static)
        total: Any = None
        for place, part in enumerate(operands):
            if part is None:
                continue
            term = self._moved(node, op.partials[place], part) if op.partials is not None else _transposed(node, op, place, part)
            if term is None:
                continue
            if op.outputs == 1 and term.shape != node.shape:
                term = broadcast_to(term, shape=node.shape)
            total = term if total is None else tuple(map(_sum, total, term)) if op.outputs > 1 else total + term
        return total if total is not None else filled(node, 0.0)

    def _moved(self, node: Expr, partial: Any, tangent: Expr) -> Any:
        if partial is None:
            return None
        values = [node, *node.operands]
        if type(partial) is Pieces:
            return partial.flowing(self.times, tangent, values, node.static)
        return self.times(tangent, partial(*values, **node.static))

    def times(self, tangent: Expr, partial: Any) -> Any:
        """tangent * partial, where what does not move around the point stays zero, however large the partial is."""
        if isinstance(partial, (int, float)):
            if partial == 0:
                return filled(tangent, 0.0)
            return tangent if partial == 1 else -tangent if partial == -1 else tangent * partial
        moving = True if partial.is_constant else self.motion.of(tangent)
        product = tangent * partial
        return product if moving is True else where(moving, product, 0.0)


def _sum(x: Expr | None, y: Expr | None) -> Expr | None:
    return y if x is None else x if y is None else x + y


def _transposed(node: Expr, op: Op, place: int, tangent: Expr) -> Any:
    """J t from a VJP rule: u -> vjp(u) is linear, and J t is the transpose of it applied to t."""
    operand = node.operands[place]
    assert op.vjp is not None
    assert operand is not None
    wanted = tuple(i == place for i in range(len(node.operands)))
    shapes = node.shape if op.outputs > 1 else (node.shape,)
    cotangents = [node.graph.leaf("cotangent", shape) for shape in shapes]
    pulled = op.vjp(wanted, tuple(cotangents) if op.outputs > 1 else cotangents[0], node, *node.operands, **node.static)[place]
    if pulled is None:
        return None
    if pulled.shape != tangent.shape:
        tangent = broadcast_to(tangent, shape=pulled.shape)
    found = backward(reachable([pulled]), {pulled: tangent}, cotangents, itself)
    parts = tuple(found.get(c, filled(c, 0.0)) for c in cotangents)
    return parts if op.outputs > 1 else parts[0]


class Motion:
    """Where tangents may be other than zero beside the point: a truth for each entry, True for all of them, False for none.

    It is read from how a tangent is made: of branches that are not taken, of pieces that are flat, of zeros of the program.
    """

    def __init__(self) -> None:
        self.known: dict[Expr, Any] = {}

    def of(self, node: Expr) -> Any:
        stack = [node]
        while stack:
            top = stack[-1]
            if top in self.known:
                stack.pop()
                continue
            asked = _asked(top)
            open_ = [operand for operand in asked if operand not in self.known]
            if open_:
                stack.extend(open_)
            else:
                self.known[stack.pop()] = self._of(top, [self.known[operand] for operand in asked])
        return self.known[node]

    def _of(self, node: Expr, moving: Sequence[Any]) -> Any:
        op = node.op
        if op is None:
            return True if node.is_leaf else _nonzero(node)
        if all(part is True for part in moving):
            return True
        role = op.algebra
        if op is where:
            chosen, x, y = node.operands[0], *moving
            return _either(_both(chosen, x), _both(logical_not(chosen), y) if y is not False else False)
        if role in ("product", "chain"):
            return _both(*moving)
        if role in ("sum", "difference"):
            return _either(*moving)
        if role in ("quotient", "negation"):
            return moving[0]
        if all(part is False for part in moving):
            return False
        if op is take_along:
            return not_equal(take_along(_as_numbers(moving[0], node.operands[0]), node.operands[1], **node.static), 0.0)
        masks = [_as_numbers(part, operand) for part, operand in zip(moving, node.operands, strict=True)]
        return not_equal(op(*masks, **node.static), 0.0)


def _asked(node: Expr) -> Sequence[Expr]:
    """The operands that tell whether a node moves; none where it may, whatever they do."""
    op = node.op
    operands = [operand for operand in node.operands if operand is not None]
    if op is None or len(operands) < len(node.operands):
        return ()
    if op is take_along:
        return operands[:1]
    if op is where:
        return operands[1:]
    role = op.algebra
    if role == "quotient":
        return operands[:1]
    if role in ("product", "chain", "sum", "difference", "negation"):
        return operands
    return operands if op.moves or op.adds == "entries" else ()


def _nonzero(node: Expr) -> Any:
    zeros = np.equal(node.payload, 0)
    if not zeros.any():
        return True
    return False if zeros.all() else node.graph.constant(~zeros)


def _as_numbers(part: Any, like: Any) -> Expr:
    """A truth, which may be one for many entries, as numbers for each."""
    if isinstance(part, bool):
        return filled(like, float(part))
    numbers: Expr = to_float(part)
    return numbers if part.shape == like.shape else broadcast_to(numbers, shape=like.shape)


def _both(x: Any, y: Any) -> Any:
    return _joined(x, y, False, logical_and)


def _either(x: Any, y: Any) -> Any:
    return _joined(x, y, True, logical_or)


def _joined(x: Any, y: Any, winner: bool, join: Callable[..., Any]) -> Any:
    if x is winner or y is winner:
        return winner
    if isinstance(x, bool):
        return y
    return x if isinstance(y, bool) or x is y else join(x, y)
