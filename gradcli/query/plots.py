"""Values and derivatives of a program's queries over ranges: what `gradcli plot` shows.

Other names keep their values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import EvaluationError, GradcliError, ShapeError, TypeMismatchError, UsageError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place, evenly, in_words, levels, locate_places
from gradcli.plots.sampling import Samples, sample
from gradcli.query.bounds import variables_of
from gradcli.query.evaluate import Script, answers
from gradcli.query.free_variables import SampledPoints
from gradcli.query.names import missing
from gradcli.query.options import Options
from gradcli.query.over import place_notes
from gradcli.query.uncertainty import left_out
from gradcli.query.warnings import text_of
from gradcli.report.ranges import VALUE, BoundNote, Curve, Ends, Field, Mark, PlotRecord
from gradcli.report.records import box_text

if TYPE_CHECKING:
    from gradcli.reference.ranges.search import Function


# -- The values of a query over two ranges, on grids for pictures and tables: contours are not
# drawn through poles and jumps along a name.


MOST_ENTRIES = 4_000_000  # of a table
_SIDE, _FINE = 33, 121  # of the grid, in the table and in the picture
_LEVELS = 7
_WIDE = 0.3  # of a range: boxes that are narrower are looked into
_LINES = (0.23, 0.57, 0.81)  # of the other range: along which they are
_MOST_WORK = 40_000_000  # operations of a grid that is computed point by point


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
    cuts = _cuts(columns, record)
    record.grid = _grid(columns, record, _FINE if columns.entrywise else side, cuts)
    record.grid.table = table = _grid(columns, record, side, {name: [] for name in cuts})
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


def _cuts(columns: Columns, record: PlotRecord) -> dict[str, list[float]]:
    """Return where contours are not drawn through: the numbers of each name at which there is a
    pole or a jump whatever the other name is. The regions around these become lines.
    """
    cuts: dict[str, list[float]] = {name: [] for name in record.ranges}
    for i, note in enumerate(record.regions):
        for name, other in permutations(record.ranges):
            whole = record.ranges[other]
            if (
                note.kind in ("pole", "jump")
                and name in note.where
                and note.where.get(other, whole) == whole
            ):
                found = _lines(columns, note, record.ranges, name, other)
                for at in found if len(found) == 1 else ():
                    record.regions[i] = note._replace(where={**note.where, name: (at, at)})
                    cuts[name].append(at)
    return cuts


def _lines(
    columns: Columns, note: BoundNote, ranges: Mapping[str, Ends], name: str, other: str
) -> set[float]:
    """The places within a region along a name, where the other has one of several values."""
    (low, high), (begin, end), (first, last) = note.where[name], ranges[name], ranges[other]
    if low == high:
        return {low}
    if not columns.entrywise or other not in note.where or high - low >= _WIDE * (end - begin):
        return set()
    begin, end = max(begin, 2 * low - high), min(end, 2 * high - low)
    interval = np.array([begin]), np.array([end]), np.zeros(1, int)
    probes = (columns.along(name, {other: first + (last - first) * share}) for share in _LINES)
    return {
        place.at
        for probe in probes
        for _, place in locate_places(probe, begin, end, *interval)
        if place.kind == note.kind
    }


def _grid(
    columns: Columns, record: PlotRecord, side: int, cuts: Mapping[str, Sequence[float]]
) -> Field:
    """The field at evenly spaced points, with lines of NaN where it is cut."""
    xs, ys = (
        np.union1d(evenly(*record.ranges[name], side, axis in record.log), lines)
        for axis, (name, lines) in zip("xy", cuts.items(), strict=True)
    )
    found, shape = columns(*map(np.ravel, np.meshgrid(xs, ys))), (len(ys), len(xs))
    values = found.values.reshape(shape)
    across, up = cuts.values()
    values[:, np.isin(xs, across)] = values[np.isin(ys, up), :] = np.nan
    slopes = {name: slope.reshape(shape) for name, slope in found.slopes.items()}
    first, second = map(slopes.get, cuts)
    return Field(xs, ys, values, slopes, (first, second))


POINTS = 101  # of a table of one name
_MOST = 12  # curves
_NEAR = 1e-6  # relative, or else absolute: what is on a curve
_WORK = 200_000_000  # operations of a curve
_FEWEST, _MOST_POINTS, _MOST_SINGLE = (
    200,
    6_000,
    1_000,
)  # points of one; single ones are computed one by one


def _refuse_ranges(ranges: Mapping[str, Ends], log: str) -> None:
    """Raise UsageError for ranges that no picture has room for, and an axis without a logarithm."""
    for third in [*ranges][2:]:
        help = f"give {third} a value: {third}=1, or several: {third}=1,2,3"
        message = f"'{third}' has a range, but a picture has room for two names"
        raise UsageError(message, help=help)
    for axis, (name, (low, high)) in zip("xy", ranges.items(), strict=False):
        text = f"the range of '{name}'"
        if low == high:
            help = f"gradcli eval gives its value: {name}={low!r}"
            raise UsageError(f"{text} is a single point", help=help)
        if high - low > sys.float_info.max:
            raise UsageError(f"{text} is too wide for floats")
        if axis in log and low <= 0:
            raise UsageError(
                f"--log {log}: {text} begins at {low!r}, which has no logarithm",
                help=f"{name}=0.1..10",
            )


def plots(script: Script, options: Options) -> Iterator[PlotRecord]:
    """A record for each query of a program, and for each error.

    Raises UsageError for ranges that cannot be drawn.
    """
    _refuse_ranges(options.over, options.log)
    return answers(PlotRecord, _draw, script, options, ranges=dict(options.over), log=options.log)


@np.errstate(all="ignore")
def _draw(program: Program, lowered: Lowered, record: PlotRecord, options: Options) -> None:
    scope, root, ranges = program.scope, lowered.value, options.over
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
    """The leaf that another name to differentiate by stands for."""
    leaf = program.scope.leaves.get(name)
    if leaf is None:
        raise missing(name, program.scope.names, program.scope.mentioned)
    return leaf


def _curves(columns: Columns, points: int, record: PlotRecord) -> None:
    root = columns.root
    entries = math.prod(root.shape)
    if entries > _MOST:
        raise ShapeError(
            f"the result has the shape {root.shape}: {entries} curves are too many for a picture, "
            f"which shows up to {_MOST}",
            help="take one entry, a part, or a sum",
        )
    _refuse_rows(points, points * entries)
    ((name, ends),) = record.ranges.items()
    log = "x" in record.log
    record.at = evenly(*ends, points, log)
    known = seeds(columns, name, ends) if columns.entrywise and not root.shape else []
    most = _MOST_POINTS if columns.entrywise else _MOST_SINGLE
    budget = min(most, max(_FEWEST, _WORK // columns.work))
    samples = sample(columns.along(name, {}), *ends, entries, known, budget, log=log)
    _refuse_nowhere(record, samples.values)
    drawn, table = columns(samples.xs), columns(record.at)
    for entry, (label, names) in enumerate(_labels(columns.scope, root)):
        heights, numbers = (
            {VALUE: found.values.reshape(-1, entries)[:, entry]}
            | {f"d/d{n}": x.reshape(-1, entries)[:, entry] for n, x in found.slopes.items()}
            for found in (drawn, table)
        )
        curve = Curve(label, names, *_break_curves(samples, entry, heights), numbers)
        curve.marks, notes = marks_of(columns, name, samples, entry, ends)
        record.notes += [f"{label}: {note}" if label else note for note in notes]
        curve.clipped = _clipped_headings(samples.places[entry], heights)
        record.curves.append(curve)


def _labels(scope: Scope, root: Expr) -> Iterator[tuple[str, dict[str, float]]]:
    """Return what tells the entries of a result apart: the values of names of its shape, or their
    indices.
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
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points with a gap wherever a curve is not drawn through: the value at poles and jumps, the
    slope at kinks, too.
    """
    breaks = {
        place: _points_at(samples.xs, place)
        for place in samples.places[entry]
        if place.kind != "domain" or place.single
    }
    # before each point of a place but for its first one the curve may break
    after = sorted({i for points in breaks.values() for i in points[1:]})
    xs = np.insert(samples.xs, after, [samples.xs[i - 1] for i in after])
    apart = {
        i for place, points in breaks.items() if place.kind in ("pole", "jump") for i in points[1:]
    }
    defined = np.isfinite(heights[VALUE])
    out = {}
    for heading, numbers in heights.items():
        drawn = np.where(np.isfinite(numbers) & defined, numbers, np.nan)
        for place, points in breaks.items():
            if place.kind == ("jump" if heading == VALUE else "kink"):
                _lift(drawn, points, place)
            elif place.kind == "jump":
                drawn[points[1:-1]] = np.nan
            elif place.kind == "pole" and heading == VALUE:
                _keep_side(drawn, points, place)
        gaps = [drawn[i - 1] if heading == VALUE and i not in apart else np.nan for i in after]
        out[heading] = np.insert(drawn, after, gaps)
    return xs, out


def _points_at(xs: np.ndarray, place: Place) -> range:
    first, last = np.searchsorted(xs, [place.low, place.high]).tolist()
    return range(first, min(last + 1, len(xs)))


def _keep_side(heights: np.ndarray, points: range, place: Place) -> None:
    """Leave out a point beside a pole whose height is that of the other side: the pole lies
    between floats, and may have been located one of them beside itself.
    """
    for i, limit in ((points[0], place.left), (points[-1], place.right)):
        if math.isinf(limit) and np.sign(heights[i]) != np.sign(limit):
            heights[i] = math.nan


def _lift(heights: np.ndarray, points: range, place: Place) -> None:
    """Take a curve off what is chosen at a kink or a jump itself, which is on neither side."""
    for i in points:
        if not any(
            abs(heights[i] - limit) <= _NEAR * max(1.0, abs(limit))
            for limit in (place.left, place.right)
            if math.isfinite(limit)
        ):
            heights[i] = np.nan


def _clipped_headings(places: Sequence[Place], heights: Mapping[str, np.ndarray]) -> set[str]:
    """The headings whose heights grow beyond any picture."""
    if np.isinf(heights[VALUE]).any() or any(place.kind == "pole" for place in places):
        return {*heights}
    steep = any(place.kind in ("domain", "kink") for place in places)
    return {
        h
        for h, numbers in heights.items()
        if h != VALUE and (steep or not np.isfinite(numbers).all())
    }


# -- Marks of places where a curve is not smooth, in words, and where the intervals of `gradcli
# bound` find some.


_MOST_MARKS = 40  # marks of a curve
_CELLS = 400  # operations up to which bounds are asked
_NOTHING = 1e-7  # relative
_DIGITS = 6  # of heights and slopes in words


def seeds(columns: Columns, name: str, ends: Ends) -> list[float]:
    """Points near places that interval arithmetic knows of, which may be too narrow to be met by
    chance.
    """
    _, found = _enclose(columns, {name: ends})
    points = []
    for low, high in (map(float, place.where[0].ends) for place in found):
        if high - low < 1e-6 * (ends[1] - ends[0]):
            points.append(low + (high - low) / 2)
        elif math.isfinite(high - low):
            points += [low, high]
    return points


def regions(columns: Columns, ranges: Mapping[str, Ends]) -> list[BoundNote]:
    """Boxes around what is not smooth over two ranges, as `gradcli bound` tells them."""
    function, found = _enclose(columns, ranges)
    names = [name for name in ranges if columns.moving[name] is not None]
    return [] if function is None else [*place_notes(columns.scope, function, found, names)]


def _enclose(columns: Columns, ranges: Mapping[str, Ends]) -> tuple[Function | None, list[Any]]:
    """Return what interval arithmetic finds in a box; nothing of functions that it does not
    know.
    """
    leaves = {
        leaf: ends for name, ends in ranges.items() if (leaf := columns.moving[name]) is not None
    }
    if not leaves or columns.work > _CELLS:
        return None, []
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.search import Function

    try:
        function = Function(columns.root, leaves, columns.scope.values, columns.scope.precision)
        return function, function.find_places()
    except (
        Unsupported,
        GradcliError,
        ValueError,
        ArithmeticError,
        AssertionError,
        NotImplementedError,
    ):
        return None, []  # along a curve they are searched for, too


def marks_of(
    columns: Columns, name: str, samples: Samples, entry: int, ends: Ends
) -> tuple[list[Mark], list[str]]:
    """The marks of one curve in order, and notes."""
    places, lost = samples.places[entry], ~np.isfinite(samples.values[:, entry])
    at = samples.values[np.searchsorted(samples.xs, [place.at for place in places]), entry]
    marks = [
        _mark(name, place, middle)
        for place, middle in zip(places, at.tolist(), strict=True)
        if place.kind != "domain" or place.single
    ]
    turns = np.flatnonzero(np.diff(np.pad(lost, 1)))
    marks += [
        _gap(columns, name, slice(first, last), samples, entry, ends)
        for first, last in turns.reshape(-1, 2)
        if not _is_told(places, samples.xs[first], samples.xs[last - 1])
    ]
    marks.sort(key=lambda mark: mark.at)
    notes = []
    if len(marks) > _MOST_MARKS:
        notes.append(f"{len(marks) - _MOST_MARKS} more places are not marked")
        chosen = sorted(range(len(marks)), key=lambda i: (marks[i].kind == "kink", i))[:_MOST_MARKS]
        marks = [marks[i] for i in sorted(chosen)]
    if lost.all():
        notes.append("there is no finite value in this range")
    return marks, notes


def _is_told(places: list[Place], low: float, high: float) -> bool:
    """Return whether a stretch is a point that is marked for itself."""
    near = 4 * max(math.ulp(low), math.ulp(high))
    return any(
        (p.kind == "pole" or p.single) and p.low - near <= low and high <= p.high + near
        for p in places
    )


def _gap(
    columns: Columns, name: str, points: slice, samples: Samples, entry: int, ends: Ends
) -> Mark:
    """The mark of a stretch without a finite value, up to the round numbers at which it ends."""
    values, places = samples.values[:, entry], samples.places[entry]
    low, high = samples.xs[[points.start, points.stop - 1]].tolist()
    before, after = np.pad(values, 1, constant_values=math.nan)[[points.start, points.stop + 1]]
    infinite = bool(np.isinf(values[points]).all())
    reason = _reason(columns, name, low + (high - low) / 2, infinite)
    (first, begins), (last, stops) = _edge(places, low, "high"), _edge(places, high, "low")
    if (low, high) == ends:
        where = "anywhere in this range"
    elif low == high:
        where = f"at {name}={_place_text(low)}"
    elif low == ends[0]:
        where = f"for {name} {stops} {_place_text(last)}"
    elif high == ends[1]:
        where = f"for {name} {begins.replace('<', '>')} {_place_text(first)}"
    else:
        where = f"for {_place_text(first)} {begins} {name} {stops} {_place_text(last)}"
    what = "the value is infinite" if infinite else "no value"
    text = f"{what} {where}" + (f": {reason}" if reason else "")
    return Mark("domain", first, last, (float(before), float(after)), text)


def _edge(places: list[Place], end: float, side: str) -> tuple[float, str]:
    """The round number at which a stretch ends, and whether it is a part of it."""
    for place in places:
        if end in (getattr(place, side), place.at):
            return place.at, "<=" if place.at == end else "<"
    return end, "<="


def _reason(columns: Columns, name: str, at: float, infinite: bool) -> str:
    """The operation that has no value at a point, and what it needs."""
    leaf = columns.moving[name]
    if leaf is None:
        return ""
    try:
        table = forward(
            [columns.root], {**columns.scope.values, leaf: np.float64(at)}, "float64", columns.order
        )
    except GradcliError as error:
        return error.message
    for node in columns.order:
        op = node.op
        if (
            op is not None
            and node.kind == "float"
            and op.outputs == 1
            and not np.isfinite(table[node]).all()
        ):
            needs = f" ({op.name} needs {op.domain})" if op.domain else ""
            said = "is too large for floats" if infinite else f"has none{needs}"
            return f"{text_of(columns.scope, node)} {said}"
    return ""


def _mark(name: str, place: Place, middle: float) -> Mark:
    """The mark of a place, at which the curve has a height, or NaN."""
    word, number = in_words(place.at), _place_text(place.at)
    at = f"{name}={number}" if word is None else f"{name}={word} ({number})"
    heights = place.left, place.right
    left, right = _numbers(place.left, place.right)
    point = math.nan
    if place.kind == "pole":
        sides = [
            f"{limit} from the {side}"
            for limit, side in ((left, "left"), (right, "right"))
            if limit in ("+inf", "-inf")
        ]
        text = f"pole at {at}: {left if left == right else ', '.join(sides)}"
    elif place.kind == "jump":
        point = middle
        near = _NOTHING * max(abs(place.left), abs(place.right), abs(middle))
        own = min(abs(middle - place.left), abs(middle - place.right)) > near
        text = f"jump at {at}: from {left} to {right}" + (
            f", {_number(middle)} there" if own else ""
        )
        if place.single:
            text = f"a point by itself at {at}: {_number(middle)}, beside it {left}"
    elif place.kind == "kink":
        heights = middle, middle
        text = (
            f"kink at {at}: the slope goes from {left} to {right}"
            if left != right
            else f"vertical slope at {at}: {left}"
        )
    else:
        text = f"no value at {at}, a hole in the curve: limit {left}"
    return Mark(place.kind, place.at, place.at, heights, text, point)


def _place_text(x: float) -> str:
    """A place with all its digits."""
    return repr(x).removesuffix(".0")


def _numbers(left: float, right: float) -> tuple[str, str]:
    """Two limits; one that is nothing but the distance at which it was read, beside the other, is
    0.
    """
    size = (
        _NOTHING * max(abs(left), abs(right))
        if math.isfinite(left) and math.isfinite(right)
        else 0.0
    )
    first, second = (0.0 if abs(limit) < size else limit for limit in (left, right))
    return _number(first), _number(second)


def _number(value: float) -> str:
    return (
        "nothing"
        if math.isnan(value)
        else ("+inf" if value > 0 else "-inf")
        if math.isinf(value)
        else f"{value + 0.0:.{_DIGITS}g}"
    )


# -- The cross-check of what is plotted: the expression at a few points of its ranges, each judged
# as `gradcli eval` judges it.


_POINTS = 5
_GOLDEN = 0.6180339887498949
_CANDIDATES = 64


def cross_check(
    program: Program, lowered: Lowered, columns: Columns, record: PlotRecord, options: Options
) -> None:
    """Put the gravest verdict of some points into a record."""
    program.scope.free.update(
        {name: leaf for name, leaf in columns.moving.items() if leaf is not None}
    )
    found, record.points = SampledPoints(program, lowered, options).gravest_of(
        [*islice(_points(columns, record), _POINTS)]
    )
    if found is not None and found.error is not None:
        raise found.error.error
    if found is None:
        record.notes.append(
            "the cross-check has no point: none that was tried has a value and a derivative"
        )
    else:
        record.check = found.check


def _points(columns: Columns, record: PlotRecord) -> Iterator[dict[str, float]]:
    """Points of the ranges at which the value and all slopes are finite, at no round numbers."""
    for i in range(1, _CANDIDATES):
        shares = [(i * _GOLDEN * (k + 1) + 0.17 * k) % 1.0 for k in range(len(record.ranges))]
        point = {
            name: low + (high - low) * share
            for (name, (low, high)), share in zip(record.ranges.items(), shares, strict=True)
        }
        found = columns(*([x] for x in point.values()))
        if np.isfinite([found.values, *found.slopes.values()]).all():
            yield point
