"""Arrays that are written chunk by chunk: NumPy's format, Zarr, HDF5, Parquet. The file has its name when it is whole, not before.

Until then it lies in a folder beside its place, ``NAME.partial``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import OutputError, UsageError
from gradcli.files.stores import CHUNKED, Region, library
from gradcli.storage.whole_files import cannot_write

SUFFIXES = (".npy", *CHUNKED)
_AT_ONCE = 1 << 26  # bytes that are copied at once


class Sink:
    """A file that takes an array by regions.

    chunks  the extents of the regions that a store of chunks keeps together
    Raises OutputError, also for a file that another run writes.
    """

    def __init__(self, path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...]) -> None:
        self.path, self.name, self.suffix = path, name, path.suffix.lower()
        if self.suffix == ".parquet" and len(shape) != 1:
            raise UsageError(f"'{name}' has {len(shape)} dimensions, and a column of Parquet's one", help="write .zarr, .h5 or .npy")
        self.folder = path.with_name(f"{path.name}.partial")
        try:
            self.folder.mkdir()
        except FileExistsError:
            said = f"'{self.folder}' is of another run, which writes that file or was killed"
            raise OutputError(said, help="remove that folder if nothing writes into it") from None
        except OSError as error:
            raise cannot_write(path, error) from None
        try:
            self.target: Any = self._opened(shape, dtype, chunks)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise cannot_write(path, error) from None
            raise

    def _opened(self, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...]) -> Any:
        if self.suffix == ".zarr":
            zarr, place = library("zarr", ".zarr"), str(self.folder / "data.zarr")
            return zarr.create_array(place, shape=shape, dtype=dtype, chunks=tuple(max(1, c) for c in chunks))
        if self.suffix in CHUNKED:
            library({".parquet": "pyarrow.parquet"}.get(self.suffix, "h5py"), self.suffix)  # missing now, not at the end
        place = str(self.folder / "data.npy")
        mapped = np.lib.format.open_memmap(place, "w+", dtype, shape)
        if hasattr(os, "posix_fallocate"):
            with open(place, "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)  # a full disk is an error now, not a signal later
        return mapped

    def write(self, region: Region, array: np.ndarray) -> None:
        """Write a region. Raises OutputError."""
        try:
            self.target[region] = array
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def finish(self) -> None:
        """Put the file into its place. Raises OutputError."""
        try:
            if isinstance(self.target, np.memmap):
                self.target.flush()
            made = self.folder / f"data{self.suffix}"
            convert = _CONVERTED.get(self.suffix)
            if convert is not None:
                convert(self.target, made, self.name)
            del self.target
            if self.path.is_dir() and self.suffix == ".zarr":
                os.rename(self.path, self.folder / "before")
            os.replace(made, self.path)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Remove the folder, and with it what has not come to its end."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _to_hdf5(array: np.ndarray, path: Path, name: str) -> None:
    with library("h5py", ".h5").File(path, "w") as file:
        dataset = file.create_dataset(name, array.shape, array.dtype)
        for rows in _rows(array):
            dataset[rows] = array[rows]


def _to_parquet(array: np.ndarray, path: Path, name: str) -> None:
    arrow, parquet = library("pyarrow", ".parquet"), library("pyarrow.parquet", ".parquet")
    schema = arrow.schema([(name, arrow.from_numpy_dtype(array.dtype))])
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _rows(array):
            writer.write_table(arrow.table([arrow.array(array[rows])], schema=schema))


def _rows(array: np.ndarray) -> list[Any]:
    """Parts of an array that are small enough to be copied at once."""
    if not array.ndim:
        return [()]
    step = max(1, _AT_ONCE // max(1, array.nbytes // max(1, len(array))))
    return [slice(start, start + step) for start in range(0, len(array), step)]


_CONVERTED: dict[str, Callable[[np.ndarray, Path, str], None]] = {".h5": _to_hdf5, ".hdf5": _to_hdf5, ".parquet": _to_parquet}


def write_at_once(path: Path, name: str, array: np.ndarray) -> None:
    """An array that is there already, in a file of these formats. Raises OutputError."""
    rows = max(1, _AT_ONCE // max(1, array.nbytes // max(1, len(array)))) if array.ndim else 1
    sink = Sink(path, name, array.shape, array.dtype, (min(rows, max(1, len(array))), *array.shape[1:]) if array.ndim else ())
    try:
        for part in _rows(array):
            sink.write(part, array[part])
        sink.finish()
    finally:
        sink.close()
