"""A program over a box as cells: its graph is read by the references of its operations, some names being variables of the box.

Arithmetic is written down, functions are sympy's, and where a reference branches, all branches are taken.
Derivatives inside of the function are taken from their definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from flint import arb

from gradcli.graph.nodes import Expr
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ranges.cells import Cell
from gradcli.reference.ranges.intervals import Box, Interval, precise
from gradcli.reference.ranges.making import Cells
from gradcli.reference.tape import NO_ZEROS, Array, ReferenceTape, exact_array

Ends = tuple[float, float]


class Region(ReferenceTape):
    """A box, and what is read of the program over it.

    places   the nodes that are variables
    origins  the nodes that cells were first made for
    """

    def __init__(self, variables: Mapping[Expr, Ends], values: Mapping[Expr, Any], precision: str) -> None:
        with precise():
            self.box: Box = tuple(Interval(arb(low), arb(high)) for low, high in variables.values())
            self.cells = Cells(self.box)
            self.table = {leaf: Algebra.map(self.cells.leaf, place) for place, leaf in enumerate(variables)}
        self.m = self.scalars = cast(Any, self.cells)
        self.values, self.precision, self.zeros = values, precision, NO_ZEROS
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
