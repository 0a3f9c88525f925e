"""Curves in the form that is asked for: on a terminal, as text, as data, and in files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradcli.cli.request import PlotRequest
from gradcli.cli.write.results import Writer, is_styled
from gradcli.cli.write.streams import put, say
from gradcli.report.plot_canvas import Chart, Row, Style
from gradcli.report.plot_record import PlotRecord
from gradcli.report.table import plot_rows
from gradcli.storage.whole_files import write_whole

_PICTURED = "⣿│┤└─┴┈┊◆○●━→↗"  # what an encoding has to have for a chart of dots
_LOWEST, _HIGHEST = 16, 40  # rows of a chart
_USUAL = 24  # where nobody knows
_PROMPT = 2  # rows of the shell's


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
