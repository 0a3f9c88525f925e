"""Arrays from data files.

References are ``@data.npy``, ``@data.npz:key``, ``@table.csv:column`` and ``@data.json``. Never a
pickle.

The sizes of a file and of its contents are held to the limits before anything of that size is made.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, InputError, did_you_mean
from gradcli.files import npy
from gradcli.files.npy import (
    STANDARD_INPUT,
    STREAMS,
    is_handed_over,
    open_data,
    read_within,
    refuse_unnameable,
    unreadable,
)
from gradcli.files.stores import CHUNKED, store_at, whole
from gradcli.limits import ITEM, Limits
from gradcli.texts import read_float

# -- JSON as it is read here: no name twice in an object, and numbers as arrays, which are looked
# at before they are made.


_NUMBERS = frozenset({int, float, bool})
_READ = _NUMBERS | {str}
_MOST = 30  # most bytes per character of a text once parsed: nested lists of one item


def parse_array(text: str, what: str, limits: Limits) -> Any:
    """Return what a text holds, which is called ``what``.

    Raises ValueError with the reason, in words, and LimitError.
    """
    limits.check_memory(_MOST * len(text), what)
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=read_float)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except (ValueError, OverflowError) as error:
        # Python's message about its limit on digits is about Python.
        raise ValueError(
            "a whole number has too many digits" if "integer string" in str(error) else str(error)
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"'{twice}' occurs twice")
    return found


def array_of(data: Any, what: str, limits: Limits) -> np.ndarray:
    """Return JSON numbers and nested lists of these as an array.

    Decimal strings ("0.1", "nan", "-inf") and booleans count as numbers.

    NumPy first lays the lists out, and then is handed numbers: with a long string among them, it
    would make a table of strings of that length. Raises InputError for anything but a regular array
    of numbers, and LimitError.
    """
    if type(data) is float or (type(data) is int and -(2**63) <= data < 2**63):  # the usual case
        return np.array(data)
    laid_out = np.array(data, dtype=object)
    entries: list[Any] = laid_out.ravel().tolist()
    kinds = set(map(type, entries))
    if not kinds <= _READ:
        raise _irregular(what)
    limits.check_array(laid_out.shape)
    try:
        array = np.array(entries if kinds <= _NUMBERS else [*map(read_float, entries)])
        if array.dtype.kind == "O":  # whole numbers beyond 64 bits
            array = array.astype(float)
    except OverflowError as error:
        raise InputError(f"{what}: {error}") from None
    except ValueError:
        raise _irregular(what) from None
    return array.reshape(laid_out.shape)


def _irregular(what: str) -> InputError:
    return InputError(f"{what} is not a number or a regular array of numbers")


# -- Tables of numbers as text: columns between commas, semicolons, tabs or blanks, with or without
# a heading.
#
# Nothing is guessed: a row of another length and a cell that is no number, as one with a comma, are
# errors with their line. The text is gone through row by row, and of the rows only
# the numbers that are asked for are kept.


_NUMBER = re.compile(
    r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
_QUOTED = re.compile(r'"[^"]*"')
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")

TABLES = (".csv", ".tsv", ".txt", ".dat")


@dataclass
class _Table:
    """A table of numbers, and how far it is read.

    Cells in quotes may go over several lines, and empty ones are NaN.

    name     the file's in messages
    key      names the column that is asked for, or numbers it from 0; None for all
    line     on which the last row ends
    comment  the last one above the first row
    """

    text: str
    name: str
    key: str | None
    limits: Limits
    suffix: str

    def __post_init__(self) -> None:
        self.line = 0
        self.comment: str | None = None
        self.separator: str | None = None
        self.most = min(self.limits.entries, self.limits.memory // ITEM)
        self.columns: list[int] = []
        self.values = array("d")
        self.count = 0
        self.whole = True

    def read(self) -> np.ndarray:
        """Return the numbers of the columns; one column alone is a vector.

        Raises InputError, LimitError.
        """
        rows = self._rows()
        first = next(rows, None)
        if first is None:
            raise InputError(
                f"'{self.name}' is empty"
                if self.comment is None
                else f"'{self.name}' has no rows below its comments"
            )
        heading, is_row = self._heading(first)
        width = len(heading or first)
        self.columns = self._columns(heading, width)
        for cells in chain([first], rows) if is_row else rows:
            if len(cells) != width:
                above = "the heading" if heading and self.comment is None else "the first row"
                found = f"{len(cells)} cell{'s' * (len(cells) != 1)}, where {above} has {width}"
                raise InputError(f"{self._place()}: {found}")
            self._take(cells)
        out = np.array(self.values).reshape(self.count, len(self.columns))
        if self.count and self.whole and np.all(np.abs(out) < 2**53):
            out = out.astype(np.int64)
        return out[:, 0] if self.key is not None or width == 1 else out

    def _place(self) -> str:
        return f"'{self.name}', line {self.line}"

    def _lines(self) -> Iterator[str]:
        """Yield the lines from the first row on.

        A comment becomes an empty line, for it may stand between the lines of a cell. Raises
        LimitError.
        """
        for found in _LINE.finditer(self.text):
            line = found[0]
            self.line += 1
            if line.lstrip().startswith("#"):
                self.comment = self.comment if self.separator else line.strip()[1:].strip()
                line = "\n"
            elif self.suffix in (".txt", ".dat"):
                line = line.partition("#")[0]
            if self.separator is None and line.strip():
                self.separator = self._separator(_QUOTED.sub("", line))
            if self.separator is not None:
                yield line

    def _separator(self, outside: str) -> str:
        """Return the separator of columns.

        It is a tab in .tsv; else it is what the first row has outside of quotes: a semicolon,
        comma, tab or blank.
        """
        usual = {".tsv": "\t", ".csv": ","}.get(self.suffix, " ")
        return (
            usual
            if usual == "\t"
            else next((separator for separator in ";,\t" if separator in outside.strip()), usual)
        )

    def _rows(self) -> Iterator[list[str]]:
        """Yield the cells of the rows that are not blank. Raises InputError, LimitError."""
        lines = self._lines()
        lines = chain([next(lines, "")], lines)  # reading the first line sets the separator
        begin = self.line
        try:
            for row in (
                map(str.split, lines)
                if self.separator == " "
                else csv.reader(lines, delimiter=self.separator or ",")
            ):
                cells = [cell.strip() for cell in row]
                if any(cells):
                    yield cells
                begin = self.line + 1
        except csv.Error:
            most = f"a cell has more than {csv.field_size_limit():,} characters"
            raise InputError(
                f"'{self.name}', line {begin}: {most}", help="is a quote not closed?"
            ) from None

    def _heading(self, first: list[str]) -> tuple[list[str] | None, bool]:
        """Return the names of the columns, and whether the first row is one of numbers.

        The names are the first row, or a comment above it of as many words.
        """
        numeric = [cell for cell in first if _NUMBER.fullmatch(cell.replace(",", ""))]
        if not numeric:
            return first, False
        if len(numeric) == len([cell for cell in first if cell]):
            words = (
                [word.strip() for word in (self.comment or "").split(separator)]
                for separator in (",", ";", "\t", None)
            )
            named = (names for names in words if len(names) == len(first) and self.comment)
            return next(named, None), True
        if self.key in first and not self._is_place(len(first)):
            return first, False
        word = next(cell for cell in first if cell and cell not in numeric)
        raise InputError(
            f"{self._place()}: {word!r} is not a number, and {numeric[0]!r} is one: is this row a "
            "heading?",
            help="to read it as one, name a column after a colon, as in @FILE:NAME; as numbers, "
            "correct the cell",
        )

    def _columns(self, heading: list[str] | None, width: int) -> list[int]:
        """Return the columns that are asked for, numbered from 0."""
        name = self.name
        key = self.key
        names = heading or []
        if key is None:
            return list(range(width))
        if names.count(key) > 1:
            raise InputError(
                f"'{name}' has {names.count(key)} columns '{key}'",
                help=f"write their numbers, 0 to {width - 1}",
            )
        if key in names:
            return [names.index(key)]
        if self._is_place(width):
            return [int(key)]
        listed = f"it has {', '.join(names)}" if names else f"columns are numbered 0 to {width - 1}"
        raise InputError(f"'{name}' has no column '{key}'", help=did_you_mean(key, names, listed))

    def _is_place(self, width: int) -> bool:
        """Return whether the key is the number of a column."""
        return self.key in [*map(str, range(width))]

    def _take(self, cells: list[str]) -> None:
        """Keep the numbers of a row.

        Raises LimitError for more than there may be, InputError for what is no number.
        """
        self.count += 1
        if len(self.values) + len(self.columns) > self.most:
            self.limits.check_array((self.count, len(self.columns)))
        for column in self.columns:
            cell = cells[column]
            self.whole = self.whole and cell.lstrip("+-").isdigit()
            self.values.append(self._number(cell, column) if cell else np.nan)

    def _number(self, cell: str, column: int) -> float:
        reason = f"{cell!r} is not a number"
        try:
            if _NUMBER.fullmatch(cell):
                return read_float(cell)
        except OverflowError as error:
            reason = str(error)
        raise InputError(
            f"{self._place()}, column {column + 1}: {reason}",
            help="numbers have decimal points, and nothing between thousands"
            if "," in cell
            else None,
        )


_FORMATS = f".npy, .npz, {', '.join([*TABLES, *CHUNKED])} and .json"
_OF_JSON = 4  # bytes made of each byte of a file before it is parsed
_OF_TABLE = 6  # the same for a whole table: its text, and a number for two characters


@dataclass(frozen=True, eq=False)
class _Data:
    """A file that is open, or what was read of a pipe, as a file."""

    file: io.BufferedIOBase
    size: int
    name: str  # for messages
    key: str | None
    limits: Limits
    # Whether the limits apply to what may be mapped: a user who names a file decides its size,
    # because memory need not hold it.
    limited: bool = True

    def text(self, held: int) -> str:
        """Its text, each line with the end that Python gives it; ``held`` as in `read_within`."""
        text = read_within(self.file, self.name, self.limits, held, self.size).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def load_array(
    reference: str,
    limits: Limits,
    folder: Path | None = None,
    piped: Callable[[], bytes] | None = None,
) -> np.ndarray:
    """Return the array that ``FILE`` or ``FILE:key`` names (without the @).

    It is memory-mapped where it is large and the format allows.

    ``folder`` is the folder of the file or record that the reference stands in; if it is given, the
    reference may not lead out of it. ``piped`` gives what standard input holds, for ``-`` and
    ``-:key``, whose format is told from the first bytes. Raises InputError, LimitError.
    """
    name, key = split_reference(reference, folder)
    refuse_unnameable(name)
    try:
        if name == "-" or (folder is None and name in STREAMS):
            if piped is None:
                raise InputError(
                    "'@-' is for bindings on the command line", help="here, name a file"
                )
            return _of_bytes(piped(), STANDARD_INPUT, key, limits)
        if folder is None and is_handed_over(name):
            with open_data(Path(name), name, stream=True) as stream:
                return _of_bytes(read_within(stream, name, limits), name, key, limits)
        path = Path(name) if folder is None else _inside(name, folder, reference)
        if path.suffix.lower() in CHUNKED:
            return whole(
                store_at(path, name, key, inside=folder is not None),
                name,
                limits,
                limited=folder is not None,
            )
        with open_data(path, name) as file:
            reader = _READERS.get(path.suffix.lower())
            if reader is None:
                raise InputError(
                    f"cannot tell how to read '{name}'", help=f"the formats are {_FORMATS}"
                )
            return reader(
                _Data(file, os.fstat(file.fileno()).st_size, name, key, limits, folder is not None)
            )
    except GradcliError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(
            f"cannot read '{name}': it is not UTF-8 text (byte {error.start + 1})"
        ) from None
    except (OSError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise unreadable(error, name) from None


def split_reference(reference: str, folder: Path | None) -> tuple[str, str | None]:
    """Return the name of a file, and the key after it."""
    name, colon, key = reference.rpartition(":")
    if not colon or os.path.lexists(os.path.join(folder or "", reference)):
        return reference, None
    return name, key


def _of_bytes(content: bytes, name: str, key: str | None, limits: Limits) -> np.ndarray:
    """Return the array of bytes without a suffix.

    NumPy's formats and JSON are recognized by how they begin; all else is a table.
    """
    data = _Data(io.BytesIO(content), len(content), name, key, limits)
    if content.startswith(npy.MAGIC):
        return _npy(data)
    if npy.is_archive(content):
        return _npz(data)
    return (
        _json(data)
        if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")
        else _table(data, ".txt")
    )


def _inside(name: str, folder: Path, reference: str) -> Path:
    base = folder.resolve()
    full = (base / name).resolve()
    if os.path.isabs(name) or not full.is_relative_to(base):
        raise InputError(
            f"'@{reference}' leads out of the folder of the file that names it",
            help="put the data in or below that folder",
        )
    return full


def _npy(data: _Data) -> np.ndarray:
    """Return an array in NumPy's format, mapped if it is a file's and large."""
    if data.key is not None:
        raise npy.has_no_parts(data.name)
    header = npy.header_of(data.file, data.name, data.size)
    if header.nbytes < npy.MAPPED or isinstance(data.file, io.BytesIO):
        data.limits.check_array(header.shape)
        return npy.entries_of(data.file, header, data.name)
    if data.limited:
        data.limits.check_shape(header.shape)
    return npy.map_array(data.file, header)


def _npz(data: _Data) -> np.ndarray:
    return npy.part(data.file, data.name, data.key, data.limits)


def _json(data: _Data) -> np.ndarray:
    name, key = data.name, data.key
    whole: Any = parse_array(data.text(_OF_JSON), f"what '{name}' holds", data.limits)
    if isinstance(whole, dict) or key is not None:
        parts = whole if isinstance(whole, dict) else {}
        if key not in parts:
            raise npy.has_no_key(name, key, [*parts])
        whole = parts[key]
    return array_of(whole, f"'{name}'", data.limits)


def _table(data: _Data, suffix: str) -> np.ndarray:
    return _Table(data.text(_OF_TABLE), data.name, data.key, data.limits, suffix).read()


_READERS: dict[str, Callable[[_Data], np.ndarray]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".json": _json,
    **{suffix: partial(_table, suffix=suffix) for suffix in TABLES},
}
