"""Curves and contours as text, with round numbers.

Curves are dots of Braille, or marks where there are no colours to tell several apart. The axes and
panels are those of all pictures of curves. Colours are given as names; the callers that know the
terminal turn them into visible colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from gradcli.report.ranges import VALUE, Curve, Ends, Mark, PlotRecord
from gradcli.report.records import Line, Part
from gradcli.texts import one_line, printable, words

_LONGEST = 40  # most characters of a label
_MARGIN = 0.04  # of the height: room above and below the curves
_CLIPPED = 1.5  # room beyond the inner 80% of the heights, relative to it, where a curve is clipped
_LARGEST = 1e300  # largest end of an axis that libraries can still calculate with
_STEPS = (1, 2, 2.5, 5, 10)


class DrawnLine(NamedTuple):
    """A curve in a panel; ``number`` tells it apart in all of them."""

    number: int
    label: str
    xs: np.ndarray
    ys: np.ndarray
    curve: Curve


class Dot(NamedTuple):
    """Visible point: a "kink" of a curve, an "end" that it does not reach, or a "point".

    A "point" stands by itself.
    """

    number: int
    x: float
    y: float
    kind: str


class Panel(NamedTuple):
    """One set of axes, the value or a derivative: curves, lines upwards at poles, and dots."""

    heading: str
    lines: list[DrawnLine]
    view: Ends
    poles: list[float]
    dots: list[Dot]


def panels(records: Sequence[PlotRecord]) -> list[Panel]:
    """Return the panels of curves over one name, those of several expressions together."""
    curves = [(record, curve) for record in records for curve in record.curves]
    several = sum(record.error is None for record in records) > 1
    found = []
    for heading in dict.fromkeys(
        heading for record in records for heading in record.headings if record.curves
    ):
        lines = []
        for number, (record, curve) in enumerate(curves):
            if heading in curve.heights:
                parts = [record.expr] if several else []
                label = one_line(" ".join([*parts, curve.label]).strip(), _LONGEST)
                lines.append(DrawnLine(number, label, curve.xs, curve.heights[heading], curve))
        marks = [(line.number, mark) for line in lines for mark in line.curve.marks]
        poles = [mark.at for _, mark in marks if mark.kind == "pole"]
        dots = [dot for number, mark in marks if heading == VALUE for dot in _dots(number, mark)]
        found.append(Panel(heading, lines, _view(lines, heading), poles, dots))
    return found


def _dots(number: int, mark: Mark) -> list[Dot]:
    heights = dict.fromkeys(
        () if mark.kind == "pole" or mark.at != mark.end else mark.value,
        "kink" if mark.kind == "kink" else "end",
    )
    return [
        Dot(number, mark.at, y, kind)
        for y, kind in [*heights.items(), (mark.point, "point")]
        if math.isfinite(y)
    ]


def _view(lines: Sequence[DrawnLine], heading: str) -> Ends:
    """Return the heights that are shown: all, unless curves leave every picture."""
    ends: list[float] = []
    for line in lines:
        shown = line.ys[np.isfinite(line.ys)]
        if heading in line.curve.clipped:
            table = line.curve.table[heading]
            inner = table[np.isfinite(table)]
            first, last = np.quantile(inner, [0.1, 0.9]) if inner.size else (0.0, 0.0)
            if first < last:
                room = _CLIPPED * (last - first)
                shown = np.clip(shown, first - room, last + room)
        if shown.size:
            ends += [float(shown.min()), float(shown.max())]
    if not ends:
        return -1.0, 1.0
    low, high = (min(max(end, -_LARGEST), _LARGEST) for end in (min(ends), max(ends)))
    room = max((high - low) * _MARGIN or abs(high) * 0.5 or 1.0, 1e-12 * max(abs(low), abs(high)))
    return low - room, high + room


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two, at most so many, evenly spaced."""
    if not low < high or most < 1:
        return []
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    for step in (factor * unit for factor in _STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            digits = max(0, 1 - math.floor(math.log10(step)))
            return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]
    return []


