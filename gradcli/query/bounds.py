"""Ranges of a program's queries over a box: what `gradcli bound` gives.

Names of the box are variables; all others keep their values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.check.verdicts import box_text
from gradcli.errors import (
    EvaluationError,
    GradcliError,
    ShapeError,
    TypeMismatchError,
    UsageError,
)
from gradcli.graph.nodes import Expr, definition_order
from gradcli.language.run import Lowered, Program
from gradcli.options import Options
from gradcli.query.claims import place_notes
from gradcli.query.programs import Script, answers
from gradcli.query.uncertainty import left_out
from gradcli.report.ranges import Bound, BoundNote, BoundRecord, Ends

if TYPE_CHECKING:
    from gradcli.query.programs import Programs
    from gradcli.reference.ranges.search import Range


def bounds(script: Script, options: Options) -> Iterator[BoundRecord]:
    """Yield a record for each query of a program as its lines come, and for each error."""
    return answers(BoundRecord, _ranges, script, options, box=dict(options.over))


def _ranges(program: Program, lowered: Lowered, record: BoundRecord, options: Options) -> None:
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.ranges.search import Function

    scope = program.scope
    root = lowered.value
    box = options.over
    record.warnings += left_out(scope, [root], "a range")
    if root.shape:
        raise ShapeError(
            f"a range is that of a number; the result has the shape {root.shape}",
            help="take one entry, or a sum",
        )
    if root.kind != "float":
        raise TypeMismatchError("a range is that of a number; the result is a truth or an index")
    variables = variables_of(program, lowered, box)
    try:
        function = Function(
            root,
            {leaf: box[name] for name, leaf in variables.items()},
            scope.values,
            scope.precision,
        )
        found = function.ranges(options.width)
    except Unsupported as error:
        raise EvaluationError(f"its range is not known: {error}") from None
    if found.value is None:
        raise EvaluationError(f"the expression is defined nowhere in the box {box_text(box)}")
    names = list(variables)
    record.value = _bound_of(found.value, names)
    grads = dict(zip(names, found.grad, strict=True))
    for name in box:
        slope = grads.get(name)
        none = math.nan if name in grads else 0.0
        record.grad[name] = Bound(none, none) if slope is None else _bound_of(slope, names)
    record.notes = [*place_notes(scope, function, found.places, names)]
    # A function that jumps has no Lipschitz constant, however flat it is elsewhere.
    if options.lipschitz:
        jumps = any(note.kind == "jump" for note in record.notes)
        record.lipschitz = {name: None if jumps else most for name, most in _norms(found.grad)}
        if len(names) > 1 and not jumps:
            text = "the norms 1 and 2 are of the derivatives' ranges together: they may be smaller"
            record.notes.append(BoundNote("limit", {}, text))
    for name, part in zip(
        ["the value", *(f"d/d{n}" for n in names)], [found.value, *found.grad], strict=True
    ):
        if part is not None:
            record.notes += _of_range(name, part, names, record.notes)


def variables_of(program: Program, lowered: Lowered, box: Mapping[str, Ends]) -> dict[str, Expr]:
    """Return the leaves that stand for the names of a box in a query.

    Names on which the query does not depend are left out. Raises UsageError for names whose values
    the program takes beforehand.
    """
    scope = program.scope
    taken = {use.leaf for use in lowered.static_uses}
    for name in box:
        if scope.leaves.get(name) in taken:
            raise UsageError(
                f"'{name}' is used as a whole number that the program needs beforehand: it has no "
                "range"
            )
    others = [side for sides in lowered.relations for side in sides[1:]]
    nodes = {*definition_order(lowered.value, others)}
    leaves = {name: scope.leaves[name] for name in box if name in scope.leaves}
    return {name: leaf for name, leaf in leaves.items() if leaf in nodes}


def within(texts: Mapping[str, str], programs: Programs) -> dict[str, Ends]:
    """Return the box of ranges; in programs, its names have a value inside of it.

    Raises UsageError.
    """
    box = {name: _ends(name, text, programs) for name, text in texts.items()}
    programs.values.update(
        {name: np.float64(low + (high - low) / 2) for name, (low, high) in box.items()}
    )
    return box


def _ends(name: str, text: str, programs: Programs) -> Ends:
    """Return the ends of a range, each a constant expression; raise UsageError if it is invalid."""
    begin, _, end = text.partition("..")
    if not begin.strip() or not end.strip() or ".." in end:
        raise UsageError(f"'{name}={text}' is no range", help=f"write {name}=0..1")
    if end.startswith("."):  # 0...1
        raise UsageError(
            f"'{name}={text}' is a range that ends at {end[1:]}, or at 0{end}",
            help=f"write {name}={begin}..{end[1:]}, or {name}={begin}..0{end}",
        )
    calculator = programs.fresh()
    low, high = (_number(name, part, calculator) for part in (begin, end))
    if not low <= high:
        raise UsageError(
            f"the range '{name}={text}' ends before it begins",
            help=f"write {name}={end.strip()}..{begin.strip()}",
        )
    return low, high


def _number(name: str, text: str, calculator: Any) -> float:
    try:
        found = calculator.constant(text, f"<{name}>")
    except GradcliError as error:
        error.note = error.note or f"it is an end of the range of {name}"
        raise
    if np.ndim(found) or not math.isfinite(float(found)):
        raise UsageError(f"an end of the range of '{name}' is no finite number: {text.strip()}")
    return float(found)


def _norms(grad: Sequence[Range | None]) -> Iterator[tuple[str, float | None]]:
    """Yield bounds of the norms of a gradient, by those of its entries together, if there are any."""
    from gradcli.reference.ranges.intervals import ZERO, Interval, precise

    with precise():
        sizes = [max(abs(ZERO + side.end) for side in part) for part in grad if part]
        root = sum((size**2 for size in sizes), ZERO).sqrt()
        norms = {"1": sum(sizes, ZERO), "2": root, "inf": max(sizes, default=ZERO)}
        ends = {name: Interval.around(x).floats[1] for name, x in norms.items()}
    for name, end in ends.items():
        yield name, end if math.isfinite(end) else None


def _bound_of(found: Range, names: list[str]) -> Bound:
    points = [
        None if side.point is None else dict(zip(names, side.point, strict=True)) for side in found
    ]
    low, high = (side.end for side in found)
    return Bound(low, high, *points)


def _of_range(
    what: str, found: Range, names: list[str], known: list[BoundNote]
) -> Iterator[BoundNote]:
    """Yield notes on infinite ends, and on ends that are not as close as was asked for.

    Infinite ends where a pole is noted already are left out.
    """
    for side, (word, way) in zip(found, (("lower", "below"), ("upper", "above")), strict=True):
        said = f"the {word} end of {what}"
        if math.isinf(side.end):
            if side.tight:
                yield BoundNote("limit", {}, f"{said} is too large for floats")
            elif all(note.kind != "pole" for note in known):
                where = dict(zip(names, side.box, strict=True))
                yield BoundNote("pole", where, f"no bound of {what} from {way} is known")
        elif not side.tight:
            yield BoundNote("limit", {}, f"{said} may be further out than was asked for")
