"""Pictures of curves and contours in files and pages, by matplotlib, which is imported here alone.

The same input gives the same bytes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import UsageError
from gradcli.inert import html_page, xml_text
from gradcli.report.plot_chart import Panel, arrows, label, panels
from gradcli.report.ranges import VALUE, PlotRecord
from gradcli.report.records import html_of
from gradcli.texts import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 100
_WIDTH, _PANEL, _HEAD, _CONTOURS = 800, 280, 60, 640  # pixels
_ARROWS = 13  # arrows along a side
_LONGEST = 90  # most characters of a title


_BACK, _TEXT, _LINES, _CURVES = "#ffffff", "#1f2328", "#d0d7de", 10


def insist() -> None:
    """Raise UsageError where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            "pictures in files need matplotlib, which is not installed",
            help="pip install 'gradcli[plot]'",
        ) from None


def picture(
    records: Sequence[PlotRecord], kind: str, width: int | None = None, height: int | None = None
) -> bytes:
    """Return the bytes of a file of the kind "svg", "png" or "pdf".

    Raises UsageError without matplotlib.
    """
    insist()
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")  # a font draws boxes for characters it lacks
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        made = _figure(records, width, height)
        out = io.BytesIO()
        metadata = {
            "svg": {"Date": None, "Creator": "gradcli"},
            "pdf": {"CreationDate": None, "Creator": "gradcli"},
        }.get(kind, {})
        made.savefig(out, format=kind, dpi=_DPI, metadata=metadata)
    return out.getvalue()


_SETTINGS: Any = {
    "svg.hashsalt": "gradcli", "text.parse_math": False, "grid.color": _LINES, "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True,
}  # fmt: skip


def _figure(records: Sequence[PlotRecord], width: int | None, height: int | None) -> Figure:
    from matplotlib.figure import Figure

    found = panels(records)
    fields = [record for record in records if record.grid is not None]
    usual = _HEAD + _PANEL * len(found) + _CONTOURS * len(fields)
    figure = Figure(
        figsize=((width or _WIDTH) / _DPI, (height or usual) / _DPI), layout="constrained"
    )
    count = len(found) + len(fields)
    axes: list[Axes] = list(figure.subplots(count, 1, squeeze=False)[:, 0])
    drawn = [record for record in records if record.curves]
    for place, (panel, ax) in enumerate(zip(found, axes, strict=False)):
        if place:
            ax.sharex(axes[0])
        _panel(ax, panel, drawn[0], last=place == len(found) - 1)
    if found:
        axes[0].set_title(_heading(drawn), loc="left", fontweight="bold")
    for record, ax in zip(fields, axes[len(found) :], strict=True):
        _contours(figure, ax, record)
    return figure


def _heading(records: Sequence[PlotRecord]) -> str:
    return one_line("   ".join(record.expr for record in records), _LONGEST)


def _panel(ax: Axes, panel: Panel, record: PlotRecord, last: bool) -> None:
    (name, (begin, end)) = next(iter(record.ranges.items()))
    if panel.view[0] < 0 < panel.view[1]:
        ax.axhline(0, color=_TEXT, linewidth=0.6)
    ax.grid(True)
    ax.set_xlim(begin, end)
    ax.set_ylim(*panel.view)
    ax.set_ylabel(one_line(panel.heading, 40))
    if last:
        ax.set_xlabel(one_line(name, 40))
    for line in panel.lines:
        colour = f"C{line.number % _CURVES}"
        style = ("-", "--")[line.number // _CURVES % 2]
        ax.plot(
            line.xs,
            line.ys,
            color=colour,
            linestyle=style,
            label=line.label or None,
        )
    for pole in panel.poles:
        ax.axvline(pole, color=_TEXT, linewidth=0.9, linestyle=":")
    for dot in panel.dots:
        colour = f"C{dot.number % _CURVES}"
        ax.plot(
            [dot.x], [dot.y], color=colour, marker="D" if dot.kind == "kink" else "o",
            markerfacecolor=_BACK if dot.kind == "end" else colour,
        )  # fmt: skip
    if len(panel.lines) > 1 and panel.heading == VALUE:
        ax.legend()


def _contours(figure: Figure, ax: Axes, record: PlotRecord) -> None:
    grid = record.grid
    assert grid is not None
    (across, _), (upward, _) = record.ranges.items()
    values = np.ma.masked_invalid(grid.values)
    if grid.levels:
        lines = ax.contour(grid.xs, grid.ys, values, levels=grid.levels, cmap="viridis")
        ax.clabel(lines, fmt=label, fontsize=8)
    _arrows(ax, record)
    ax.set_xlabel(one_line(across, 40))
    ax.set_ylabel(one_line(upward, 40))
    ax.set_title(one_line(record.expr, _LONGEST), loc="left", fontweight="bold")


def _arrows(ax: Axes, record: PlotRecord) -> None:
    """Arrows the way that the value grows, of one length: slopes differ by magnitudes."""
    xs, ys, across, up = arrows(record, _ARROWS, _ARROWS)
    size = np.hypot(across, up)
    ax.quiver(xs, ys, across / size, up / size, scale=_ARROWS * 2, width=0.0028, pivot="mid")


# -- A page with a picture and its table: a file of HTML that fetches nothing and runs nothing

_MOST = 2_000  # most rows that are shown
_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --line: #d0d7de; --dim: #59636e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --line: #30363d; --dim: #9198a1; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
svg { width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { svg { filter: invert(0.93) hue-rotate(180deg); } }
.scroll { max-height: 32rem; overflow: auto; border: 1px solid var(--line); }
table { border-collapse: collapse; font: 14px/1.5 ui-monospace, monospace; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: right; padding: .15rem .75rem; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--back); }
"""


def page(records: Sequence[PlotRecord], width: int | None = None, height: int | None = None) -> str:
    """Return the whole page.

    Raises UsageError without matplotlib.
    """
    title = "; ".join(record.expr for record in records)
    drawn = picture(records, "svg", width, height).decode()
    content = [
        f'<main>\n<div role="img" aria-label="{xml_text(title)}">',
        f"{drawn[drawn.index('<svg') :].strip()}\n</div>",
        *(html_of(record.lines()) + _table(record) for record in records),
        "</main>",
    ]
    return html_page(title, _STYLE, content)


def _table(record: PlotRecord) -> str:
    rows = record.rows()
    if len(rows) > _MOST:
        return f"<p>The table has {len(rows):,} rows: <code>--format csv</code> prints it.</p>"
    cells = [[f"<th>{xml_text(text)}</th>" for text in record.columns]]
    cells += [[f"<td>{xml_text(str(number))}</td>" for number in row] for row in rows]
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f'<div class="scroll">\n<table>\n{body}\n</table>\n</div>'
