"""Results as lines to read, which texts, terminals and pages are made of, and the text that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gradcli.inert import display_width, padded, printable, shown

_LABELS = 9  # columns of labels, where they are short


class Part(NamedTuple):
    """A piece of a line, and what it is: "heading", "id", "text", "number", "formula", "name" or "fact"."""

    text: str
    role: str = "fact"


class Line(NamedTuple):
    """A line of a result, or what stands beside one label.

    label  what it is called; None of a line that begins at the margin
    parts  what it says
    kind   what it is about: "title", "value", "seed", "fact", "formula", "note", or of a verdict its word
    """

    label: str | None
    parts: Sequence[Part]
    kind: str = "fact"

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class Row(NamedTuple):
    """One derivative: its numbers, the verdict's word with a remark, and the formula."""

    name: str
    numbers: str
    check: str
    formula: str


class Table(NamedTuple):
    """The derivatives of a record; the heading says what the numbers are."""

    heading: str
    rows: Sequence[Row]
    checked: bool


def labelled(label: str, text: str, kind: str = "fact") -> Line:
    """Text of anybody's beside a label."""
    return Line(label, [Part(printable(text))], kind)


def notes(texts: Iterable[str]) -> list[Line]:
    return [labelled("note", text, "note") for text in texts]


def label_width(lines: Iterable[Line | Table]) -> int:
    """The columns of the labels, as in other results where they are short."""
    return max([_LABELS, *(display_width(line.label or "") + 2 for line in lines if isinstance(line, Line))])


def text_of(lines: Sequence[Line | Table]) -> str:
    """Lines for pipes and files, ending in a newline: no styles, nothing wrapped."""
    width = label_width(lines)
    found = (text for line in lines for text in (_columns(line) if isinstance(line, Table) else _beside_label(line, width)))
    return shown("\n".join(text.rstrip() for text in found)) + "\n"


def _beside_label(line: Line, width: int) -> list[str]:
    if line.label is None:
        return [line.text]
    first, *rest = line.text.split("\n")
    return [f"  {padded(line.label, width)}{first}", *(f"{'':{width + 2}}{text}" for text in rest)]


def cells_of(table: Table) -> list[tuple[str, ...]]:
    """Return the rows of a table below its head, without columns that say nothing."""
    head = Row("", table.heading, "check" if table.checked else "", "derivative" if any(row.formula for row in table.rows) else "")
    return [*zip(*filter(any, zip(head, *table.rows, strict=True)), strict=True)]


def _columns(table: Table) -> Iterator[str]:
    """Aligned columns; a cell may have several lines."""
    rows = [[cell.split("\n") for cell in row] for row in cells_of(table)]
    widths = [max(display_width(text) for cell in column for text in cell) for column in zip(*rows, strict=True)]
    for row in rows:
        for depth in range(max(map(len, row))):
            parts = (padded(cell[depth] if depth < len(cell) else "", width) for cell, width in zip(row, widths, strict=True))
            yield f"  {'  '.join(parts)}"
