"""Derivatives in many directions, which lie along an axis.

Everything that does not depend on the direction is computed once. A direction is a tangent of
variables, which is pushed forwards, or a cotangent of a result, which is pulled back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, Graph, Rebuilding, dependents, interpret, reachable, size_of
from gradcli.graph.sweep import vjp
from gradcli.graph.transforms import push_tangents
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.batching import on_batch
from gradcli.ops.spec import Op
from gradcli.plans.backend import OFTEN
from gradcli.plans.plan import Plan
from gradcli.plans.source import Nodes


class NotBatched(Exception):
    """An operation that has no form for many directions."""


class Batched(Rebuilding):
    """The nodes of a graph for as many directions as the first axis has entries.

    moving  those that depend on the direction
    """

    def __init__(self, graph: Graph, moving: Collection[Expr], extent: int) -> None:
        super().__init__(graph)
        self.moving = moving
        self.extent = extent

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if node not in self.moving:
            return super().operation(node, op, operands)
        given = [
            x if x is None else self._in_front(x, old in self.moving, node, op)
            for x, old in zip(operands, node.operands, strict=True)
        ]
        if op.elementwise:
            return self.graph.apply(op, given, node.static)
        found = on_batch(op, (self.extent,), given, node.static)
        if found is None or found.shape != (self.extent, *node.shape):
            raise NotBatched
        made: Expr = found
        return made

    def _in_front(self, x: Expr, moves: bool, node: Expr, op: Op) -> Expr:
        """Return an operand of a node with the axis of directions in front.

        This axis has one entry where the operand is the same in all directions.
        """
        own = x.shape[1:] if moves else x.shape
        between = (1,) * (node.ndim - len(own) if op.elementwise else 0)
        shape = (self.extent if moves else 1, *between, *own)
        found: Expr = x if shape == x.shape else reshape(x, shape=shape)
        is_whole = moves or op.elementwise or op.core_dims is not None
        return found if is_whole else broadcast_to(found, shape=(self.extent, *own))


_BYTES = 1 << 27  # most bytes of a node for which all directions are computed at once


class Runs(NamedTuple):
    """Ways in which plans are run."""

    precision: str
    backend: str = "auto"
    threads: int | None = None

    def plan(
        self, subject: Any, leaves: Sequence[Expr], calls: int = OFTEN, derived: int = 0
    ) -> Plan:
        return Plan(
            subject,
            leaves,
            self.precision,
            backend=self.backend,
            threads=self.threads,
            calls=calls,
            derived=derived,
        )


class Linearized:
    """Nodes, and the derivatives of some in directions that are given later.

    Where something is not finite, what is computed besides is what it is; the derivatives may be
    anything that is not finite.

    shapes  of a direction
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
        """Prepare the derivatives of nodes.

        ``beside`` are nodes that are computed, too. Directions are those of ``wrt``, or of ``outs``
        if ``back`` is set. ``times`` is the number of directions in a call.
        """
        graph = beside[0].graph
        self._beside = len(beside)
        self._times = times
        self.shapes = [x.shape for x in (outs if back else wrt)]
        directions = [graph.leaf("direction", shape) for shape in self.shapes]
        ends = (
            vjp(outs[0], wrt, directions[0])
            if back
            else push_tangents(outs, dict(zip(wrt, directions, strict=True)))
        )
        roots = [*beside, *ends]
        moving = dependents(reachable(ends), directions)
        largest = max((size_of(node) for node in moving), default=0)
        self._is_batched = times * largest <= _BYTES
        inner = Graph(graph.limits)
        table = {leaf: inner.leaf("taken", leaf.shape, leaf.kind) for leaf in leaves}
        for direction in directions:
            table[direction] = inner.leaf("directions", (times, *direction.shape))
        taken = [*table.values()]
        try:
            if not self._is_batched:
                raise NotBatched
            interpret(reachable(roots), Batched(inner, moving, times), table)
        except NotBatched:
            self._is_batched = False
            taken = [*leaves, *directions]
        else:
            rows = [
                table[end]
                if end in moving
                else inner.apply(broadcast_to, (table[end],), {"shape": (times, *end.shape)})
                for end in ends
            ]
            roots = [*(table[node] for node in beside), *rows]
        self._plan = runs.plan(Nodes(roots), taken, OFTEN * (1 if self._is_batched else times))

    def __call__(
        self, values: Sequence[Any], directions: Sequence[np.ndarray]
    ) -> tuple[list[Any], list[np.ndarray]]:
        """Return the additional values, and the derivatives: a row for each direction.

        The rows are in the order of the directions.
        """
        n = self._beside
        if self._is_batched:
            found = self._plan([*values, *directions])
            return found[:n], found[n:]
        runs = [
            self._plan([*values, *(part[turn] for part in directions)])
            for turn in range(self._times)
        ]
        ends = zip(*(run[n:] for run in runs), strict=True)
        return runs[-1][:n], [np.stack(every) for every in ends]

    def text(self) -> str:
        which = "all directions" if self._is_batched else "each direction"
        return f"for {which}\n{self._plan.text()}"
