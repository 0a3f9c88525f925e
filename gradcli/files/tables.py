"""Tables of numbers as text: columns between commas, semicolons, tabs or blanks, with or without a heading.

Nothing is guessed: a row of another length, a cell that is no number and a comma that has two readings are errors with their line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gradcli.errors import InputError, suggestion

_NUMBER = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_WITH_COMMA = re.compile(r"[-+]?\d+,\d+(?:e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
_QUOTED = re.compile(r'"[^"]*"')

TABLES = (".csv", ".tsv", ".txt", ".dat")


@dataclass(eq=False, repr=False)
class _Row:
    """A row, and the line of the file that it ends on."""

    line: int
    cells: list[str]


def table(text: str, name: str, key: str | None, suffix: str = ".txt") -> np.ndarray:
    """The numbers of a table, or of the column that ``key`` names (or numbers from 0); one column alone is a vector.

    ``name`` is the file's in messages. Empty cells are NaN. Raises InputError.
    """
    rows, title = _rows(text, suffix)
    if not rows:
        raise InputError(f"'{name}' is empty" if title is None else f"'{name}' has no rows below its comments")
    heading = _heading(rows, title, name, key)
    width = len(heading or rows[0].cells)
    for row in rows:
        if len(row.cells) != width:
            above = "the heading" if heading and title is None else "the first row"
            commas = "numbers have decimal points; with commas in them, columns are separated by semicolons"
            found = f"{_cells(len(row.cells))}, where {above} has {width}"
            raise InputError(f"'{name}', line {row.line}: {found}", help=commas if len(row.cells) > width else None)
    columns = _columns(heading, width, name, key)
    return _numbers(rows, columns, name, flat=key is not None or width == 1)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _rows(text: str, suffix: str) -> tuple[list[_Row], str | None]:
    """The rows that are not blank, and the last comment above them."""
    comment: str | None = None
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        is_comment = stripped.startswith("#")
        if is_comment and not lines:
            comment = stripped[1:].strip()
        kept = "" if is_comment else line.partition("#")[0] if suffix in (".txt", ".dat") else line
        if lines or kept.strip():
            lines.append((number, kept))
    separator = _separator([line for _, line in lines if line.strip()], suffix)
    found = _split(lines, separator)
    rows = [_Row(number, [cell.strip() for cell in cells]) for number, cells in found]
    return [row for row in rows if any(row.cells)], comment


def _separator(lines: list[str], suffix: str) -> str:
    """What stands between columns: in .tsv tabs, else what the first row has outside of quotes, of semicolons, commas, tabs and blanks."""
    if suffix == ".tsv" or not lines:
        return "\t"
    first = _QUOTED.sub("", lines[0])
    for separator in ";,":
        if separator in first:
            return separator
    if suffix == ".csv":
        return "\t" if "\t" in first else ","
    return "\t" if all("\t" in line for line in lines) else " "


def _split(lines: list[tuple[int, str]], separator: str) -> Iterator[tuple[int, list[str]]]:
    if separator == " ":
        yield from ((number, line.split()) for number, line in lines)
        return
    first = lines[0][0] if lines else 1
    reader = csv.reader(io.StringIO("\n".join(line for _, line in lines), newline=""), delimiter=separator)
    for cells in reader:
        yield first + reader.line_num - 1, cells


def _heading(rows: list[_Row], comment: str | None, name: str, key: str | None) -> list[str] | None:
    """The names of the columns: the first row, which is taken off, or a comment above it of as many words."""
    first = rows[0].cells
    numeric = [cell for cell in first if _NUMBER.fullmatch(cell) or _WITH_COMMA.fullmatch(cell)]
    if not numeric and any(first):
        return rows.pop(0).cells
    if len(numeric) == len([cell for cell in first if cell]):
        names = [] if comment is None else next((w for w in _words(comment) if len(w) == len(first)), [])
        return names or None
    if key is not None and key in first and not _is_place(key, len(first)):
        return rows.pop(0).cells
    word = next(cell for cell in first if cell and cell not in numeric)
    raise InputError(
        f"'{name}', line {rows[0].line}: {word!r} is not a number, and {numeric[0]!r} is one: is this row a heading?",
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
    return key.isascii() and key.isdigit() and int(key) < width


def _numbers(rows: list[_Row], columns: list[int], name: str, flat: bool) -> np.ndarray:
    decimal = _decimal_commas([(row, column) for row in rows for column in columns], name)
    out = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            cell = row.cells[column].replace(",", ".") if decimal else row.cells[column]
            if cell and not _NUMBER.fullmatch(cell):
                said = row.cells[column]
                help = "a number has a point, never a comma" if "," in said else None
                raise InputError(f"'{name}', line {row.line}, column {column + 1}: {said!r} is not a number", help=help)
            out[i, j] = float(cell) if cell else np.nan
    if rows and _whole(row.cells[column] for row in rows for column in columns) and np.all(np.abs(out) < 2**53):
        out = out.astype(np.int64)
    return out[:, 0] if flat else out


def _whole(cells: Iterable[str]) -> bool:
    return all(cell.lstrip("+-").isdigit() for cell in cells)


def _decimal_commas(places: list[tuple[_Row, int]], name: str) -> bool:
    """Whether commas are decimal points here: one that cannot separate thousands shows it. Raises InputError for those that may do both."""
    commas = [(row, column) for row, column in places if "," in row.cells[column] and _WITH_COMMA.fullmatch(row.cells[column])]
    if not commas:
        return False
    points = next(((row, column) for row, column in places if "." in row.cells[column]), None)
    row, column = commas[0]
    said = row.cells[column]
    if points is not None:
        other = points[0].cells[points[1]]
        raise InputError(
            f"'{name}', line {row.line}, column {column + 1}: {said!r} has a comma, and {other!r} on line {points[0].line} a point",
            help="write decimal points throughout, and nothing between thousands",
        )
    if all(_THOUSANDS.fullmatch(row.cells[column]) for row, column in commas):
        raise InputError(
            f"'{name}', line {row.line}, column {column + 1}: {said!r} is {said.replace(',', '.')} or {said.replace(',', '')}",
            help="write decimal points, and nothing between thousands",
        )
    return True
