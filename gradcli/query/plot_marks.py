"""What is to be said of places where a curve is not smooth: marks in words, and where the intervals of `gradcli bound` find some."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import EvaluationError, GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place, in_words
from gradcli.plots.sampling import Samples
from gradcli.query.bounds import place_notes
from gradcli.query.evaluate import fill_query
from gradcli.query.options import Options
from gradcli.query.warnings import text_of
from gradcli.report.ranges import VALUE, BoundNote, Mark, PlotRecord
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict

if TYPE_CHECKING:
    from gradcli.reference.ranges.search import Function


Ends = tuple[float, float]
_MOST = 40  # marks of a curve
_CELLS = 400  # operations up to which bounds are asked
_NOTHING = 1e-7  # relative
_DIGITS = 6  # of heights and slopes in words


def seeds(columns: Columns, name: str, ends: Ends) -> list[float]:
    """Points near places that interval arithmetic knows of, which may be too narrow to be met by chance."""
    function, found = _enclosed(columns, {name: ends})
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
    function, found = _enclosed(columns, ranges)
    return [] if function is None else list(place_notes(program, function, found, [n for n in ranges if columns.moving[n] is not None]))


def _enclosed(columns: Columns, ranges: Mapping[str, Ends]) -> tuple[Function | None, list[Any]]:
    """Return what interval arithmetic finds in a box; nothing of functions that it does not know."""
    leaves = {leaf: ends for name, ends in ranges.items() if (leaf := columns.moving[name]) is not None}
    if not leaves or columns.work > _CELLS:
        return None, []
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.search import Function

    try:
        function = Function(columns.root, leaves, columns.scope.values, columns.scope.precision)
        return function, function.find_places()
    except (Unsupported, GradcliError, ValueError, ArithmeticError, AssertionError, NotImplementedError):
        return None, []  # along a curve they are searched for, too


def marks_of(columns: Columns, name: str, samples: Samples, entry: int, ends: Ends) -> tuple[list[Mark], list[str]]:
    """The marks of one curve in order, and notes."""
    places = samples.places[entry]
    gaps = _gaps(samples, entry)
    marks = [_mark(name, place, samples, entry) for place in places if place.kind != "domain" or place.single]
    marks += [_gap(columns, name, low, high, samples, entry, ends) for low, high in gaps if not _is_told(places, low, high)]
    marks.sort(key=lambda mark: mark.at)
    notes = []
    if len(marks) > _MOST:
        notes.append(f"{len(marks) - _MOST} more places are not marked")
        chosen = sorted(sorted(range(len(marks)), key=lambda i: (marks[i].kind == "kink", i))[:_MOST])
        marks = [marks[i] for i in chosen]
    if not np.isfinite(samples.values[:, entry]).any():
        notes.append("there is no finite value in this range")
    return marks, notes


def _gaps(samples: Samples, entry: int) -> list[Ends]:
    """The stretches of points without a finite value."""
    lost = ~np.isfinite(samples.values[:, entry])
    turns = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    return [(float(samples.xs[i]), float(samples.xs[j - 1])) for i, j in zip(turns[::2], turns[1::2], strict=True)]


def _is_told(places: list[Place], low: float, high: float) -> bool:
    """Return whether a stretch is a point that is marked for itself."""
    near = 4 * max(math.ulp(low), math.ulp(high))
    return any((p.kind == "pole" or p.single) and p.low - near <= low and high <= p.high + near for p in places)


def _gap(columns: Columns, name: str, low: float, high: float, samples: Samples, entry: int, ends: Ends) -> Mark:
    """The mark of a stretch without a finite value, up to the round numbers at which it ends."""
    beside = (_height(samples, entry, low, -1), _height(samples, entry, high, 1))
    infinite = bool(np.isinf(samples.values[(samples.xs >= low) & (samples.xs <= high), entry]).all())
    reason = _reason(columns, name, low + (high - low) / 2, infinite)
    (first, begins), (last, stops) = _edge(samples.places[entry], low, True), _edge(samples.places[entry], high, False)
    if (low, high) == ends:
        where = "anywhere in this range"
    elif low == high:
        where = f"at {name}={_place(low)}"
    elif low == ends[0]:
        where = f"for {name} {stops} {_place(last)}"
    elif high == ends[1]:
        where = f"for {name} {begins.replace('<', '>')} {_place(first)}"
    else:
        where = f"for {_place(first)} {begins} {name} {stops} {_place(last)}"
    what = "the value is infinite" if infinite else "no value"
    return Mark("domain", first, last, beside, f"{what} {where}" + (f": {reason}" if reason else ""))


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
        table = forward([columns.root], {**columns.scope.values, leaf: np.float64(at)}, "float64", columns.order)
    except GradcliError as error:
        return error.message
    lost = (node for node in columns.order if node.op is not None and node.kind == "float" and node.op.outputs == 1)
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
    at = f"{name}={_place(place.at)}" if word is None else f"{name}={word} ({_place(place.at)})"
    left, right = _numbers(place.left, place.right)
    if place.kind == "pole":
        sides = [f"{side} from {word}" for side, word in ((left, "the left"), (right, "the right")) if side in ("+inf", "-inf")]
        text = f"pole at {at}: {left}" if left == right else f"pole at {at}: {', '.join(sides)}"
        heights = (place.left, place.right)
    elif place.kind == "jump":
        middle = _height(samples, entry, place.at, 0)
        near = _NOTHING * max(abs(place.left), abs(place.right), abs(middle))
        own = min(abs(middle - place.left), abs(middle - place.right)) > near
        text = f"jump at {at}: from {left} to {right}" + (f", {_number(middle)} there" if own else "")
        if place.single:
            text = f"a point by itself at {at}: {_number(middle)}, beside it {left}"
        return Mark(place.kind, place.at, place.at, (place.left, place.right), text, middle)
    elif place.kind == "kink":
        text = f"kink at {at}: the slope goes from {left} to {right}" if left != right else f"vertical slope at {at}: {left}"
        heights = (_height(samples, entry, place.at, 0),) * 2
    else:
        text, heights = f"no value at {at}, a hole in the curve", (place.left, place.right)
    return Mark(place.kind, place.at, place.at, heights, text)


def _place(x: float) -> str:
    """A place with all its digits."""
    return repr(x).removesuffix(".0")


def _numbers(left: float, right: float) -> tuple[str, str]:
    """Two limits; one that is nothing but the distance at which it was read, beside the other, is 0."""
    size = _NOTHING * max(abs(left), abs(right)) if math.isfinite(left) and math.isfinite(right) else 0.0
    first, second = (0.0 if abs(limit) < size else limit for limit in (left, right))
    return _number(first), _number(second)


def _number(value: float) -> str:
    return "nothing" if math.isnan(value) else ("+inf" if value > 0 else "-inf") if math.isinf(value) else f"{value + 0.0:.{_DIGITS}g}"


# -- The cross-check of what is plotted: the expression at a few points of its ranges, each judged
# as `gradcli eval` judges it.


_POINTS = 5
_GOLDEN = 0.6180339887498949
_CANDIDATES = 64


def cross_check(program: Program, lowered: Lowered, moving: Mapping[str, Expr | None], record: PlotRecord, options: Options) -> None:
    """Put the gravest verdict of some points into a record.

    moving  the names of the ranges, as leaves
    """
    scope, leaves = program.scope, {name: leaf for name, leaf in moving.items() if leaf is not None}
    before = {leaf: scope.values[leaf] for leaf in leaves.values()}
    try:
        for point in _points(record):
            scope.values.update({leaf: np.float64(point[name]) for name, leaf in leaves.items()})
            scope.in_passing = record.check is not None
            found = Record(record.expr)
            with suppress(EvaluationError):
                fill_query(program, lowered, found, options)
            if found.check is None:
                continue
            record.points += 1
            if record.check is None or found.check.worst > record.check.worst:
                record.check = found.check
            if record.check.worst is Verdict.MISMATCH:
                break
    finally:
        scope.values.update(before)
        scope.in_passing = False
    if record.check is None:
        record.notes.append("the cross-check has no point: none that was tried has a value and a derivative")


def _points(record: PlotRecord) -> Iterator[dict[str, float]]:
    """Points of the ranges at which all that is drawn is finite, at no round numbers."""
    found = 0
    for i in range(1, _CANDIDATES):
        shares = [(i * _GOLDEN * (k + 1) + 0.17 * k) % 1.0 for k in range(len(record.ranges))]
        point = {name: low + (high - low) * share for (name, (low, high)), share in zip(record.ranges.items(), shares, strict=True)}
        if _is_drawn(record, point):
            found += 1
            yield point
        if found == _POINTS:
            return


def _is_drawn(record: PlotRecord, point: Mapping[str, float]) -> bool:
    where = list(point.values())
    if record.grid is not None:
        i, j = (int(np.argmin(np.abs(axis - x))) for axis, x in zip((record.grid.xs, record.grid.ys), where, strict=True))
        return bool(np.isfinite(record.grid.values[j, i]))
    for curve in record.curves:
        i = int(np.searchsorted(curve.xs, where[0]))
        if not np.isfinite(curve.heights[VALUE][max(0, i - 1) : i + 1]).all():
            return False
    return True
