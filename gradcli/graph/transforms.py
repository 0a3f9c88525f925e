"""Forward mode, and derivatives as nodes of expressions.

Forward mode says how nodes move, and which of their tangents are zero all around the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import LimitError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr, Graph, Reached, interpret, reachable
from gradcli.graph.sweep import (
    backward,
    fill_like,
    grad,
    itself,
    plus,
    useful_nodes,
    vjp,
    zeros_like,
)
from gradcli.ops.arrays.shapes import broadcast_to, reshape, stack, take_along
from gradcli.ops.elementwise.logic import (
    Pieces,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from gradcli.ops.spec import Op
from gradcli.ops.structure import derivative, to_float


class Tangents(Reached):
    """The motion of nodes: a node for each that does, None for the others."""

    def __init__(self) -> None:
        self.motion = Motion()

    def times(self, tangent: Expr, partial: Any) -> Any:
        """Multiply a tangent by a partial.

        Entries that do not move around the point stay zero, however large the partial is.
        """
        if isinstance(partial, (int, float)):
            if partial == 0:
                return fill_like(tangent, 0.0)
            return tangent if partial == 1 else -tangent if partial == -1 else tangent * partial
        moving = True if partial.is_constant else self.motion.of(tangent)
        product = tangent * partial
        return product if moving is True else where(moving, product, 0.0)

    def operation(self, node: Expr, op: Op, tangents: list[Any]) -> Any:
        """Return the motion of an operation's result, or None if it does not move.

        Several results have a motion each.
        """
        operands, static = node.operands, node.static
        if all(part is None for part in tangents) or (op.partials is None and op.vjp is None):
            return None
        if op.linear and not op.elementwise:
            return op(
                *[
                    fill_like(x, 0.0) if t is None and x is not None else t
                    for x, t in zip(operands, tangents, strict=True)
                ],
                **static,
            )
        values = [node, *operands]
        total: Any = None
        for place, tangent in enumerate(tangents):
            partial = None if op.partials is None else op.partials[place]
            if tangent is None or (partial is None and op.partials is not None):
                continue
            if partial is None:
                term = _transpose_rule(node, op, place, tangent)
            elif type(partial) is Pieces:
                term = partial.flowing(self.times, tangent, values, static)
            else:
                term = self.times(tangent, partial(*values, **static))
            if term is None:
                continue
            if op.outputs == 1 and term.shape != node.shape:
                term = broadcast_to(term, shape=node.shape)
            total = (
                tuple(map(plus, total, term))
                if op.outputs > 1 and total is not None
                else plus(total, term)
            )
        return total if total is not None or op.outputs > 1 else fill_like(node, 0.0)


def _transpose_rule(node: Expr, op: Op, place: int, tangent: Expr) -> Any:
    """J t from a VJP rule: u -> vjp(u) is linear, and J t is the transpose of it applied to t."""
    wanted = tuple(i == place for i in range(len(node.operands)))
    cotangents = [
        node.graph.leaf("cotangent", shape)
        for shape in (node.shape if op.outputs > 1 else (node.shape,))
    ]
    pulled = op.pull(
        wanted,
        tuple(cotangents) if op.outputs > 1 else cotangents[0],
        node,
        *node.operands,
        **node.static,
    )
    part = pulled[place] if place < len(pulled) else None
    if part is None:
        return None
    if part.shape != tangent.shape:
        tangent = broadcast_to(tangent, shape=part.shape)
    reached = backward(reachable([part]), {part: tangent}, cotangents, itself)
    found = tuple([reached.get(c, fill_like(c, 0.0)) for c in cotangents])
    return found if op.outputs > 1 else found[0]


class Motion:
    """Entries whose tangents may be other than zero near the point.

    There is a truth for each entry, True for all of them, or False for none.

    The truths are read from how a tangent is made: from branches that are not taken, pieces that
    are flat, and zeros of the program.
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
            asked = _moving_operands(top)
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
            return _either(
                _both(chosen, x), _both(logical_not(chosen), y) if y is not False else False
            )
        if role in ("product", "chain"):
            return _both(*moving)
        if role in ("sum", "difference"):
            return _either(*moving)
        if role in ("quotient", "negation"):
            return moving[0]
        if all(part is False for part in moving):
            return False
        if op is take_along:
            return not_equal(
                take_along(
                    _as_numbers(moving[0], node.operands[0]), node.operands[1], **node.static
                ),
                0.0,
            )
        masks = [
            _as_numbers(part, operand) for part, operand in zip(moving, node.operands, strict=True)
        ]
        return not_equal(op(*masks, **node.static), 0.0)


def _moving_operands(node: Expr) -> Sequence[Expr]:
    """Return the operands that tell whether a node moves.

    There are none where the node may move, whatever its operands do.
    """
    op = node.op
    operands = node.given_operands
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
    """Convert a truth, which may be one for many entries, to a number for each entry."""
    if isinstance(part, bool):
        return fill_like(like, float(part))
    numbers: Expr = to_float(part)
    return numbers if part.shape == like.shape else broadcast_to(numbers, shape=like.shape)


def _both(x: Any, y: Any) -> Any:
    return _join(x, y, False, logical_and)


def _either(x: Any, y: Any) -> Any:
    return _join(x, y, True, logical_or)


def _join(x: Any, y: Any, winner: bool, join: Callable[..., Any]) -> Any:
    if x is winner or y is winner:
        return winner
    if isinstance(x, bool):
        return y
    return x if isinstance(y, bool) or x is y else join(x, y)


# -- Derivatives as graphs: Jacobian-vector products, Jacobian, Hessian. Each takes and gives nodes, so
# that they nest to any order.


