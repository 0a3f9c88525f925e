"""A query as a function of columns.

Its value and derivatives at many points at once are computed by the engine's own forward pass and
sweep. An expression that depends on the names entry by entry is rebuilt over leaves that are
columns, once. Any other, such as one with a matrix of the names, is computed point by point on one
graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.graph.nodes import Expr, forward, reachable, rebuild
from gradcli.graph.sweep import vjps_at
from gradcli.graph.transforms import one_hot
from gradcli.language.scope import Scope
from gradcli.plots.places import Probe

_LENGTH = 512  # length of columns; shorter ones are filled up


class Points(NamedTuple):
    """The results at points, in the shape of the result behind the first axis.

    slopes  the derivatives of each entry by each name
    inside  where a value is finite, and nothing on the way to it is infinite
    """

    values: np.ndarray
    slopes: dict[str, np.ndarray]
    inside: np.ndarray


def in_range(order: Sequence[Expr], values: Mapping[Expr, Any]) -> Any:
    """Return where the last node of an order is finite, and nothing on the way is infinite.

    Where something is chosen (`where`), what is not chosen may be anything.
    """
    found = np.isfinite(np.asarray(values[order[-1]], float))
    selects = any(node.op is not None and node.op.selects for node in order)
    for node in () if selects else order:
        if node.kind == "float" and node.op is not None and node.op.elementwise:
            found = found & ~np.isinf(values[node])
    return found


@dataclass
class Columns:
    """A query as a function of some names, with derivatives by some names; all of them numbers.

    moving   the names that the points are of, as leaves; the result need not depend on them
    wrt      the names to differentiate by
    work     scalar operations of a point, by count
    """

    scope: Scope
    root: Expr
    moving: Mapping[str, Expr | None]
    wrt: Mapping[str, Expr | None]

    def __post_init__(self) -> None:
        self.order = reachable([self.root])
        self.leaves = list(
            dict.fromkeys(
                leaf
                for leaf in (*self.moving.values(), *self.wrt.values())
                if leaf is not None and leaf in self.order
            )
        )
        self.entrywise = self._is_entrywise()
        self.work = sum(
            node.size if node.op is None or node.op.outputs == 1 else 1 for node in self.order
        )

    def _is_entrywise(self) -> bool:
        depends = set(self.leaves)
        for node in self.order:
            if node.op is None or depends.isdisjoint(node.operands):
                continue
            gives_what_it_takes = node.op.algebra == "identity"
            if not node.op.elementwise and not gives_what_it_takes:
                return False
            depends.add(node)
        return True

    @np.errstate(all="ignore")
    def __call__(self, *columns: Any) -> Points:
        """Return the values and derivatives at points; each column has the numbers of one name."""
        count = len(columns[0])
        fill, step = (self._together, _LENGTH) if self.entrywise else (self._alone, 1)
        room = (0, -count % step)
        given = [np.pad(np.asarray(column, np.float64), room, "edge") for column in columns]
        shape = (len(given[0]), *self.root.shape)
        points = Points(
            np.full(shape, np.nan),
            {name: np.full(shape, np.nan) for name in self.wrt},
            np.zeros(shape, bool),
        )
        for start in range(0, count, step):
            part = slice(start, start + step)
            by_leaf = zip(self.moving.values(), given, strict=True)
            fill(points, part, {x: column[part] for x, column in by_leaf if x is not None})
        values = points.values[:count]
        slopes = {
            name: np.where(np.isnan(values), values, slope[:count])  # log has no slope below 0
            for name, slope in points.slopes.items()
        }
        return Points(values, slopes, points.inside[:count])

    def along(self, name: str, fixed: Mapping[str, float]) -> Probe:
        """Return a function for the values and the slopes along a name, the other names fixed.

        Both have a column for each entry of the result.
        """
        function = Columns(self.scope, self.root, self.moving, {name: self.moving[name]})
        entries = self.root.size

        def probe(xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            columns = (xs if n == name else np.full(len(xs), fixed[n]) for n in self.moving)
            found = function(*columns)
            shape = (len(xs), entries)
            return found.values.reshape(shape), found.slopes[name].reshape(shape)

        return probe

    def _together(self, points: Points, part: slice, columns: Mapping[Expr, np.ndarray]) -> None:
        leaves, root, order = self._wide
        values = dict(self.scope.values)
        for leaf, wide in leaves.items():
            column = columns.get(leaf)
            filled = (
                values[leaf] if column is None else column.reshape(-1, *(1 for _ in wide.shape[1:]))
            )
            values[wide] = np.array(np.broadcast_to(filled, wide.shape))
        found = forward([root], values, "float64", order)
        points.values[part], points.inside[part] = found[root], in_range(order, found)
        adjoints: dict[Any, Any] = {}
        if self.wrt and root.shape == points.values[part].shape:
            adjoints = vjps_at(root, np.ones(root.shape), [*leaves.values()], found, order)
        for name, asked in self.wrt.items():
            slope = None if asked is None else adjoints.get(leaves.get(asked))
            points.slopes[name][part] = 0.0 if slope is None else slope

    @cached_property
    def _wide(self) -> tuple[dict[Expr, Expr], Expr, list[Expr]]:
        """Expression over columns, with its leaves and its nodes in order.

        Its arrays have an axis for the points before those of the result.
        """
        shape = (_LENGTH, *self.root.shape)
        leaves = {leaf: self.root.graph.leaf(leaf.name, shape) for leaf in self.leaves}
        (root,) = rebuild([self.root], leaves)
        return leaves, root, reachable([root])

    def _alone(self, points: Points, part: slice, columns: Mapping[Expr, np.ndarray]) -> None:
        """One point, and the derivatives of each entry of the result by themselves."""
        given = {leaf: column[0] for leaf, column in columns.items()}
        try:
            found = forward([self.root], {**self.scope.values, **given}, "float64", self.order)
        except (EvaluationError, ValueError, ArithmeticError):
            return  # no value at all, such as the inverse of a singular matrix
        points.values[part] = found[self.root]
        points.inside[part] = np.all(in_range(self.order, found))
        shape = self.root.shape
        for place, index in enumerate(np.ndindex(shape)) if self.wrt else ():
            seed = one_hot(place, shape)[()]
            try:
                adjoints = vjps_at(self.root, seed, self.leaves, found, self.order)
            except EvaluationError:
                continue
            for name, leaf in self.wrt.items():
                slope = None if leaf is None else adjoints.get(leaf)
                points.slopes[name][(part.start, *index)] = 0.0 if slope is None else slope
