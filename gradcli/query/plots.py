"""Values and derivatives of a program's queries over ranges: what `gradcli plot` shows.

Other names keep their values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradcli.check.verdicts import box_text
from gradcli.errors import EvaluationError, GradcliError, ShapeError, TypeMismatchError, UsageError
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.options import Options
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place, evenly, levels
from gradcli.plots.sampling import GOLDEN, Samples, sample
from gradcli.query.bounds import variables_of
from gradcli.query.claims import place_notes
from gradcli.query.free_variables import SampledPoints
from gradcli.query.programs import Script, answers, missing
from gradcli.query.uncertainty import left_out
from gradcli.report.ranges import VALUE, BoundNote, Curve, Ends, Field, Mark, PlotRecord

# -- The values of a query over two ranges, on grids for pictures and tables.


MOST_ENTRIES = 4_000_000  # most entries of a table
_SIDE, _FINE = 33, 201  # points along a side of the grid: in the table, in the picture
_LEVELS = 7
_MOST_WORK = 40_000_000  # most operations of a grid that is computed point by point


def fill(columns: Columns, side: int, record: PlotRecord) -> None:
    """Put the grids, what is not smooth, and round levels into a record.

    ``side`` is the number of points of the table along each name.
    """
    if columns.root.shape:
        raise ShapeError(
            f"contours are those of a number; the result has the shape {columns.root.shape}",
            help="take one entry, or a sum",
        )
    if not columns.entrywise and side * side * columns.work > _MOST_WORK:
        raise UsageError(
            f"{side} points along each name are too many for an expression that is computed point "
            "by point",
            help="--points 20",
        )
    _refuse_rows(side, side * side)
    record.regions = regions(columns, record.ranges)
    record.grid = _grid(columns, record, _FINE if columns.entrywise else side)
    record.grid.table = table = _grid(columns, record, side)
    record.grid.levels = levels(record.grid.values, _LEVELS)
    lost = int(np.count_nonzero(~np.isfinite(table.values)))
    if lost:
        record.notes.append(
            f"{lost} of {table.values.size} points of the table have no finite value"
        )
    _refuse_nowhere(record, record.grid.values)


def _refuse_rows(points: int, rows: int) -> None:
    if rows > MOST_ENTRIES:
        raise UsageError(f"--points {points} makes a table of more than {MOST_ENTRIES:,} rows")


def _refuse_nowhere(record: PlotRecord, values: np.ndarray) -> None:
    if not np.isfinite(values).any():
        raise EvaluationError(
            f"the expression has no finite value anywhere for {box_text(record.ranges)}"
        )


def _grid(columns: Columns, record: PlotRecord, side: int) -> Field:
    """Compute the field at evenly spaced points."""
    xs, ys = (evenly(*ends, side) for ends in record.ranges.values())
    found = columns(*map(np.ravel, np.meshgrid(xs, ys)))
    slopes = {name: slope.reshape(side, side) for name, slope in found.slopes.items()}
    return Field(xs, ys, found.values.reshape(side, side), slopes)


POINTS = 101  # points in the table of a single name
_MOST = 12  # most curves
_WORK = 200_000_000  # most operations for one curve
_FEWEST = 200  # points of one curve
_MOST_POINTS = 6_000
_MOST_SINGLE = 1_000  # if they are computed one by one


def _refuse_ranges(ranges: Mapping[str, Ends]) -> None:
    """Raise UsageError for ranges that no picture has room for."""
    for third in [*ranges][2:]:
        help = f"give {third} a value: {third}=1, or several: {third}=1,2,3"
        raise UsageError(f"'{third}' has a range, but a picture has room for two names", help=help)
    for name, (low, high) in ranges.items():
        text = f"the range of '{name}'"
        if low == high:
            help = f"gradcli eval gives its value: {name}={low!r}"
            raise UsageError(f"{text} is a single point", help=help)
        if high - low > sys.float_info.max:
            raise UsageError(f"{text} is too wide for floats")


def plots(script: Script, options: Options) -> Iterator[PlotRecord]:
    """Return a record for each query of a program, and for each error.

    Raises UsageError for ranges that cannot be drawn.
    """
    _refuse_ranges(options.over)
    return answers(PlotRecord, _draw, script, options, ranges=dict(options.over))


@np.errstate(all="ignore")
def _draw(program: Program, lowered: Lowered, record: PlotRecord, options: Options) -> None:
    scope = program.scope
    root = lowered.value
    ranges = options.over
    record.warnings += left_out(scope, [root], "a plot")
    if root.kind != "float":
        raise TypeMismatchError(
            "a curve is that of a number; the result is a truth or an index",
            help="where(CONDITION, 1, 0) is a number",
        )
    present = variables_of(program, lowered, ranges)
    moving = {name: present.get(name) for name in ranges}
    record.by = tuple(dict.fromkeys(ranges if options.wrt is None else options.wrt))
    wrt = {name: moving[name] if name in moving else _by(program, name) for name in record.by}
    for name in ranges:
        if name not in present:
            record.notes.append(f"the expression does not depend on {name}")
    columns = Columns(scope, root, moving, wrt)
    for name, leaf in wrt.items():
        if leaf is not None and leaf.shape and not (columns.entrywise and leaf.shape == root.shape):
            raise ShapeError(
                f"'{name}' has the shape {leaf.shape}: a curve of d/d{name} needs a number",
                help=f"leave {name} out of --wrt",
            )
    if len(ranges) > 1:
        fill(columns, options.points or _SIDE, record)
    else:
        _curves(columns, options.points or POINTS, record)
    if options.check and record.by:
        asked = Options(wrt=record.by, formula=False, timeout=options.timeout)
        cross_check(program, lowered, columns, record, asked)


def _by(program: Program, name: str) -> Expr:
    """Return the leaf of a name to differentiate by that has no range."""
    leaf = program.scope.leaves.get(name)
    if leaf is None:
        raise missing(name, program.scope.names, program.scope.mentioned)
    return leaf


def _curves(columns: Columns, points: int, record: PlotRecord) -> None:
    root = columns.root
    entries = root.size
    if entries > _MOST:
        raise ShapeError(
            f"the result has the shape {root.shape}: {entries} curves are too many for a picture, "
            f"which shows up to {_MOST}",
            help="take one entry, a part, or a sum",
        )
    _refuse_rows(points, points * entries)
    ((name, ends),) = record.ranges.items()
    record.at = evenly(*ends, points)
    most = _MOST_POINTS if columns.entrywise else _MOST_SINGLE
    budget = min(most, max(_FEWEST, _WORK // columns.work))
    samples = sample(columns.along(name, {}), *ends, entries, budget)
    _refuse_nowhere(record, samples.values)
    drawn, table = columns(samples.xs), columns(record.at)
    for entry, (label, names) in enumerate(_labels(columns.scope, root)):
        heights, numbers = (
            {VALUE: found.values.reshape(-1, entries)[:, entry]}
            | {f"d/d{n}": x.reshape(-1, entries)[:, entry] for n, x in found.slopes.items()}
            for found in (drawn, table)
        )
        curve = Curve(label, names, samples.xs, _break_curves(samples, entry, heights), numbers)
        curve.marks, notes = marks_of(name, samples, entry)
        record.notes += [f"{label}: {note}" if label else note for note in notes]
        curve.clipped = _clipped_headings(samples.places[entry], heights)
        record.curves.append(curve)


def _labels(scope: Scope, root: Expr) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the label of each entry of a result.

    Entries are told apart by the values of names of the result's shape, or by their indices.
    """
    alike = {
        n: scope.values[x]
        for n, x in scope.leaves.items()
        if x.shape == root.shape != () and x in scope.values and n in scope.mentioned
    }
    for index in np.ndindex(root.shape):
        names = {n: float(v[index]) for n, v in alike.items()}
        places = f"[{', '.join(map(str, index))}]" if index else ""
        yield ", ".join(f"{n}={value:g}" for n, value in names.items()) or places, names


