"""Arrays from data files: ``@data.npy``, ``@data.npz:key``, ``@table.csv:column``, ``@data.json``. Never a pickle.

A file says how large it is, and what it holds how large that is; both are held to the limits before anything of that size is made.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, InputError, suggestion
from gradcli.files import npy, npz
from gradcli.files.json_values import array_of, parsed
from gradcli.files.opening import STANDARD_INPUT, is_handed_over, opened, read_within, refuse_unnameable, unreadable
from gradcli.files.stores import CHUNKED, store_at, whole
from gradcli.files.tables import TABLES, table
from gradcli.limits import Limits

_FORMATS = f".npy, .npz, {', '.join([*TABLES, *CHUNKED])} and .json"
_OF_JSON = 4  # bytes that are made of each byte of a file before it is parsed
_OF_TABLE = 6  # and of a table altogether: its text, and a number for two characters


@dataclass(frozen=True, eq=False)
class _Data:
    """A file that is open, or what was read of a pipe, as a file."""

    file: io.BufferedIOBase
    size: int
    name: str  # in messages
    write: str  # how one names it
    key: str | None
    limits: Limits
    limited: bool = True  # as far as it may be mapped; what a user names and memory need not hold is theirs to choose

    def text(self, held: int) -> str:
        """Its text, each line with the end that Python gives it; ``held`` as in `read_within`."""
        text = read_within(self.file, self.name, self.limits, held, self.size).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def load_array(reference: str, limits: Limits, folder: Path | None = None, piped: Callable[[], bytes] | None = None) -> np.ndarray:
    """The array that ``FILE`` or ``FILE:key`` names (without the @), memory-mapped where it is large and the format allows.

    ``folder`` is the folder of the file or record that the reference stands in; then it may not lead out of it.
    ``piped`` gives what standard input holds, for ``-`` and ``-:key``, whose format is told from the first bytes.
    Raises InputError, LimitError.
    """
    name, key = split_reference(reference, folder)
    refuse_unnameable(name)
    if name == "-" or (folder is None and name in STANDARD_INPUT):
        name = "standard input"
    try:
        if name == "standard input":
            return _of_bytes(_piped(piped), name, "@-", key, limits)
        if folder is None and is_handed_over(name):
            with opened(Path(name), name, stream=True) as stream:
                return _of_bytes(read_within(stream, name, limits), name, f"@{name}", key, limits)
        path = Path(name) if folder is None else _inside(name, folder, reference)
        if path.suffix.lower() in CHUNKED:
            return whole(store_at(path, name, key, inside=folder is not None), name, limits, limited=folder is not None)
        with opened(path, name) as file:
            reader = _READERS.get(path.suffix.lower())
            if reader is None:
                raise InputError(f"cannot tell how to read '{name}'", help=f"the formats are {_FORMATS}")
            return reader(_Data(file, os.fstat(file.fileno()).st_size, name, f"@{name}", key, limits, folder is not None))
    except GradcliError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read '{name}': it is not UTF-8 text (byte {error.start + 1})") from None
    except (OSError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise unreadable(error, name) from None


def split_reference(reference: str, folder: Path | None) -> tuple[str, str | None]:
    """The name of a file, and the key after it."""
    name, colon, key = reference.rpartition(":")
    if not colon or os.path.lexists(os.path.join(folder or "", reference)):
        return reference, None
    return name, key


def _piped(piped: Callable[[], bytes] | None) -> bytes:
    """What standard input holds."""
    if piped is None:
        raise InputError("'@-' is for bindings on the command line", help="here, name a file")
    return piped()


def _of_bytes(content: bytes, name: str, write: str, key: str | None, limits: Limits) -> np.ndarray:
    """The array of bytes without a suffix: NumPy's formats and JSON are known by how they begin, all else is a table."""
    data = _Data(io.BytesIO(content), len(content), name, write, key, limits)
    if content.startswith(npy.MAGIC):
        return _npy(data)
    if npz.is_archive(content):
        return _npz(data)
    return _json(data) if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{") else _table(data, ".txt")


def _inside(name: str, folder: Path, reference: str) -> Path:
    base = folder.resolve()
    full = (base / name).resolve()
    if os.path.isabs(name) or not full.is_relative_to(base):
        raise InputError(f"'@{reference}' leads out of the folder of the file that names it", help="put the data in or below that folder")
    return full


def _npy(data: _Data) -> np.ndarray:
    """An array in NumPy's format, mapped if it is a file's and large."""
    if data.key is not None:
        raise InputError(f"'{data.name}' is one array; it has no parts", help=f"write {data.write}")
    header = npy.header_of(data.file, data.name)
    if header.size + header.nbytes > data.size:
        raise InputError(f"cannot read '{data.name}': {npy.CUT_OFF}")
    array = None if isinstance(data.file, io.BytesIO) else npy.mapped(data.file, header)
    if array is None:
        data.limits.check_array(header.shape)
    elif data.limited:
        data.limits.check_shape(header.shape)
    return npy.entries_of(data.file, header, data.name) if array is None else array


def _npz(data: _Data) -> np.ndarray:
    return npz.part(data.file, data.name, data.write, data.key, data.limits)


def _json(data: _Data) -> np.ndarray:
    name, key = data.name, data.key
    whole: Any = parsed(data.text(_OF_JSON), f"what '{name}' holds", data.limits)
    if key is not None:
        if not isinstance(whole, dict) or key not in whole:
            close = suggestion(key, list(whole)) if isinstance(whole, dict) else None
            raise InputError(f"'{name}' has no key '{key}'", help=f"did you mean '{close}'?" if close else None)
        whole = whole[key]
    elif isinstance(whole, dict):
        raise InputError(f"'{name}' needs a key", help=f"write {data.write}:KEY with KEY one of {', '.join(list(whole)[:20])}")
    return array_of(whole, f"'{name}'", data.limits)


def _table(data: _Data, suffix: str) -> np.ndarray:
    return table(data.text(_OF_TABLE), data.name, data.key, data.limits, suffix)


_READERS: dict[str, Callable[[_Data], np.ndarray]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".json": _json,
    **{suffix: partial(_table, suffix=suffix) for suffix in TABLES},
}
