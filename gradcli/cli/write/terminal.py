"""Records on a terminal, with rich. User text is only ever passed as plain `Text`."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradcli.errors import display_width
from gradcli.report.derivative_record import DerivativeRecord
from gradcli.report.records import Record
from gradcli.report.sheet import Sheet, sheet_of
from gradcli.report.text import error_text
from gradcli.report.verdicts import Verdict

_COLOURS = {
    Verdict.AGREE: "green", Verdict.KINK: "yellow", Verdict.ILL_CONDITIONED: "yellow", Verdict.UNDEFINED: "yellow",
    Verdict.UNDETERMINED: "yellow", Verdict.MISMATCH: "bold red", Verdict.SKIPPED: "dim",
}  # fmt: skip
_SIGNS = {Verdict.AGREE: "✓", Verdict.MISMATCH: "✗"}


class Styled:
    """Standard output and standard error with colours."""

    def __init__(self, forced: bool) -> None:
        terminal = True if forced else None
        self.console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False, force_terminal=terminal)
        self.errors = Console(file=sys.stderr, markup=False, emoji=False, highlight=False, force_terminal=terminal)
        self.unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        self.first = True

    def between(self) -> None:
        """An empty line before all but the first record."""
        if not self.first:
            self.console.print()
        self.first = False

    def verdict(self, verdict: Verdict, text: str) -> Text:
        sign = _SIGNS.get(verdict, "!") if self.unicode else "*"
        return Text.assemble((f"  {sign} {verdict.word}", _COLOURS[verdict]), (f" {text}", "dim"))


class DerivativeTerminal(Styled):
    """Derivatives as formulas, for a person."""

    def show(self, record: DerivativeRecord) -> None:
        from gradcli.report import derivative_sheet as sheet

        self.between()
        if record.error is not None:
            show_error(self.errors, error_text(record))
            return
        self.console.print(Text("\n".join(sheet.title(record)), style="bold"), soft_wrap=True)
        lines = sheet.lines_of(record)
        width = sheet.label_width(lines)
        for line in lines:
            if line.kind == "verdict" and record.check is not None:
                word = record.check.worst.word
                self.console.print(self.verdict(record.check.worst, line.text.removeprefix(word).lstrip(" :")), soft_wrap=True)
                continue
            style = "bold cyan" if line.kind == "formula" else ""
            label = f"  {line.label}{' ' * (width - display_width(line.label))}"
            self.console.print(Text.assemble((label, "dim"), (line.text, style)), soft_wrap=True)
        self.console.file.flush()

    def end(self) -> None:
        self.console.file.flush()


class Terminal(Styled):
    """Tables, colours and errors for a person."""

    def __init__(self, digits: int | None, forced: bool) -> None:
        super().__init__(forced)
        self.digits = digits

    def show(self, record: Record) -> None:
        self.between()
        if record.error is not None:
            show_error(self.errors, error_text(record))
            return
        sheet = sheet_of(record, self.digits, max(20, self.console.width - 30))
        self.console.print(Text(sheet.title, style="bold"), soft_wrap=True)
        self._facts(sheet)
        if sheet.rows:
            self.console.print(self._table(sheet))
        if sheet.verdict is not None:
            self.console.print(self.verdict(sheet.verdict, sheet.verdict_text), soft_wrap=True)
        for note in sheet.notes:
            self.console.print(Text.assemble(("  note   ", "dim"), note), soft_wrap=True)
        self.console.file.flush()

    def _facts(self, sheet: Sheet) -> None:
        lines = sheet.value.split("\n")
        kind = f"   {sheet.kind}" if sheet.kind else ""
        self.console.print(
            Text.assemble(("  = ", "dim"), (lines[0], "bold cyan"), (kind if len(lines) == 1 else "", "dim")), soft_wrap=True
        )
        for line in lines[1:]:
            self.console.print(Text("    " + line, style="bold cyan"), soft_wrap=True)
        if len(lines) > 1 and kind:
            self.console.print(Text(" " + kind, style="dim"))
        if sheet.seed is not None:
            self.console.print(Text.assemble(("  seed   ", "dim"), sheet.seed), soft_wrap=True)

    def _table(self, sheet: Sheet) -> Table:
        table = Table(box=box.ROUNDED if self.unicode else box.ASCII, header_style="dim", border_style="dim", pad_edge=True)
        with_formulas = any(row.formula for row in sheet.rows)
        table.add_column("", style="bold", no_wrap=True, min_width=min(12, max(len(row.name) for row in sheet.rows)))
        table.add_column(Text(sheet.heading), no_wrap="\n" in "".join(r.numbers for r in sheet.rows), overflow="fold")
        if sheet.verdict is not None:
            table.add_column("check")
        if with_formulas:
            table.add_column("derivative", style="cyan", overflow="fold")
        for row in sheet.rows:
            cells = [Text(row.name), Text(row.numbers)]
            if sheet.verdict is not None:
                cells.append(Text(row.verdict_text, style=_COLOURS[row.verdict] if row.verdict is not None else ""))
            if with_formulas:
                cells.append(Text(row.formula))
            table.add_row(*cells)
        return table


def show_error(console: Console, rendered: str) -> None:
    """An error with its head and carets coloured."""
    for line in rendered.split("\n"):
        text = Text(line)
        if line.startswith("error["):
            text.stylize("bold red", 0, line.index("]") + 1)
        elif line.lstrip().startswith(("|", "=", "-->")) and "^" in line:
            text.stylize("red", line.index("^"))
        elif line.lstrip().startswith("= help"):
            text.stylize("cyan", line.index("=") + 2, line.index(":"))
        console.print(text, soft_wrap=True)