def _break_curves(
    samples: Samples, entry: int, heights: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return heights with a gap wherever a curve is not drawn through.

    The value has gaps at poles and jumps, the slope at kinks, too.
    """
    xs = samples.xs
    found = {}
    for heading, numbers in heights.items():
        found[heading] = np.where(np.isfinite(heights[VALUE] + numbers), numbers, np.nan)
        for place in samples.places[entry]:
            if heading != VALUE or place.kind != "kink":
                found[heading][(place.low <= xs) & (xs <= place.high)] = np.nan
    return found


def _clipped_headings(places: Sequence[Place], heights: Mapping[str, np.ndarray]) -> set[str]:
    """Return the headings whose heights grow beyond any picture."""
    if np.isinf(heights[VALUE]).any() or any(place.kind == "pole" for place in places):
        return {*heights}
    return {
        heading
        for heading, numbers in heights.items()
        if heading != VALUE and (places or not np.isfinite(numbers).all())
    }


# -- Places where a curve, or a field, is not smooth, in words.


_MOST_MARKS = 40  # most marks shown on a curve
_CELLS = 400  # most operations for which bounds are sought
_NOTHING = 1e-7  # relative to the largest number; smaller ones are written as 0
_DIGITS = 6  # significant digits of heights and slopes in words


def regions(columns: Columns, ranges: Mapping[str, Ends]) -> list[BoundNote]:
    """Return boxes around the places that are not smooth over two ranges, as `gradcli bound`.

    There are none for functions that interval arithmetic does not know.
    """
    present = {name: leaf for name in ranges if (leaf := columns.moving[name]) is not None}
    if not present or columns.work > _CELLS:
        return []
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.search import Function

    scope = columns.scope
    leaves = {leaf: ranges[name] for name, leaf in present.items()}
    try:
        function = Function(columns.root, leaves, scope.values, scope.precision)
        return [*place_notes(scope, function, function.find_places(), [*present])]
    except (
        Unsupported,
        GradcliError,
        ValueError,
        ArithmeticError,
        AssertionError,
        NotImplementedError,
    ):
        return []


def marks_of(name: str, samples: Samples, entry: int) -> tuple[list[Mark], list[str]]:
    """Return the marks of one curve in order, and notes."""
    places = samples.places[entry]
    lost = ~np.isfinite(samples.values[:, entry])
    at = samples.values[np.searchsorted(samples.xs, [place.at for place in places]), entry]
    marks = [
        _mark(name, place, middle)
        for place, middle in zip(places, at.tolist(), strict=True)
        if place.kind != "domain" or place.single
    ]
    for first, last in np.flatnonzero(np.diff(np.pad(lost, 1))).reshape(-1, 2):
        low, high = samples.xs[[first, last - 1]].tolist()
        if not _is_told(places, low, high):
            marks.append(_gap(name, places, low, high))
    marks.sort(key=lambda mark: mark.at)
    more = len(marks) - _MOST_MARKS
    return marks[:_MOST_MARKS], [f"{more} more places are not marked"] if more > 0 else []


def _is_told(places: list[Place], low: float, high: float) -> bool:
    """Return whether a stretch is a point that is marked for itself."""
    near = 4 * max(math.ulp(low), math.ulp(high))
    return any(
        (p.kind == "pole" or p.single) and p.low - near <= low and high <= p.high + near
        for p in places
    )


def _gap(name: str, places: list[Place], low: float, high: float) -> Mark:
    """Mark a stretch without a finite value, up to the round numbers at which it ends."""
    (first, begins), (last, stops) = _edge(places, low, "high"), _edge(places, high, "low")
    where = f"at {name}={_place_text(low)}"
    if low < high:
        where = f"for {_place_text(first)} {begins} {name} {stops} {_place_text(last)}"
    return Mark("domain", first, last, (math.nan, math.nan), f"no finite value {where}")


def _edge(places: list[Place], end: float, side: str) -> tuple[float, str]:
    """Return the round number at which a stretch ends, and whether the stretch includes it."""
    for place in places:
        if end in (getattr(place, side), place.at):
            return place.at, "<=" if place.at == end else "<"
    return end, "<="


def _mark(name: str, place: Place, middle: float) -> Mark:
    """Mark a place; ``middle`` is the height of the curve there, or NaN."""
    at = f"at {name}={_place_text(place.at)}"
    heights = place.left, place.right
    left, right, own = _numbers(*heights, middle)
    point = math.nan
    if place.kind == "pole":
        sides = [
            f"{limit} from the {side}"
            for limit, side in ((left, "left"), (right, "right"))
            if "inf" in limit
        ]
        text = f"pole {at}: {left if left == right else ', '.join(sides)}"
    elif place.kind == "jump":
        point = middle
        text = (
            f"jump {at}: from {left} to {right}{'' if own in (left, right) else f', {own} there'}"
        )
    elif place.kind == "kink":
        heights = middle, middle
        text = f"kink {at}: the slope goes from {left} to {right}"
        if left == right:
            text = f"vertical slope {at}: {left}"
    else:
        text = f"no value {at}, a hole in the curve: limit {left}"
    return Mark(place.kind, place.at, place.at, heights, text, point)


def _place_text(x: float) -> str:
    """Write a place with all its digits."""
    return repr(x).removesuffix(".0")


def _numbers(*found: float) -> list[str]:
    """Numbers in words; what is nothing but the distance at which a limit was read is 0."""
    least = _NOTHING * max((abs(x) for x in found if math.isfinite(x)), default=0.0)
    texts = (f"{0.0 if abs(x) < least else x + 0.0:.{_DIGITS}g}" for x in found)
    return [f"+{text}" if text == "inf" else text for text in texts]


# -- The cross-check of what is plotted: the expression at a few points of its ranges, each judged
# as `gradcli eval` judges it.


_POINTS = 5
_CANDIDATES = 64


def cross_check(
    program: Program, lowered: Lowered, columns: Columns, record: PlotRecord, options: Options
) -> None:
    """Put the gravest verdict of some points into a record."""
    program.scope.free.update(
        {name: leaf for name, leaf in columns.moving.items() if leaf is not None}
    )
    found, record.points = SampledPoints(program, lowered, options).gravest_of(
        _points(columns, record)[:_POINTS]
    )
    if found is not None and found.error is not None:
        raise found.error
    if found is None:
        record.notes.append(
            "the cross-check has no point: none that was tried has a value and a derivative"
        )
    else:
        record.check = found.check


def _points(columns: Columns, record: PlotRecord) -> list[dict[str, float]]:
    """Points of the ranges at which the value and all slopes are finite, at no round numbers."""
    k = np.arange(len(record.ranges))
    low, high = np.array([*record.ranges.values()]).T
    shares = (np.outer(np.arange(1, _CANDIDATES), (k + 1) * GOLDEN) + 0.17 * k) % 1.0
    points = low + (high - low) * shares
    found = columns(*points.T)
    known = np.isfinite([found.values, *found.slopes.values()]).reshape(-1, *found.values.shape)
    inside = known.all(axis=(0, *range(2, known.ndim)))
    return [dict(zip(record.ranges, point, strict=True)) for point in points[inside].tolist()]
