"""Tables of numbers as text: columns between commas, semicolons, tabs or blanks, with or without a heading.

Nothing is guessed: a row of another length, a cell that is no number and a comma that has two readings are errors with their line.
The text is gone through row by row, and of the rows only the numbers that are asked for are kept.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from gradcli.errors import InputError, suggestion
from gradcli.limits import ITEM, Limits

_NUMBER = re.compile(r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_WITH_COMMA = re.compile(r"[-+]?\d+,\d+(?:e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
_QUOTED = re.compile(r'"[^"]*"')

_OF_CELLS = 72  # bytes of a cell that is no longer than a number

TABLES = (".csv", ".tsv", ".txt", ".dat")


@dataclass(eq=False, repr=False)
class _Row:
    """A row, and the line of the file that it ends on."""

    line: int
    cells: list[str]


def table(text: str, name: str, key: str | None, limits: Limits, suffix: str = ".txt") -> np.ndarray:
    """The numbers of a table, or of the column that ``key`` names (or numbers from 0); one column alone is a vector.

    ``name`` is the file's in messages. Empty cells are NaN. Raises InputError, LimitError.
    """
    lines = _Lines(text, suffix)
    rows = _rows(lines, name, limits)
    first = next(rows, None)
    if first is None:
        raise InputError(f"'{name}' is empty" if lines.comment is None else f"'{name}' has no rows below its comments")
    heading, is_row = _heading(first, lines.comment, name, key)
    width = len(heading or first.cells)
    numbers = _Numbers(name, _columns(heading, width, name, key), limits)
    for row in rows if heading and not is_row else chain([first], rows):
        if len(row.cells) != width:
            above = "the heading" if heading and lines.comment is None else "the first row"
            commas = "numbers have decimal points; with commas in them, columns are separated by semicolons"
            found = f"{_cells(len(row.cells))}, where {above} has {width}"
            raise InputError(f"'{name}', line {row.line}: {found}", help=commas if len(row.cells) > width else None)
        numbers.take(row)
    out = numbers.all()
    return out[:, 0] if key is not None or width == 1 else out


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


class _Lines:
    """The lines of a table from its first row on, with their numbers, and the last comment above that."""

    def __init__(self, text: str, suffix: str) -> None:
        self.text, self.suffix = text, suffix
        self.comment: str | None = None
        self.start, self.number = self._first_row()
        self.separator = self._separator()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Comments are empty lines, for they may stand between the lines of a cell."""
        for number, line in _numbered(self.text, self.start, self.number):
            yield number, "" if line.lstrip().startswith("#") else self._without_comment(line)

    def _first_row(self) -> tuple[int, int]:
        start = 0
        for number, line in _numbered(self.text):
            stripped = line.strip()
            if stripped.startswith("#"):
                self.comment = stripped[1:].strip()
            elif self._without_comment(line).strip():
                return start, number
            start += len(line) + 1
        return len(self.text) + 1, 0

    def _without_comment(self, line: str) -> str:
        return line.partition("#")[0] if self.suffix in (".txt", ".dat") else line

    def _separator(self) -> str:
        """What stands between columns: in .tsv tabs, else what the first row has outside of quotes: a semicolon, comma, tab or blank."""
        first = next((line for _, line in self), None)
        if self.suffix == ".tsv" or first is None:
            return "\t"
        outside = _QUOTED.sub("", first)
        for separator in ";,":
            if separator in outside:
                return separator
        if self.suffix == ".csv":
            return "\t" if "\t" in outside else ","
        return "\t" if all("\t" in line for _, line in self if line.strip()) else " "


def _numbered(text: str, start: int = 0, number: int = 1) -> Iterator[tuple[int, str]]:
    """The lines of a text from a place on, one at a time."""
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield number, text[start:end]
        start, number = end + 1, number + 1


def _rows(lines: _Lines, name: str, limits: Limits) -> Iterator[_Row]:
    """The rows that are not blank; cells in quotes may go over several lines. Raises InputError, LimitError."""
    separator, source = lines.separator, iter(lines)
    for number, line in source:
        if _OF_CELLS * len(line) > limits.memory:
            limits.check_memory(_OF_CELLS * line.count(separator), f"line {number} of '{name}'")
        last = number
        if separator == " ":
            cells = line.split()
        elif '"' not in line:
            cells = line.split(separator)
        else:
            reader = csv.reader(chain([line + "\n"], (further + "\n" for _, further in source)), delimiter=separator)
            try:
                cells = next(reader)
            except csv.Error:
                most = f"{csv.field_size_limit():,}"
                raise InputError(
                    f"'{name}', line {number}: a cell in quotes has more than {most} characters", help="is a quote not closed?"
                ) from None
            last += reader.line_num - 1
        cells = [cell.strip() for cell in cells]
        if any(cells):
            yield _Row(last, cells)


