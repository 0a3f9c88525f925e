"""All derivatives of some nodes by others, as a matrix: in one program where that is short, else direction by direction.

Rows are the entries of results, one result after the other, columns those of variables. As many directions are taken as the pattern of the
matrix has colours. What is not finite is found again row by row, by the sweep that decides zero times infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, LimitError
from gradcli.graph.demand import hold_work
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sparsity import Compression, Pattern, dependence, of_hessian, of_jacobian, symmetric
from gradcli.graph.transforms import one_hot, vjp, zeros_like
from gradcli.ops.arrays.shapes import reshape, stack
from gradcli.plans.linearized import Linearized, Runs, pushed
from gradcli.query.matrix_blocks import csr, cut, entries_in, joined, parts_of

_SHORT = 2_000  # nodes of a program that has every direction in it
_FEW = 32  # directions of one


class Derivatives:
    """What a matrix is of: the derivatives of ``outs`` by ``wrt``.

    beside        what is computed besides: values, gradients
    leaves        what plans take
    is_symmetric  whether it is a Hessian
    """

    def __init__(
        self, outs: Sequence[Expr], wrt: Sequence[Expr], beside: Sequence[Expr], leaves: Sequence[Expr], runs: Runs, *, is_symmetric: bool
    ) -> None:
        self.outs, self.wrt, self.beside, self.leaves, self.runs = list(outs), list(wrt), list(beside), list(leaves), runs
        self.is_symmetric = is_symmetric
        self.shape = (sum(map(entries_in, outs)), sum(map(entries_in, wrt)))
        self.graph = beside[0].graph
        self.blocks = [(out, x) for out in outs for x in wrt]  # row by row

    @cached_property
    def pattern(self) -> Pattern:
        """The entries that may be other than zero."""
        found = dependence(self.outs, self.wrt)
        return symmetric(found) if self.is_symmetric else found

    @cached_property
    def compression(self) -> tuple[bool, Compression]:
        """Whether directions are pulled back, and how the pattern's entries are read from them."""
        return (False, of_hessian(self.pattern)) if self.is_symmetric else of_jacobian(self.pattern)

    def hold(self, entries: int, sweeps: int) -> None:
        """Raise LimitError for a matrix of too many entries, or one that takes too much work."""
        limits = self.graph.limits
        if entries > limits.tangents:
            kind = "Hessian" if self.is_symmetric else "Jacobian"
            rows, columns = self.shape
            raise LimitError(
                f"a {kind} of {rows} x {columns} has {entries:,} entries, over the limit of {limits.tangents:,}",
                help=f"raise it with limits=gradcli.limits.DEFAULT.raised(['tangents={entries}'])",
            )
        limits.check_array((entries,))
        hold_work(limits, reachable(self.outs), self.wrt, sweeps)

    def rows(self, table: Mapping[Expr, Any], wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """Rows of the matrix, each by a sweep over values that are known."""
        found = {}
        begins = np.cumsum([0, *map(entries_in, self.outs)])
        for row in wanted:
            place = int(np.searchsorted(begins, row, "right")) - 1
            out = self.outs[place]
            seed = one_hot(row - int(begins[place]), out.shape).astype(np.asarray(table[out]).dtype)[()]
            try:
                with np.errstate(all="ignore"):
                    slopes = gradients(reachable([out]), {out: seed}, self.wrt, table.__getitem__)
            except (ValueError, ArithmeticError) as error:
                raise EvaluationError(f"the derivative has no value: {error}") from None
            found[row] = np.concatenate([np.ravel(slopes.get(x, np.zeros(x.shape))) for x in self.wrt])
        return found

    def table(self, given: Mapping[Expr, Any]) -> Mapping[Expr, Any]:
        """The values of all nodes, array by array."""
        return forward([*self.outs, *self.beside], given, self.runs.precision)


class Blocks:
    """The matrix as blocks, a row of them for each result, computed in whichever way suits; compiled when it is first asked for."""

    def __init__(self, of: Derivatives) -> None:
        self.of = of

    @cached_property
    def _dense(self) -> Short | Compressed:
        if Short.suits(self.of):
            short = Short(self.of)
            if short.pays:
                return short
        return self._compressed

    @cached_property
    def _compressed(self) -> Compressed:
        return Compressed(self.of)

    def dense(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """What is computed besides, and the blocks, each of its result's shape and its variable's."""
        return self._dense.blocks(values)

    def sparse(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The same as sparse arrays, with a row for each entry of the result and a column for each of the variable."""
        beside, data = self._compressed.entries(values)
        return beside, [csr(data[chosen], pattern) for chosen, pattern in self._parts]

    def whole(self, values: Sequence[Any], sparse: bool) -> Any:
        """The matrix itself."""
        if sparse:
            return csr(self._compressed.entries(values)[1], self.of.pattern)
        return joined(self.of, self._dense.blocks(values)[1])

    def pattern(self) -> Any:
        """Which entries of the matrix may be other than zero."""
        return csr(np.ones(self.of.pattern.columns.size, bool), self.of.pattern)

    def made(self, sparse: bool) -> Short | Compressed:
        """Compile it now."""
        return self._compressed if sparse else self._dense

    def patterns(self) -> list[Any]:
        """Which entries of each block may be other than zero, as sparse arrays of truths."""
        return [csr(np.ones(pattern.columns.size, bool), pattern) for _, pattern in self._parts]

    @cached_property
    def _parts(self) -> list[tuple[np.ndarray, Pattern]]:
        """The entries of each block, and their pattern."""
        return parts_of(self.of, self.of.pattern)

    def text(self) -> str:
        made = [way for name, way in vars(self).items() if name in ("_dense", "_compressed")]
        return "\n\n".join(dict.fromkeys(way.text() for way in made)) or "compiled at the first call"


class Short:
    """Every direction in one program, as arrays."""

    def __init__(self, of: Derivatives) -> None:
        self.of = of
        self.graph = of.graph
        self.decides = True
        self.roots = [*of.beside, *self._blocks()]
        self._many = len(of.beside)
        self._plan = of.runs.plan(self, of.leaves, derived=len(of.blocks))

    @property
    def pays(self) -> bool:
        """Whether it takes less than direction after direction: it is written on floats, or there are no fewer directions."""
        return self._plan.is_unrolled or 2 * self.of.compression[1].number >= min(self.of.shape)

    @staticmethod
    def suits(of: Derivatives) -> bool:
        directions = min(of.shape)
        return directions <= _FEW and directions * len(reachable(of.outs)) <= _SHORT

    def _blocks(self) -> list[Expr]:
        """The blocks, in the graph: row by row on the way back, or column by column where these are fewer."""
        of = self.of
        rows, columns = of.shape
        if rows <= columns:
            parts = {
                out: [
                    vjp(out, of.wrt, self.graph.constant(one_hot(i, out.shape)) if out.shape else _one(out)) for i in range(entries_in(out))
                ]
                for out in of.outs
            }
            return [self._joined([row[of.wrt.index(x)] for row in parts[out]], out, x, axis=0) for out, x in of.blocks]
        found: dict[tuple[Expr, Expr], list[Expr]] = {}
        for x in of.wrt:
            tangent = self.graph.leaf("tangent", x.shape)
            ends = pushed(of.outs, {x: tangent})
            for i in range(entries_in(x)):
                direction = self.graph.constant(one_hot(i, x.shape)) if x.shape else _one(x)
                for out, column in zip(of.outs, rebuild(ends, {tangent: direction}, self.graph), strict=True):
                    found.setdefault((out, x), []).append(column)
        return [self._joined(found.get((out, x), []), out, x, axis=-1) for out, x in of.blocks]

    def _joined(self, parts: Sequence[Expr], out: Expr, x: Expr, axis: int) -> Expr:
        shape = (*out.shape, *x.shape)
        if not parts or not math.prod(shape):
            return zeros_like(self.graph.leaf("nothing", shape))
        if len(parts) == 1 and parts[0].shape == shape:
            return parts[0]
        joined: Expr = reshape(stack(*parts, axis=axis), shape=shape)
        return joined

    def interpreted(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """Row by row."""
        of = self.of
        table = of.table(given)
        rows = of.rows(table, range(of.shape[0]))
        whole = np.array([rows[i] for i in range(of.shape[0])]).reshape(of.shape)
        return [*(table[node] for node in of.beside), *cut(of, whole)]

    def blocks(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        found = self._plan(values)
        return found[: self._many], found[self._many :]

    def text(self) -> str:
        return self._plan.text()


class Compressed:
    """As many directions as the pattern has colours, one after the other."""

    def __init__(self, of: Derivatives) -> None:
        self.of = of
        back, self.compression = of.compression
        of.hold(of.pattern.columns.size, self.compression.number)
        ends = of.outs if back else of.wrt
        self._begins = np.cumsum([0, *map(entries_in, ends)])
        self._places = self.compression.color * of.shape[1 if back else 0] + self.compression.place
        self._linear = Linearized(of.beside, of.outs, of.wrt, of.leaves, of.runs, back=back, times=max(1, self.compression.number))

    def entries(self, values: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
        """What is computed besides, and the entries of the pattern."""
        beside, kept = self._linear.begun(values)
        if self._linear.all is not None:
            whole = [np.reshape(part, (-1, self.compression.number)) for part in self._linear.all([*kept, *self._seeds])]
            data = np.concatenate(whole)[self.compression.place, self.compression.color]
        else:
            data = self._one_by_one(kept)
        if not np.isfinite(np.add.reduce(data)):
            self._decide(data, values)
        return beside, data

    @cached_property
    def _seeds(self) -> list[np.ndarray]:
        """All directions, as columns."""
        whole = np.equal.outer(self.compression.colors, np.arange(self.compression.number)).astype(self.of.runs.precision)
        return [
            whole[begin:end].reshape((*shape, -1))
            for begin, end, shape in zip(self._begins[:-1], self._begins[1:], self._linear.shapes, strict=True)
        ]

    def _one_by_one(self, kept: Sequence[Any]) -> np.ndarray:
        compression: Compression = self.compression
        found = []
        dtype = np.dtype(self.of.runs.precision)
        for color in range(compression.number):
            whole = np.equal(compression.colors, color).astype(dtype)
            directions = [
                whole[begin:end].reshape(shape)[()]
                for begin, end, shape in zip(self._begins[:-1], self._begins[1:], self._linear.shapes, strict=True)
            ]
            found += [np.ravel(part) for part in self._linear.along(kept, directions)]
        data: np.ndarray = np.concatenate(found)[self._places] if found else np.empty(0, dtype)
        return data

    def _decide(self, data: np.ndarray, values: Sequence[Any]) -> None:
        """Find the entries again that are not finite."""
        open_ = np.flatnonzero(~np.isfinite(data))
        if open_.size:
            pattern = self.of.pattern
            rows, columns = pattern.rows[open_], pattern.columns[open_]
            given = {leaf: np.asarray(value)[()] for leaf, value in zip(self.of.leaves, values, strict=True)}
            exact = self.of.rows(self.of.table(given), np.unique(rows).tolist())
            data[open_] = [exact[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]

    def blocks(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        of = self.of
        of.hold(of.shape[0] * of.shape[1], 1)
        beside, data = self.entries(values)
        whole = np.zeros(of.shape, data.dtype)
        whole[of.pattern.rows, of.pattern.columns] = data
        return beside, cut(of, whole)

    def text(self) -> str:
        count = self.compression.number
        return f"{count} direction{'s' * (count != 1)} for {self.of.pattern.columns.size:,} entries\n{self._linear.text()}"


def _one(node: Expr) -> Expr:
    return node.graph.constant(1.0)
