"""Results on a terminal, with rich. User text is only ever passed as plain `Text`."""

from __future__ import annotations

import os
import re
import sys
from itertools import product
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from gradcli.check.verdicts import Verdict
from gradcli.report.records import Line, Table, label_width
from gradcli.texts import display_width, inert_lines, pad

COLOURS: dict[str, str] = {
    Verdict.AGREE: "green", Verdict.KINK: "yellow", Verdict.ILL_CONDITIONED: "yellow", Verdict.UNDEFINED: "yellow",
    Verdict.UNDETERMINED: "yellow", Verdict.MISMATCH: "bold red", Verdict.SKIPPED: "dim",
}  # fmt: skip
_ONLY_NUMBERS = re.compile(r"\[[-+.,\[\]\se\d]*\]")
_INDENT = 4
_ANY = 1_000_000  # columns, more than any terminal has
_SIGNS = {"agree": "✓", "mismatch": "✗"}
_ROLES = {
    "heading": "bold",
    "id": "dim",
    "text": "",
    "number": "cyan",
    "formula": "green",
    "name": "bold cyan",
    "fact": "dim",
}


class Terminal:
    """Results for a person: tables, colours, and errors on standard error."""

    def __init__(self, digits: int | None, color: str) -> None:
        self.digits = digits
        self.console, self.errors = console(sys.stdout, color), console(sys.stderr, color)
        self.unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        self.first = True

    def write(self, result: Any) -> None:
        lines = (
            []
            if result.error is not None
            else result.lines(self.digits, max(20, self.console.width - _INDENT))
        )
        if not self.first:
            self._put()
        self.first = False
        if result.error is not None:
            show_error(self.errors, result.error_text())
        labels = (
            7
            if any(isinstance(line, Line) and line.kind == "value" for line in lines)
            else label_width(lines)
        )
        for line in lines:
            if isinstance(line, Table):
                self._derivatives(line)
            else:
                self._line(line, labels)
        self.console.file.flush()

    def _put(self, *parts: tuple[str, str], hang: int | None = None) -> None:
        """Print a line in parts, each with its style."""
        put_lines(
            self.console,
            Text.assemble(*((inert_lines(text), style) for text, style in parts)),
            hang,
        )

    def _line(self, line: Line, labels: int) -> None:
        text = line.text.replace("\n", " ")
        if line.label is None:
            self._put(*((part.text, _ROLES.get(part.role, part.role)) for part in line.parts))
        elif line.kind == "value":  # with the kind of number beside it or below it
            value = line.parts[0].text.replace("\n", f"\n{' ' * _INDENT}")
            kind = "".join(f"   {part.text.strip()[1:-1]}" for part in line.parts[1:])
            self._put(
                ("  = ", "dim"),
                (value, "bold cyan"),
                (f"\n {kind}" if kind and "\n" in value else kind, "dim"),
                hang=_INDENT,
            )
        elif line.kind in COLOURS:
            sign = _SIGNS.get(line.kind, "!") if self.unicode else "*"
            self._put(
                (f"  {sign} {line.kind}", COLOURS[line.kind]),
                (text.removeprefix(line.kind), "dim"),
                hang=_INDENT,
            )
        else:
            label = f"  {pad(line.label, max(labels, display_width(line.label) + 2))}"
            self._put(
                (label, "dim"),
                (text, "bold cyan" if line.kind == "formula" else ""),
                hang=len(label),
            )

    def _derivatives(self, table: Table) -> None:
        """Print the table, and below it what it has no room for.

        Formulas are moved below first, and then numbers.
        """
        room = self.console.options.update(max_width=_ANY)
        for below, beside in product(
            (False, True), (any(row.formula for row in table.rows), False)
        ):
            grid = self._grid(table, beside, below)
            if self.console.measure(grid, options=room).maximum <= self.console.width:
                break
        self.console.print(grid)
        for row in table.rows:
            if below:
                self._put(("  ", ""), (row.name, "bold"), (" =", ""))
                for line in row.numbers.split("\n"):
                    self._put((" " * _INDENT + line, ""))
            # Numbers alone would repeat the gradient.
            if row.formula and not beside and not _ONLY_NUMBERS.fullmatch(row.formula):
                self._put((f"  d/d{row.name} = {row.formula}", "cyan"), hang=_INDENT)

    def _grid(self, table: Table, beside: bool, below: bool) -> Grid:
        grid = Grid(
            box=box.ROUNDED if self.unicode else box.ASCII,
            header_style="dim",
            border_style="dim",
            pad_edge=True,
        )
        grid.add_column("", style="bold", no_wrap=True)
        grid.add_column(plain_text(table.heading), no_wrap=True)
        if table.checked:
            grid.add_column("check")
        if beside:
            grid.add_column("derivative", style="cyan", no_wrap=True)
        for row in table.rows:
            cells = [
                plain_text(row.name),
                plain_text("below", style="dim") if below else plain_text(row.numbers),
            ]
            if table.checked:
                cells.append(
                    plain_text(row.check, style=COLOURS.get(row.check.partition(",")[0], ""))
                )
            if beside:
                cells.append(plain_text(row.formula))
            grid.add_row(*cells)
        return grid


def console(stream: TextIO, color: str = "auto") -> Console:
    """Return rich's view of a stream, which takes everything as plain text."""
    how: dict[str, Any] = {}
    if color == "never" or os.environ.get("NO_COLOR"):
        how = {"color_system": None}
    if color == "always":  # colours whatever the environment says
        how = {"force_terminal": True, "no_color": False, "color_system": "standard"}
    return Console(file=stream, markup=False, emoji=False, highlight=False, **how)


def plain_text(content: str, style: str = "") -> Text:
    """Return any text, whoever wrote it, for rich.

    No markup is read in it, and no character of it has an effect on the terminal.
    """
    return Text(inert_lines(content), style=style)


def put_lines(console: Console, text: Text, hang: int | None = None) -> None:
    """Print lines, broken between words where the terminal is narrower.

    Continuations are indented by ``hang`` columns, or else relative to the beginning of their line.
    """
    for line in text.split("\n", allow_blank=True):
        if line.cell_len <= console.width:
            console.print(line, soft_wrap=True)
            continue
        margin = (
            len(line.plain) - len(line.plain.lstrip()) + 2
            if hang is None or hang > console.width // 2
            else hang
        )
        first, rest = line.divide([margin])
        broken = first + Text(f"\n{' ' * margin}").join(
            rest.wrap(console, max(20, console.width - margin))
        )
        safe = inert_lines(broken.plain)  # wrapping must not make a line a CI command
        console.print(broken if safe == broken.plain else safe, soft_wrap=True)


def show_error(console: Console, rendered: str) -> None:
    """Print an error or a finding with its head and carets coloured.

    Lines of the source, and of a command that repeats, are never broken; the others may be.
    """
    for number, line in enumerate(rendered.split("\n")):
        styled, said = plain_text(line), line.lstrip()
        if not number:
            styled.stylize("bold red", 0, line.find(":"))
        elif said.startswith("|") and "^" in line:
            styled.stylize("red", line.index("^"))
        elif said.startswith("= help"):
            styled.stylize("cyan", line.index("=") + 2, line.index(":"))
        if not number or (said.startswith("=") and not said.startswith("= repeat: ")):
            put_lines(console, styled)
        else:
            console.print(styled, soft_wrap=True)
