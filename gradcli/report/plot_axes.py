"""The axes of pictures of curves, whatever draws them: panels of a value and its derivatives, their views, and round numbers along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.inert import one_line
from gradcli.report.ranges import VALUE, Curve, Mark, PlotRecord

_LONGEST = 40  # characters of a label
_MARGIN = 0.04  # above and below what is shown
_CLIPPED = 1.5  # times the inner part of the heights, beyond it, where curves leave every picture
_LARGEST = 1e300  # of an axis: what libraries can still calculate with
_STEPS = (1, 2, 2.5, 5, 10)


class DrawnLine(NamedTuple):
    """A curve in a panel; ``number`` tells it apart in all of them."""

    number: int
    label: str
    xs: np.ndarray
    ys: np.ndarray
    curve: Curve


class Dot(NamedTuple):
    """A point to be seen: a "kink" of a curve, an "end" that a curve does not reach, or a "point" by itself."""

    number: int
    x: float
    y: float
    kind: str


class Panel(NamedTuple):
    """One set of axes, the value or a derivative: curves, lines upwards at poles, stretches without a value, and dots."""

    heading: str
    lines: list[DrawnLine]
    view: tuple[float, float]
    poles: list[float]
    gaps: list[tuple[float, float]]
    dots: list[Dot]


def panels(records: Sequence[PlotRecord]) -> list[Panel]:
    """The panels of curves over one name, those of several expressions together."""
    curves = [(record, curve) for record in records for curve in record.curves]
    several = sum(record.error is None for record in records) > 1
    found = []
    for heading in dict.fromkeys(heading for record in records for heading in record.headings if record.curves):
        lines = []
        for number, (record, curve) in enumerate(curves):
            if heading in curve.heights:
                parts = [record.expr] if several else []
                label = one_line(" ".join([*parts, curve.label]).strip(), _LONGEST)
                lines.append(DrawnLine(number, label, curve.xs, curve.heights[heading], curve))
        log = any("y" in record.log for record in records) and heading == VALUE
        marks = [(line.number, mark) for line in lines for mark in line.curve.marks]
        poles = [mark.at for _, mark in marks if mark.kind == "pole"]
        gaps = [(mark.at, mark.end) for _, mark in marks if mark.at != mark.end]
        dots = [dot for number, mark in marks if heading == VALUE for dot in _dots(number, mark)]
        found.append(Panel(heading, lines, _view(lines, heading, log), poles, gaps, dots))
    return found


def _dots(number: int, mark: Mark) -> list[Dot]:
    heights = dict.fromkeys(() if mark.kind == "pole" or mark.at != mark.end else mark.value, "kink" if mark.kind == "kink" else "end")
    return [Dot(number, mark.at, y, kind) for y, kind in [*heights.items(), (mark.point, "point")] if math.isfinite(y)]


def _view(lines: Sequence[DrawnLine], heading: str, log: bool) -> tuple[float, float]:
    """The heights that are shown: all, but where curves leave every picture."""
    lows, highs = [], []
    for line in lines:
        finite = line.ys[np.isfinite(line.ys) & ((line.ys > 0) | (not log))]
        if not finite.size:
            continue
        low, high = float(finite.min()), float(finite.max())
        if heading in line.curve.clipped and not log:
            table = line.curve.table[heading]
            first, last = np.quantile(table[np.isfinite(table)], [0.1, 0.9]) if np.isfinite(table).any() else (low, high)
            room = _CLIPPED * float(last - first)
            if room > 0:
                low, high = max(low, float(first) - room), min(high, float(last) + room)
        lows.append(low)
        highs.append(high)
    if not lows:
        return (0.1, 10.0) if log else (-1.0, 1.0)
    low, high = min(lows), max(highs)
    if log:
        return (low / 1.2, high * 1.2)
    room = max((high - low) * _MARGIN or abs(high) * 0.5 or 1.0, 1e-12 * max(abs(low), abs(high)))
    low, high = max(low - room, -_LARGEST), min(high + room, _LARGEST)
    return (low, high) if low < high else (-_LARGEST, _LARGEST)


class Axis(NamedTuple):
    """The range of an axis in positions: numbers, or of a logarithmic one their logarithms."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, ends: tuple[float, float], log: bool) -> Axis:
        low, high = (math.log10(end) if log else end for end in ends)
        return cls(low, high, log) if low < high else cls(low - 0.5, high + 0.5, log)

    def at(self, numbers: Any) -> np.ndarray:
        """The positions of numbers; NaN where there is none."""
        with np.errstate(all="ignore"):
            positions = np.log10(numbers) if self.log else np.asarray(numbers, np.float64)
        return np.where(np.isfinite(positions), positions, np.nan)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Positions of round numbers, at most about so many, and their texts."""
        if self.log:
            first, last = math.ceil(self.low), math.floor(self.high)
            step = max(1, -(-(last - first + 1) // most))
            return [(k, label(10.0**k)) for k in range(first, last + 1, step)] or [(k, label(10.0**k)) for k in self[:2]]
        return [(number, label(number)) for number in ticks(self.low, self.high, most)]


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
    """A round number on an axis."""
    text = f"{number:.6g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


# -- Two names -------------------------------------------------------------------------------------

_FLAT = 1e-9  # of the largest slope: where no arrow is drawn


def axes_of(record: PlotRecord) -> tuple[Axis, Axis]:
    """The axes of a field."""
    grid = record.grid
    assert grid is not None
    return Axis.over((grid.xs[0], grid.xs[-1]), "x" in record.log), Axis.over((grid.ys[0], grid.ys[-1]), "y" in record.log)


def arrows(record: PlotRecord, columns: int, rows: int) -> tuple[np.ndarray, ...]:
    """Points of a field in so many columns and rows, and the way that the value grows there, in parts of the axes."""
    grid, axes = record.grid, axes_of(record)
    assert grid is not None
    known_slopes = [slopes for slopes in grid.gradient if slopes is not None]
    if len(known_slopes) < 2:
        return (np.empty(0),) * 4
    places = [
        np.unique(np.linspace(0, len(ends) - 1, n + 2).round().astype(int))[1:-1] for ends, n in ((grid.ys, rows), (grid.xs, columns))
    ]
    points = np.meshgrid(grid.xs[places[1]], grid.ys[places[0]])
    with np.errstate(all="ignore"):
        across, up = (
            slopes[np.ix_(*places)] * (at if axis.log else 1.0) / (axis.high - axis.low)
            for slopes, at, axis in zip(known_slopes, points, axes, strict=True)
        )
        size = np.hypot(across, up)
        known = np.isfinite(size) & (size > _FLAT * np.max(size, where=np.isfinite(size), initial=0.0))
    return points[0][known], points[1][known], across[known], up[known]
