"""Values and derivatives over ranges: what came of one query of ``gradcli plot``, as plain data that pictures and tables are made from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.inert import well_formed
from gradcli.report.bound_record import BoundNote
from gradcli.report.dictionaries import SCHEMA, check_dict, failure_dict
from gradcli.report.json_text import number
from gradcli.report.records import Failure
from gradcli.report.verdicts import Check, Verdict

Ends = tuple[float, float]
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


@dataclass(eq=False)
class PlotRecord:
    """The values and derivatives of one expression over the ranges of one name or two."""

    expr: str
    file: str | None = None
    line: int = 1
    column: int = 1
    read_as: str | None = None
    dialect: str | None = None
    ranges: dict[str, Ends] = field(default_factory=dict)
    by: tuple[str, ...] = ()  # the names of the derivatives
    at: np.ndarray | None = None  # evenly spaced points of the name, where there is one
    curves: list[Curve] = field(default_factory=list)
    grid: Field | None = None
    regions: list[BoundNote] = field(default_factory=list)  # of two ranges: boxes around what is not smooth
    log: str = ""  # the axes that are logarithmic: of x, y
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    check: Check | None = None
    points: int = 0  # at how many the cross-check was made
    error: Failure | None = None

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

    @property
    def failed(self) -> bool:
        """Whether the cross-check has refuted the derivative."""
        return self.check is not None and self.check.worst is Verdict.MISMATCH

    def fail(self, error: GradcliError) -> PlotRecord:
        """The record, with an error in the place of all else."""
        self.error = Failure.of(error)
        self.curves, self.grid, self.notes, self.check, self.at = [], None, [], None, None
        return self


def columns(record: PlotRecord) -> list[str]:
    """The headings of the table: the names that vary, the value, and the derivatives."""
    varied = dict.fromkeys(name for curve in record.curves for name in curve.names)
    entry = ["entry"] if not varied and len(record.curves) > 1 else []
    return [*record.names, *varied, *entry, *record.headings]


def rows(record: PlotRecord) -> list[list[Any]]:
    """The rows of the table: points in order, curve by curve; of two names the first varies fastest."""
    found: list[list[Any]] = []
    if record.grid is not None:
        grid = record.grid.table or record.grid
        for j, y in enumerate(grid.ys.tolist()):
            for i, x in enumerate(grid.xs.tolist()):
                found.append([x, y, float(grid.values[j, i]), *(float(grid.slopes[name][j, i]) for name in record.by)])
        return found
    assert record.at is not None
    for curve in record.curves:
        own = [*curve.names.values()] if curve.names else [curve.label] if len(record.curves) > 1 else []
        parts = [curve.table[heading].tolist() for heading in record.headings]
        found += [[x, *own, *numbers] for x, *numbers in zip(record.at.tolist(), *parts, strict=True)]
    return found


def as_dict(record: PlotRecord) -> dict[str, Any]:
    """The whole record, in the order in which it is documented."""
    failed = record.error is not None
    headings = [] if failed else columns(record)
    points = (
        []
        if failed
        else [{h: number(x) if isinstance(x, float) else x for h, x in zip(headings, row, strict=True)} for row in rows(record)]
    )
    several = len(record.curves) > 1
    marks: list[dict[str, Any]] = [
        {
            "kind": mark.kind,
            "at": {record.names[0]: _place(mark.at, mark.end)},
            **({"curve": well_formed(curve.label)} if several else {}),
            "text": well_formed(mark.text),
        }
        for curve, mark in record.marks
    ]  # fmt: skip
    for note in record.regions:
        where: dict[str, Any] = {name: _place(*ends) for name, ends in note.where.items()}
        marks.append({"kind": note.kind, "at": where, "text": well_formed(note.text)})
    return {
        "schema": SCHEMA,
        "source": {"file": record.file, "line": record.line, "column": record.column},
        "expr": well_formed(record.expr),
        **({} if record.read_as is None else {"read_as": well_formed(record.read_as)}),
        **({} if record.dialect is None else {"dialect": record.dialect}),
        "names": record.names,
        "ranges": {name: [number(end) for end in ends] for name, ends in record.ranges.items()},
        "columns": headings,
        "points": None if failed else points,
        "marks": None if failed else marks,
        **({} if record.grid is None else {"levels": record.grid.levels}),
        "notes": [well_formed(text) for text in record.notes],
        "check": None if record.check is None else {**check_dict(record.check), "points": record.points},
        "warnings": [well_formed(text) for text in record.warnings],
        "error": None if record.error is None else failure_dict(record.error),
    }


def _place(low: float, high: float) -> Any:
    """A point, or both ends of a stretch."""
    return number(low) if low == high else [number(low), number(high)]