def _heading(row: _Row, comment: str | None, name: str, key: str | None) -> tuple[list[str] | None, bool]:
    """The names of the columns: the first row, or a comment above it of as many words; and whether that row is one of numbers."""
    first = row.cells
    numeric = [cell for cell in first if _NUMBER.fullmatch(cell) or _WITH_COMMA.fullmatch(cell)]
    if not numeric and any(first):
        return first, False
    if len(numeric) == len([cell for cell in first if cell]):
        names = [] if comment is None else next((w for w in _words(comment) if len(w) == len(first)), [])
        return names or None, True
    if key is not None and key in first and not _is_place(key, len(first)):
        return first, False
    word = next(cell for cell in first if cell and cell not in numeric)
    raise InputError(
        f"'{name}', line {row.line}: {word!r} is not a number, and {numeric[0]!r} is one: is this row a heading?",
        help="to read it as one, name a column after a colon, as in @FILE:NAME; as numbers, correct the cell",
    )


def _words(comment: str) -> Iterator[list[str]]:
    for separator in (",", ";", "\t", None):
        yield [word.strip() for word in comment.split(separator)]


def _columns(heading: list[str] | None, width: int, name: str, key: str | None) -> list[int]:
    """The columns that are asked for, from 0."""
    if key is None:
        return list(range(width))
    names = heading or []
    if names.count(key) > 1:
        raise InputError(f"'{name}' has {names.count(key)} columns '{key}'", help=f"write their numbers, 0 to {width - 1}")
    if key in names:
        return [names.index(key)]
    if _is_place(key, width):
        return [int(key)]
    close = suggestion(key, names)
    listed = f"it has {', '.join(names)}" if names else f"columns are numbered 0 to {width - 1}"
    raise InputError(f"'{name}' has no column '{key}'", help=f"did you mean '{close}'?" if close else listed)


def _is_place(key: str, width: int) -> bool:
    """Whether a key is the number of a column."""
    return key.isascii() and key.isdigit() and len(key.lstrip("0")) <= len(str(width)) and int(key) < width


class _Numbers:
    """The numbers of the columns that are asked for, row by row.

    Commas are decimal points if one of them cannot separate thousands, which is known at the end only.
    """

    def __init__(self, name: str, columns: list[int], limits: Limits) -> None:
        self.name, self.columns, self.limits = name, columns, limits
        self.most = min(limits.entries, limits.memory // ITEM)
        self.values = array("d")
        self.whole = True
        self.rows = 0
        self._comma: _Place | None = None  # the first number with one
        self._thousands = True  # whether all of them may separate thousands
        self._point: _Place | None = None
        self._wrong: _Place | None = None  # the first that is no number however commas are read
        self._wrong_with_points: _Place | None = None  # the first that is none unless commas are decimal points

    def take(self, row: _Row) -> None:
        """Keep the numbers of a row. Raises LimitError for more than there may be."""
        self.rows += 1
        if len(self.values) + len(self.columns) > self.most:
            self.limits.check_array((self.rows, len(self.columns)))
        for column in self.columns:
            cell = row.cells[column]
            if not cell:
                self.values.append(np.nan)
                self.whole = False
            elif _NUMBER.fullmatch(cell):
                self.values.append(float(cell))
                self.whole = self.whole and cell.lstrip("+-").isdigit()
                if self._point is None and "." in cell:
                    self._point = _Place(row.line, column, cell)
            else:
                self._take_other(_Place(row.line, column, cell))

    def _take_other(self, place: _Place) -> None:
        """Note what is no number with a decimal point."""
        said = place.said
        self.whole = False
        if self._point is None and "." in said:
            self._point = place
        if _WITH_COMMA.fullmatch(said):
            self._comma = self._comma or place
            self._thousands = self._thousands and _THOUSANDS.fullmatch(said) is not None
        with_point = said.replace(",", ".")
        is_number = "," in said and _NUMBER.fullmatch(with_point) is not None
        self.values.append(float(with_point) if is_number else np.nan)
        self._wrong_with_points = self._wrong_with_points or place
        if not is_number:
            self._wrong = self._wrong or place

    def all(self) -> np.ndarray:
        """Rows and columns. Raises InputError for the first thing that is wrong with them."""
        comma, point = self._comma, self._point
        if comma is not None and point is not None:
            raise InputError(
                f"{self._at(comma)} has a comma, and {point.said!r} on line {point.line} a point",
                help="write decimal points throughout, and nothing between thousands",
            )
        if comma is not None and self._thousands:
            raise InputError(
                f"{self._at(comma)} is {comma.said.replace(',', '.')} or {comma.said.replace(',', '')}",
                help="write decimal points, and nothing between thousands",
            )
        wrong = self._wrong_with_points if comma is None else self._wrong
        if wrong is not None:
            raise InputError(
                f"{self._at(wrong)} is not a number", help="a number has a point, never a comma" if "," in wrong.said else None
            )
        out = (
            np.frombuffer(self.values, float).reshape(self.rows, len(self.columns))
            if self.values
            else np.empty((self.rows, len(self.columns)))
        )
        return out.astype(np.int64) if self.rows and self.whole and np.all(np.abs(out) < 2**53) else out

    def _at(self, place: _Place) -> str:
        return f"'{self.name}', line {place.line}, column {place.column + 1}: {place.said!r}"


@dataclass(frozen=True, eq=False, repr=False)
class _Place:
    """A cell, and where it stands."""

    line: int
    column: int
    said: str
