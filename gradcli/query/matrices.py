"""All derivatives of some nodes by others, as a matrix.

One program computes it where that is short; otherwise it is computed direction by direction.

Rows are the entries of results, one result after the other; columns are those of variables. There
are as many directions as the pattern of the matrix has colours. Entries that are not finite are
computed again row by row, by the sweep that decides zero times infinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, forward, hold_work, reachable
from gradcli.graph.sparsity import (
    Compression,
    Pattern,
    compress_hessian,
    compress_jacobian,
    dependence,
    symmetric,
)
from gradcli.graph.sweep import vjps_at
from gradcli.graph.transforms import jacobian, one_hot
from gradcli.plans.linearized import Linearized, Runs

_SHORT = 2_000  # most nodes of a program that holds every direction
_FEW, _MOST_BLOCKS = 32, 128  # its most directions, and most blocks, each derived on its own


@dataclass(eq=False)
class Derivatives:
    """The derivatives of ``outs`` by ``wrt``, of which there is a matrix."""

    outs: list[Expr]
    wrt: list[Expr]
    beside: list[Expr]  # what is computed along with them: values, gradients
    leaves: list[Expr]  # inputs of the plans
    runs: Runs
    is_symmetric: bool  # whether the matrix is a Hessian

    def __post_init__(self) -> None:
        self.shape = (sum(node.size for node in self.outs), sum(node.size for node in self.wrt))
        self.graph = self.beside[0].graph
        self.blocks = [*product(self.outs, self.wrt)]  # row by row

    @cached_property
    def pattern(self) -> Pattern:
        """The entries that may be other than zero."""
        found = dependence(self.outs, self.wrt)
        return symmetric(found) if self.is_symmetric else found

    @cached_property
    def compression(self) -> tuple[bool, Compression]:
        """Flag for pulling directions back, and the way to read the pattern's entries from them."""
        return (
            (False, compress_hessian(self.pattern))
            if self.is_symmetric
            else compress_jacobian(self.pattern)
        )

    def hold(self, entries: int, sweeps: int) -> None:
        """Raise LimitError for a matrix of too many entries, or one that takes too much work."""
        limits = self.graph.limits
        limits.check_derivatives(*self.shape, entries)
        limits.check_array((entries,))
        hold_work(limits, reachable(self.outs), self.wrt, sweeps)

    def rows(self, table: Mapping[Expr, Any], wanted: Sequence[int]) -> np.ndarray:
        """Rows of the matrix, each by a sweep over values that are known."""
        found = []
        begins = np.cumsum([0, *(node.size for node in self.outs)])
        for row in wanted:
            place = int(np.searchsorted(begins, row, "right")) - 1
            out = self.outs[place]
            seed = one_hot(row - int(begins[place]), out.shape).astype(
                np.asarray(table[out]).dtype
            )[()]
            slopes = vjps_at(out, seed, self.wrt, table)
            parts = [np.ravel(slopes.get(x, np.zeros(x.shape))) for x in self.wrt]
            found.append(np.concatenate(parts))
        return np.reshape(found, (len(wanted), self.shape[1]))

    def cut(self, whole: Any) -> list[Any]:
        """Cut the matrix into blocks, each of its result's shape followed by its variable's."""
        parts = zip(self.parts(whole), self.blocks, strict=True)
        return [
            np.ascontiguousarray(part).reshape((*out.shape, *x.shape))[()]
            for part, (out, x) in parts
        ]

    def parts(self, whole: Any) -> list[Any]:
        """Return the blocks of the matrix, a dense or a sparse array, as matrices."""
        if len(self.blocks) == 1:
            return [whole]
        return [whole[place] for place in product(slices_of(self.outs), slices_of(self.wrt))]

    def join(self, blocks: Sequence[Any]) -> np.ndarray:
        """Join blocks into the matrix."""
        if not blocks:
            return np.zeros(self.shape)
        matrices = [
            np.reshape(block, (out.size, x.size))
            for block, (out, x) in zip(blocks, self.blocks, strict=True)
        ]
        if len(matrices) == 1:
            return matrices[0]
        count = len(self.wrt)
        return np.block([matrices[i : i + count] for i in range(0, len(matrices), count)])

    def table(self, given: Mapping[Expr, Any]) -> Mapping[Expr, Any]:
        """Return the values of all nodes, array by array."""
        return forward([*self.outs, *self.beside], given, self.runs.precision)


