"""A query as a function of columns: its value and derivatives at many points at once, by the engine's own forward pass and sweep.

What depends on the names entry by entry is rebuilt over leaves that are columns, once for each length of them. Anything else, as a
matrix of the names, is computed point by point on one graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import one_hot
from gradcli.language.scope import Scope

_LENGTHS = (32, 512, 4096)  # of columns: shorter ones are filled up


class Points(NamedTuple):
    """What came of points: values, in the shape of the result behind the first axis, and derivatives of each entry by each name."""

    values: np.ndarray
    slopes: dict[str, np.ndarray]


class Columns:
    """A query as a function of some names, with derivatives by some names; all of them numbers.

    moving   the names that the points are of, as leaves; the result need not depend on them
    wrt      the names to differentiate by
    work     scalar operations of a point, by count
    """

    def __init__(self, scope: Scope, root: Expr, moving: Mapping[str, Expr | None], wrt: Mapping[str, Expr | None]) -> None:
        self.scope, self.root, self.moving, self.wrt = scope, root, moving, wrt
        self.order = reachable([root])
        self.leaves = list(dict.fromkeys(leaf for leaf in (*moving.values(), *wrt.values()) if leaf is not None and leaf in self.order))
        self.entrywise = self._is_entrywise()
        self.work = sum(math.prod(node.shape) if node.op is None or node.op.outputs == 1 else 1 for node in self.order)
        self._made: dict[int, tuple[dict[Expr, Expr], Expr, list[Expr]]] = {}

    def _is_entrywise(self) -> bool:
        depends = set(self.leaves)
        for node in self.order:
            if node.op is None or depends.isdisjoint(node.operands):
                continue
            gives_what_it_takes = node.op.rewriting.unchanged and not node.op.rewriting.repeats
            if not node.op.elementwise and not gives_what_it_takes:
                return False
            depends.add(node)
        return True

    def __call__(self, *columns: Any) -> Points:
        """The values and derivatives at points, of which each column has the numbers of one name."""
        given = [np.asarray(column, np.float64) for column in columns]
        count = len(given[0])
        if not count:
            return Points(np.empty((0, *self.root.shape)), {name: np.empty((0, *self.root.shape)) for name in self.wrt})
        if not self.entrywise:
            return self._one_by_one(given)
        parts = []
        for start in range(0, count, _LENGTHS[-1]):
            parts.append(self._together([column[start : start + _LENGTHS[-1]] for column in given]))
        return Points(np.concatenate([p.values for p in parts]), {n: np.concatenate([p.slopes[n] for p in parts]) for n in self.wrt})

    def _together(self, columns: Sequence[np.ndarray]) -> Points:
        count, shape = len(columns[0]), self.root.shape
        length = next(n for n in _LENGTHS if n >= count)
        leaves, root, order = self._over(length)
        values = dict(self.scope.values)
        by_leaf = {leaf: column for leaf, column in zip(self.moving.values(), columns, strict=True) if leaf is not None}
        for leaf, wide in leaves.items():
            numbers = by_leaf.get(leaf)
            if numbers is None:
                filled = np.broadcast_to(self.scope.values[leaf], wide.shape)
            else:
                padded = np.concatenate([numbers, np.full(length - count, numbers[-1])])
                filled = np.broadcast_to(padded.reshape(length, *(1 for _ in shape)), wide.shape)
            values[wide] = np.array(filled)
        found = forward([root], values, "float64", order)
        value = np.broadcast_to(found[root], (length, *shape))
        adjoints: dict[Any, Any] = {}
        if root.shape == (length, *shape):
            with np.errstate(all="ignore"):
                adjoints = gradients(order, {root: np.ones(root.shape)}, list(leaves.values()), found.__getitem__)
        slopes = {}
        for name, asked in self.wrt.items():
            part = None if asked is None or asked not in leaves else adjoints.get(leaves[asked])
            slopes[name] = np.zeros((count, *shape)) if part is None else np.array(np.broadcast_to(part, value.shape)[:count], np.float64)
        return Points(np.array(value[:count], np.float64), slopes)

    def _over(self, length: int) -> tuple[dict[Expr, Expr], Expr, list[Expr]]:
        """The same expression over columns: they have an axis for the points before those of the result."""
        if length not in self._made:
            shape = (length, *self.root.shape)
            leaves = {leaf: self.root.graph.leaf(leaf.payload.name, shape) for leaf in self.leaves}
            (root,) = rebuild([self.root], leaves, self.root.graph)
            self._made[length] = leaves, root, reachable([root])
        return self._made[length]

    def _one_by_one(self, columns: Sequence[np.ndarray]) -> Points:
        count, shape = len(columns[0]), self.root.shape
        values = np.full((count, *shape), np.nan)
        slopes = {name: np.full((count, *shape), np.nan) for name in self.wrt}
        table = dict(self.scope.values)
        for place in range(count):
            for moved, column in zip(self.moving.values(), columns, strict=True):
                if moved is not None:
                    table[moved] = column[place]
            try:
                found = forward([self.root], table, "float64", self.order)
            except EvaluationError:
                continue  # no value at all, as the inverse of a singular matrix
            values[place] = found[self.root]
            for index in np.ndindex(shape):
                self._sweep(found, index, place, slopes)
        return Points(values, slopes)

    def _sweep(self, found: Mapping[Expr, Any], index: tuple[int, ...], place: int, slopes: dict[str, np.ndarray]) -> None:
        shape = self.root.shape
        seed = one_hot(int(np.ravel_multi_index(index, shape)), shape) if shape else np.float64(1.0)
        try:
            with np.errstate(all="ignore"):
                adjoints = gradients(self.order, {self.root: seed}, self.leaves, found.__getitem__)
        except (ValueError, ArithmeticError):
            return
        for name, leaf in self.wrt.items():
            part = None if leaf is None else adjoints.get(leaf)
            slopes[name][(place, *index)] = 0.0 if part is None else part
