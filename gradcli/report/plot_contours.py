"""Contours in a terminal: lines of equal value with their heights, and arrows the way that the value grows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradcli.report.plot_axes import Axis, label
from gradcli.report.plot_canvas import Row, Sheet, Style
from gradcli.report.plot_chart import Point, below, for_terminal, framed, margin_of
from gradcli.report.plot_record import Field, PlotRecord

_COLOURS = ("blue", "bright_blue", "cyan", "green", "bright_green", "yellow", "bright_yellow", "red", "bright_red")
_ARROWS = "→↗↑↖←↙↓↘"
_APART = (10, 3)  # columns and rows between arrows
_FLAT = 1e-9  # of the largest slope: where no arrow is drawn


def contours(record: PlotRecord, style: Style) -> list[Row]:
    """A field as lines of text."""
    grid = record.grid
    assert grid is not None
    (name, _), (upward, _) = record.ranges.items()
    across, up = (
        Axis.over((float(numbers[0]), float(numbers[-1])), axis in record.log) for axis, numbers in (("x", grid.xs), ("y", grid.ys))
    )
    rows = max(5, style.height - 4)
    margin = margin_of([up], rows)
    columns = max(16, style.width - margin - 1)
    sheet = Sheet(columns, rows, (0, columns), (0, rows))
    axes = across.at(grid.xs), up.at(grid.ys)
    shown = _lines(sheet, grid, axes, not style.unicode)
    _arrows(sheet, grid, axes, (across.high - across.low, up.high - up.low))
    _labels(sheet, shown, grid.levels)
    return for_terminal([*framed(upward, sheet, up, margin), *below(name, across, columns, margin)], style)


Axes = tuple[np.ndarray, np.ndarray]


def _spread(values: np.ndarray, axes: Axes, rows: int, columns: int) -> np.ndarray:
    """Values of a grid at so many rows and columns, evenly spaced, between those that it has."""
    xs, ys = axes
    across = np.interp(np.linspace(xs[0], xs[-1], columns), xs, np.arange(len(xs)))
    up = np.interp(np.linspace(ys[0], ys[-1], rows), ys, np.arange(len(ys)))
    left, low = np.minimum(across.astype(int), len(xs) - 2), np.minimum(up.astype(int), len(ys) - 2)
    over, above = (across - left)[None, :], (up - low)[:, None]
    with np.errstate(all="ignore"):
        lower = values[np.ix_(low, left)] * (1 - over) + values[np.ix_(low, left + 1)] * over
        upper = values[np.ix_(low + 1, left)] * (1 - over) + values[np.ix_(low + 1, left + 1)] * over
        found: np.ndarray = lower * (1 - above) + upper * above
    return found


def _nearest(axis: np.ndarray, chosen: np.ndarray, count: int) -> np.ndarray:
    """The places of some points of an axis among so many that are evenly spaced, and those before them."""
    at = (axis[chosen] - axis[0]) / (axis[-1] - axis[0]) * (count - 1)
    return np.unique(np.concatenate([np.floor(at), np.ceil(at)]).astype(int))


def _lines(sheet: Sheet, grid: Field, axes: Axes, letters: bool) -> list[list[Point]]:
    """The dots of each level: those beside which the value is on its other side. Letters stand for them where there are no dots."""
    fine = _spread(grid.values, axes, sheet.rows * 4, sheet.columns * 2)
    known = np.isfinite(fine)
    lost = np.isnan(grid.values)
    known[:, _nearest(axes[0], lost.all(axis=0), fine.shape[1])] = False  # lines that are too thin to be met
    known[_nearest(axes[1], lost.all(axis=1), fine.shape[0]), :] = False
    found = []
    for number, level in enumerate(grid.levels):
        with np.errstate(all="ignore"):
            above = fine > level
        edge = np.zeros(fine.shape, bool)
        edge[:, :-1] |= (above[:, :-1] != above[:, 1:]) & known[:, :-1] & known[:, 1:]
        edge[:-1] |= (above[:-1] != above[1:]) & known[:-1] & known[1:]
        dots = [(j / 2, i / 4) for i, j in np.argwhere(edge).tolist()]
        mark = chr(ord("a") + number % 26) if letters else None
        for x, y in dots:
            sheet.point(x, y, _colour(number, len(grid.levels)), mark)
        found.append(dots)
    return found


def _colour(number: int, count: int) -> str:
    return _COLOURS[round(number * (len(_COLOURS) - 1) / max(1, count - 1))]


def _arrows(sheet: Sheet, grid: Field, axes: Axes, spans: Point) -> None:
    if grid.gradient[0] is None or grid.gradient[1] is None:
        return
    wide, tall = (_spread(slope, axes, sheet.rows, sheet.columns) for slope in grid.gradient if slope is not None)
    with np.errstate(all="ignore"):
        size = np.hypot(wide, tall)
    most = float(np.nanmax(np.where(np.isfinite(size), size, 0.0), initial=0.0))
    for row in range(_APART[1] // 2, sheet.rows, _APART[1]):
        for column in range(_APART[0] // 2, sheet.columns, _APART[0]):
            x, y = float(wide[row, column]), float(tall[row, column])
            if not math.isfinite(x + y) or math.hypot(x, y) <= _FLAT * most:
                continue
            angle = math.atan2(y / spans[1] * sheet.rows * 2, x / spans[0] * sheet.columns)  # characters are twice as high as wide
            sheet.text(column - 1, row, f" {_ARROWS[round(angle / (math.pi / 4)) % 8]} ")


def _labels(sheet: Sheet, shown: list[list[Point]], levels: Sequence[float]) -> None:
    """The height of each level on its line, as far from the others as can be."""
    placed: list[Point] = []
    for number, level in enumerate(levels):
        text = label(level)
        room = [(x, y) for x, y in shown[number][:: max(1, len(shown[number]) // 200)] if x + len(text) < sheet.columns]
        if not room:
            continue
        far = [min([math.hypot((x - a) / 2, y - b) for a, b in placed], default=x) for x, y in room]
        x, y = room[int(np.argmax(far))]
        placed.append((x, y))
        sheet.text(math.floor(x), math.floor(y), f"{text} ", _colour(number, len(levels)))