class Short:
    """Every direction in one program, as arrays."""

    def __init__(self, of: Derivatives) -> None:
        self.of = of
        self.graph = of.graph
        self.decides = True
        self.roots = [*of.beside, *(jacobian(out, x) for out, x in of.blocks)]
        self._many = len(of.beside)
        self._plan = of.runs.plan(self, of.leaves, derived=len(of.blocks))

    @property
    def pays(self) -> bool:
        """True if one program takes less time than direction after direction.

        That is so if it is written on floats, or if there are no fewer directions.
        """
        return self._plan.is_unrolled or 2 * self.of.compression[1].number >= min(self.of.shape)

    @staticmethod
    def suits(of: Derivatives) -> bool:
        directions = min(of.shape)
        return (
            directions <= _FEW
            and len(of.blocks) <= _MOST_BLOCKS
            and directions * len(reachable(of.outs)) <= _SHORT
        )

    def interpret(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """Row by row."""
        of = self.of
        table = of.table(given)
        whole = of.rows(table, range(of.shape[0]))
        return [*(table[node] for node in of.beside), *of.cut(whole)]

    def blocks(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        found = self._plan(values)
        return found[: self._many], found[self._many :]

    def text(self) -> str:
        return self._plan.text()


class Compressed:
    """A direction for each colour of the pattern."""

    def __init__(self, of: Derivatives) -> None:
        self.of = of
        back, self.compression = of.compression
        of.hold(of.pattern.columns.size, self.compression.number)
        count = max(1, self.compression.number)
        self._linear = Linearized(
            of.beside, of.outs, of.wrt, of.leaves, of.runs, back=back, times=count
        )
        whole = np.equal.outer(np.arange(count), self.compression.colors).astype(of.runs.precision)
        parts = zip(slices_of(of.outs if back else of.wrt), self._linear.shapes, strict=True)
        self._directions = [whole[:, entries].reshape((count, *shape)) for entries, shape in parts]

    def entries(self, values: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
        """Return the nodes computed besides, and the entries of the pattern."""
        beside, whole = self._linear(values, self._directions)
        rows = [np.reshape(part, (len(part), -1)) for part in whole] or [
            np.empty((1, 0), self.of.runs.precision)
        ]
        data = np.concatenate(rows, axis=1)[self.compression.color, self.compression.place]
        if not np.isfinite(np.add.reduce(data)):
            self._decide(data, values)
        return beside, data

    def _decide(self, data: np.ndarray, values: Sequence[Any]) -> None:
        """Find the entries again that are not finite."""
        unsure = np.flatnonzero(~np.isfinite(data))
        given = {
            leaf: np.asarray(value)[()] for leaf, value in zip(self.of.leaves, values, strict=True)
        }
        wanted, places = np.unique(self.of.pattern.rows[unsure], return_inverse=True)
        exact = self.of.rows(self.of.table(given), wanted.tolist())
        data[unsure] = exact[places, self.of.pattern.columns[unsure]]

    def blocks(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        of = self.of
        of.hold(of.shape[0] * of.shape[1], 1)
        beside, data = self.entries(values)
        whole = np.zeros(of.shape, data.dtype)
        whole[of.pattern.rows, of.pattern.columns] = data
        return beside, of.cut(whole)

    def text(self) -> str:
        count = self.compression.number
        return (
            f"{count} direction{'s' * (count != 1)} for {self.of.pattern.columns.size:,} "
            f"entries\n{self._linear.text()}"
        )


def slices_of(nodes: Iterable[Expr]) -> list[slice]:
    """Return the slice of each node's entries among those of all nodes."""
    return [
        slice(*ends) for ends in pairwise(np.cumsum([0, *(node.size for node in nodes)]).tolist())
    ]


def csr(data: np.ndarray, pattern: Pattern) -> Any:
    """Convert entries of a pattern to SciPy's sparse array, which shares no memory with it.

    SciPy's methods change places in place.
    """
    from scipy.sparse import csr_array

    made = csr_array((data, pattern.columns, pattern.starts), shape=pattern.shape, copy=True)
    made.has_canonical_format = True
    return made