def label(number: float) -> str:
    """Return the text of a round number on an axis."""
    text = f"{number:.6g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


# -- Two names -----------------------------------------------------------------------------------

_FLAT = 1e-9  # of the largest slope: no arrow is drawn below this


def arrows(record: PlotRecord, columns: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return points of a field, and the directions in which the value grows there.

    There are ``columns`` and ``rows`` of points. The directions are in fractions of the axes.
    """
    grid = record.grid
    assert grid is not None
    if not grid.slopes.keys() >= record.ranges.keys():
        return (np.empty(0),) * 4
    at_y, at_x = (
        np.linspace(0, len(ends) - 1, n + 2)[1:-1].round().astype(int)
        for ends, n in ((grid.ys, rows), (grid.xs, columns))
    )
    points = np.meshgrid(grid.xs[at_x], grid.ys[at_y])
    with np.errstate(all="ignore"):
        across, up = (
            grid.slopes[name][np.ix_(at_y, at_x)] / (high - low)
            for name, (low, high) in record.ranges.items()
        )
        size = np.hypot(across, up)
        known = np.isfinite(size) & (
            size > _FLAT * np.max(size, where=np.isfinite(size), initial=0.0)
        )
    return points[0][known], points[1][known], across[known], up[known]


# -- A sheet of dots and characters, with the colour of each character ---------------------------

DIM = "bright_black"
Row = list[tuple[str, str]]  # the parts of a line, each with the name of its colour or ""
# Bits of the dots of a Braille character, from below.
_BITS = np.array([[64, 128], [4, 32], [2, 16], [1, 8]])


class Style(NamedTuple):
    """Features that a terminal can show."""

    width: int
    height: int
    colour: bool


class Sheet:
    """A rectangle of characters over ranges of two numbers, whose rows are counted from below."""

    def __init__(
        self, columns: int, rows: int, across: tuple[float, float], up: tuple[float, float]
    ) -> None:
        self.columns, self.rows = columns, rows
        self.low = np.array([across[0], up[0]])
        ends = np.nextafter([across[1], up[1]], math.inf)
        self.between = (ends - self.low) / (2 * columns, 4 * rows)  # distance of dots
        self.dots = np.zeros((4 * rows, 2 * columns), bool)
        self.behind = np.full((rows, columns), " ")  # give way to points
        self.characters = np.full((rows, columns), "")
        self.colours = np.full((rows, columns), DIM, object)

    def places(self, points: Any) -> np.ndarray:
        """Return the columns and the rows of the dots nearest to points.

        Points beyond the sheet have dots on its edge.
        """
        dots = np.rint((np.asarray(points) - self.low) / self.between)
        found: np.ndarray = np.clip(dots, 0, np.flip(self.dots.shape) - 1).astype(int)
        return found

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the column and the row of the character at a point."""
        column, row = self.places((x, y)).tolist()
        return column // 2, row // 4

    def dot(self, places: np.ndarray, colour: str, mark: str | None = None) -> None:
        """Dots, or a character in the place of each."""
        columns, rows = places.T
        cells = rows // 4, columns // 2
        self.dots[rows, columns] = True
        self.colours[cells] = colour
        if mark is not None:
            self.characters[cells] = mark

    def line(self, ends: np.ndarray, colour: str, mark: str | None = None) -> None:
        """Points from one to another."""
        steps = np.ptp(np.rint((ends - self.low) / self.between), axis=0).max() or 1
        parts = np.linspace(0, 1, int(steps) + 1)[:, None]
        self.dot(self.places(ends[0] + (ends[1] - ends[0]) * parts), colour, mark)

    def text(self, column: int, row: int, text: str, colour: str = "") -> None:
        """Characters, in the place of all dots."""
        for place, character in enumerate(text, column):
            if 0 <= place < self.columns:
                self.characters[row, place] = character
                self.colours[row, place] = colour

    def rows_of_parts(self) -> list[Row]:
        """Return the sheet from the top down, each line in parts of one colour."""
        codes = (self.dots.reshape(self.rows, 4, self.columns, 2) * _BITS[:, None]).sum(axis=(1, 3))
        braille = (0x2800 + codes).astype(np.uint32).view("<U1")
        shown = np.where(codes > 0, braille, self.behind)
        shown = np.where(self.characters != "", self.characters, shown)
        found = []
        for row in reversed(range(self.rows)):
            pairs = zip(self.colours[row], shown[row].tolist(), strict=True)
            parts = groupby(pairs, key=lambda pair: "" if pair[1] == " " else pair[0])
            found.append([("".join(text for _, text in part), colour) for colour, part in parts])
        return found


class Chart(NamedTuple):
    """Rows of a picture as a result, which stands above those that it is of."""

    rows: list[Row]
    error: None = None
    failed: bool = False

    def lines(self, digits: int | None = None, width: int | None = None) -> list[Line]:
        """Return the rows as lines, each in parts with a colour."""
        return [Line(None, [Part(text, colour) for text, colour in row]) for row in self.rows]


# -- Curves --------------------------------------------------------------------------------------

COLOURS = [*words("cyan yellow magenta green blue red white")]
MARKS = "*+ox#@%&=~$?"  # one for each curve, without colours
_PER_LABEL = 10  # columns per label of the horizontal axis
_PER_TICK = 3  # rows per tick

SIDE, TICK, CORNER, FLOOR, NOTCH, ZERO, POLE = "│┤└─┴┈┊"
_DOTS = {"kink": "◆", "end": "○", "point": "●"}


def chart(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves of some records as lines of text."""
    found = panels(records)
    if not found:
        return []
    legend = _legend(found[0].lines, style)
    rows = max(5, (style.height - 3 - len(found) - len(legend)) // len(found))
    record = next(r for r in records if r.curves)
    (name, across) = next(iter(record.ranges.items()))
    margin = margin_of([panel.view for panel in found], rows)
    columns = max(16, style.width - margin - 1)
    lines: list[Row] = []
    for panel in found:
        sheet = Sheet(columns, rows, across, panel.view)
        _draw(sheet, panel, style)
        lines += frame_sheet(panel.heading, sheet, panel.view, margin)
    return [*lines, *below(name, across, columns, margin), *legend]


def margin_of(heights: Iterable[Ends], rows: int) -> int:
    """Return the number of columns that the numbers beside sheets take."""
    return max(
        [len(label(at)) for up in heights for at in ticks(*up, max(3, rows // _PER_TICK))],
        default=1,
    )


def _draw(sheet: Sheet, panel: Panel, style: Style) -> None:
    """Draw the curves of a panel, with zero's line and poles behind them, and marks on top."""
    low, high = panel.view
    if low < 0 < high:
        sheet.behind[sheet.cell(0.0, 0.0)[1]] = ZERO
    for pole in panel.poles:
        sheet.behind[:, sheet.cell(pole, low)[0]] = POLE
    plain = len(panel.lines) > 1 and not style.colour
    for line in panel.lines:
        colour, character = (
            COLOURS[line.number % len(COLOURS)],
            MARKS[line.number % len(MARKS)] if plain else None,
        )
        for ends in _segments(line.xs, line.ys, panel.view):
            sheet.line(ends, colour, character)
    for dot in panel.dots:
        if low <= dot.y <= high:
            colour = COLOURS[dot.number % len(COLOURS)]
            sheet.text(*sheet.cell(dot.x, dot.y), _DOTS[dot.kind], colour)


def frame_sheet(heading: str, sheet: Sheet, up: Ends, margin: int) -> list[Row]:
    """Return a sheet below its heading, with its axis and numbers on some of its lines."""
    rows = sheet.rows
    numbers = ticks(*up, max(3, rows // _PER_TICK))
    beside = {rows - 1 - sheet.cell(0.0, at)[1]: label(at) for at in numbers}
    found: list[Row] = [[(" " * (margin + 1) + printable(heading), "")]]
    for place, parts in enumerate(sheet.rows_of_parts()):
        tick = beside.get(place, "")
        found.append([(f"{tick:>{margin}}{TICK if tick else SIDE}", DIM), *parts])
    return found


def _segments(xs: np.ndarray, ys: np.ndarray, up: Ends) -> np.ndarray:
    """Return the pieces between samples in the view, each as its two ends."""
    points, seen = np.stack([xs, ys], axis=1), (up[0] <= ys) & (ys <= up[1])
    return np.stack([points[:-1], points[1:]], axis=1)[seen[:-1] & seen[1:]]


def below(name: str, across: Ends, columns: int, margin: int) -> list[Row]:
    """Return the axis of a name, with round numbers."""
    floor, labels = [FLOOR] * columns, [" "] * (columns + margin + 1)
    taken = -1
    low, high = across
    for at in ticks(low, high, max(2, columns // _PER_LABEL)):
        text = label(at)
        column = min(columns - 1, max(0, round((at - low) / (high - low) * columns - 0.5)))
        floor[column] = NOTCH
        begin = min(max(margin + 1 + column - len(text) // 2, taken + 1), len(labels) - len(text))
        if begin > taken:
            labels[begin : begin + len(text)] = text
            taken = begin + len(text)
    axis: Row = [(" " * margin + CORNER + "".join(floor), DIM)]
    return [
        axis,
        [("".join(labels).rstrip(), DIM)],
        [(" " * (margin + 1) + printable(name).center(columns).rstrip(), "")],
    ]


def _legend(lines: Sequence[DrawnLine], style: Style) -> list[Row]:
    """Return which curve is which."""
    found = []
    for line in lines if len(lines) > 1 else ():
        sample = "━━" if style.colour else MARKS[line.number % len(MARKS)] * 2
        found.append([(sample, COLOURS[line.number % len(COLOURS)]), (f" {line.label}", "")])
    return found


# -- Contours ------------------------------------------------------------------------------------

_HEIGHTS = [*words("blue bright_blue cyan green bright_green yellow bright_yellow red bright_red")]
_ARROWS = "→↗↑↖←↙↓↘"
_APART = (10, 3)  # columns and rows from arrow to arrow


def contours(record: PlotRecord, style: Style) -> list[Row]:
    """Return a field as lines of text.

    It has lines of equal value with their heights, and arrows in the direction in which the value
    grows.
    """
    grid = record.grid
    assert grid is not None
    (name, across), (upward, up) = record.ranges.items()
    rows = max(5, style.height - 4)
    margin = margin_of([up], rows)
    columns = max(16, style.width - margin - 1)
    sheet = Sheet(columns, rows, across, up)
    nearest = (
        np.linspace(0, points - 1, dots).round().astype(int)
        for points, dots in zip(grid.values.shape, sheet.dots.shape, strict=True)
    )
    values = grid.values[np.ix_(*nearest)]
    drawn = []
    for number, level in enumerate(grid.levels):
        above = np.where(np.isfinite(values), values > level, np.nan)
        crossed = [np.abs(np.diff(above, axis=axis, append=np.nan)) == 1 for axis in (0, 1)]
        places = np.argwhere(np.any(crossed, axis=0))[:, ::-1]
        colour = _HEIGHTS[round(number * (len(_HEIGHTS) - 1) / max(1, len(grid.levels) - 1))]
        sheet.dot(places, colour)
        drawn.append((f"{label(level)} ", colour, (places // (2, 4)).tolist()))
    for x, y, wide, tall in zip(
        *arrows(record, columns // _APART[0], rows // _APART[1]), strict=True
    ):
        angle = math.atan2(tall * rows * 2, wide * columns)  # a character is twice as high as wide
        column, row = sheet.cell(x, y)
        sheet.text(column - 1, row, f" {_ARROWS[round(angle / (math.pi / 4)) % 8]} ")
    for text, colour, cells in drawn:
        middle = len(cells) // 2
        for column, row in cells[middle:] + cells[:middle]:  # the first free place
            end = column + len(text)
            if end <= columns and not "".join(sheet.characters[row, column:end]):
                sheet.text(column, row, text, colour)
                break
    return [*frame_sheet(upward, sheet, up, margin), *below(name, across, columns, margin)]
