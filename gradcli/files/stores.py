"""Arrays that are kept in chunks and read chunk by chunk.

They are Zarr stores, HDF5 datasets, columns of Parquet tables and NumPy arrays.

Each library is an extra, imported only for its own files. Nothing in a file is run: arrays of
objects and codecs that unpickle are refused. In files that can refer to others, links and parts
that lie elsewhere are refused, too.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gradcli.errors import GradcliError, InputError, OutputError, UsageError, first_line
from gradcli.files import npy
from gradcli.files.npy import open_data, refuse_unnameable, unreadable
from gradcli.limits import Limits
from gradcli.storage import cannot_write

Region = tuple[slice, ...]
_AT_ONCE = 1 << 26  # bytes read at once from a store without chunks


@dataclass(eq=False)
class Store:
    """An array that is read by regions.

    array   what a library has of it: with a shape, a dtype and regions
    chunks  the extents of the regions that are read at once, along each axis; the last ones of an
            axis may be smaller. Without any, whole rows are read
    """

    name: str
    array: Any
    chunks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.shape: tuple[int, ...] = tuple(self.array.shape)
        self.dtype = _real(self.array.dtype, self.name)
        self.chunks = self.chunks or _without_chunks(self)

    def read(self, region: Region) -> np.ndarray:
        """Read a region as an array of its own.

        Raises InputError.
        """
        with _reading(self.name):
            return np.array(self.array[region])

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def regions(self) -> Iterator[Region]:
        """Yield the regions of the chunks, in order."""
        counts = [-(-extent // step) for extent, step in zip(self.shape, self.chunks, strict=True)]
        for place in np.ndindex(*counts):
            yield tuple(
                slice(i * step, min((i + 1) * step, extent))
                for i, step, extent in zip(place, self.chunks, self.shape, strict=True)
            )


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Let what a library says of a file be an InputError."""
    try:
        yield
    except GradcliError:
        raise
    except Exception as error:  # each library raises errors of its own
        raise InputError(f"cannot read '{name}': {first_line(error)}") from None


def store_at(path: Path, name: str, key: str | None, *, inside: bool = False) -> Store:
    """Open the store in a file or folder, at a key if it is given.

    ``inside`` forbids it to lead out of its folder.

    Raises InputError, OSError, ModuleNotFoundError.
    """
    return _KINDS[path.suffix.lower()](path, name, key, inside)


def whole(store: Store, name: str, limits: Limits, *, limited: bool) -> np.ndarray:
    """Read all of a store.

    A large store is laid out in a file without a name, which is mapped and is deleted with the
    array.
    """
    if store.nbytes < npy.MAPPED:
        limits.check_array(store.shape)
        array: np.ndarray = np.empty(store.shape, store.dtype)
    else:
        if limited:
            limits.check_shape(store.shape)
        limits.check_array(store.chunks)
        file = tempfile.TemporaryFile(prefix="gradcli-")  # noqa: SIM115 - the array keeps it open
        _reserve(file, store.nbytes)
        array = np.memmap(file, store.dtype, "w+", 0, store.shape)
    for region in store.regions():
        array[region] = store.read(region)
    array.flags.writeable = False
    return array


def _reserve(file: Any, size: int) -> None:
    """Take room for a file: a full disk is an error now, not a signal later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)


def library(name: str, suffix: str) -> Any:
    """Import a library that reads files.

    Raises InputError if it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS[suffix]
        raise InputError(
            f"reading {suffix} wants {name.split('.', maxsplit=1)[0]}, which is not installed",
            help=f"pip install 'gradcli[{extra}]'",
        ) from error


_EXTRAS = {".zarr": "zarr", ".h5": "hdf5", ".hdf5": "hdf5", ".parquet": "parquet"}


def _real(dtype: Any, name: str) -> np.dtype[Any]:
    found = np.dtype(dtype) if dtype is not None else np.dtype(object)
    if found.kind not in "fiub" or found.itemsize > 8:
        raise InputError(f"'{name}' holds {found} data, not real numbers")
    return found


