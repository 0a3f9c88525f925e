"""Curves in a terminal: dots of Braille, or marks where there are no colours to tell several apart, with axes of round numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradcli.inert import display_width, printable
from gradcli.report.plot_axes import Line, Panel, label, log_ticks, panels, ticks
from gradcli.report.plot_canvas import Row, Sheet, Style
from gradcli.report.plot_record import VALUE, Mark, PlotRecord

Point = tuple[float, float]
DIM = "bright_black"
COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "white")
MARKS = "*+ox#@%&=~$?"  # of curves without colours
_PER_LABEL = 10  # columns along the axis below
_PER_TICK = 3  # rows


class Frame(NamedTuple):
    """The characters of axes and marks."""

    side: str
    tick: str
    corner: str
    floor: str
    notch: str
    zero: str
    pole: str
    kink: str
    jump: str
    point: str


UNICODE = Frame("│", "┤", "└", "─", "┴", "┈", "┊", "◆", "○", "●")
ASCII = Frame("|", "+", "+", "-", "+", ".", ":", "^", "o", "@")


def chart(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves of some records as lines of text."""
    found = panels(records)
    if not found:
        return []
    rows = max(5, (style.height - 3 - len(found) - len(_legend(found[0].lines, style))) // len(found))
    record = next(r for r in records if r.curves)
    (name, ends) = next(iter(record.ranges.items()))
    margin = max(display_width(text) for panel in found for _, text in _heights(panel, rows, record.log))
    lines: list[Row] = []
    for panel in found:
        lines += _drawn(panel, ends, record.log, rows, margin, style)
    columns = _columns(style, margin)
    sides = _sides(ends, "x" in record.log)
    lines += below(name, sides, "x" in record.log, columns, margin, UNICODE if style.unicode else ASCII)
    return lines + _legend(found[0].lines, style)


def _columns(style: Style, margin: int) -> int:
    return max(16, style.width - margin - 1)


def _sides(ends: Point, log: bool) -> Point:
    left, right = (math.log10(end) if log else end for end in ends)
    return (left - 0.5, right + 0.5) if left == right else (left, right)


def _heights(panel: Panel, rows: int, log: str) -> list[tuple[float, str]]:
    """Round numbers beside a panel."""
    most = max(3, rows // _PER_TICK)
    numbers = log_ticks(*panel.view, most) if _is_log(panel, log) else ticks(*panel.view, most)
    return [(number, label(number)) for number in numbers]


def _is_log(panel: Panel, log: str) -> bool:
    return "y" in log and panel.heading == VALUE


def _drawn(panel: Panel, ends: Point, log: str, rows: int, margin: int, style: Style) -> list[Row]:
    """One panel: its heading, and the sheet in its frame."""
    across, up = _scale("x" in log), _scale(_is_log(panel, log))
    low, high = map(up, panel.view)
    sheet = Sheet(_columns(style, margin), rows, _sides(ends, "x" in log), (low, high))
    frame = UNICODE if style.unicode else ASCII
    if low < 0 < high and not _is_log(panel, log):
        sheet.text(0, sheet.cell(0.0, 0.0)[1], frame.zero * sheet.columns, DIM, behind=True)
    for _, mark in panel.marks:
        if mark.kind == "pole":
            for row in range(rows):
                sheet.text(sheet.cell(across(mark.at), low)[0], row, frame.pole, DIM, behind=True)
    plain = not style.unicode or (len(panel.lines) > 1 and not style.colour)
    for line in panel.lines:
        colour, character = COLOURS[line.number % len(COLOURS)], MARKS[line.number % len(MARKS)] if plain else None
        for (x0, y0), (x1, y1) in _segments(line, across, up, (low, high)):
            sheet.line(x0, y0, x1, y1, colour, character)
    if panel.heading == VALUE:
        for number, marked in panel.marks:
            _mark(sheet, marked, across, up, (low, high), frame, COLOURS[number % len(COLOURS)])
    beside = {rows - 1 - sheet.cell(0.0, up(number))[1]: text for number, text in _heights(panel, rows, log)}
    heading: Row = [(" " * (margin + 1) + printable(panel.heading), "")]
    return [heading, *framed(sheet, beside, margin, frame)]


def framed(sheet: Sheet, beside: Mapping[int, str], margin: int, frame: Frame) -> list[Row]:
    """A sheet with its axis, and numbers on some of its lines."""
    found = []
    for place, parts in enumerate(sheet.lines()):
        tick = beside.get(place, "")
        found.append([(f"{tick:>{margin}}{frame.tick if tick else frame.side}", DIM), *parts])
    return found


def _scale(log: bool) -> Callable[[float], float]:
    return math.log10 if log else float


def _segments(
    line: Line, across: Callable[[float], float], up: Callable[[float], float], view: tuple[float, float]
) -> Iterator[tuple[Point, Point]]:
    """The pieces between samples, cut off where they leave the view."""
    low, high = view
    before: Point | None = None
    for x, y in zip(line.xs.tolist(), line.ys.tolist(), strict=True):
        if not math.isfinite(y) or (up is not float and y <= 0):
            before = None
            continue
        point = across(x), up(y)
        found = _cut(point if before is None else before, point, low, high)
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


def _mark(
    sheet: Sheet, mark: Mark, across: Callable[[float], float], up: Callable[[float], float], view: Point, frame: Frame, colour: str
) -> None:
    """A kink, a hole, or both ends of a jump, on its curve."""
    character = frame.kink if mark.kind == "kink" else frame.jump
    if mark.kind == "pole" or (mark.kind == "domain" and mark.at != mark.end):
        return
    for height in dict.fromkeys(mark.value):
        if math.isfinite(height) and (up is float or height > 0) and view[0] <= up(height) <= view[1]:
            sheet.text(*sheet.cell(across(mark.at), up(height)), character, colour)
    if math.isfinite(mark.point) and (up is float or mark.point > 0) and view[0] <= up(mark.point) <= view[1]:
        sheet.text(*sheet.cell(across(mark.at), up(mark.point)), frame.point, colour)


def below(name: str, sides: Point, log: bool, columns: int, margin: int, frame: Frame) -> list[Row]:
    """The axis of a name, with round numbers."""
    left, right = sides
    most = max(2, columns // _PER_LABEL)
    numbers = log_ticks(10.0**left, 10.0**right, most) if log else ticks(left, right, most)
    floor, labels = [frame.floor] * columns, [" "] * (columns + margin + 1)
    taken = -1
    for number in numbers:
        at = math.log10(number) if log else number
        column = min(columns - 1, max(0, round((at - left) / (right - left) * columns - 0.5)))
        floor[column] = frame.notch
        text = label(number)
        begin = min(max(margin + 1 + column - len(text) // 2, taken + 1), len(labels) - len(text))
        if begin > taken:
            labels[begin : begin + len(text)] = text
            taken = begin + len(text)
    shown = printable(name)
    axis: Row = [(" " * margin + frame.corner + "".join(floor), DIM)]
    return [axis, [("".join(labels).rstrip(), DIM)], [(" " * (margin + 1) + shown.center(columns).rstrip(), "")]]


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
