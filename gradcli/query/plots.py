"""Values and derivatives of a program's queries over ranges: what `gradcli plot` shows. Other names keep their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gradcli.errors import EvaluationError, ShapeError, TypeMismatchError, UsageError
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place, evenly, levels
from gradcli.plots.sampling import Samples, sampled
from gradcli.query.bounds import variables_of
from gradcli.query.evaluate import answers
from gradcli.query.options import Options
from gradcli.query.plot_marks import cross_check, marks_of, regions, seeds
from gradcli.query.uncertainty import left_out
from gradcli.query.wrt import missing
from gradcli.report.ranges import VALUE, BoundNote, Curve, Field, PlotRecord

# -- The values of a query over two ranges, on grids for pictures and tables: contours are not
# drawn through poles and jumps along a name.


Ends = tuple[float, float]
MOST_ENTRIES = 4_000_000  # of a table
_SIDE, _FINE = 33, 121  # of the grid, in the table and in the picture
_LEVELS = 7
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


def _sharp(note: BoundNote, columns: Columns, ranges: Mapping[str, Ends]) -> BoundNote:
    """A box around a line along one name, at the other's float where that is the same along several lines across."""
    shares = {name: (high - low) / (ranges[name][1] - ranges[name][0]) for name, (low, high) in note.where.items()}
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
    """Return where contours are not drawn through: lines along one name at which the value has poles or jumps for all of the other."""
    found: dict[str, list[float]] = {name: [] for name in record.ranges}
    for note in record.regions:
        lines = {name: low for name, (low, high) in note.where.items() if low == high}
        if note.kind in ("pole", "jump") and all(ends == record.ranges[n] for n, ends in note.where.items() if n not in lines):
            for name, at in lines.items() if len(lines) == 1 else ():
                found[name].append(at)
    return found


def _grid(columns: Columns, ranges: Mapping[str, Ends], log: str, side: int, cuts: Mapping[str, Sequence[float]]) -> Field:
    (first, (left, right)), (second, (low, high)) = ranges.items()
    across, up = cuts.get(first, ()), cuts.get(second, ())
    xs, ys = np.union1d(evenly(left, right, side, "x" in log), across), np.union1d(evenly(low, high, side, "y" in log), up)
    found = columns(*(grid.ravel() for grid in np.meshgrid(xs, ys)))
    values = found.values.reshape(len(ys), len(xs))
    values[:, np.isin(xs, across)], values[np.isin(ys, up), :] = np.nan, np.nan
    slopes = {name: slope.reshape(len(ys), len(xs)) for name, slope in found.slopes.items()}
    return Field(xs, ys, values, slopes, (slopes.get(first), slopes.get(second)))


POINTS = 101  # of a table of one name
_MOST = 12  # curves
_NEAR = 1e-6  # relative, or else absolute: what is on a curve
_WORK = 200_000_000  # operations of a curve
_FEWEST, _MOST_POINTS, _MOST_SINGLE = 200, 6_000, 1_000  # points of one; single ones are computed one by one


@dataclass(frozen=True, eq=False)
class AskedPlot:
    """What is wanted of every query.

    ranges  of one name or two
    wrt     the names to differentiate by; those of the ranges, if None
    points  in the table: along each name
    log     the axes that are logarithmic: of x, y
    check   whether the derivative is cross-checked at some points, for so many seconds at most (``timeout``)
    """

    ranges: Mapping[str, Ends]
    wrt: tuple[str, ...] | None = None
    points: int | None = None
    log: str = ""
    check: bool = False
    timeout: float | None = None


def plots(program: Program, lines: Iterable[str], name: str | None, asked: AskedPlot) -> Iterator[PlotRecord]:
    """A record for each query of a program, and for each error."""
    known = {"ranges": dict(asked.ranges), "log": asked.log}
    return answers(PlotRecord, partial(_drawn, asked=asked), program, program.statements(lines, name), **known)


@np.errstate(all="ignore")
def _drawn(program: Program, lowered: Lowered, record: PlotRecord, asked: AskedPlot) -> None:
    scope, root = program.scope, lowered.value
    record.warnings += left_out(scope, [root], "a plot")
    if root.kind != "float":
        raise TypeMismatchError("a curve is that of a number; the result is a truth or an index", help="where(CONDITION, 1, 0) is a number")
    present = variables_of(program, lowered, asked.ranges)
    moving = {name: present.get(name) for name in asked.ranges}
    record.by = tuple(dict.fromkeys(asked.ranges if asked.wrt is None else asked.wrt))
    wrt = {name: moving[name] if name in moving else _by(program, name) for name in record.by}
    for name in asked.ranges:
        if name not in present:
            record.notes.append(f"the expression does not depend on {name}")
    columns = Columns(scope, root, moving, wrt)
    for name, leaf in wrt.items():
        if leaf is not None and leaf.shape and not (columns.entrywise and leaf.shape == root.shape):
            raise ShapeError(f"'{name}' has the shape {leaf.shape}: a curve of d/d{name} needs a number", help=f"leave {name} out of --wrt")
    if len(asked.ranges) > 1:
        fill(program, columns, asked.points, record)
    else:
        _curves(program, lowered, columns, asked, record)
    if asked.check and record.by:
        cross_check(program, lowered, moving, record, Options(wrt=record.by, formula=False, timeout=asked.timeout))


def _by(program: Program, name: str) -> Expr:
    """The leaf that another name to differentiate by stands for."""
    leaf = program.scope.leaves.get(name)
    if leaf is None:
        raise missing(program.scope, name)
    return leaf


