"""Arrays that are kept in chunks, and read chunk by chunk: Zarr's stores, HDF5's datasets, columns of Parquet's tables, NumPy's arrays.

Each library is an extra that is imported for its files alone. Nothing of a file is run: arrays of objects and codecs that unpickle are
refused, and in files that name others, so are links and parts that lie elsewhere.
"""

from __future__ import annotations

import math
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import InputError, first_line, suggestion
from gradcli.files import npy
from gradcli.limits import Limits

Region = tuple[slice, ...]
_AT_ONCE = 1 << 26  # bytes that are read at once where a store has no chunks
_LISTED = 20


class Store(ABC):
    """An array that is read by regions.

    chunks  the extents of the regions that are read at once, along each axis; the last ones of an axis may be smaller
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]

    @abstractmethod
    def read(self, region: Region) -> np.ndarray:
        """A region, as an array of its own. Raises InputError, OSError."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def regions(self) -> Iterator[Region]:
        """The regions that the chunks are, in order."""
        counts = [-(-extent // step) for extent, step in zip(self.shape, self.chunks, strict=True)]
        for place in np.ndindex(*counts):
            yield tuple(
                slice(i * step, min((i + 1) * step, extent)) for i, step, extent in zip(place, self.chunks, self.shape, strict=True)
            )


def store_at(path: Path, name: str, key: str | None, *, inside: bool = False) -> Store:
    """The store that a file or folder is, or has by this key. ``inside``: whether it may not lead out of its folder.

    Raises InputError, OSError, ModuleNotFoundError.
    """
    return _KINDS[path.suffix.lower()](path, name, key, inside)


def whole(store: Store, name: str, limits: Limits, *, limited: bool) -> np.ndarray:
    """All of a store: read, or if that is large, laid out in a file without a name, which is mapped and goes with the array."""
    if store.nbytes < npy.MAPPED:
        limits.check_array(store.shape)
        array: np.ndarray = np.empty(store.shape, store.dtype)
    else:
        if limited:
            limits.check_shape(store.shape)
        limits.check_array(store.chunks)
        file = tempfile.TemporaryFile(prefix="gradcli-")  # noqa: SIM115 - the array keeps it open
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, store.nbytes)  # a full disk is an error now, not a signal later
        array = np.memmap(file, store.dtype, "w+", 0, store.shape)
    for region in store.regions():
        array[region] = store.read(region)
    array.flags.writeable = False
    return array


def library(name: str, suffix: str) -> Any:
    """A library that reads files. Raises InputError if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS[suffix]
        raise InputError(
            f"reading {suffix} wants {name.split('.', maxsplit=1)[0]}, which is not installed", help=f"pip install 'gradcli[{extra}]'"
        ) from error


_EXTRAS = {".zarr": "zarr", ".h5": "hdf5", ".hdf5": "hdf5", ".parquet": "parquet"}


def _real(dtype: Any, name: str) -> np.dtype[Any]:
    found = np.dtype(dtype) if dtype is not None else np.dtype(object)
    if found.kind not in "fiub" or found.itemsize > 8:
        raise InputError(f"'{name}' holds {found} data, not real numbers")
    return found


def _without_chunks(shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Regions of an array in one piece: whole rows of its first axis."""
    row = math.prod(shape[1:]) * dtype.itemsize
    return (max(1, min(shape[0], _AT_ONCE // max(row, 1))), *shape[1:]) if shape else ()


def _no_key(name: str, key: str | None, keys: Sequence[str], write: str) -> InputError:
    if key is None:
        return InputError(
            f"'{name}' needs a key", help=f"write @{write}:KEY with KEY one of {', '.join(keys[:_LISTED])}" if keys else "it holds nothing"
        )
    close = suggestion(key, keys)
    return InputError(f"'{name}' has no key '{key}'", help=f"did you mean '{close}'?" if close else None)


# -- Zarr ----------------------------------------------------------------------------------------------------------------

_CODECS = frozenset({
    "adler32", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset", "fletcher32", "gzip", "lz4",
    "lzma", "packbits", "quantize", "sharding_indexed", "shuffle", "transpose", "zlib", "zstd",
})  # fmt: skip


class _Zarr(Store):
    def __init__(self, path: Path, name: str, key: str | None, inside: bool) -> None:
        zarr = library("zarr", ".zarr")
        if not path.exists():
            raise FileNotFoundError
        if inside and path.is_dir():
            for folder, folders, files in os.walk(path):
                if any(os.path.islink(os.path.join(folder, part)) for part in (*folders, *files)):
                    raise InputError(f"'{name}' has links in it, which could lead out of its folder")
        try:
            found = zarr.open(str(path), mode="r")
        except Exception as error:
            raise InputError(f"cannot read '{name}': {first_line(error)}") from None
        if not hasattr(found, "shape"):
            keys = sorted(place for place, _ in _arrays_of(found))
            if key is None or key not in keys:
                raise _no_key(name, key, keys, name)
            found = found[key]
        elif key is not None:
            raise InputError(f"'{name}' is one array; it has no parts", help=f"write @{name}")
        foreign = sorted(_codecs(found.metadata.to_dict()) - _CODECS)
        if foreign:
            raise InputError(f"cannot read '{name}': its codec {foreign[0]} is none that numbers are packed with")
        self.array, self.name = found, name
        self.shape, self.dtype = tuple(found.shape), _real(found.dtype, name)
        shards = getattr(found, "shards", None)
        self.chunks = tuple(min(c, max(n, 1)) for c, n in zip(shards or found.chunks, self.shape, strict=True))

    def read(self, region: Region) -> np.ndarray:
        try:
            return np.asarray(self.array[region])
        except (ValueError, RuntimeError, OSError) as error:
            raise InputError(f"cannot read '{self.name}': {first_line(error)}") from None


def _arrays_of(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for place, member in group.members():
        if hasattr(member, "shape"):
            yield before + place, member
        else:
            yield from _arrays_of(member, f"{before}{place}/")


def _codecs(metadata: Any) -> set[str]:
    """The names of all codecs in a store's description."""
    found = set()
    if isinstance(metadata, Mapping):
        for part, value in metadata.items():
            if part in ("codecs", "index_codecs", "filters", "compressor"):
                for codec in value if isinstance(value, (list, tuple)) else [value]:
                    described = codec if isinstance(codec, Mapping) else getattr(codec, "to_dict", getattr(codec, "get_config", dict))()
                    word = described.get("name", described.get("id"))
                    if word is not None:
                        found.add(str(word).removeprefix("numcodecs."))
                    found |= _codecs(described)
            elif part == "configuration":
                found |= _codecs(value)
    return found


# -- HDF5 ----------------------------------------------------------------------------------------------------------------


class _HDF5(Store):
    def __init__(self, path: Path, name: str, key: str | None, inside: bool) -> None:
        h5py = library("h5py", ".h5")
        path.stat()
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise InputError(f"cannot read '{name}': {first_line(error)}") from None
        names: list[str] = []
        self.file.visititems(lambda place, item: names.append(place) if isinstance(item, h5py.Dataset) else None)
        if key is None and len(names) == 1:
            key = names[0]
        if key is None or key.strip("/") not in names:
            if key is not None and isinstance(self.file.get(key, getlink=True), h5py.ExternalLink):
                raise InputError(f"'{name}:{key}' is a link to another file", help="name that file")
            raise _no_key(name, key, sorted(names), name)
        found = self.file[key]
        if found.is_virtual or found.external:
            raise InputError(f"'{name}:{key}' lies in other files", help="copy it into one")
        self.array, self.name = found, name
        self.shape, self.dtype = tuple(found.shape), _real(found.dtype, name)
        self.chunks = tuple(found.chunks) if found.chunks else _without_chunks(self.shape, self.dtype)

    def read(self, region: Region) -> np.ndarray:
        try:
            return np.asarray(self.array[region])
        except OSError as error:
            raise InputError(f"cannot read '{self.name}': {first_line(error)}") from None


# -- Parquet -------------------------------------------------------------------------------------------------------------


class _Parquet(Store):
    def __init__(self, path: Path, name: str, key: str | None, inside: bool) -> None:
        parquet = library("pyarrow.parquet", ".parquet")
        path.stat()
        try:
            self.file = parquet.ParquetFile(path)
        except (OSError, ValueError) as error:  # pyarrow's errors are both
            raise InputError(f"cannot read '{name}': {first_line(error)}") from None
        columns = self.file.schema_arrow.names
        if key is None and len(columns) == 1:
            (key,) = columns
        if key is None or key not in columns:
            raise _no_key(name, key, columns, name)
        self.key, self.name = key, name
        kind = self.file.schema_arrow.field(key).type
        try:
            dtype = np.dtype(kind.to_pandas_dtype())
        except (NotImplementedError, TypeError):
            dtype = np.dtype(object)
        if dtype.kind not in "fiub":
            raise InputError(f"the column '{key}' of '{name}' holds {kind}, not real numbers")
        self.dtype, self.shape = _real(dtype, name), (self.file.metadata.num_rows,)
        groups = [self.file.metadata.row_group(i).num_rows for i in range(self.file.num_row_groups)]
        self.starts = np.cumsum([0, *groups])
        self.chunks = (max([1, *groups]),)

    def read(self, region: Region) -> np.ndarray:
        (rows,) = region
        start, stop, _ = rows.indices(self.shape[0])
        groups = [i for i in range(len(self.starts) - 1) if self.starts[i] < stop and self.starts[i + 1] > start]
        if not groups:
            return np.empty(0, self.dtype)
        try:
            column = self.file.read_row_groups(groups, columns=[self.key]).column(0)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read '{self.name}': {first_line(error)}") from None
        if column.null_count:
            raise InputError(
                f"the column '{self.key}' of '{self.name}' has missing values among rows {start + 1:,} to {stop:,}",
                help="fill them, or drop these rows",
            )
        offset = int(self.starts[groups[0]])
        return np.asarray(column.to_numpy(), self.dtype)[start - offset : stop - offset]


# -- NumPy ---------------------------------------------------------------------------------------------------------------


class _Npy(Store):
    def __init__(self, path: Path, name: str, key: str | None, inside: bool) -> None:
        if key is not None:
            raise InputError(f"'{name}' is one array; it has no parts", help=f"write @{name}")
        with path.open("rb") as file:
            header = npy.header_of(file, name)
            if header.size + header.nbytes > os.fstat(file.fileno()).st_size:
                raise InputError(f"cannot read '{name}': {npy.CUT_OFF}")
            self.array = np.memmap(file, header.dtype, "r", header.size, header.shape, "F" if header.by_columns else "C")
        self.shape, self.dtype = header.shape, _real(header.dtype, name)
        self.chunks = _without_chunks(self.shape, self.dtype)

    def read(self, region: Region) -> np.ndarray:
        return np.array(self.array[region])


_KINDS: dict[str, Callable[[Path, str, str | None, bool], Store]] = {
    ".zarr": _Zarr, ".h5": _HDF5, ".hdf5": _HDF5, ".parquet": _Parquet, ".npy": _Npy,
}  # fmt: skip
CHUNKED = tuple(_EXTRAS)  # whose libraries are extras
