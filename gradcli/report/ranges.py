"""Results over ranges, as plain data: of one query of ``gradcli bound`` or ``gradcli plot``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.verdicts import box_text
from gradcli.data import Data, data
from gradcli.report.records import Answer, Line, Table, labelled_line, notes
from gradcli.texts import one_line, printable

# -- Bounds over a box ----------------------------------------------------------------------------

Ends = tuple[float, float]
Point = dict[str, float]
_SHOWN_DIGITS = 6  # digits of the place where a bound is attained


class Bound(NamedTuple):
    """A range, and points where its ends are attained; None where none was found."""

    low: float
    high: float
    at_low: Point | None = None
    at_high: Point | None = None


class BoundNote(NamedTuple):
    """A remark about a place: "pole", "domain", "kink", "jump"; of no place: "limit"."""

    kind: str
    where: dict[str, Ends]
    text: str

    @property
    def text_with_place(self) -> str:
        """The text with the place: ``x = 0``, ``-1 <= x <= 0``."""
        return f"{self.text}: {box_text(self.where)}" if self.where else self.text


@data
class BoundRecord(Answer):
    """The range of one expression and of its derivatives over a box, outward rounded."""

    RESULT = "value grad notes lipschitz"
    JSON = (
        "schema source expr read_as? dialect? box value=ends grad=ends_of_derivatives at=places "
        "certified=is_certified notes lipschitz? "
        "warnings error"
    )

    box: dict[str, Ends] = field(default_factory=dict)
    value: Bound | None = None
    grad: dict[str, Bound] = field(default_factory=dict)
    notes: list[BoundNote] = field(default_factory=list)
    lipschitz: dict[str, float | None] | None = None

    @property
    def ends(self) -> list[float] | None:
        """The range of the value, as JSON has it."""
        return None if self.value is None else [*self.value[:2]]

    @property
    def ends_of_derivatives(self) -> dict[str, list[float]] | None:
        """The ranges of the derivatives, as JSON has them."""
        return (
            None
            if self.error is not None
            else {name: [*bound[:2]] for name, bound in self.grad.items()}
        )

    @property
    def is_certified(self) -> bool | None:
        """True if the ranges are proved; None where there are none."""
        return None if self.error is not None else True

    @property
    def places(self) -> dict[str, Any] | None:
        """Points where the ends are attained, as JSON has them."""
        if self.value is None:
            return None
        return {
            "value": _points(self.value),
            "grad": {name: _points(bound) for name, bound in self.grad.items()},
        }

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of the ranges, and of the places where they are not smooth."""
        d = "d/d{}" if len(self.grad) == 1 else "∂/∂{}"
        found = {} if self.value is None else {"value": self.value}
        found |= {printable(d.format(name)): bound for name, bound in self.grad.items()}
        bounded = any(math.isfinite(end) for bound in found.values() for end in bound[:2])
        proved = "yes, by interval arithmetic" if bounded else "nothing: no end is finite"
        norms = {
            f"norm {name}": "unbounded" if most is None else f"at most {most!r}"
            for name, most in (self.lipschitz or {}).items()
        }
        return [
            *self._head(f"  for {box_text(self.box)}"),
            *(
                labelled_line(label, _range(bound, self.box), "formula")
                for label, bound in found.items()
            ),
            *(labelled_line(printable(label), norm, "formula") for label, norm in norms.items()),
            labelled_line("proved", proved),
            *(labelled_line(note.kind, note.text_with_place, "note") for note in self.notes),
            *notes(self.warnings),
        ]


def _points(bound: Bound) -> dict[str, Point | None]:
    return {"low": bound.at_low, "high": bound.at_high}


def _range(bound: Bound, box: dict[str, Ends]) -> str:
    text = f"[{bound.low!r}, {bound.high!r}]"
    sides = (("low", bound.low, bound.at_low), ("high", bound.high, bound.at_high))
    places = [
        f"{word} at {_point(point, box)}"
        for word, end, point in sides
        if point and math.isfinite(end)
    ]
    return f"{text}  {', '.join(places)}" if places and bound.low != bound.high else text


def _point(point: Point, box: dict[str, Ends]) -> str:
    """Return a point as text, as exactly as the size of the box asks for."""
    units = {
        name: 10.0 ** math.floor(math.log10(high - low or 1.0)) for name, (low, high) in box.items()
    }
    rounded = {
        name: round(value / units[name], _SHOWN_DIGITS) * units[name] + 0.0
        for name, value in point.items()
    }
    return " ".join(f"{name}={value:.{_SHOWN_DIGITS}g}" for name, value in rounded.items())


# -- Curves and fields, which pictures and tables are made from ----------------------------------

_MOST_MARKS = 12  # most marks that are listed
_LONGEST = 300  # most characters of a mark's text
VALUE = "value"  # heading of the column of values; derivatives are headed ``d/dx``


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


