"""A program over a box as cells: its graph is read by the references of its operations, some names being variables of the box.

Arithmetic is written down, functions are sympy's, and where a reference branches, all branches are taken.
Derivatives inside of the function are taken from their definitions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from flint import arb

from gradcli.graph.nodes import Expr
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import UNIT, Cell, Side
from gradcli.reference.ranges.intervals import Box, Interval, precise
from gradcli.reference.ranges.making import Cells
from gradcli.reference.tape import Array, ReferenceTape, exact_array

Ends = tuple[float, float]


class Recorder(Cells, Algebra):
    """Context that a record's reference receives where scalars are cells."""

    overflows = False
    mpf = Cells.of

    def __init__(self, box: Box) -> None:
        Cells.__init__(self, box)
        self.precision, self.m = "float64", self
        self.inf, self.nan = math.inf, math.nan
        self.pi, self.euler = self.call("pi", None), self.call("euler", None)

    def isfinite(self, x: Any) -> bool:
        return True

    def isnan(self, x: Any) -> bool:
        return False

    def fsum(self, terms: Any) -> Cell:
        return self.sum([(UNIT, self.of(x)) for x in terms])

    def ceil(self, x: Any) -> Any:
        return -self.floor(-self.of(x))

    def sign(self, x: Any) -> Any:
        return self.branching(lambda: 1 if x > 0 else -1 if x < 0 else 0)

    def extreme(self, which: str, row: list[Any]) -> Any:
        best = row[0]
        for x in row[1:]:
            best = self.function(f"{which}imum", best, x)
        return best

    def __getattr__(self, name: str) -> Any:
        """Any function of the catalogue, as references call it."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            find(name)
        except KeyError:
            raise Unsupported(name) from None
        return partial(self.function, name)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        given = [None if a is None else self.of(a) for a in arguments]
        if op.kind != "smooth":
            return self.branching(lambda: op.reference(self, *given, **static))
        from gradcli.reference.symbolic.cells import of_operation  # sympy, which arithmetic needs not

        return of_operation(self, op, static, given)

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """An operation on arrays of cells: where it is not elementwise, entry by entry of all its branches."""
        if op.elementwise:
            return self.elementwise(op, static, arrays)

        def join(off: Cell, *sides: Any) -> tuple[Array, ...]:
            signs, results = zip(*sides, strict=True)
            if any(x.shape != y.shape for x, y in zip(*results, strict=True)):
                raise Unsupported(f"{op.name}, whose result's shape depends on its operands")
            chosen = np.frompyfunc(lambda *entries: self.choice(off, *map(Side, signs, map(self.of, entries))), 2, 1)
            return tuple(np.asarray(chosen(x, y), dtype=object) for x, y in zip(*results, strict=True))

        apply = partial(Algebra.apply, self, op, static, arrays)
        return self.branched(apply, join) if op.outputs > 1 else self.branched(lambda: (apply(),), join)[0]


class Region(ReferenceTape):
    """A box, and what is read of the program over it.

    places   the nodes that are variables
    origins  the nodes that cells were first made for
    """

    def __init__(self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        with precise():
            self.box: Box = tuple(Interval(arb(low), arb(high)) for low, high in variables.values())
            self.cells = Recorder(self.box)
            self.table = {leaf: Algebra.map(self.cells.leaf, place) for place, leaf in enumerate(variables)}
        self.m = self.scalars = cast(Any, self.cells)
        self.values, self.precision, self.zeros = values, precision, None
        self.places = {leaf: place for place, leaf in enumerate(variables)}
        self.origins: dict[Cell, Expr] = {}

    def read(self, *roots: Expr) -> list[Array]:
        """Arrays of cells. Raises Unsupported."""
        with precise():
            return [Algebra.map(self.cells.of, self.run(root)) for root in roots]

    def number(self, root: Expr) -> Cell:
        """A result, or the sum of the entries of one, as a cell. Raises Unsupported."""
        (found,) = self.read(root)
        with precise():
            return self.cells.lifted(self.cells.fsum(np.ravel(found)))

    def slope(self, cell: Cell, place: int) -> Cell:
        """The derivative of a cell by a variable."""
        with precise():
            return self.cells.slope(cell, self.cells.leaf(place))

    def leaf(self, node: Expr) -> Array:
        return exact_array(self.cells, self.values[node], node.kind)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        before = len(self.cells.all)
        found = self.cells.apply(op, node.static, operands)
        self.origins |= dict.fromkeys(self.cells.all[before:], node)
        return found

    def alias(self, node: Expr, x: Array) -> Array:
        return Algebra.map(lambda v: self.cells.named(self.cells.of(v)), x)

    def detach(self, node: Expr, x: Array) -> Array:
        if any(isinstance(v, Cell) and v.leaves for v in np.ravel(x)):
            raise Unsupported("a detached value, whose slopes are not those of its values")
        return x

    def gradient(self, y: Array, seed: Array, x: Array, traced: bool = False) -> Array:
        total = self.cells.fsum(self.cells.of(v) * w for v, w in zip(np.ravel(y), np.ravel(seed), strict=True))
        return Algebra.map(lambda v: self.cells.slope(total, self.cells.of(v)), x)
