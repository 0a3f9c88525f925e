"""Records on a terminal, with rich. User text is only ever passed as plain `Text`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradcli.inert import display_width, padded, shown
from gradcli.report.records import Record
from gradcli.report.sheet import Sheet, judgement, sheet_of
from gradcli.report.text import error_text
from gradcli.report.verdicts import Verdict

if TYPE_CHECKING:
    from gradcli.report.bound_record import BoundRecord
    from gradcli.report.derivative_record import DerivativeRecord
    from gradcli.report.derivative_sheet import Line
    from gradcli.report.explanation import Explanation

COLOURS = {
    Verdict.AGREE: "green", Verdict.KINK: "yellow", Verdict.ILL_CONDITIONED: "yellow", Verdict.UNDEFINED: "yellow",
    Verdict.UNDETERMINED: "yellow", Verdict.MISMATCH: "bold red", Verdict.SKIPPED: "dim",
}  # fmt: skip
_ONLY_NUMBERS = re.compile(r"\[[-+.,\[\]\se\d]*\]")
_INDENT = 4
_SIGNS = {Verdict.AGREE: "✓", Verdict.MISMATCH: "✗"}


_ROLES = {"heading": "bold", "id": "dim", "text": "", "number": "cyan", "formula": "green", "name": "bold cyan", "fact": "dim"}


class Styled:
    """Standard output and standard error with colours."""

    def __init__(self, forced: bool) -> None:
        self.console, self.errors = console(sys.stdout, forced), console(sys.stderr, forced)
        self.unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        self.first = True

    def between(self) -> None:
        """An empty line before all but the first record."""
        if not self.first:
            self.console.print()
        self.first = False

    def end(self) -> None:
        self.console.file.flush()

    def verdict(self, verdict: Verdict, text: str) -> Text:
        """A verdict with what is said of it, broken between words."""
        sign = _SIGNS.get(verdict, "!") if self.unicode else "*"
        first, *rest = wrapped(judgement(verdict, text), self.console.width, _INDENT)
        said = "\n".join([first[len(verdict.word) :], *(" " * _INDENT + line for line in rest)])
        return _assembled((f"  {sign} {verdict.word}", COLOURS[verdict]), (said, "dim"))


class Labelled(Styled):
    """Records as a title and lines with labels before them, for a person."""

    def titled(self, record: Any, title: Sequence[str]) -> bool:
        """The title of a record; whether there is more to show: else the error is."""
        self.between()
        if record.error is not None:
            show_error(self.errors, error_text(record))
            return False
        self.console.print(plain("\n".join(title), style="bold"), soft_wrap=True)
        return True

    def line(self, line: Line, width: int) -> None:
        style = "bold cyan" if line.kind == "formula" else ""
        label = f"  {padded(line.label, width)}"
        self.console.print(_assembled((label, "dim"), (line.text, style)), soft_wrap=True)


class DerivativeTerminal(Labelled):
    """Derivatives as formulas, for a person."""

    def show(self, record: DerivativeRecord) -> None:
        from gradcli.report import derivative_sheet as sheet

        if not self.titled(record, sheet.title(record)):
            return
        lines = sheet.lines_of(record)
        width = sheet.label_width(lines)
        for line in lines:
            if line.kind == "verdict" and record.check is not None:
                word = record.check.worst.word
                self.console.print(self.verdict(record.check.worst, line.text.removeprefix(word).lstrip(" :")), soft_wrap=True)
            else:
                self.line(line, width)
        self.console.file.flush()


class BoundTerminal(Labelled):
    """Ranges over a box, for a person."""

    def show(self, record: BoundRecord) -> None:
        from gradcli.report import bound_sheet as sheet
        from gradcli.report.derivative_sheet import label_width

        if not self.titled(record, sheet.title(record)):
            return
        lines = sheet.lines_of(record)
        width = label_width(lines)
        for line in lines:
            self.line(line, width)
        self.console.file.flush()


class ExplanationTerminal(Styled):
    """Explanations, for a person."""

    def __init__(self, forced: bool, digits: int) -> None:
        super().__init__(forced)
        self.digits = digits

    def show(self, explanation: Explanation) -> None:
        from gradcli.report.explanation_sheet import lines_of

        self.between()
        if explanation.error is not None:
            show_error(self.errors, error_text(explanation.record))
            return
        for line in lines_of(explanation, self.digits):
            self.console.print(_assembled(*((part.text, _ROLES[part.role]) for part in line)), soft_wrap=True)
        self.console.file.flush()


class Terminal(Styled):
    """Tables, colours and errors for a person."""

    def __init__(self, digits: int | None, forced: bool) -> None:
        super().__init__(forced)
        self.digits = digits

    def show(self, record: Record) -> None:
        if record.error is not None:
            self.between()
            show_error(self.errors, error_text(record))
            return
        sheet = sheet_of(record, self.digits, max(20, self.console.width - _INDENT))
        self.between()
        self.console.print(plain(sheet.title, style="bold"), soft_wrap=True)
        if sheet.read_as is not None:
            self.console.print(plain(f"  read as  {sheet.read_as}", style="dim"), soft_wrap=True)
        if sheet.dialect is not None:
            self.console.print(plain(f"  dialect  {sheet.dialect}", style="dim"), soft_wrap=True)
        self._facts(sheet)
        if sheet.rows:
            self._derivatives(sheet)
        if sheet.verdict is not None:
            self.console.print(self.verdict(sheet.verdict, sheet.verdict_text), soft_wrap=True)
        for note in sheet.notes:
            self._labelled("note", note)
        self.console.file.flush()

    def _facts(self, sheet: Sheet) -> None:
        lines = sheet.value.split("\n")
        kind = f"   {sheet.kind}" if sheet.kind else ""
        self.console.print(_assembled(("  = ", "dim"), (lines[0], "bold cyan"), (kind if len(lines) == 1 else "", "dim")), soft_wrap=True)
        for line in lines[1:]:
            self.console.print(plain("    " + line, style="bold cyan"), soft_wrap=True)
        if len(lines) > 1 and kind:
            self.console.print(plain(" " + kind, style="dim"))
        if sheet.seed is not None:
            self._labelled("seed", sheet.seed)

    def _labelled(self, label: str, text: str) -> None:
        """Text beside a label, broken between words only: half a number is another number."""
        first, *rest = wrapped(text, self.console.width, 9)
        self.console.print(_assembled((f"  {label:<7}", "dim"), first), soft_wrap=True)
        for line in rest:
            self.console.print(plain(" " * 9 + line), soft_wrap=True)

    def _derivatives(self, sheet: Sheet) -> None:
        """The table, and below it what is too wide for it."""
        names = min(12, max(len(row.name) for row in sheet.rows))
        checks = max(5, *(len(row.verdict_text) for row in sheet.rows)) if sheet.verdict is not None else 0
        room = self.console.width - names - checks - 3 * (2 + bool(checks)) - 1
        below = {row.name for row in sheet.rows if _width(row.numbers) > room}
        numbers = max((_width(row.numbers) for row in sheet.rows if row.name not in below), default=len("below"))
        formulas = max(_width(row.formula) for row in sheet.rows)
        beside = formulas > 0 and max(len("derivative"), formulas) + 3 <= room - max(len(sheet.heading), numbers)
        self.console.print(self._table(sheet, below, beside))
        for row in sheet.rows:
            if row.name in below:
                self.console.print(_assembled(("  ", ""), (row.name, "bold"), " ="), soft_wrap=True)
                for line in row.numbers.split("\n"):
                    self.console.print(plain(" " * _INDENT + line), soft_wrap=True)
            if row.formula and not beside and not _ONLY_NUMBERS.fullmatch(row.formula):  # those are the gradient again
                first, *rest = wrapped(f"d/d{row.name} = {row.formula}", self.console.width, _INDENT)
                for line in ("  " + first, *(" " * _INDENT + line for line in rest)):
                    self.console.print(plain(line, style="cyan"), soft_wrap=True)

    def _table(self, sheet: Sheet, below: set[str], with_formulas: bool) -> Table:
        table = Table(box=box.ROUNDED if self.unicode else box.ASCII, header_style="dim", border_style="dim", pad_edge=True)
        table.add_column("", style="bold", no_wrap=True, min_width=min(12, max(len(row.name) for row in sheet.rows)))
        table.add_column(plain(sheet.heading), no_wrap=True, overflow="fold")
        if sheet.verdict is not None:
            table.add_column("check")
        if with_formulas:
            table.add_column("derivative", style="cyan", no_wrap=True)
        for row in sheet.rows:
            cells = [plain(row.name), plain("below", style="dim") if row.name in below else plain(row.numbers)]
            if sheet.verdict is not None:
                cells.append(plain(row.verdict_text, style=COLOURS[row.verdict] if row.verdict is not None else ""))
            if with_formulas:
                cells.append(plain(row.formula))
            table.add_row(*cells)
        return table


def console(stream: TextIO, forced: bool) -> Console:
    """rich's view of a stream, which takes everything as plain text."""
    if not forced:
        return Console(file=stream, markup=False, emoji=False, highlight=False)
    return Console(  # with colours, whatever the environment says
        file=stream, markup=False, emoji=False, highlight=False, force_terminal=True, no_color=False, color_system="standard"
    )


