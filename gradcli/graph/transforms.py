"""Derivatives as graphs: gradient, vector-Jacobian and Jacobian-vector products, Jacobian, Hessian.

Each takes and gives nodes, so that they nest to any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gradcli.errors import LimitError, ShapeError
from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.tangents import Tangents, filled
from gradcli.ops.arrays.shapes import broadcast_to, reshape, stack
from gradcli.ops.structure import derivative

_PER_NODE = 50  # a third derivative has about as many nodes for each of the function


@dataclass(frozen=True, eq=False, repr=False)
class Derivation:
    """What a derivative inside an expression is the derivative of; the judge computes it from this alone."""

    kind: str  # "vjp", "jvp", "jacobian", "hessian" or "hvp"
    y: Expr
    x: Expr
    vector: Expr | None = None
    growth: Growth | None = None


class Growth(NamedTuple):
    """How a derivative has grown out of those that it is a derivative of."""

    order: int  # how many are inside of one another
    first: int  # nodes that the innermost went through, as many times as it has rows
    nodes: int  # that all went through

    def more(self, nodes: int) -> Growth:
        return self._replace(nodes=self.nodes + nodes)


def derive(kind: str, y: Expr, x: Expr, vector: Expr | None = None) -> Expr:
    """A derivative expression of the language. ``vector`` is the seed, or the tangent of "jvp" and "hvp"."""
    if kind in ("hessian", "hvp") and math.prod(y.shape) != 1:
        raise ShapeError(f"{kind} needs a scalar, not an array of shape {y.shape}")
    if kind in ("jvp", "hvp") and vector is not None and vector.shape != x.shape:
        raise ShapeError(f"the tangent has the shape {vector.shape}, the variable {x.shape}; they must be the same")
    rows = {"jacobian": min(math.prod(y.shape), math.prod(x.shape)), "hessian": math.prod(x.shape)}
    growth = _growth(y, rows.get(kind, 1))
    made = y.graph.room
    with _bounded(y.graph, growth):
        if kind == "vjp":
            expanded = grad(y, x, vector)
        elif kind == "jvp":
            assert vector is not None
            expanded = jvp(y, {x: vector})
        elif kind == "hvp":
            assert vector is not None
            expanded = hvp(y, x, vector)
        else:
            expanded = jacobian(y, x) if kind == "jacobian" else hessian(y, x)
    made -= y.graph.room
    node: Expr = derivative(expanded, of=Derivation(kind, y, x, vector, growth.more(made)))
    return node


def _growth(y: Expr, rows: int) -> Growth:
    """Of a derivative of y, before it is made."""
    nodes = reachable([y])
    inside = [node.static["of"].growth for node in nodes if node.op is derivative]
    if not inside:
        return Growth(1, rows * len(nodes), 0)
    return Growth(1 + max(g.order for g in inside), rows * max(g.first for g in inside), max(g.nodes for g in inside) + len(nodes))


@contextmanager
def _bounded(graph: Graph, growth: Growth) -> Iterator[None]:
    """Hold a derivative of a derivative to the limit. A large expression may have as many more nodes as derivatives of low orders take."""
    if growth.order == 1:
        yield
        return
    limit = graph.limits.derivatives
    error = LimitError(
        f"the derivative of order {growth.order} goes through more than {limit:,} operations, counted with those that it is made of",
        help=f"raise it with --limit derivatives={10 * limit}",
    )
    left = limit + _PER_NODE * growth.first - growth.nodes
    if left < 0:
        raise error
    with graph.held_to(left, error):
        yield


def definition_order(root: Expr, also: Sequence[Expr] = ()) -> list[Expr]:
    """The nodes that the function depends on: under a derivative, its definition instead of its expansion."""
    seen: set[Expr] = set()
    stack = [root, *also]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(definition(node))
    return sorted(seen, key=lambda node: node.index)


def definition(node: Expr) -> list[Expr]:
    """Return what the judge computes a node from."""
    if node.op is derivative:
        of: Derivation = node.static["of"]
        return [of.y, of.x] if of.vector is None else [of.y, of.x, of.vector]
    return [operand for operand in node.operands if operand is not None]


def zeros_like(node: Expr) -> Expr:
    return filled(node, 0.0)


def ones_like(node: Expr) -> Expr:
    return filled(node, 1.0)


def vjp(y: Expr, wrt: Sequence[Expr], seed: Expr) -> list[Expr]:
    """The vector-Jacobian products of y with a seed of its shape, zeros where y does not depend."""
    if seed.shape != y.shape:
        raise ShapeError(f"the seed has the shape {seed.shape}, the output {y.shape}; they must be the same")
    found = backward(reachable([y]), {y: seed}, wrt, itself)
    return [found[x] if x in found else zeros_like(x) for x in wrt]


def grad(y: Expr, x: Expr, seed: Expr | None = None) -> Expr:
    """The vector-Jacobian product of y with a seed; without one, with ones: the gradient of the sum."""
    if seed is None:
        seed = ones_like(y)
    return vjp(y, [x], seed)[0]


def jvp(y: Expr, tangents: Mapping[Expr, Expr]) -> Expr:
    """The derivative of y in the direction of tangents, by forward mode."""
    found: Expr | None = interpret(reachable([y]), Tangents(), dict(tangents))[y]
    return zeros_like(y) if found is None else found


def one_hot(index: int, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    out.flat[index] = 1.0
    return out


def jacobian(y: Expr, x: Expr) -> Expr:
    """All partial derivatives, of shape y.shape + x.shape, by rows or by columns, whichever are fewer."""
    rows, columns = math.prod(y.shape), math.prod(x.shape)
    if rows * columns > y.graph.limits.tangents:
        raise LimitError(
            f"a Jacobian of {rows} x {columns} entries is over the limit of {y.graph.limits.tangents:,}",
            help=f"raise it with --limit tangents={rows * columns}",
        )
    if not y.shape:
        return grad(y, x)
    matrix: Expr
    if rows * columns == 0:
        matrix = broadcast_to(y.graph.constant(0.0), shape=(*y.shape, *x.shape))
        return matrix
    if rows <= columns:
        parts = [vjp(y, [x], y.graph.constant(one_hot(i, y.shape)))[0] for i in range(rows)]
        matrix = reshape(stack(*parts, axis=0), shape=(*y.shape, *x.shape))
        return matrix
    parts = [jvp(y, {x: x.graph.constant(one_hot(i, x.shape))}) for i in range(columns)]
    matrix = reshape(stack(*parts, axis=-1), shape=(*y.shape, *x.shape))
    return matrix


def hessian(y: Expr, x: Expr) -> Expr:
    """The second derivatives of a scalar y, of shape x.shape + x.shape."""
    return jacobian(grad(y, x), x)


def hvp(y: Expr, x: Expr, v: Expr) -> Expr:
    """The Hessian of a scalar y times v: a Hessian is symmetric, so a VJP of the gradient."""
    return vjp(grad(y, x), [x], v)[0]
