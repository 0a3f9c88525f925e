"""Arrays from data files: ``@data.npy``, ``@data.npz:key``, ``@table.csv:column``, ``@data.json``. Never a pickle."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import InputError, suggestion
from gradcli.limits import Limits


def load_array(reference: str, limits: Limits, folder: Path | None = None) -> np.ndarray:
    """The array that ``FILE`` or ``FILE:key`` names (without the @), memory-mapped where the format allows.

    ``folder`` is the folder of the file or record that the reference stands in; then it may not lead out of it.
    Raises InputError.
    """
    path, key = _split(reference)
    if folder is not None:
        path = _inside(path, folder, reference)
    try:
        array = _READERS.get(path.suffix.lower(), _unknown)(path, key)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, KeyError, RecursionError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        reason = "it holds Python objects, not numbers" if "pickle" in str(error) else str(error) or type(error).__name__
        raise InputError(f"cannot read '{path}': {reason}") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"'{path}' holds {array.dtype} data, not real numbers")
    if folder is not None or not isinstance(array, np.memmap):
        limits.check_shape(array.shape)  # of what a file names; what a user names and memory need not hold is theirs to choose
    return array


def _split(reference: str) -> tuple[Path, str | None]:
    whole = Path(reference)
    if ":" in reference and not whole.exists():
        name, _, key = reference.rpartition(":")
        return Path(name), key
    return whole, None


def _inside(path: Path, folder: Path, reference: str) -> Path:
    base = folder.resolve()
    full = (base / path).resolve()
    if path.is_absolute() or not full.is_relative_to(base):
        raise InputError(f"'@{reference}' leads out of the folder of the file that names it", help="put the data in or below that folder")
    return full


def _npy(path: Path, key: str | None) -> np.ndarray:
    if key is not None:
        raise InputError(f"'{path}' is one array; it has no parts", help=f"write @{path}")
    array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _npz(path: Path, key: str | None) -> np.ndarray:
    with np.load(path, allow_pickle=False) as archive:
        keys = list(archive.keys())
        if key is None and len(keys) == 1:
            key = keys[0]
        if key not in keys:
            raise InputError(f"'{path}' needs a key", help=f"write @{path}:KEY with KEY one of {', '.join(keys)}")
        array: np.ndarray = archive[key]
        return array


def _csv(path: Path, key: str | None) -> np.ndarray:
    import csv

    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row and any(cell.strip() for cell in row)]
    if not rows:
        raise InputError(f"'{path}' is empty")
    header = None if _numeric(rows[0]) else [cell.strip() for cell in rows.pop(0)]
    width = len(header or rows[0])
    if any(len(row) != width for row in rows):
        raise InputError(f"'{path}': the rows have different lengths")
    if key is None:
        return _table(path, rows, list(range(width)), width == 1)
    if header and key in header:
        return _table(path, rows, [header.index(key)], True)
    if key.isdigit() and int(key) < width:
        return _table(path, rows, [int(key)], True)
    close = suggestion(key, header or [])
    listed = f"it has {', '.join(header)}" if header else f"columns are numbered 0 to {width - 1}"
    raise InputError(f"'{path}' has no column '{key}'", help=f"did you mean '{close}'?" if close else listed)


def _numeric(row: list[str]) -> bool:
    return all(_is_number(cell) for cell in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True


def _table(path: Path, rows: list[list[str]], columns: list[int], flat: bool) -> np.ndarray:
    out = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            cell = row[column].strip()
            try:
                out[i, j] = float(cell) if cell else np.nan
            except ValueError:
                raise InputError(f"'{path}': {cell!r} in row {i + 1} of the data, column {column + 1}, is not a number") from None
    if (
        np.all(out == np.round(out))
        and np.all(np.abs(out) < 2**53)
        and not any("." in row[c] or "e" in row[c].lower() for row in rows for c in columns)
    ):
        out = out.astype(np.int64)
    return out[:, 0] if flat else out


def _json(path: Path, key: str | None) -> np.ndarray:
    data: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    if key is not None:
        if not isinstance(data, dict) or key not in data:
            raise InputError(f"'{path}' has no key '{key}'")
        data = data[key]
    return array_of(data, f"'{path}'")


def _unknown(path: Path, key: str | None) -> np.ndarray:
    path.stat()
    raise InputError(f"cannot tell how to read '{path}'", help="the formats are .npy, .npz, .csv and .json")


_READERS = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".json": _json}


def array_of(data: Any, what: str) -> np.ndarray:
    """JSON numbers, decimal strings ("0.1", "nan", "-inf"), booleans and nested lists of these as an array."""
    try:
        array = np.array(data)
    except (ValueError, OverflowError, RecursionError):
        raise InputError(f"{what} is not a number or a regular array of numbers") from None
    if array.dtype.kind in "fiub":
        return array
    try:
        return np.array(_converted(data), dtype=float)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InputError(f"{what} is not a number or a regular array of numbers") from None


def _converted(data: Any) -> Any:
    if isinstance(data, list):
        return [_converted(item) for item in data]
    if isinstance(data, (str, int, float)):
        return float(data)
    raise ValueError
