"""Derivatives in many directions: what does not depend on the direction is computed once, and the rest, which is linear in it, for each.

A direction is a tangent of variables, which is pushed forwards, or a cotangent of a result, which is pulled back. The graph of the
derivative in one is cut where it begins to depend on it: what lies before is a plan of its own, whose results the other one takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gradcli.graph.interpret import Rebuilding, forward, interpret, size_of
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.transforms import Tangents, vjp, zeros_like
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.batching import on_batch
from gradcli.ops.spec import Op
from gradcli.plans.backend import OFTEN
from gradcli.plans.folding import Folder
from gradcli.plans.index_form import in_order
from gradcli.plans.plan import Plan
from gradcli.plans.source import Nodes

# -- A linear program for many directions at once: every node that depends on the direction has one
# axis more, the first. What has no form for that raises `NotBatched`, and directions come one by one.


class NotBatched(Exception):
    """An operation that has no form for many directions."""


class Batched(Rebuilding):
    """The nodes of a graph for as many directions as the first axis has entries.

    moving  those that depend on the direction
    """

    def __init__(self, graph: Graph, moving: Collection[Expr], extent: int) -> None:
        super().__init__(graph)
        self.moving, self.extent = moving, extent

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if node not in self.moving:
            return super().operation(node, op, operands)
        given = [
            x if x is None else self._in_front(x, old in self.moving, node, op) for x, old in zip(operands, node.operands, strict=True)
        ]
        if op.elementwise:
            return self.graph.apply(op, given, node.static)
        found = on_batch(op, (self.extent,), given, node.static)
        if found is None or found.shape != (self.extent, *node.shape):
            raise NotBatched
        made: Expr = found
        return made

    def _in_front(self, x: Expr, moves: bool, node: Expr, op: Op) -> Expr:
        """An operand of a node with the axis of directions in front, of one entry where it is the same in all."""
        own = x.shape[1:] if moves else x.shape
        between = (1,) * (len(node.shape) - len(own) if op.elementwise else 0)
        shape = (self.extent if moves else 1, *between, *own)
        found: Expr = x if shape == x.shape else reshape(x, shape=shape)
        is_whole = moves or op.elementwise or op.core_dims is not None
        return found if is_whole else broadcast_to(found, shape=(self.extent, *own))


_FEW = 8  # directions that are not worth an axis
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
        self.all: Plan | None = None  # of all directions at once, which are the rows of what it takes and gives
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
    table |= {node: graph.leaf("directions", (times, *node.shape)) for node in directions}
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
