"""Values and derivatives of a program's queries over ranges: what `gradcli plot` shows.

Other names keep their values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import EvaluationError, GradcliError, ShapeError, TypeMismatchError, UsageError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place, evenly, in_words, levels, locate_places
from gradcli.plots.sampling import Samples, sample
from gradcli.query.bounds import box_text, place_notes, variables_of
from gradcli.query.evaluate import answers
from gradcli.query.free_variables import SampledPoints
from gradcli.query.names import missing
from gradcli.query.options import Options
from gradcli.query.uncertainty import left_out
from gradcli.query.warnings import text_of
from gradcli.report.ranges import VALUE, BoundNote, Curve, Field, Mark, PlotRecord

if TYPE_CHECKING:
    from gradcli.reference.ranges.search import Function


# -- The values of a query over two ranges, on grids for pictures and tables: contours are not
# drawn through poles and jumps along a name.


Ends = tuple[float, float]
MOST_ENTRIES = 4_000_000  # of a table
_SIDE, _FINE = 33, 121  # of the grid, in the table and in the picture
_LEVELS = 7
_WIDE = 0.3  # of a range: boxes that are narrower are looked into
_LINES = (0.23, 0.57, 0.81)  # of the other range: along which they are
_MOST_WORK = 40_000_000  # operations of a grid that is computed point by point


def fill(program: Program, columns: Columns, points: int | None, record: PlotRecord) -> None:
    """Put the grids, what is not smooth, and round levels into a record.

    ``points`` are those of the table along each name.
    """
    root = columns.root
    if root.shape:
        raise ShapeError(
            f"contours are those of a number; the result has the shape {root.shape}",
            help="take one entry, or a sum",
        )
    side = points or _SIDE
    if not columns.entrywise and side * side * columns.work > _MOST_WORK:
        raise UsageError(
            f"{side} points along each name are too many for an expression that is computed point "
            "by point",
            help="--points 20",
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
        record.notes.append(
            f"{lost} of {table.values.size} points of the table have no finite value"
        )
    if not np.isfinite(record.grid.values).any():
        raise EvaluationError(f"the expression has no finite value anywhere for {box_text(ranges)}")


def _sharp(note: BoundNote, columns: Columns, ranges: Mapping[str, Ends]) -> BoundNote:
    """A box around a line along one name, at the other's float where that is the same along several
    lines across.
    """
    shares = {
        name: (high - low) / (ranges[name][1] - ranges[name][0])
        for name, (low, high) in note.where.items()
    }
    narrow = [name for name, share in shares.items() if 0 < share < _WIDE]
    if (
        note.kind not in ("pole", "jump")
        or len(shares) != 2
        or len(narrow) != 1
        or max(shares.values()) < 1
        or not columns.entrywise
    ):
        return note
    (name,) = narrow
    (other,) = (n for n in shares if n != name)
    across = Columns(columns.scope, columns.root, columns.moving, {name: columns.moving[name]})
    low, high = note.where[name]
    begin, end = max(ranges[name][0], 2 * low - high), min(ranges[name][1], 2 * high - low)
    lines = [
        across.along(
            name, {other: ranges[other][0] + (ranges[other][1] - ranges[other][0]) * share}
        )
        for share in _LINES
    ]
    whole = np.array([begin]), np.array([end]), np.zeros(1, int)
    found = {
        place.at
        for probe in lines
        for _, place in locate_places(probe, begin, end, *whole)
        if place.kind == note.kind
    }
    if len(found) != 1:
        return note
    return note._replace(where={**note.where, name: (min(found), max(found))})


def _cuts(record: PlotRecord) -> dict[str, list[float]]:
    """Return where contours are not drawn through: lines along one name at which the value has
    poles or jumps for all of the other.
    """
    found: dict[str, list[float]] = {name: [] for name in record.ranges}
    for note in record.regions:
        lines = {name: low for name, (low, high) in note.where.items() if low == high}
        if note.kind in ("pole", "jump") and all(
            ends == record.ranges[n] for n, ends in note.where.items() if n not in lines
        ):
            for name, at in lines.items() if len(lines) == 1 else ():
                found[name].append(at)
    return found


def _grid(
    columns: Columns,
    ranges: Mapping[str, Ends],
    log: str,
    side: int,
    cuts: Mapping[str, Sequence[float]],
) -> Field:
    (first, (left, right)), (second, (low, high)) = ranges.items()
    across, up = cuts.get(first, ()), cuts.get(second, ())
    xs, ys = (
        np.union1d(evenly(left, right, side, "x" in log), across),
        np.union1d(evenly(low, high, side, "y" in log), up),
    )
    found = columns(*(grid.ravel() for grid in np.meshgrid(xs, ys)))
    values = found.values.reshape(len(ys), len(xs))
    values[:, np.isin(xs, across)], values[np.isin(ys, up), :] = np.nan, np.nan
    slopes = {name: slope.reshape(len(ys), len(xs)) for name, slope in found.slopes.items()}
    return Field(xs, ys, values, slopes, (slopes.get(first), slopes.get(second)))


POINTS = 101  # of a table of one name
_MOST = 12  # curves
_NEAR = 1e-6  # relative, or else absolute: what is on a curve
_WORK = 200_000_000  # operations of a curve
_FEWEST, _MOST_POINTS, _MOST_SINGLE = (
    200,
    6_000,
    1_000,
)  # points of one; single ones are computed one by one


@dataclass(frozen=True, eq=False)
class AskedPlot:
    """Wishes for every query.

    ranges  of one name or two
    wrt     the names to differentiate by; those of the ranges, if None
    points  in the table: along each name
    log     the axes that are logarithmic: of x, y
    check   whether the derivative is cross-checked at some points, for so many seconds at most
            (``timeout``)
    """

    ranges: Mapping[str, Ends]
    wrt: tuple[str, ...] | None = None
    points: int | None = None
    log: str = ""
    check: bool = False
    timeout: float | None = None


def plots(
    program: Program, lines: Iterable[str], name: str | None, asked: AskedPlot
) -> Iterator[PlotRecord]:
    """A record for each query of a program, and for each error."""
    known = {"ranges": dict(asked.ranges), "log": asked.log}
    return answers(
        PlotRecord, partial(_draw, asked=asked), program, program.statements(lines, name), **known
    )


@np.errstate(all="ignore")
def _draw(program: Program, lowered: Lowered, record: PlotRecord, asked: AskedPlot) -> None:
    scope, root = program.scope, lowered.value
    record.warnings += left_out(scope, [root], "a plot")
    if root.kind != "float":
        raise TypeMismatchError(
            "a curve is that of a number; the result is a truth or an index",
            help="where(CONDITION, 1, 0) is a number",
        )
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
            raise ShapeError(
                f"'{name}' has the shape {leaf.shape}: a curve of d/d{name} needs a number",
                help=f"leave {name} out of --wrt",
            )
    if len(asked.ranges) > 1:
        fill(program, columns, asked.points, record)
    else:
        _curves(program, lowered, columns, asked, record)
    if asked.check and record.by:
        cross_check(
            program,
            lowered,
            columns,
            record,
            Options(wrt=record.by, formula=False, timeout=asked.timeout),
        )


def _by(program: Program, name: str) -> Expr:
    """The leaf that another name to differentiate by stands for."""
    leaf = program.scope.leaves.get(name)
    if leaf is None:
        raise missing(program.scope, name)
    return leaf


def _curves(
    program: Program, lowered: Lowered, columns: Columns, asked: AskedPlot, record: PlotRecord
) -> None:
    root = lowered.value
    entries = math.prod(root.shape)
    if entries > _MOST:
        raise ShapeError(
            f"the result has the shape {root.shape}: {entries} curves are too many for a picture, "
            f"which shows up to {_MOST}",
            help="take one entry, a part, or a sum",
        )
    ((name, (begin, end)),) = asked.ranges.items()
    log = "x" in asked.log
    record.at = evenly(begin, end, asked.points or POINTS, log)
    if len(record.at) * max(entries, 1) > MOST_ENTRIES:
        raise UsageError(
            f"--points {asked.points} makes a table of more than {MOST_ENTRIES:,} rows"
        )
    by = columns.wrt
    steering = Columns(columns.scope, root, columns.moving, {name: columns.moving[name]})

    known = seeds(columns, name, (begin, end)) if columns.entrywise and not root.shape else []
    samples = sample(
        steering.along(name, {}), begin, end, entries, known, _budget(columns), log=log
    )
    if not np.isfinite(samples.values).any():
        raise EvaluationError(
            f"the expression has no finite value anywhere for {box_text(asked.ranges)}"
        )
    drawn, table = columns(samples.xs), columns(record.at)
    labels = _labels(program, root, list(by))
    for entry, (label, names) in enumerate(labels):
        places = samples.places[entry]
        heights, numbers = (
            {VALUE: found.values.reshape(-1, entries)[:, entry]}
            | {f"d/d{n}": found.slopes[n].reshape(-1, entries)[:, entry] for n in by}
            for found in (drawn, table)
        )
        curve = Curve(label, names, *_break_curves(samples, places, heights), numbers)
        curve.marks, notes = marks_of(columns, name, samples, entry, (begin, end))
        record.notes += [f"{label}: {note}" if label else note for note in notes]
        curve.clipped = _clipped_headings(places, heights)
        record.curves.append(curve)


def _budget(columns: Columns) -> int:
    """At how many points a curve may be computed."""
    least, most = (_FEWEST, _MOST_POINTS) if columns.entrywise else (_FEWEST, _MOST_SINGLE)
    return min(most, max(least, _WORK // columns.work))


def _labels(program: Program, root: Expr, by: Sequence[str]) -> list[tuple[str, dict[str, float]]]:
    """Return what tells the entries of a result apart: the values of names of its shape, or their
    indices.
    """
    if not root.shape:
        return [("", {})]
    scope = program.scope
    alike = {
        n: scope.values[x]
        for n, x in scope.leaves.items()
        if x.shape == root.shape and x in scope.values and n in scope.mentioned
    }
    found = []
    for index in np.ndindex(root.shape):
        names = {n: float(v[index]) for n, v in alike.items()}
        label = (
            ", ".join(f"{n}={value:g}" for n, value in names.items())
            or f"[{', '.join(map(str, index))}]"
        )
        found.append((label, names))
    return found


def _break_curves(
    samples: Samples, places: Sequence[Place], heights: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Points with a gap wherever a curve is not drawn through: the value at poles and jumps, the
    slope at kinks, too.
    """
    breaks = [place for place in places if place.kind != "domain" or place.single]
    within = {place: _within(samples.xs, place) for place in breaks}
    after = sorted({i for several in within.values() for i in several})
    xs = np.insert(samples.xs, after, [samples.xs[i - 1] for i in after])
    apart = {
        i for place, several in within.items() if place.kind in ("pole", "jump") for i in several
    }
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
        if not any(
            abs(heights[i] - limit) <= _NEAR * max(1.0, abs(limit))
            for limit in (place.left, place.right)
            if math.isfinite(limit)
        ):
            heights[i] = np.nan