def _without_chunks(array: Store | np.ndarray) -> tuple[int, ...]:
    """Regions of an array in one piece: whole rows of its first axis."""
    shape = array.shape
    row = math.prod(shape[1:]) * array.dtype.itemsize
    return (max(1, min(shape[0], _AT_ONCE // max(row, 1))), *shape[1:]) if shape else ()


# -- How each format is opened


def _zarr(path: Path, name: str, key: str | None, inside: bool) -> Store:
    zarr = library("zarr", ".zarr")
    if not path.exists():
        raise FileNotFoundError
    if inside and path.is_dir():
        for folder, folders, files in os.walk(path):
            if any(os.path.islink(os.path.join(folder, part)) for part in (*folders, *files)):
                raise InputError(f"'{name}' has links in it, which could lead out of its folder")
    with _reading(name):
        found = zarr.open(str(path), mode="r")
    if not hasattr(found, "shape"):
        keys = sorted(place for place, _ in _arrays_of(found))
        if key is None or key not in keys:
            raise npy.has_no_key(name, key, keys)
        found = found[key]
    elif key is not None:
        raise npy.has_no_parts(name)
    if "pickle" in repr({**found.metadata.to_dict(), "attributes": None}).lower():
        raise InputError(f"cannot read '{name}': its codec unpickles, which may run anything")
    steps = getattr(found, "shards", None) or found.chunks
    return Store(
        name, found, tuple(min(c, max(n, 1)) for c, n in zip(steps, found.shape, strict=True))
    )


def _arrays_of(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for place, member in group.members():
        if hasattr(member, "shape"):
            yield before + place, member
        else:
            yield from _arrays_of(member, f"{before}{place}/")


def _hdf5(path: Path, name: str, key: str | None, inside: bool) -> Store:
    h5py = library("h5py", ".h5")
    path.stat()
    with _reading(name):
        file = h5py.File(path, "r")  # stays open as long as the array
    names: list[str] = []
    file.visititems(
        lambda place, item: names.append(place) if isinstance(item, h5py.Dataset) else None
    )
    if key is None and len(names) == 1:
        key = names[0]
    if key is None or key.strip("/") not in names:
        if key is not None and isinstance(file.get(key, getlink=True), h5py.ExternalLink):
            raise InputError(f"'{name}:{key}' is a link to another file", help="name that file")
        raise npy.has_no_key(name, key, sorted(names))
    found = file[key]
    if found.is_virtual or found.external:
        raise InputError(f"'{name}:{key}' lies in other files", help="copy it into one")
    return Store(name, found, found.chunks or ())


def _parquet(path: Path, name: str, key: str | None, inside: bool) -> Store:
    parquet = library("pyarrow.parquet", ".parquet")
    path.stat()
    with _reading(name):
        file = parquet.ParquetFile(path)
    columns = file.schema_arrow.names
    if key is None and len(columns) == 1:
        (key,) = columns
    if key is None or key not in columns:
        raise npy.has_no_key(name, key, columns)
    kind = file.schema_arrow.field(key).type
    dtype = np.dtype(object)
    with suppress(NotImplementedError, TypeError):
        dtype = np.dtype(kind.to_pandas_dtype())
    if dtype.kind not in "fiub":
        raise InputError(f"the column '{key}' of '{name}' holds {kind}, not real numbers")
    column = _Column(file, name, key, dtype)
    return Store(name, column, (int(np.diff(column.starts).max(initial=1)),))


@dataclass(eq=False)
class _Column:
    """A column of a Parquet table, which is read in groups of rows."""

    file: Any
    name: str
    key: str
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        table = self.file.metadata
        self.shape = (table.num_rows,)
        groups = [table.row_group(i).num_rows for i in range(table.num_row_groups)]
        self.starts = np.cumsum([0, *groups])

    def __getitem__(self, region: Region) -> np.ndarray:
        (rows,) = region
        start, stop, _ = rows.indices(*self.shape)
        reached = (self.starts[:-1] < stop) & (self.starts[1:] > start)
        groups = np.flatnonzero(reached).tolist()
        if not groups:
            return np.empty(0, self.dtype)
        column = self.file.read_row_groups(groups, columns=[self.key]).column(0)
        if column.null_count:
            raise InputError(
                f"the column '{self.key}' of '{self.name}' has missing values among rows "
                f"{start + 1:,} to {stop:,}",
                help="fill them, or drop these rows",
            )
        offset = int(self.starts[groups[0]])
        return np.asarray(column.to_numpy(), self.dtype)[start - offset : stop - offset]


def _npy(path: Path, name: str, key: str | None, inside: bool) -> Store:
    if key is not None:
        raise npy.has_no_parts(name)
    with path.open("rb") as file:
        header = npy.header_of(file, name, os.fstat(file.fileno()).st_size)
        return Store(name, npy.map_array(file, header))


_KINDS: dict[str, Callable[[Path, str, str | None, bool], Store]] = {
    ".zarr": _zarr, ".h5": _hdf5, ".hdf5": _hdf5, ".parquet": _parquet, ".npy": _npy,
}  # fmt: skip
CHUNKED = tuple(_EXTRAS)  # formats whose libraries are extras


# -- Arrays that are written chunk by chunk: NumPy's format, Zarr, HDF5, Parquet. The file has its
# name when it is whole, not before.
#
# Until then it lies in a folder beside its place, ``NAME.partial``.


SUFFIXES = (".npy", *CHUNKED)


class Sink:
    """A file that takes an array by regions.

    chunks  the extents of the regions that a store of chunks keeps together
    Raises OutputError, also for a file that another run writes.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        chunks: tuple[int, ...],
    ) -> None:
        self.path = path
        self.name = name
        self.suffix = path.suffix.lower()
        if self.suffix == ".parquet" and len(shape) != 1:
            raise UsageError(
                f"'{name}' has {len(shape)} dimensions, and a column of Parquet's one",
                help="write .zarr, .h5 or .npy",
            )
        self.folder = path.with_name(f"{path.name}.partial")
        try:
            self.folder.mkdir()
        except FileExistsError:
            raise OutputError(
                f"'{self.folder}' is of another run, which writes that file or was killed",
                help="remove that folder if nothing writes into it",
            ) from None
        except OSError as error:
            raise cannot_write(path, error) from None
        try:
            self.target: Any = self._open(shape, dtype, chunks)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise cannot_write(path, error) from None
            raise

    def _open(self, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[int, ...]) -> Any:
        if self.suffix == ".zarr":
            zarr = library("zarr", ".zarr")
            place = str(self.folder / "data.zarr")
            return zarr.create_array(
                place, shape=shape, dtype=dtype, chunks=tuple(max(1, c) for c in chunks)
            )
        if self.suffix in CHUNKED:
            # A missing library is reported here, not at the end.
            library({".parquet": "pyarrow.parquet"}.get(self.suffix, "h5py"), self.suffix)
        place = str(self.folder / "data.npy")
        mapped = np.lib.format.open_memmap(place, "w+", dtype, shape)
        with open(place, "r+b") as file:
            _reserve(file, os.fstat(file.fileno()).st_size)
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
    arrow = library("pyarrow", ".parquet")
    parquet = library("pyarrow.parquet", ".parquet")
    schema = arrow.schema([(name, arrow.from_numpy_dtype(array.dtype))])
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _rows(array):
            writer.write_table(arrow.table([arrow.array(array[rows])], schema=schema))


def _rows(array: np.ndarray) -> list[Any]:
    """Parts of an array that are small enough to be copied at once."""
    if not array.ndim:
        return [()]
    step = _without_chunks(array)[0]
    return [slice(start, start + step) for start in range(0, len(array), step)]


_CONVERTED: dict[str, Callable[[np.ndarray, Path, str], None]] = {
    ".h5": _to_hdf5,
    ".hdf5": _to_hdf5,
    ".parquet": _to_parquet,
}


def write_at_once(path: Path, name: str, array: np.ndarray) -> None:
    """Write an array that is already complete to a file of one of these formats.

    Raises OutputError.
    """
    sink = Sink(path, name, array.shape, array.dtype, _without_chunks(array))
    try:
        for part in _rows(array):
            sink.write(part, array[part])
        sink.finish()
    finally:
        sink.close()


# -- Where programs come from: lines of files and pipes, as text, whatever bytes they hold -------


_CHUNK = 1 << 16


def lines_of(path: str, limit: int, *, stream: bool = False) -> Iterator[str]:
    """Yield the lines of a file as they come, decoded as UTF-8 with or without a BOM.

    The path "-" is standard input. With ``stream``, the file may be a pipe.

    Bytes that are not UTF-8 stay as surrogates, so that the error names their place. A line longer
    than the limit is cut just beyond it, which is enough for the parser to refuse it, and the rest
    of the line is skipped. Raises InputError for a file that cannot be read.
    """
    try:
        if path == "-" and (sys.stdin is None or sys.stdin.closed):
            raise InputError(
                "standard input is closed", help="name a file, or give it something to read"
            )
        if path == "-":
            yield from _decode(sys.stdin.buffer, limit)
        else:
            refuse_unnameable(path)
            with open_data(Path(path), path, stream=stream) as file:
                yield from _decode(file, limit)
    except OSError as error:
        raise unreadable(error, "standard input" if path == "-" else path) from None


def _decode(stream: BinaryIO, limit: int) -> Iterator[str]:
    first = True
    room = 4 * limit + 4  # most bytes of a line within the limit
    while line := stream.readline(room):
        complete = line.endswith(b"\n")
        if not complete and len(line) == room:
            while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
        if first:
            line, first = line.removeprefix(b"\xef\xbb\xbf"), False
        yield line.decode("utf-8", "surrogateescape")
