"""Arrays that ``--save NAME=FILE`` writes to files: gradients or the value.

The suffix says the format. A file is written whole or not at all.
"""

from __future__ import annotations

import io
import json
import os
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gradcli.data import plain
from gradcli.errors import UsageError
from gradcli.files.stores import CHUNKED, write_at_once
from gradcli.options import assignments
from gradcli.report.records import Record
from gradcli.storage import cannot_write, discard, is_device, put_in_place, real, temporary_beside
from gradcli.texts import is_number


def targets_of(texts: Iterable[str]) -> dict[str, str]:
    """Return the files of ``--save`` by the names of what they take.

    Raises UsageError.
    """
    targets = assignments("--save", texts)
    paths = [real(path) for path in targets.values()]
    for name, path in targets.items():
        suffix = Path(path).suffix
        if suffix.lower() not in _KNOWN and not is_device(path):
            said = (
                f"'{suffix}' is no format that is written" if suffix else "a suffix says the format"
            )
            raise UsageError(f"--save {name}={path}: {said}", help=f"the suffixes are {_SUFFIXES}")
        if paths.count(real(path)) > 1 and not is_device(path) and _suffix(path) != ".npz":
            raise UsageError(
                f"--save {name}={path}: '{path}' is named twice", help="a .npz file takes several"
            )
    return targets


def _suffix(path: str) -> str:
    """Return the format of a file; NumPy's for devices and pipes without a suffix."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in _KNOWN else ".npy"


class SavedArrays:
    """The arrays that go to files.

    Large ones go there while they are computed, so that memory need not hold them.
    """

    def __init__(self, targets: dict[str, str]) -> None:
        self.targets = targets
        self.saved_from: Record | None = None

    def place(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array in a file beside its target, or None if there is none."""
        path = Path(self.targets[name]) if name in self.targets else None
        if (
            path is None
            or not shape
            or _suffix(str(path)) != ".npy"
            or is_device(str(path))
            or not hasattr(os, "posix_fallocate")
        ):
            return None
        try:
            handle, temporary = temporary_beside(path)
            try:
                mapped = np.lib.format.open_memmap(temporary, "w+", dtype, shape)
                weakref.finalize(mapped, discard, temporary)  # removed unless moved to its place
                # A full disk is an error here, not a signal later.
                os.posix_fallocate(handle, 0, os.fstat(handle).st_size)
            except BaseException:
                discard(temporary)
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot_write(path, error) from None
        return mapped

    def save(self, record: Record) -> None:
        """Write the named arrays of a record, and leave them out of what is printed.

        Raises GradcliError, also for a second result: files hold one.
        """
        if record.error is not None or record.mode == "assert":
            return
        if self.saved_from is not None:
            raise UsageError(
                f"--save takes one result, and has that of line {self.saved_from.line}",
                help="evaluate one expression to save of it",
            )
        _write_all(self.targets, {name: _array_of(record, name) for name in self.targets})
        self.saved_from = record
        for name in self.targets:
            what = (
                "the value"
                if name == "value"
                else "the jvp"
                if record.mode == "jvp"
                else f"the {_WORDS[record.mode]} of {name}"
            )
            record.warnings.append(f"{what} is {_where(self.targets[name], name)}")
            _leave_out(record, name)


_WORDS = {"grad": "gradient", "jacobian": "Jacobian", "hessian": "Hessian", "hvp": "product"}


def _array_of(record: Record, name: str) -> np.ndarray:
    """Return the value, or the derivative that a name means.

    Raises UsageError.
    """
    if name == "value":
        return np.asanyarray(record.value)
    derivatives = record.derivatives()
    if name not in derivatives:
        names = ", ".join(["value", *derivatives])
        raise UsageError(
            f"--save {name}: the result has no {_WORDS.get(record.mode, 'jvp')} of '{name}'",
            help=f"it has {names}",
        )
    return np.asanyarray(derivatives[name])


def _leave_out(record: Record, name: str) -> None:
    if name == "value" or record.mode == "jvp":
        return  # there is only one, and it says what was computed
    if record.hessian is not None:
        row, _, column = name.partition(",")
        del record.hessian[row][column]
    else:
        del record.derivatives()[name]


def _where(path: str, name: str) -> str:
    return f"in {path}:{name}" if _suffix(path) == ".npz" else f"in {path}"


def _write_all(targets: dict[str, str], arrays: Arrays) -> None:
    """Write each file, an archive with all that goes to it: all of them, or none.

    Raises OutputError and UsageError.
    """
    files: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        path = targets[name]
        files.setdefault(name if is_device(path) else real(path), {})[name] = array
    written: list[tuple[str, Path]] = []
    path = ""
    try:
        for held in files.values():
            name = next(iter(held))
            path = targets[name]
            if _suffix(path) in CHUNKED:
                write_at_once(Path(real(path)), name, held[name])
                continue
            temporary = _write_temporary(Path(path), held)
            if temporary is not None:
                written.append((temporary, Path(path)))
        for temporary, place in written:
            path = str(place)
            put_in_place(temporary, place)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        for temporary, _ in written:
            discard(temporary)


def _write_temporary(path: Path, arrays: Arrays) -> str | None:
    """Write the arrays of a path to a temporary file, and return its name.

    Return None where they are in place already: in a device, which is never replaced.
    """
    write = WRITERS[_suffix(str(path))]
    array = next(iter(arrays.values()))
    if is_device(path):
        image = io.BytesIO()
        write(image, arrays)
        with path.open("wb") as device:
            device.write(image.getbuffer())
        return None
    if isinstance(array, np.memmap) and array.mode == "w+":  # it was computed in its file
        array.flush()
        return str(array.filename)
    handle, temporary = temporary_beside(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream, arrays)
    except BaseException:
        discard(temporary)
        raise
    return temporary


# -- The formats of files, each read back by `gradcli.files.arrays` ------------------------------


Arrays = Mapping[str, np.ndarray]  # by name: "value", or of a derivative


def _npy(stream: BinaryIO, arrays: Arrays) -> None:
    (array,) = arrays.values()
    np.save(stream, array, allow_pickle=False)


def _npz(stream: BinaryIO, arrays: Arrays) -> None:
    # Names of arrays may clash with parameters of np.savez.
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _json(stream: BinaryIO, arrays: Arrays) -> None:
    (array,) = arrays.values()
    stream.write(f"{json.dumps(plain(array), allow_nan=False)}\n".encode())


def _table(stream: BinaryIO, arrays: Arrays, separator: str) -> None:
    """Write a vector as a column below its name, and a matrix as rows without a heading."""
    ((name, array),) = arrays.items()
    if array.ndim > 2 or (array.ndim == 2 and not array.size):
        what = f"{array.ndim} dimensions" if array.size else "no entries"
        raise UsageError(
            f"'{name}' has {what}, and a table has rows and columns",
            help="write .npy, .npz or .json",
        )
    if array.ndim < 2 and not is_number(name):  # ``inf`` and ``nan`` may be names, too
        stream.write(f"{name}\n".encode())
    np.savetxt(stream, np.atleast_1d(array), "%d" if array.dtype.kind == "b" else "%s", separator)


WRITERS: dict[str, Callable[[BinaryIO, Arrays], None]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": partial(_table, separator=","),
    ".tsv": partial(_table, separator="\t"),
    ".json": _json,
}


_KNOWN = (*WRITERS, *CHUNKED)
_SUFFIXES = f"{', '.join(_KNOWN[:-1])} and {_KNOWN[-1]}"