def _clipped_headings(places: Sequence[Place], heights: Mapping[str, np.ndarray]) -> set[str]:
    """The headings whose heights grow beyond any picture."""
    if any(place.kind == "pole" for place in places):
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
    function, found = _enclose(columns, {name: ends})
    points = []
    for place in found if function is not None else ():
        low, high = map(float, place.where[0].ends)
        if high - low < 1e-6 * (ends[1] - ends[0]):
            points.append(low + (high - low) / 2)
        elif math.isfinite(low) and math.isfinite(high):
            points += [low, high]
    return points


def regions(program: Program, columns: Columns, ranges: Mapping[str, Ends]) -> list[BoundNote]:
    """Boxes around what is not smooth over two ranges, as `gradcli bound` tells them."""
    function, found = _enclose(columns, ranges)
    return (
        []
        if function is None
        else list(
            place_notes(
                program, function, found, [n for n in ranges if columns.moving[n] is not None]
            )
        )
    )


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
    places = samples.places[entry]
    gaps = _gaps(samples, entry)
    marks = [
        _mark(name, place, samples, entry)
        for place in places
        if place.kind != "domain" or place.single
    ]
    marks += [
        _gap(columns, name, low, high, samples, entry, ends)
        for low, high in gaps
        if not _is_told(places, low, high)
    ]
    marks.sort(key=lambda mark: mark.at)
    notes = []
    if len(marks) > _MOST_MARKS:
        notes.append(f"{len(marks) - _MOST_MARKS} more places are not marked")
        chosen = sorted(
            sorted(range(len(marks)), key=lambda i: (marks[i].kind == "kink", i))[:_MOST_MARKS]
        )
        marks = [marks[i] for i in chosen]
    if not np.isfinite(samples.values[:, entry]).any():
        notes.append("there is no finite value in this range")
    return marks, notes


