"""Curves in a terminal: dots of Braille, or marks where there are no colours to tell several apart, with axes of round numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gradcli.inert import display_width, printable
from gradcli.report.plot_axes import Axis, Line, Panel, panels
from gradcli.report.plot_canvas import Row, Sheet, Style
from gradcli.report.plot_record import VALUE, PlotRecord

Point = tuple[float, float]
DIM = "bright_black"
COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white")
MARKS = "*+ox#@%&=~$?"  # of curves without colours
_PER_LABEL = 10  # columns along the axis below
_PER_TICK = 3  # rows


SIDE, TICK, CORNER, FLOOR, NOTCH, ZERO, POLE, KINK, JUMP, POINT = "│┤└─┴┈┊◆○●"
_ASCII = str.maketrans("│┤└─┴┈┊◆○●→↗↑↖←↙↓↘", "|++-+.:^o@>/^\\</v\\")


def for_terminal(rows: list[Row], style: Style) -> list[Row]:
    """Rows in characters that a terminal has."""
    return rows if style.unicode else [[(text.translate(_ASCII), colour) for text, colour in row] for row in rows]


def chart(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves of some records as lines of text."""
    found = panels(records)
    if not found:
        return []
    legend = _legend(found[0].lines, style)
    rows = max(5, (style.height - 3 - len(found) - len(legend)) // len(found))
    record = next(r for r in records if r.curves)
    (name, ends) = next(iter(record.ranges.items()))
    across = Axis.over(ends, "x" in record.log)
    heights = [Axis.over(panel.view, "y" in record.log and panel.heading == VALUE) for panel in found]
    margin = margin_of(heights, rows)
    columns = max(16, style.width - margin - 1)
    lines: list[Row] = []
    for panel, up in zip(found, heights, strict=True):
        sheet = Sheet(columns, rows, across[:2], up[:2])
        _draw(sheet, panel, across, up, style)
        lines += framed(panel.heading, sheet, up, margin)
    return for_terminal([*lines, *below(name, across, columns, margin), *legend], style)


def margin_of(heights: Iterable[Axis], rows: int) -> int:
    """The columns of the numbers beside sheets."""
    return max([display_width(text) for up in heights for _, text in up.ticks(max(3, rows // _PER_TICK))], default=1)


def _draw(sheet: Sheet, panel: Panel, across: Axis, up: Axis, style: Style) -> None:
    """Draw the curves of a panel, the line of zero and poles behind them, and other marks upon them."""
    if up.low < 0 < up.high and not up.log:
        sheet.text(0, sheet.cell(0.0, 0.0)[1], ZERO * sheet.columns, DIM, behind=True)
    for _, mark in panel.marks:
        if mark.kind == "pole":
            for row in range(sheet.rows):
                sheet.text(sheet.cell(float(across.at(mark.at)), up.low)[0], row, POLE, DIM, behind=True)
    plain = not style.unicode or (len(panel.lines) > 1 and not style.colour)
    for line in panel.lines:
        colour, character = COLOURS[line.number % len(COLOURS)], MARKS[line.number % len(MARKS)] if plain else None
        for (x0, y0), (x1, y1) in _segments(across.at(line.xs), up.at(line.ys), up):
            sheet.line(x0, y0, x1, y1, colour, character)
    for number, mark in panel.marks if panel.heading == VALUE else ():
        if mark.kind != "pole" and (mark.kind != "domain" or mark.at == mark.end):
            character = KINK if mark.kind == "kink" else JUMP
            for height, sign in [*((height, character) for height in dict.fromkeys(mark.value)), (mark.point, POINT)]:
                y = float(up.at(height))
                if up.low <= y <= up.high:
                    sheet.text(*sheet.cell(float(across.at(mark.at)), y), sign, COLOURS[number % len(COLOURS)])


def framed(heading: str, sheet: Sheet, up: Axis, margin: int) -> list[Row]:
    """A sheet below its heading, with its axis, and numbers on some of its lines."""
    rows = sheet.rows
    beside = {
        rows - 1 - min(rows - 1, round((at - up.low) / (up.high - up.low) * 4 * rows) // 4): text
        for at, text in up.ticks(max(3, rows // _PER_TICK))
    }
    found: list[Row] = [[(" " * (margin + 1) + printable(heading), "")]]
    for place, parts in enumerate(sheet.lines()):
        tick = beside.get(place, "")
        found.append([(f"{tick:>{margin}}{TICK if tick else SIDE}", DIM), *parts])
    return found


def _segments(xs: np.ndarray, ys: np.ndarray, up: Axis) -> Iterator[tuple[Point, Point]]:
    """The pieces between samples, cut off where they leave the view."""
    before: Point | None = None
    for point in zip(xs.tolist(), ys.tolist(), strict=True):
        if point[1] != point[1]:
            before = None
            continue
        found = _cut(before or point, point, up.low, up.high)
        if found is not None:
            yield found
        before = point


def _cut(start: Point, end: Point, low: float, high: float) -> tuple[Point, Point] | None:
    """The part of a line between two heights."""
    (x0, y0), (x1, y1) = start, end
    if max(y0, y1) < low or min(y0, y1) > high:
        return None
    if y0 == y1:
        return start, end

    def held(x: float, y: float) -> Point:
        inner = min(max(y, low), high)
        return (x if inner == y else x0 + (x1 - x0) * ((inner - y0) / (y1 - y0))), inner

    return held(x0, y0), held(x1, y1)


def below(name: str, across: Axis, columns: int, margin: int) -> list[Row]:
    """The axis of a name, with round numbers."""
    floor, labels = [FLOOR] * columns, [" "] * (columns + margin + 1)
    taken = -1
    for at, text in across.ticks(max(2, columns // _PER_LABEL)):
        column = min(columns - 1, max(0, round((at - across.low) / (across.high - across.low) * columns - 0.5)))
        floor[column] = NOTCH
        begin = min(max(margin + 1 + column - len(text) // 2, taken + 1), len(labels) - len(text))
        if begin > taken:
            labels[begin : begin + len(text)] = text
            taken = begin + len(text)
    axis: Row = [(" " * margin + CORNER + "".join(floor), DIM)]
    return [axis, [("".join(labels).rstrip(), DIM)], [(" " * (margin + 1) + printable(name).center(columns).rstrip(), "")]]


def _legend(lines: Sequence[Line], style: Style) -> list[Row]:
    """Which curve is which."""
    rows: list[Row] = []
    used = 0
    for line in lines if len(lines) > 1 else ():
        mark = MARKS[line.number % len(MARKS)]
        sample = mark * 2 if not style.unicode or not style.colour else "━━"
        width = 3 + display_width(line.label)
        if not rows or used + 3 + width > style.width:
            rows.append([])
            used = 0
        gap = "   " if used else ""
        rows[-1] += [(gap + sample, COLOURS[line.number % len(COLOURS)]), (f" {line.label}", "")]
        used += len(gap) + width
    return rows
