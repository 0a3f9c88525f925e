"""A page with a picture of curves and its table: one file of HTML that fetches nothing and runs nothing, for light and dark screens."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.inert import xml_text
from gradcli.report.lines import Line
from gradcli.report.plot_picture import picture
from gradcli.report.plot_record import PlotRecord

_MOST = 2_000  # rows that are shown
_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --line: #d0d7de; --dim: #59636e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --line: #30363d; --dim: #9198a1; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font: 600 1.1rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin-bottom: 0; }
p.range { margin-top: 0; color: var(--dim); }
svg { width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { svg { filter: invert(0.93) hue-rotate(180deg); } }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { max-height: 32rem; overflow: auto; border: 1px solid var(--line); }
table { border-collapse: collapse; font: 14px/1.5 ui-monospace, monospace; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: right; padding: .15rem .75rem; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--back); }
"""


def page(records: Sequence[PlotRecord], width: int | None = None, height: int | None = None) -> str:
    """The whole page. Raises UsageError without matplotlib."""
    name = xml_text(_title(records[0])[0] if records else "plot")
    parts = [
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>', f"<title>{name}</title>", f"<style>{_STYLE}</style>",
        "</head>", "<body>", "<main>", *_figure(records, width, height),
    ]  # fmt: skip
    for record in records:
        parts += _record(record)
    return "\n".join([*parts, "</main>", "</body>", "</html>", ""])


def _figure(records: Sequence[PlotRecord], width: int | None, height: int | None) -> list[str]:
    alt = xml_text("; ".join(" ".join(_title(record)) for record in records))
    text = picture(records, "svg", width, height).decode()
    return [f'<div role="img" aria-label="{alt}">', text[text.index("<svg") :].strip(), "</div>"]


def _title(record: PlotRecord) -> list[str]:
    """The expression and the ranges."""
    return [line.text for line in record.lines() if isinstance(line, Line) and line.kind == "title"]


def _record(record: PlotRecord) -> list[str]:
    *expr, box = _title(record)
    heading = xml_text("\n".join(expr))
    parts = [f"<h1>{heading}</h1>", f'<p class="range">{xml_text(box.strip())}</p>']
    lines = [line for line in record.lines() if isinstance(line, Line) and line.label is not None]
    if lines:
        parts += ["<dl>", *(f"<dt>{xml_text(str(line.label))}</dt><dd>{xml_text(line.text)}</dd>" for line in lines), "</dl>"]
    headings, cells = record.columns, record.rows()
    if len(cells) > _MOST:
        return [*parts, f"<p>The table has {len(cells):,} rows: <code>--format csv</code> prints it.</p>"]
    parts += ['<div class="scroll" tabindex="0" role="region" aria-label="table">', "<table>", "<thead>", "<tr>"]
    parts += [*(f'<th scope="col">{xml_text(text)}</th>' for text in headings), "</tr>", "</thead>", "<tbody>"]
    for row in cells:
        parts.append("<tr>" + "".join(f"<td>{xml_text(repr(x) if isinstance(x, float) else str(x))}</td>" for x in row) + "</tr>")
    return [*parts, "</tbody>", "</table>", "</div>"]