def _gaps(samples: Samples, entry: int) -> list[Ends]:
    """The stretches of points without a finite value."""
    lost = ~np.isfinite(samples.values[:, entry])
    turns = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    return [
        (float(samples.xs[i]), float(samples.xs[j - 1]))
        for i, j in zip(turns[::2], turns[1::2], strict=True)
    ]


def _is_told(places: list[Place], low: float, high: float) -> bool:
    """Return whether a stretch is a point that is marked for itself."""
    near = 4 * max(math.ulp(low), math.ulp(high))
    return any(
        (p.kind == "pole" or p.single) and p.low - near <= low and high <= p.high + near
        for p in places
    )


def _gap(
    columns: Columns, name: str, low: float, high: float, samples: Samples, entry: int, ends: Ends
) -> Mark:
    """The mark of a stretch without a finite value, up to the round numbers at which it ends."""
    beside = (_height(samples, entry, low, -1), _height(samples, entry, high, 1))
    infinite = bool(
        np.isinf(samples.values[(samples.xs >= low) & (samples.xs <= high), entry]).all()
    )
    reason = _reason(columns, name, low + (high - low) / 2, infinite)
    (first, begins), (last, stops) = (
        _edge(samples.places[entry], low, True),
        _edge(samples.places[entry], high, False),
    )
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
    return Mark(
        "domain", first, last, beside, f"{what} {where}" + (f": {reason}" if reason else "")
    )


