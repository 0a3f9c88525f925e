"""Derivatives inside of expressions of large arrays: what the engine has expanded them to is held against their definitions.

Both are functions of the variables. They are the same if they give the same at points that are moved along random directions: the reference
computes what the definition says, gradients by a pass of its own and what is a derivative along a vector by differences of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.ops.structure import derivative
from gradcli.reference.budget import Undecided
from gradcli.reference.extended import LongDoubles, pulled
from gradcli.reference.stand_ins import DIRECTIONS, SAFETY, STEPS, TOLERANCE, StandIns, differences

_LARGEST = 20_000  # nodes, each of which takes a millisecond
_FAR = 2.0**-7  # of an entry: how far points are moved
_EXACT = 1e-9  # of the larger of two gradients: what they may be apart


def hold_derivatives(root: Expr, leaves: Mapping[Expr, Any], precision: str, held: StandIns) -> None:
    """Hold every derivative inside of an expression against its definition, and note what is wrong. Raises Undecided for too many nodes."""
    order = reachable([root, *definition_order(root)])  # also what those inside of definitions are expanded to
    inner = [node for node in order if node.op is derivative]
    if not inner:
        return
    if len(order) > _LARGEST:
        raise Undecided(f"the limit of {_LARGEST:,} operations of derivatives inside of an expression (these have {len(order):,})")
    held.note(narrow=False)
    with np.errstate(all="ignore"):
        for _ in range(DIRECTIONS):
            moved = {leaf: _moved(held, leaf, value) for leaf, value in leaves.items()}
            point = _Point(order, moved, precision, held)
            for node in inner:
                if not point.confirms(node, node.static["of"]):
                    held.contradicted(f"an expression inside ({node.static['of'].kind})")


def _moved(held: StandIns, leaf: Expr, value: Any) -> Any:
    if leaf.kind != "float":
        return value
    return np.asarray(value, LONG_DOUBLE) + _FAR * held.direction(np.asarray(value, LONG_DOUBLE))


class _Point:
    """All that an expression and the definitions in it are made of, at one point."""

    def __init__(self, order: Sequence[Expr], leaves: Mapping[Expr, Any], precision: str, held: StandIns) -> None:
        self.order, self.held, self.domain = order, held, LongDoubles(leaves, precision, held)
        self.table = interpret(order, self.domain)

    def confirms(self, node: Expr, of: Derivation) -> bool:
        """Whether a derivative is what its definition says."""
        told, vector = self.table[node], None if of.vector is None else self.table[of.vector]
        if of.kind == "vjp":
            right = self._gradient(self.table, of, np.ones(of.y.shape) if vector is None else vector)
            return _alike(told, right, _EXACT * np.maximum(np.abs(told), np.abs(right)) + _EXACT * 1e-3 * _largest(right))
        direction = self.held.direction(self.table[of.x]) if vector is None else vector
        if of.kind in ("jacobian", "hessian"):
            axes = np.ndim(direction)
            told = np.tensordot(told, direction, axes) if axes else told * direction
        found = differences(lambda step: self._along(of, step * direction), STEPS[WIDER])
        room = SAFETY * found.error + TOLERANCE * (np.abs(told) + _largest(told))
        return _alike(told, found.slope, room)

    def _along(self, of: Derivation, step: Any) -> Any:
        """What is differentiated by a step of its variable: values, or gradients."""
        order = [node for node in self.order if node.index <= max(of.y.index, of.x.index)]
        table = interpret(order, self.domain, {of.x: self.table[of.x] + step})
        if of.kind in ("jvp", "jacobian"):
            return table[of.y]
        return self._gradient(table, of, np.ones(of.y.shape))

    def _gradient(self, table: Mapping[Expr, Any], of: Derivation, seed: Any) -> Any:
        adjoints, _ = pulled(reachable([of.y]), table, of.y, [of.x], seed, self.held)
        return adjoints[of.x][0] if of.x in adjoints else np.zeros(of.x.shape, LONG_DOUBLE)


def _largest(array: Any) -> Any:
    finite = np.abs(array)[np.isfinite(array)] if np.ndim(array) else np.abs(array)
    return np.max(finite, initial=0)


def _alike(told: Any, right: Any, room: Any) -> bool:
    """Whether no finite entry is further from the other than there is room."""
    off = np.abs(told - right)
    return not np.any(np.isfinite(off) & ~(off <= room))
