"""Values and derivatives over ranges: what came of one query of ``gradcli plot``, as plain data that pictures and tables are made from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.inert import one_line
from gradcli.report.bound_record import BoundNote, box_text
from gradcli.report.lines import Line, Table, labelled, notes
from gradcli.report.records import Answer

Ends = tuple[float, float]
_MOST_MARKS = 12  # that are listed
_LONGEST = 300  # characters of a mark's text
VALUE = "value"  # the heading of the column of values; derivatives have ``d/dx``


class Mark(NamedTuple):
    """A place where a curve is not smooth: "pole", "jump", "kink" or "domain".

    at     where; of a part without a value, where that begins
    end    where such a part ends
    value  the height of the curve on both sides, where it has one
    point  of a jump, the height of the place itself
    text   in words, with the place
    """

    kind: str
    at: float
    end: float
    value: tuple[float, float]
    text: str
    point: float = math.nan


@dataclass(eq=False, repr=False)
class Curve:
    """One curve, as it is drawn, and its table.

    label   the values of other names that tell it from its neighbours, such as ``a=1``; empty for a curve alone
    names   these names, and their values
    xs      where it is drawn; with NaN among the heights where it is not drawn through
    heights of the value, and of each derivative, by their headings
    table   the same at evenly spaced points, without gaps between them
    clipped headings of which some heights leave any picture, as at poles
    """

    label: str
    names: dict[str, float]
    xs: np.ndarray
    heights: dict[str, np.ndarray]
    table: dict[str, np.ndarray]
    marks: list[Mark] = field(default_factory=list)
    clipped: set[str] = field(default_factory=set)


@dataclass(eq=False, repr=False)
class Field:
    """A value over two ranges: at the points of a grid, rows from below to above.

    slopes    derivatives, by their names
    gradient  those by the two names of the ranges, where there are both
    levels    round values, of the contours
    table     a coarser grid, for people and programs to read
    """

    xs: np.ndarray
    ys: np.ndarray
    values: np.ndarray
    slopes: dict[str, np.ndarray]
    gradient: tuple[np.ndarray | None, np.ndarray | None]
    levels: list[float] = field(default_factory=list)
    table: Field | None = None


@dataclass(eq=False, repr=False)
class PlotRecord(Answer):
    """The values and derivatives of one expression over the ranges of one name or two."""

    RESULT = ("curves", "grid", "notes", "check", "at")
    ranges: dict[str, Ends] = field(default_factory=dict)
    by: tuple[str, ...] = ()  # the names of the derivatives
    at: np.ndarray | None = None  # evenly spaced points of the name, where there is one
    curves: list[Curve] = field(default_factory=list)
    grid: Field | None = None
    regions: list[BoundNote] = field(default_factory=list)  # of two ranges: boxes around what is not smooth
    log: str = ""  # the axes that are logarithmic: of x, y
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return list(self.ranges)

    @property
    def headings(self) -> list[str]:
        """Those of the value and the derivatives."""
        return [VALUE, *(f"d/d{name}" for name in self.by)]

    @property
    def marks(self) -> list[tuple[Curve, Mark]]:
        """All marks in order, each with its curve."""
        return sorted(((curve, mark) for curve in self.curves for mark in curve.marks), key=lambda item: item[1].at)

    def _layout(self) -> str:
        levels = "" if self.grid is None else "levels=grid.levels"
        return (
            f"schema source expr read_as? dialect? names ranges columns points=table marks=places {levels} notes check=check_at_points "
            "warnings error"
        )

    @property
    def columns(self) -> list[str]:
        """The headings of the table: the names that vary, the value, and the derivatives."""
        if self.error is not None:
            return []
        varied = dict.fromkeys(name for curve in self.curves for name in curve.names)
        entry = ["entry"] if not varied and len(self.curves) > 1 else []
        return [*self.names, *varied, *entry, *self.headings]

    def rows(self) -> list[list[Any]]:
        """The rows of the table: points in order, curve by curve; of two names the first varies fastest."""
        found: list[list[Any]] = []
        if self.grid is not None:
            grid = self.grid.table or self.grid
            for j, y in enumerate(grid.ys.tolist()):
                for i, x in enumerate(grid.xs.tolist()):
                    found.append([x, y, float(grid.values[j, i]), *(float(grid.slopes[name][j, i]) for name in self.by)])
            return found
        assert self.at is not None
        for curve in self.curves:
            own = [*curve.names.values()] if curve.names else [curve.label] if len(self.curves) > 1 else []
            parts = [curve.table[heading].tolist() for heading in self.headings]
            found += [[x, *own, *numbers] for x, *numbers in zip(self.at.tolist(), *parts, strict=True)]
        return found

    @property
    def table(self) -> list[dict[str, Any]] | None:
        """The table, as JSON has it."""
        headings = self.columns
        return None if self.error is not None else [dict(zip(headings, row, strict=True)) for row in self.rows()]

    @property
    def places(self) -> list[dict[str, Any]] | None:
        """The places that are not smooth, as JSON has them."""
        if self.error is not None:
            return None
        several = len(self.curves) > 1
        marks = [
            {
                "kind": mark.kind,
                "at": {self.names[0]: _place(mark.at, mark.end)},
                **({"curve": curve.label} if several else {}),
                "text": mark.text,
            }
            for curve, mark in self.marks
        ]
        regions = [
            {"kind": note.kind, "at": {name: _place(*ends) for name, ends in note.where.items()}, "text": note.text}
            for note in self.regions
        ]
        return [*marks, *regions]

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """The places that are not smooth, and the verdict."""
        lines: list[Line | Table] = [*self._head(box_text(self.ranges))]
        for curve, mark in self.marks[:_MOST_MARKS]:
            said = mark.text.removeprefix(f"{mark.kind} ")  # which is the label
            lines.append(labelled(mark.kind, one_line(f"{curve.label}: {said}" if len(self.curves) > 1 else said, _LONGEST), "note"))
        if len(self.marks) > _MOST_MARKS:
            lines.append(labelled("", f"and {len(self.marks) - _MOST_MARKS} more places, which --format json lists", "note"))
        lines += [labelled(note.kind, one_line(note.said, _LONGEST), "note") for note in self.regions[:_MOST_MARKS]]
        if self.grid is not None and self.grid.levels:
            lines.append(labelled("levels", ", ".join(f"{level:.6g}" for level in self.grid.levels)))
        if self.check is not None:
            where = f"at {self.points} points of the range" if self.points > 1 else "at one point of the range"
            lines.append(self._checked(self.check, where))
        return [*lines, *notes([*self.notes, *self.warnings])]


def _place(low: float, high: float) -> Any:
    """A point, or both ends of a stretch."""
    return low if low == high else [low, high]
