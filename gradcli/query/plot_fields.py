"""The values of a query over two ranges, on grids for pictures and tables: contours are not drawn through poles and jumps along a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradcli.errors import EvaluationError, ShapeError, UsageError
from gradcli.language.run import Program
from gradcli.plots.columns import Columns
from gradcli.plots.places import evenly, levels
from gradcli.plots.sampling import sampled
from gradcli.query.plot_marks import regions
from gradcli.report.bound_record import BoundNote
from gradcli.report.plot_record import Field, PlotRecord

Ends = tuple[float, float]
MOST_ENTRIES = 4_000_000  # of a table
_SIDE, _FINE = 33, 121  # of the grid, in the table and in the picture
_LEVELS = 7
_THIN, _THIN_SIDE = 1e-6, 1e-4  # of a range: the width of a line, and of what is left out beside it
_WIDE = 0.3  # of a range: boxes that are narrower are looked into
_LINES = (0.23, 0.57, 0.81)  # of the other range: along which they are
_ALONG = 400  # points of each
_MOST_WORK = 40_000_000  # operations of a grid that is computed point by point


def fill(program: Program, columns: Columns, points: int | None, record: PlotRecord) -> None:
    """Put the grids, what is not smooth, and round levels into a record. ``points`` are those of the table along each name."""
    root = columns.root
    if root.shape:
        raise ShapeError(f"contours are those of a number; the result has the shape {root.shape}", help="take one entry, or a sum")
    side = points or _SIDE
    if not columns.entrywise and side * side * columns.work > _MOST_WORK:
        raise UsageError(
            f"{side} points along each name are too many for an expression that is computed point by point", help="--points 20"
        )
    if side * side > MOST_ENTRIES:
        raise UsageError(f"--points {side} makes a table of more than {MOST_ENTRIES:,} rows")
    ranges, log = record.ranges, record.log
    record.regions = [_sharp(note, columns, ranges) for note in regions(program, columns, ranges)]
    record.grid = _grid(columns, ranges, log, _FINE if columns.entrywise else side, _cuts(record))
    record.grid.table = table = _grid(columns, ranges, log, side, {})
    record.grid.levels = levels(record.grid.values, _LEVELS)
    lost = int(np.count_nonzero(~np.isfinite(table.values)))
    if lost:
        record.notes.append(f"{lost} of {table.values.size} points of the table have no finite value")
    if not np.isfinite(record.grid.values).any():
        where = ", ".join(f"{name}={low!r}..{high!r}" for name, (low, high) in ranges.items())
        raise EvaluationError(f"the expression has no finite value anywhere for {where}")


def _shares(note: BoundNote, ranges: Mapping[str, Ends]) -> dict[str, float]:
    """How much of each range a box has."""
    return {name: (high - low) / (ranges[name][1] - ranges[name][0]) for name, (low, high) in note.where.items()}


def _sharp(note: BoundNote, columns: Columns, ranges: Mapping[str, Ends]) -> BoundNote:
    """A box around a line along one name, at the other's float where that is the same along several lines across."""
    shares = _shares(note, ranges)
    narrow = [name for name, share in shares.items() if 0 < share < _WIDE]
    if note.kind not in ("pole", "jump") or len(shares) != 2 or len(narrow) != 1 or max(shares.values()) < 1 or not columns.entrywise:
        return note
    (name,) = narrow
    (other,) = (n for n in shares if n != name)
    across = Columns(columns.scope, columns.root, columns.moving, {name: columns.moving[name]})
    low, high = note.where[name]
    begin, end = max(ranges[name][0], 2 * low - high), min(ranges[name][1], 2 * high - low)
    found = set()
    for share in _LINES:
        fixed = ranges[other][0] + (ranges[other][1] - ranges[other][0]) * share

        def probe(xs: np.ndarray, fixed: float = fixed) -> tuple[np.ndarray, np.ndarray]:
            by_name = {name: xs, other: np.full(len(xs), fixed)}
            points = across(*(by_name[n] for n in ranges))
            return points.values[:, None], points.slopes[name][:, None]

        (places,) = sampled(probe, begin, end, 1, (), _ALONG).places
        found.add(tuple(place.at for place in places if place.kind == note.kind))
    found.discard(())  # a line along which the value is 0 has none
    if len(found) != 1 or len(at := found.pop()) != 1:
        return note
    return note._replace(where={**note.where, name: (at[0], at[0])})


def _cuts(record: PlotRecord) -> dict[str, list[float]]:
    """Where contours are not drawn through: lines along one name at which the value has poles or jumps for all of the other."""
    found: dict[str, list[float]] = {name: [] for name in record.ranges}
    for note in record.regions:
        shares = _shares(note, record.ranges)
        thin = [name for name, share in shares.items() if share < _THIN]
        if note.kind in ("pole", "jump") and len(thin) == 1 and all(share == 1 for name, share in shares.items() if name not in thin):
            found[thin[0]].append(sum(note.where[thin[0]]) / 2)
    return found


def _grid(columns: Columns, ranges: Mapping[str, Ends], log: str, side: int, cuts: Mapping[str, Sequence[float]]) -> Field:
    (first, (left, right)), (second, (low, high)) = ranges.items()
    xs, across = _cut(evenly(left, right, side, "x" in log), cuts.get(first, ()))
    ys, up = _cut(evenly(low, high, side, "y" in log), cuts.get(second, ()))
    found = columns(*(grid.ravel() for grid in np.meshgrid(xs, ys)))
    values = found.values.reshape(len(ys), len(xs))
    values[:, across], values[up, :] = np.nan, np.nan
    slopes = {name: slope.reshape(len(ys), len(xs)) for name, slope in found.slopes.items()}
    return Field(xs, ys, values, slopes, (slopes.get(first), slopes.get(second)))


def _cut(points: np.ndarray, cuts: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Points with those of cuts and their sides among them, and which of them are cuts."""
    step = _THIN_SIDE * (points[-1] - points[0])
    inner = [min(max(cut, points[0]), points[-1]) for cut in cuts]
    apart = [p for p in points.tolist() if all(abs(p - cut) > 2 * step for cut in inner)]
    every = np.array(sorted({*apart, *(cut + side * step for cut in inner for side in (-1, 0, 1))}))
    every = every[(points[0] <= every) & (every <= points[-1])]
    return every, np.isin(every, inner)