def _curves(program: Program, lowered: Lowered, columns: Columns, asked: AskedPlot, record: PlotRecord) -> None:
    root = lowered.value
    entries = math.prod(root.shape)
    if entries > _MOST:
        raise ShapeError(
            f"the result has the shape {root.shape}: {entries} curves are too many for a picture, which shows up to {_MOST}",
            help="take one entry, a part, or a sum",
        )
    ((name, (begin, end)),) = asked.ranges.items()
    log = "x" in asked.log
    record.at = evenly(begin, end, asked.points or POINTS, log)
    if len(record.at) * max(entries, 1) > MOST_ENTRIES:
        raise UsageError(f"--points {asked.points} makes a table of more than {MOST_ENTRIES:,} rows")
    by = columns.wrt
    steering = Columns(columns.scope, root, columns.moving, {name: columns.moving[name]})

    def probe(xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = steering(xs)
        return found.values.reshape(len(xs), entries), found.slopes[name].reshape(len(xs), entries)

    known = seeds(columns, name, (begin, end)) if columns.entrywise and not root.shape else []
    samples = sampled(probe, begin, end, entries, known, _budget(columns), log=log)
    if not np.isfinite(samples.values).any():
        raise EvaluationError(f"the expression has no finite value anywhere for {_ranges(asked)}")
    drawn, table = columns(samples.xs), columns(record.at)
    labels = _labels(program, root, list(by))
    for entry, (label, names) in enumerate(labels):
        places = samples.places[entry]
        heights, numbers = (
            {VALUE: found.values.reshape(-1, entries)[:, entry]} | {f"d/d{n}": found.slopes[n].reshape(-1, entries)[:, entry] for n in by}
            for found in (drawn, table)
        )
        curve = Curve(label, names, *_broken(samples, places, heights), numbers)
        curve.marks, notes = marks_of(columns, name, samples, entry, (begin, end))
        record.notes += [f"{label}: {note}" if label else note for note in notes]
        curve.clipped = _clipped(places, heights)
        record.curves.append(curve)


def _budget(columns: Columns) -> int:
    """At how many points a curve may be computed."""
    least, most = (_FEWEST, _MOST_POINTS) if columns.entrywise else (_FEWEST, _MOST_SINGLE)
    return min(most, max(least, _WORK // columns.work))


def _ranges(asked: AskedPlot) -> str:
    return ", ".join(f"{name}={low!r}..{high!r}" for name, (low, high) in asked.ranges.items())


def _labels(program: Program, root: Expr, by: Sequence[str]) -> list[tuple[str, dict[str, float]]]:
    """Return what tells the entries of a result apart: the values of names of its shape, or their indices."""
    if not root.shape:
        return [("", {})]
    scope = program.scope
    alike = {n: scope.values[x] for n, x in scope.leaves.items() if x.shape == root.shape and x in scope.values and n in scope.mentioned}
    found = []
    for index in np.ndindex(root.shape):
        names = {n: float(v[index]) for n, v in alike.items()}
        label = ", ".join(f"{n}={value:g}" for n, value in names.items()) or f"[{', '.join(map(str, index))}]"
        found.append((label, names))
    return found


def _broken(samples: Samples, places: Sequence[Place], heights: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points with a gap wherever a curve is not drawn through: the value at poles and jumps, the slope at kinks, too."""
    breaks = [place for place in places if place.kind != "domain" or place.single]
    within = {place: _within(samples.xs, place) for place in breaks}
    after = sorted({i for several in within.values() for i in several})
    xs = np.insert(samples.xs, after, [samples.xs[i - 1] for i in after])
    apart = {i for place, several in within.items() if place.kind in ("pole", "jump") for i in several}
    defined = np.isfinite(heights[VALUE])
    out = {}
    for heading, numbers in heights.items():
        drawn = np.where(np.isfinite(numbers) & defined, numbers, np.nan)
        for place in breaks:
            if place.kind == ("jump" if heading == VALUE else "kink"):
                _lift(samples.xs, drawn, place)
            elif place.kind == "jump":
                drawn[(place.low < samples.xs) & (samples.xs < place.high)] = np.nan
        gaps = [drawn[i - 1] if heading == VALUE and i not in apart else np.nan for i in after]
        out[heading] = np.insert(drawn, after, gaps)
    return xs, out


def _within(xs: np.ndarray, place: Place) -> range:
    """The points of a place but for its first one: before each of them the curve may break."""
    first, last = np.searchsorted(xs, [place.low, place.high])
    return range(int(first) + 1, min(int(last), len(xs) - 1) + 1)


def _lift(xs: np.ndarray, heights: np.ndarray, place: Place) -> None:
    """Take a curve off what is chosen at a kink or a jump itself, which is on neither side."""
    first, last = np.searchsorted(xs, [place.low, place.high])
    for i in range(int(first), min(int(last) + 1, len(xs))):
        if not any(abs(heights[i] - limit) <= _NEAR * max(1.0, abs(limit)) for limit in (place.left, place.right) if math.isfinite(limit)):
            heights[i] = np.nan


def _clipped(places: Sequence[Place], heights: Mapping[str, np.ndarray]) -> set[str]:
    """The headings whose heights grow beyond any picture."""
    if any(place.kind == "pole" for place in places):
        return {*heights}
    steep = any(place.kind in ("domain", "kink") for place in places)
    return {h for h, numbers in heights.items() if h != VALUE and (steep or not np.isfinite(numbers).all())}