def plain(content: str, style: str = "") -> Text:
    """Text of anybody's in rich: no markup is read in it, and no character of it does anything to the terminal."""
    return Text(shown(content), style=style)


def _assembled(*parts: str | tuple[str, str]) -> Text:
    """The same in parts, each with its style."""
    return Text.assemble(*(shown(part) if isinstance(part, str) else (shown(part[0]), part[1]) for part in parts))


def wrapped(content: str, width: int, indent: int) -> list[str]:
    """Text in lines that fit beside an indent, broken at blanks only; what has none is left to the terminal."""
    room = max(20, width - indent)
    lines: list[str] = []
    for blanks, word in re.findall("( *)([^ ]+)", content.replace("\n", " ")):
        if not lines:
            lines.append(blanks + word)
        elif display_width(lines[-1]) + len(blanks) + display_width(word) <= room:
            lines[-1] += blanks + word
        else:
            lines.append(word)
    return lines or [""]


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def show_error(console: Console, rendered: str) -> None:
    """An error with its head and carets coloured."""
    for line in rendered.split("\n"):
        styled = plain(line)
        if line.startswith("error["):
            styled.stylize("bold red", 0, line.index("]") + 1)
        elif line.lstrip().startswith(("|", "=", "-->")) and "^" in line:
            styled.stylize("red", line.index("^"))
        elif line.lstrip().startswith("= help"):
            styled.stylize("cyan", line.index("=") + 2, line.index(":"))
        console.print(styled, soft_wrap=True)