_PER_NODE = 50  # nodes of a third derivative for each node of the function, roughly


@dataclass(frozen=True, eq=False, repr=False)
class Derivation:
    """Origin of a derivative inside an expression: what it is the derivative of.

    The judge computes it from this alone.
    """

    kind: str  # "vjp", "jvp", "jacobian", "hessian" or "hvp"
    y: Expr
    x: Expr
    vector: Expr | None = None
    growth: Growth | None = None


class Growth(NamedTuple):
    """Way in which a derivative has grown out of those that it is a derivative of."""

    order: int  # how many derivatives are nested
    first: int  # nodes that the innermost went through, times its rows
    nodes: int  # nodes that all of them went through

    def more(self, nodes: int) -> Growth:
        return self._replace(nodes=self.nodes + nodes)


def derive(kind: str, y: Expr, x: Expr, vector: Expr | None = None) -> Expr:
    """Return a derivative expression of the language.

    ``vector`` is the seed, or the tangent of "jvp" and "hvp". Raises TypeMismatchError where y
    depends on x by a number that was taken beforehand, whose part would be left out.
    """
    order, held = reachable([y]), y.graph.held
    flows = useful_nodes(order) & held.keys() if held else ()
    taken = (pair for node in order if node in flows for pair in held[node].items())
    for number, place in taken:
        if x in useful_nodes(reachable([number])):
            name = x.name if x.is_leaf else x.static.get("name")
            raise TypeMismatchError(
                f"no derivative by '{name}': it is {place}, which takes a number known beforehand"
            )
    if kind in ("hessian", "hvp") and y.size != 1:
        raise ShapeError(f"{kind} needs a scalar, not an array of shape {y.shape}")
    if kind in ("jvp", "hvp") and vector is not None and vector.shape != x.shape:
        raise ShapeError(
            f"the tangent has the shape {vector.shape}, the variable {x.shape}; they must be the "
            "same"
        )
    make: Any = {
        "vjp": grad,
        "jvp": lambda y, x, v: jvp(y, {x: v}),
        "hvp": hvp,
        "jacobian": jacobian,
        "hessian": hessian,
    }[kind]
    rows = {"jacobian": min(y.size, x.size), "hessian": x.size}
    growth = _growth(y, rows.get(kind, 1))
    made = y.graph.room
    with _hold_to_limit(y.graph, growth):
        expanded = make(y, x) if vector is None else make(y, x, vector)
    made -= y.graph.room
    node: Expr = derivative(expanded, of=Derivation(kind, y, x, vector, growth.more(made)))
    return node


def _growth(y: Expr, rows: int) -> Growth:
    """Return the growth of a derivative of y, before it is made."""
    nodes = reachable([y])
    inside = [node.static["of"].growth for node in nodes if node.op is derivative]
    if not inside:
        return Growth(1, rows * len(nodes), 0)
    return Growth(
        1 + max(g.order for g in inside),
        rows * max(g.first for g in inside),
        max(g.nodes for g in inside) + len(nodes),
    )


@contextmanager
def _hold_to_limit(graph: Graph, growth: Growth) -> Iterator[None]:
    """Hold a derivative of a derivative to the limit.

    A large expression may have as many more nodes as derivatives of low orders take.
    """
    if growth.order == 1:
        yield
        return
    limit = graph.limits.derivatives
    error = LimitError(
        f"the derivative of order {growth.order} goes through more than {limit:,} operations,"
        " counted with those that it is made of",
        help=f"raise it with --limit derivatives={10 * limit}",
    )
    left = limit + _PER_NODE * growth.first - growth.nodes
    if left < 0:
        raise error
    with graph.held_to(left, error):
        yield


def push_tangents(outs: Sequence[Expr], tangents: Mapping[Expr, Expr]) -> list[Expr]:
    """Return the derivatives of nodes in the direction of tangents, by forward mode.

    One walk computes all of them; nodes that do not change have zeros.
    """
    found = interpret(reachable(outs), Tangents(), dict(tangents))
    return [zeros_like(out) if found[out] is None else found[out] for out in outs]


def jvp(y: Expr, tangents: Mapping[Expr, Expr]) -> Expr:
    return push_tangents([y], tangents)[0]


def one_hot(index: int, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    out.flat[index] = 1.0
    return out


def jacobian(y: Expr, x: Expr) -> Expr:
    """Return all partial derivatives, of shape y.shape + x.shape.

    They are computed by rows or by columns, whichever are fewer.
    """
    rows, columns = y.size, x.size
    y.graph.limits.check_derivatives(rows, columns)
    if not y.shape:
        return grad(y, x)
    if rows * columns == 0:
        matrix: Expr = broadcast_to(y.graph.constant(0.0), shape=(*y.shape, *x.shape))
        return matrix
    if rows <= columns:
        parts = [vjp(y, [x], y.graph.constant(one_hot(i, y.shape)))[0] for i in range(rows)]
    else:
        parts = [jvp(y, {x: x.graph.constant(one_hot(i, x.shape))}) for i in range(columns)]
    matrix = reshape(stack(*parts, axis=0 if rows <= columns else -1), shape=(*y.shape, *x.shape))
    return matrix


def hessian(y: Expr, x: Expr) -> Expr:
    """Return the second derivatives of a scalar y, of shape x.shape + x.shape."""
    return jacobian(grad(y, x), x)


def hvp(y: Expr, x: Expr, v: Expr) -> Expr:
    """Return the Hessian of a scalar y times v.

    A Hessian is symmetric, so the product is a VJP of the gradient.
    """
    return vjp(grad(y, x), [x], v)[0]
