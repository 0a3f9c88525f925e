"""Arrays from data files: ``@data.npy``, ``@data.npz:key``, ``@table.csv:column``, ``@data.json``. Never a pickle."""

from __future__ import annotations

import csv
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import InputError, suggestion
from gradcli.files.tables import TABLES, table
from gradcli.limits import Limits

STANDARD_INPUT = "-"
_FORMATS = f".npy, .npz, {', '.join(TABLES)} and .json"
_NPY, _ZIP = b"\x93NUMPY", b"PK"


def load_array(reference: str, limits: Limits, folder: Path | None = None, piped: Callable[[], bytes] | None = None) -> np.ndarray:
    """The array that ``FILE`` or ``FILE:key`` names (without the @), memory-mapped where the format allows.

    ``folder`` is the folder of the file or record that the reference stands in; then it may not lead out of it.
    ``piped`` gives what standard input holds, for ``-`` and ``-:key``, whose format is told from the first bytes.
    Raises InputError.
    """
    path, key = _split(reference)
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        if name == "standard input":
            array = _piped(piped, key)
        else:
            path = path if folder is None else _inside(path, folder, reference)
            array = _READERS.get(path.suffix.lower(), _unknown)(path, key)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read '{name}': it is not UTF-8 text (byte {error.start + 1})") from None
    except (OSError, EOFError) as error:
        raise InputError(f"cannot read '{name}': {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, KeyError, RecursionError, MemoryError, csv.Error, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"cannot read '{name}': {str(error) or type(error).__name__}") from None
    if array.dtype.kind not in "fiub":
        holds = "Python objects" if array.dtype.hasobject else f"{array.dtype} data"
        raise InputError(f"'{name}' holds {holds}, not real numbers")
    if folder is not None or not isinstance(array, np.memmap):
        limits.check_shape(array.shape)  # of what a file names; what a user names and memory need not hold is theirs to choose
    return array


def _split(reference: str) -> tuple[Path, str | None]:
    whole = Path(reference)
    if ":" in reference and not whole.exists():
        name, _, key = reference.rpartition(":")
        return Path(name), key
    return whole, None


def _piped(piped: Callable[[], bytes] | None, key: str | None) -> np.ndarray:
    """The array of standard input."""
    if piped is None:
        raise InputError("'@-' is for bindings on the command line", help="here, name a file")
    return _by_content(piped(), "standard input", key)


def _by_content(data: bytes, name: str, key: str | None) -> np.ndarray:
    """The array of bytes without a suffix: NumPy's formats and JSON are known by how they begin, all else is a table."""
    if data.startswith(_NPY):
        return _npy(io.BytesIO(data), name, key)
    if data.startswith(_ZIP):
        return _npz(io.BytesIO(data), name, key)
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    if text.lstrip()[:1] in ("[", "{"):
        return _json(text, name, key)
    return table(text, name, key)


def _inside(path: Path, folder: Path, reference: str) -> Path:
    base = folder.resolve()
    full = (base / path).resolve()
    if path.is_absolute() or not full.is_relative_to(base):
        raise InputError(f"'@{reference}' leads out of the folder of the file that names it", help="put the data in or below that folder")
    return full


def _npy(file: Path | io.BytesIO, name: str, key: str | None) -> np.ndarray:
    """An array in NumPy's format, mapped if it is a file's."""
    if key is not None:
        raise InputError(f"'{name}' is one array; it has no parts", help=f"write @{name}" if isinstance(file, Path) else "write @-")
    _refuse_other(file, name, _NPY, "an array in NumPy's format")
    try:
        if isinstance(file, Path):
            mapped: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
            return mapped
        array: np.ndarray = np.load(file, allow_pickle=False)
        return array
    except (ValueError, EOFError) as error:
        raise InputError(f"cannot read '{name}': {_fault(str(error))}") from None


def _fault(said: str) -> str:
    """What NumPy's words mean for who has the file."""
    if "object" in said.lower() or "pickle" in said:
        return "it holds Python objects, not numbers"
    if "mmap length" in said or "cannot reshape" in said or "Failed to read all data" in said or "EOF" in said:
        return "it ends before the array does, as a file that was cut off"
    return said


def _refuse_other(file: Path | io.BytesIO, name: str, magic: bytes, what: str) -> None:
    """Raise InputError for a file that does not begin as its format does."""
    start = file.open("rb").read(len(magic)) if isinstance(file, Path) else file.getvalue()[: len(magic)]
    if start != magic:
        raise InputError(f"'{name}' is empty" if not start else f"'{name}' is not {what}: it begins with {start!r}")


def _npz(file: Path | io.BytesIO, name: str, key: str | None) -> np.ndarray:
    _refuse_other(file, name, _ZIP, "a .npz archive")
    with np.load(file, allow_pickle=False) as archive:
        keys = list(archive.keys())
        if key is None and len(keys) == 1:
            key = keys[0]
        if key not in keys:
            at = f"@{name}" if isinstance(file, Path) else "@-"
            missing = f"'{name}' needs a key" if key is None else f"'{name}' has no key '{key}'"
            raise InputError(missing, help=f"write {at}:KEY with KEY one of {', '.join(keys)}" if keys else "it holds nothing")
        try:
            array: np.ndarray = archive[key]
        except ValueError as error:
            raise InputError(f"cannot read '{name}:{key}': {_fault(str(error))}") from None
        return array


def _json(text: str, name: str, key: str | None) -> np.ndarray:
    data: Any = json.loads(text)
    if key is not None:
        if not isinstance(data, dict) or key not in data:
            close = suggestion(key, list(data)) if isinstance(data, dict) else None
            raise InputError(f"'{name}' has no key '{key}'", help=f"did you mean '{close}'?" if close else None)
        data = data[key]
    elif isinstance(data, dict):
        raise InputError(f"'{name}' needs a key", help=f"write @{name}:KEY with KEY one of {', '.join(list(data)[:20])}")
    return array_of(data, f"'{name}'")


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")


def _unknown(path: Path, key: str | None) -> np.ndarray:
    path.stat()
    if path.is_fifo():  # as `@<(command)` is
        return _by_content(path.read_bytes(), str(path), key)
    raise InputError(f"cannot tell how to read '{path}'", help=f"the formats are {_FORMATS}")


_READERS: dict[str, Callable[[Path, str | None], np.ndarray]] = {
    ".npy": lambda path, key: _npy(path, str(path), key),
    ".npz": lambda path, key: _npz(path, str(path), key),
    ".json": lambda path, key: _json(_text_of(path), str(path), key),
    **{suffix: lambda path, key: table(_text_of(path), str(path), key, path.suffix.lower()) for suffix in TABLES},
}


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
