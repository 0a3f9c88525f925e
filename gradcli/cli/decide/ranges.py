"""``gradcli bound`` and ``gradcli plot``: proved ranges, and curves with their cross-checks, on a terminal, as data and in files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradcli.cli.decide.running import Run, Text
from gradcli.cli.inputs.option_values import limits_of, options_of, plot_format
from gradcli.cli.inputs.positionals import Inputs
from gradcli.cli.inputs.ranges import BOUND_EXAMPLE, PLOT_EXAMPLE, bound_inputs, plot_inputs
from gradcli.cli.request import BoundRequest, PlotRequest
from gradcli.cli.write.results import Writer, is_styled, writer_for
from gradcli.cli.write.streams import put, say
from gradcli.errors import UsageError
from gradcli.language.run import Program
from gradcli.query.bindings import Programs
from gradcli.query.bounds import AskedBounds, bounds, refuse_unknown
from gradcli.query.options import Options
from gradcli.query.plots import AskedPlot, plots
from gradcli.report.plot_chart import Chart, Row, Style
from gradcli.report.ranges import BoundRecord, Ends, PlotRecord
from gradcli.report.table import plot_rows
from gradcli.storage.whole_files import write_whole

_PICTURED = "⣿│┤└─┴┈┊◆○●━→↗"  # what an encoding has to have for a chart of dots
_LOWEST, _HIGHEST = 16, 40  # rows of a chart
_USUAL = 24  # where nobody knows
_PROMPT = 2  # rows of the shell's


def bound(request: BoundRequest) -> int:
    """Bound everything that was asked for."""
    limits = limits_of(request)
    options_of(request)
    inputs, programs, box = bound_inputs(request, limits)
    bounding = Bounding(inputs, programs, AskedBounds(box, request.width, request.lipschitz))
    return bounding.write(writer_for(request), UsageError("nothing to bound", help=BOUND_EXAMPLE))


class OverRanges(Run):
    """The answers of a command to expressions with names that run through ranges."""

    def __init__(self, inputs: Inputs, programs: Programs, box: Mapping[str, Ends], state: int = 0) -> None:
        super().__init__(inputs, programs, Options(), state)
        self.box = box

    def remarks(self) -> list[str]:
        if not self.names.unread:
            refuse_unknown(self.names.mentioned, self.box)
        return super().remarks()


class Bounding(OverRanges):
    """The results of `bound`."""

    kind, command = BoundRecord, "bound"

    def __init__(self, inputs: Inputs, programs: Programs, asked: AskedBounds) -> None:
        super().__init__(inputs, programs, asked.box)
        self.asked = asked

    def of_program(self, text: Text, program: Program) -> Iterator[BoundRecord]:
        return bounds(program, text.lines, text.name, self.asked, stream=text.stream)


def plot(request: PlotRequest) -> int:
    """Plot everything that was asked for."""
    request = request.but(output_format=plot_format(request))
    limits = limits_of(request)
    options_of(request, "plot")
    if request.out is not None and not request.out.lower().endswith((".csv", ".json")):
        from gradcli.report.plot_picture import insist

        insist()
    plotting = Plotting(*plot_inputs(request, limits), request)
    return plotting.write(Plots(request), UsageError("nothing to plot", help=PLOT_EXAMPLE))


class Plotting(OverRanges):
    """The results of `plot`."""

    kind, command = PlotRecord, "plot"

    def __init__(self, inputs: Inputs, programs: Programs, asked: AskedPlot, request: PlotRequest) -> None:
        super().__init__(inputs, programs, asked.ranges, request.random_state)
        self.asked = replace(asked, check=request.check, timeout=request.timeout)

    def answers(self) -> Iterator[PlotRecord]:
        """The results, all of which are there before the first one is drawn."""
        yield from [*super().answers()]

    def of_program(self, text: Text, program: Program) -> Iterator[PlotRecord]:
        return plots(program, text.lines, text.name, self.asked)


class Plots:
    """Takes plots as they come, and shows them all: first in the file that is asked for. Raises GradcliError."""

    def __init__(self, request: PlotRequest) -> None:
        self.request = request
        self.records: list[PlotRecord] = []

    def write(self, result: PlotRecord) -> None:
        self.records.append(result)

    def close(self) -> None:
        records, request, form = self.records, self.request, self.request.output_format
        drawn = [record for record in records if record.error is None]
        if request.out is not None:
            form = "text" if form in ("csv", "json") else form  # data stand in the file
            if drawn:
                _write_file(drawn, request, request.out)
                say(f"{request.out} is written")
        writer = Writer("text" if form == "csv" else form, request.color)
        if form == "csv":
            put(plot_rows(records))
        elif form == "text" and drawn and request.out is None:
            below = sum(len(record.lines()) + 1 for record in drawn)
            rows = _charts(drawn, _style(request, is_styled(request.color), below))
            if rows:
                writer.write(Chart(rows))
        for record in records:
            if form != "csv" or record.error is not None:
                writer.write(record)
        writer.close()


def _write_file(records: Sequence[PlotRecord], request: PlotRequest, out: str) -> None:
    suffix = Path(out).suffix.lower()
    if suffix == ".json":
        writer = Writer("json", out=out)
        for record in records:
            writer.write(record)
        writer.close()
        return
    write_whole(Path(out), plot_rows(records).encode() if suffix == ".csv" else _picture(records, request, suffix))


def _picture(records: Sequence[PlotRecord], request: PlotRequest, suffix: str) -> bytes:
    from gradcli.report.plot_picture import page, picture

    if suffix == ".html":
        return page(records, request.width, request.height).encode()
    return picture(records, suffix.removeprefix("."), request.width, request.height)


def _charts(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves together; contours one after the other."""
    from gradcli.report.plot_chart import chart, contours

    rows: list[Row] = chart([record for record in records if record.curves], style)
    for record in records:
        if record.grid is not None:
            rows += [*([[("", "")]] if rows else []), *contours(record, style)]
    return rows


def _style(request: PlotRequest, styled: bool, below: int) -> Style:
    """A chart that leaves room for so many lines below it, where it can."""
    size: Any = shutil.get_terminal_size((80, _USUAL))
    height = min(max(size.lines - below - _PROMPT, _LOWEST), _HIGHEST) if sys.stdout.isatty() else _USUAL
    return Style(request.width or max(20, size.columns), request.height or height, _has_dots(), styled)


def _has_dots() -> bool:
    try:
        _PICTURED.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
