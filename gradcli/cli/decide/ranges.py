"""The commands ``gradcli bound`` and ``gradcli plot``.

They show proved ranges, and curves with their cross-checks, on a terminal, as data and in files.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from gradcli.cli.commands import BoundRequest, PlotRequest
from gradcli.cli.decide.running import (
    Inputs,
    Run,
    Writer,
    kind_by_suffix,
    options_of,
    programs_of,
    words_of,
    writer_for,
)
from gradcli.cli.process import is_coloured, put, say
from gradcli.errors import UsageError
from gradcli.query.bounds import bounds, within
from gradcli.query.free_variables import names_left
from gradcli.query.plots import plots
from gradcli.query.programs import Programs
from gradcli.report.plot_chart import Chart, Row, Style
from gradcli.report.ranges import BoundRecord, PlotRecord
from gradcli.report.table import plot_rows
from gradcli.storage import write_whole

EXAMPLE = "gradcli plot 'x*sin(x)' x=-3..3"
BOUND_EXAMPLE = "gradcli bound 'x*(1-x)' x=0..1"


def plot_inputs(request: PlotRequest) -> tuple[Inputs, Programs, dict[str, str]]:
    """Return what ``gradcli plot`` reads, the programs that are run, and the ranges of names.

    Raises UsageError.
    """
    found = words_of(request, ranges=True)
    expressions = [text.removeprefix(" ") for text, _ in found.others if ".." not in text]
    bare = [text.strip() for text, _ in found.others if ".." in text]
    expression, ranges = "\n".join(expressions) if expressions else None, found.ranges
    if bare:
        programs = programs_of(request, Inputs(expression, found.bindings, found.files))
        ranges[_only_name(bare, ranges, programs, expressions)] = bare[0]
    if not ranges:
        name = next(iter(found.bindings), None)
        raise UsageError("no name has a range", help=f"write {name}=-3..3" if name else EXAMPLE)
    found = found._replace(others=[] if expression is None else [(expression, False)])
    inputs = found.inputs(request, "plot", EXAMPLE)
    return inputs, programs_of(request, inputs), ranges


def _only_name(
    bare: Sequence[str], ranges: dict[str, str], programs: Programs, expressions: Sequence[str]
) -> str:
    """Return the name that a range without a name is for.

    It is the only name that expressions have no value for.

    Raises UsageError where there is no such name.
    """
    left = [name for name in names_left(programs.fresh(), expressions) if name not in ranges]
    if len(left) != 1 or len(bare) > 1:
        example = " ".join(f"{name}={text}" for name, text in zip(left or "xy", bare, strict=False))
        raise UsageError(f"'{bare[0]}' is a range without a name", help=f"write {example}")
    return left[0]


_OF_PLOTS = {
    **{suffix: (suffix[1:], "text") for suffix in (".svg", ".png", ".pdf", ".html")}, ".csv": ("csv",), ".json": ("json",),
}  # fmt: skip


_LOWEST, _HIGHEST = 16, 40  # fewest and most rows of a chart
_USUAL = 24  # rows of a chart where no terminal tells its height
_PROMPT = 2  # rows of the shell's prompt


def bound(request: BoundRequest) -> int:
    """Bound everything that was asked for."""
    options = options_of(request)
    found = words_of(request, ranges=True)
    if not found.ranges:
        raise UsageError("no name has a range", help=BOUND_EXAMPLE)
    inputs = found.inputs(request, "bound", BOUND_EXAMPLE)
    programs = programs_of(request, inputs)
    options = options.but(
        over=within(found.ranges, programs),
        width=request.width,
        lipschitz=request.lipschitz,
    )
    run = Run("bound", inputs, programs, bounds, options, kind=BoundRecord, example=BOUND_EXAMPLE)
    return run.write(writer_for(request))


def plot(request: PlotRequest) -> int:
    """Plot everything that was asked for."""
    kind = kind_by_suffix(request.out, _OF_PLOTS, "--format", request.output_format)
    request = request.but(output_format=kind if kind in ("csv", "json", "jsonl") else "text")
    options = options_of(request, "plot")
    if request.out is not None and not request.out.lower().endswith((".csv", ".json")):
        from gradcli.report.plot_picture import insist

        insist()
    inputs, programs, ranges = plot_inputs(request)
    options = options.but(over=within(ranges, programs), points=request.points)
    run = Run("plot", inputs, programs, plots, options, kind=PlotRecord, example=EXAMPLE)
    return run.write(Plots(request))


class Plots:
    """Takes plots as they come, and shows them all: first in the file that is asked for.

    Raises GradcliError.
    """

    def __init__(self, request: PlotRequest) -> None:
        self.request = request
        self.records: list[PlotRecord] = []

    def write(self, result: PlotRecord) -> None:
        self.records.append(result)

    def close(self) -> None:
        records, request, form = self.records, self.request, self.request.output_format
        drawn = [record for record in records if record.error is None]
        if request.out is not None:
            form = "text" if form in ("csv", "json") else form  # the file holds the data
            if drawn:
                _write_file(drawn, request, request.out)
                say(f"{request.out} is written")
        writer = Writer("text" if form == "csv" else form, request.color)
        if form == "csv":
            put(plot_rows(records))
        elif form == "text" and drawn and request.out is None:
            rows = _charts(drawn, _style(request, drawn))
            if rows:
                writer.write(Chart(rows))
        for record in records:
            if form != "csv" or record.error is not None:
                writer.write(record)
        writer.close()


def _write_file(records: Sequence[PlotRecord], request: PlotRequest, out: str) -> None:
    suffix, size = Path(out).suffix.lower()[1:], (request.width, request.height)
    if suffix == "json":
        writer = Writer("json", out=out)
        for record in records:
            writer.write(record)
        return writer.close()
    if suffix == "csv":
        found = plot_rows(records).encode()
    else:
        from gradcli.report.plot_picture import page, picture

        is_page = suffix == "html"
        found = page(records, *size).encode() if is_page else picture(records, suffix, *size)
    write_whole(out, found)


def _charts(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves together; contours one after the other."""
    from gradcli.report.plot_chart import chart, contours

    rows: list[Row] = chart([record for record in records if record.curves], style)
    for record in records:
        if record.grid is not None:
            rows += [*([[("", "")]] if rows else []), *contours(record, style)]
    return rows


def _style(request: PlotRequest, records: Sequence[PlotRecord]) -> Style:
    """Return the style of a chart, leaving room for the lines below it where possible."""
    columns, height = shutil.get_terminal_size((80, _USUAL))
    if sys.stdout.isatty():
        below = sum(len(record.lines()) + 1 for record in records)
        height = min(max(height - below - _PROMPT, _LOWEST), _HIGHEST)
    else:
        height = _USUAL
    return Style(
        request.width or max(20, columns), request.height or height, is_coloured(request.color)
    )
