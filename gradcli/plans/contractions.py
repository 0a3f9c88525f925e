"""Sums of products as products of matrices, where axes allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.looping import SUM
from gradcli.plans.axes import Axis, Item
from gradcli.plans.frames import Frame


@dataclass(frozen=True)
class Contraction:
    """x times y, summed over axes: a matrix with the rows of x and the columns of y, which stand in this order in the frame."""

    x: Item
    y: Item
    over: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]

    def factors(self, frame: Frame, x: str, y: str) -> str:
        return f"{_matrix(frame, x, self.rows, self.over)}, {_matrix(frame, y, self.over, self.columns)}"

    def result(self, frame: Frame, name: str) -> str:
        return _matrix(frame, name, self.rows, self.columns)


def contraction(fold: Item, frame: Frame) -> Contraction | None:
    """What a sum is as a product of matrices; None where it is none."""
    product = fold.operands[0]
    if fold.fold is not SUM or product.what != "map" or product.op is not arithmetic.mul or product.kind != FLOAT:
        return None
    x, y = product.operands
    over = frame.ordered(fold.over)
    if x is y or x.kind != FLOAT or y.kind != FLOAT or not set(over) <= set(x.axes) & set(y.axes):
        return None
    rows, columns = (frame.ordered(axis for axis in item.axes if axis not in over) for item in (x, y))
    if set(rows) & set(columns) or not (rows or columns):
        return None
    if rows and columns and frame.places[rows[0]] > frame.places[columns[0]]:
        x, y, rows, columns = y, x, columns, rows
    groups = (rows, over), (over, columns), (rows, columns)
    return Contraction(x, y, over, rows, columns) if all(_are_apart(frame, *pair) for pair in groups) else None


def _are_apart(frame: Frame, one: Sequence[Axis], other: Sequence[Axis]) -> bool:
    """Whether all axes of one group come before all of another."""
    if not one or not other:
        return True
    (first, last), (begin, end) = ((frame.places[group[0]], frame.places[group[-1]]) for group in (one, other))
    return last < begin or end < first


def _matrix(frame: Frame, name: str, rows: Sequence[Axis], columns: Sequence[Axis]) -> str:
    """An array in the frame as a matrix."""
    extents = [-1 if frame.outer in axes else math.prod(axis.extent for axis in axes) for axes in (rows, columns)]
    if rows and columns and frame.places[rows[0]] > frame.places[columns[0]]:
        return f"{name}.reshape({extents[1]}, {extents[0]}).T"
    return f"{name}.reshape({extents[0]}, {extents[1]})"
