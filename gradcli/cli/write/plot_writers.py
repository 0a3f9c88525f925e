"""Curves in the form that is asked for: on a terminal, as text, as data, and in files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradcli.cli.request import PlotRequest
from gradcli.cli.write.record_writers import JsonArray, JsonLines, complain
from gradcli.cli.write.streams import prepare, put, put_text, say
from gradcli.cli.write.writers import is_styled
from gradcli.report.plot_canvas import Row, Style
from gradcli.report.plot_record import PlotRecord, as_dict
from gradcli.storage.whole_files import write_whole

_PICTURED = "⣿│┤└─┴┈┊◆○●━→↗"  # what an encoding has to have for a chart of dots
_LOWEST, _HIGHEST = 16, 40  # rows of a chart
_USUAL = 24  # where nobody knows
_PROMPT = 2  # rows of the shell's


def write(records: Sequence[PlotRecord], request: PlotRequest) -> None:
    """All records, and the file that is asked for, which is written first. Raises GradcliError."""
    kind = request.output_format
    prepare(kind)
    drawn = [record for record in records if record.error is None]
    if request.out is not None and drawn:
        write_whole(Path(request.out), _file(drawn, request))
        say(f"{request.out} is written")
    data = request.out is not None and kind in ("json", "csv")  # which stands in the file
    if kind in ("json", "jsonl") and not data:
        writer = JsonLines(as_dict) if kind == "jsonl" else JsonArray(as_dict)
        for record in records:
            writer.show(record)
        writer.end()
        return
    for record in records:
        if record.error is not None:
            complain(record)
    if kind == "csv" and not data:
        from gradcli.report.plot_table import table_text

        put(table_text(records))
    elif drawn:
        _shown(drawn, request)


def _file(records: Sequence[PlotRecord], request: PlotRequest) -> bytes:
    assert request.out is not None
    suffix = Path(request.out).suffix.lower()
    if suffix == ".csv":
        from gradcli.report.plot_table import table_text

        return table_text(records).encode()
    if suffix == ".json":
        writer = JsonArray(as_dict)
        for record in records:
            writer.show(record)
        return writer.text().encode()
    from gradcli.report.plot_picture import picture

    if suffix == ".html":
        from gradcli.report.plot_page import page

        return page(records, request.width, request.height).encode()
    return picture(records, suffix.removeprefix("."), request.width, request.height)


def _shown(records: Sequence[PlotRecord], request: PlotRequest) -> None:
    """A chart, unless it went to a file, and what is said of it."""
    from gradcli.report.plot_sheet import lines_of, text_of, title

    styled = is_styled(request.color)
    below = sum(len(title(record)) + len(lines_of(record)) + 1 for record in records)
    rows = [] if request.out is not None else _charts(records, _style(request, styled, below))
    if styled:
        from gradcli.cli.write.plot_terminal import PlotTerminal

        PlotTerminal(forced=request.color == "always").show_all(rows, records)
        return
    from gradcli.report.plot_canvas import plain

    put_text((plain(rows) + "\n\n" if rows else "") + text_of(records))
    sys.stdout.flush()


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
