"""Arrays to files, in the format that a name's suffix says; what is written is read back by `gradcli.files.arrays`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from typing import BinaryIO

import numpy as np

from gradcli.errors import UsageError
from gradcli.report.data import plain

Arrays = Mapping[str, np.ndarray]  # by the names of what they are


def _npy(stream: BinaryIO, arrays: Arrays) -> None:
    (array,) = arrays.values()
    np.save(stream, array, allow_pickle=False)


def _npz(stream: BinaryIO, arrays: Arrays) -> None:
    with zipfile.ZipFile(stream, "w") as archive:  # np.savez has parameters, which names may be called like
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _json(stream: BinaryIO, arrays: Arrays) -> None:
    (array,) = arrays.values()
    stream.write((json.dumps(plain(array), allow_nan=False) + "\n").encode())


def _separated(separator: str) -> Callable[[BinaryIO, Arrays], None]:
    """Writes a vector as a column below its name, and a matrix as rows without a heading."""

    def write(stream: BinaryIO, arrays: Arrays) -> None:
        ((name, array),) = arrays.items()
        if array.ndim > 2 or (array.ndim == 2 and not array.size):
            what = f"{array.ndim} dimensions" if array.size else "no entries"
            raise UsageError(f"'{name}' has {what}, and a table rows and columns", help="write .npy, .npz or .json")
        if array.ndim < 2 and not _reads_as_number(name):
            stream.write(f"{name}\n".encode())
        for row in array if array.ndim == 2 else array.reshape(-1, 1):
            stream.write((separator.join(map(_cell, row)) + "\n").encode())

    return write


def _cell(value: np.generic) -> str:
    return str(int(value)) if value.dtype.kind == "b" else str(value)


def _reads_as_number(name: str) -> bool:
    """Return whether a heading of this name would be a row of data: ``inf`` and ``nan`` are names, too."""
    try:
        float(name)
    except ValueError:
        return False
    return True


WRITERS = {".npy": _npy, ".npz": _npz, ".csv": _separated(","), ".tsv": _separated("\t"), ".json": _json}


def shape_when_read(suffix: str, array: np.ndarray) -> tuple[int, ...]:
    """The shape that an array has when its file is read back: a table with one column is a vector."""
    is_column = suffix in (".csv", ".tsv") and (array.ndim < 2 or array.shape[1] == 1)
    return (array.size,) if is_column else array.shape