@data
class Curve(Data):
    """One curve, as it is drawn, and its table.

    label   the values of other names that tell it from its neighbours, such as ``a=1``; empty for a
            curve alone
    names   these names, and their values
    xs      where it is drawn; with NaN among the heights where it is not drawn through
    heights of the value, and of each derivative, by their headings
    table   the same at evenly spaced points, without gaps between them
    clipped headings of which some heights leave any picture, as at poles
    """

    SHOWN = "label table marks"

    label: str
    names: dict[str, float]
    xs: np.ndarray
    heights: dict[str, np.ndarray]
    table: dict[str, np.ndarray]
    marks: list[Mark] = field(default_factory=list)
    clipped: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Field:
    """A value over two ranges: at the points of a grid, rows from below to above.

    slopes  derivatives, by their names
    levels  round values, of the contours
    table   a coarser grid, for people and programs to read
    """

    xs: np.ndarray
    ys: np.ndarray
    values: np.ndarray
    slopes: dict[str, np.ndarray]
    levels: list[float] = field(default_factory=list)
    table: Field | None = None


@data
class PlotRecord(Answer):
    """The values and derivatives of one expression over the ranges of one name or two."""

    RESULT = "curves grid notes check at"
    ranges: dict[str, Ends] = field(default_factory=dict)
    by: tuple[str, ...] = ()  # names that derivatives are taken by
    at: np.ndarray | None = None  # evenly spaced points, if there is only one name
    curves: list[Curve] = field(default_factory=list)
    grid: Field | None = None
    # For two ranges: boxes around what is not smooth.
    regions: list[BoundNote] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return list(self.ranges)

    @property
    def headings(self) -> list[str]:
        """Return those of the value and the derivatives."""
        return [VALUE, *(f"d/d{name}" for name in self.by)]

    @property
    def marks(self) -> list[tuple[Curve, Mark]]:
        """All marks in order, each with its curve."""
        return sorted(
            ((curve, mark) for curve in self.curves for mark in curve.marks),
            key=lambda item: item[1].at,
        )

    def _layout(self) -> str:
        levels = "" if self.grid is None else "levels=grid.levels"
        return (
            "schema source expr read_as? dialect? names ranges columns points=table marks=places "
            f"{levels} notes check=check_at_points "
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
        """Return the rows of the table: points in order, curve by curve.

        Of two names, the first varies fastest.
        """
        if self.grid is not None:
            grid = self.grid.table or self.grid
            slopes = [grid.slopes[name] for name in self.by]
            parts = (*np.meshgrid(grid.xs, grid.ys), grid.values, *slopes)
            return [*map(list, zip(*(part.ravel().tolist() for part in parts), strict=True))]
        assert self.at is not None
        found: list[list[Any]] = []
        for curve in self.curves:
            label = [curve.label] if len(self.curves) > 1 else []
            own = [*curve.names.values()] or label
            heights = [curve.table[heading].tolist() for heading in self.headings]
            columns = zip(self.at.tolist(), *heights, strict=True)
            found += [[x, *own, *numbers] for x, *numbers in columns]
        return found

    @property
    def table(self) -> list[dict[str, Any]] | None:
        """The table, as JSON has it."""
        headings = self.columns
        return (
            None
            if self.error is not None
            else [dict(zip(headings, row, strict=True)) for row in self.rows()]
        )

    @property
    def places(self) -> list[dict[str, Any]] | None:
        """The places that are not smooth, as JSON has them."""
        if self.error is not None:
            return None
        several = len(self.curves) > 1
        found: list[tuple[Any, dict[str, Ends], dict[str, str]]] = [
            (mark, {self.names[0]: (mark.at, mark.end)}, {"curve": curve.label} if several else {})
            for curve, mark in self.marks
        ]
        found += [(note, note.where, {}) for note in self.regions]
        return [
            {
                "kind": each.kind,
                "at": {name: _place(*ends) for name, ends in where.items()},
                **curve,
                "text": each.text,
            }
            for each, where, curve in found
        ]

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line | Table]:
        """Return the lines of the places that are not smooth, and of the verdict."""
        lines: list[Line | Table] = [*self._head(f"  for {box_text(self.ranges)}")]
        for curve, mark in self.marks[:_MOST_MARKS]:
            said = mark.text.removeprefix(f"{mark.kind} ")  # the kind is the label
            lines.append(
                labelled_line(
                    mark.kind,
                    one_line(f"{curve.label}: {said}" if len(self.curves) > 1 else said, _LONGEST),
                    "note",
                )
            )
        if len(self.marks) > _MOST_MARKS:
            lines.append(
                labelled_line(
                    "",
                    f"and {len(self.marks) - _MOST_MARKS} more places, which --format json lists",
                    "note",
                )
            )
        lines += [
            labelled_line(note.kind, one_line(note.text_with_place, _LONGEST), "note")
            for note in self.regions[:_MOST_MARKS]
        ]
        if self.grid is not None and self.grid.levels:
            lines.append(
                labelled_line("levels", ", ".join(f"{level:.6g}" for level in self.grid.levels))
            )
        checked = self._check_lines(" of the range")
        return [*lines, *checked, *notes([*self.notes, *self.warnings])]


def _place(low: float, high: float) -> Any:
    """Return a point, or both ends of a stretch."""
    return low if low == high else [low, high]