def _edge(places: list[Place], end: float, is_low: bool) -> tuple[float, str]:
    """The round number at which a stretch ends, and whether it is a part of it."""
    for place in places:
        if (place.high if is_low else place.low) == end or place.at == end:
            return place.at, "<=" if place.at == end else "<"
    return end, "<="


def _height(samples: Samples, entry: int, at: float, side: int) -> float:
    i = int(np.searchsorted(samples.xs, at)) + side
    return float(samples.values[i, entry]) if 0 <= i < len(samples.xs) else math.nan


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
    lost = (
        node
        for node in columns.order
        if node.op is not None and node.kind == "float" and node.op.outputs == 1
    )
    node = next((node for node in lost if not np.isfinite(table[node]).all()), None)
    if node is None or node.op is None:
        return ""
    text = text_of(columns.scope, node)
    if infinite:
        return f"{text} is too large for floats"
    needs = f"{node.op.name} needs {node.op.domain}" if node.op.domain else ""
    return f"{text} has none ({needs})" if needs else f"{text} has none"


def _mark(name: str, place: Place, samples: Samples, entry: int) -> Mark:
    heights = _height(samples, entry, place.low, 0), _height(samples, entry, place.high, 0)
    word = in_words(place.at)
    at = (
        f"{name}={_place_text(place.at)}"
        if word is None
        else f"{name}={word} ({_place_text(place.at)})"
    )
    left, right = _numbers(place.left, place.right)
    if place.kind == "pole":
        sides = [
            f"{side} from {word}"
            for side, word in ((left, "the left"), (right, "the right"))
            if side in ("+inf", "-inf")
        ]
        text = f"pole at {at}: {left}" if left == right else f"pole at {at}: {', '.join(sides)}"
        heights = (place.left, place.right)
    elif place.kind == "jump":
        middle = _height(samples, entry, place.at, 0)
        near = _NOTHING * max(abs(place.left), abs(place.right), abs(middle))
        own = min(abs(middle - place.left), abs(middle - place.right)) > near
        text = f"jump at {at}: from {left} to {right}" + (
            f", {_number(middle)} there" if own else ""
        )
        if place.single:
            text = f"a point by itself at {at}: {_number(middle)}, beside it {left}"
        return Mark(place.kind, place.at, place.at, (place.left, place.right), text, middle)
    elif place.kind == "kink":
        text = (
            f"kink at {at}: the slope goes from {left} to {right}"
            if left != right
            else f"vertical slope at {at}: {left}"
        )
        heights = (_height(samples, entry, place.at, 0),) * 2
    else:
        text, heights = f"no value at {at}, a hole in the curve", (place.left, place.right)
    return Mark(place.kind, place.at, place.at, heights, text)


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
