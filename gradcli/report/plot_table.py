"""The table of plots as CSV: a row for each point, with a column for each name, the value, and the derivatives."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from gradcli.inert import csv_text
from gradcli.report.plot_record import PlotRecord, columns, rows


def table_text(records: Sequence[PlotRecord]) -> str:
    """All rows below one heading; where there are several expressions, each row has its own, and cells of other columns are empty."""
    drawn = [record for record in records if record.error is None]
    headings = list(dict.fromkeys(heading for record in drawn for heading in columns(record)))
    several = len(records) > 1
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if drawn:
        writer.writerow([csv_text(heading) for heading in (["expr"] if several else []) + headings])
    for record in drawn:
        places = [headings.index(heading) for heading in columns(record)]
        expr = [csv_text(record.expr)] if several else []
        for row in rows(record):
            cells = [""] * len(headings)
            for place, cell in zip(places, row, strict=True):
                cells[place] = repr(cell) if isinstance(cell, float) else csv_text(str(cell))
            writer.writerow([*expr, *cells])
    return out.getvalue()
