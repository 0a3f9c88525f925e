"""Values and derivatives of a program's queries over ranges: what `gradcli plot` shows. Other names keep their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gradcli.errors import EvaluationError, MissingValueError, ShapeError, TypeMismatchError, UsageError, suggestion
from gradcli.graph.nodes import Expr
from gradcli.language.run import Lowered, Program
from gradcli.language.tree import Statement
from gradcli.plots.columns import Columns
from gradcli.plots.places import Place
from gradcli.plots.sampling import Samples, sampled
from gradcli.plots.spacing import evenly
from gradcli.query.bounds import answers, variables_of
from gradcli.query.plot_fields import MOST_ENTRIES, fill
from gradcli.query.plot_marks import marks_of, seeds
from gradcli.report.plot_record import VALUE, Curve, PlotRecord

Ends = tuple[float, float]
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
    """

    ranges: Mapping[str, Ends]
    wrt: tuple[str, ...] | None = None
    points: int | None = None
    log: str = ""


def plots(program: Program, lines: Iterable[str], name: str | None, asked: AskedPlot) -> Iterator[tuple[PlotRecord, Statement | None]]:
    """A record for each query of a program, with its statement, and for each error."""
    known = {"ranges": dict(asked.ranges), "log": asked.log}
    return answers(PlotRecord, partial(_drawn, asked=asked), "a plot", program, program.statements(lines, name), **known)


@np.errstate(all="ignore")
def _drawn(program: Program, lowered: Lowered, record: PlotRecord, asked: AskedPlot) -> None:
    scope, root = program.scope, lowered.value
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


def _by(program: Program, name: str) -> Expr:
    """What another name to differentiate by stands for."""
    leaf = program.scope.leaves.get(name)
    if leaf is None:
        close = suggestion(name, sorted(program.scope.leaves))
        raise MissingValueError(
            f"no value for '{name}', which is to be differentiated", help=f"did you mean '{close}'?" if close else f"give it one: {name}=1"
        )
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
        heights = {
            VALUE: drawn.values.reshape(-1, entries)[:, entry],
            **{f"d/d{n}": drawn.slopes[n].reshape(-1, entries)[:, entry] for n in by},
        }
        numbers = {
            VALUE: table.values.reshape(-1, entries)[:, entry],
            **{f"d/d{n}": table.slopes[n].reshape(-1, entries)[:, entry] for n in by},
        }
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
    """What tells the entries of a result apart: the values of names of its shape, or their indices."""
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
