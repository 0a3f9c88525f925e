"""Derivatives in many directions: what does not depend on the direction is computed once, and the rest, which is linear in it, for each.

A direction is a tangent of variables, which is pushed forwards, or a cotangent of a result, which is pulled back. The graph of the
derivative in one is cut where it begins to depend on it: what lies before is a plan of its own, whose results the other one takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gradcli.graph.demand import size_of
from gradcli.graph.interpret import Rebuilding, forward, interpret
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.tangents import Tangents
from gradcli.graph.transforms import vjp, zeros_like
from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, scatter_add, stack, sum_to, transpose
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op
from gradcli.ops.writing import axes_of
from gradcli.plans.backend import OFTEN
from gradcli.plans.folding import Folder
from gradcli.plans.index_form import in_order
from gradcli.plans.plan import Plan
from gradcli.plans.source import Nodes

# -- A linear program for many directions at once: every node that depends on the direction has one
# axis more, the last.
#
# Matrices times directions are then matrices times matrices. What has no form here raises
# `NotBatched`, and directions come one by one.


class NotBatched(Exception):
    """An operation that has no form for many directions."""


class Batched(Rebuilding):
    """The nodes of a graph for as many directions as the last axis has entries.

    moving  those that depend on the direction
    """

    def __init__(self, graph: Graph, moving: Collection[Expr], extent: int) -> None:
        super().__init__(graph)
        self.moving, self.extent = moving, extent

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if node not in self.moving:
            return super().operation(node, op, operands)
        moves = [operand in self.moving for operand in node.operands]
        found = self._of(node, op, operands, moves)
        if found.shape != (*node.shape, self.extent):
            raise NotBatched
        return found

    def _of(self, node: Expr, op: Op, operands: Sequence[Any], moves: Sequence[bool]) -> Expr:
        static = node.static
        if op.elementwise:
            lifted = [x if moved or x is None else self._lifted(x) for x, moved in zip(operands, moves, strict=True)]
            return self.graph.apply(op, lifted, static)
        if op is matmul:
            return self._product(*operands, *moves)
        x = operands[0]
        if op is stack:
            whole = [
                y if moved else broadcast_to(self._lifted(y), shape=(*y.shape, self.extent))
                for y, moved in zip(operands, moves, strict=True)
            ]
            return self.graph.apply(op, whole, {"axis": static["axis"] % len(node.shape)})
        if op is sum_:
            return self.graph.apply(op, [x], {**static, "axis": axes_of(static["axis"], len(x.shape) - 1)})
        if op is transpose:
            axes = range(len(node.shape))[::-1] if static["axes"] is None else [axis % len(node.shape) for axis in static["axes"]]
            return self.graph.apply(op, [x], {"axes": (*axes, len(node.shape))})
        if op is getitem and None not in static["index"]:
            return self.graph.apply(op, [x], static)
        if op in (reshape, broadcast_to, sum_to, scatter_add) and None not in static.get("index", ()):
            return self.graph.apply(op, [x], {**static, "shape": (*static["shape"], self.extent)})
        raise NotBatched

    def _lifted(self, x: Expr) -> Expr:
        found: Expr = reshape(x, shape=(*x.shape, 1)) if x.shape else x
        return found

    def _product(self, x: Expr, y: Expr, x_moves: bool, y_moves: bool) -> Expr:
        """A product of a matrix or a vector that is fixed and one that moves."""
        fixed, moving = (y, x) if x_moves else (x, y)
        if x_moves == y_moves or len(fixed.shape) > 2 or len(moving.shape) > 3:
            raise NotBatched
        apply: Callable[..., Any] = matmul
        if x_moves:  # the transpose of the transposed product
            fixed = transpose(fixed, axes=None) if len(fixed.shape) == 2 else fixed
            moving = transpose(moving, axes=(1, 0, 2)) if len(moving.shape) == 3 else moving
        inner, *rest = moving.shape
        found = apply(fixed, reshape(moving, shape=(inner, math.prod(rest))))
        found = reshape(found, shape=(*fixed.shape[:-1], *rest))
        if x_moves and len(found.shape) == 3:
            found = transpose(found, axes=(1, 0, 2))
        made: Expr = found
        return made


_FEW = 8  # directions that are not worth an axis: it is the innermost one
_LONG = 1 << 9  # bytes of a node for each direction: loops along an axis of so many take longer than a call for each
_BYTES = 1 << 25  # of a node for all directions


class Runs(NamedTuple):
    """How plans are run."""

    precision: str
    backend: str = "auto"
    threads: int | None = None

    def plan(self, subject: Any, leaves: Sequence[Expr], calls: int = OFTEN, derived: int = 0) -> Plan:
        return Plan(subject, leaves, self.precision, backend=self.backend, threads=self.threads, calls=calls, derived=derived)


def pushed(outs: Sequence[Expr], tangents: Mapping[Expr, Expr]) -> list[Expr]:
    """The derivatives of nodes in the direction of tangents, in one walk: zeros for those that do not move."""
    found = interpret(reachable(outs), Tangents(), dict(tangents))
    return [zeros_like(out) if found[out] is None else found[out] for out in outs]


class _Ahead:
    """What is computed besides, and what all directions share: folded nodes, of which the first ones are what ``beside`` is."""

    def __init__(self, beside: Sequence[Expr], leaves: Sequence[Expr], roots: Sequence[Expr], leaves_of_roots: Sequence[Expr]) -> None:
        self.roots, self.graph, self.decides = list(roots), beside[0].graph, True
        self._beside, self._kept = list(beside), roots[len(beside) :]
        self._leaves = list(zip(leaves_of_roots, leaves, strict=True))

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        values = {leaf: given[taken] for taken, leaf in self._leaves}
        table = forward(self._beside, values, precision)
        kept = forward(self._kept, given, precision)
        return [*(table[node] for node in self._beside), *(kept[node] for node in self._kept)]


class Linearized:
    """Nodes, and the derivatives of some in directions that are given later.

    Where something is not finite, what is computed besides is what it is; the derivatives may be anything that is not finite.
    """

    def __init__(
        self,
        beside: Sequence[Expr],
        outs: Sequence[Expr],
        wrt: Sequence[Expr],
        leaves: Sequence[Expr],
        runs: Runs,
        *,
        back: bool,
        times: int,
    ) -> None:
        """``beside`` is computed besides; directions are of ``wrt``, or if ``back`` of ``outs``; a call has them so many ``times``."""
        graph = beside[0].graph
        self.shapes = [x.shape for x in (outs if back else wrt)]  # of a direction
        directions = [graph.leaf("direction", shape) for shape in self.shapes]
        ends = vjp(outs[0], wrt, directions[0]) if back else pushed(outs, dict(zip(wrt, directions, strict=True)))
        roots, taken = _folded([*beside, *ends], [*leaves, *directions])
        ends, moving = roots[len(beside) :], set(taken[len(leaves) :])
        order = reachable(ends)
        for node in order:
            if not moving.isdisjoint(node.operands):
                moving.add(node)
        cut = [o for node in order if node in moving for o in node.operands if o is not None and o not in moving and not o.is_constant]
        kept = list(dict.fromkeys([*cut, *(end for end in ends if end not in moving)]))
        self._many = len(beside)
        self._first = runs.plan(_Ahead(beside, leaves, [*roots[: len(beside)], *kept], taken[: len(leaves)]), taken[: len(leaves)])
        inner = Graph(graph.limits)
        table = {node: inner.leaf("kept", node.shape, node.kind) for node in [*kept, *taken[len(leaves) :]]}
        given = [*table.values()]
        interpret([node for node in order if node in moving or node.is_constant], Rebuilding(inner), table)
        self.all: Plan | None = None  # of all directions at once, which are the columns of what it takes and gives
        most = max((size_of(node) for node in order if node in moving), default=0)
        if ends and _FEW <= times <= _BYTES // max(most, 1) and most <= _LONG * times and all(end in moving for end in ends):
            self.all = _batched(ends, kept, taken[len(leaves) :], order, moving, times, runs)
        self._each = runs.plan(Nodes([table[end] for end in ends]), given, OFTEN * times) if ends else None

    def begun(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is computed besides, and what all directions share."""
        found = self._first(values)
        return found[: self._many], found[self._many :]

    def along(self, kept: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
        """The derivatives in one direction."""
        return [] if self._each is None else self._each([*kept, *directions])

    def text(self) -> str:
        if self.all is not None:
            return f"{self._first.text()}\nand for all directions\n{self.all.text()}"
        each = "" if self._each is None else f"\nand for each direction\n{self._each.text()}"
        return self._first.text() + each


def _batched(
    ends: Sequence[Expr], kept: Sequence[Expr], directions: Sequence[Expr], order: Sequence[Expr], moving: set[Expr], times: int, runs: Runs
) -> Plan | None:
    """The plan of all directions at once, if there is one."""
    graph = Graph(ends[0].graph.limits)
    table = {node: graph.leaf("kept", node.shape, node.kind) for node in kept}
    table |= {node: graph.leaf("directions", (*node.shape, times)) for node in directions}
    given = [*table.values()]
    try:
        interpret([node for node in order if node in moving or node.is_constant], Batched(graph, moving, times), table)
    except NotBatched:
        return None
    return runs.plan(Nodes([table[end] for end in ends]), given)


def _folded(roots: Sequence[Expr], leaves: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Nodes, folded on the assumption that all is finite, in a graph of their own, and its leaves."""
    folded = Folder(Graph(roots[0].graph.limits), assume_finite=True).fold(roots)
    graph = Graph(roots[0].graph.limits)
    table = {leaf: graph.leaf("taken", leaf.shape, leaf.kind) for leaf in leaves}
    taken = [*table.values()]
    interpret(in_order(folded), Rebuilding(graph), table)
    return [table[root] for root in folded], taken
