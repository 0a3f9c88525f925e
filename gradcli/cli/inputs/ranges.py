"""The positional arguments of ``gradcli plot``: an expression, ranges of one name or two, and bindings."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.characters import normalized
from gradcli.cli.inputs.positionals import BINDING, Inputs, programs_of, words_of
from gradcli.cli.request import BoundRequest, PlotRequest
from gradcli.errors import GradcliError, UsageError
from gradcli.language.tree import Query
from gradcli.limits import Limits
from gradcli.query.bindings import Programs
from gradcli.query.free_variables import needs_of
from gradcli.query.options import names_of
from gradcli.query.plots import AskedPlot

# -- The positional arguments of ``gradcli bound``: an expression, the ranges of its names, and
# bindings.


BOUND_EXAMPLE = "gradcli bound 'x*(1-x)' x=0..1"
Ends = tuple[float, float]


def bound_inputs(request: BoundRequest, limits: Limits) -> tuple[Inputs, Programs, dict[str, Ends]]:
    """Return what ``gradcli bound`` reads, the programs that are run, and the box. Raises UsageError."""
    found = words_of(request, ranges=True)
    expression = found.one("quote the expression as a whole; write a range without spaces around '='")
    if not found.ranges:
        raise UsageError("no name has a range", help=BOUND_EXAMPLE)
    inputs = found.inputs(request, expression, "bound", BOUND_EXAMPLE)
    programs = programs_of(request, inputs, limits)
    return inputs, programs, _within(programs, {name: ends_of(name, text, programs) for name, text in found.ranges.items()})


def _within(programs: Programs, box: dict[str, Ends]) -> dict[str, Ends]:
    """Return a box, whose names have a value inside of it in programs."""
    programs.values.update({name: np.float64(low + (high - low) / 2) for name, (low, high) in box.items()})
    return box


def box_of(texts: Sequence[str], limits: Limits) -> dict[str, Ends]:
    """The box of ``--over NAME=BEGIN..END``. Raises UsageError."""
    box: dict[str, Ends] = {}
    for text in texts:
        found = BINDING.match(normalized(text))
        if found is None or ".." not in found["value"]:
            raise UsageError(f"--over takes NAME=BEGIN..END, not '{text}'", help="write --over x=0..1")
        if found["name"] in box:
            raise UsageError(f"--over {found['name']}=... is given twice")
        box[found["name"]] = ends_of(found["name"], found["value"], Programs(limits))
    return box


def ends_of(name: str, text: str, programs: Programs) -> Ends:
    """The ends of a range, each a constant expression. Raises UsageError."""
    begin, _, end = text.partition("..")
    if not begin.strip() or not end.strip() or ".." in end:
        raise UsageError(f"'{name}={text}' is no range", help=f"write {name}=0..1")
    calculator = programs.fresh()
    low, high = (_number(name, part, calculator) for part in (begin, end))
    if not low <= high:
        raise UsageError(f"the range '{name}={text}' ends before it begins", help=f"write {name}={end.strip()}..{begin.strip()}")
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


PLOT_EXAMPLE = "gradcli plot 'x*sin(x)' x=-3..3"


def plot_inputs(request: PlotRequest, limits: Limits) -> tuple[Inputs, Programs, AskedPlot]:
    """Return what ``gradcli plot`` reads, the programs that are run, and what is wanted of them. Raises UsageError."""
    found = words_of(request, ranges=True)
    expressions = [text.removeprefix(" ") for text, _ in found.others if ".." not in text]
    bare = [text.strip() for text, _ in found.others if ".." in text]
    expression, ranges = "\n".join(expressions) if expressions else None, found.ranges
    if bare:
        inputs = Inputs(expression, found.bindings, found.files)
        ranges[_only_name(bare, ranges, programs_of(request, inputs, limits), expressions)] = bare[0]
    _refuse_ranges(ranges, found.bindings)
    inputs = found.inputs(request, expression, "plot", PLOT_EXAMPLE)
    programs = programs_of(request, inputs, limits)
    box = _within(programs, {name: _ends(name, text, programs) for name, text in ranges.items()})
    return inputs, programs, AskedPlot(box, names_of(request.wrt), request.points, _log(request, box))


def _only_name(bare: Sequence[str], ranges: dict[str, str], programs: Programs, expressions: Sequence[str]) -> str:
    """The name that a range without one is for: the only one that expressions have no value for. Raises UsageError."""
    program = programs.fresh()
    names: dict[str, None] = {}
    for statement in program.statements([f"{text}\n" for text in expressions]):
        if isinstance(statement, GradcliError):
            continue  # it is reported where it is plotted
        needs = needs_of(statement, program.scope)
        names.update(dict.fromkeys(needs.names))
        if not isinstance(statement, Query) and not needs.names:
            program.execute(statement)
    left = [name for name in names if name not in ranges]
    if len(left) != 1 or len(bare) > 1:
        example = " ".join(f"{name}={text}" for name, text in zip(left or "xy", bare, strict=False))
        raise UsageError(f"'{bare[0]}' is the range of no name in particular", help=f"write {example}")
    return left[0]


def _refuse_ranges(ranges: dict[str, str], bindings: dict[str, str]) -> None:
    """Raise UsageError for none, or more than a picture has room for."""
    if not ranges:
        name = next(iter(bindings), "x")
        raise UsageError("no name has a range", help=f"write {name}=-3..3" if bindings else PLOT_EXAMPLE)
    if len(ranges) > 2:
        third, *more = list(ranges)[2:]
        listed = " and ".join([f"'{third}'", *(f"'{name}'" for name in more)])
        plural = "have ranges" if more else "has a range"
        raise UsageError(
            f"{listed} {plural}, but a picture has room for two names", help=f"give {third} a value: {third}=1, or several: {third}=1,2,3"
        )


def _ends(name: str, text: str, programs: Programs) -> Ends:
    low, high = ends_of(name, text, programs)
    if low == high:
        raise UsageError(f"the range '{name}={text}' is a single point", help=f"gradcli eval gives its value: {name}={low!r}")
    if high - low > sys.float_info.max:
        raise UsageError(f"the range '{name}={text}' is too wide for floats")
    return low, high


def _log(request: PlotRequest, box: dict[str, Ends]) -> str:
    """The axes that are logarithmic. Raises UsageError for one that has no logarithm."""
    if request.log is None:
        return ""
    for axis, (name, (low, _)) in zip("xy", box.items(), strict=False):
        if axis in request.log and low <= 0:
            raise UsageError(
                f"--log {request.log}: the range of '{name}' begins at {low!r}, which has no logarithm", help=f"{name}=0.1..10"
            )
    return request.log
