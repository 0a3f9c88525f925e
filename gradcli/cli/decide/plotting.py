"""``gradcli plot``: curves over ranges, each with its cross-check; on a terminal, as text, as data and in files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcli.cli.decide.texts import Answers, Text
from gradcli.cli.inputs.option_values import limits_of, options_of, plot_format
from gradcli.cli.inputs.positionals import Inputs
from gradcli.cli.inputs.ranges import PLOT_EXAMPLE, plot_inputs
from gradcli.cli.request import PlotRequest
from gradcli.cli.write.results import Writer, exit_code, is_styled
from gradcli.cli.write.streams import put, say
from gradcli.errors import UsageError
from gradcli.files.npy import folder_of
from gradcli.language.run import Program
from gradcli.language.tree import Query
from gradcli.query.bindings import Programs
from gradcli.query.bounds import refuse_unknown
from gradcli.query.options import Options
from gradcli.query.plot_marks import cross_checked
from gradcli.query.plots import AskedPlot, plots
from gradcli.report.plot_canvas import Chart, Row, Style
from gradcli.report.plot_record import PlotRecord
from gradcli.report.table import plot_rows
from gradcli.storage.whole_files import write_whole

_PICTURED = "⣿│┤└─┴┈┊◆○●━→↗"  # what an encoding has to have for a chart of dots
_LOWEST, _HIGHEST = 16, 40  # rows of a chart
_USUAL = 24  # where nobody knows
_PROMPT = 2  # rows of the shell's


def plot(request: PlotRequest) -> int:
    """Plot everything that was asked for."""
    request = request.but(output_format=plot_format(request))
    limits = limits_of(request)
    options_of(request, "plot")
    if request.out is not None and not request.out.lower().endswith((".csv", ".json")):
        from gradcli.report.plot_picture import insist

        insist()
    plotting = Plotting(*plot_inputs(request, limits), request)
    records = list(plotting.records())
    if not records:
        raise UsageError("nothing to plot", help=PLOT_EXAMPLE)
    write(records, request)
    return max(map(exit_code, records))


class Plotting(Answers[PlotRecord]):
    """The results of all inputs, in order."""

    kind, command = PlotRecord, "plot"

    def __init__(self, inputs: Inputs, programs: Programs, asked: AskedPlot, request: PlotRequest) -> None:
        super().__init__(inputs, programs, request.random_state)
        self.asked, self.request = asked, request
        self.done: dict[Program, tuple[list[str], int]] = {}  # the lines of programs, and the number of their queries

    def records(self) -> Iterator[PlotRecord]:
        """The results in order. Raises UnknownNameError for a name with a range that none of the expressions has."""
        sound = True
        for record in super().records():
            sound = sound and record.error is None
            yield record
        if sound and len(self.done) == 1:
            refuse_unknown(next(iter(self.done)), self.asked.ranges)

    def of_program(self, text: Text, program: Program) -> Iterator[PlotRecord]:
        lines = list(text.lines)
        earlier, number = self.done.get(program, ([], 0))  # of a file whose names the expression sees
        load = self.programs.loader(None if text.path is None else folder_of(text.path))
        options = Options(formula=False, check=True, timeout=self.request.timeout)
        for record, statement in plots(program, lines, text.name, self.asked):
            if record.error is None and self.request.check and record.by:
                cross_checked(record, number, self._fresh([*earlier, *_ended(lines)], load), options)
            number += isinstance(statement, Query)
            yield record
        self.done[program] = _ended(lines), number

    def _fresh(self, lines: list[str], load: Any) -> Callable[[Mapping[str, Any]], tuple[Program, list[str]]]:
        def fresh(point: Mapping[str, Any]) -> tuple[Program, list[str]]:
            return self.programs.fresh(self.state, load, {**self.programs.values, **point}), lines

        return fresh


def _ended(lines: list[str]) -> list[str]:
    """Lines each of which has an end."""
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def write(records: Sequence[PlotRecord], request: PlotRequest) -> None:
    """All records, and the file that is asked for, which is written first. Raises GradcliError."""
    form = request.output_format
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
        style = _style(request, is_styled(request.color), below)
        rows = _charts(drawn, style)
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
    if suffix == ".html":
        from gradcli.report.plot_page import page

        return page(records, request.width, request.height).encode()
    from gradcli.report.plot_picture import picture

    return picture(records, suffix.removeprefix("."), request.width, request.height)


def _charts(records: Sequence[PlotRecord], style: Style) -> list[Row]:
    """All curves together; contours one after the other."""
    from gradcli.report.plot_chart import chart
    from gradcli.report.plot_contours import contours

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
