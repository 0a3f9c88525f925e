"""A linear program for many directions at once: every node that depends on the direction has one axis more, the last.

Matrices times directions are then matrices times matrices. What has no form here raises `NotBatched`, and directions come one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from gradcli.graph.interpret import Rebuilding
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.arrays.shapes import broadcast_to, getitem, reshape, scatter_add, stack, sum_to, transpose
from gradcli.ops.linalg.products import matmul
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op
from gradcli.ops.writing import axes_of


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
