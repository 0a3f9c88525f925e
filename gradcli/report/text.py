"""Records as plain text for pipes and files: no styles, nothing wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcli.errors import text_lines
from gradcli.inert import display_width, padded, printable, shown
from gradcli.report.records import Record
from gradcli.report.sheet import Sheet, judgement, sheet_of

if TYPE_CHECKING:
    from gradcli.report.bound_record import BoundRecord
    from gradcli.report.derivative_record import DerivativeRecord


def text_record(record: Record, digits: int | None) -> str:
    """The text of one record, ending in a newline."""
    return render(sheet_of(record, digits))


def error_text(record: Record | DerivativeRecord | BoundRecord) -> str:
    """An error as text; one of a whole record says which record it is."""
    assert record.error is not None
    text = record.error.error.render()
    if record.error.error.source is None and record.record_line:
        text += f"\n  --> {printable(record.file or '<stdin>')}:{record.line}"
    return text


def render(sheet: Sheet) -> str:
    lines = [*text_lines(sheet.title, keepends=False)]
    if sheet.read_as is not None:
        lines += _labelled("read as", sheet.read_as)
    if sheet.dialect is not None:
        lines += _labelled("dialect", sheet.dialect)
    lines += _labelled("value", f"{sheet.value}  ({sheet.kind})" if sheet.kind and "\n" not in sheet.value else sheet.value)
    if sheet.kind and "\n" in sheet.value:
        lines.append(f"{'':11}({sheet.kind})")
    if sheet.seed is not None:
        lines += _labelled("seed", sheet.seed)
    if sheet.rows:
        checked = "check" if sheet.verdict is not None else ""
        header = ["", sheet.heading, checked, "derivative" if any(row.formula for row in sheet.rows) else ""]
        table = [[row.name, row.numbers, row.verdict_text, row.formula] for row in sheet.rows]
        lines += _columns([header, *table])
    if sheet.verdict is not None:
        lines += _labelled("check", judgement(sheet.verdict, sheet.verdict_text))
    for note in sheet.notes:
        lines += _labelled("note", note)
    return shown("\n".join(line.rstrip() for line in lines)) + "\n"


def _labelled(label: str, text: str) -> list[str]:
    first, *rest = text.split("\n") or [""]
    return [f"  {label:<9}{first}", *(f"{'':11}{line}" for line in rest)]


def _columns(table: list[list[str]]) -> list[str]:
    """Aligned columns; a cell may have several lines."""
    used = [i for i in range(len(table[0])) if any(row[i] for row in table)]
    widths = {i: max(display_width(line) for row in table for line in (row[i].split("\n") or [""])) for i in used}
    lines = []
    for row in table:
        cells = {i: row[i].split("\n") for i in used}
        for depth in range(max(len(c) for c in cells.values())):
            parts = [padded(cells[i][depth] if depth < len(cells[i]) else "", widths[i]) for i in used]
            lines.append("  " + "  ".join(parts))
    return lines
